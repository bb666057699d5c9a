//! One sentence that says what a document shows.

use crate::{
    Arm, Comparison, Document, FailureKind, Nanos, Phase, Source, Temperature, Verdict, format::millis,
    statistics::MIN_BLOCKS,
};

/// The result in one sentence for people: which protocol reached the first byte of the response first and by how much
/// (with the interval), or that no clear difference was seen; what took most of the time; what failed.
///
/// New connections are looked at where there are any, else reused ones. A difference is only named as one where its
/// interval does not contain 0.
pub fn headline(document: &Document) -> String {
    let mut clauses = [Temperature::Cold, Temperature::Warm]
        .into_iter()
        .find_map(|temperature| probe_side(document, temperature))
        .or_else(|| browser_side(document))
        .unwrap_or_else(|| vec!["Nothing could be measured".into()]);
    clauses.extend(failures(document));
    clauses.join("; ") + "."
}

/// An arm with the median time to its first byte.
struct Timed<'a> {
    arm: &'a Arm,
    median: Nanos,
}

impl Timed<'_> {
    fn name(&self) -> &'static str {
        self.arm
            .protocol
            .map_or("the browser", |protocol| protocol.label())
    }
}

fn probe_side(document: &Document, temperature: Temperature) -> Option<Vec<String>> {
    let mut arms: Vec<Timed<'_>> = document
        .arms
        .iter()
        .filter(|arm| arm.source == Source::Probe && arm.temperature == Some(temperature))
        .filter_map(|arm| {
            Some(Timed {
                arm,
                median: median(arm, Phase::Ttfb)?,
            })
        })
        .collect();
    arms.sort_by_key(|timed| timed.median);
    let (first, others) = arms.split_first()?;
    let on = match temperature {
        Temperature::Cold => "on new connections",
        Temperature::Warm => "on reused connections",
    };

    let lead = |other: &Timed<'_>| Lead::find(document, first.arm, other.arm);
    let tied: Vec<&Timed<'_>> = others
        .iter()
        .filter(|other| lead(other).is_none_or(|l| !l.clear))
        .collect();
    let behind: Vec<String> = others
        .iter()
        .filter_map(|other| {
            let lead = lead(other).filter(|lead| lead.clear)?;
            Some(format!(
                "{} before {} (95 % interval {} to {})",
                millis(lead.by),
                other.name(),
                millis(lead.low),
                millis(lead.high),
            ))
        })
        .collect();

    let after = millis(first.median);
    let mut clauses = Vec::new();
    if others.is_empty() {
        clauses.push(format!(
            "{} reached the first byte after {after} (median {on})",
            first.name()
        ));
    } else if tied.is_empty() {
        let behind = list(&behind);
        clauses.push(format!(
            "{} reached the first byte first, after {after} {on}: {behind}",
            first.name()
        ));
    } else {
        let last = tied
            .iter()
            .map(|other| other.median)
            .max()
            .unwrap_or(first.median);
        let verdict = if tied
            .iter()
            .any(|other| lead(other).is_none_or(|lead| lead.blocks < MIN_BLOCKS))
        {
            "too few blocks to tell a difference"
        } else {
            "no clear difference between them"
        };
        clauses.push(format!(
            "{} reached the first byte after {after} to {} {on}, {verdict}",
            names(first, &tied),
            millis(last)
        ));
        if !behind.is_empty() {
            clauses.push(format!("{} came {}", first.name(), list(&behind)));
        }
    }
    clauses.extend(largest_part(first.arm));
    Some(clauses)
}

/// How far one arm is before another.
struct Lead {
    by: Nanos,
    low: Nanos,
    high: Nanos,
    blocks: u32,
    /// Whether the interval lies on one side of 0, the leader's.
    clear: bool,
}

impl Lead {
    fn find(document: &Document, first: &Arm, other: &Arm) -> Option<Self> {
        let between =
            |c: &&Comparison, a: &Arm, b: &Arm| c.phase == Phase::Ttfb && c.a == a.id && c.b == b.id;
        let all = &document.comparisons;
        let (found, leads, reversed) = match all.iter().find(|c| between(c, first, other)) {
            Some(found) => (found, Verdict::Slower, false),
            None => (
                all.iter().find(|c| between(c, other, first))?,
                Verdict::Faster,
                true,
            ),
        };
        let size = |ns: i64| Nanos(ns.unsigned_abs());
        let (low, high) = if reversed {
            (found.high_ns, found.low_ns)
        } else {
            (found.low_ns, found.high_ns)
        };
        Some(Self {
            by: size(found.shift_ns),
            low: size(low),
            high: size(high),
            blocks: found.blocks,
            clear: found.verdict == leads,
        })
    }
}

fn browser_side(document: &Document) -> Option<Vec<String>> {
    let arms = document.arms.iter().filter(|arm| arm.source == Source::Browser);
    let arm = arms
        .filter(|arm| arm.summary.ok > 0)
        .max_by_key(|arm| arm.summary.ok)?;
    let total = median(arm, Phase::Total)?;
    let over = arm
        .protocol
        .map_or("a protocol it is not told", |protocol| protocol.label());
    let needed = format!(
        "The browser needed {} over {over} (median of {})",
        millis(total),
        arm.summary.ok
    );
    Some(std::iter::once(needed).chain(largest_part(arm)).collect())
}

