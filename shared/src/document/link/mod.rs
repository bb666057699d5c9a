//! A document inside a link's fragment, and back: nothing is stored anywhere.
//!
//! The payload is a CRC-32 (4 bytes, little endian) of the rest, and JSON in columns: what all samples of an arm share stands
//! once, marks are differences to the mark before. What can be computed is left out and computed on reading. The page
//! compresses the payload (`deflate-raw`), so that this crate needs no compressor:
//!
//! ```
//! # use shared::{Document, document::link};
//! # fn share(document: &Document, deflate: impl Fn(&[u8]) -> Vec<u8>, inflate: impl Fn(&[u8]) -> Vec<u8>) -> Result<(), link::LinkError> {
//! let encoded = link::encode(document, link::LONGEST_FRAGMENT)?;
//! let fragment = link::fragment(&deflate(&encoded.payload)); // "#1.…", after "/r"
//!
//! // At the reader's; inflating must stop at link::MAX_INFLATED_BYTES.
//! let payload = inflate(&link::compressed_from_fragment(&fragment)?);
//! let read: Document = link::decode(&payload)?;
//! # Ok(())
//! # }
//! ```

mod column;
mod facts;
mod packed;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use thiserror::Error;

use self::packed::Packed;
use crate::{
    Document, Nanos,
    document::{DocumentError, SCHEMA},
};

/// Largest payload: decompressing stops here.
pub const MAX_INFLATED_BYTES: usize = 1 << 20;

/// Longest fragment that people still paste (mail and chat programs cut longer ones).
pub const LONGEST_FRAGMENT: usize = 8_000;

/// To what times are rounded, from the finest: the first at which the link is short enough is taken.
pub const RESOLUTIONS: [Nanos; 4] = [Nanos(1), Nanos(1_000), Nanos(10_000), Nanos(100_000)];

/// The version of the fragment's form, its first part.
const VERSION: &str = "1";

/// A document as a payload to compress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The bytes to compress.
    pub payload: Vec<u8>,
    /// To what times were rounded. More than 1 ns raises the clock's step in what is read, so that no value claims to be
    /// more exact than it is.
    pub resolution: Nanos,
}

/// Why a document cannot go into a link, or cannot be read from one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    /// Too many samples.
    #[error("the result is too large for a link: about {chars} characters, of which {most} are possible")]
    TooLong {
        /// The estimated length at the coarsest resolution.
        chars: usize,
        /// The longest wanted.
        most: usize,
    },
    /// The result itself breaks the limits of what a link may hold.
    #[error("the result is too large for a link")]
    TooLarge,
    /// There is no result in the fragment.
    #[error("this link holds no result")]
    NotAResult,
    /// Made by a newer version.
    #[error("this link was made by another version of Roundtrip (form {0}); this one reads form {VERSION}")]
    Version(String),
    /// The checksum does not match, or the text is not whole.
    #[error("the link was cut or changed on its way: ask for it again, or copy it in one piece")]
    Cut,
    /// Whole, but not what this program writes.
    #[error("the result in this link is not valid: {0}")]
    Invalid(String),
}

impl From<DocumentError> for LinkError {
    fn from(error: DocumentError) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// Puts a document into a payload whose fragment has at most `max_chars` characters, by an estimate on the safe side: times are
/// rounded to the first of [`RESOLUTIONS`] at which it fits.
///
/// # Errors
/// When it does not fit even with the coarsest times.
pub fn encode(document: &Document, max_chars: usize) -> Result<Encoded, LinkError> {
    let mut chars = 0;
    for resolution in RESOLUTIONS {
        let payload = encode_at(document, resolution)?;
        chars = estimated_chars(payload.len());
        if chars <= max_chars {
            return Ok(Encoded { payload, resolution });
        }
    }
    Err(LinkError::TooLong {
        chars,
        most: max_chars,
    })
}

/// Puts a document into a payload with times rounded to `resolution`, one of [`RESOLUTIONS`].
///
/// # Errors
/// When it is larger than what [`decode`] accepts.
pub fn encode_at(document: &Document, resolution: Nanos) -> Result<Vec<u8>, LinkError> {
    let json = serde_json::to_vec(&Packed::from_document(document, resolution)?);
    let json = json.map_err(|error| LinkError::Invalid(error.to_string()))?;
    let mut payload = crc32fast::hash(&json).to_le_bytes().to_vec();
    payload.extend(json);
    if payload.len() > MAX_INFLATED_BYTES {
        return Err(LinkError::TooLarge);
    }
    Ok(payload)
}

/// Reads a document from a payload and computes all its figures. The payload is treated as hostile: sizes and counts are
/// bounded before anything is allocated for them.
///
/// # Errors
/// When the payload is not whole, of another version, or not a valid document.
pub fn decode(payload: &[u8]) -> Result<Document, LinkError> {
    #[derive(Deserialize)]
    struct Header {
        schema: u32,
    }
    if payload.len() > MAX_INFLATED_BYTES {
        return Err(LinkError::TooLarge);
    }
    let (checksum, json) = payload.split_first_chunk().ok_or(LinkError::Cut)?;
    if crc32fast::hash(json) != u32::from_le_bytes(*checksum) {
        return Err(LinkError::Cut);
    }
    let invalid = |error: serde_json::Error| LinkError::Invalid(error.to_string());
    let header: Header = serde_json::from_slice(json).map_err(invalid)?;
    if header.schema != SCHEMA {
        return Err(LinkError::Version(format!("{VERSION}, schema {}", header.schema)));
    }
    let packed: Packed = serde_json::from_slice(json).map_err(invalid)?;
    let mut document = packed.into_document()?;
    document.check()?;
    document.recompute();
    Ok(document)
}

/// The fragment of a link, with its `#`, for a compressed payload.
pub fn fragment(compressed: &[u8]) -> String {
    ["#", VERSION, ".", &URL_SAFE_NO_PAD.encode(compressed)].concat()
}

/// The compressed payload in a link's fragment, with or without its `#`.
///
/// # Errors
/// When there is none, when it is of another version, or when the text is not whole.
pub fn compressed_from_fragment(fragment: &str) -> Result<Vec<u8>, LinkError> {
    let fragment = fragment.trim();
    let (version, text) = fragment
        .strip_prefix('#')
        .unwrap_or(fragment)
        .split_once('.')
        .ok_or(LinkError::NotAResult)?;
    if version.is_empty() || version.len() > 4 || !version.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(LinkError::NotAResult);
    }
    if version != VERSION {
        return Err(LinkError::Version(version.to_owned()));
    }
    // What is compressed is not longer than what it holds, and base64 adds a third.
    if text.len() > MAX_INFLATED_BYTES / 3 * 4 {
        return Err(LinkError::TooLarge);
    }
    URL_SAFE_NO_PAD.decode(text).map_err(|_| LinkError::Cut)
}

/// The length of the fragment for a payload of so many bytes. Digits of random marks compress to 46 % (a digit holds 3.3 bits)
/// at worst, all else to less, and base64 adds a third.
fn estimated_chars(payload_bytes: usize) -> usize {
    payload_bytes * 5 / 8 + 16
}

#[cfg(test)]
mod tests;
