//! Values to coordinates: axes with round steps, positions as integers and as percentages.

use shared::Nanos;

/// How many units an axis is long in path coordinates.
pub(crate) const UNITS: u64 = 10_000;

/// A time axis from 0 to a round end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Where it ends; never 0.
    pub(crate) end: Nanos,
    /// Where its ticks stand, 0 first, `end` at most last.
    pub(crate) ticks: Vec<Nanos>,
}

impl Axis {
    /// An axis that holds `largest` with three to six steps of 1, 2 or 5 times a power of ten.
    pub(crate) fn to(largest: Nanos) -> Self {
        // Below a microsecond nothing is drawn apart.
        let largest = largest.0.max(1_000);
        let mut power: u64 = 1;
        while power.saturating_mul(50) < largest {
            power = power.saturating_mul(10);
        }
        let step = [1, 2, 5, 10]
            .into_iter()
            .map(|factor| power.saturating_mul(factor))
            .find(|step| largest.div_ceil(*step) <= 6)
            .unwrap_or(largest);
        // A little air behind the largest value, but not a whole empty step.
        let end = largest.saturating_add(largest / 50);
        let ticks = (0..=end / step).map(|index| Nanos(index * step)).collect();
        Self {
            end: Nanos(end),
            ticks,
        }
    }

    /// The position of a time in [`UNITS`], held inside the axis.
    pub(crate) fn place(&self, time: Nanos) -> u64 {
        let position = u128::from(time.0) * u128::from(UNITS) / u128::from(self.end.0.max(1));
        u64::try_from(position).unwrap_or(UNITS).min(UNITS)
    }

    /// The position of a time as a percentage for an SVG attribute.
    pub(crate) fn percent(&self, time: Nanos) -> String {
        percent(self.place(time))
    }
}

/// Ten-thousandths as a percentage: `1234` is `12.34%`. Integers only, because formatting floats is heavy in wasm.
pub(crate) fn percent(units: u64) -> String {
    let (whole, rest) = (units / 100, units % 100);
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
        if rest < 10 {
            text.push('0');
        }
        text.push_str(&rest.to_string());
    }
    text.push('%');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for largest in [
            1,
            999,
            1_000,
            4_600_000,
            51_200_000,
            99_000_000,
            1_204_000_000,
            u64::MAX / 2,
        ] {
            let axis = Axis::to(Nanos(largest));
            assert!((3..=8).contains(&axis.ticks.len()), "{largest}: {:?}", axis.ticks);
            assert!(axis.end >= Nanos(largest));
            assert!(axis.ticks.iter().all(|tick| *tick <= axis.end));
            let step = axis.ticks[1].0;
            let lead = step / 10_u64.pow(step.ilog10());
            assert!(
                [1, 2, 5].contains(&lead) && step.is_multiple_of(10_u64.pow(step.ilog10())),
                "{step}"
            );
        }
    }

    #[test]
    fn places_stay_inside() {
        let axis = Axis::to(Nanos(100));
        assert_eq!(axis.place(Nanos(0)), 0);
        assert_eq!(axis.place(Nanos(u64::MAX)), UNITS);
    }

    #[test]
    fn percentages_have_two_digits() {
        for (units, text) in [
            (0, "0%"),
            (5, "0.05%"),
            (1234, "12.34%"),
            (1200, "12%"),
            (10_000, "100%"),
        ] {
            assert_eq!(percent(units), text);
        }
    }
}
