//! Nanoseconds since an exchange's start, with checked subtraction only.

use serde::{Deserialize, Serialize};

/// A point in time since the exchange's start, or a span between two such points, in nanoseconds on one monotonic
/// clock. Never negative: a subtraction in the wrong order gives `None` instead of a silent zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The exchange's start.
    pub const ZERO: Self = Self(0);

    /// `self - earlier`, or `None` when `earlier` is the later one.
    pub fn since(self, earlier: Self) -> Option<Self> {
        self.0.checked_sub(earlier.0).map(Self)
    }

    /// `self + span`, saturating at the largest value (584 years).
    #[must_use]
    pub fn plus(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// In milliseconds, for display. Exact below 2^53 ns (104 days).
    pub fn as_millis_f64(self) -> f64 {
        self.as_f64() / 1e6
    }

    /// In nanoseconds, for statistics. Exact below 2^53 ns (104 days).
    #[expect(
        clippy::cast_precision_loss,
        reason = "an exchange lasts far less than 2^53 ns"
    )]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// From milliseconds as a browser gives them (`DOMHighResTimeStamp`); `None` for negative or non-finite values
    /// and for more than 2^53 ns.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "range checked first"
    )]
    pub fn from_millis_f64(millis: f64) -> Option<Self> {
        let nanos = (millis * 1e6).round();
        (nanos.is_finite() && (0.0..9_007_199_254_740_992.0).contains(&nanos)).then_some(Self(nanos as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_order_is_none_and_not_zero() {
        assert_eq!(Nanos(5).since(Nanos(7)), None);
        assert_eq!(Nanos(7).since(Nanos(5)), Some(Nanos(2)));
    }

    #[test]
    fn browser_values_out_of_range_are_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e18] {
            assert_eq!(Nanos::from_millis_f64(bad), None, "{bad}");
        }
        assert_eq!(Nanos::from_millis_f64(1.25), Some(Nanos(1_250_000)));
    }
}
