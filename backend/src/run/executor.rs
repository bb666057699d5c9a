//! What a run is carried out by: the probe, or a stand-in for tests.

use std::time::Duration;

use shared::{Document, Plan, RunEvent};
use tokio_util::sync::CancellationToken;

use super::{RunError, execute};
use crate::probe::ProbeSettings;

/// Why a run gave no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Nothing could be measured.
    Failed {
        /// The field of the plan that is at fault, if one is.
        field: Option<String>,
        /// Why, in words.
        message: String,
    },
    /// It was cancelled.
    Cancelled,
}

impl From<RunError> for Stopped {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Plan { field, message } => Self::Failed {
                field: Some(field),
                message,
            },
            RunError::Cancelled => Self::Cancelled,
        }
    }
}

/// Carries out plans one after another, on a thread of its own.
pub trait Executor: Send + 'static {
    /// Carries out one plan; returns when it is over. Blocks.
    ///
    /// # Errors
    /// When nothing could be measured.
    fn carry_out(
        &mut self,
        plan: Plan,
        on_event: &mut (dyn FnMut(RunEvent) + Send),
        cancel: &CancellationToken,
    ) -> Result<Document, Stopped>;
}

/// The probe, with a bound on how long a run may take.
#[derive(Clone, Debug)]
pub struct ProbeExecutor {
    settings: ProbeSettings,
    longest_run: Duration,
}

impl ProbeExecutor {
    /// The probe under `settings`; a run that takes longer than `longest_run` is stopped.
    pub fn new(settings: ProbeSettings, longest_run: Duration) -> Self {
        Self {
            settings,
            longest_run,
        }
    }
}

impl Executor for ProbeExecutor {
    fn carry_out(
        &mut self,
        plan: Plan,
        on_event: &mut (dyn FnMut(RunEvent) + Send),
        cancel: &CancellationToken,
    ) -> Result<Document, Stopped> {
        // A runtime for each run: what a run leaves behind (closing connections) ends with it.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(format!("no runtime: {error}")))?;
        let too_long = CancellationToken::new();
        let result = runtime.block_on(async {
            let run_cancel = cancel.child_token();
            let running = execute(plan, &self.settings, on_event, &run_cancel);
            tokio::pin!(running);
            tokio::select! {
                result = &mut running => result,
                () = tokio::time::sleep(self.longest_run) => {
                    too_long.cancel();
                    run_cancel.cancel();
                    running.await
                }
            }
        });
        runtime.shutdown_background();
        match result {
            Err(RunError::Cancelled) if too_long.is_cancelled() && !cancel.is_cancelled() => {
                let seconds = self.longest_run.as_secs();
                Err(failed(format!(
                    "the run was stopped: it took longer than {seconds} s"
                )))
            }
            other => Ok(other?),
        }
    }
}

fn failed(message: String) -> Stopped {
    Stopped::Failed { field: None, message }
}
