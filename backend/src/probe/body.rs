//! The content of a response: counted as it comes, decoded after the exchange, bounded in both forms.

use std::io::{self, BufRead, Read, Write};

use bytes::Bytes;
use flate2::bufread::GzDecoder;
use flate2::write::{DeflateDecoder, ZlibDecoder};
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use shared::{Facts, Failure, FailureKind, FailurePhase, Method};

use super::limits;

/// The content codings that can be undone here (RFC 9110, section 8.4.1, and RFC 7932).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    /// Another one, or several at once.
    Other,
}

impl Coding {
    fn of(fields: &HeaderMap) -> Self {
        let mut codings = fields.get_all(CONTENT_ENCODING).iter();
        let (first, more) = (codings.next(), codings.next());
        let Some(value) = first.and_then(|value| value.to_str().ok()) else {
            return if first.is_some() {
                Self::Other
            } else {
                Self::Identity
            };
        };
        if more.is_some() {
            return Self::Other;
        }
        match value.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Self::Identity,
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            _ => Self::Other,
        }
    }
}

/// Takes the content of one response.
///
/// Decoding would compete with the download that is being timed, so coded content is kept and decoded at the end.
#[derive(Debug)]
pub(crate) struct Content {
    coding: Coding,
    encoded_bytes: u64,
    /// Whether the response has content at all; else there is no size, not one of 0.
    expected: bool,
    limit: u64,
    kept: Option<Vec<Bytes>>,
}

impl Content {
    /// Content of a response with this status and these fields, of at most `limit` bytes.
    pub(crate) fn new(method: Method, status: StatusCode, fields: &HeaderMap, limit: u64) -> Self {
        // RFC 9110, section 6.4.1.
        let expected =
            method == Method::Get && status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED;
        let coding = Coding::of(fields);
        let decodes = !matches!(coding, Coding::Identity | Coding::Other);
        Self {
            coding,
            encoded_bytes: 0,
            expected,
            limit,
            kept: decodes.then(Vec::new),
        }
    }

    /// Bytes as transferred so far.
    pub(crate) fn encoded_bytes(&self) -> u64 {
        self.encoded_bytes
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: Bytes) -> Result<(), Failure> {
        self.encoded_bytes = self.encoded_bytes.saturating_add(piece.len() as u64);
        if self.encoded_bytes > self.limit {
            return Err(too_large(self.limit, ""));
        }
        if self.encoded_bytes > limits::KEPT_BODY_BYTES {
            self.kept = None;
        }
        if let Some(kept) = &mut self.kept {
            kept.push(piece);
        }
        Ok(())
    }

    /// The sizes, once everything has come (or the exchange failed: then only what came is counted).
    pub(crate) fn finish(self, facts: &mut Facts, complete: bool) -> Result<(), Failure> {
        if !self.expected {
            return Ok(());
        }
        facts.encoded_bytes = Some(self.encoded_bytes);
        if !complete {
            return Ok(());
        }
        match (self.coding, self.kept) {
            (Coding::Identity, _) => facts.decoded_bytes = Some(self.encoded_bytes),
            (coding, Some(kept)) => match decoded_bytes(coding, &kept, self.limit) {
                Ok(bytes) => facts.decoded_bytes = Some(bytes),
                Err(error)
                    if error
                        .get_ref()
                        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<LimitReached>) =>
                {
                    return Err(too_large(self.limit, " when decoded"));
                }
                Err(error) => facts
                    .notes
                    .push(format!("the content coding could not be undone: {error}")),
            },
            (Coding::Other, None) => facts.notes.push(
                "the size after decoding is not known: the content coding is not one of gzip, deflate, br"
                    .into(),
            ),
            (_, None) => facts
                .notes
                .push("the size after decoding is not known: the body is too long to be kept".into()),
        }
        Ok(())
    }
}

fn too_large(limit: u64, how: &str) -> Failure {
    Failure::new(
        FailureKind::BodyTooLarge,
        FailurePhase::Download,
        format!("more than {limit} bytes{how}"),
    )
}

fn decoded_bytes(coding: Coding, pieces: &[Bytes], limit: u64) -> io::Result<u64> {
    let mut counter = Counter { bytes: 0, limit };
    let first = pieces.iter().find_map(|piece| piece.first().copied());
    if first.is_none() {
        return Ok(0);
    }
    match coding {
        Coding::Gzip => {
            let mut rest = Pieces(pieces, 0);
            let mut members = 0;
            while !rest.fill_buf()?.is_empty() {
                members += 1;
                if members > MOST_GZIP_MEMBERS {
                    return Err(io::Error::other(format!(
                        "more than {MOST_GZIP_MEMBERS} gzip members"
                    )));
                }
                io::copy(&mut GzDecoder::new(&mut rest), &mut counter)?;
            }
        }
        // Some servers send deflate without the zlib wrapper that the standard asks for (RFC 9110, section 8.4.1.2).
        Coding::Deflate if first.is_some_and(|byte| byte & 0x0f == 8) => {
            let mut decoder = ZlibDecoder::new(&mut counter);
            write_all(&mut decoder, pieces)?;
            decoder.finish()?;
        }
        Coding::Deflate => {
            let mut decoder = DeflateDecoder::new(&mut counter);
            write_all(&mut decoder, pieces)?;
            decoder.finish()?;
        }
        Coding::Brotli => {
            let mut decoder = brotli::DecompressorWriter::new(&mut counter, 16 << 10);
            write_all(&mut decoder, pieces)?;
            decoder.close()?;
        }
        Coding::Identity | Coding::Other => return Err(io::ErrorKind::Unsupported.into()),
    }
    Ok(counter.bytes)
}

