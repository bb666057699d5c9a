//! Runs: the schedule of samples, carried out one after another.

mod worker;

pub use worker::{RunError, execute};