/// What failed, each kind of arm with its share: `HTTP/3 failed 3 of 8 times (no answer over UDP)`.
fn failures(document: &Document) -> Vec<String> {
    document
        .arms
        .iter()
        .filter(|arm| arm.source == Source::Probe && arm.summary.failed > 0)
        // Warm exchanges of a connection that failed fail with it; one mention is enough.
        .filter(|arm| {
            arm.temperature != Some(Temperature::Warm)
                || !document.arms.iter().any(|other| {
                    other.source == arm.source
                        && other.protocol == arm.protocol
                        && other.temperature == Some(Temperature::Cold)
                        && other.summary.failed > 0
                })
        })
        .map(|arm| {
            let name = arm
                .protocol
                .map_or("an unknown protocol", |protocol| protocol.label());
            let all = arm.summary.ok + arm.summary.failed;
            let kind = arm.summary.failures.iter().max_by_key(|(_, count)| **count);
            let why = kind.map_or("unknown", |(kind, _)| FailureKind::label(*kind));
            if arm.summary.ok == 0 {
                format!("{name} failed every time ({why})")
            } else {
                format!("{name} failed {} of {all} times ({why})", arm.summary.failed)
            }
        })
        .collect()
}

fn median(arm: &Arm, phase: Phase) -> Option<Nanos> {
    Some(arm.summary.phases.get(&phase)?.median_ns)
}

/// The tiling phase whose median is more than half of the total's, if one is.
fn largest_part(arm: &Arm) -> Option<String> {
    let total = median(arm, Phase::Total)?;
    let tiles = Phase::TILES
        .into_iter()
        .filter_map(|phase| Some((phase, median(arm, phase)?)));
    let (phase, time) = tiles.max_by_key(|(_, time)| *time)?;
    let over = arm
        .protocol
        .map_or_else(String::new, |protocol| format!(" over {protocol}"));
    (time.0 > total.0 / 2).then(|| format!("most of the time{over} is {} ({})", words(phase), millis(time)))
}

fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Dns => "name resolution",
        Phase::Setup => "setting up the connection",
        Phase::Send => "sending the request",
        Phase::Wait => "waiting for the response",
        Phase::Download => "the download",
        Phase::Tcp | Phase::Tls | Phase::Quic | Phase::Server | Phase::Ttfb | Phase::Total => phase.id(),
    }
}

fn names(first: &Timed<'_>, tied: &[&Timed<'_>]) -> String {
    let mut names = vec![first.name()];
    names.extend(tied.iter().map(|other| other.name()));
    list(&names)
}

/// `a`, `a and b`, `a, b and c`.
fn list<T: AsRef<str>>(items: &[T]) -> String {
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push_str(if index + 1 == items.len() { " and " } else { ", " });
        }
        text.push_str(item.as_ref());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, FailurePhase, Mark, Protocol, document::example};

    #[test]
    fn a_clear_lead_is_named_with_its_interval() {
        let text = headline(&example::document());
        assert!(
            text.starts_with("HTTP/3 reached the first byte first, after "),
            "{text}"
        );
        assert!(text.contains(" before HTTP/2 (95 % interval "), "{text}");
        assert!(text.contains(" before HTTP/1.1 (95 % interval "), "{text}");
    }

    #[test]
    fn protocols_that_are_alike_are_not_ranked() {
        let mut document = example::document();
        document.arms.retain(|arm| arm.protocol != Some(Protocol::H3));
        document.recompute();
        let text = headline(&document);
        assert!(text.contains("no clear difference"), "{text}");
        assert!(text.contains("HTTP/1.1") && text.contains("HTTP/2"), "{text}");
    }

    #[test]
    fn one_sample_each_gives_no_verdict() {
        let text = headline(&example::with_samples(1));
        assert!(text.contains("too few blocks to tell a difference"), "{text}");
    }

    #[test]
    fn failures_are_named_with_their_share() {
        let mut document = example::with_samples(2);
        for arm in &mut document.arms {
            if arm.protocol == Some(Protocol::H3) {
                for sample in &mut arm.samples {
                    sample.failure = Some(Failure::new(FailureKind::UdpNoAnswer, FailurePhase::Quic, ""));
                    sample.marks.clear(Mark::End);
                }
            }
        }
        document.recompute();
        let text = headline(&document);
        assert!(
            text.ends_with("; HTTP/3 failed every time (no answer over UDP)."),
            "{text}"
        );
        assert!(text.contains("too few blocks to tell a difference"), "{text}");
    }

    #[test]
    fn an_empty_document_says_so() {
        let mut document = example::with_samples(1);
        document.arms.clear();
        document.recompute();
        assert_eq!(headline(&document), "Nothing could be measured.");
    }
}
