//! Markup inside the page's components.
//!
//! What only shows is written as markup, by pure functions that are tested without a browser; what reacts is a component.
//! Components for everything would cost the page three times as much code.

use maud::Markup;
use yew::{AttrValue, Html};

/// Markup as a part of a component. It is safe whatever a document contains: maud escapes all text and attributes.
pub(crate) fn raw(markup: Markup) -> Html {
    Html::from_html_unchecked(AttrValue::from(markup.into_string()))
}
