//! The phases of every arm as a table: median, spread and round trips, or the reason there is none.

use maud::{Markup, html};
use shared::{Arm, Document, Phase, PhaseSummary, Quality};

use super::{
    arms::{self, bare_millis},
    explain::{explain, remark},
    words::sentence,
};

/// The columns, in the order shown.
const COLUMNS: [Phase; 7] = [
    Phase::Dns,
    Phase::Setup,
    Phase::Send,
    Phase::Wait,
    Phase::Download,
    Phase::Ttfb,
    Phase::Total,
];

/// The table of phases.
pub(super) fn phase_table(document: &Document) -> Markup {
    html! {
        div.scroll role="region" aria-label="Phases of every arm" tabindex="0" {
            table #phases {
                caption {
                    "Milliseconds: " (explain("median", "median")) ", below it the "
                    (explain("spread", "25th to 75th percentile")) " and the " (explain("rtts", "round trips"))
                    " it costs. Any word with a dotted line explains itself."
                }
                thead {
                    tr {
                        th scope="col" { "Protocol" }
                        @for phase in COLUMNS {
                            th.num.(phase.id()) scope="col" { (explain(phase.id(), phase.id())) }
                        }
                        th.num scope="col" { (explain("n", "samples")) }
                    }
                }
                @for group in arms::groups(document) {
                    tbody {
                        tr.group { th scope="rowgroup" colspan="9" { (group.title) } }
                        @for arm in group.arms { (row(arm)) }
                    }
                }
            }
        }
    }
}

fn row(arm: &Arm) -> Markup {
    let summary = &arm.summary;
    let taken = summary.ok + summary.failed;
    html! {
        tr data-arm=(arm.id) {
            th scope="row" { (arms::named(arm)) }
            @for phase in COLUMNS {
                td.num.(phase.id()) data-phase=(phase.id()) { (cell(arm, phase)) }
            }
            td.num.samples {
                @if summary.failed > 0 {
                    strong.failed { (summary.failed) " of " (taken) " failed" }
                } @else {
                    (taken)
                }
                @if summary.disturbed > 0 {
                    span.sub { (explain("disturbed", html! { (summary.disturbed) " disturbed" })) }
                }
            }
        }
    }
}

fn cell(arm: &Arm, phase: Phase) -> Markup {
    match arm.summary.phases.get(&phase) {
        Some(summary) => figures(summary),
        None => absence(arm, phase),
    }
}

fn figures(summary: &PhaseSummary) -> Markup {
    let median = bare_millis(summary.median_ns);
    let (low, high) = (bare_millis(summary.p25_ns), bare_millis(summary.p75_ns));
    let coarse = summary.below_resolution * 2 > summary.n;
    html! {
        span.median {
            @if coarse { (explain("below_resolution", html! { "≲ " (median) })) } @else { (median) }
        }
        @if summary.n > 1 {
            span.sub { (low) @if low != high { " – " (high) } }
        }
        @if let Some(rtts) = summary.rtts {
            span.sub.rtts { (shared::format::round_trips(rtts)) }
        }
        @if summary.inconsistent > 0 {
            span.sub { (explain("inconsistent", html! { (summary.inconsistent) " inconsistent" })) }
        }
    }
}

/// The reason most samples of the arm give for having no value.
fn absence(arm: &Arm, phase: Phase) -> Markup {
    html! {
        span.absent {
            @match usual_absence(arm, phase) {
                Some((quality, why)) => {
                    (remark(&sentence(&[quality.label(), ": ", why].concat()), short(quality)))
                }
                None => "–",
            }
        }
    }
}

fn usual_absence(arm: &Arm, phase: Phase) -> Option<(Quality, &str)> {
    // A handful of reasons at most: a list is enough.
    let mut counts: Vec<((Quality, &str), u32)> = Vec::new();
    for value in arm.samples.iter().filter_map(|sample| sample.phases.get(&phase)) {
        let Some(why) = value.why.as_deref().filter(|_| value.ns.is_none()) else {
            continue;
        };
        let reason = (value.quality, why);
        match counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason, 1)),
        }
    }
    counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(reason, _)| reason)
}

/// The quality in one short word for a cell; the remark behind it has the whole.
fn short(quality: Quality) -> &'static str {
    match quality {
        Quality::Reused => "reused",
        Quality::Hidden => "hidden",
        Quality::NotApplicable => "none",
        Quality::Overlapping => "overlaps",
        Quality::Inconsistent => "inconsistent",
        Quality::NotObserved => "not seen",
        Quality::Measured | Quality::Derived | Quality::BelowResolution => "–",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::{PhaseValue, Protocol, Sample, Source, Temperature};

    #[test]
    fn the_usual_reason_is_shown() {
        let mut arm = Arm::new(Source::Probe, Some(Protocol::H2), Some(Temperature::Cold));
        for why in ["a", "b", "b"] {
            let value = PhaseValue::absent(Quality::NotObserved, why);
            arm.samples.push(Sample {
                phases: [(Phase::Dns, value)].into_iter().collect(),
                ..Sample::default()
            });
        }
        assert_eq!(usual_absence(&arm, Phase::Dns), Some((Quality::NotObserved, "b")));
        assert_eq!(usual_absence(&arm, Phase::Wait), None);
    }
}
