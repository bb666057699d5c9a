//! Every sample of every arm, one strip per arm and one path per series: spread, drift, outliers and failures.

use maud::{Markup, html as markup};
use shared::{Arm, Document, Nanos, Phase, Sample, format::millis};
use web_sys::HtmlSelectElement;
use yew::prelude::*;

use super::{
    arms,
    breakdown_bar::{self, Row},
    markup::raw,
};
use crate::{
    plot::{self, Axis},
    state::Handle,
};

/// Height of a strip in path coordinates.
const STRIP: u64 = 1_000;

#[derive(Properties, PartialEq)]
pub(crate) struct SamplesPlotProps {
    pub(crate) document: Handle<Document>,
}

/// The strips of all arms, for a phase of the user's choice.
#[component]
pub(crate) fn SamplesPlot(props: &SamplesPlotProps) -> Html {
    let phase = use_state(|| Phase::Total);
    let groups = arms::groups(&props.document);
    let whole = use_state(|| false);
    let longest = groups
        .iter()
        .flat_map(|group| &group.arms)
        .flat_map(|arm| &arm.samples)
        .filter(|sample| sample.failure.is_none() && (*whole || !sample.outlier))
        .filter_map(|sample| sample.phases.get(&*phase)?.ns)
        .max();
    let has_outliers = groups
        .iter()
        .flat_map(|group| &group.arms)
        .flat_map(|arm| &arm.samples)
        .any(|sample| sample.outlier);
    let on_whole = {
        let whole = whole.clone();
        Callback::from(move |_: Event| whole.set(!*whole))
    };
    let axis = Axis::to(longest.unwrap_or(Nanos::ZERO));
    let on_phase = {
        let phase = phase.clone();
        Callback::from(move |event: Event| {
            let chosen = event
                .target_dyn_into::<HtmlSelectElement>()
                .map(|select| select.value());
            if let Some(chosen) = Phase::ALL
                .into_iter()
                .find(|phase| Some(phase.id()) == chosen.as_deref())
            {
                phase.set(chosen);
            }
        })
    };
    html! {
        <figure class="chart strips">
            <figcaption>
                <div class="row"><label class="pick">{ "Phase " }
                    <select onchange={on_phase}>
                        { for Phase::ALL.iter().map(|option| html! {
                            <option value={option.id()} selected={*option == *phase}>{ option.id() }</option>
                        }) }
                    </select>
                </label>
                if has_outliers {
                    <label class="pick">
                        <input type="checkbox" checked={*whole} onchange={on_whole} />
                        { "Make the axis long enough for the outliers too; else those beyond it stand at its end" }
                    </label>
                }</div>
                { raw(legend()) }
            </figcaption>
            { raw(breakdown_bar::rows(&groups, &axis, |arm| strip(arm, *phase, &axis))) }
        </figure>
    }
}

fn legend() -> Markup {
    markup! {
        ul.legend aria-label="Marks" {
            (breakdown_bar::key("dot", "", "sample, earliest on top"))
            (breakdown_bar::key("ring", "outlier", "outlier"))
            (breakdown_bar::key("square", "disturbed", "disturbed"))
            (breakdown_bar::key("cross", "failed", "failed"))
            (breakdown_bar::key("band", "spread", "middle half, line at the median"))
        }
    }
}

