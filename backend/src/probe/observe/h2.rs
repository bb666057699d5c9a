//! HTTP/2 frames in plaintext (RFC 9113, section 4.1): when which part of an exchange crossed the wire.

use super::Plaintext;
use crate::probe::events::Stamp;

const PREFACE_BYTES: usize = 24;
const FRAME_HEADER_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;

/// What was seen of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamEvents {
    /// The request's header section left.
    pub(crate) request_sent: Option<Stamp>,
    /// The response's header sections arrived, interim ones included, in order; a trailer section is the last.
    pub(crate) header_sections: Vec<Stamp>,
    /// Bytes of header blocks, as sent.
    pub(crate) header_bytes: u64,
    /// The first byte of content arrived.
    pub(crate) first_data: Option<Stamp>,
    /// The frame that ends the stream arrived.
    pub(crate) end: Option<Stamp>,
}

/// Walks the frames of a connection and keeps what belongs to the stream being watched.
#[derive(Debug)]
pub(crate) struct H2Frames {
    watched: u32,
    events: StreamEvents,
    sent: Walker,
    received: Walker,
}

impl H2Frames {
    /// Interim responses beyond this many are not kept apart.
    const MAX_SECTIONS: usize = 64;

    /// An observer that watches no stream yet.
    pub(crate) fn new() -> Self {
        Self {
            watched: 0,
            events: StreamEvents::default(),
            sent: Walker::after(PREFACE_BYTES),
            received: Walker::after(0),
        }
    }

    /// Watches the stream with this id from now on and forgets the one before.
    pub(crate) fn watch(&mut self, stream: u32) {
        self.watched = stream;
        self.events = StreamEvents::default();
    }

    /// What was seen of the watched stream.
    pub(crate) fn events(&self) -> &StreamEvents {
        &self.events
    }
}

impl Plaintext for H2Frames {
    fn on_sent(&mut self, bytes: &[u8], stamp: Stamp) {
        let (watched, events) = (self.watched, &mut self.events);
        self.sent.walk(bytes, |frame, part| {
            if frame.stream == watched && part.ends && frame.ends_headers() {
                events.request_sent.get_or_insert(stamp);
            }
        });
    }

    fn on_received(&mut self, bytes: &[u8], stamp: Stamp) {
        let (watched, events) = (self.watched, &mut self.events);
        self.received.walk(bytes, |frame, part| {
            if frame.stream != watched {
                return;
            }
            if frame.kind == DATA && frame.content_bytes() > 0 && part.bytes > 0 {
                events.first_data.get_or_insert(stamp);
            }
            if matches!(frame.kind, HEADERS | CONTINUATION) {
                events.header_bytes += part.bytes as u64;
            }
            if part.ends && frame.ends_headers() && events.header_sections.len() < Self::MAX_SECTIONS {
                events.header_sections.push(stamp);
            }
            if part.ends && matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0 {
                events.end.get_or_insert(stamp);
            }
        });
    }
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Frame {
    fn parse(header: [u8; FRAME_HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, s0, s1, s2, s3] = header;
        Self {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        }
    }

    fn ends_headers(self) -> bool {
        matches!(self.kind, HEADERS | CONTINUATION) && self.flags & END_HEADERS != 0
    }

    /// Payload less the length field of a padding; an upper bound, since padding itself is not read.
    fn content_bytes(self) -> usize {
        self.length.saturating_sub(usize::from(self.flags & PADDED != 0))
    }
}

/// A piece of a frame's payload.
#[derive(Clone, Copy)]
struct Part {
    bytes: usize,
    ends: bool,
}

/// Finds frame boundaries in a stream of bytes that comes in pieces.
#[derive(Debug)]
struct Walker {
    skip: usize,
    header: [u8; FRAME_HEADER_BYTES],
    header_filled: usize,
    payload_left: usize,
}

impl Walker {
    fn after(skip: usize) -> Self {
        Self {
            skip,
            header: [0; FRAME_HEADER_BYTES],
            header_filled: 0,
            payload_left: 0,
        }
    }

