//! Whether two arms differ in a phase: shift, interval and verdict.

use crate::{
    Arm, Comparison, Phase, Verdict,
    statistics::{Observation, shift},
};

/// From this many common blocks on an interval can be trusted at 95 %: fewer than six pairs all on one side happen by
/// chance more often than once in 20 (sign test: 2 x 2^-5 = 6 % for five, 3 % for six).
pub const MIN_BLOCKS: u32 = 6;

/// The shift of `phase` from arm `a` to arm `b`, over the blocks in which both have a value; `None` where fewer than
/// two blocks do. Failed samples are missing values. Below [`MIN_BLOCKS`] blocks no difference is clear.
pub fn compare(a: &Arm, b: &Arm, phase: Phase, seed: u64) -> Option<Comparison> {
    let found = shift(&observations(a, phase), &observations(b, phase), seed)?;
    Some(Comparison {
        a: a.id.clone(),
        b: b.id.clone(),
        phase,
        shift_ns: found.shift_ns,
        low_ns: found.low_ns,
        high_ns: found.high_ns,
        blocks: found.blocks,
        verdict: if found.blocks < MIN_BLOCKS {
            Verdict::NoClearDifference
        } else {
            Verdict::of(found.low_ns, found.high_ns)
        },
    })
}

impl Verdict {
    /// What an interval of the shift says.
    pub fn of(low_ns: i64, high_ns: i64) -> Self {
        if high_ns < 0 {
            Self::Faster
        } else if low_ns > 0 {
            Self::Slower
        } else {
            Self::NoClearDifference
        }
    }
}

fn observations(arm: &Arm, phase: Phase) -> Vec<Observation> {
    arm.samples
        .iter()
        .filter(|sample| sample.failure.is_none())
        .filter_map(|sample| {
            let value = sample.phases.get(&phase)?.ns?;
            Some(Observation {
                block: sample.block,
                value,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_touches_zero_is_no_clear_difference() {
        for (low, high, verdict) in [
            (-5, -1, Verdict::Faster),
            (-5, 0, Verdict::NoClearDifference),
            (-5, 5, Verdict::NoClearDifference),
            (0, 5, Verdict::NoClearDifference),
            (1, 5, Verdict::Slower),
        ] {
            assert_eq!(Verdict::of(low, high), verdict, "{low} to {high}");
        }
    }
}
