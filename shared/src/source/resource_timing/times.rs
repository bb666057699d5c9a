//! An entry's times since its start, checked against each other.

use super::Entry;
use crate::Nanos;

/// An entry's times since its start. Absent where the entry says 0 or nothing.
pub(super) struct Times {
    pub(super) fetch_start: Nanos,
    pub(super) dns_start: Option<Nanos>,
    pub(super) dns_end: Option<Nanos>,
    pub(super) connect_start: Option<Nanos>,
    pub(super) connect_end: Option<Nanos>,
    pub(super) secure_start: Option<Nanos>,
    pub(super) request_start: Option<Nanos>,
    pub(super) first_interim: Option<Nanos>,
    pub(super) final_headers: Option<Nanos>,
    pub(super) response_start: Option<Nanos>,
    pub(super) end: Nanos,
}

/// How coarsely an entry's times are rounded, judged by the times themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coarseness {
    /// Finer than a millisecond, or too few times to tell.
    Fine,
    /// Whole milliseconds: Firefox, Safari, Brave.
    Millisecond,
    /// Steps of 16.67 or 100 ms: a privacy mode.
    Privacy,
}

impl Times {
    pub(super) fn of(entry: &Entry) -> Result<Self, &'static str> {
        let start = entry.start_time.unwrap_or(-1.0);
        let end = entry.response_end.filter(|end| *end > 0.0);
        let end = end.or_else(|| Some(start + entry.duration.filter(|duration| *duration > 0.0)?));
        let (true, Some(end)) = (start >= 0.0, end) else {
            return Err("the entry has no start or no end");
        };
        let end = Nanos::from_millis_f64(end - start).ok_or("the end lies before the start")?;
        let since_start = |time: Option<f64>| match time {
            None | Some(0.0) => Ok(None),
            Some(time) => Nanos::from_millis_f64(time - start)
                .filter(|since| *since <= end)
                .map(Some)
                .ok_or("a time lies outside of the request"),
        };
        let times = Self {
            fetch_start: since_start(entry.fetch_start)?.unwrap_or(Nanos::ZERO),
            dns_start: since_start(entry.domain_lookup_start)?,
            dns_end: since_start(entry.domain_lookup_end)?,
            connect_start: since_start(entry.connect_start)?,
            connect_end: since_start(entry.connect_end)?,
            secure_start: since_start(entry.secure_connection_start)?,
            request_start: since_start(entry.request_start)?,
            first_interim: since_start(entry.first_interim_response_start)?,
            final_headers: since_start(entry.final_response_headers_start)?,
            response_start: since_start(entry.response_start)?,
            end,
        };
        let in_order = |earlier: Option<Nanos>, later: Option<Nanos>| {
            earlier.zip(later).is_none_or(|(earlier, later)| earlier <= later)
        };
        if in_order(times.dns_start, times.dns_end)
            && in_order(times.connect_start, times.connect_end)
            && in_order(times.request_start, times.headers())
        {
            Ok(times)
        } else {
            Err("a time lies before the one it follows")
        }
    }

    /// Every time between start and end.
    fn inner(&self) -> [Option<Nanos>; 9] {
        [
            self.dns_start,
            self.dns_end,
            self.connect_start,
            self.connect_end,
            self.secure_start,
            self.request_start,
            self.first_interim,
            self.final_headers,
            self.response_start,
        ]
    }

    pub(super) fn are_hidden(&self) -> bool {
        self.inner().iter().all(Option::is_none)
    }

    /// The final response's header section, or what old browsers have instead.
    pub(super) fn headers(&self) -> Option<Nanos> {
        self.final_headers.or(self.response_start)
    }

    pub(super) fn coarseness(&self) -> Coarseness {
        let mut times: Vec<Nanos> = self.inner().into_iter().flatten().chain([self.end]).collect();
        times.retain(|time| *time > Nanos::ZERO);
        times.sort_unstable();
        times.dedup();
        // Fewer different times fall on a grid by chance.
        if times.len() < 3 {
            return Coarseness::Fine;
        }
        // Binary fractions of a millisecond are off by a few ns; sixtieths of a second are rounded to 10 us by some.
        let on_grid = |step: u64, tolerance: u64| {
            times.iter().all(|time| {
                let rest = time.0 % step;
                rest.min(step - rest) <= tolerance
            })
        };
        if on_grid(100_000_000, 100) || on_grid(16_666_667, 20_000) {
            Coarseness::Privacy
        } else if on_grid(1_000_000, 100) {
            Coarseness::Millisecond
        } else {
            Coarseness::Fine
        }
    }
}
