//! A word with its definition one click away, reachable by keyboard. One pop-over serves the whole page.

use maud::{Markup, Render, html};
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};

/// A word of the model; pressing it shows its definition. `term` is its key in `shared::explain`.
pub(super) fn explain(term: &str, word: impl Render) -> Markup {
    match shared::explain::definition(term) {
        Some(definition) => remark(definition, word),
        None => word.render(),
    }
}

/// A word with a remark behind it, such as the reason of an absence.
pub(super) fn remark(text: &str, word: impl Render) -> Markup {
    button(text, &word.render())
}

fn button(text: &str, word: &Markup) -> Markup {
    html! {
        button.term type="button" popovertarget="definition" data-says=(text) { (word) }
    }
}

/// The page's one pop-over. Its text is put in by [`say`] before the browser shows it.
pub(crate) fn definition_popover() -> Markup {
    html! { div #definition popover="auto" role="note" {} }
}

/// Hears of every press inside the page and lets the pop-over say what the pressed word says.
pub(crate) fn say(event: &MouseEvent) {
    let word = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok())
        .and_then(|target| target.closest(".term").ok().flatten());
    let popover = gloo::utils::document().get_element_by_id("definition");
    if let (Some(word), Some(popover)) = (word, popover) {
        popover.set_text_content(word.get_attribute("data-says").as_deref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_document_says_is_text_and_never_markup() {
        let markup = remark("a\"><script>", "<b>").into_string();
        assert!(
            !markup.contains("<script>") && !markup.contains("<b>"),
            "{markup}"
        );
    }

    #[test]
    fn a_word_without_definition_stays_a_word() {
        assert_eq!(explain("no such term", "word").into_string(), "word");
    }
}
