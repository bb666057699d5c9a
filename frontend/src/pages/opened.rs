//! A result that someone shared: read-only, nothing is measured, and what is opened is checked like any hostile input.

use shared::{Document, wire};
use wasm_bindgen_futures::spawn_local;
use yew::prelude::*;

use crate::{
    browser::compression,
    client,
    state::Handle,
    view::{Report, Share, sentence},
};

/// Where the result comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Stored by this server under an id.
    Stored(String),
    /// Inside the link.
    Fragment(String),
}

#[derive(Properties, PartialEq)]
pub(crate) struct OpenedProps {
    pub(crate) origin: Origin,
}

/// Opens and shows a shared result.
#[component]
pub(crate) fn Opened(props: &OpenedProps) -> Html {
    let opened = use_state(|| None::<Result<Handle<Document>, String>>);
    {
        let opened = opened.clone();
        use_effect_with(props.origin.clone(), move |origin| {
            super::mark_body("loading");
            let origin = origin.clone();
            spawn_local(async move {
                let result = open(&origin).await;
                super::mark_body(if result.is_ok() { "shared" } else { "error" });
                opened.set(Some(result.map(Handle::new)));
            });
        });
    }
    match &*opened {
        None => html! { <p role="status">{ "Opening the result." }</p> },
        Some(Err(message)) => html! {
            <section class="intro">
                <h1>{ "This result cannot be opened" }</h1>
                <p class="note bad" role="alert" id="open-error">{ sentence(message) }</p>
                <p><a href="/">{ "Measure a URL" }</a></p>
            </section>
        },
        Some(Ok(document)) => html! {
            <div class="stack">
                <div class="note shared-banner" id="shared-banner">
                    <p><strong>{ "Shared result, read-only." }</strong>{ format!(" Made on {}. ", day(&document.created)) }
                        { "Nothing was run to show it. " }<a href="/">{ "Measure a URL yourself" }</a></p>
                </div>
                <Report document={document.clone()} />
                <Share document={document.clone()} />
            </div>
        },
    }
}

async fn open(origin: &Origin) -> Result<Document, String> {
    match origin {
        Origin::Stored(id) => {
            let text = client::stored(id).await.map_err(|error| error.message)?;
            let mut document: Document = wire::from_text(&text)
                .map_err(|error| format!("what was stored is not a result: {error}"))?;
            document.check().map_err(|error| error.to_string())?;
            document.recompute();
            Ok(document)
        }
        Origin::Fragment(fragment) => compression::open_fragment(fragment).await,
    }
}

/// The day and the minute of an RFC 3339 time; whatever else is shown as it is.
fn day(created: &str) -> String {
    match (created.get(..10), created.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} at {time} UTC"),
        _ => created.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shortened_and_anything_else_is_left_alone() {
        assert_eq!(day("2026-03-01T12:00:07.123Z"), "2026-03-01 at 12:00 UTC");
        assert_eq!(day("soon"), "soon");
        assert_eq!(day("ééééééééé"), "ééééééééé");
    }
}
