//! Takes something off the page: to the clipboard, or into a file.

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, HtmlElement, Url};

/// Puts `text` on the clipboard; `false` where the browser does not allow it.
pub(crate) async fn copy(text: &str) -> bool {
    let navigator: JsValue = gloo::utils::window().navigator().into();
    // Without a secure context there is no clipboard object at all.
    let Some(clipboard) = js_sys::Reflect::get(&navigator, &"clipboard".into())
        .ok()
        .filter(JsValue::is_object)
        .map(JsCast::unchecked_into::<web_sys::Clipboard>)
    else {
        return false;
    };
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// Offers JSON as a file to save, laid out for people.
pub(crate) fn save_json(name: &str, json: &str) {
    // The browser lays it out: a second writer in the page would double its code.
    let laid_out = js_sys::JSON::parse(json)
        .and_then(|value| js_sys::JSON::stringify_with_replacer_and_space(&value, &JsValue::NULL, &2.into()))
        .map_or_else(|_| json.to_owned(), String::from);
    if let Err(error) = offer(name, &laid_out) {
        web_sys::console::warn_1(&error);
    }
}

fn offer(name: &str, text: &str) -> Result<(), JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type("application/json");
    let blob = Blob::new_with_str_sequence_and_options(&Array::of1(&text.into()), &options)?;
    let url = Url::create_object_url_with_blob(&blob)?;
    let link: HtmlElement = gloo::utils::document().create_element("a")?.unchecked_into();
    link.set_attribute("href", &url)?;
    link.set_attribute("download", name)?;
    link.click();
    Url::revoke_object_url(&url)
}
