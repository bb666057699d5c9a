//! Where the server says HTTP/3 is: the Alt-Svc field, parsed, and the HTTPS record.

use maud::{Markup, html};
use shared::{Document, Facts, HttpsRecord, Source, source::alt_svc};

use super::explain::explain;
/// What was advertised.
pub(super) fn alt_svc(document: &Document) -> Markup {
    html! {
        dl.facts-list #alt-svc {
            dt { (explain("alt-svc", "Alt-Svc")) }
            dd {
                @match field(document) {
                    Some(raw) => (advertised(raw)),
                    None => span.absent { "not sent, in none of the responses read" },
                }
            }
            dt { (explain("https_record", "HTTPS record")) }
            dd {
                @match &document.dns {
                    None => span.absent { "DNS was not asked" },
                    Some(dns) => {
                        @if dns.https.is_empty() { span.absent { "none" } }
                        @for of_dns in &dns.https { (record(of_dns)) }
                    }
                }
            }
        }
    }
}

fn advertised(raw: &str) -> Markup {
    let parsed = alt_svc::parse(raw);
    html! {
        @if parsed.clear { p { "clear: the browser is to forget all alternatives" } }
        @for alternative in &parsed.alternatives {
            p {
                strong { (alternative.protocol) } " on "
                @if alternative.host.is_empty() { "the same host" } @else { (alternative.host) }
                ", port " (alternative.port) ", " (duration(alternative.max_age_s))
                @if alternative.persist { ", kept when the network changes" }
            }
        }
        @for rejected in &parsed.rejected {
            p.error { "not understood: " (rejected.text) " (" (rejected.reason) ")" }
        }
        p.muted.small.mono { (raw) }
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

fn record(record: &HttpsRecord) -> Markup {
    html! {
        p {
            "priority " (record.priority) "; target " (record.target)
            @if !record.alpn.is_empty() { "; alpn " (record.alpn.join(", ")) }
            @if record.no_default_alpn { "; no-default-alpn" }
            @if let Some(port) = record.port { "; port " (port) }
            @if !record.hints.is_empty() { "; hints " (record.hints.join(", ")) }
        }
    }
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
