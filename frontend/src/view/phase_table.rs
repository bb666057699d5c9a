//! The phases of every arm as a table: median, spread and round trips, or the reason there is none.

use shared::{Arm, Document, Phase, PhaseSummary, Quality};
use yew::prelude::*;

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
pub(super) fn phase_table(document: &Document) -> Html {
    let head = COLUMNS.iter().map(|phase| {
        html! {
            <th scope="col" class={classes!("num", phase.id())}>
                { explain(phase.id(), phase.id()) }
            </th>
        }
    });
    let bodies = arms::groups(document).into_iter().map(|group| {
        html! {
            <tbody key={group.title}>
                <tr class="group"><th scope="rowgroup" colspan="9">{ group.title }</th></tr>
                { for group.arms.into_iter().map(row) }
            </tbody>
        }
    });
    html! {
        <div class="scroll" role="region" aria-label="Phases of every arm" tabindex="0">
            <table id="phases">
                <caption>
                    { "Milliseconds: " }{ explain("median", "median") }
                    { ", below it the " }{ explain("spread", "25th to 75th percentile") }
                    { " and the " }{ explain("rtts", "round trips") }
                    { " it costs. Any word with a dotted line explains itself." }
                </caption>
                <thead>
                    <tr>
                        <th scope="col">{ "Protocol" }</th>
                        { for head }
                        <th scope="col" class="num">{ explain("n", "samples") }</th>
                    </tr>
                </thead>
                { for bodies }
            </table>
        </div>
    }
}

fn row(arm: &Arm) -> Html {
    let cells = COLUMNS.iter().map(|phase| {
        html! {
            <td class={classes!("num", phase.id())} data-phase={phase.id()}>{ cell(arm, *phase) }</td>
        }
    });
    let summary = &arm.summary;
    let taken = summary.ok + summary.failed;
    html! {
        <tr key={arm.id.clone()} data-arm={arm.id.clone()}>
            <th scope="row">
                <span class={classes!("proto", arms::protocol_class(arm.protocol))}>{ arms::name(arm) }</span>
            </th>
            { for cells }
            <td class="num samples">
                if summary.failed > 0 {
                    <strong class="failed">{ format!("{} of {taken} failed", summary.failed) }</strong>
                } else {
                    { taken }
                }
                if summary.disturbed > 0 {
                    <span class="sub">{ explain("disturbed", format!("{} disturbed", summary.disturbed)) }</span>
                }
            </td>
        </tr>
    }
}

fn cell(arm: &Arm, phase: Phase) -> Html {
    match arm.summary.phases.get(&phase) {
        Some(summary) => figures(summary),
        None => absence(arm, phase),
    }
}

fn figures(summary: &PhaseSummary) -> Html {
    let median = bare_millis(summary.median_ns);
    let (low, high) = (bare_millis(summary.p25_ns), bare_millis(summary.p75_ns));
    let coarse = summary.below_resolution * 2 > summary.n;
    html! {
        <>
            <span class="median">
                if coarse {
                    { remark(format!(
                        "Below the clock's resolution in {} of {} samples: smaller than the clock can tell from zero.",
                        summary.below_resolution, summary.n,
                    ), format!("≲ {median}")) }
                } else {
                    { median }
                }
            </span>
            if summary.n > 1 {
                <span class="sub">{ if low == high { low } else { format!("{low} – {high}") } }</span>
            }
            if let Some(rtts) = summary.rtts {
                <span class="sub rtts">{ shared::format::round_trips(rtts) }</span>
            }
            if summary.inconsistent > 0 {
                <span class="sub">{ explain("inconsistent", format!("{} inconsistent", summary.inconsistent)) }</span>
            }
        </>
    }
}

/// The reason most samples of the arm give for having no value.
fn absence(arm: &Arm, phase: Phase) -> Html {
    let Some((quality, why)) = usual_absence(arm, phase) else {
        return html! { <span class="absent">{ "–" }</span> };
    };
    html! {
        <span class="absent">
            { remark(sentence(&format!("{}: {why}", quality.label())), short(quality)) }
        </span>
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
