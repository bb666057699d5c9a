//! One stacked bar per arm on one time axis: where the time goes at a glance.

use maud::{Markup, html};
use shared::{Arm, Document, Mark, Nanos, Phase, format::millis, statistics};

use super::{
    arms::{self, Group},
    explain::explain,
};
use crate::plot::{self, Axis};

/// The stacked bars of all arms.
pub(super) fn breakdown_bar(document: &Document) -> Markup {
    let groups = arms::groups(document);
    let all = groups.iter().flat_map(|group| &group.arms);
    let Some(longest) = all.filter_map(|arm| extent(arm)).max() else {
        return Markup::default();
    };
    let axis = Axis::to(longest);
    html! {
        figure.chart.bars {
            figcaption {
                ul.legend aria-label="Colours, in the order of the bars" {
                    @for phase in Phase::TILES { (key(phase.id(), phase.id(), phase.id())) }
                    (key("gap", "gap", "between phases"))
                    (key("tick", "total", "median total"))
                }
            }
            (rows(&groups, &axis, |arm| bar(arm, &axis)))
        }
    }
}

/// An entry of a legend: what is drawn so, explained.
pub(super) fn key(class: &str, term: &str, word: &str) -> Markup {
    html! { li { span.swatch.(class) aria-hidden="true" {} (explain(term, word)) } }
}

/// One arm in a chart.
pub(super) struct Row {
    pub(super) drawing: Markup,
    /// The figure that stands beside it.
    pub(super) figure: Markup,
}

