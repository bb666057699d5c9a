//! The three HTTP versions and every spelling of their names.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An HTTP version as a transport choice: what a probe forces and what a browser reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112), over TCP, with TLS for `https`.
    H1,
    /// HTTP/2 (RFC 9113), over TLS over TCP.
    H2,
    /// HTTP/3 (RFC 9114), over QUIC (RFC 9000).
    H3,
}

impl Protocol {
    /// All, in the order they are shown.
    pub const ALL: [Self; 3] = [Self::H1, Self::H2, Self::H3];

    /// The name in documents and options: `h1`, `h2`, `h3`.
    pub fn id(self) -> &'static str {
        match self {
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }

    /// The ALPN protocol id (RFC 7301 registry): `http/1.1`, `h2`, `h3`.
    pub fn alpn(self) -> &'static str {
        match self {
            Self::H1 => "http/1.1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }

    /// The name for people: `HTTP/1.1`, `HTTP/2`, `HTTP/3`.
    pub fn label(self) -> &'static str {
        match self {
            Self::H1 => "HTTP/1.1",
            Self::H2 => "HTTP/2",
            Self::H3 => "HTTP/3",
        }
    }

    /// From Resource Timing's `nextHopProtocol` (an ALPN id). `None` for an empty value (hidden, cached) and for
    /// protocols that are none of the three, such as the HTTP/3 drafts `h3-29` and gQUIC: those are not RFC 9114.
    pub fn from_next_hop(value: &str) -> Option<Self> {
        match value {
            "http/1.1" | "http/1.0" => Some(Self::H1),
            "h2" | "h2c" => Some(Self::H2),
            "h3" => Some(Self::H3),
            _ => None,
        }
    }

    /// From the document's name (`h1`, `h2`, `h3`).
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.id() == id)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_and_hidden_values_are_not_taken_for_a_version() {
        for raw in ["", "h3-29", "h3-Q050", "hq", "http/2+quic/46", "unknown"] {
            assert_eq!(Protocol::from_next_hop(raw), None, "{raw:?}");
        }
        assert_eq!(Protocol::from_next_hop("h3"), Some(Protocol::H3));
    }
}
