//! What failed, in which arm, how often and what to do: a result like any other.

use maud::{Markup, html};
use shared::{Arm, Document, FailureKind};

use crate::plot;

/// How many different particulars are shown for each kind.
const MOST_DETAILS: usize = 3;

/// The failures of every arm that has some; nothing where none failed.
pub(super) fn failures(document: &Document) -> Markup {
    let failing = || document.arms.iter().filter(|arm| arm.summary.failed > 0);
    html! {
        @if failing().next().is_some() {
            section.card.failures #failures aria-labelledby="failures-title" {
                h2 #failures-title { "What failed" }
                ul { @for arm in failing() { (of_arm(arm)) } }
            }
        }
    }
}

fn of_arm(arm: &Arm) -> Markup {
    let failed = arm.summary.failed;
    let taken = arm.summary.ok + failed;
    let share = plot::percent(u64::from(failed) * 10_000 / u64::from(taken.max(1)));
    html! {
        li data-failed-arm=(arm.id) {
            h3 { (arm.label()) }
            svg.share-bar height="10" role="img" aria-label={ (failed) " of " (taken) " failed" } {
                rect.all width="100%" height="10" rx="5" {}
                rect.part width=(share) height="10" rx="5" {}
            }
            @for OfKind { kind, count, details } in kinds(arm) {
                p { strong { (count) " of " (taken) ": " (kind.label()) "." } " " (kind.advice()) }
                @for detail in details { p.muted.small.mono { (detail) } }
            }
        }
    }
}

/// A kind of failure in one arm.
#[derive(Debug, PartialEq)]
struct OfKind<'a> {
    kind: FailureKind,
    count: u32,
    /// What was said, without repetition.
    details: Vec<&'a str>,
}

fn kinds(arm: &Arm) -> Vec<OfKind<'_>> {
    let mut kinds: Vec<OfKind<'_>> = Vec::new();
    for failure in arm.samples.iter().filter_map(|sample| sample.failure.as_ref()) {
        let at = kinds
            .iter()
            .position(|of| of.kind == failure.kind)
            .unwrap_or(kinds.len());
        if at == kinds.len() {
            kinds.push(OfKind {
                kind: failure.kind,
                count: 0,
                details: Vec::new(),
            });
        }
        let of = &mut kinds[at];
        of.count += 1;
        let detail = failure.detail.as_str();
        if of.details.len() < MOST_DETAILS && !detail.is_empty() && !of.details.contains(&detail) {
            of.details.push(detail);
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::{Failure, FailurePhase, Protocol, Sample, Source, Temperature};

    #[test]
    fn kinds_are_counted_and_particulars_not_repeated() {
        let mut arm = Arm::new(Source::Probe, Some(Protocol::H3), Some(Temperature::Cold));
        for detail in ["ICMP", "ICMP", "reset"] {
            arm.samples.push(Sample {
                failure: Some(Failure::new(
                    FailureKind::ConnectRefused,
                    FailurePhase::Quic,
                    detail,
                )),
                ..Sample::default()
            });
        }
        assert_eq!(
            kinds(&arm),
            [OfKind {
                kind: FailureKind::ConnectRefused,
                count: 3,
                details: vec!["ICMP", "reset"],
            }]
        );
    }
}
