//! What the figures will mean, for someone who sees the page for the first time.

use maud::{Markup, html};

use crate::plot::percent;

/// A drawn phase: its class, where it begins and how long it is, in ten-thousandths of the width, and what is written on it.
type Part = (&'static str, u64, u64, &'static str);

// One round trip is 24 % of the width: the lengths are the round trips a phase should cost, nothing measured.
const TCP: [Part; 3] = [
    ("setup", 0, 4800, "setup: 2 round trips"),
    ("wait", 4800, 2700, "wait: 1"),
    ("download", 7500, 1300, ""),
];
const QUIC: [Part; 3] = [
    ("setup", 0, 2400, "setup: 1"),
    ("wait", 2400, 2700, "wait: 1"),
    ("download", 5100, 1300, ""),
];

/// A schematic of one cold request over TCP and over QUIC, with the names of its phases.
pub(crate) fn primer() -> Markup {
    html! {
        section.card.primer aria-labelledby="primer-title" {
            div {
                h2 #primer-title { "What you will see" }
                ol {
                    li { "The probe fetches the URL over HTTP/1.1, HTTP/2 and HTTP/3, each forced, in turn and in shuffled order." }
                    li { "Your browser fetches it too and chooses the protocol itself: you see when, and whether, it moves to HTTP/3." }
                    li { "Every phase gets its median and spread, and every difference its interval: real, or not clear." }
                    li { "One link shows a colleague the same page." }
                }
            }
            figure.chart {
                figcaption {
                    strong { "Why the protocol matters" }
                    span.muted { ": the first request on a new connection" }
                }
                p.small.schema-label { "HTTP/1.1 and HTTP/2: TCP, then TLS" }
                (schema(TCP, "Over TCP: setup costs two round trips, then the request waits one more."))
                p.small.schema-label { "HTTP/3: QUIC does both at once" }
                (schema(QUIC, "Over QUIC: setup costs one round trip, then the request waits one more."))
                p.muted.small { "A drawing, not a measurement. What your server really costs, press Measure." }
            }
        }
    }
}

fn schema(parts: [Part; 3], spoken: &str) -> Markup {
    html! {
        svg.schema height="32" role="img" aria-label=(spoken) {
            @for (class, from, length, text) in parts {
                rect.seg.(class) x=(percent(from)) width=(percent(length)) y="2" height="28" {}
                text.on-seg x=(percent(from + length / 2)) y="16" text-anchor="middle" dominant-baseline="central" { (text) }
            }
        }
    }
}
