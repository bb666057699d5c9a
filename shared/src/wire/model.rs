//! The descriptions of the model's types, as the documents name their members.

use super::{Json, Name, ReadJson, Reader, WriteJson};
use crate::{
    Arm, ArmSummary, BrowserReport, Comparison, ConnectionUse, DnsOutcome, DnsQuery, DnsReport, Document,
    Evidence, Facts, Failure, FailureKind, FailurePhase, Family, Finding, Gap, HttpsRecord, Mark, Marks,
    Method, Phase, PhaseSummary, PhaseValue, Plan, Protocol, Quality, RttSource, RunAccepted, RunEvent,
    Sample, ServerConfig, Source, StampSource, StoreConfig, StoredResult, Sureness, Temperature, Tool,
    Vantage, VantageKind, Verdict,
    event::{Fields, Kind},
    source::resource_timing::Entry,
    wire_by_name, wire_names, wire_renamed, wire_struct,
};

wire_struct!(Document {
    schema, created, tool, plan, vantage, arms, comparisons, findings | id, browser_vantage, dns, address
});
wire_struct!(Tool { version | });
wire_struct!(Vantage { kind, clock_step_ns | description, same_machine });
wire_struct!(Plan {
    url, method, protocols, temperatures, family, samples, warmup, warm_requests, seed, max_time_ms,
    max_body_bytes, insecure, browser_samples | accept_encoding, headers, resolve
});
wire_struct!(DnsReport { host, resolver, queries, https | });
wire_struct!(DnsQuery { record_type, ns, outcome, answers | detail });
wire_struct!(HttpsRecord { priority, target, alpn, no_default_alpn, port, hints | });
wire_struct!(Arm { id, source, protocol, temperature, samples, summary | });
wire_struct!(Sample {
    seq, block, exchange, marks, facts, failure, disturbed, outlier | mark_sources, phases, gaps
});
wire_struct!(Facts {
    | status, interim, http_version, address, connection, tls, hidden, dns_skipped, tls_version, tls_cipher,
    tls_group, certificate_chain_bytes, certificate_count, public_root, certificate_error, headers, redirect,
    encoded_bytes, decoded_bytes, min_rtt_ns, min_rtt_source, smoothed_rtt_ns, packets_lost,
    packets_retransmitted, notes
});
wire_struct!(Failure { kind, phase, detail | });
wire_struct!(Gap { after, before, ns | });
wire_struct!(PhaseValue { quality | ns, rtts, why });
wire_struct!(ArmSummary { ok, failed, disturbed, phases | failures, min_rtt_ns });
wire_struct!(PhaseSummary {
    n, below_resolution, inconsistent, median_ns, mean_ns, sd_ns, min_ns, max_ns, p5_ns, p25_ns, p75_ns, p90_ns,
    p95_ns | rtts
});
wire_struct!(Comparison { a, b, phase, shift_ns, low_ns, high_ns, blocks, verdict | });
wire_struct!(Finding { rule, sure, text, evidence | });
wire_struct!(Evidence { what, value | });
wire_struct!(BrowserReport { vantage, arms | });
wire_struct!(RunAccepted { id | });
wire_struct!(StoredResult { id, delete_token, expires | });
wire_struct!(ServerConfig { version, allow_private, same_machine | origin, store });
wire_struct!(StoreConfig { max_document_bytes, expires_days, default_expires_days | });

wire_renamed!(Entry {
    name = "name",
    start_time = "startTime",
    duration = "duration",
    delivery_type = "deliveryType",
    next_hop_protocol = "nextHopProtocol",
    worker_start = "workerStart",
    redirect_start = "redirectStart",
    redirect_end = "redirectEnd",
    fetch_start = "fetchStart",
    domain_lookup_start = "domainLookupStart",
    domain_lookup_end = "domainLookupEnd",
    connect_start = "connectStart",
    connect_end = "connectEnd",
    secure_connection_start = "secureConnectionStart",
    request_start = "requestStart",
    first_interim_response_start = "firstInterimResponseStart",
    final_response_headers_start = "finalResponseHeadersStart",
    response_start = "responseStart",
    response_end = "responseEnd",
    transfer_size = "transferSize",
    encoded_body_size = "encodedBodySize",
    decoded_body_size = "decodedBodySize",
    response_status = "responseStatus",
});

