//! Waiting without doing anything.

use js_sys::Promise;
use wasm_bindgen_futures::JsFuture;

/// Waits for about so many milliseconds.
pub(super) async fn pause(millis: i32) {
    let promise = Promise::new(&mut |resolve, _reject| {
        drop(gloo::utils::window().set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, millis));
    });
    drop(JsFuture::from(promise).await);
}
