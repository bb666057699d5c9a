//! One stacked bar per arm on one time axis: where the time goes at a glance.

use shared::{Arm, Document, Mark, Nanos, Phase, statistics};
use yew::prelude::*;

use super::{arms, explain::explain};
use crate::plot::Axis;

/// The stacked bars of all arms.
pub(super) fn breakdown_bar(document: &Document) -> Html {
    let groups = arms::groups(document);
    let all = || groups.iter().flat_map(|group| &group.arms);
    let Some(longest) = all().filter_map(|arm| extent(arm)).max() else {
        return html! {};
    };
    let axis = Axis::to(longest);
    let rows = groups.iter().map(|group| {
        html! {
            <>
                <h4 class="bar-group">{ group.title }</h4>
                { for group.arms.iter().map(|arm| bar(arm, &axis)) }
            </>
        }
    });
    html! {
        <figure class="chart bars">
            <figcaption>
                <ul class="legend" aria-label="Colours, in the order of the bars">
                    { for Phase::TILES.iter().map(|phase| html! {
                        <li><span class={classes!("swatch", phase.id())} aria-hidden="true"></span>
                            { explain(phase.id(), phase.id()) }</li>
                    }) }
                    <li><span class="swatch gap" aria-hidden="true"></span>{ explain("gap", "between phases") }</li>
                    <li><span class="swatch tick" aria-hidden="true"></span>{ explain("total", "median total") }</li>
                </ul>
            </figcaption>
            <div class="bar-rows">
                { for rows }
                <span></span>
                { ticks(&axis) }
                <span></span>
            </div>
        </figure>
    }
}

/// An axis's labels, drawn once below the rows.
pub(super) fn ticks(axis: &Axis) -> Html {
    let last = axis.ticks.len().saturating_sub(1);
    let labels = axis.ticks.iter().enumerate().map(|(index, tick)| {
        let anchor = match index {
            0 => "start",
            _ if index == last && axis.place(*tick) > 9300 => "end",
            _ => "middle",
        };
        let unit = if index == 0 { " ms" } else { "" };
        let text = format!("{}{unit}", tick_label(*tick));
        html! { <text x={axis.percent(*tick)} y="16" text-anchor={anchor}>{ text }</text> }
    });
    html! { <svg class="axis" height="22" aria-hidden="true">{ for labels }</svg> }
}

/// A round tick without the decimals that a measured value has.
fn tick_label(tick: Nanos) -> String {
    let text = arms::bare_millis(tick);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Vertical lines at the ticks, behind what is drawn.
pub(super) fn grid(axis: &Axis) -> Html {
    axis.ticks
        .iter()
        .map(|tick| {
            let x = axis.percent(*tick);
            html! { <line class="grid" x1={x.clone()} x2={x} y1="0" y2="100%" /> }
        })
        .collect()
}

fn bar(arm: &Arm, axis: &Axis) -> Html {
    let total = arms::median(arm, Phase::Total);
    let name = arms::name(arm);
    let spoken = match total {
        Some(total) => format!(
            "{}: median total {}; {}",
            arm.label(),
            shared::format::millis(total),
            spoken_phases(arm)
        ),
        None => format!("{}: no total", arm.label()),
    };
    let segments = segments(arm);
    let mut from = Nanos::ZERO;
    let drawn = segments.iter().map(|segment| {
        let start = from;
        from = from.plus(segment.length);
        let width = axis.place(from).saturating_sub(axis.place(start));
        let title = format!("{}: {}", segment.class, shared::format::millis(segment.length));
        let (y, height) = if segment.class == "gap" { ("13", "4") } else { ("3", "24") };
        html! {
            <rect class={classes!("seg", segment.class)} x={axis.percent(start)} width={crate::plot::percent(width)}
                {y} {height}><title>{ title }</title></rect>
        }
    });
    html! {
        <>
            <span class="bar-label"><span class={classes!("proto", arms::protocol_class(arm.protocol))}>{ name }</span></span>
            <svg class="bar" height="30" role="img" aria-label={spoken}>
                { grid(axis) }
                { for drawn }
                if let Some(total) = total {
                    <line class="total-tick" x1={axis.percent(total)} x2={axis.percent(total)} y1="0" y2="30" />
                }
            </svg>
            <span class="bar-total">
                { match total {
                    Some(total) => shared::format::millis(total),
                    None if arm.samples.is_empty() => "…".into(),
                    None => "failed".into(),
                } }
            </span>
        </>
    }
}

fn spoken_phases(arm: &Arm) -> String {
    let parts: Vec<String> = Phase::TILES
        .iter()
        .filter_map(|phase| {
            arms::median(arm, *phase).map(|ns| format!("{} {}", phase.id(), shared::format::millis(ns)))
        })
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
