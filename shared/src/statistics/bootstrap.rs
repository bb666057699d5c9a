//! Seeded resampling of paired blocks: the shift of medians between two arms and its interval.

use oorandom::Rand32;

use crate::Nanos;

/// How often the blocks are resampled.
pub const RESAMPLES: usize = 10_000;

/// A value of one arm and the block in which it was taken. An arm may have several in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The block.
    pub block: u32,
    /// The value.
    pub value: Nanos,
}

/// A shift of medians with its 95 % interval, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// Median of the second arm less median of the first.
    pub shift_ns: i64,
    /// 2.5th percentile of the resampled shifts.
    pub low_ns: i64,
    /// 97.5th percentile of the resampled shifts.
    pub high_ns: i64,
    /// Blocks in which both arms have a value.
    pub blocks: u32,
}

/// The shift of medians from `a` to `b` and its percentile bootstrap interval; `None` for fewer than two common blocks.
///
/// Only blocks in which both arms have a value take part: where one arm failed, the other's value has no partner, and
/// counting it would favour an arm that fails exactly when the path is slow. Whole blocks are resampled (all values of
/// a block go together, as they share a connection and a moment), the same ones for both arms.
///
/// The order of the draws is fixed, so that any reader of a document gets the same interval: `Rand32` (PCG32) seeded
/// with `seed`; for each of [`RESAMPLES`] resamples as many draws `rand_range(0..n)` as there are common blocks `n`,
/// each an index into those blocks in ascending order. Percentiles are of type 7.
pub fn shift(a: &[Observation], b: &[Observation], seed: u64) -> Option<Shift> {
    let blocks_of = |arm: &[Observation]| {
        let mut blocks: Vec<u32> = arm.iter().map(|o| o.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    };
    let of_b = blocks_of(b);
    let mut common = blocks_of(a);
    common.retain(|block| of_b.binary_search(block).is_ok());
    let blocks = u32::try_from(common.len()).ok().filter(|blocks| *blocks >= 2)?;
    let a = SortedArm::new(a, &common);
    let b = SortedArm::new(b, &common);

    let mut random = Rand32::new(seed);
    let mut times = vec![0_u32; common.len()];
    let mut shifts = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        times.fill(0);
        for _ in 0..blocks {
            times[random.rand_range(0..blocks) as usize] += 1;
        }
        shifts.push(b.twice_median(&times) - a.twice_median(&times));
    }
    shifts.sort_unstable();

    times.fill(1);
    Some(Shift {
        shift_ns: half(b.twice_median(&times) - a.twice_median(&times)),
        low_ns: percentile(&shifts, 25),
        high_ns: percentile(&shifts, 975),
        blocks,
    })
}

/// An arm's values in ascending order, so that the median of a resample is found by one walk without sorting again.
struct SortedArm {
    /// Value and index of its block.
    values: Vec<(i64, u32)>,
    /// How many values each block has.
    sizes: Vec<u32>,
}

impl SortedArm {
    fn new(arm: &[Observation], common: &[u32]) -> Self {
        // A quarter of the range leaves room for the sum of two medians and the difference of two sums.
        const LARGEST: i64 = i64::MAX / 8;
        let mut sizes = vec![0; common.len()];
        let mut values = Vec::with_capacity(arm.len());
        for observation in arm {
            if let Ok(index) = common.binary_search(&observation.block) {
                sizes[index] += 1;
                let value = i64::try_from(observation.value.0).unwrap_or(LARGEST).min(LARGEST);
                values.push((value, u32::try_from(index).unwrap_or(u32::MAX)));
            }
        }
        values.sort_unstable();
        Self { values, sizes }
    }

    /// Twice the median (an integer also for an even count) when block `i` is taken `times[i]` times.
    fn twice_median(&self, times: &[u32]) -> i64 {
        let count: u64 = self
            .sizes
            .iter()
            .zip(times)
            .map(|(size, times)| u64::from(*size) * u64::from(*times))
            .sum();
        let (lower, upper) = (count.saturating_sub(1) / 2, count / 2);
        let mut passed = 0;
        let mut at_lower = None;
        for (value, block) in &self.values {
            passed += u64::from(times[*block as usize]);
            if passed > lower && at_lower.is_none() {
                at_lower = Some(*value);
            }
            if passed > upper {
                return at_lower.unwrap_or(*value) + value;
            }
        }
        0
    }
}

