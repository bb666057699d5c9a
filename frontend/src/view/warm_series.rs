//! What later requests on one connection cost: the first pays for the connection, the others do not.

use maud::{Markup, html};
use shared::{Arm, Document, Nanos, Phase, Protocol, Sample, Source, statistics};

use super::{arms, breakdown_bar::tick_label, explain::explain};
use crate::plot::{self, Axis};

/// Height of the plot in path coordinates.
const HEIGHT: u64 = 10_000;

/// The total of each request by its index on its connection.
pub(super) fn warm_series(document: &Document) -> Markup {
    let series: Vec<Series> = Protocol::ALL
        .into_iter()
        .filter_map(|protocol| series(document, protocol))
        .collect();
    let Some(longest) = series.iter().map(Series::largest).max() else {
        return Markup::default();
    };
    let last = series.iter().map(|series| series.totals.len()).max();
    let last = last.unwrap_or(1).saturating_sub(1);
    let axis = Axis::to(longest);
    let sentences: Vec<String> = series.iter().filter_map(Series::sentence).collect();
    let y = |time: Nanos| HEIGHT - axis.place(time);
    let x = |index: usize| 600 + 8_800 * (index as u64) / (last.max(1) as u64);
    html! {
        figure.chart.series {
            figcaption {
                ul.findings-list { @for sentence in &sentences { li { (sentence) } } }
                ul.legend aria-label="Lines" {
                    @for series in &series {
                        li {
                            svg.line-key.(series.protocol.id()) width="28" height="10" aria-hidden="true" {
                                line x1="0" x2="28" y1="5" y2="5" {}
                            }
                            (series.protocol.label())
                        }
                    }
                    li.muted { "line: median " (explain("total", "total")) "; dots: every sample" }
                }
            }
            div.series-plot {
                svg.y-axis width="52" height="220" aria-hidden="true" {
                    @for tick in &axis.ticks {
                        @let at = plot::percent(y(*tick).clamp(300, 9_900));
                        text x="46" y=(at) text-anchor="end" dominant-baseline="central" { (tick_label(*tick)) }
                    }
                }
                svg.plot height="220" role="img" aria-label=(sentences.join(" ")) {
                    @for tick in &axis.ticks {
                        @let at = plot::percent(y(*tick));
                        line.grid x1="0" x2="100%" y1=(at) y2=(at) {}
                    }
                    svg viewBox="0 0 10000 10000" preserveAspectRatio="none" width="100%" height="100%" {
                        @for series in &series {
                            @let dots = plot::dots(series.points().map(|(index, total)| (x(index), y(total))));
                            path.dots.faint.(series.protocol.id()) d=(dots) {}
                        }
                        @for series in &series {
                            @let medians = series.medians().into_iter();
                            @let line = plot::line(medians.map(|(index, median)| (x(index), y(median))));
                            path.line.(series.protocol.id()) d=(line) {}
                        }
                    }
                }
                span {}
                svg.axis height="22" aria-hidden="true" {
                    @for index in (0..=last).step_by(last / 8 + 1) {
                        text x=(plot::percent(x(index))) y="16" text-anchor="middle" {
                            @if index == 0 { "first" } @else { "+" (index) }
                        }
                    }
                }
            }
            p.muted.small { "Milliseconds upwards; requests on one connection to the right." }
        }
    }
}

/// The totals of one protocol's successful samples, sorted, by index on the connection.
#[derive(Debug, PartialEq)]
struct Series {
    protocol: Protocol,
    totals: Vec<Vec<Nanos>>,
}

/// `None` unless there is more than one request on a connection.
fn series(document: &Document, protocol: Protocol) -> Option<Series> {
    let mut totals: Vec<Vec<Nanos>> = Vec::new();
    let samples = document
        .arms
        .iter()
        .filter(|arm: &&Arm| arm.source == Source::Probe && arm.protocol == Some(protocol))
        .flat_map(|arm| &arm.samples);
    for (index, total) in samples.filter_map(total) {
        if totals.len() <= index {
            totals.resize(index + 1, Vec::new());
        }
        totals[index].push(total);
    }
    for totals in &mut totals {
        totals.sort_unstable();
    }
    (totals.len() > 1).then_some(Series { protocol, totals })
}

fn total(sample: &Sample) -> Option<(usize, Nanos)> {
    let ns = sample
        .phases
        .get(&Phase::Total)
        .filter(|_| sample.failure.is_none())?
        .ns?;
    // An index beyond every limit comes from a made-up document and would reserve memory for nothing.
    let index = sample.exchange.min(shared::Plan::MAX_WARM_REQUESTS);
    Some((index as usize, ns))
}

impl Series {
    fn medians(&self) -> Vec<(usize, Nanos)> {
        self.totals
            .iter()
            .enumerate()
            .filter_map(|(index, totals)| Some((index, statistics::quantile(totals, 0.5)?)))
            .collect()
    }

    /// Every sample with its index on the connection.
    fn points(&self) -> impl Iterator<Item = (usize, Nanos)> + '_ {
        let indexed = self.totals.iter().enumerate();
        indexed.flat_map(|(index, totals)| totals.iter().map(move |total| (index, *total)))
    }

    fn largest(&self) -> Nanos {
        self.totals.iter().flatten().copied().max().unwrap_or(Nanos::ZERO)
    }

    /// `HTTP/2: first 78.0 ms, then 27.1 to 34.0 ms.`
    fn sentence(&self) -> Option<String> {
        let medians = self.medians();
        let first = medians
            .iter()
            .find(|(index, _)| *index == 0)
            .map(|(_, median)| *median);
        let later = || {
            medians
                .iter()
                .filter(|(index, _)| *index > 0)
                .map(|(_, median)| *median)
        };
        let (low, high) = (later().min()?, later().max()?);
        let millis = shared::format::millis;
        let range = if low == high {
            millis(low)
        } else {
            format!("{} to {}", arms::bare_millis(low), millis(high))
        };
        Some(match first {
            Some(first) => format!("{}: first {}, then {range}.", self.protocol, millis(first)),
            None => format!("{}: {range} on a reused connection.", self.protocol),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(totals: &[&[u64]]) -> Series {
        Series {
            protocol: Protocol::H2,
            totals: totals
                .iter()
                .map(|list| list.iter().map(|ns| Nanos(ns * 1_000_000)).collect())
                .collect(),
        }
    }

    #[test]
    fn the_first_request_and_the_later_ones_are_told_apart() {
        assert_eq!(
            of(&[&[78], &[27], &[30, 34, 39]]).sentence().unwrap(),
            "HTTP/2: first 78.0 ms, then 27.0 to 34.0 ms."
        );
        assert_eq!(
            of(&[&[], &[27]]).sentence().unwrap(),
            "HTTP/2: 27.0 ms on a reused connection."
        );
        assert_eq!(of(&[&[5], &[]]).sentence(), None);
    }
}
