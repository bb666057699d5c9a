//! Shares a result: first what will be shared, then the link, the stored link or the file.

use maud::{Markup, html as markup};
use shared::{
    Document, Nanos, StoreConfig, StoredResult,
    document::{
        link::LONGEST_FRAGMENT,
        redact::{RedactOptions, Redacted, redact},
    },
    format, wire,
};
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlSelectElement;
use yew::prelude::*;

use super::{markup::raw, words::sentence};
use crate::{
    browser::{
        compression::{self, FragmentLink},
        keep,
    },
    client,
    state::Handle,
};

/// Beyond this many characters a link is often cut by what carries it.
const WARN_CHARS: usize = 2_000;

#[derive(Properties, PartialEq)]
pub(crate) struct ShareProps {
    pub(crate) document: Handle<Document>,
    /// What the server stores; `None` when it stores nothing, or when the result is not this page's own.
    #[prop_or_default]
    pub(crate) store: Option<StoreConfig>,
}

/// The share panel.
#[component]
pub(crate) fn Share(props: &ShareProps) -> Html {
    let open = use_state(|| false);
    let options = use_state(RedactOptions::default);
    let redacted = use_memo(
        (props.document.clone(), *open, (*options).clone()),
        |(document, open, options)| {
            open.then(|| redact(document, options))
                .map(|Redacted { document, removed }| (Handle::new(document), removed))
        },
    );
    let document = redacted.as_ref().as_ref().map(|(document, _)| document.clone());
    let link = use_state(|| None::<Result<FragmentLink, String>>);
    let said = use_state(|| "");
    let storing = use_state(|| Storing::Not);
    let days = use_state(|| props.store.as_ref().map_or(0, |store| store.default_expires_days));
    {
        // Another document, or other options: what was made of the former does not hold any more.
        let (link, said, storing) = (link.clone(), said.clone(), storing.clone());
        use_effect_with(document, move |document| {
            said.set("");
            link.set(None);
            storing.set(Storing::Not);
            if let Some(document) = document.clone() {
                spawn_local(async move {
                    let packed = compression::fragment_link(&document, LONGEST_FRAGMENT).await;
                    link.set(Some(packed));
                });
            }
        });
    }
    let toggle = {
        let open = open.clone();
        Callback::from(move |_: MouseEvent| open.set(!*open))
    };
    let panel = redacted.as_ref().as_ref().map(|(document, removed)| {
        html! {
            <div id="share-panel" class="share-panel">
                <div class="share-preview">
                    { raw(preview(document, removed)) }
                    { for OPTIONS.iter().map(|option| switch(option, &options)) }
                </div>
                { link_share(link.as_ref(), &said) }
                if let Some(store) = &props.store {
                    { store_share(document, store, &storing, &days) }
                }
                { file_share(document) }
            </div>
        }
    });
    html! {
        <section class="share card" aria-labelledby="share-open">
            <div class="row">
                <button type="button" id="share-open" class={(!*open).then_some("primary")} onclick={toggle}
                    aria-expanded={if *open { "true" } else { "false" }} aria-controls="share-panel">
                    { if *open { "Close" } else { "Share this result" } }
                </button>
                <span class="muted">{ "You see what will be shared before anything is." }</span>
            </div>
            { for panel }
        </section>
    }
}

fn preview(document: &Document, removed: &[String]) -> Markup {
    let samples: usize = document.arms.iter().map(|arm| arm.samples.len()).sum();
    markup! {
        h3 { "What will be shared" }
        dl.facts-list {
            dt { "URL" }
            dd.mono #share-url { (document.plan.url) }
            @if let Some(address) = &document.address {
                dt { "Address" }
                dd.mono { (address) }
            }
            dt { "Samples" }
            dd { (samples) " in " (document.arms.len()) " arms, with all their marks" }
            dt { "Removed" }
            dd #share-removed {
                @if removed.is_empty() { "nothing had to be" }
                ul { @for removed in removed { li { (removed) } } }
            }
        }
    }
}

