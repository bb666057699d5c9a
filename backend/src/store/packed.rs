//! A document as it is kept: JSON, deflated, with a bound on what it may become again.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use shared::Document;
use thiserror::Error;

/// Longest JSON that is inflated, in bytes: far above what the API accepts, so that only a damaged store meets it.
const MAX_JSON_BYTES: u64 = 64 << 20;

/// Why a document could not be packed or unpacked.
#[derive(Debug, Error)]
pub enum PackError {
    /// Not JSON of a document.
    #[error("document: {0}")]
    Json(#[from] serde_json::Error),
    /// Not deflate.
    #[error("compression: {0}")]
    Deflate(#[from] std::io::Error),
    /// Longer than any document may be.
    #[error("longer than {MAX_JSON_BYTES} bytes")]
    TooLong,
}

/// JSON, deflated.
///
/// # Errors
/// When the document cannot be written as JSON.
pub fn pack(document: &Document) -> Result<Vec<u8>, PackError> {
    let json = serde_json::to_vec(document)?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&json)?;
    Ok(encoder.finish()?)
}

/// The JSON of a packed document.
///
/// # Errors
/// When the bytes are damaged.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, PackError> {
    let mut json = Vec::new();
    DeflateDecoder::new(packed)
        .take(MAX_JSON_BYTES + 1)
        .read_to_end(&mut json)?;
    if json.len() as u64 > MAX_JSON_BYTES {
        return Err(PackError::TooLong);
    }
    Ok(json)
}