/// Most gzip members (RFC 1952, section 2.2) of a body. Empty ones cost time and give no bytes, so that the limit of decoded
/// bytes does not stop them.
const MOST_GZIP_MEMBERS: u32 = 1000;

/// What is left of the pieces: those, and how much of the first is read.
struct Pieces<'a>(&'a [Bytes], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while let [first, after @ ..] = self.0 {
            if self.1 < first.len() {
                return Ok(&first[self.1..]);
            }
            *self = Self(after, 0);
        }
        Ok(&[])
    }

    fn consume(&mut self, bytes: usize) {
        self.1 += bytes;
    }
}

fn write_all(decoder: &mut impl Write, pieces: &[Bytes]) -> io::Result<()> {
    for piece in pieces {
        decoder.write_all(piece)?;
    }
    Ok(())
}

/// Counts decoded bytes and stops at the limit; keeps none of them.
struct Counter {
    bytes: u64,
    limit: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("the limit is reached")]
struct LimitReached;

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.bytes > self.limit {
            return Err(io::Error::other(LimitReached));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn sizes(coding: &str, body: &[u8], limit: u64) -> Result<Facts, Failure> {
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_ENCODING, coding.parse().unwrap());
        let mut content = Content::new(Method::Get, StatusCode::OK, &fields, limit);
        for piece in body.chunks(100) {
            content.push(Bytes::copy_from_slice(piece))?;
        }
        let mut facts = Facts::default();
        content.finish(&mut facts, true)?;
        Ok(facts)
    }

    #[test]
    fn each_coding_is_undone() {
        let text = b"round trip ".repeat(1000);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&text).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
        raw.write_all(&text).unwrap();
        let mut br = Vec::new();
        {
            let mut encoder = brotli::CompressorWriter::new(&mut br, 4096, 5, 20);
            encoder.write_all(&text).unwrap();
        }
        for (coding, body) in [
            ("identity", text.clone()),
            ("gzip", gzip(&text)),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", raw.finish().unwrap()),
            ("br", br),
        ] {
            let facts = sizes(coding, &body, 1 << 20).unwrap();
            assert_eq!(facts.encoded_bytes, Some(body.len() as u64), "{coding}");
            assert_eq!(facts.decoded_bytes, Some(11_000), "{coding}");
        }
    }

    #[test]
    fn a_decompression_bomb_stops_at_the_limit() {
        let bomb = gzip(&vec![0; 10 << 20]);
        let failure = sizes("gzip", &bomb, 1 << 20).unwrap_err();
        assert_eq!(failure.kind, FailureKind::BodyTooLarge);
        assert!(failure.detail.contains("decoded"));
    }

    #[test]
    fn a_body_of_endless_empty_members_is_given_up() {
        let one = gzip(b"");
        let facts = sizes("gzip", &one.repeat(700_000), 1 << 30).unwrap();
        assert_eq!(facts.decoded_bytes, None);
        assert!(facts.notes[0].contains("gzip members"), "{:?}", facts.notes);
    }

    #[test]
    fn several_members_are_one_content() {
        let body = [gzip(b"abc"), gzip(b""), gzip(b"de")].concat();
        assert_eq!(sizes("gzip", &body, 100).unwrap().decoded_bytes, Some(5));
    }

    #[test]
    fn a_response_without_content_has_no_sizes() {
        for (method, status) in [
            (Method::Head, StatusCode::OK),
            (Method::Get, StatusCode::NO_CONTENT),
            (Method::Get, StatusCode::NOT_MODIFIED),
        ] {
            let content = Content::new(method, status, &HeaderMap::new(), 100);
            let mut facts = Facts::default();
            content.finish(&mut facts, true).unwrap();
            assert_eq!((facts.encoded_bytes, facts.decoded_bytes), (None, None));
        }
    }

    #[test]
    fn a_body_that_is_too_long_stops_the_exchange() {
        let failure = sizes("identity", &[0; 1000], 999).unwrap_err();
        assert_eq!(failure.kind, FailureKind::BodyTooLarge);
    }

    #[test]
    fn a_broken_coding_is_a_note_and_not_a_size() {
        for (coding, body) in [
            ("gzip", &b"not gzip at all"[..]),
            ("zstd", b"x"),
            ("gzip, br", b"x"),
        ] {
            let facts = sizes(coding, body, 1 << 20).unwrap();
            assert_eq!(facts.decoded_bytes, None, "{coding}");
            assert_eq!(facts.notes.len(), 1, "{coding}");
        }
    }
}
