//! Bodies of a chosen length: text or noise, plain or compressed, streamed or whole.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::parameters::{Coding, Content};
use crate::probe::net::clock;

/// Length of the repeated block, in bytes. Longer than the windows of both codings (32 KiB and 512 KiB), so that noise stays
/// incompressible when it repeats.
const BLOCK: usize = 1 << 20;
/// How much is handed to the protocol stack at once, in bytes.
const CHUNK: usize = 64 << 10;
/// Brotli's window: 2^19 bytes.
const BROTLI_WINDOW: u32 = 19;
/// Brotli's and gzip's effort, as servers use them on the fly.
const BROTLI_QUALITY: u32 = 5;
const GZIP_LEVEL: Compression = Compression::new(6);
/// How many bytes of compressed bodies are kept.
const MOST_KEPT_BYTES: usize = 32 << 20;
/// Longest time a body may take to be taken off our hands.
const LONGEST_BODY: Duration = Duration::from_mins(2);

static TEXT: LazyLock<Bytes> = LazyLock::new(text);
static NOISE: LazyLock<Bytes> = LazyLock::new(noise);

/// Compressed bodies that were asked for before: compressing is the server's time, and only the first asker pays it.
#[derive(Debug, Default)]
pub(super) struct Coded {
    kept: Mutex<HashMap<(Content, Coding, u64), Bytes>>,
}

impl Coded {
    /// `length` bytes of `content`, compressed. Computes: not for a thread that serves.
    pub(super) fn bytes(&self, content: Content, coding: Coding, length: u64) -> io::Result<Bytes> {
        let key = (content, coding, length);
        if let Some(known) = self.known(content, coding, length) {
            return Ok(known);
        }
        let bytes = compress(content, coding, length)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.values().map(Bytes::len).sum::<usize>() + bytes.len() > MOST_KEPT_BYTES {
            kept.clear();
        }
        kept.insert(key, bytes.clone());
        Ok(bytes)
    }

    /// The same, if it was asked for before.
    pub(super) fn known(&self, content: Content, coding: Coding, length: u64) -> Option<Bytes> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(content, coding, length)).cloned()
    }
}

/// Makes what bodies are cut from, so that no request waits for it.
pub(super) fn prepare() {
    LazyLock::force(&TEXT);
    LazyLock::force(&NOISE);
}

/// `length` bytes of `content`, made while they are sent.
pub(super) fn streamed(content: Content, length: u64, stall: Duration) -> Body {
    body(length, stall, move |at, most| piece(content, at, most))
}

/// These bytes.
pub(super) fn whole(bytes: Bytes, stall: Duration) -> Body {
    if stall.is_zero() {
        return Body::from(bytes);
    }
    body(bytes.len() as u64, stall, move |at, most| {
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        bytes.slice(at..bytes.len().min(at.saturating_add(most)))
    })
}

/// A body that is cut into pieces by `piece(at, most)` and stalls in its middle.
fn body(length: u64, stall: Duration, piece: impl Fn(u64, usize) -> Bytes + Send + 'static) -> Body {
    let middle = if stall.is_zero() { length } else { length / 2 };
    let deadline = clock::now().plus(clock::nanos(LONGEST_BODY));
    let stream = futures_util::stream::unfold((0, piece), move |(at, piece)| async move {
        if at >= length {
            return None;
        }
        if clock::now() > deadline {
            return Some((Err(io::Error::from(io::ErrorKind::TimedOut)), (length, piece)));
        }
        if at == middle {
            tokio::time::sleep(stall).await;
        }
        let until = if at < middle { middle } else { length };
        let most = usize::try_from(until - at).unwrap_or(usize::MAX).min(CHUNK);
        let bytes = piece(at, most);
        Some((Ok(bytes.clone()), (at + bytes.len() as u64, piece)))
    });
    Body::from_stream(stream)
}

/// At most `most` bytes of `content` from position `at` on; at least one.
fn piece(content: Content, at: u64, most: usize) -> Bytes {
    let block = match content {
        Content::Text => &*TEXT,
        Content::Random => &*NOISE,
    };
    let from = usize::try_from(at % BLOCK as u64).unwrap_or(0);
    block.slice(from..BLOCK.min(from + most))
}