/// The rows of a chart under the titles of their groups, and the axis below.
pub(super) fn rows(groups: &[Group<'_>], axis: &Axis, row: impl Fn(&Arm) -> Row) -> Markup {
    html! {
        div.bar-rows {
            @for group in groups {
                h4.bar-group { (group.title) }
                @for arm in &group.arms {
                    @let Row { drawing, figure } = row(arm);
                    span.bar-label { (arms::named(arm)) }
                    (drawing)
                    span.bar-total { (figure) }
                }
            }
            span {}
            (ticks(axis))
            span {}
        }
    }
}

/// An axis's labels, drawn once below the rows.
fn ticks(axis: &Axis) -> Markup {
    let last = axis.ticks.len().saturating_sub(1);
    html! {
        svg.axis height="22" aria-hidden="true" {
            @for (index, tick) in axis.ticks.iter().enumerate() {
                @let anchor = match index {
                    0 => "start",
                    _ if index == last && axis.place(*tick) > 9300 => "end",
                    _ => "middle",
                };
                text x=(axis.percent(*tick)) y="16" text-anchor=(anchor) {
                    (tick_label(*tick)) @if index == 0 { " ms" }
                }
            }
        }
    }
}

/// A round tick without the decimals that a measured value has.
pub(super) fn tick_label(tick: Nanos) -> String {
    let text = arms::bare_millis(tick);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Vertical lines at the ticks, behind what is drawn.
pub(super) fn grid(axis: &Axis) -> Markup {
    html! {
        @for tick in &axis.ticks {
            @let x = axis.percent(*tick);
            line.grid x1=(x) x2=(x) y1="0" y2="100%" {}
        }
    }
}

fn bar(arm: &Arm, axis: &Axis) -> Row {
    let total = arms::median(arm, Phase::Total);
    let drawing = html! {
        svg.bar height="30" role="img" aria-label=(spoken(arm)) {
            (grid(axis))
            @for (start, Segment { class, length }) in placed(&segments(arm)) {
                @let width = axis.place(start.plus(*length)).saturating_sub(axis.place(start));
                @let (y, height) = if *class == "gap" { ("13", "4") } else { ("3", "24") };
                rect.seg.(class) x=(axis.percent(start)) width=(plot::percent(width)) y=(y) height=(height) {
                    title { (class) ": " (millis(*length)) }
                }
            }
            @if let Some(total) = total {
                @let x = axis.percent(total);
                line.total-tick x1=(x) x2=(x) y1="0" y2="30" {}
            }
        }
    };
    let figure = html! {
        @match total {
            Some(total) => (millis(total)),
            None if arm.samples.is_empty() => "…",
            None => "failed",
        }
    };
    Row { drawing, figure }
}

/// The segments with where each begins.
fn placed(segments: &[Segment]) -> impl Iterator<Item = (Nanos, &Segment)> {
    let mut next = Nanos::ZERO;
    segments.iter().map(move |segment| {
        let start = next;
        next = start.plus(segment.length);
        (start, segment)
    })
}

fn spoken(arm: &Arm) -> String {
    match arms::median(arm, Phase::Total) {
        Some(total) => [
            &arm.label(),
            ": median total ",
            &millis(total),
            "; ",
            &spoken_phases(arm),
        ]
        .concat(),
        None => [&arm.label(), ": no total"].concat(),
    }
}

fn spoken_phases(arm: &Arm) -> String {
    let parts: Vec<String> = Phase::TILES
        .iter()
        .filter_map(|phase| arms::median(arm, *phase).map(|ns| [phase.id(), " ", &millis(ns)].concat()))
        .collect();
    if parts.is_empty() {
        "phases hidden".into()
    } else {
        parts.join(", ")
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Segment {
    class: &'static str,
    length: Nanos,
}

/// How far the arm's bar or its tick reaches.
fn extent(arm: &Arm) -> Option<Nanos> {
    let sum = segments(arm)
        .iter()
        .fold(Nanos::ZERO, |sum, segment| sum.plus(segment.length));
    arms::median(arm, Phase::Total).map(|total| total.max(sum))
}

/// The median of every tiling phase, with the median gap before each. Medians of parts need not add up to the median
/// of the whole, so the total has a tick of its own.
fn segments(arm: &Arm) -> Vec<Segment> {
    let tiled = Phase::TILES
        .iter()
        .any(|phase| arms::median(arm, *phase).is_some());
    if !tiled {
        return arms::median(arm, Phase::Total)
            .map(|length| Segment {
                class: "untold",
                length,
            })
            .into_iter()
            .collect();
    }
    let mut segments = Vec::new();
    let mut push = |class, length: Option<Nanos>| {
        if let Some(length) = length.filter(|length| *length > Nanos::ZERO) {
            segments.push(Segment { class, length });
        }
    };
    for (slot, phase) in Phase::TILES.iter().enumerate() {
        push("gap", median_gap(arm, slot));
        push(phase.id(), arms::median(arm, *phase));
    }
    push("gap", median_gap(arm, Phase::TILES.len()));
    segments
}

/// The median over the arm's successful samples of the time that lies before the tile `slot`. A sample whose phases
/// touch there counts with nothing between them, which is what happened.
fn median_gap(arm: &Arm, slot: usize) -> Option<Nanos> {
    let mut gaps: Vec<Nanos> = arm
        .samples
        .iter()
        .filter(|sample| sample.failure.is_none())
        .map(|sample| {
            sample
                .gaps
                .iter()
                .filter(|gap| slot_of(gap.before) == slot)
                .fold(Nanos::ZERO, |sum, gap| sum.plus(gap.ns))
        })
        .collect();
    gaps.sort_unstable();
    statistics::quantile(&gaps, 0.5)
}

/// Before which of the tiles a gap that ends at `before` lies.
fn slot_of(before: Mark) -> usize {
    match before {
        Mark::Start | Mark::DnsStart => 0,
        Mark::DnsEnd | Mark::ConnectStart => 1,
        Mark::TcpEstablished | Mark::FirstPeerPacket | Mark::HandshakeDone | Mark::HandshakeConfirmed => 2,
        Mark::RequestSent => 3,
        Mark::FirstInterim | Mark::Headers => 4,
        Mark::FirstBodyByte | Mark::End => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::{Protocol, Sample, Source, Temperature};

    fn arm(marks: &[(Mark, u64)]) -> Arm {
        let mut arm = Arm::new(Source::Probe, Some(Protocol::H2), Some(Temperature::Cold));
        arm.samples.push(Sample {
            marks: marks.iter().map(|(mark, ns)| (*mark, Nanos(*ns))).collect(),
            facts: shared::Facts {
                tls: Some(true),
                connection: Some(shared::ConnectionUse::New),
                ..shared::Facts::default()
            },
            ..Sample::default()
        });
        arm.recompute(Nanos(1));
        arm
    }

    #[test]
    fn phases_and_gaps_fill_the_bar() {
        let arm = arm(&[
            (Mark::Start, 0),
            (Mark::ConnectStart, 10),
            (Mark::TcpEstablished, 30),
            (Mark::HandshakeDone, 60),
            (Mark::RequestSent, 65),
            (Mark::Headers, 100),
            (Mark::End, 130),
        ]);
        let drawn: Vec<_> = segments(&arm).iter().map(|s| (s.class, s.length.0)).collect();
        assert_eq!(
            drawn,
            [
                ("gap", 10),
                ("setup", 50),
                ("send", 5),
                ("wait", 35),
                ("download", 30)
            ]
        );
        assert_eq!(extent(&arm), Some(Nanos(130)));
    }

    #[test]
    fn an_arm_with_a_total_only_is_one_untold_piece() {
        let arm = arm(&[(Mark::Start, 0), (Mark::End, 130)]);
        assert_eq!(segments(&arm)[0].class, "untold");
    }

    #[test]
    fn an_arm_without_samples_has_no_bar() {
        let arm = Arm::new(Source::Probe, None, None);
        assert_eq!(extent(&arm), None);
        assert_eq!(segments(&arm), []);
    }

    #[test]
    fn ticks_lose_their_empty_decimals() {
        assert_eq!(tick_label(Nanos(5_000_000)), "5");
        assert_eq!(tick_label(Nanos(500_000)), "0.5");
        assert_eq!(tick_label(Nanos(20_000_000)), "20");
        assert_eq!(tick_label(Nanos::ZERO), "0");
    }
}
