//! The step of the browser's clock, measured when it is used: it differs by browser, by isolation and by privacy mode.

use shared::Nanos;

/// Readings after which the clock's step is taken as known.
const STEPS: usize = 24;

/// Readings after which it is given up: some tens of milliseconds.
const MOST_READINGS: usize = 400_000;

/// Measures the smallest step of `performance.now()`. Resource Timing entries are coarsened in the same way. `None`
/// when the clock does not move.
pub(super) fn step() -> Option<Nanos> {
    let performance = gloo::utils::window().performance()?;
    smallest_step((0..MOST_READINGS).map(|_| performance.now()))
}

/// The smallest difference between successive readings that differ, over the first few such.
fn smallest_step(readings: impl Iterator<Item = f64>) -> Option<Nanos> {
    let mut last = None;
    let smallest = readings
        .filter_map(|reading| {
            let step = last.map(|last| reading - last);
            last = Some(reading);
            step.filter(|step| *step > 0.0)
        })
        .take(STEPS)
        .fold(None, |smallest: Option<f64>, step| {
            Some(smallest.map_or(step, |smallest| smallest.min(step)))
        })?;
    // Binary fractions of milliseconds: 0.1 ms reads as 0.09999999403953552.
    let nanos = Nanos::from_millis_f64(smallest)?;
    Some(Nanos((nanos.0.saturating_add(500) / 1_000 * 1_000).max(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_step_is_found_among_repetitions() {
        let readings = [5.0, 5.0, 5.299_999_952, 5.299_999_952, 5.399_999_976, 7.0];
        assert_eq!(smallest_step(readings.into_iter()), Some(Nanos(100_000)));
    }

    #[test]
    fn a_clock_that_stands_still_has_no_step() {
        assert_eq!(smallest_step([5.0; 9].into_iter()), None);
    }
}
