//! Carries out a plan, sample by sample.

use shared::{Document, Plan, RunEvent};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::probe::ProbeSettings;

/// Why a run gave no document.
#[derive(Debug, Error)]
pub enum RunError {
    /// The plan cannot be carried out.
    #[error("{field}: {message}")]
    Plan {
        /// The field of the plan that is at fault.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// The user cancelled.
    #[error("the run was cancelled")]
    Cancelled,
}

/// Carries out `plan` and returns the finished document; every event but the last (`finished`, `failed`, `cancelled`
/// are the caller's) goes to `on_event` as it happens. To be driven by a current-thread runtime on a thread of its
/// own: nothing may run beside a timed sample.
///
/// # Errors
/// When the plan cannot be carried out at all. Failed exchanges are results, not errors.
pub async fn execute(
    plan: Plan,
    settings: &ProbeSettings,
    on_event: &mut (dyn FnMut(RunEvent) + Send),
    cancel: &CancellationToken,
) -> Result<Document, RunError> {
    let _ = (plan, settings, on_event, cancel);
    Err(RunError::Cancelled)
}