fn strip(arm: &Arm, phase: Phase, axis: &Axis) -> Row {
    let summary = arm.summary.phases.get(&phase);
    let series = series(arm, phase, axis);
    let failed = arm.summary.failed;
    let drawing = markup! {
        svg.strip height="40" role="img" aria-label=(spoken(arm, phase).into_string()) {
            (breakdown_bar::grid(axis))
            @if let Some(summary) = summary {
                @let (low, high) = (axis.place(summary.p25_ns), axis.place(summary.p75_ns));
                @let median = axis.percent(summary.median_ns);
                rect.band x=(plot::percent(low)) width=(plot::percent(high.saturating_sub(low).max(8))) y="2" height="36" {}
                line.median-line x1=(median) x2=(median) y1="2" y2="38" {}
            }
            svg viewBox="0 0 10000 1000" preserveAspectRatio="none" width="100%" height="100%" {
                path.dots d=(series.usual) {}
                path.dots.disturbed d=(series.disturbed) {}
                path.ring-outer d=(series.outliers) {}
                path.ring-inner d=(series.outliers) {}
            }
        }
    };
    let figure = markup! {
        @if failed > 0 {
            svg.fails width="14" height="40" aria-hidden="true" {
                svg viewBox="0 0 100 1000" preserveAspectRatio="none" width="100%" height="100%" {
                    path.dots.failed d=(series.failed) {}
                }
            }
            strong.failed { (failed) " failed" }
        } @else if let Some(summary) = summary {
            (millis(summary.median_ns))
        }
    };
    Row { drawing, figure }
}

fn spoken(arm: &Arm, phase: Phase) -> Markup {
    markup! {
        (arm.label()) ", " (phase.id()) ": "
        @match arm.summary.phases.get(&phase) {
            Some(summary) => {
                "median " (millis(summary.median_ns)) ", from " (millis(summary.min_ns)) " to "
                (millis(summary.max_ns)) ", " (summary.n) " samples"
            }
            None => "no values",
        }
        ", " (arm.summary.failed) " failed"
    }
}

#[derive(Debug, Default, PartialEq)]
struct Series {
    usual: String,
    disturbed: String,
    outliers: String,
    failed: String,
}

/// The samples as paths: time to the right, order downwards. A sample is in one series only.
fn series(arm: &Arm, phase: Phase, axis: &Axis) -> Series {
    let count = arm.samples.len().max(1) as u64;
    let place = |index: usize, sample: &Sample| {
        let ns = sample.phases.get(&phase)?.ns?;
        Some((axis.place(ns), height(index, count)))
    };
    let of = |wanted: fn(&Sample) -> bool| {
        plot::dots(
            arm.samples
                .iter()
                .enumerate()
                .filter(|(_, sample)| sample.failure.is_none() && wanted(sample))
                .filter_map(|(index, sample)| place(index, sample)),
        )
    };
    Series {
        usual: of(|sample| !sample.outlier && !sample.disturbed),
        disturbed: of(|sample| !sample.outlier && sample.disturbed),
        outliers: of(|sample| sample.outlier),
        failed: plot::dots(
            arm.samples
                .iter()
                .enumerate()
                .filter(|(_, sample)| sample.failure.is_some())
                .map(|(index, _)| (50, height(index, count))),
        ),
    }
}

/// The first sample near the top of the strip, the last near its bottom.
fn height(index: usize, count: u64) -> u64 {
    let margin = STRIP / 8;
    if count < 2 {
        return STRIP / 2;
    }
    margin + (STRIP - 2 * margin) * (index as u64) / (count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::{Failure, FailureKind, FailurePhase, PhaseValue, Protocol, Source, Temperature};

    #[test]
    fn every_sample_is_in_exactly_one_series() {
        let mut arm = Arm::new(Source::Probe, Some(Protocol::H3), Some(Temperature::Cold));
        for index in 0..8_u64 {
            let value = PhaseValue::measured(Nanos(index * 1000), Nanos(1));
            arm.samples.push(Sample {
                phases: [(Phase::Total, value)].into_iter().collect(),
                outlier: index == 1,
                disturbed: index < 3,
                failure: (index > 5)
                    .then(|| Failure::new(FailureKind::ConnectRefused, FailurePhase::Quic, "refused")),
                ..Sample::default()
            });
        }
        let series = series(&arm, Phase::Total, &Axis::to(Nanos(8000)));
        let count = |path: &str| path.matches('M').count();
        assert_eq!(
            [
                count(&series.usual),
                count(&series.disturbed),
                count(&series.outliers),
                count(&series.failed)
            ],
            [3, 2, 1, 2]
        );
    }

    #[test]
    fn strips_have_a_margin() {
        assert_eq!(height(0, 1), 500);
        assert_eq!((height(0, 9), height(8, 9)), (125, 875));
    }
}
