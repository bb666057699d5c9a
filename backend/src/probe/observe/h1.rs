//! HTTP/1.1 messages in plaintext: where header sections end and content begins (RFC 9112, section 2).

use super::Plaintext;
use crate::probe::events::Stamp;

/// When which part of one exchange crossed the wire.
#[derive(Debug, Default)]
pub(crate) struct H1Message {
    /// The latest byte of the request left.
    pub(crate) request_sent: Option<Stamp>,
    /// The first interim header section was complete.
    pub(crate) first_interim: Option<Stamp>,
    /// The final header section was complete.
    pub(crate) headers: Option<Stamp>,
    /// The first byte after it arrived.
    pub(crate) first_content: Option<Stamp>,
    /// The latest byte arrived.
    pub(crate) last: Option<Stamp>,
    section: Section,
}

/// The header section being read.
#[derive(Debug, Default)]
struct Section {
    /// The first bytes of its status line: enough for the status code.
    start: Vec<u8>,
    /// How much of an empty line has been seen: line feeds with only carriage returns between.
    line_feeds: u8,
}

impl Section {
    /// `HTTP/1.1 103` and the space before: where the first digit of the status stands.
    const STATUS_AT: usize = 9;

    fn is_interim(&self) -> bool {
        self.start.get(Self::STATUS_AT) == Some(&b'1')
    }

    /// Takes a byte; whether the section ends with it.
    fn push(&mut self, byte: u8) -> bool {
        // Empty lines before the status line are skipped (RFC 9112, section 2.2).
        if self.start.is_empty() && matches!(byte, b'\r' | b'\n') {
            return false;
        }
        if self.start.len() <= Self::STATUS_AT {
            self.start.push(byte);
        }
        match byte {
            b'\n' => self.line_feeds += 1,
            b'\r' => {}
            _ => self.line_feeds = 0,
        }
        self.line_feeds == 2
    }
}

impl Plaintext for H1Message {
    fn on_sent(&mut self, _bytes: &[u8], stamp: Stamp) {
        self.request_sent = Some(stamp);
    }

    fn on_received(&mut self, bytes: &[u8], stamp: Stamp) {
        if !bytes.is_empty() {
            self.last = Some(stamp);
        }
        for byte in bytes {
            if self.headers.is_some() {
                self.first_content.get_or_insert(stamp);
                return;
            }
            if !self.section.push(*byte) {
                continue;
            }
            if self.section.is_interim() {
                self.first_interim.get_or_insert(stamp);
                self.section = Section::default();
            } else {
                self.headers = Some(stamp);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shared::Nanos;

    use super::*;

    fn at(ns: u64) -> Stamp {
        Stamp::syscall(Nanos(ns))
    }

    #[test]
    fn each_part_has_the_stamp_of_its_read() {
        let mut message = H1Message::default();
        message.on_sent(b"GET / HTTP/1.1\r\n\r\n", at(1));
        message.on_received(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", at(2));
        message.on_received(b"HTTP/1.1 200 OK\r\ncontent-", at(3));
        message.on_received(b"length: 2\r\n\r\n", at(4));
        message.on_received(b"a", at(5));
        message.on_received(b"b", at(6));
        assert_eq!(message.request_sent, Some(at(1)));
        assert_eq!(message.first_interim, Some(at(2)));
        assert_eq!(message.headers, Some(at(4)));
        assert_eq!(message.first_content, Some(at(5)));
        assert_eq!(message.last, Some(at(6)));
    }

    #[test]
    fn one_read_may_hold_everything() {
        let mut message = H1Message::default();
        message.on_received(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
            at(7),
        );
        assert_eq!(message.first_interim, Some(at(7)));
        assert_eq!(message.headers, Some(at(7)));
        assert_eq!(message.first_content, Some(at(7)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut message = H1Message::default();
            message.on_received(&bytes, at(1));
            prop_assert!(message.section.start.len() <= 10);
        }
    }
}
