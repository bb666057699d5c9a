//! Deadlines and bounds of a probe: every step ends.

use std::time::Duration;

use shared::Nanos;

use super::net::clock;

/// Longest wait for the answer to a SYN, or for the first datagram of a QUIC server.
pub(crate) const CONNECT: Duration = Duration::from_secs(3);
/// Longest TLS or QUIC handshake once the peer has answered.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(5);
/// Longest wait for a DNS answer.
pub(crate) const DNS: Duration = Duration::from_secs(3);
/// Largest response header section, in bytes.
pub(crate) const HEADER_SECTION_BYTES: u32 = 64 << 10;
/// Receive windows as Chromium sets them, the same for HTTP/2 and HTTP/3, so that a download over one is not bound by
/// a window that the other does not have: per stream and per connection.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 6 << 20;
/// See [`STREAM_WINDOW_BYTES`].
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 15 << 20;
/// Largest coded body that is kept until the end of the exchange to be decoded.
pub(crate) const KEPT_BODY_BYTES: u64 = 32 << 20;
/// Most interim responses of one exchange.
pub(crate) const INTERIM_RESPONSES: usize = 32;

/// When an exchange must be over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Nanos);

impl Deadline {
    /// `span` after `start`.
    pub(crate) fn after(start: Nanos, span: Duration) -> Self {
        Self(start.plus(clock::nanos(span)))
    }

    /// What is left of it.
    pub(crate) fn remaining(self) -> Duration {
        Duration::from_nanos(self.0.since(clock::now()).unwrap_or_default().0)
    }

    /// What is left of it, but no more than `step`.
    pub(crate) fn limit(self, step: Duration) -> Duration {
        self.remaining().min(step)
    }
}
