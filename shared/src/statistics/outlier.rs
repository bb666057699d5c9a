//! Outliers by the modified z-score: marked, kept and shown.

use crate::{Nanos, statistics::quantile};

/// Above this many median absolute deviations from the median a value is an outlier. A normal distribution's standard
/// deviation is 1.4826 MAD, so this is ten of them.
pub const OUTLIER_LIMIT: f64 = 14.8;

/// The least MAD that is divided by: 10 us, about what one context switch or interrupt costs a host. A spread below it
/// says nothing about the path; without a floor, half the values being equal (MAD 0, usual with a coarse clock) would
/// make every other value infinitely far away, and on loopback a delay of 30 us would count as an outlier.
pub const MAD_FLOOR: Nanos = Nanos(10_000);

/// Which of `values` are outliers; an absent value is none. The floor under the MAD is [`MAD_FLOOR`] or two steps of
/// the clock, whichever is more: each end of a duration is off by up to one step.
pub fn outliers(values: &[Option<Nanos>], clock_step: Nanos) -> Vec<bool> {
    let mut sorted: Vec<Nanos> = values.iter().copied().flatten().collect();
    sorted.sort_unstable();
    let Some(median) = quantile(&sorted, 0.5) else {
        return vec![false; values.len()];
    };
    let distance = |value: Nanos| Nanos(value.0.abs_diff(median.0));
    let mut distances: Vec<Nanos> = sorted.iter().map(|value| distance(*value)).collect();
    distances.sort_unstable();
    let floor = MAD_FLOOR.max(Nanos(clock_step.0.saturating_mul(2)));
    let mad = quantile(&distances, 0.5).unwrap_or(floor).max(floor);
    values
        .iter()
        .map(|value| value.is_some_and(|value| distance(value).as_f64() / mad.as_f64() > OUTLIER_LIMIT))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(values: &[u64], clock_step: u64) -> Vec<usize> {
        let values: Vec<_> = values.iter().map(|ns| Some(Nanos(*ns))).collect();
        let flags = outliers(&values, Nanos(clock_step));
        (0..flags.len()).filter(|index| flags[*index]).collect()
    }

    #[test]
    fn only_a_value_beyond_14_8_deviations_is_marked() {
        // Median 30 ms, MAD 1 ms.
        let base = [28_000_000, 29_000_000, 30_000_000, 31_000_000, 32_000_000];
        let with = |last| [&base[..], &[30_000_000, last]].concat();
        assert_eq!(marked(&with(44_800_000), 1), [0_usize; 0]);
        assert_eq!(marked(&with(44_800_001), 1), [6]);
    }

    #[test]
    fn equal_values_do_not_make_every_other_one_an_outlier() {
        assert_eq!(
            marked(&[5_000_000, 5_000_000, 5_000_000, 5_100_000], 1),
            [0_usize; 0]
        );
        assert_eq!(marked(&[5_000_000, 5_000_000, 5_000_000, 6_000_000], 1), [3]);
        assert_eq!(
            marked(&[5_000_000, 5_000_000, 5_000_000, 6_000_000], 1_000_000),
            [0_usize; 0],
            "one step of a browser's clock"
        );
    }

    #[test]
    fn absent_values_are_skipped() {
        assert_eq!(outliers(&[None, None], Nanos(1)), [false, false]);
        assert_eq!(outliers(&[], Nanos(1)), [false; 0]);
    }
}
