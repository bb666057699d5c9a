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
                    .run_until_cancelled(Box::pin(worker.connection(slot, *address, requests)))
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

#[cfg(test)]
mod tests {
    use shared::{Failure, FailureKind, Phase, Protocol};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers every request of every connection.
    async fn server() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    while stream.read(&mut request).await.is_ok_and(|bytes| bytes > 0) {
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                        stream.write_all(answer).await.unwrap();
                    }
                });
            }
        });
        port
    }

    fn settings() -> ProbeSettings {
        ProbeSettings {
            allow_private: true,
            ..ProbeSettings::default()
        }
    }

    async fn plan(protocols: &[Protocol]) -> Plan {
        let mut plan = Plan::new(format!("http://127.0.0.1:{}/", server().await));
        plan.protocols = protocols.to_vec();
        plan.samples = 3;
        plan
    }

    async fn run(plan: Plan, cancel_after: usize) -> (Vec<RunEvent>, Result<Document, RunError>) {
        let mut events = Vec::new();
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let mut on_event = |event| {
            events.push(event);
            if events.len() >= cancel_after {
                stop.cancel();
            }
        };
        let result = Box::pin(execute(plan, &settings(), &mut on_event, &cancel)).await;
        (events, result)
    }

    #[tokio::test]
    async fn as_many_samples_land_as_were_announced_and_the_document_has_them() {
        let mut plan = plan(&[Protocol::H1, Protocol::H2]).await;
        plan.temperatures = vec![Temperature::Cold, Temperature::Warm];
        plan.warm_requests = 2;
        let (events, result) = run(plan, usize::MAX).await;
        let RunEvent::Started {
            expected, address, ..
        } = &events[0]
        else {
            panic!("began with {:?}", events[0]);
        };
        assert!(address.is_some());
        assert_eq!(*expected, 18);
        assert_eq!(events.len(), 19);
        let document = result.unwrap();
        assert_eq!(document.check(), Ok(()));
        let sizes: Vec<_> = document
            .arms
            .iter()
            .map(|arm| (arm.id.as_str(), arm.summary.ok, arm.summary.failed))
            .collect();
        assert_eq!(
            sizes,
            [
                ("h1-cold", 3, 0),
                ("h1-warm", 6, 0),
                ("h2-cold", 0, 3),
                ("h2-warm", 0, 6)
            ]
        );
        let cold = &document.arms[0].samples[0];
        assert!(cold.phases[&Phase::Total].ns.is_some());
        let mut order: Vec<_> = document
            .arms
            .iter()
            .flat_map(|arm| &arm.samples)
            .map(|s| s.seq)
            .collect();
        order.sort_unstable();
        assert_eq!(order, (0..18).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn only_the_temperatures_asked_for_are_counted() {
        let mut plan = plan(&[Protocol::H1]).await;
        plan.temperatures = vec![Temperature::Warm];
        plan.warm_requests = 1;
        let (events, result) = run(plan, usize::MAX).await;
        assert_eq!(events.len(), 1 + 3);
        let document = result.unwrap();
        assert_eq!(document.arms.len(), 1);
        assert_eq!(document.arms[0].id, "h1-warm");
    }

    #[tokio::test]
    async fn a_run_can_be_cancelled_between_samples() {
        let (events, result) = run(plan(&[Protocol::H1]).await, 2).await;
        assert!(matches!(result, Err(RunError::Cancelled)));
        assert_eq!(events.len(), 2, "nothing lands after the cancellation");
    }

    #[tokio::test]
    async fn a_name_that_cannot_be_resolved_fails_once_for_each_arm() {
        // The host has no IPv6 address, which needs no resolver to be known.
        let mut plan = plan(&[Protocol::H1, Protocol::H2]).await;
        plan.family = shared::Family::Ipv6;
        let (events, result) = run(plan, usize::MAX).await;
        assert_eq!(events.len(), 1 + 2);
        let document = result.unwrap();
        assert_eq!(document.address, None);
        let kind = |sample: &Sample| sample.failure.as_ref().map(|Failure { kind, .. }| *kind);
        for arm in &document.arms {
            assert_eq!(arm.samples.len(), 1);
            assert_eq!(kind(&arm.samples[0]), Some(FailureKind::DnsNoAddress));
        }
    }

    #[tokio::test]
    async fn a_plan_out_of_its_limits_names_its_field() {
        let mut plan = plan(&[Protocol::H1]).await;
        plan.samples = 0;
        let (_, result) = run(plan, usize::MAX).await;
        assert!(matches!(result, Err(RunError::Plan { field, .. }) if field == "samples"));
    }
}
