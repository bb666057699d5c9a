//! What failed, in which arm, how often and what to do: a result like any other.

use shared::{Arm, Document, FailureKind};
use yew::prelude::*;

use crate::plot;

/// How many different particulars are shown for each kind.
const MOST_DETAILS: usize = 3;

/// The failures of every arm that has some; nothing where none failed.
pub(super) fn failures(document: &Document) -> Html {
    let failing: Vec<_> = document
        .arms
        .iter()
        .filter(|arm| arm.summary.failed > 0)
        .collect();
    if failing.is_empty() {
        return html! {};
    }
    html! {
        <section class="card failures" id="failures" aria-labelledby="failures-title">
            <h2 id="failures-title">{ "What failed" }</h2>
            <ul>{ for failing.into_iter().map(of_arm) }</ul>
        </section>
    }
}

fn of_arm(arm: &Arm) -> Html {
    let taken = arm.summary.ok + arm.summary.failed;
    let share = plot::percent(u64::from(arm.summary.failed) * 10_000 / u64::from(taken.max(1)));
    html! {
        <li key={arm.id.clone()} data-failed-arm={arm.id.clone()}>
            <h3>{ arm.label() }</h3>
            <svg class="share-bar" height="10" role="img" aria-label={format!("{} of {taken} failed", arm.summary.failed)}>
                <rect class="all" width="100%" height="10" rx="5" />
                <rect class="part" width={share} height="10" rx="5" />
            </svg>
            { for kinds(arm).into_iter().map(|OfKind { kind, count, details }| html! {
                <div key={kind.id()}>
                    <p><strong>{ format!("{count} of {taken}: {}.", kind.label()) }</strong>{ " " }{ kind.advice() }</p>
                    { for details.into_iter().map(|detail| html! { <p class="muted small mono">{ detail }</p> }) }
                </div>
            }) }
        </li>
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
