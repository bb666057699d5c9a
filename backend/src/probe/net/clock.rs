//! The only reader of the clock.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use shared::Nanos;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the monotonic clock"
)]
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds of the monotonic clock since the first call in this process.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the monotonic clock"
)]
pub fn now() -> Nanos {
    let origin = *ORIGIN;
    nanos(Instant::now().saturating_duration_since(origin))
}

/// A duration as [`Nanos`], saturating after 584 years.
pub fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// The time of day as RFC 3339 in UTC, to the second.
pub fn utc_rfc3339() -> String {
    let now = OffsetDateTime::from_unix_timestamp(unix_seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    now.format(&Rfc3339)
        .unwrap_or_else(|_| String::from("1970-01-01T00:00:00Z"))
}

/// Seconds since 1970 (UTC).
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the time of day"
)]
pub fn unix_seconds() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_run_backwards() {
        let first = now();
        assert!(now().since(first).is_some());
    }

    #[test]
    fn the_time_of_day_is_rfc_3339() {
        assert!(OffsetDateTime::parse(&utc_rfc3339(), &Rfc3339).is_ok());
    }
}
