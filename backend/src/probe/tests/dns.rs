//! Name resolution against a DNS server of the test's own.

use std::net::{IpAddr, Ipv6Addr};

use hickory_resolver::proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::svcb::{Alpn, SVCB, SvcParamKey, SvcParamValue};
use hickory_resolver::proto::rr::rdata::{A, AAAA, HTTPS};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use shared::{DnsOutcome, FailureKind, FailurePhase, Family, Mark, Protocol};
use tokio::net::UdpSocket;

use super::*;

/// How long the resolver thinks about each question.
const THOUGHT: Duration = Duration::from_millis(15);

/// Knows `both.test` (A, AAAA, HTTPS) and `v4.test` (A); refuses `broken.test`; has never heard of others.
async fn resolver() -> SocketAddr {
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut datagram = [0; 2000];
        loop {
            let (length, peer) = socket.recv_from(&mut datagram).await.unwrap();
            let answer = answer(&Message::from_vec(&datagram[..length]).unwrap());
            let socket = Arc::clone(&socket);
            tokio::spawn(async move {
                tokio::time::sleep(THOUGHT).await;
                socket.send_to(&answer, peer).await.unwrap();
            });
        }
    });
    address
}

fn answer(question: &Message) -> Vec<u8> {
    let query = question.queries[0].clone();
    let name = query.name().to_string().to_lowercase();
    let mut answer = Message::new(question.metadata.id, MessageType::Response, OpCode::Query);
    answer.metadata.recursion_available = true;
    answer.metadata.recursion_desired = true;
    let record = match (name.as_str(), query.query_type()) {
        ("both.test." | "v4.test.", RecordType::A) => Some(RData::A(A::new(127, 0, 0, 1))),
        ("both.test.", RecordType::AAAA) => Some(RData::AAAA(AAAA(Ipv6Addr::LOCALHOST))),
        ("both.test.", RecordType::HTTPS) => {
            let alpn = SvcParamValue::Alpn(Alpn(vec!["h3".into(), "h2".into()]));
            let port = SvcParamValue::Port(8443);
            let parameters = vec![(SvcParamKey::Alpn, alpn), (SvcParamKey::Port, port)];
            Some(RData::HTTPS(HTTPS(SVCB::new(1, Name::root(), parameters))))
        }
        _ => None,
    };
    answer.metadata.response_code = match name.as_str() {
        "both.test." | "v4.test." => ResponseCode::NoError,
        "broken.test." => ResponseCode::ServFail,
        _ => ResponseCode::NXDomain,
    };
    if let Some(data) = record {
        answer.add_answer(Record::from_rdata(query.name().clone(), 60, data));
    }
    answer.add_query(query);
    answer.to_vec().unwrap()
}

async fn prober(url: &str, change: impl FnOnce(&mut Plan)) -> Prober {
    let mut plan = patient(url);
    change(&mut plan);
    let settings = ProbeSettings {
        resolver: Some(resolver().await),
        ..settings(None)
    };
    Prober::new(&plan, &settings).unwrap()
}

#[tokio::test]
async fn the_report_has_every_record_with_its_time() {
    let prober = prober("https://both.test/", |_| {}).await;
    let pinned = prober.pin().await.unwrap();
    let report = pinned.dns.unwrap();
    assert!(report.resolver.starts_with("127.0.0.1:"), "{}", report.resolver);
    let types: Vec<_> = report
        .queries
        .iter()
        .map(|query| query.record_type.as_str())
        .collect();
    assert_eq!(types, ["A", "AAAA", "HTTPS"]);
    for query in &report.queries {
        assert_eq!(query.outcome, DnsOutcome::Answered);
        assert!(query.ns.0 >= 15_000_000, "the resolver took 15 ms for {query:?}");
    }
    assert_eq!(report.https[0].alpn, ["h3", "h2"]);
    assert_eq!(report.https[0].port, Some(8443));
}

#[tokio::test]
async fn a_cold_exchange_asks_again_and_dials_the_pinned_address() {
    let prober = prober("http://v4.test:1/", |_| {}).await;
    let pinned = prober.pin().await.unwrap().address.unwrap();
    assert_eq!(pinned, "127.0.0.1:1".parse().unwrap());
    let (sample, _) = prober.cold(Protocol::H1, pinned).await;
    assert_fails(&sample, FailureKind::ConnectRefused);
    let [start, end, connect] = times(&sample, [Mark::DnsStart, Mark::DnsEnd, Mark::ConnectStart]);
    assert!(end - start >= 15_000_000 && connect >= end);
    assert_eq!(sample.facts.dns_skipped, None);
}

#[tokio::test]
async fn missing_names_missing_families_and_broken_zones_are_told_apart() {
    let cases = [
        ("https://nowhere.test/", Family::Auto, FailureKind::DnsNxdomain),
        ("https://v4.test/", Family::Ipv6, FailureKind::DnsNoAddress),
        ("https://broken.test/", Family::Auto, FailureKind::DnsFailure),
    ];
    for (url, family, kind) in cases {
        let prober = prober(url, |plan| plan.family = family).await;
        let pinned = prober.pin().await.unwrap();
        let failure = pinned.address.unwrap_err();
        assert_eq!((failure.kind, failure.phase), (kind, FailurePhase::Dns), "{url}");
        assert!(pinned.dns.is_some());
    }
}

#[tokio::test]
async fn a_family_can_be_forced() {
    for (family, address) in [
        (Family::Ipv4, IpAddr::from(Ipv4Addr::LOCALHOST)),
        (Family::Ipv6, IpAddr::from(Ipv6Addr::LOCALHOST)),
    ] {
        let prober = prober("https://both.test/", |plan| plan.family = family).await;
        assert_eq!(prober.pin().await.unwrap().address.unwrap().ip(), address);
    }
}

#[tokio::test]
async fn addresses_localhost_and_resolve_ask_nobody() {
    for (url, resolve) in [
        ("https://127.0.0.1/", None),
        ("https://localhost/", None),
        ("https://a.localhost/", None),
        ("https://nowhere.test/", Some("127.0.0.1")),
    ] {
        let prober = prober(url, |plan| plan.resolve = resolve.map(str::to_owned)).await;
        let pinned = prober.pin().await.unwrap();
        assert_eq!(pinned.dns, None, "{url}");
        assert!(pinned.address.unwrap().ip().is_loopback());
    }
}
