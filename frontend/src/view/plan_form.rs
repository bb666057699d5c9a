//! The form: what is to be measured. Usable with the keyboard alone; Enter starts.

use shared::{Family, Plan, Protocol, ServerConfig, Temperature};
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use crate::state::{Edit, FieldError, Form};

/// The values of `accept-encoding` that are offered, with their names.
const ENCODINGS: [(&str, &str); 5] = [
    ("", "not sent: no compression"),
    ("gzip, deflate, br, zstd", "as browsers: gzip, deflate, br, zstd"),
    ("gzip", "gzip"),
    ("br", "br"),
    ("zstd", "zstd"),
];

/// What the form shows and whom it tells.
pub(crate) struct PlanForm<'a> {
    pub(crate) form: &'a Form,
    pub(crate) error: Option<&'a FieldError>,
    /// A run goes on: the fields rest and the button cancels.
    pub(crate) active: bool,
    pub(crate) config: Option<&'a ServerConfig>,
    pub(crate) on_edit: Callback<Edit>,
    pub(crate) on_start: Callback<()>,
    pub(crate) on_cancel: Callback<()>,
}

/// The form.
pub(crate) fn plan_form(props: &PlanForm<'_>) -> Html {
    let form = props.form;
    let submit = {
        let (start, active) = (props.on_start.clone(), props.active);
        Callback::from(move |event: SubmitEvent| {
            event.prevent_default();
            if !active {
                start.emit(());
            }
        })
    };
    let cancel = props.on_cancel.reform(|_: MouseEvent| ());
    let example = props
        .config
        .and_then(example)
        .map(|url| props.on_edit.reform(move |_: MouseEvent| Edit::Url(url.clone())));
    let local = props.config.is_some_and(|config| config.allow_private);
    let fault = |field: &str| fault(props.error, field);
    let general = props
        .error
        .filter(|error| !FIELDS.contains(&error.field.as_str()))
        .map(|error| match error.field.as_str() {
            "" => error.message.clone(),
            field => format!("{field}: {}", error.message),
        });
    html! {
        <form class="card plan" onsubmit={submit} novalidate=true aria-label="What to measure">
            <div class="target">
                <div class="field">
                    <label for="url">{ "URL to measure" }</label>
                    <input type="text" id="url" name="url" inputmode="url" autocapitalize="off" autocomplete="off" spellcheck="false"
                        placeholder="https://example.org/" disabled={props.active} value={form.url.clone()}
                        aria-invalid={invalid(props.error, "url")} aria-describedby="url-error url-hint"
                        oninput={text(&props.on_edit, Edit::Url)} />
                </div>
                if props.active {
                    <button key="cancel" type="button" id="cancel" onclick={cancel}>{ "Cancel" }</button>
                } else {
                    <button key="start" type="submit" id="start" class="primary">{ "Measure" }</button>
                }
            </div>
            { fault("url") }
            <p class="hint" id="url-hint">
                if let Some(example) = example {
                    { "No server at hand? " }
                    <button type="button" class="link-button" id="example" onclick={example} disabled={props.active}>
                        { "Try it on the built-in test origin" }
                    </button>
                    { ": it answers after 25 ms with 100 kB, so you know what to find. For your browser to measure it too, " }
                    <a href={props.config.and_then(|config| config.origin.clone())} target="_blank" rel="noreferrer">{ "accept its certificate" }</a>
                    { " once. " }
                }
                if local {
                    { "This server may also probe private and local addresses." }
                } else {
                    { "This server probes public addresses only." }
                }
            </p>
            if let Some(general) = general {
                <p class="error" role="alert">{ general }</p>
            }
            <div class="options">
                <fieldset class="wide" disabled={props.active}>
                    <legend>{ "Protocols to force" }</legend>
                    <div class="checks">
                        { for Protocol::ALL.iter().map(|protocol| {
                            let (protocol, wanted) = (*protocol, form.protocols.contains(protocol));
                            check(&["protocol-", protocol.id()].concat(), protocol.label(), wanted,
                                props.on_edit.reform(move |_: Event| Edit::Protocol(protocol, !wanted)))
                        }) }
                    </div>
                    { fault("protocols") }
                </fieldset>
                <fieldset class="wide" disabled={props.active}>
                    <legend>{ "Connections" }</legend>
                    <div class="checks">
                        { for [(Temperature::Cold, "new (cold)"), (Temperature::Warm, "reused (warm)")].into_iter().map(|(temperature, label)| {
                            let wanted = form.temperatures.contains(&temperature);
                            check(&["temperature-", temperature.id()].concat(), label, wanted,
                                props.on_edit.reform(move |_: Event| Edit::Temperature(temperature, !wanted)))
                        }) }
                    </div>
                    { fault("temperatures") }
                </fieldset>
                { number(props, "samples", "Samples per protocol", &form.samples, (1, Plan::MAX_SAMPLES), Edit::Samples) }
                { number(props, "browser_samples", "Browser requests", &form.browser_samples, (0, Plan::MAX_BROWSER_SAMPLES), Edit::BrowserSamples) }
                <div class="field">
                    <label for="family">{ "IP version" }</label>
                    <select id="family" disabled={props.active} onchange={family(&props.on_edit)}>
                        { for FAMILIES.iter().map(|(family, id, label)| html! {
                            <option value={*id} selected={*family == form.family}>{ *label }</option>
                        }) }
                    </select>
                    { fault("family") }
                </div>
            </div>
            <details open={props.error.is_some_and(|error| MORE.contains(&error.field.as_str()))}>
                <summary>{ "More" }</summary>
                <div class="options">
                    { number(props, "warm_requests", "Further requests on a connection", &form.warm_requests, (1, Plan::MAX_WARM_REQUESTS), Edit::WarmRequests) }
                    { number(props, "max_time_ms", "Time limit per request, seconds", &form.max_time_s, (1, 60), Edit::MaxTime) }
                    <div class="field wide">
                        <label for="accept_encoding">{ "Accept-Encoding of the probe" }</label>
                        <select id="accept_encoding" disabled={props.active} onchange={encoding(&props.on_edit)}>
                            { for ENCODINGS.iter().map(|(value, label)| html! {
                                <option value={*value} selected={*value == form.accept_encoding}>{ *label }</option>
                            }) }
                        </select>
                        { fault("accept_encoding") }
                    </div>
                    <label class="line-check wide">
                        <input type="checkbox" id="insecure" checked={form.insecure} disabled={props.active}
                            onchange={let insecure = form.insecure; props.on_edit.reform(move |_: Event| Edit::Insecure(!insecure))} />
                        <span>{ "Go on when the certificate is not accepted, and say so. Concerns the probe only: a browser decides for itself." }</span>
                    </label>
                </div>
            </details>
        </form>
    }
}

