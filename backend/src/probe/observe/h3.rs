//! HTTP/3 frames of a request stream (RFC 9114, section 7.1): takes empty DATA frames out, which mean nothing but which
//! h3 0.0.8 reads as the end of the body.

use std::collections::VecDeque;

use bytes::Bytes;

const DATA: u64 = 0;
/// Two variable-length integers: type and length.
const MAX_HEADER_BYTES: usize = 16;

/// Passes a stream of frames on, but for its empty DATA frames.
#[derive(Debug, Default)]
pub(crate) struct FrameFilter {
    header: Vec<u8>,
    payload_left: u64,
    passed: VecDeque<Bytes>,
}

impl FrameFilter {
    /// The next piece of the stream came.
    pub(crate) fn push(&mut self, mut piece: Bytes) {
        while !piece.is_empty() {
            if self.payload_left > 0 {
                let left = usize::try_from(self.payload_left).unwrap_or(usize::MAX);
                let payload = piece.split_to(left.min(piece.len()));
                self.payload_left -= payload.len() as u64;
                self.passed.push_back(payload);
                continue;
            }
            self.header.extend(piece.split_to(1));
            if let Some((kind, length)) = parse(&self.header) {
                self.payload_left = length;
                if kind == DATA && length == 0 {
                    self.header.clear();
                } else {
                    self.pass_header();
                }
            }
        }
    }

    /// The stream ended: an unfinished frame is the reader's to complain about.
    pub(crate) fn end(&mut self) {
        if !self.header.is_empty() {
            self.pass_header();
        }
    }

    /// The next piece to pass on.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        self.passed.pop_front()
    }

    fn pass_header(&mut self) {
        self.passed.push_back(std::mem::take(&mut self.header).into());
    }
}

/// Type and length of a frame, once both are there.
fn parse(header: &[u8]) -> Option<(u64, u64)> {
    debug_assert!(header.len() <= MAX_HEADER_BYTES, "a byte more than is needed");
    let (kind, rest) = varint(header)?;
    let (length, _) = varint(rest)?;
    Some((kind, length))
}

/// A variable-length integer (RFC 9000, section 16) and what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = 1_usize << (bytes.first()? >> 6);
    let (integer, rest) = bytes.split_at_checked(length)?;
    let value = integer
        .iter()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    // The two bits of the length are not part of the value.
    let value_bits = 8 * u32::try_from(length).ok()? - 2;
    Some((value & (u64::MAX >> (64 - value_bits)), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pass(pieces: &[&[u8]]) -> Vec<u8> {
        let mut filter = FrameFilter::default();
        let mut passed = Vec::new();
        for piece in pieces {
            filter.push(Bytes::copy_from_slice(piece));
        }
        filter.end();
        while let Some(piece) = filter.pop() {
            passed.extend(piece);
        }
        passed
    }

    #[test]
    fn an_empty_data_frame_is_taken_out_however_it_is_written() {
        let headers = [1, 2, 7, 7];
        let data = [0, 3, 1, 2, 3];
        let expected = [&headers[..], &data].concat();
        for empty in [&[0, 0][..], &[0, 0x40, 0], &[0x40, 0, 0x80, 0, 0, 0]] {
            assert_eq!(pass(&[&headers, empty, empty, &data, empty]), expected);
        }
    }

    #[test]
    fn an_unfinished_frame_is_passed_on_at_the_end() {
        assert_eq!(pass(&[&[0]]), [0]);
        assert_eq!(pass(&[&[0, 5, 1]]), [0, 5, 1]);
    }

    #[test]
    fn other_empty_frames_stay() {
        assert_eq!(pass(&[&[1, 0, 0x21, 0]]), [1, 0, 0x21, 0]);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_stream(
            lengths in proptest::collection::vec(0_u8..5, 1..30),
            cut in 1_usize..9,
        ) {
            let mut stream = Vec::new();
            let mut expected: Vec<u8> = Vec::new();
            for length in &lengths {
                let frame = [vec![0, *length], vec![9; usize::from(*length)]].concat();
                stream.extend(&frame);
                if *length > 0 {
                    expected.extend(&frame);
                }
            }
            let pieces: Vec<&[u8]> = stream.chunks(cut).collect();
            prop_assert_eq!(pass(&pieces), expected);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(pass(&[&bytes]).len() <= bytes.len());
        }
    }
}
