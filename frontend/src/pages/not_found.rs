//! An address that is none of the page's.

use maud::{Markup, html};

/// Says so and leads on.
pub(crate) fn not_found() -> Markup {
    html! {
        section.intro {
            h1 { "There is no page here" }
            p {
                "A link to a result ends in " code { "/r/" } " and an id, or in " code { "/r#1." }
                " and a long text. Mail programs sometimes cut links: ask for it again."
            }
            p { a href="/" { "Measure a URL" } }
        }
    }
}
