//! Median, mean, spread and quantiles of one arm.

use crate::{ArmSummary, Map, Nanos, Phase, PhaseSummary, Quality, Sample, quality::round_count};

/// What the samples of one arm have in common: counts over all of them, figures over the successful ones.
pub fn summarise(samples: &[Sample]) -> ArmSummary {
    let mut summary = ArmSummary::default();
    for sample in samples {
        match &sample.failure {
            None => summary.ok += 1,
            Some(failure) => {
                summary.failed += 1;
                *summary.failures.or_default(failure.kind) += 1;
            }
        }
        summary.disturbed += u32::from(sample.disturbed);
    }
    summary.min_rtt_ns = samples.iter().filter_map(|sample| sample.facts.min_rtt_ns).min();
    summary.phases = phases(samples);
    summary
}

/// The quantile of type 7 (linear interpolation between the order statistics around `(n - 1) p`) of sorted values;
/// `None` where there are none. `p` from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index into a slice, and a distance between two of its values"
)]
pub fn quantile(sorted: &[Nanos], p: f64) -> Option<Nanos> {
    let last = sorted.len().checked_sub(1)?;
    let rank = p.clamp(0.0, 1.0) * last as f64;
    let below = *sorted.get(rank.floor() as usize)?;
    let above = *sorted.get(rank.ceil() as usize)?;
    let way = (above.0.saturating_sub(below.0) as f64 * rank.fract()).round() as u64;
    Some(below.plus(Nanos(way)))
}

fn phases(samples: &[Sample]) -> Map<Phase, PhaseSummary> {
    Phase::ALL
        .into_iter()
        .filter_map(|phase| Some((phase, phase_summary(samples, phase)?)))
        .collect()
}

fn phase_summary(samples: &[Sample], phase: Phase) -> Option<PhaseSummary> {
    let values = samples
        .iter()
        .filter(|sample| sample.failure.is_none())
        .filter_map(|sample| sample.phases.get(&phase));
    let mut sorted = Vec::new();
    let mut rtts = Vec::new();
    let (mut below_resolution, mut inconsistent) = (0, 0);
    for value in values {
        sorted.extend(value.ns);
        rtts.extend(value.rtts);
        below_resolution += u32::from(value.quality == Quality::BelowResolution);
        inconsistent += u32::from(value.quality == Quality::Inconsistent);
    }
    sorted.sort_unstable();
    let at = |p| quantile(&sorted, p);
    Some(PhaseSummary {
        n: u32::try_from(sorted.len()).ok()?,
        below_resolution,
        inconsistent,
        median_ns: at(0.5)?,
        mean_ns: mean(&sorted)?,
        sd_ns: standard_deviation(&sorted),
        min_ns: *sorted.first()?,
        max_ns: *sorted.last()?,
        p5_ns: at(0.05)?,
        p25_ns: at(0.25)?,
        p75_ns: at(0.75)?,
        p90_ns: at(0.9)?,
        p95_ns: at(0.95)?,
        rtts: median_of_counts(rtts),
    })
}

fn mean(values: &[Nanos]) -> Option<Nanos> {
    let n = values.len() as u128;
    let sum: u128 = values.iter().map(|value| u128::from(value.0)).sum();
    u64::try_from((sum + n / 2).checked_div(n)?).ok().map(Nanos)
}

/// The sample standard deviation, over `n - 1`; `None` for fewer than two values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a count, and a root that is not negative"
)]
fn standard_deviation(values: &[Nanos]) -> Option<Nanos> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().map(|value| value.as_f64()).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value.as_f64() - mean).powi(2)).sum();
    Some(Nanos((squares / (n - 1.0)).sqrt().round() as u64))
}

fn median_of_counts(mut counts: Vec<f64>) -> Option<f64> {
    counts.sort_unstable_by(f64::total_cmp);
    let middle = counts.len() / 2;
    let upper = *counts.get(middle)?;
    if counts.len() % 2 == 1 {
        return Some(upper);
    }
    Some(round_count(f64::midpoint(
        *counts.get(middle.checked_sub(1)?)?,
        upper,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, FailureKind, FailurePhase, PhaseValue};

    fn sample(ns: u64) -> Sample {
        let mut value = PhaseValue::measured(Nanos(ns), Nanos(1));
        value.rtts = Some(Nanos(ns).as_f64() / 10.0);
        Sample {
            phases: [(Phase::Total, value)].into(),
            ..Sample::default()
        }
    }

    #[test]
    fn quantiles_are_of_type_7() {
        // R: quantile(c(1, 2, 4, 8, 16) * 100, c(.05, .25, .5, .9, .95), type = 7)
        let sorted = [100, 200, 400, 800, 1600].map(Nanos);
        for (p, expected) in [(0.05, 120), (0.25, 200), (0.5, 400), (0.9, 1280), (0.95, 1440)] {
            assert_eq!(quantile(&sorted, p), Some(Nanos(expected)), "p = {p}");
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[Nanos(3)], 0.95), Some(Nanos(3)));
    }

    #[test]
    fn spread_is_over_n_less_1_and_absent_for_one_value() {
        let samples: Vec<_> = [2, 4, 4, 4, 5, 5, 7, 9].map(|x| sample(x * 1000)).into();
        let total = &summarise(&samples).phases[&Phase::Total];
        assert_eq!(
            (total.n, total.mean_ns, total.median_ns),
            (8, Nanos(5000), Nanos(4500))
        );
        assert_eq!(total.sd_ns, Some(Nanos(2138)));
        assert_eq!(total.rtts, Some(450.0));
        assert_eq!(summarise(&samples[..1]).phases[&Phase::Total].sd_ns, None);
    }

    #[test]
    fn a_failed_sample_counts_only_as_a_failure() {
        let mut failed = sample(1);
        failed.failure = Some(Failure::new(FailureKind::ReadTimeout, FailurePhase::Download, ""));
        let summary = summarise(&[sample(10), failed]);
        assert_eq!((summary.ok, summary.failed), (1, 1));
        assert_eq!(summary.failures[&FailureKind::ReadTimeout], 1);
        assert_eq!(summary.phases[&Phase::Total].min_ns, Nanos(10));
        assert!(summarise(&[]).phases.is_empty());
    }
}