wire_names!(VantageKind { Probe = "probe", Browser = "browser" });
wire_names!(Source { Probe = "probe", Browser = "browser" });
wire_names!(Verdict { Faster = "faster", Slower = "slower", NoClearDifference = "no_clear_difference" });
wire_names!(Sureness { Proved = "proved", Likely = "likely", Possible = "possible" });
wire_names!(DnsOutcome {
    Answered = "answered", NoRecords = "no_records", Nxdomain = "nxdomain", Timeout = "timeout", Failed = "failed"
});
wire_names!(Protocol { H1 = "h1", H2 = "h2", H3 = "h3" });
wire_names!(Temperature { Cold = "cold", Warm = "warm" });
wire_names!(Family { Auto = "auto", Ipv4 = "ipv4", Ipv6 = "ipv6" });
wire_names!(Method { Get = "GET", Head = "HEAD" });
wire_names!(StampSource { Browser = "browser", Task = "task", Syscall = "syscall", Kernel = "kernel" });
wire_names!(ConnectionUse { New = "new", Reused = "reused", Unresolvable = "unresolvable" });
wire_names!(RttSource { TcpInfo = "tcp_info", QuicStack = "quic_stack" });
wire_names!(FailurePhase {
    Start = "start", Dns = "dns", Tcp = "tcp", Tls = "tls", Quic = "quic", Send = "send", Wait = "wait",
    Download = "download"
});
wire_names!(Quality {
    Measured = "measured", Derived = "derived", BelowResolution = "below_resolution", Reused = "reused",
    Hidden = "hidden", NotApplicable = "not_applicable", Overlapping = "overlapping",
    Inconsistent = "inconsistent", NotObserved = "not_observed"
});
wire_names!(Kind {
    Queued = "queued", Started = "started", Sample = "sample", Finished = "finished", Failed = "failed",
    Cancelled = "cancelled"
});

/// A type that lists its values and their names already.
macro_rules! listed {
    ($($type:ty),+) => {$(
        impl Name for $type {
            fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.id() == name)
            }

            fn name(self) -> &'static str {
                self.id()
            }

            fn stand_in() -> Self {
                Self::ALL[0]
            }
        }

        wire_by_name!($type);
    )+};
}

listed!(Mark, Phase, FailureKind);

impl ReadJson for Marks {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        Self::from_map(ReadJson::read(json, reader))
    }
}

impl WriteJson for Marks {
    fn write(&self, out: &mut String) {
        self.map().write(out);
    }
}

wire_renamed!(Fields {
    kind = "type",
    ahead = "ahead",
    plan = "plan",
    dns = "dns",
    address = "address",
    expected = "expected",
    arm = "arm",
    sample = "sample",
    document = "document",
    field = "field",
    message = "message",
});

