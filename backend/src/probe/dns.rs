//! Name resolution with its times: A, AAAA and HTTPS records from a named resolver, nothing cached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_resolver::Hosts;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts, ServerOrderingStrategy,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::rdata::svcb::SvcParamValue;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use shared::{
    DnsOutcome, DnsQuery, DnsReport, Failure, FailureKind, FailurePhase, Family, HttpsRecord, Mark, Nanos,
    StampSource,
};
use url::Host;

use super::events::Stamp;
use super::exchange::Recorder;
use super::limits::{self, Deadline};
use super::net::clock;

/// Most records of one answer that are kept.
const MAX_ANSWERS: usize = 32;

/// How the addresses of the target are found.
pub(crate) enum Dns {
    /// They are known without asking, for the reason given.
    Skipped {
        addresses: Vec<IpAddr>,
        why: &'static str,
    },
    /// A resolver is asked.
    Ask(Box<Asker>),
    /// There is no resolver to ask.
    Unavailable(String),
}

/// A name and the resolver that knows it.
pub(crate) struct Asker {
    resolver: TokioResolver,
    described: String,
    name: Name,
    host: String,
}

/// The addresses of a target, or why there are none.
pub(crate) struct Resolution {
    /// What DNS said; absent where it was not asked.
    pub(crate) report: Option<DnsReport>,
    /// The addresses of the families asked for, IPv6 first (RFC 6724, rule 6 of section 2.1).
    pub(crate) addresses: Result<Vec<IpAddr>, Failure>,
}

impl Dns {
    /// For `host`, unless it needs no resolver. `resolve` is the address given with `--resolve`; `resolver` replaces the
    /// system's.
    pub(crate) fn new(host: &Host<String>, resolve: Option<IpAddr>, resolver: Option<SocketAddr>) -> Self {
        let skip = |addresses, why| Self::Skipped { addresses, why };
        if let Some(address) = resolve {
            return skip(vec![address], "the address was given (--resolve)");
        }
        let name = match host {
            Host::Ipv4(address) => return skip(vec![(*address).into()], "the host is an address"),
            Host::Ipv6(address) => return skip(vec![(*address).into()], "the host is an address"),
            Host::Domain(name) => name.trim_end_matches('.').to_ascii_lowercase(),
        };
        if name == "localhost" || name.ends_with(".localhost") {
            // RFC 6761, section 6.3.
            let loopback = vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()];
            return skip(loopback, "localhost is this machine");
        }
        let mut fqdn = match Name::from_ascii(&name) {
            Ok(fqdn) => fqdn,
            Err(error) => return Self::Unavailable(format!("`{name}` cannot be asked for: {error}")),
        };
        fqdn.set_fqdn(true);
        let listed = addresses_in_hosts_file(&fqdn);
        if !listed.is_empty() {
            return skip(listed, "the hosts file has the address");
        }
        match Asker::new(fqdn, name, resolver) {
            Ok(asker) => Self::Ask(Box::new(asker)),
            Err(error) => Self::Unavailable(format!("no resolver: {error}")),
        }
    }

    /// Why no query is made, if none is.
    pub(crate) fn skipped(&self) -> Option<&'static str> {
        match self {
            Self::Skipped { why, .. } => Some(why),
            Self::Ask(_) | Self::Unavailable(_) => None,
        }
    }

    /// Everything about the target, before anything is timed.
    pub(crate) async fn resolve(&self, family: Family) -> Resolution {
        match self {
            Self::Skipped { addresses, .. } => Resolution {
                report: None,
                addresses: of_family(addresses.clone(), family),
            },
            Self::Ask(asker) => asker.resolve(family).await,
            Self::Unavailable(why) => Resolution {
                report: None,
                addresses: Err(Failure::new(
                    FailureKind::DnsFailure,
                    FailurePhase::Dns,
                    why.clone(),
                )),
            },
        }
    }

    /// The query of a cold exchange: for the record type of the pinned address, with its marks. The answer is not used,
    /// so that all arms dial the same address.
    pub(crate) async fn query_again(
        &self,
        pinned: IpAddr,
        deadline: Deadline,
        recorder: &mut Recorder,
    ) -> Result<(), Failure> {
        let asker = match self {
            Self::Skipped { why, .. } => {
                recorder.facts.dns_skipped = Some((*why).to_owned());
                return Ok(());
            }
            Self::Ask(asker) => asker,
            Self::Unavailable(why) => {
                return Err(Failure::new(
                    FailureKind::DnsFailure,
                    FailurePhase::Dns,
                    why.clone(),
                ));
            }
        };
        let record_type = if pinned.is_ipv4() {
            RecordType::A
        } else {
            RecordType::AAAA
        };
        recorder.mark(Mark::DnsStart, task_now());
        let limit = deadline.limit(limits::DNS);
        let answer = asker.lookup(record_type, limit).await;
        recorder.mark(Mark::DnsEnd, task_now());
        answer.map(drop).map_err(|error| failure(&error, limit))
    }
}

