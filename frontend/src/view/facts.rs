//! What else was observed, protocol by protocol: address, versions, certificate, sizes, round trip times.

use maud::{Markup, html};
use shared::{Arm, Document, Facts, RttSource, Sample, format};

use super::{arms, explain::explain};
type Read = fn(&Facts) -> Option<String>;

/// The rows: name, key of its definition, and how it is read from the facts of one exchange.
const ROWS: [(&str, &str, Read); 20] = [
    ("Address", "address", |f| f.address.clone()),
    ("HTTP version agreed", "http_version", |f| f.http_version.clone()),
    ("Status", "status", |f| f.status.map(|status| status.to_string())),
    ("Redirect to (not followed)", "redirect", |f| f.redirect.clone()),
    ("TLS version", "tls_version", |f| f.tls_version.clone()),
    ("Cipher suite", "tls_cipher", |f| f.tls_cipher.clone()),
    ("Key exchange", "tls_group", |f| f.tls_group.clone()),
    ("Certificates sent", "certificate_chain_bytes", |f| {
        let bytes = format::bytes(f.certificate_chain_bytes?);
        Some(match f.certificate_count {
            Some(count) => format!("{count}, {bytes}"),
            None => bytes,
        })
    }),
    ("Ends in a public root", "public_root", |f| {
        f.public_root
            .map(|public| if public { "yes" } else { "no" }.to_owned())
    }),
    ("Accepted in spite of", "certificate_error", |f| {
        f.certificate_error.clone()
    }),
    ("Body as transferred", "encoded_bytes", |f| {
        f.encoded_bytes.map(format::bytes)
    }),
    ("Body decoded", "decoded_bytes", |f| {
        f.decoded_bytes.map(format::bytes)
    }),
    ("Content coding", "content-encoding", |f| {
        field(f, "content-encoding")
    }),
    ("Minimum RTT", "min_rtt", |f| {
        let source = match f.min_rtt_source {
            Some(RttSource::TcpInfo) => " (kernel)",
            Some(RttSource::QuicStack) => " (QUIC stack)",
            None => "",
        };
        f.min_rtt_ns.map(|rtt| format!("{}{source}", format::millis(rtt)))
    }),
    ("Smoothed RTT", "smoothed_rtt", |f| {
        f.smoothed_rtt_ns.map(format::millis)
    }),
    ("Packets lost", "packets_lost", |f| {
        f.packets_lost.map(|count| count.to_string())
    }),
    ("Segments retransmitted", "packets_retransmitted", |f| {
        f.packets_retransmitted.map(|count| count.to_string())
    }),
    ("Server", "server-field", |f| field(f, "server")),
    ("Server-Timing", "server-timing", |f| field(f, "server-timing")),
    ("Cache", "cache-control", |f| {
        let said: Vec<String> = ["cache-control", "age", "x-cache", "cf-cache-status"]
            .iter()
            .filter_map(|name| Some(format!("{name}: {}", f.header(name)?)))
            .collect();
        (!said.is_empty()).then(|| said.join("; "))
    }),
];

fn field(facts: &Facts, name: &str) -> Option<String> {
    facts.header(name).map(str::to_owned)
}

/// The facts of every arm whose samples have some.
pub(super) fn facts_table(document: &Document) -> Markup {
    let groups = arms::groups(document);
    let arms: Vec<&Arm> = groups
        .iter()
        .flat_map(|group| group.arms.iter().copied())
        .filter(|arm| ROWS.iter().any(|(_, _, read)| value(arm, *read).is_some()))
        .collect();
    if arms.is_empty() {
        return html! { p.muted { "Nothing was observed beside the times." } };
    }
    html! {
        div.scroll role="region" aria-label="Facts of every arm" tabindex="0" {
            table #facts {
                thead {
                    tr {
                        th scope="col" { span.visually-hidden { "Fact" } }
                        @for arm in &arms { th scope="col" { (arm.label()) } }
                    }
                }
                tbody {
                    @for (name, term, read) in ROWS {
                        @let values: Vec<_> = arms.iter().map(|arm| value(arm, read)).collect();
                        @if values.iter().any(Option::is_some) {
                            tr {
                                th scope="row" { (explain(term, name)) }
                                @for value in values {
                                    @match value {
                                        Some(value) => td.fact { (value) },
                                        None => td.absent { "–" },
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        @for note in notes(&arms) { p.note.small { (note) } }
    }
}

/// The value of a fact over an arm: the most recent one, and how many others were seen.
fn value(arm: &Arm, read: Read) -> Option<String> {
    let mut seen: Vec<String> = Vec::new();
    let of = |sample: &Sample| read(&sample.facts);
    for value in arm.samples.iter().rev().filter_map(of) {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    let others = seen.len().saturating_sub(1);
    let mut seen = seen.into_iter();
    let latest = seen.next()?;
    Some(match others {
        0 => latest,
        1 => format!("{latest} (also {})", seen.next().unwrap_or_default()),
        _ => format!("{latest} (and {others} other values)"),
    })
}

/// What needs to be said about the browser's entries, without repetition.
fn notes(arms: &[&Arm]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in arms
        .iter()
        .flat_map(|arm| &arm.samples)
        .flat_map(|sample| &sample.facts.notes)
    {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::{Protocol, Source, Temperature};

    #[test]
    fn a_fact_that_varies_says_so() {
        let mut arm = Arm::new(Source::Probe, Some(Protocol::H2), Some(Temperature::Cold));
        let read: Read = |facts| facts.status.map(|status| status.to_string());
        assert_eq!(value(&arm, read), None);
        for (status, text) in [
            (200, "200"),
            (503, "503 (also 200)"),
            (200, "200 (also 503)"),
            (404, "404 (and 2 other values)"),
        ] {
            arm.samples.push(Sample {
                facts: Facts {
                    status: Some(status),
                    ..Facts::default()
                },
                ..Sample::default()
            });
            assert_eq!(value(&arm, read).as_deref(), Some(text));
        }
    }
}
