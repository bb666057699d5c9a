//! The probe of one target: resolves it, opens connections to the pinned address and makes exchanges on them.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use shared::{ConnectionUse, DnsReport, Failure, Plan, Protocol, Sample};

use super::connection::{Connection, Exchange, Opening, Prepared};
use super::dns::Dns;
use super::exchange::Recorder;
use super::limits::Deadline;
use super::net::dial::Dialler;
use super::target::Target;
use super::tls::Trust;
use super::{Fault, ProbeSettings};

/// How long an address may take to accept a TCP connection while one is chosen.
const CHOICE: Duration = Duration::from_secs(1);
/// Most addresses that are tried while one is chosen.
const MAX_CANDIDATES: usize = 4;

/// Probes one target under one plan. Roots, resolver and request are prepared once.
pub struct Prober {
    target: Target,
    trust: Trust,
    dns: Dns,
    dialler: Dialler,
    plan: Plan,
}

/// The address that all exchanges of a run dial.
pub struct Pinned {
    /// What DNS said; absent where it was not asked.
    pub dns: Option<DnsReport>,
    /// The address, or why there is none.
    pub address: Result<SocketAddr, Failure>,
}

/// An open connection and the number of exchanges made on it.
pub struct ProbedConnection(Connection);

impl Prober {
    /// Prepares everything that does not need the network.
    ///
    /// # Errors
    /// When the plan names something that cannot be probed.
    pub fn new(plan: &Plan, settings: &ProbeSettings) -> Result<Self, Fault> {
        let target = Target::parse(plan)?;
        let resolve = match &plan.resolve {
            Some(text) => Some(
                text.trim_matches(['[', ']'])
                    .parse::<IpAddr>()
                    .map_err(|_error| Fault {
                        field: "resolve",
                        message: format!("`{text}` is not an IP address"),
                    })?,
            ),
            None => None,
        };
        let trust = Trust::load(&settings.extra_roots).map_err(|error| Fault {
            field: "insecure",
            message: format!("the certificates to trust cannot be loaded: {error}"),
        })?;
        Ok(Self {
            dns: Dns::new(&target.host, resolve, settings.resolver),
            trust,
            dialler: Dialler::new(settings.allow_private),
            plan: plan.clone(),
            target,
        })
    }

    /// Resolves the target and chooses the address for the whole run: the first in the order of RFC 6724 that accepts a
    /// connection, or else that this machine has a way to.
    ///
    /// # Errors
    /// When every address is one that may not be dialled.
    pub async fn pin(&self) -> Result<Pinned, Fault> {
        let resolution = self.dns.resolve(self.plan.family).await;
        let dns = resolution.report;
        let addresses = match resolution.addresses {
            Ok(addresses) => addresses,
            Err(failure) => {
                return Ok(Pinned {
                    dns,
                    address: Err(failure),
                });
            }
        };
        let mut candidates = Vec::new();
        let mut forbidden = None;
        for address in addresses {
            let address = SocketAddr::new(address, self.target.port);
            match self.dialler.check(address) {
                Ok(()) => candidates.push(address),
                Err(error) => forbidden = Some(error),
            }
        }
        candidates.truncate(MAX_CANDIDATES);
        let chosen = match (&candidates[..], forbidden) {
            ([], Some(forbidden)) => {
                return Err(Fault {
                    field: "url",
                    message: forbidden.to_string(),
                });
            }
            ([], None) => None,
            ([only], _) => Some(*only),
            (several, _) => Some(self.choose(several).await),
        };
        Ok(Pinned {
            dns,
            address: chosen.ok_or_else(|| {
                Failure::new(
                    shared::FailureKind::DnsNoAddress,
                    shared::FailurePhase::Dns,
                    "no address is known for the host",
                )
            }),
        })
    }

    async fn choose(&self, candidates: &[SocketAddr]) -> SocketAddr {
        for candidate in candidates {
            if self.dialler.accepts_tcp(*candidate, CHOICE).await {
                return *candidate;
            }
        }
        let routed = candidates
            .iter()
            .find(|candidate| self.dialler.has_route(**candidate));
        *routed.unwrap_or(&candidates[0])
    }

    /// The first exchange of a new connection. The connection is there for further ones if the exchange succeeded.
    pub async fn cold(&self, protocol: Protocol, address: SocketAddr) -> (Sample, Option<ProbedConnection>) {
        let opening = Opening {
            target: &self.target,
            trust: &self.trust,
            dialler: self.dialler,
            insecure: self.plan.insecure,
            address,
        };
        let prepared = Prepared::new(opening, protocol, Duration::from_millis(self.plan.max_time_ms));
        let mut exchange = self.exchange(ConnectionUse::New);
        exchange.recorder.facts.address = Some(address.to_string());
        let opened = match prepared {
            Ok(prepared) => self.open(opening, prepared, &mut exchange).await,
            Err(failure) => Err(failure),
        };
        match opened {
            Ok(connection) => self.run(connection, exchange).await,
            Err(failure) => (exchange.recorder.finish(Some(failure)), None),
        }
    }

    async fn open(
        &self,
        opening: Opening<'_>,
        prepared: Prepared,
        exchange: &mut Exchange<'_>,
    ) -> Result<Connection, Failure> {
        let deadline = exchange.deadline;
        self.dns
            .query_again(opening.address.ip(), deadline, &mut exchange.recorder)
            .await?;
        Connection::open(opening, prepared, exchange).await
    }

    /// The next exchange of a connection.
    pub async fn warm(&self, connection: ProbedConnection) -> (Sample, Option<ProbedConnection>) {
        let exchange = self.exchange(ConnectionUse::Reused);
        self.run(connection.0, exchange).await
    }

    /// A sample of an exchange that could not be begun.
    pub fn not_begun(&self, connection: ConnectionUse, failure: Failure) -> Sample {
        Recorder::begin(&self.target, connection).finish(Some(failure))
    }

    fn exchange(&self, connection: ConnectionUse) -> Exchange<'_> {
        let mut recorder = Recorder::begin(&self.target, connection);
        recorder.facts.dns_skipped = self.dns.skipped().map(str::to_owned);
        let max_time = Duration::from_millis(self.plan.max_time_ms);
        Exchange {
            deadline: Deadline::after(recorder.start(), max_time),
            target: &self.target,
            max_time,
            max_body_bytes: self.plan.max_body_bytes,
            recorder,
        }
    }

    async fn run(
        &self,
        mut connection: Connection,
        mut exchange: Exchange<'_>,
    ) -> (Sample, Option<ProbedConnection>) {
        let failure = connection.exchange(&mut exchange).await.err();
        if let Some(verdict) = connection.verdict() {
            self.trust.describe(verdict, &mut exchange.recorder.facts);
        }
        let connection = if failure.is_none() {
            Some(ProbedConnection(connection))
        } else {
            connection.close().await;
            None
        };
        (exchange.recorder.finish(failure), connection)
    }
}

impl ProbedConnection {
    /// Says goodbye. Outside of anything timed.
    pub async fn close(self) {
        self.0.close().await;
    }
}