fn compress(content: Content, coding: Coding, length: u64) -> io::Result<Bytes> {
    let mut packed = Vec::new();
    match coding {
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(&mut packed, GZIP_LEVEL);
            write(content, length, &mut encoder)?;
            encoder.finish()?;
        }
        Coding::Brotli => {
            let mut encoder =
                brotli::CompressorWriter::new(&mut packed, CHUNK, BROTLI_QUALITY, BROTLI_WINDOW);
            write(content, length, &mut encoder)?;
            encoder.flush()?;
            drop(encoder);
        }
        Coding::Identity | Coding::Negotiated => write(content, length, &mut packed)?,
    }
    Ok(packed.into())
}

fn write(content: Content, length: u64, to: &mut impl io::Write) -> io::Result<()> {
    let mut at = 0;
    while at < length {
        let bytes = piece(
            content,
            at,
            usize::try_from(length - at).unwrap_or(usize::MAX).min(CHUNK),
        );
        to.write_all(&bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

fn text() -> Bytes {
    const WORDS: [&str; 16] = [
        "connection",
        "packet",
        "round",
        "trip",
        "the",
        "of",
        "and",
        "a",
        "server",
        "handshake",
        "stream",
        "header",
        "window",
        "loss",
        "time",
        "request",
    ];
    let mut random = oorandom::Rand32::new(1);
    let mut text = String::with_capacity(BLOCK + 16);
    let mut column = 0;
    while text.len() < BLOCK {
        let word = WORDS[random.rand_range(0..16) as usize];
        text.push_str(word);
        column += word.len() + 1;
        text.push(if column > 90 { '\n' } else { ' ' });
        column = if column > 90 { 0 } else { column };
    }
    text.truncate(BLOCK);
    text.into()
}

fn noise() -> Bytes {
    let mut random = oorandom::Rand64::new(1);
    let words = std::iter::repeat_with(|| random.rand_u64().to_le_bytes());
    words.take(BLOCK / 8).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use http_body_util::BodyExt as _;

    use super::*;

    async fn collected(body: Body) -> Bytes {
        body.collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn a_body_has_exactly_the_length_asked_for() {
        for length in [0, 1, 65_535, 65_537, (1 << 20) + 3] {
            for content in [Content::Text, Content::Random] {
                let body = collected(streamed(content, length, Duration::ZERO)).await;
                assert_eq!(body.len() as u64, length);
            }
        }
    }

    #[tokio::test]
    async fn a_stalled_body_is_the_same_body() {
        let plain = collected(streamed(Content::Text, 200_001, Duration::ZERO)).await;
        let stalled = collected(streamed(Content::Text, 200_001, Duration::from_millis(5))).await;
        assert_eq!(plain, stalled);
        assert_eq!(
            plain,
            collected(whole(plain.clone(), Duration::from_millis(5))).await
        );
    }

    #[test]
    fn text_compresses_and_noise_does_not() {
        let coded = Coded::default();
        let length = (1 << 20) + (1 << 19);
        for coding in [Coding::Gzip, Coding::Brotli] {
            let text = coded.bytes(Content::Text, coding, length).unwrap();
            let noise = coded.bytes(Content::Random, coding, length).unwrap();
            assert!((text.len() as u64) < length / 3, "{coding:?}: {}", text.len());
            assert!(
                noise.len() as u64 > length * 99 / 100,
                "{coding:?}: {}",
                noise.len()
            );
            assert_eq!(coded.known(Content::Text, coding, length), Some(text));
        }
        let gzip = coded.bytes(Content::Text, Coding::Gzip, 1000).unwrap();
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&gzip[..])
            .read_to_end(&mut plain)
            .unwrap();
        assert_eq!(plain, TEXT[..1000]);
        let brotli = coded.bytes(Content::Text, Coding::Brotli, 1000).unwrap();
        let mut plain = Vec::new();
        brotli::Decompressor::new(&brotli[..], 4096)
            .read_to_end(&mut plain)
            .unwrap();
        assert_eq!(plain, TEXT[..1000]);
    }
}
