//! Why an exchange failed: in which phase, whose side, what the user can do.

use serde::{Deserialize, Serialize};

/// The part of the exchange that a failure ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailurePhase {
    /// Before anything was sent: the target was refused or not understood.
    Start,
    /// Name resolution.
    Dns,
    /// The TCP connection.
    Tcp,
    /// The TLS handshake over TCP.
    Tls,
    /// The QUIC handshake.
    Quic,
    /// Sending the request.
    Send,
    /// Waiting for the final header section.
    Wait,
    /// Reading the body.
    Download,
}

macro_rules! failure_kinds {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $label:literal, $advice:literal;)+) => {
        /// What went wrong. The set is closed: a reader of documents may match on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum FailureKind {
            $($(#[$doc])* #[serde(rename = $id)] $variant,)+
        }

        impl FailureKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in documents.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }

            /// What happened, in words.
            pub fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)+ }
            }

            /// What the user can do about it.
            pub fn advice(self) -> &'static str {
                match self { $(Self::$variant => $advice,)+ }
            }
        }
    };
}

failure_kinds! {
    /// The resolver says the name does not exist (RCODE 3).
    DnsNxdomain = "dns_nxdomain", "the name does not exist",
        "Check the spelling of the host name.";
    /// The name exists, but has no address of the family asked for.
    DnsNoAddress = "dns_no_address", "the name has no address of this family",
        "Choose the other IP version, or automatic.";
    /// No resolver answered in time.
    DnsTimeout = "dns_timeout", "the DNS resolver did not answer",
        "Check the network and the resolver of the machine that probes.";
    /// The resolver answered with an error.
    DnsFailure = "dns_failure", "the DNS resolver reported an error",
        "Try again; if it stays, the zone or the resolver is broken.";
    /// The address is not one that this server may dial.
    AddressForbidden = "address_forbidden", "the address is private, local or reserved",
        "Run Roundtrip yourself with --allow-private to probe hosts of your own network.";
    /// TCP reset on connect, or ICMP port unreachable on UDP.
    ConnectRefused = "connect_refused", "the connection was refused",
        "Nothing listens on this port for this transport; for HTTP/3 the server needs UDP.";
    /// No answer to the SYN in time.
    ConnectTimeout = "connect_timeout", "no answer to the TCP connection",
        "A firewall may drop the packets, or the address is not routed.";
    /// The local network has no way to the address.
    ConnectUnreachable = "connect_unreachable", "the address cannot be reached from here",
        "Often: no IPv6 on this network. Choose the other IP version.";
    /// The connection failed with another error of the operating system.
    ConnectFailed = "connect_failed", "the connection failed",
        "See the detail; try again.";
    /// No datagram came back over UDP.
    UdpNoAnswer = "udp_no_answer", "no answer over UDP",
        "The server does not speak HTTP/3 on this port, or UDP is dropped on the way.";
    /// The certificate was not accepted.
    TlsCertificate = "tls_certificate", "the certificate was not accepted",
        "See the detail; with -k (or the option on the page) the probe goes on all the same.";
    /// The peer did not agree to the forced protocol.
    TlsAlpn = "tls_alpn", "the server did not select the forced protocol",
        "The server does not offer this HTTP version here.";
    /// The TLS handshake did not end in time.
    TlsTimeout = "tls_timeout", "the TLS handshake did not finish in time",
        "The port may belong to something that is not TLS.";
    /// The TLS handshake failed.
    TlsFailure = "tls_failure", "the TLS handshake failed",
        "See the detail; the port may belong to something that is not TLS.";
    /// The QUIC handshake began but did not end in time.
    QuicTimeout = "quic_timeout", "the QUIC handshake did not finish in time",
        "Try again; datagrams may be lost or too large for the path.";
    /// The peer closed the connection while the request was sent or awaited.
    ConnectionClosed = "connection_closed", "the server closed the connection",
        "Try again; if it stays, look into the server's log.";
    /// The answer is not valid HTTP/1.1.
    H1Protocol = "h1_protocol", "the answer is not valid HTTP/1.1",
        "See the detail; the port may belong to another protocol.";
    /// The peer broke HTTP/2.
    H2Protocol = "h2_protocol", "an HTTP/2 protocol error",
        "See the detail; look into the server's log.";
    /// The peer broke QUIC or HTTP/3.
    H3Protocol = "h3_protocol", "an HTTP/3 or QUIC protocol error",
        "See the detail; look into the server's log.";
    /// No header section in time.
    WaitTimeout = "wait_timeout", "no response header section in time",
        "The server is slow, or the request got lost; raise --max-time.";
    /// The body stopped coming.
    ReadTimeout = "read_timeout", "the body did not end in time",
        "The server stalled or the body is long; raise --max-time.";
    /// The body is larger than the limit.
    BodyTooLarge = "body_too_large", "the body is larger than the limit",
        "Measure a smaller resource, or raise the limit.";
    /// The header section is larger than the limit.
    HeadersTooLarge = "headers_too_large", "the header section is larger than the limit",
        "Look at what the server sends; cookies are often the cause.";
    /// The body ended before the announced length.
    BodyTruncated = "body_truncated", "the body ended early",
        "The server or something on the way cut the response.";
    /// HTTP/2 or HTTP/3 was asked for a URL without TLS.
    SchemeUnsupported = "scheme_unsupported", "this HTTP version needs https",
        "Use an https:// URL; over http:// only HTTP/1.1 is measured.";
    /// The run was cancelled by the user.
    Cancelled = "cancelled", "cancelled", "Start the run again.";
    /// A page's fetch failed; a page is not told why.
    BrowserRefused = "browser_refused", "the browser did not complete the request",
        "A page is not told why: certificate, CORS, mixed content and network look alike. Compare with the probe.";
    /// The page found no Resource Timing entry.
    EntryMissing = "entry_missing", "the browser recorded no timing entry",
        "Run again; an extension may block timing.";
    /// The response came from a cache of the browser.
    Cached = "cached", "answered from the browser's cache",
        "It says nothing about the server; the page asks for no-store, so look for an extension or a prefetch.";
    /// A service worker answered the page's request.
    ServiceWorker = "service_worker", "answered by a service worker",
        "Measure from a page without a service worker for this URL.";
    /// The browser's timing entry contradicts itself.
    EntryInconsistent = "entry_inconsistent", "the browser's timing entry contradicts itself",
        "A fault of the browser; the sample is left out and counted.";
}

/// A failed exchange: a result like any other, with where and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// Where it ended.
    pub phase: FailurePhase,
    /// The particulars: what was said by whom. Shown as text, never interpreted.
    pub detail: String,
}

impl Failure {
    /// A failure of `kind` in `phase`.
    pub fn new(kind: FailureKind, phase: FailurePhase, detail: impl Into<String>) -> Self {
        Self {
            kind,
            phase,
            detail: detail.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_use_the_names_of_id() {
        for kind in FailureKind::ALL {
            assert_eq!(serde_json::to_string(kind).unwrap(), format!("\"{}\"", kind.id()));
        }
    }
}
