//! Observers: bytes and stamps in, events with stamps out. Pure: no socket, no clock, no async.

pub(crate) mod h1;
pub(crate) mod h2;
pub(crate) mod h3;
pub(crate) mod quic;

use super::events::Stamp;

/// Sees the plaintext of a connection in both directions.
pub(crate) trait Plaintext: Send {
    /// These bytes were handed to TLS (or to the socket) and left with `stamp`.
    fn on_sent(&mut self, bytes: &[u8], stamp: Stamp);
    /// These bytes came out of TLS (or the socket); the read that completed them has `stamp`.
    fn on_received(&mut self, bytes: &[u8], stamp: Stamp);
}
