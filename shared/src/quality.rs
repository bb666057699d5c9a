//! A phase's value with its quality, or its absence with the reason.

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// How a phase's value was obtained, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// The difference of two stamped marks.
    Measured,
    /// Computed from other values; `why` says from which.
    Derived,
    /// Smaller than twice the clock's step: the reading is kept, but it cannot be told from zero.
    BelowResolution,
    /// The connection existed already, so the phase did not happen.
    Reused,
    /// The page may not see it: no Timing-Allow-Origin, or the browser's privacy mode; `why` says which.
    Hidden,
    /// The phase does not exist in this protocol or scheme.
    NotApplicable,
    /// The request left before the handshake ended (0-RTT), so the phases cannot be told apart.
    Overlapping,
    /// The source contradicts itself; dropped from statistics and counted.
    Inconsistent,
    /// One of its marks did not happen: the exchange ended before, or the source does not record it.
    NotObserved,
}

impl Quality {
    /// Whether a value of this quality carries a time.
    pub fn has_value(self) -> bool {
        matches!(self, Self::Measured | Self::Derived | Self::BelowResolution)
    }

    /// The quality in words, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::BelowResolution => "below the clock's resolution",
            Self::Reused => "connection reused",
            Self::Hidden => "hidden",
            Self::NotApplicable => "not applicable",
            Self::Overlapping => "overlapping",
            Self::Inconsistent => "inconsistent",
            Self::NotObserved => "not observed",
        }
    }
}

/// A phase of one exchange. `ns` is present exactly when [`Quality::has_value`]; an absence always has `why`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseValue {
    /// How the value was obtained, or why there is none.
    pub quality: Quality,
    /// The duration in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<Nanos>,
    /// The duration in round trips: `ns` divided by the path's independent minimum RTT. Absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtts: Option<f64>,
    /// The reason of an absence, or from what a derived value was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl PhaseValue {
    /// A duration between two stamped marks; below twice the clock's step it is marked as unresolvable.
    pub fn measured(ns: Nanos, clock_step: Nanos) -> Self {
        let quality = if ns.0 < clock_step.0.saturating_mul(2) {
            Quality::BelowResolution
        } else {
            Quality::Measured
        };
        Self {
            quality,
            ns: Some(ns),
            rtts: None,
            why: None,
        }
    }

    /// A duration computed from other values.
    pub fn derived(ns: Nanos, why: impl Into<String>) -> Self {
        Self {
            quality: Quality::Derived,
            ns: Some(ns),
            rtts: None,
            why: Some(why.into()),
        }
    }

    /// No duration, for the reason given. `quality` is one without a value.
    pub fn absent(quality: Quality, why: impl Into<String>) -> Self {
        debug_assert!(!quality.has_value(), "an absence has a quality without a value");
        Self {
            quality,
            ns: None,
            rtts: None,
            why: Some(why.into()),
        }
    }

    /// Whether the parts agree with each other: what a document from elsewhere must satisfy.
    pub fn is_coherent(&self) -> bool {
        self.quality.has_value() == self.ns.is_some() && (self.ns.is_some() || self.why.is_some())
    }
}

/// A count of round trips to four decimals, a large one to a whole number. So few digits survive being written to JSON and
/// read again exactly, and claim no more than a count can tell.
pub(crate) fn round_count(count: f64) -> f64 {
    const LARGE: f64 = 1e9;
    if count < LARGE {
        (count * 1e4).round() / 1e4
    } else {
        count.round()
    }
}
