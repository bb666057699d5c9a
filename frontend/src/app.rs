//! Shows the page that the address asks for, inside the frame of every page.

use gloo::events::EventListener;
use yew::prelude::*;

use crate::{
    pages::{Home, Opened, Origin, mark_body, not_found},
    route::Route,
    view::{SiteHeader, definition_popover, raw, say, site_footer},
};

/// The whole page.
#[component]
pub(crate) fn App() -> Html {
    let route = use_state(current_route);
    {
        let route = route.clone();
        use_effect_with((), move |()| {
            let listen = |event: &'static str| {
                let route = route.clone();
                EventListener::new(&gloo::utils::window(), event, move |_| {
                    let now = current_route();
                    // A link inside the page, such as the one that skips to the content, is not another result.
                    if !matches!(now, Route::NotFound) {
                        route.set(now);
                    }
                })
            };
            let listeners = [listen("popstate"), listen("hashchange")];
            move || drop(listeners)
        });
    }
    let page = match &*route {
        Route::Home => html! { <Home /> },
        Route::Stored(id) => html! { <Opened key={id.clone()} origin={Origin::Stored(id.clone())} /> },
        Route::Fragment(fragment) => {
            html! { <Opened key={fragment.clone()} origin={Origin::Fragment(fragment.clone())} /> }
        }
        Route::NotFound => {
            mark_body("error");
            raw(not_found())
        }
    };
    html! {
        <div onclick={|event: MouseEvent| say(&event)}>
            <SiteHeader />
            <main id="main" tabindex="-1">{ page }</main>
            { raw(site_footer()) }
            { raw(definition_popover()) }
        </div>
    }
}

fn current_route() -> Route {
    let location = gloo::utils::window().location();
    Route::from_location(
        &location.pathname().unwrap_or_default(),
        &location.hash().unwrap_or_default(),
    )
}
