//! Servers that do what no server should: they follow a script of bytes, over TCP, TLS or QUIC.

use std::time::Duration;

mod quic;
mod tcp;
mod udp;

pub use quic::QuicServer;
pub use tcp::{Layer, TcpServer};
pub use udp::{garbage_udp, silent_udp};

/// What a hostile server does with a connection, in order.
#[derive(Clone, Debug)]
pub enum Step {
    /// Read until the request's header section is complete.
    ReadRequest,
    /// Send bytes.
    Send(Vec<u8>),
    /// Send the same bytes until the peer has had enough.
    SendForever(Vec<u8>),
    /// Do nothing for a time.
    Pause(Duration),
    /// Do nothing until the peer leaves.
    Stall,
}

/// An HTTP/1.1 response from its header section and what follows.
pub fn h1_response(head: &[&str], body: &[u8]) -> Step {
    let mut bytes = head.join("\r\n").into_bytes();
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes.extend_from_slice(body);
    Step::Send(bytes)
}

/// An HTTP/2 frame (RFC 9113, section 4.1).
///
/// # Panics
/// When the payload is longer than 65 535 bytes.
pub fn h2_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).expect("short frames only");
    let mut frame = vec![0];
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// An empty HTTP/2 SETTINGS frame, with which every server begins.
pub fn h2_settings() -> Vec<u8> {
    h2_frame(4, 0, 0, &[])
}

/// HTTP/2 HEADERS of stream 1 with `:status: 200` (entry 8 of HPACK's static table), without END_STREAM.
pub fn h2_status_200() -> Vec<u8> {
    h2_frame(1, 4, 1, &[0x88])
}

/// HTTP/3 HEADERS frame with `:status: 200` (entry 25 of QPACK's static table).
pub fn h3_status_200() -> Vec<u8> {
    vec![1, 3, 0, 0, 0xd9]
}

/// HTTP/2 HEADERS of stream 1 with `:status: 103` (a literal value for entry 8 of HPACK's static table).
pub fn h2_status_103() -> Vec<u8> {
    h2_frame(1, 4, 1, &[0x08, 3, b'1', b'0', b'3'])
}

/// HTTP/3 HEADERS frame with `:status: 103` (entry 24 of QPACK's static table).
pub fn h3_status_103() -> Vec<u8> {
    vec![1, 3, 0, 0, 0xd8]
}

/// HTTP/3 DATA frame.
///
/// # Panics
/// When the payload is longer than 63 bytes.
pub fn h3_data(payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).ok().filter(|length| *length < 64);
    let mut frame = vec![0, length.expect("short frames only")];
    frame.extend_from_slice(payload);
    frame
}
