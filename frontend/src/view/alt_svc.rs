//! Where the server says HTTP/3 is: the Alt-Svc field, parsed, and the HTTPS record.

use shared::{Document, Facts, HttpsRecord, Source, source::alt_svc};
use yew::prelude::*;

use super::explain::explain;
/// What was advertised.
pub(super) fn alt_svc(document: &Document) -> Html {
    html! {
        <dl class="facts-list" id="alt-svc">
            <dt>{ explain("alt-svc", "Alt-Svc") }</dt>
            <dd>{ advertised(document) }</dd>
            <dt>{ explain("https_record", "HTTPS record") }</dt>
            <dd>{ match &document.dns {
                None => html! { <span class="absent">{ "DNS was not asked" }</span> },
                Some(dns) if dns.https.is_empty() => html! { <span class="absent">{ "none" }</span> },
                Some(dns) => dns.https.iter().map(record).collect(),
            } }</dd>
        </dl>
    }
}

fn advertised(document: &Document) -> Html {
    let Some(raw) = field(document) else {
        return html! { <span class="absent">{ "not sent, in none of the responses read" }</span> };
    };
    let parsed = alt_svc::parse(raw);
    html! {
        <>
            if parsed.clear {
                <p>{ "clear: the browser is to forget all alternatives" }</p>
            }
            { for parsed.alternatives.iter().map(|alternative| {
                let host = if alternative.host.is_empty() { "the same host" } else { &alternative.host };
                let persist = if alternative.persist { ", kept when the network changes" } else { "" };
                html! {
                    <p><strong>{ &alternative.protocol }</strong>
                        { format!(" on {host}, port {}, {}{persist}", alternative.port, duration(alternative.max_age_s)) }</p>
                }
            }) }
            { for parsed.rejected.iter().map(|rejected| html! {
                <p class="error">{ format!("not understood: {} ({})", rejected.text, rejected.reason) }</p>
            }) }
            <p class="muted small mono">{ raw }</p>
        </>
    }
}

/// The first Alt-Svc field among the responses, the probe's first: a page may not be allowed to read it.
fn field(document: &Document) -> Option<&str> {
    let of = |source| {
        document
            .arms
            .iter()
            .filter(move |arm| arm.source == source)
            .flat_map(|arm| &arm.samples)
            .find_map(|sample| Facts::header(&sample.facts, "alt-svc"))
    };
    of(Source::Probe).or_else(|| of(Source::Browser))
}

fn record(record: &HttpsRecord) -> Html {
    let mut parts = vec![
        format!("priority {}", record.priority),
        format!("target {}", record.target),
    ];
    if !record.alpn.is_empty() {
        parts.push(format!("alpn {}", record.alpn.join(", ")));
    }
    if record.no_default_alpn {
        parts.push("no-default-alpn".into());
    }
    parts.extend(record.port.map(|port| format!("port {port}")));
    if !record.hints.is_empty() {
        parts.push(format!("hints {}", record.hints.join(", ")));
    }
    html! { <p>{ parts.join("; ") }</p> }
}

/// `max-age` for people: the largest unit that divides it.
fn duration(seconds: u64) -> String {
    for (unit, name) in [(86_400, "day"), (3_600, "hour"), (60, "minute")] {
        if seconds > 0 && seconds.is_multiple_of(unit) {
            let count = seconds / unit;
            let plural = if count == 1 { "" } else { "s" };
            return format!("valid for {count} {name}{plural}");
        }
    }
    format!("valid for {seconds} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_use_their_largest_whole_unit() {
        for (seconds, text) in [
            (86_400, "valid for 1 day"),
            (2_592_000, "valid for 30 days"),
            (7_200, "valid for 2 hours"),
            (61, "valid for 61 s"),
            (0, "valid for 0 s"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
