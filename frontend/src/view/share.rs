//! Shares a result: first what will be shared, then the link, the stored link or the file.

use shared::{
    Document, Nanos, StoreConfig, StoredResult,
    document::{
        link::LONGEST_FRAGMENT,
        redact::{RedactOptions, Redacted, redact},
    },
    format, wire,
};
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::words::sentence;
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
    let toggle = {
        let open = open.clone();
        Callback::from(move |_: MouseEvent| open.set(!*open))
    };
    html! {
        <section class="share card" aria-labelledby="share-open">
            <div class="row">
                <button type="button" id="share-open" class={classes!((!*open).then_some("primary"))} onclick={toggle}
                    aria-expanded={open.to_string()} aria-controls="share-panel">
                    { if *open { "Close" } else { "Share this result" } }
                </button>
                <span class="muted">{ "You see what will be shared before anything is." }</span>
            </div>
            if *open {
                <Panel document={props.document.clone()} store={props.store.clone()} />
            }
        </section>
    }
}

/// The open panel: options, preview, and the three ways.
#[component]
fn Panel(props: &ShareProps) -> Html {
    let options = use_state(RedactOptions::default);
    let redacted = use_memo(
        (props.document.clone(), (*options).clone()),
        |(document, options)| {
            let Redacted { document, removed } = redact(document, options);
            (Handle::new(document), removed)
        },
    );
    let (document, removed) = &*redacted;
    let set = |change: fn(&mut RedactOptions, bool)| {
        let options = options.clone();
        Callback::from(move |event: Event| {
            let mut next = (*options).clone();
            change(
                &mut next,
                event.target_unchecked_into::<HtmlInputElement>().checked(),
            );
            options.set(next);
        })
    };
    html! {
        <div id="share-panel" class="share-panel">
            <div class="share-preview">
                <h3>{ "What will be shared" }</h3>
                <dl class="facts-list">
                    <dt>{ "URL" }</dt><dd class="mono" id="share-url">{ &document.plan.url }</dd>
                    if let Some(address) = &document.address { <dt>{ "Address" }</dt><dd class="mono">{ address }</dd> }
                    <dt>{ "Samples" }</dt><dd>{ samples(document) }</dd>
                    <dt>{ "Removed" }</dt>
                    <dd id="share-removed">
                        if removed.is_empty() {
                            { "nothing had to be" }
                        } else {
                            <ul>{ for removed.iter().map(|removed| html! { <li>{ removed }</li> }) }</ul>
                        }
                    </dd>
                </dl>
                <label class="line-check">
                    <input type="checkbox" id="keep-query" checked={options.keep_query} onchange={set(|options, keep| options.keep_query = keep)} />
                    <span>{ "Keep the query of the URL" }</span>
                </label>
                <label class="line-check">
                    <input type="checkbox" id="keep-hosts" checked={options.keep_hosts} onchange={set(|options, keep| options.keep_hosts = keep)} />
                    <span>{ "Keep the names and addresses of private hosts" }</span>
                </label>
                <label class="line-check">
                    <input type="checkbox" id="alias-hosts" checked={options.alias_all_hosts} onchange={set(|options, alias| options.alias_all_hosts = alias)} />
                    <span>{ "Replace public host names and all addresses too" }</span>
                </label>
            </div>
            <LinkShare document={document.clone()} />
            if let Some(store) = &props.store {
                <StoreShare document={document.clone()} config={store.clone()} />
            }
            { file_share(document) }
        </div>
    }
}

fn samples(document: &Document) -> String {
    let samples: usize = document.arms.iter().map(|arm| arm.samples.len()).sum();
    format!("{samples} in {} arms, with all their marks", document.arms.len())
}

#[derive(Properties, PartialEq)]
struct LinkShareProps {
    document: Handle<Document>,
}