    fn walk(&mut self, mut bytes: &[u8], mut on_part: impl FnMut(Frame, Part)) {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        bytes = &bytes[skipped..];
        while !bytes.is_empty() {
            if self.header_filled < FRAME_HEADER_BYTES {
                let taken = (FRAME_HEADER_BYTES - self.header_filled).min(bytes.len());
                self.header[self.header_filled..self.header_filled + taken].copy_from_slice(&bytes[..taken]);
                self.header_filled += taken;
                bytes = &bytes[taken..];
                if self.header_filled < FRAME_HEADER_BYTES {
                    return;
                }
                self.payload_left = Frame::parse(self.header).length;
                if self.payload_left > 0 {
                    continue;
                }
            }
            let taken = self.payload_left.min(bytes.len());
            self.payload_left -= taken;
            bytes = &bytes[taken..];
            let ends = self.payload_left == 0;
            on_part(Frame::parse(self.header), Part { bytes: taken, ends });
            if ends {
                self.header_filled = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shared::Nanos;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![
            0,
            0,
            u8::try_from(payload.len()).unwrap(),
            kind,
            flags,
            0,
            0,
            0,
            stream,
        ];
        bytes.extend(payload);
        bytes
    }

    fn at(ns: u64) -> Stamp {
        Stamp::syscall(Nanos(ns))
    }

    fn response() -> Vec<u8> {
        [
            frame(4, 0, 0, &[0; 6]),
            frame(HEADERS, END_HEADERS, 1, &[1; 5]),
            frame(HEADERS, 0, 1, &[1; 5]),
            frame(CONTINUATION, END_HEADERS, 1, &[1; 5]),
            frame(8, 0, 0, &[0; 4]),
            frame(DATA, 0, 1, &[1; 50]),
            frame(DATA, END_STREAM, 1, &[]),
        ]
        .concat()
    }

    #[test]
    fn settings_before_the_response_are_not_the_response() {
        let mut frames = H2Frames::new();
        frames.watch(1);
        frames.on_received(&frame(4, 0, 0, &[0; 6]), at(1));
        frames.on_received(&frame(HEADERS, END_HEADERS, 1, &[1; 5]), at(2));
        frames.on_received(&frame(DATA, END_STREAM, 1, &[1; 5]), at(3));
        let events = frames.events();
        assert_eq!(events.header_sections, [at(2)]);
        assert_eq!(events.first_data, Some(at(3)));
        assert_eq!(events.end, Some(at(3)));
    }

    #[test]
    fn the_request_is_sent_with_its_last_header_frame_and_not_with_a_settings_ack() {
        let mut frames = H2Frames::new();
        frames.watch(1);
        frames.on_sent(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", at(1));
        frames.on_sent(&frame(4, 0, 0, &[0; 6]), at(2));
        frames.on_sent(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0; 6]), at(3));
        frames.on_sent(&frame(4, 1, 0, &[]), at(4));
        assert_eq!(frames.events().request_sent, Some(at(3)));
    }

    #[test]
    fn the_next_exchange_begins_afresh() {
        let mut frames = H2Frames::new();
        frames.watch(1);
        frames.on_received(&response(), at(1));
        frames.watch(3);
        frames.on_received(&frame(DATA, 0, 1, &[1; 5]), at(2));
        assert_eq!(frames.events().first_data, None);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_events(sizes in proptest::collection::vec(1usize..20, 1..80)) {
            let bytes = response();
            let mut frames = H2Frames::new();
            frames.watch(1);
            let mut rest = &bytes[..];
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                frames.on_received(piece, at(1));
                rest = after;
            }
            let events = frames.events();
            prop_assert_eq!(events.header_sections.len(), 2);
            prop_assert_eq!(events.header_bytes, 15);
            prop_assert!(events.first_data.is_some() && events.end.is_some());
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut frames = H2Frames::new();
            frames.watch(1);
            frames.on_sent(&bytes, at(1));
            frames.on_received(&bytes, at(1));
        }
    }
}
