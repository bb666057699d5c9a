//! What else was observed of one exchange: not times, but what explains them.

use serde::{Deserialize, Serialize};

use crate::{ConnectionUse, Nanos};

/// Where a minimum round trip time comes from. They are not the same quantity: a protocol stack's samples contain the
/// peer's processing and our scheduling, the kernel's do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RttSource {
    /// The kernel's TCP_INFO of this connection.
    TcpInfo,
    /// The QUIC stack's path statistics.
    QuicStack,
}

/// The facts of one exchange. Everything is optional: what was not observed is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// HTTP status code of the final response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Status codes of interim (1xx) responses, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interim: Vec<u16>,
    /// The HTTP version agreed with the peer: an ALPN id for the probe, `nextHopProtocol` as it was for a browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_version: Option<String>,
    /// The address and port that were dialled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Whether the connection was made for this exchange.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionUse>,
    /// Whether the exchange is over TLS (or QUIC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// Why the phases are not visible to the page, when they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
    /// Why there was no name resolution: the host is an address, `localhost`, or was given with `--resolve`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_skipped: Option<String>,
    /// TLS version, such as `TLSv1.3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_version: Option<String>,
    /// TLS cipher suite, such as `TLS13_AES_128_GCM_SHA256`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_cipher: Option<String>,
    /// Key exchange group, such as `X25519MLKEM768`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_group: Option<String>,
    /// Bytes of the certificates the peer sent (DER, without TLS framing).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_chain_bytes: Option<u64>,
    /// How many certificates the peer sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_count: Option<u32>,
    /// Whether the chain ends in a root of the public (Mozilla) list. Browsers refuse QUIC silently where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_root: Option<bool>,
    /// Why the certificate would not have been accepted; present only where the user chose to go on all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_error: Option<String>,
    /// Response fields of interest, in the order received, names in lower case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Where a redirect response points to, resolved against the URL. It was not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// Content bytes as transferred, before any content coding was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoded_bytes: Option<u64>,
    /// Content bytes after the content coding was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoded_bytes: Option<u64>,
    /// The path's minimum round trip time seen on this connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt_ns: Option<Nanos>,
    /// The source of `min_rtt_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt_source: Option<RttSource>,
    /// The transport's smoothed round trip time at the end of the exchange (RFC 9002, section 5.3; RFC 6298).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothed_rtt_ns: Option<Nanos>,
    /// Packets this connection's sender declared lost (QUIC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_lost: Option<u64>,
    /// Segments the kernel retransmitted on this connection (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_retransmitted: Option<u64>,
    /// What the browser's entry needs to be said about it, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Facts {
    /// The first value of a response field of interest; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Response fields that are kept with an exchange, in lower case.
pub const HEADERS_OF_INTEREST: [&str; 12] = [
    "age",
    "alt-svc",
    "cache-control",
    "cf-cache-status",
    "content-encoding",
    "content-length",
    "content-type",
    "location",
    "server",
    "server-timing",
    "vary",
    "x-cache",
];
