//! Every definition in one place.

use maud::{Markup, html};

/// All figures with their definitions, folded.
pub(super) fn glossary() -> Markup {
    html! {
        details.card.glossary {
            summary { h2 { "Every figure and its definition" } }
            dl.facts-list {
                @for key in shared::explain::keys() {
                    dt { code { (key) } }
                    dd { (shared::explain::definition(key).unwrap_or_default()) }
                }
            }
        }
    }
}