/// A switch of what is kept: its id, its text, and the option it stands for.
struct Switch {
    id: &'static str,
    text: &'static str,
    of: fn(&mut RedactOptions) -> &mut bool,
}

const OPTIONS: [Switch; 3] = [
    Switch {
        id: "keep-query",
        text: "Keep the query of the URL",
        of: |options| &mut options.keep_query,
    },
    Switch {
        id: "keep-hosts",
        text: "Keep the names and addresses of private hosts",
        of: |options| &mut options.keep_hosts,
    },
    Switch {
        id: "alias-hosts",
        text: "Replace public host names and all addresses too",
        of: |options| &mut options.alias_all_hosts,
    },
];

fn switch(switch: &'static Switch, options: &UseStateHandle<RedactOptions>) -> Html {
    let mut next = (**options).clone();
    let on = (switch.of)(&mut next);
    let is_on = *on;
    *on = !is_on;
    let options = options.clone();
    let change = Callback::from(move |_: Event| options.set(next.clone()));
    html! {
        <label class="line-check">
            <input type="checkbox" id={switch.id} checked={is_on} onchange={change} /><span>{ switch.text }</span>
        </label>
    }
}

/// The link that holds the result itself.
fn link_share(link: Option<&Result<FragmentLink, String>>, said: &UseStateHandle<&'static str>) -> Html {
    let body = match link {
        None => raw(markup! { p role="status" { "Packing." } }),
        Some(Err(why)) => raw(markup! {
            p.note.warn #share-too-long { (sentence(why)) " Store the result, or save it as a file." }
        }),
        Some(Ok(FragmentLink { url, resolution })) => {
            let copy = {
                let (said, url) = (said.clone(), url.clone());
                Callback::from(move |_: MouseEvent| {
                    let (said, url) = (said.clone(), url.clone());
                    spawn_local(async move {
                        said.set(if keep::copy(&url).await {
                            "Copied. "
                        } else {
                            "The browser did not allow it: select the link and copy it. "
                        });
                    });
                })
            };
            html! {
                <>
                    <div class="row with-button">
                        <input type="text" id="share-link" readonly=true value={url.clone()} aria-label="Link that holds the result" />
                        <button type="button" class="primary" id="share-copy" onclick={copy}>{ "Copy link" }</button>
                    </div>
                    <p class="hint" role="status">{ **said }{ length_words(url.len(), *resolution) }</p>
                </>
            }
        }
    };
    way(
        "A link that holds the result",
        "Everything is inside the link, behind the #: it is sent to no server and stored nowhere.",
        body,
    )
}

/// One way to share, with what it means.
fn way(title: &'static str, hint: &'static str, body: Html) -> Html {
    html! {
        <div class="share-way"><h3>{ title }</h3><p class="hint">{ hint }</p>{ body }</div>
    }
}

/// How long the link is, what that means, and what was given up for it.
fn length_words(chars: usize, resolution: Nanos) -> String {
    let mut words = format!("{chars} characters.");
    if chars > WARN_CHARS {
        words.push_str(" Some chats and mail programs cut links of more than 2000.");
    }
    if resolution > Nanos(1) {
        words.extend([" Times are rounded to ", &format::millis(resolution), " in it."]);
    }
    words
}

/// What became of a stored result.
#[derive(Clone, Debug, PartialEq)]
enum Storing {
    Not,
    Busy,
    Stored(StoredResult),
    Deleted,
    Failed(String),
}

/// The link to a result that the server keeps.
fn store_share(
    document: &Handle<Document>,
    config: &StoreConfig,
    storing: &UseStateHandle<Storing>,
    days: &UseStateHandle<u32>,
) -> Html {
    let body = match &**storing {
        Storing::Stored(stored) => kept(stored, storing),
        other => {
            let said = markup! {
                @match other {
                    Storing::Failed(why) => p.error role="alert" { (sentence(why)) },
                    Storing::Deleted => p.note role="status" { "Deleted. The link no longer opens." },
                    _ => {}
                }
            };
            html! { <>{ raw(said) }{ ask(document, config, storing, days) }</> }
        }
    };
    way(
        "A short link to a stored copy",
        "This server keeps what you see above until it expires or you delete it. Whoever has the link can read it.",
        body,
    )
}