/// The link that holds the result itself.
#[component]
fn LinkShare(props: &LinkShareProps) -> Html {
    let link = use_state(|| None::<Result<FragmentLink, String>>);
    let said = use_state(|| "");
    {
        let (link, said) = (link.clone(), said.clone());
        use_effect_with(props.document.clone(), move |document| {
            let document = document.clone();
            said.set("");
            spawn_local(async move {
                let packed = compression::fragment_link(&document, LONGEST_FRAGMENT).await;
                link.set(Some(packed));
            });
        });
    }
    let body = match &*link {
        None => html! { <p role="status">{ "Packing." }</p> },
        Some(Err(why)) => html! {
            <p class="note warn" id="share-too-long">{ sentence(why) }{ " Store the result, or save it as a file." }</p>
        },
        Some(Ok(link)) => {
            let copy = {
                let (said, url) = (said.clone(), link.url.clone());
                Callback::from(move |_: MouseEvent| {
                    let (said, url) = (said.clone(), url.clone());
                    spawn_local(async move {
                        said.set(if keep::copy(&url).await {
                            "Copied."
                        } else {
                            "The browser did not allow it: select the link and copy it."
                        });
                    });
                })
            };
            html! {
                <>
                    <div class="row with-button">
                        <input type="text" id="share-link" readonly=true value={link.url.clone()} aria-label="Link that holds the result"
                            onfocus={Callback::from(|event: FocusEvent| event.target_unchecked_into::<HtmlInputElement>().select())} />
                        <button type="button" class="primary" id="share-copy" onclick={copy}>{ "Copy link" }</button>
                    </div>
                    <p class="hint" role="status">{ *said }{ " " }{ length_words(link.url.len(), link.resolution) }</p>
                </>
            }
        }
    };
    html! {
        <div class="share-way">
            <h3>{ "A link that holds the result" }</h3>
            <p class="hint">{ "Everything is inside the link, behind the #: it is sent to no server and stored nowhere." }</p>
            { body }
        </div>
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

#[derive(Properties, PartialEq)]
struct StoreShareProps {
    document: Handle<Document>,
    config: StoreConfig,
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
#[component]
fn StoreShare(props: &StoreShareProps) -> Html {
    let storing = use_state(|| Storing::Not);
    let days = use_state(|| props.config.default_expires_days);
    {
        let storing = storing.clone();
        use_effect_with(props.document.clone(), move |_| storing.set(Storing::Not));
    }
    let store = {
        let (storing, document, days) = (storing.clone(), props.document.clone(), *days);
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
            let chosen = event
                .target_unchecked_into::<web_sys::HtmlSelectElement>()
                .value();
            if let Ok(chosen) = chosen.parse() {
                days.set(chosen);
            }
        })
    };
    let ask = html! {
        <div class="row">
            <button type="button" id="store" onclick={store} disabled={*storing == Storing::Busy}>{ "Store and get a link" }</button>
            <label class="pick">{ "for " }
                <select id="expires" onchange={on_days}>
                    { for props.config.expires_days.iter().map(|option| html! {
                        <option value={option.to_string()} selected={*option == *days}>{ plural_days(*option) }</option>
                    }) }
                </select>
            </label>
        </div>
    };
    let body = match &*storing {
        Storing::Not | Storing::Busy => ask,
        Storing::Failed(why) => html! { <><p class="error" role="alert">{ sentence(why) }</p>{ ask }</> },
        Storing::Deleted => {
            html! { <><p class="note" role="status">{ "Deleted. The link no longer opens." }</p>{ ask }</> }
        }
        Storing::Stored(stored) => kept(stored, &storing),
    };
    html! {
        <div class="share-way">
            <h3>{ "A short link to a stored copy" }</h3>
            <p class="hint">{ "This server keeps what you see above until it expires or you delete it. Whoever has the link can read it." }</p>
            { body }
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
    html! {
        <>
            <p><a id="stored-link" class="mono" href={url.clone()}>{ url }</a></p>
            <p class="hint">{ format!("Expires {}.", stored.expires) }</p>
            <p class="note warn">{ "To delete it later you need this token. It is shown only now: " }
                <code id="delete-token">{ &stored.delete_token }</code></p>
            <button type="button" id="delete" onclick={delete}>{ "Delete it now" }</button>
        </>
    }
}

/// The result as a file.
fn file_share(document: &Handle<Document>) -> Html {
    let save = {
        let document = document.clone();
        Callback::from(move |_: MouseEvent| {
            keep::save_json("roundtrip-result.json", &wire::to_text(&*document));
        })
    };
    html! {
        <div class="share-way">
            <h3>{ "A file" }</h3>
            <div class="row">
                <button type="button" id="download" onclick={save}>{ "Download as JSON" }</button>
                <span class="hint">{ "The whole document, as described by schema 1." }</span>
            </div>
        </div>
    }
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
