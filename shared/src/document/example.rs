//! A small made-up document for tests: three protocols, cold and warm, over a path of 20 ms.

use std::sync::OnceLock;

use oorandom::Rand32;

use crate::{
    Arm, ConnectionUse, DnsOutcome, DnsQuery, DnsReport, Document, Facts, Mark, Marks, Nanos, Plan, Protocol,
    RttSource, Sample, Source, StampSource, Temperature, Tool, Vantage, VantageKind, document::SCHEMA,
};

const RTT: u64 = 20_000_000;
const WARM_REQUESTS: u32 = 2;

/// A finished and computed document.
pub(crate) fn document() -> Document {
    static COMPUTED: OnceLock<Document> = OnceLock::new();
    COMPUTED.get_or_init(|| with_samples(12)).clone()
}

/// The same with a chosen number of blocks.
pub(crate) fn with_samples(samples: u32) -> Document {
    let plan = Plan {
        samples,
        temperatures: vec![Temperature::Cold, Temperature::Warm],
        warm_requests: WARM_REQUESTS,
        ..Plan::new("https://www.example.org/shop?item=4#top")
    };
    let mut random = Rand32::new(5);
    let mut arms = Vec::new();
    for protocol in Protocol::ALL {
        for temperature in [Temperature::Cold, Temperature::Warm] {
            arms.push(arm(protocol, temperature, samples, &mut random));
        }
    }
    let mut document = Document {
        schema: SCHEMA,
        id: None,
        created: "2026-03-01T12:00:00Z".into(),
        tool: Tool {
            version: "0.1.0".into(),
        },
        plan,
        vantage: Vantage {
            kind: VantageKind::Probe,
            clock_step_ns: Nanos(1),
            description: Some("Linux x86_64".into()),
            same_machine: None,
        },
        browser_vantage: None,
        dns: Some(DnsReport {
            host: "www.example.org".into(),
            resolver: "192.0.2.53".into(),
            queries: vec![DnsQuery {
                record_type: "A".into(),
                ns: Nanos(3_000_000),
                outcome: DnsOutcome::Answered,
                answers: vec!["203.0.113.7".into()],
                detail: None,
            }],
            https: Vec::new(),
        }),
        address: Some("203.0.113.7".into()),
        arms,
        comparisons: Vec::new(),
        findings: Vec::new(),
    };
    document.recompute();
    document
}

fn arm(protocol: Protocol, temperature: Temperature, samples: u32, random: &mut Rand32) -> Arm {
    let mut arm = Arm::new(Source::Probe, Some(protocol), Some(temperature));
    let exchanges = match temperature {
        Temperature::Cold => 0..1,
        Temperature::Warm => 1..WARM_REQUESTS + 1,
    };
    for block in 0..samples {
        for exchange in exchanges.clone() {
            arm.samples.push(Sample {
                seq: block * 9 + protocol as u32 * 3 + exchange,
                block,
                exchange,
                marks: marks(protocol, exchange, random),
                mark_sources: [
                    (Mark::RequestSent, StampSource::Syscall),
                    (Mark::Headers, StampSource::Task),
                ]
                .into(),
                facts: facts(protocol, exchange),
                ..Sample::default()
            });
        }
    }
    arm
}

fn marks(protocol: Protocol, exchange: u32, random: &mut Rand32) -> Marks {
    let mut noise = || u64::from(random.rand_range(0..800_000));
    let mut now = 0;
    let mut marks = Marks::new();
    let mut stamp = |mark, span: u64| {
        now += span;
        marks.set(mark, Nanos(now));
    };
    stamp(Mark::Start, 0);
    if exchange == 0 {
        stamp(Mark::DnsStart, 15_000);
        stamp(Mark::DnsEnd, 2_000_000 + noise());
        stamp(Mark::ConnectStart, 40_000);
        if protocol != Protocol::H3 {
            stamp(Mark::TcpEstablished, RTT + noise());
        }
        stamp(Mark::FirstPeerPacket, RTT + noise());
        stamp(Mark::HandshakeDone, 700_000 + noise() / 4);
    }
    stamp(Mark::RequestSent, 90_000 + noise() / 20);
    stamp(Mark::Headers, RTT + 5_000_000 + noise());
    stamp(Mark::FirstBodyByte, 30_000);
    stamp(Mark::End, 3_000_000 + noise());
    marks
}

fn facts(protocol: Protocol, exchange: u32) -> Facts {
    Facts {
        status: Some(200),
        http_version: Some(protocol.alpn().into()),
        address: Some("203.0.113.7:443".into()),
        connection: Some(if exchange == 0 {
            ConnectionUse::New
        } else {
            ConnectionUse::Reused
        }),
        tls: Some(true),
        tls_version: Some("TLSv1.3".into()),
        tls_cipher: Some("TLS13_AES_128_GCM_SHA256".into()),
        certificate_chain_bytes: Some(3900),
        public_root: Some(true),
        headers: vec![
            ("alt-svc".into(), "h3=\":443\"; ma=86400".into()),
            ("content-type".into(), "text/html".into()),
        ],
        encoded_bytes: Some(48_000),
        decoded_bytes: Some(48_000),
        min_rtt_ns: Some(Nanos(RTT)),
        min_rtt_source: Some(if protocol == Protocol::H3 {
            RttSource::QuicStack
        } else {
            RttSource::TcpInfo
        }),
        ..Facts::default()
    }
}
