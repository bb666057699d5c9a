//! A document inside a link's fragment, and back: nothing is stored anywhere.
//!
//! The payload is a CRC-32 (4 bytes, little endian) of the rest, and JSON in columns: what all samples of an arm share stands
//! once, marks are differences to the mark before. What can be computed is left out and computed on reading. The page
//! compresses the payload (`deflate-raw`), so that this crate needs no compressor:
//!
//! ```
//! # use shared::{Document, document::link::{self, LinkError, LONGEST_FRAGMENT}};
//! # struct Browser;
//! # impl Browser {
//! #     fn deflate(&self, bytes: &[u8]) -> Vec<u8> { bytes.to_vec() }
//! #     fn inflate(&self, bytes: &[u8], limit: usize) -> Vec<u8> { bytes[..bytes.len().min(limit)].to_vec() }
//! # }
//! /// The fragment, `#1.…`, that comes after `/r`.
//! fn share(document: &Document, browser: &Browser) -> Result<String, LinkError> {
//!     let mut chars = 0;
//!     for encoded in link::encodings(document) {
//!         let fragment = link::fragment(&browser.deflate(&encoded?.payload));
//!         if fragment.len() <= LONGEST_FRAGMENT {
//!             return Ok(fragment);
//!         }
//!         chars = fragment.len();
//!     }
//!     Err(LinkError::TooLong { chars, most: LONGEST_FRAGMENT })
//! }
//!
//! fn open(fragment: &str, browser: &Browser) -> Result<Document, LinkError> {
//!     let compressed = link::compressed_from_fragment(fragment)?;
//!     // What does not inflate was cut: LinkError::Cut.
//!     link::decode(&browser.inflate(&compressed, link::MAX_INFLATED_BYTES))
//! }
//! ```

mod checksum;
mod column;
mod facts;
mod packed;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use thiserror::Error;

use self::{checksum::crc32, packed::Packed};
use crate::{
    Document, Nanos,
    document::{DocumentError, SCHEMA},
    wire::{self, Json, WireError},
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
    #[error("the result is too large for a link: it would have {chars} characters, and {most} are possible")]
    TooLong {
        /// The length at the coarsest resolution.
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

/// The document as a payload at each of [`RESOLUTIONS`], from the finest, made as they are asked for: the caller compresses one
/// after the other and takes the first that is short enough.
pub fn encodings(document: &Document) -> impl Iterator<Item = Result<Encoded, LinkError>> + '_ {
    RESOLUTIONS.into_iter().map(|resolution| {
        let payload = encode(document, resolution)?;
        Ok(Encoded { payload, resolution })
    })
}

/// Puts a document into a payload with times rounded to `resolution`, one of [`RESOLUTIONS`].
///
/// # Errors
/// When it is larger than what [`decode`] accepts.
pub fn encode(document: &Document, resolution: Nanos) -> Result<Vec<u8>, LinkError> {
    let json = wire::to_text(&Packed::from_document(document, resolution)?);
    let mut payload = crc32(json.as_bytes()).to_le_bytes().to_vec();
    payload.extend_from_slice(json.as_bytes());
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
    if payload.len() > MAX_INFLATED_BYTES {
        return Err(LinkError::TooLarge);
    }
    let (checksum, json) = payload.split_first_chunk().ok_or(LinkError::Cut)?;
    if crc32(json) != u32::from_le_bytes(*checksum) {
        return Err(LinkError::Cut);
    }
    let json = std::str::from_utf8(json).map_err(|_| LinkError::Invalid("it is not text".into()))?;
    let json = Json::parse(json).ok_or_else(|| LinkError::Invalid(WireError::NotJson.to_string()))?;
    // Another schema may have other members: it is named before they are looked at.
    let schema = json.get("schema").integer();
    if schema.is_some_and(|schema| schema != i128::from(SCHEMA)) {
        let schema = schema.unwrap_or_default();
        return Err(LinkError::Version(format!("{VERSION}, schema {schema}")));
    }
    let packed: Packed = wire::from_json(&json).map_err(|error| LinkError::Invalid(error.to_string()))?;
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

#[cfg(test)]
mod tests;