impl ReadJson for RunEvent {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        Self::try_from(Fields::read(json, reader)).unwrap_or_else(|_| {
            reader.refuse();
            Self::Cancelled
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        document::{arbitrary, example},
        wire::{from_text, to_text},
    };

    /// The same document both ways, and mixed.
    fn both_ways(document: &Document) {
        let by_serde = serde_json::to_string(document).unwrap();
        let by_wire = to_text(document);
        for text in [&by_serde, &by_wire] {
            let mut wire: Document = from_text(text).unwrap();
            let mut serde: Document = serde_json::from_str(text).unwrap();
            // Counts of round trips are written with six decimals here; they are computed anew.
            wire.recompute();
            serde.recompute();
            assert_eq!(wire, serde);
        }
    }

    proptest! {
        #[test]
        fn documents_are_the_same_as_serdes(document in arbitrary::document()) {
            both_ways(&document);
        }

        #[test]
        fn a_damaged_text_never_makes_it_panic(cut in 0_usize..4000, with in any::<u8>()) {
            let mut text = to_text(&example::document()).into_bytes();
            let at = cut % text.len();
            text[at] = with;
            if let Ok(text) = String::from_utf8(text) {
                drop(from_text::<Document>(&text));
            }
        }
    }

    #[test]
    fn a_finished_document_is_the_same_as_serdes() {
        both_ways(&example::document());
    }

    #[test]
    fn every_name_is_the_same_as_serdes() {
        fn check<T: Name + WriteJson + serde::Serialize>(values: &[T]) {
            for value in values {
                assert_eq!(to_text(value), serde_json::to_string(value).unwrap());
            }
        }
        check(&Mark::ALL);
        check(&Phase::ALL);
        check(FailureKind::ALL);
        check(&Protocol::ALL);
        check(&[Temperature::Cold, Temperature::Warm]);
        check(&[Family::Auto, Family::Ipv4, Family::Ipv6]);
        check(&[Method::Get, Method::Head]);
        check(&[VantageKind::Probe, VantageKind::Browser]);
        check(&[Source::Probe, Source::Browser]);
        check(&[Verdict::Faster, Verdict::Slower, Verdict::NoClearDifference]);
        check(&[Sureness::Proved, Sureness::Likely, Sureness::Possible]);
        check(&[RttSource::TcpInfo, RttSource::QuicStack]);
        check(&[
            ConnectionUse::New,
            ConnectionUse::Reused,
            ConnectionUse::Unresolvable,
        ]);
        check(&[
            StampSource::Browser,
            StampSource::Task,
            StampSource::Syscall,
            StampSource::Kernel,
        ]);
        check(&[
            DnsOutcome::Answered,
            DnsOutcome::NoRecords,
            DnsOutcome::Nxdomain,
            DnsOutcome::Timeout,
            DnsOutcome::Failed,
        ]);
        check(&[
            FailurePhase::Start,
            FailurePhase::Dns,
            FailurePhase::Tcp,
            FailurePhase::Tls,
            FailurePhase::Quic,
            FailurePhase::Send,
            FailurePhase::Wait,
            FailurePhase::Download,
        ]);
        check(&[
            Quality::Measured,
            Quality::Derived,
            Quality::BelowResolution,
            Quality::Reused,
            Quality::Hidden,
            Quality::NotApplicable,
            Quality::Overlapping,
            Quality::Inconsistent,
            Quality::NotObserved,
        ]);
    }

    #[test]
    fn events_are_read_as_serde_writes_them() {
        let document = example::document();
        let events = [
            RunEvent::Queued { ahead: 2 },
            RunEvent::Started {
                plan: document.plan.clone(),
                dns: document.dns.clone(),
                address: None,
                expected: 9,
            },
            RunEvent::Failed {
                field: Some("url".into()),
                message: "no".into(),
            },
            RunEvent::Cancelled,
        ];
        for event in events {
            assert_eq!(
                from_text::<RunEvent>(&serde_json::to_string(&event).unwrap()),
                Ok(event)
            );
        }
        let sample = document.arms[0].samples[0].clone();
        let event = RunEvent::Sample {
            arm: "h1-cold".into(),
            sample: Box::new(sample),
        };
        let read = from_text::<RunEvent>(&serde_json::to_string(&event).unwrap());
        assert!(
            matches!(read, Ok(RunEvent::Sample { arm, sample }) if arm == "h1-cold" && sample.phases.len() == Phase::ALL.len())
        );
        assert!(from_text::<RunEvent>(r#"{"type":"finished"}"#).is_err());
    }

    #[test]
    fn an_entry_is_read_by_the_standards_names() {
        let text = r#"{"name":"https://a/","startTime":12.5,"nextHopProtocol":"h3","responseStatus":200,"serverTiming":[]}"#;
        let entry: Entry = from_text(text).unwrap();
        assert_eq!(entry, serde_json::from_str(text).unwrap());
        assert_eq!(entry.start_time, Some(12.5));
    }
}