fn task_now() -> Stamp {
    Stamp {
        at: clock::now(),
        source: StampSource::Task,
    }
}

impl Asker {
    fn new(name: Name, host: String, resolver: Option<SocketAddr>) -> Result<Self, NetError> {
        let config = match resolver {
            Some(address) => {
                let at_port = |mut connection: ConnectionConfig| {
                    connection.port = address.port();
                    connection
                };
                let connections = vec![at_port(ConnectionConfig::udp()), at_port(ConnectionConfig::tcp())];
                ResolverConfig::from_name_servers(vec![NameServerConfig::new(
                    address.ip(),
                    true,
                    connections,
                )])
            }
            None => read_system_conf()?.0,
        };
        let described = config
            .name_servers()
            .iter()
            .map(|server| {
                let port = server
                    .connections
                    .first()
                    .map_or(53, |connection| connection.port);
                SocketAddr::new(server.ip, port).to_string()
            })
            .collect::<Vec<_>>()
            .join(", ");
        let mut options = ResolverOpts::default();
        options.timeout = limits::DNS;
        options.attempts = 1;
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        options.num_concurrent_reqs = 1;
        options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
        let resolver = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(options)
            .build()?;
        Ok(Self {
            resolver,
            described,
            name,
            host,
        })
    }

    async fn lookup(&self, record_type: RecordType, limit: Duration) -> Result<Lookup, NetError> {
        tokio::time::timeout(limit, self.resolver.lookup(self.name.clone(), record_type))
            .await
            .unwrap_or(Err(NetError::Timeout))
    }

    async fn resolve(&self, family: Family) -> Resolution {
        let timed = async |record_type| {
            let start = clock::now();
            let answer = self.lookup(record_type, limits::DNS).await;
            (answer, clock::now().since(start).unwrap_or_default())
        };
        let (a, aaaa, https) = tokio::join!(
            timed(RecordType::A),
            timed(RecordType::AAAA),
            timed(RecordType::HTTPS)
        );
        let report = DnsReport {
            host: self.host.clone(),
            resolver: self.described.clone(),
            queries: vec![query("A", &a), query("AAAA", &aaaa), query("HTTPS", &https)],
            https: https.0.as_ref().map(https_records).unwrap_or_default(),
        };
        let mut found = Vec::new();
        let mut failures = Vec::new();
        for (wanted, answer) in [(family != Family::Ipv4, &aaaa.0), (family != Family::Ipv6, &a.0)] {
            match answer {
                Ok(lookup) if wanted => found.extend(addresses(lookup)),
                Err(error) if wanted => failures.push(failure(error, limits::DNS)),
                _ => {}
            }
        }
        // A name without addresses of one family is ordinary; anything else says more.
        failures.sort_by_key(|failure| failure.kind == FailureKind::DnsNoAddress);
        let addresses = match (found.is_empty(), failures.into_iter().next()) {
            (true, Some(failure)) => Err(failure),
            _ => of_family(found, family),
        };
        Resolution {
            report: Some(report),
            addresses,
        }
    }
}

fn of_family(mut addresses: Vec<IpAddr>, family: Family) -> Result<Vec<IpAddr>, Failure> {
    let name = match family {
        Family::Auto => "IP",
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    };
    addresses.retain(|address| match family {
        Family::Auto => true,
        Family::Ipv4 => address.is_ipv4(),
        Family::Ipv6 => address.is_ipv6(),
    });
    if addresses.is_empty() {
        return Err(Failure::new(
            FailureKind::DnsNoAddress,
            FailurePhase::Dns,
            format!("no {name} address is known for the host"),
        ));
    }
    Ok(addresses)
}

