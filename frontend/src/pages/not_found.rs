//! An address that is none of the page's.

use yew::prelude::*;

/// Says so and leads on.
pub(crate) fn not_found() -> Html {
    html! {
        <section class="intro">
            <h1>{ "There is no page here" }</h1>
            <p>{ "A link to a result ends in " }<code>{ "/r/" }</code>{ " and an id, or in " }<code>{ "/r#1." }</code>
                { " and a long text. Mail programs sometimes cut links: ask for it again." }</p>
            <p><a href="/">{ "Measure a URL" }</a></p>
        </section>
    }
}
