//! Rules over a finished document: each gives at most one finding, with its evidence.

use crate::{Document, Evidence, Finding, Nanos, Source, Sureness, format, statistics::MIN_BLOCKS};

/// Everything the rules find in `document`, in the order of the rules.
pub(crate) fn findings(document: &Document) -> Vec<Finding> {
    let rules = [host_disturbed, few_blocks, short_path];
    rules.iter().filter_map(|rule| rule(document)).collect()
}

/// More than 10 % of the probe's samples were taken while its host was busy.
fn host_disturbed(document: &Document) -> Option<Finding> {
    let probe = document.arms.iter().filter(|arm| arm.source == Source::Probe);
    let (mut disturbed, mut samples) = (0, 0);
    for sample in probe.flat_map(|arm| &arm.samples) {
        samples += 1_usize;
        disturbed += usize::from(sample.disturbed);
    }
    (disturbed * 10 > samples).then(|| Finding {
        rule: "host_disturbed".into(),
        sure: Sureness::Proved,
        text: "The machine that probes was busy during more than a tenth of the samples, so their times contain its own \
               delays. Stop other work on it and run again."
            .into(),
        evidence: vec![evidence(
            "samples during which a 5 ms timer fired more than 5 ms late",
            format!("{disturbed} of {samples}"),
        )],
    })
}

/// Differences rest on so few blocks that their interval is too narrow to be a 95 % one.
fn few_blocks(document: &Document) -> Option<Finding> {
    let fewest = document.comparisons.iter().map(|c| c.blocks).min()?;
    (fewest < MIN_BLOCKS).then(|| Finding {
        rule: "few_blocks".into(),
        sure: Sureness::Proved,
        text: format!(
            "Some comparisons rest on fewer than {MIN_BLOCKS} blocks: all of them can lie on one side by chance more often \
             than once in 20 runs, so no difference is called clear. Take more samples."
        ),
        evidence: vec![evidence("fewest blocks of a comparison", fewest.to_string())],
    })
}

/// The path is so short that counts of round trips are mostly computation.
fn short_path(document: &Document) -> Option<Finding> {
    const SHORT: Nanos = Nanos(1_000_000);
    let probe = document.arms.iter().filter(|arm| arm.source == Source::Probe);
    let min_rtt = probe.filter_map(|arm| arm.summary.min_rtt_ns).min()?;
    (min_rtt < SHORT).then(|| Finding {
        rule: "short_path".into(),
        sure: Sureness::Likely,
        text: "The path's round trip takes less than 1 ms, so the counts of round trips mostly show computation on both \
               sides. Compare milliseconds here, and counts on a longer path."
            .into(),
        evidence: vec![evidence("minimum round trip time", format::millis(min_rtt))],
    })
}

fn evidence(what: &str, value: String) -> Evidence {
    Evidence {
        what: what.into(),
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example;

    fn rules(document: &mut Document) -> Vec<String> {
        document.recompute();
        document
            .findings
            .iter()
            .map(|finding| finding.rule.clone())
            .collect()
    }

    #[test]
    fn a_quiet_host_and_a_long_path_give_no_finding() {
        assert!(rules(&mut example::document()).is_empty());
    }

    #[test]
    fn a_tenth_of_disturbed_samples_is_still_accepted() {
        let mut document = example::with_samples(10);
        for sample in document.arms[0].samples.iter_mut().take(9) {
            sample.disturbed = true;
        }
        assert!(rules(&mut document).is_empty(), "9 of 90");
        document.arms[1].samples[0].disturbed = true;
        assert_eq!(rules(&mut document), ["host_disturbed"]);
    }

    #[test]
    fn a_short_path_is_named() {
        let mut document = example::document();
        document.arms[0].samples[0].facts.min_rtt_ns = Some(Nanos(999_999));
        assert_eq!(rules(&mut document), ["short_path"]);
    }

    #[test]
    fn few_blocks_are_named() {
        assert_eq!(rules(&mut example::with_samples(5)), ["few_blocks"]);
        assert!(rules(&mut example::with_samples(6)).is_empty());
    }
}