fn addresses(lookup: &Lookup) -> impl Iterator<Item = IpAddr> + '_ {
    lookup
        .answers()
        .iter()
        .filter_map(|record| match &record.data {
            RData::A(a) => Some(IpAddr::V4(a.0)),
            RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
            _ => None,
        })
        .take(MAX_ANSWERS)
}

fn addresses_in_hosts_file(name: &Name) -> Vec<IpAddr> {
    let Ok(hosts) = Hosts::from_system() else {
        return Vec::new();
    };
    [RecordType::AAAA, RecordType::A]
        .into_iter()
        .filter_map(|record_type| hosts.lookup_static_host(&Query::query(name.clone(), record_type)))
        .flat_map(|lookup| addresses(&lookup).collect::<Vec<_>>())
        .collect()
}

fn query(record_type: &str, (answer, ns): &(Result<Lookup, NetError>, Nanos)) -> DnsQuery {
    let outcome = match answer {
        Ok(_) => DnsOutcome::Answered,
        Err(error) => outcome(error),
    };
    DnsQuery {
        record_type: record_type.to_owned(),
        ns: *ns,
        outcome,
        answers: answer
            .as_ref()
            .map(|lookup| {
                let records = lookup.answers().iter().take(MAX_ANSWERS);
                records.map(|record| record.data.to_string()).collect()
            })
            .unwrap_or_default(),
        detail: match (outcome, answer) {
            (DnsOutcome::Timeout | DnsOutcome::Failed, Err(error)) => Some(error.to_string()),
            _ => None,
        },
    }
}

fn outcome(error: &NetError) -> DnsOutcome {
    match error {
        error if error.is_nx_domain() => DnsOutcome::Nxdomain,
        error if error.is_no_records_found() => DnsOutcome::NoRecords,
        NetError::Timeout => DnsOutcome::Timeout,
        _ => DnsOutcome::Failed,
    }
}

fn failure(error: &NetError, limit: Duration) -> Failure {
    let (kind, detail) = match (outcome(error), error) {
        (DnsOutcome::Nxdomain, _) => (FailureKind::DnsNxdomain, "the resolver says NXDOMAIN".into()),
        (DnsOutcome::NoRecords, _) => (
            FailureKind::DnsNoAddress,
            "the resolver knows the name, but no address of this family".into(),
        ),
        (DnsOutcome::Timeout, _) => (
            FailureKind::DnsTimeout,
            format!("no answer within {} ms", limit.as_millis()),
        ),
        (_, NetError::Dns(DnsError::ResponseCode(code))) => {
            (FailureKind::DnsFailure, format!("the resolver says {code}"))
        }
        (_, error) => (FailureKind::DnsFailure, error.to_string()),
    };
    Failure::new(kind, FailurePhase::Dns, detail)
}

fn https_records(lookup: &Lookup) -> Vec<HttpsRecord> {
    let records = lookup.answers().iter().filter_map(|record| match &record.data {
        RData::HTTPS(https) => Some(https),
        _ => None,
    });
    records
        .take(MAX_ANSWERS)
        .map(|https| {
            let mut described = HttpsRecord {
                priority: https.svc_priority,
                target: https.target_name.to_string(),
                ..HttpsRecord::default()
            };
            for (_key, value) in &https.svc_params {
                match value {
                    SvcParamValue::Alpn(alpn) => described.alpn.clone_from(&alpn.0),
                    SvcParamValue::NoDefaultAlpn => described.no_default_alpn = true,
                    SvcParamValue::Port(port) => described.port = Some(*port),
                    SvcParamValue::Ipv4Hint(hint) => {
                        described.hints.extend(hint.0.iter().map(ToString::to_string));
                    }
                    SvcParamValue::Ipv6Hint(hint) => {
                        described.hints.extend(hint.0.iter().map(ToString::to_string));
                    }
                    _ => {}
                }
            }
            described
        })
        .collect()
}