/// The quantile of type 7 at `per_mille` of sorted doubled shifts, as a shift.
fn percentile(sorted: &[i64], per_mille: usize) -> i64 {
    let scaled = sorted.len().saturating_sub(1) * per_mille;
    let (index, rest) = (scaled / 1000, scaled % 1000);
    let below = sorted.get(index).copied().unwrap_or_default();
    let above = sorted.get(index + 1).copied().unwrap_or(below);
    let way = i128::from(above - below) * rest as i128 / 1000;
    half(below + i64::try_from(way).unwrap_or_default())
}

fn half(doubled: i64) -> i64 {
    doubled / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(values: impl IntoIterator<Item = (u32, u64)>) -> Vec<Observation> {
        values
            .into_iter()
            .map(|(block, ns)| Observation {
                block,
                value: Nanos(ns),
            })
            .collect()
    }

    /// The same by definition: build each resample, sort it, take the middle.
    fn plain(a: &[Observation], b: &[Observation], common: &[u32], seed: u64) -> Vec<i64> {
        let median = |arm: &[Observation], drawn: &[u32]| {
            let mut values: Vec<i64> = drawn
                .iter()
                .flat_map(|block| arm.iter().filter(move |o| o.block == *block))
                .map(|o| i64::try_from(o.value.0).unwrap())
                .collect();
            values.sort_unstable();
            values[(values.len() - 1) / 2] + values[values.len() / 2]
        };
        let n = u32::try_from(common.len()).unwrap();
        let mut random = Rand32::new(seed);
        let mut shifts: Vec<i64> = (0..RESAMPLES)
            .map(|_| {
                let drawn: Vec<u32> = (0..n).map(|_| common[random.rand_range(0..n) as usize]).collect();
                median(b, &drawn) - median(a, &drawn)
            })
            .collect();
        shifts.sort_unstable();
        shifts
    }

    #[test]
    fn the_walk_finds_what_sorting_every_resample_finds() {
        let cold = arm((0..9).map(|block| (block, 1000 + u64::from(block * 37 % 11) * 10)));
        let warm =
            arm((1..10)
                .flat_map(|block| (0..3).map(move |k| (block, 500 + u64::from(block * 29 % 7 + k) * 7))));
        let common: Vec<u32> = (1..9).collect();
        let shifts = plain(&cold, &warm, &common, 42);
        let found = shift(&cold, &warm, 42).unwrap();
        assert_eq!(found.low_ns, percentile(&shifts, 25));
        assert_eq!(found.high_ns, percentile(&shifts, 975));
        assert_eq!(found.blocks, 8);
    }

    #[test]
    fn a_constant_shift_has_an_interval_without_width_however_the_path_drifts() {
        let a = arm((0..20).map(|block| (block, 50_000_000)));
        let b = arm((0..20).map(|block| (block, 45_000_000)));
        let found = shift(&a, &b, 1).unwrap();
        assert_eq!(
            (found.shift_ns, found.low_ns, found.high_ns),
            (-5_000_000, -5_000_000, -5_000_000)
        );
    }

    #[test]
    fn the_seed_decides_and_the_shift_does_not_depend_on_it() {
        let a = arm((0..20).map(|block| (block, 1000 + u64::from(block * 17 % 13) * 100)));
        let b = arm((0..20).map(|block| (block, 1000 + u64::from(block * 23 % 17) * 100)));
        assert_eq!(shift(&a, &b, 1), shift(&a, &b, 1));
        assert_eq!(
            shift(&a, &b, 1).unwrap().shift_ns,
            shift(&a, &b, 2).unwrap().shift_ns
        );
    }

    #[test]
    fn blocks_without_a_partner_do_not_count() {
        let a = arm([(0, 10), (1, 20), (2, 9_000_000)]);
        let b = arm([(0, 11), (1, 21), (3, 1)]);
        let found = shift(&a, &b, 1).unwrap();
        assert_eq!((found.blocks, found.shift_ns), (2, 1));
    }

    #[test]
    fn fewer_than_two_common_blocks_give_no_interval() {
        assert_eq!(shift(&arm([(0, 10), (1, 20)]), &arm([(1, 10), (2, 20)]), 1), None);
        assert_eq!(shift(&[], &[], 1), None);
    }
}