fn ask(
    document: &Handle<Document>,
    config: &StoreConfig,
    storing: &UseStateHandle<Storing>,
    days: &UseStateHandle<u32>,
) -> Html {
    let store = {
        let (storing, document, days) = (storing.clone(), document.clone(), **days);
        Callback::from(move |_: MouseEvent| {
            let (storing, document) = (storing.clone(), document.clone());
            storing.set(Storing::Busy);
            spawn_local(async move {
                storing.set(match client::store(&document, days).await {
                    Ok(stored) => Storing::Stored(stored),
                    Err(error) => Storing::Failed(error.message),
                });
            });
        })
    };
    let on_days = {
        let days = days.clone();
        Callback::from(move |event: Event| {
            let chosen = event.target_unchecked_into::<HtmlSelectElement>().value();
            if let Ok(chosen) = chosen.parse() {
                days.set(chosen);
            }
        })
    };
    html! {
        <div class="row">
            <button type="button" id="store" onclick={store} disabled={**storing == Storing::Busy}>{ "Store and get a link" }</button>
            <label class="pick">{ "for " }
                <select id="expires" onchange={on_days}>
                    { for config.expires_days.iter().map(|option| html! {
                        <option value={option.to_string()} selected={*option == **days}>{ plural_days(*option) }</option>
                    }) }
                </select>
            </label>
        </div>
    }
}

/// A stored result's link, and its token, which is shown this once.
fn kept(stored: &StoredResult, storing: &UseStateHandle<Storing>) -> Html {
    let origin = gloo::utils::window().location().origin().unwrap_or_default();
    let url = [&origin, "/r/", &stored.id].concat();
    let delete = {
        let (stored, storing) = (stored.clone(), storing.clone());
        Callback::from(move |_: MouseEvent| {
            let (stored, storing) = (stored.clone(), storing.clone());
            spawn_local(async move {
                storing.set(match client::delete(&stored.id, &stored.delete_token).await {
                    Ok(()) => Storing::Deleted,
                    Err(error) => Storing::Failed(error.message),
                });
            });
        })
    };
    let said = markup! {
        p { a.mono #stored-link href=(url) { (url) } }
        p.hint { "Expires " (stored.expires) "." }
        p.note.warn {
            "To delete it later you need this token. It is shown only now: "
            code #delete-token { (stored.delete_token) }
        }
    };
    html! { <>{ raw(said) }<button type="button" id="delete" onclick={delete}>{ "Delete it now" }</button></> }
}

/// The result as a file.
fn file_share(document: &Handle<Document>) -> Html {
    let document = document.clone();
    let save = Callback::from(move |_: MouseEvent| {
        keep::save_json("roundtrip-result.json", &wire::to_text(&*document));
    });
    way(
        "A file",
        "The whole document, as described by schema 1.",
        html! { <div class="row"><button type="button" id="download" onclick={save}>{ "Download as JSON" }</button></div> },
    )
}

fn plural_days(days: u32) -> String {
    if days == 1 {
        "1 day".into()
    } else {
        format!("{days} days")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_link_warns_and_rounding_is_admitted() {
        assert_eq!(length_words(700, Nanos(1)), "700 characters.");
        let long = length_words(2_001, Nanos(100_000));
        assert!(
            long.contains("cut links") && long.contains("rounded to 0.100 ms"),
            "{long}"
        );
    }

    #[test]
    fn one_day_is_singular() {
        assert_eq!(
            (plural_days(1), plural_days(30)),
            ("1 day".into(), "30 days".into())
        );
    }
}
