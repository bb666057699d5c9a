//! The probe host watches itself: a thread whose timer fires late shows that the machine was busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use shared::Nanos;

use crate::probe::net::clock;

/// How often the timer should fire.
const PERIOD: Nanos = Nanos(5_000_000);
/// How late it may be.
const TOLERANCE: Nanos = Nanos(5_000_000);

/// Watches the host from its making until it is dropped.
#[derive(Debug)]
pub(super) struct HostWatch {
    ticks: Arc<Mutex<Ticks>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HostWatch {
    /// Starts the watching thread. Where it cannot be started nothing is ever disturbed.
    pub(super) fn start() -> Self {
        let ticks = Arc::new(Mutex::new(Ticks::from(clock::now())));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("host-watch".into()).spawn({
            let (ticks, stop) = (Arc::clone(&ticks), Arc::clone(&stop));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_nanos(PERIOD.0));
                    lock(&ticks).tick(clock::now());
                }
            }
        });
        if let Err(error) = &thread {
            tracing::warn!(%error, "the host cannot be watched");
        }
        Self {
            ticks,
            stop,
            thread: thread.ok(),
        }
    }

    /// Whether the timer was late at some time since `start`. Forgets what lies before.
    pub(super) fn disturbed_since(&self, start: Nanos) -> bool {
        self.thread.is_some() && lock(&self.ticks).disturbed(start, clock::now())
    }
}

impl Drop for HostWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the host watch panicked");
        }
    }
}

fn lock(ticks: &Mutex<Ticks>) -> MutexGuard<'_, Ticks> {
    ticks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When the timer fired late. Pure.
#[derive(Debug)]
struct Ticks {
    last: Nanos,
    /// Ends of the intervals that were too long, the latest of them only: samples do not overlap.
    late_until: Option<Nanos>,
}

impl Ticks {
    fn from(start: Nanos) -> Self {
        Self {
            last: start,
            late_until: None,
        }
    }

    fn tick(&mut self, now: Nanos) {
        if self.is_late(now) {
            self.late_until = Some(now);
        }
        self.last = now;
    }

    fn is_late(&self, now: Nanos) -> bool {
        now.since(self.last)
            .is_some_and(|span| span > PERIOD.plus(TOLERANCE))
    }

    /// Late within `start..=now`: an interval that ended in it, or one that is still going on.
    fn disturbed(&self, start: Nanos, now: Nanos) -> bool {
        self.late_until.is_some_and(|until| until >= start) || self.is_late(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ticks(at: &[u64]) -> Ticks {
        let mut ticks = Ticks::from(Nanos(0));
        for ms in at {
            ticks.tick(Nanos(ms * MS));
        }
        ticks
    }

    #[test]
    fn a_punctual_timer_disturbs_nothing() {
        assert!(!ticks(&[5, 10, 16, 25]).disturbed(Nanos(0), Nanos(30 * MS)));
    }

    #[test]
    fn a_late_timer_disturbs_the_sample_it_was_late_in() {
        let ticks = ticks(&[5, 17, 22]);
        assert!(ticks.disturbed(Nanos(10 * MS), Nanos(23 * MS)));
        assert!(!ticks.disturbed(Nanos(18 * MS), Nanos(23 * MS)));
    }

    #[test]
    fn a_timer_that_should_have_fired_by_now_counts_too() {
        assert!(ticks(&[5, 10]).disturbed(Nanos(12 * MS), Nanos(21 * MS)));
    }

    #[test]
    fn the_thread_ends_with_the_watch() {
        let watch = HostWatch::start();
        let ticks = Arc::clone(&watch.ticks);
        drop(watch);
        assert_eq!(Arc::strong_count(&ticks), 1);
    }
}
