//! The probe against real sockets on loopback that answer in every wrong way, and in a few right ones.

mod dns;
mod http1;
mod http3;
mod tls;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use shared::{Failure, FailureKind, Mark, Plan, Protocol, Sample};

use super::{ProbeSettings, Prober};

/// Long enough for anything that happens on loopback, short enough to wait for.
const SHORT: Duration = Duration::from_millis(400);

/// A self-made certificate for localhost.
struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
        Self {
            certificate: made.cert.der().clone(),
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der())),
        }
    }

    fn server(&self, alpn: &[&str]) -> rustls::ServerConfig {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|id| id.as_bytes().to_vec()).collect();
        config
    }
}

fn settings(identity: Option<&Identity>) -> ProbeSettings {
    ProbeSettings {
        allow_private: true,
        extra_roots: Arc::new(
            identity
                .iter()
                .map(|identity| identity.certificate.clone())
                .collect(),
        ),
        resolver: None,
    }
}

/// A plan for one URL whose exchanges end soon.
fn plan(url: &str) -> Plan {
    let mut plan = Plan::new(url);
    plan.max_time_ms = u64::try_from(SHORT.as_millis()).unwrap();
    plan
}

fn patient(url: &str) -> Plan {
    Plan::new(url)
}

async fn cold(plan: &Plan, settings: &ProbeSettings, protocol: Protocol, port: u16) -> Sample {
    let prober = Prober::new(plan, settings).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    prober.cold(protocol, address).await.0
}

/// The times of these marks, which all happened.
fn times<const N: usize>(sample: &Sample, marks: [Mark; N]) -> [u64; N] {
    marks.map(|mark| {
        let time = sample.marks.at(mark);
        time.unwrap_or_else(|| panic!("no {} in {sample:?}", mark.id())).0
    })
}

#[track_caller]
fn assert_in_order<const N: usize>(sample: &Sample, marks: [Mark; N]) {
    assert_eq!(sample.failure, None);
    assert!(times(sample, marks).is_sorted(), "{:?}", sample.marks);
}

#[track_caller]
fn assert_fails(sample: &Sample, kind: FailureKind) -> &Failure {
    let failure = sample
        .failure
        .as_ref()
        .unwrap_or_else(|| panic!("succeeded: {sample:?}"));
    assert_eq!(failure.kind, kind, "{failure:?}");
    assert_eq!(sample.marks.at(Mark::End), None, "a failed exchange has no end");
    failure
}
