//! Every definition in one place.

use yew::prelude::*;

/// All figures with their definitions, folded.
pub(super) fn glossary() -> Html {
    html! {
        <details class="card glossary">
            <summary><h2>{ "Every figure and its definition" }</h2></summary>
            <dl class="facts-list">
                { for shared::explain::keys().map(|key| html! {
                    <><dt><code>{ key }</code></dt><dd>{ shared::explain::definition(key).unwrap_or_default() }</dd></>
                }) }
            </dl>
        </details>
    }
}