/// Fields that have a place for their error.
const FIELDS: [&str; 9] = [
    "url",
    "protocols",
    "temperatures",
    "samples",
    "browser_samples",
    "family",
    "warm_requests",
    "max_time_ms",
    "accept_encoding",
];

/// Those of them that are folded away.
const MORE: [&str; 3] = ["warm_requests", "max_time_ms", "accept_encoding"];

const FAMILIES: [(Family, &str, &str); 3] = [
    (Family::Auto, "auto", "automatic"),
    (Family::Ipv4, "ipv4", "IPv4"),
    (Family::Ipv6, "ipv6", "IPv6"),
];

/// A URL of the test origin whose truth is known.
pub(crate) fn example(config: &ServerConfig) -> Option<String> {
    let origin = config.origin.as_deref()?;
    Some([origin, "/t?delay=25ms&bytes=100k"].concat())
}

fn invalid(error: Option<&FieldError>, field: &str) -> Option<&'static str> {
    error.filter(|error| error.field == field).map(|_| "true")
}

fn fault(error: Option<&FieldError>, field: &str) -> Html {
    let Some(error) = error.filter(|error| error.field == field) else {
        return html! {};
    };
    html! { <p class="error" role="alert" id={[field, "-error"].concat()}>{ &error.message }</p> }
}

fn check(id: &str, label: &'static str, checked: bool, on_change: Callback<Event>) -> Html {
    html! {
        <label class="check">
            <input type="checkbox" id={id.to_owned()} {checked} onchange={on_change} />{ label }
        </label>
    }
}

fn number(
    props: &PlanForm<'_>,
    field: &'static str,
    label: &'static str,
    value: &str,
    (low, high): (u32, u32),
    edit: fn(String) -> Edit,
) -> Html {
    html! {
        <div class="field">
            <label for={field}>{ label }</label>
            <input type="number" id={field} inputmode="numeric" min={low.to_string()} max={high.to_string()} step="1"
                disabled={props.active} value={value.to_owned()} aria-invalid={invalid(props.error, field)}
                aria-describedby={[field, "-error"].concat()} oninput={text(&props.on_edit, edit)} />
            { fault(props.error, field) }
        </div>
    }
}

fn text(on_edit: &Callback<Edit>, edit: fn(String) -> Edit) -> Callback<InputEvent> {
    on_edit.reform(move |event: InputEvent| edit(event.target_unchecked_into::<HtmlInputElement>().value()))
}

fn family(on_edit: &Callback<Edit>) -> Callback<Event> {
    on_edit.reform(|event: Event| {
        let chosen = event.target_unchecked_into::<HtmlSelectElement>().value();
        let family = FAMILIES.iter().find(|(_, id, _)| *id == chosen);
        Edit::Family(family.map_or(Family::Auto, |(family, _, _)| *family))
    })
}

fn encoding(on_edit: &Callback<Edit>) -> Callback<Event> {
    on_edit.reform(|event: Event| {
        Edit::AcceptEncoding(event.target_unchecked_into::<HtmlSelectElement>().value())
    })
}
