//! The phases: from which mark to which, and what they mean.

use serde::{Deserialize, Serialize};

/// A part of an exchange between two marks, in the order shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// `dns_start` to `dns_end`.
    Dns,
    /// `connect_start` to `tcp_established`: one round trip.
    Tcp,
    /// `tcp_established` to `handshake_done`: one round trip with TLS 1.3, two with TLS 1.2.
    Tls,
    /// `connect_start` to `handshake_done` over QUIC: transport and TLS together, one round trip.
    Quic,
    /// `connect_start` to `handshake_done`: TCP and TLS, or QUIC. The phase that compares across protocols.
    Setup,
    /// `handshake_done` (or `start` on a reused connection) to `request_sent`.
    Send,
    /// `request_sent` to `headers`: one round trip plus the server's own time.
    Wait,
    /// `wait` less one round trip: what the server itself took. Derived.
    Server,
    /// `headers` to `end`.
    Download,
    /// `start` to `headers`: time to the first byte of the final response.
    Ttfb,
    /// `start` to `end`.
    Total,
}

impl Phase {
    /// All phases in the order shown.
    pub const ALL: [Self; 11] = [
        Self::Dns,
        Self::Tcp,
        Self::Tls,
        Self::Quic,
        Self::Setup,
        Self::Send,
        Self::Wait,
        Self::Server,
        Self::Download,
        Self::Ttfb,
        Self::Total,
    ];

    /// The phases that tile an exchange: with the gaps they add up to `total` exactly.
    pub const TILES: [Self; 5] = [Self::Dns, Self::Setup, Self::Send, Self::Wait, Self::Download];

    /// The phases that are compared between arms.
    pub const COMPARED: [Self; 5] = [Self::Setup, Self::Wait, Self::Download, Self::Ttfb, Self::Total];

    /// The name in documents and tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Quic => "quic",
            Self::Setup => "setup",
            Self::Send => "send",
            Self::Wait => "wait",
            Self::Server => "server",
            Self::Download => "download",
            Self::Ttfb => "ttfb",
            Self::Total => "total",
        }
    }

    /// What the phase is, from which mark to which and what it contains: one sentence for people.
    pub fn definition(self) -> &'static str {
        match self {
            Self::Dns => {
                "From the first DNS query leaving to the address being known (dns_start to dns_end)."
            }
            Self::Tcp => {
                "From the first SYN handed to the kernel to the SYN-ACK (connect_start to tcp_established); costs one round \
                 trip."
            }
            Self::Tls => {
                "From the TCP connection to the server's verified Finished (tcp_established to handshake_done); costs one \
                 round trip with TLS 1.3, two with TLS 1.2."
            }
            Self::Quic => {
                "From the first QUIC Initial to the server's verified Finished (connect_start to handshake_done): \
                 transport and TLS in one; costs one round trip."
            }
            Self::Setup => {
                "Everything a new connection costs: tcp + tls, or quic (connect_start to handshake_done); two round trips \
                 over TCP with TLS 1.3, one over QUIC. The phase to compare across protocols."
            }
            Self::Send => {
                "From the ready connection to the last byte of the request handed to the transport (handshake_done, or \
                 start on a reused connection, to request_sent)."
            }
            Self::Wait => {
                "From the last byte of the request to the decoded final response header section (request_sent to headers): \
                 one round trip plus the server's own time."
            }
            Self::Server => {
                "Derived: wait less the path's minimum round trip. An upper bound of the server's own time."
            }
            Self::Download => {
                "From the final header section to the last byte of the body (headers to end); depends on bytes, window and \
                 rate."
            }
            Self::Ttfb => {
                "From the start to the final response header section (start to headers), interim responses not counted: \
                 three round trips cold over TCP, two over QUIC, one warm."
            }
            Self::Total => "From the start to the last byte of the response (start to end).",
        }
    }

    /// Whether the phase is made of round trips, so that a count of them means something.
    pub fn counts_round_trips(self) -> bool {
        match self {
            Self::Tcp
            | Self::Tls
            | Self::Quic
            | Self::Setup
            | Self::Wait
            | Self::Download
            | Self::Ttfb
            | Self::Total => true,
            Self::Dns | Self::Send | Self::Server => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_use_the_names_of_id() {
        for phase in Phase::ALL {
            assert_eq!(
                serde_json::to_string(&phase).unwrap(),
                format!("\"{}\"", phase.id())
            );
        }
    }
}
