//! Runs: the schedule of samples, carried out one after another.

mod executor;
mod host;
mod registry;
#[cfg(test)]
pub(crate) mod stand_in;
mod worker;

pub use executor::{Executor, ProbeExecutor, Stopped};
pub use registry::{NumberedEvent, RegistryError, RegistryLimits, RunRegistry};
pub use worker::{RunError, execute};
