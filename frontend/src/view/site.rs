//! The frame of every page: name, theme switch, footer.

use maud::{Markup, html as markup};
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::theme::{self, Theme};

/// The header.
#[component]
pub(crate) fn SiteHeader() -> Html {
    let theme = use_state(theme::chosen);
    let choose = {
        let theme = theme.clone();
        Callback::from(move |event: Event| {
            let value = event
                .target_dyn_into::<HtmlInputElement>()
                .map(|input| input.value());
            let chosen = Theme::from_id(value.as_deref());
            theme::choose(chosen);
            theme.set(chosen);
        })
    };
    html! {
        <>
            <a class="skip" href="#main">{ "Skip to the content" }</a>
            <header class="site">
                <a class="brand" href="/">
                    <span class="mark" aria-hidden="true">
                        <svg viewBox="0 0 20 20"><path d="M3 6.500h12.500M12 3l3.500 3.500L12 10" /><path d="M17 13.500H4.500M8 10l-3.500 3.500L8 17" opacity="0.6" /></svg>
                    </span>
                    { "Roundtrip" }
                </a>
                <fieldset class="switch">
                    <legend class="visually-hidden">{ "Theme" }</legend>
                    { for Theme::ALL.iter().map(|option| html! {
                        <label>
                            <input type="radio" name="theme" value={option.id()} checked={*option == *theme} onchange={choose.clone()} />
                            { option.label() }
                        </label>
                    }) }
                </fieldset>
            </header>
        </>
    }
}

/// The footer.
pub(crate) fn site_footer() -> Markup {
    markup! {
        footer.site {
            p { "Every time is the difference of two stamped events; what did not happen is absent, never 0." }
            p { "The same measurement in a terminal: " code { "roundtrip probe URL" } }
        }
    }
}
