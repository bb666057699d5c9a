//! Differences between arms in words, each with its interval; no verdict without one.

use maud::{Markup, html};
use shared::{
    Comparison, Document, Phase, Verdict,
    format::{millis, signed_millis},
};

use super::{arms, explain::explain};
use crate::plot;

/// Tables of pairs by phases, with the interval of each total on one axis.
pub(super) fn comparisons(document: &Document) -> Markup {
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    for comparison in &document.comparisons {
        match pairs.last_mut().filter(|pair| pair.is_of(comparison)) {
            Some(pair) => pair.of.push(comparison),
            None => pairs.push(Pair {
                a: &comparison.a,
                b: &comparison.b,
                of: vec![comparison],
            }),
        }
    }
    if pairs.is_empty() {
        return html! { p.muted { "Nothing to compare: that takes two arms with several samples each." } };
    }
    let (between, within): (Vec<_>, Vec<_>) = pairs.iter().partition(|pair| !pair.is_within_protocol());
    html! {
        p.lead-in {
            (explain("shift", "Shift of medians")) " with its " (explain("interval", "95 % interval"))
            ". Where the interval contains 0 there is " (explain("verdict", "no clear difference")) "."
        }
        @if !between.is_empty() { (table(document, "Protocol against protocol", &between)) }
        @if !within.is_empty() {
            details.more {
                summary { "Reused against new connections" }
                (table(document, "Reused against new connections", &within))
            }
        }
    }
}

/// Two arms and all comparisons between them.
struct Pair<'a> {
    a: &'a str,
    b: &'a str,
    of: Vec<&'a Comparison>,
}

impl Pair<'_> {
    fn is_of(&self, comparison: &Comparison) -> bool {
        self.a == comparison.a && self.b == comparison.b
    }

    /// `h2-cold` and `h2-warm`: the protocol is the part before the dash.
    fn is_within_protocol(&self) -> bool {
        let protocol = |id: &str| id.rsplit_once('-').map(|(protocol, _)| protocol.to_owned());
        protocol(self.a) == protocol(self.b)
    }

    fn phase(&self, phase: Phase) -> Option<&Comparison> {
        self.of
            .iter()
            .copied()
            .find(|comparison| comparison.phase == phase)
    }
}

fn table(document: &Document, name: &str, pairs: &[&Pair<'_>]) -> Markup {
    let reach = pairs
        .iter()
        .filter_map(|pair| pair.phase(Phase::Total))
        .map(|total| total.low_ns.unsigned_abs().max(total.high_ns.unsigned_abs()))
        .max()
        .unwrap_or(1);
    html! {
        div.scroll role="region" aria-label=(name) tabindex="0" {
            table.comparisons {
                caption.visually-hidden { (name) }
                thead {
                    tr {
                        th scope="col" { span.visually-hidden { "Compared" } }
                        th scope="col" { "← faster, total, slower →" }
                        @for phase in COLUMNS {
                            th scope="col" { (explain(phase.id(), phase.id())) }
                        }
                    }
                }
                tbody {
                    @for pair in pairs {
                        tr data-pair={ (pair.a) "/" (pair.b) } {
                            th scope="row" { (title(document, pair)) }
                            td.whisker {
                                @if let Some(total) = pair.phase(Phase::Total) { (whisker(total, reach)) }
                            }
                            @for phase in COLUMNS {
                                td data-phase=(phase.id()) {
                                    @match pair.phase(phase) {
                                        Some(comparison) => (verdict(comparison)),
                                        None => span.absent { "–" },
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The compared phases, the whole first.
const COLUMNS: [Phase; 5] = [
    Phase::Total,
    Phase::Ttfb,
    Phase::Setup,
    Phase::Wait,
    Phase::Download,
];

/// `HTTP/3 against HTTP/2`, and what the two have in common once.
fn title(document: &Document, pair: &Pair<'_>) -> Markup {
    let (of_a, of_b) = (arms::label_of(document, pair.a), arms::label_of(document, pair.b));
    let (name_a, rest_a) = of_a.split_once(", ").unwrap_or((&of_a, ""));
    let (name_b, rest_b) = of_b.split_once(", ").unwrap_or((&of_b, ""));
    let (b, a, common) = if rest_a == rest_b {
        (name_b, name_a, rest_a)
    } else if name_a == name_b {
        (rest_b, rest_a, name_a)
    } else {
        (of_b.as_str(), of_a.as_str(), "")
    };
    html! { (b) " against " (a) span.sub { (common) } }
}

fn verdict(comparison: &Comparison) -> Markup {
    let size = millis(shared::Nanos(comparison.shift_ns.unsigned_abs()));
    let low = signed_millis(comparison.low_ns);
    html! {
        @match comparison.verdict {
            Verdict::Faster => span.verdict.faster { "faster by " (size) },
            Verdict::Slower => span.verdict.slower { "slower by " (size) },
            Verdict::NoClearDifference => span.verdict.same { "no clear difference" },
        }
        span.sub { (low.trim_end_matches(" ms")) " to " (signed_millis(comparison.high_ns)) }
    }
}

/// The interval of one shift on an axis with 0 in the middle.
fn whisker(comparison: &Comparison, reach: u64) -> Markup {
    let place = |ns: i64| plot::percent(around_zero(ns, reach));
    html! {
        svg height="26" aria-hidden="true" {
            line.zero x1="50%" x2="50%" y1="0" y2="26" {}
            line.interval x1=(place(comparison.low_ns)) x2=(place(comparison.high_ns)) y1="13" y2="13" {}
            circle.shift cx=(place(comparison.shift_ns)) cy="13" r="4.5" {}
        }
    }
}

/// A signed shift as a place: `-reach` near the left end, 0 in the middle, `reach` near the right end.
fn around_zero(ns: i64, reach: u64) -> u64 {
    let half = i128::from(4_800);
    let offset = i128::from(ns) * half / i128::from(reach.max(1));
    u64::try_from((5_000 + offset).clamp(0, 10_000)).unwrap_or(5_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_one_protocol_are_told_from_pairs_of_two() {
        let pair = |a, b| Pair { a, b, of: Vec::new() };
        assert!(pair("h2-cold", "h2-warm").is_within_protocol());
        assert!(!pair("h2-cold", "h3-cold").is_within_protocol());
    }

    #[test]
    fn zero_is_in_the_middle_and_nothing_leaves_the_axis() {
        assert_eq!(around_zero(0, 7), 5_000);
        assert_eq!(around_zero(-7, 7), 200);
        assert_eq!(around_zero(i64::MAX, 1), 10_000);
        assert_eq!(around_zero(i64::MIN, 0), 0);
    }
}
