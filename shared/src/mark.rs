//! The marks of an exchange and where each stamp was taken.

use serde::{Deserialize, Serialize};

use crate::{Map, Nanos};

/// An event of an exchange that gets a time stamp. The order of the variants is the order of the events in a cold
/// exchange over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The exchange begins; always 0. Resource Timing: `startTime`.
    Start,
    /// The first DNS query leaves. Resource Timing: `domainLookupStart`.
    DnsStart,
    /// The address to use is known. Resource Timing: `domainLookupEnd`.
    DnsEnd,
    /// The first SYN is handed to the kernel, or the first QUIC Initial is sent. Resource Timing: `connectStart`.
    ConnectStart,
    /// The SYN-ACK arrived. Resource Timing: `secureConnectionStart` for `https` over TCP.
    TcpEstablished,
    /// The first handshake datagram or TLS byte from the peer arrived. Not visible to a page.
    FirstPeerPacket,
    /// TLS is complete at the client: the server's Finished is verified (RFC 9001, section 4.1.1). Resource Timing:
    /// `connectEnd`.
    HandshakeDone,
    /// HANDSHAKE_DONE arrived: the QUIC handshake is confirmed (RFC 9001, section 4.1.2). Not visible to a page.
    HandshakeConfirmed,
    /// The last byte of the request was handed to the transport. Resource Timing: `requestStart`, which is its first.
    RequestSent,
    /// The first interim (1xx) header section was decoded. Resource Timing: `firstInterimResponseStart`.
    FirstInterim,
    /// The final response's header section was decoded. Resource Timing: `finalResponseHeadersStart`.
    Headers,
    /// The first byte of the content arrived. Absent for an empty body; not visible to a page.
    FirstBodyByte,
    /// The last byte of the content arrived; for an empty body the end of the response. Resource Timing: `responseEnd`.
    End,
}

impl Mark {
    /// All marks in order.
    pub const ALL: [Self; 13] = [
        Self::Start,
        Self::DnsStart,
        Self::DnsEnd,
        Self::ConnectStart,
        Self::TcpEstablished,
        Self::FirstPeerPacket,
        Self::HandshakeDone,
        Self::HandshakeConfirmed,
        Self::RequestSent,
        Self::FirstInterim,
        Self::Headers,
        Self::FirstBodyByte,
        Self::End,
    ];

    /// The name in documents.
    pub fn id(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::DnsStart => "dns_start",
            Self::DnsEnd => "dns_end",
            Self::ConnectStart => "connect_start",
            Self::TcpEstablished => "tcp_established",
            Self::FirstPeerPacket => "first_peer_packet",
            Self::HandshakeDone => "handshake_done",
            Self::HandshakeConfirmed => "handshake_confirmed",
            Self::RequestSent => "request_sent",
            Self::FirstInterim => "first_interim",
            Self::Headers => "headers",
            Self::FirstBodyByte => "first_body_byte",
            Self::End => "end",
        }
    }
}

/// Where a stamp was taken, from the least to the most exact. A stamp of one source is never passed off as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StampSource {
    /// A browser's Resource Timing entry, coarsened to the clock step of its vantage.
    Browser,
    /// Read when the task that waited for the event ran; late by its scheduling.
    Task,
    /// Read in the socket wrapper around the system call, before the protocol stack saw the bytes.
    Syscall,
    /// The kernel's own time stamp of the packet.
    Kernel,
}

/// The marks of one exchange that happened. A mark that did not happen is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Marks(Map<Mark, Nanos>);

impl Marks {
    /// No mark at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// When `mark` happened, if it did.
    pub fn at(&self, mark: Mark) -> Option<Nanos> {
        self.0.get(&mark).copied()
    }

    /// Records that `mark` happened at `time`, replacing an earlier record.
    pub fn set(&mut self, mark: Mark, time: Nanos) {
        self.0.insert(mark, time);
    }

    /// Removes a mark.
    pub fn clear(&mut self, mark: Mark) {
        self.0.remove(&mark);
    }

    /// The marks that happened, in the order of [`Mark`].
    pub fn iter(&self) -> impl Iterator<Item = (Mark, Nanos)> + '_ {
        self.0.iter().map(|(mark, time)| (*mark, *time))
    }

    /// The marks as a map.
    pub(crate) fn map(&self) -> &Map<Mark, Nanos> {
        &self.0
    }

    /// From a map.
    pub(crate) fn from_map(map: Map<Mark, Nanos>) -> Self {
        Self(map)
    }

    /// How many happened.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none happened.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Mark, Nanos)> for Marks {
    fn from_iter<I: IntoIterator<Item = (Mark, Nanos)>>(marks: I) -> Self {
        Self(marks.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_use_the_names_of_id() {
        for mark in Mark::ALL {
            assert_eq!(
                serde_json::to_string(&mark).unwrap(),
                format!("\"{}\"", mark.id())
            );
        }
    }

    #[test]
    fn marks_are_a_map_by_name() {
        let marks: Marks = [(Mark::Start, Nanos(0)), (Mark::End, Nanos(7))]
            .into_iter()
            .collect();
        let json = serde_json::to_string(&marks).unwrap();
        assert_eq!(json, r#"{"start":0,"end":7}"#);
        assert_eq!(serde_json::from_str::<Marks>(&json).unwrap(), marks);
    }
}
