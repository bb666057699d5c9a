//! A word with its definition one click away, reachable by keyboard. One pop-over serves the whole page.

use web_sys::Element;
use yew::prelude::*;

/// A word of the model; pressing it shows its definition. `term` is its key in `shared::explain`.
pub(super) fn explain(term: &str, word: impl Into<AttrValue>) -> Html {
    let word = word.into();
    match shared::explain::definition(term) {
        Some(definition) => button(AttrValue::Static(definition), word),
        None => html! { word },
    }
}

/// A word with a remark behind it, such as the reason of an absence.
pub(super) fn remark(text: String, word: impl Into<AttrValue>) -> Html {
    button(text.into(), word.into())
}

fn button(text: AttrValue, word: AttrValue) -> Html {
    html! {
        <button type="button" class="term" popovertarget="definition" data-says={text}>{ word }</button>
    }
}

/// The page's one pop-over. Its text is put in by [`say`] before the browser shows it.
pub(crate) fn definition_popover() -> Html {
    html! { <div popover="auto" id="definition" role="note"></div> }
}

/// Hears of every press inside the page and lets the pop-over say what the pressed word says.
pub(crate) fn say(event: &MouseEvent) {
    let word = event
        .target_dyn_into::<Element>()
        .and_then(|target| target.closest(".term").ok().flatten());
    let popover = gloo::utils::document().get_element_by_id("definition");
    if let (Some(word), Some(popover)) = (word, popover) {
        popover.set_text_content(word.get_attribute("data-says").as_deref());
    }
}
