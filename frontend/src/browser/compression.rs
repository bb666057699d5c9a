//! The browser's own compression, and the results that travel inside a link by it.

use js_sys::{Array, Function, Reflect, Uint8Array};
use shared::{
    Document, Nanos,
    document::link::{self, Encoded, LinkError, MAX_INFLATED_BYTES},
};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, ReadableStreamDefaultReader, ReadableWritablePair};

/// A link that holds a whole result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FragmentLink {
    /// The whole URL.
    pub(crate) url: String,
    /// To which times were rounded to make it this short.
    pub(crate) resolution: Nanos,
}

/// Puts a result into a link of at most `max_chars` characters, at the finest resolution of times that fits.
///
/// # Errors
/// In words, when it does not fit even with the coarsest times, or the browser cannot compress.
pub(crate) async fn fragment_link(document: &Document, max_chars: usize) -> Result<FragmentLink, String> {
    let origin = gloo::utils::window().location().origin().unwrap_or_default();
    let mut chars = 0;
    for encoded in link::encodings(document) {
        let Encoded { payload, resolution } = encoded.map_err(|error| error.to_string())?;
        // What goes in is our own and bounded by the encoder; the compressed form is not longer.
        let compressed = through("CompressionStream", &payload, usize::MAX)
            .await
            .map_err(|_| "this browser cannot compress".to_owned())?;
        let url = [&origin, "/r", &link::fragment(&compressed)].concat();
        chars = url.len();
        if chars <= max_chars {
            return Ok(FragmentLink { url, resolution });
        }
    }
    Err(LinkError::TooLong {
        chars,
        most: max_chars,
    }
    .to_string())
}

/// Opens the result inside a link's fragment.
///
/// # Errors
/// In words, when it is none.
pub(crate) async fn open_fragment(fragment: &str) -> Result<Document, String> {
    let compressed = link::compressed_from_fragment(fragment).map_err(|error| error.to_string())?;
    let payload = through("DecompressionStream", &compressed, MAX_INFLATED_BYTES)
        .await
        .map_err(|_| {
            "the link was cut or changed on its way: ask for it again, or copy it in one piece".to_owned()
        })?;
    link::decode(&payload).map_err(|error| error.to_string())
}

/// `bytes` through a `CompressionStream` or `DecompressionStream` for `deflate-raw`; an error beyond `limit` bytes.
async fn through(kind: &str, bytes: &[u8], limit: usize) -> Result<Vec<u8>, JsValue> {
    let constructor: Function = Reflect::get(&js_sys::global(), &kind.into())?.dyn_into()?;
    let stream = Reflect::construct(&constructor, &Array::of1(&"deflate-raw".into()))?;
    let blob = Blob::new_with_u8_array_sequence(&Array::of1(&Uint8Array::from(bytes)))?;
    let reader: ReadableStreamDefaultReader = blob
        .stream()
        .pipe_through(stream.unchecked_ref::<ReadableWritablePair>())
        .get_reader()
        .unchecked_into();
    let mut out = Vec::new();
    loop {
        let chunk = JsFuture::from(reader.read()).await?;
        if Reflect::get(&chunk, &"done".into())?.is_truthy() {
            return Ok(out);
        }
        let value: Uint8Array = Reflect::get(&chunk, &"value".into())?.dyn_into()?;
        if out.len().saturating_add(value.length() as usize) > limit {
            drop(reader.cancel());
            return Err("longer than allowed".into());
        }
        out.extend_from_slice(&value.to_vec());
    }
}
