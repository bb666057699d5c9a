//! Carries out a plan, sample by sample.

use std::net::SocketAddr;

use shared::document::SCHEMA;
use shared::schedule::{Slot, schedule};
use shared::{
    Arm, ConnectionUse, Document, Failure, Nanos, Plan, RunEvent, Sample, Source, Temperature, Tool, Vantage,
    VantageKind,
};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::host::HostWatch;
use crate::probe::net::clock;
use crate::probe::{Fault, ProbeSettings, ProbedConnection, Prober, check_plan};

/// The step of the probe's clock.
const CLOCK_STEP: Nanos = Nanos(1);

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

impl From<Fault> for RunError {
    fn from(fault: Fault) -> Self {
        Self::Plan {
            field: fault.field.to_owned(),
            message: fault.message,
        }
    }
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
    check_plan(&plan)?;
    let created = clock::utc_rfc3339();
    let prober = Prober::new(&plan, settings)?;
    let pinned = cancel
        .run_until_cancelled(prober.pin())
        .await
        .ok_or(RunError::Cancelled)??;

    let slots = match &pinned.address {
        Ok(_) => schedule(&plan),
        // Asking again and again would say the same: one failure for each arm.
        Err(_) => once_each(&plan),
    };
    let requests = plan.requests_per_connection();
    let counted = slots.iter().filter(|slot| slot.block.is_some()).count() as u64;
    on_event(RunEvent::Started {
        plan: plan.clone(),
        dns: pinned.dns.clone(),
        address: pinned.address.as_ref().ok().map(SocketAddr::to_string),
        expected: u32::try_from(expected(&plan, counted)).unwrap_or(u32::MAX),
    });

    let mut worker = Worker {
        arms: arms(&plan),
        prober,
        host: HostWatch::start(),
        next_seq: 0,
        on_event,
    };
    for slot in slots {
        let carried_out = match &pinned.address {
            Ok(address) => {
                cancel
                    .run_until_cancelled(worker.connection(slot, *address, requests))
                    .await
            }
            Err(failure) => {
                worker.unreachable(slot, failure, requests);
                Some(())
            }
        };
        carried_out.ok_or(RunError::Cancelled)?;
    }

    let mut document = Document {
        schema: SCHEMA,
        id: None,
        created,
        tool: Tool {
            version: env!("CARGO_PKG_VERSION").into(),
        },
        plan,
        vantage: vantage(),
        browser_vantage: None,
        dns: pinned.dns,
        address: pinned.address.ok().map(|address| address.to_string()),
        arms: worker.arms,
        comparisons: Vec::new(),
        findings: Vec::new(),
    };
    document.recompute();
    Ok(document)
}

/// Where this probe stands.
fn vantage() -> Vantage {
    Vantage {
        kind: VantageKind::Probe,
        clock_step_ns: CLOCK_STEP,
        description: Some(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        same_machine: None,
    }
}

fn once_each(plan: &Plan) -> Vec<Slot> {
    let slot = |protocol: &shared::Protocol| Slot {
        block: Some(0),
        protocol: *protocol,
    };
    plan.protocols.iter().map(slot).collect()
}

/// Counted samples of so many connections: the first exchange belongs to the cold arm, the others to the warm one.
fn expected(plan: &Plan, connections: u64) -> u64 {
    let cold = u64::from(plan.wants(Temperature::Cold));
    connections * (cold + u64::from(plan.requests_per_connection()) - 1)
}

fn arms(plan: &Plan) -> Vec<Arm> {
    let mut arms = Vec::new();
    for protocol in shared::Protocol::ALL {
        for temperature in [Temperature::Cold, Temperature::Warm] {
            if plan.protocols.contains(&protocol) && plan.wants(temperature) {
                arms.push(Arm::new(Source::Probe, Some(protocol), Some(temperature)));
            }
        }
    }
    arms
}

struct Worker<'a> {
    prober: Prober,
    host: HostWatch,
    arms: Vec<Arm>,
    next_seq: u32,
    on_event: &'a mut (dyn FnMut(RunEvent) + Send),
}

impl Worker<'_> {
    /// One connection and all exchanges on it.
    async fn connection(&mut self, slot: Slot, address: SocketAddr, requests: u32) {
        let mut open: Option<ProbedConnection> = None;
        let mut gone: Option<Failure> = None;
        for exchange in 0..requests {
            let start = clock::now();
            let (sample, connection) = match (exchange, open.take(), &gone) {
                (0, _, _) => self.prober.cold(slot.protocol, address).await,
                (_, Some(connection), _) => self.prober.warm(connection).await,
                // The exchanges that would have followed on a lost connection fail with it.
                (_, None, Some(failure)) => {
                    let sample = self.prober.not_begun(ConnectionUse::Reused, failure.clone());
                    (sample, None)
                }
                (_, None, None) => break,
            };
            let disturbed = self.host.disturbed_since(start);
            if gone.is_none() {
                gone.clone_from(&sample.failure);
            }
            open = connection;
            self.land(slot, exchange, sample, disturbed);
        }
        if let Some(connection) = open {
            connection.close().await;
        }
    }

    fn unreachable(&mut self, slot: Slot, failure: &Failure, requests: u32) {
        for exchange in 0..requests {
            let connection = match exchange {
                0 => ConnectionUse::New,
                _ => ConnectionUse::Reused,
            };
            let sample = self.prober.not_begun(connection, failure.clone());
            self.land(slot, exchange, sample, false);
        }
    }

    /// Files a sample under its arm, unless it was a warm-up or nobody asked for its temperature.
    fn land(&mut self, slot: Slot, exchange: u32, sample: Sample, disturbed: bool) {
        let temperature = match exchange {
            0 => Temperature::Cold,
            _ => Temperature::Warm,
        };
        let id = Arm::id_for(Source::Probe, Some(slot.protocol), Some(temperature));
        let (Some(block), Some(arm)) = (slot.block, self.arms.iter_mut().find(|arm| arm.id == id)) else {
            return;
        };
        let mut sample = Sample {
            seq: self.next_seq,
            block,
            exchange,
            disturbed,
            ..sample
        };
        self.next_seq += 1;
        sample.recompute(Some(slot.protocol), CLOCK_STEP);
        arm.samples.push(sample.clone());
        (self.on_event)(RunEvent::Sample {
            arm: id,
            sample: Box::new(sample),
        });
    }
}
