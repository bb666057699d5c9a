//! Arbitrary parts of documents for property tests.

use proptest::{collection::vec, option, prelude::*, sample::subsequence};

use crate::{
    Arm, ConnectionUse, Document, Facts, Failure, FailureKind, FailurePhase, Mark, Marks, Nanos, Protocol,
    RttSource, Sample, Source, StampSource, Temperature, document::example,
};

/// Any subset of the marks, at any times: mostly in order, sometimes not at all.
pub(crate) fn marks() -> impl Strategy<Value = Marks> {
    let subset = subsequence(Mark::ALL.to_vec(), 0..=Mark::ALL.len());
    let any_times = vec(0_u64..1 << 40, Mark::ALL.len());
    // Small numbers meet often: equal marks, spans below the clock's step.
    let close_times = vec(0_u64..8, Mark::ALL.len());
    let times = prop_oneof![
        any_times.clone(),
        close_times,
        any_times.prop_map(|mut times| {
            times.sort_unstable();
            times
        })
    ];
    (subset, times).prop_map(|(marks, times)| marks.into_iter().zip(times.into_iter().map(Nanos)).collect())
}

pub(crate) fn protocol() -> impl Strategy<Value = Option<Protocol>> {
    option::of(prop_oneof![
        Just(Protocol::H1),
        Just(Protocol::H2),
        Just(Protocol::H3)
    ])
}

pub(crate) fn connection() -> impl Strategy<Value = ConnectionUse> {
    prop_oneof![
        Just(ConnectionUse::New),
        Just(ConnectionUse::Reused),
        Just(ConnectionUse::Unresolvable)
    ]
}

fn facts() -> impl Strategy<Value = Facts> {
    let observed = (
        option::of(100_u16..600),
        vec(100_u16..200, 0..2),
        option::of("[a-z0-9/.]{0,8}"),
        option::of("[0-9.:]{0,12}"),
        option::of(connection()),
        option::of(any::<bool>()),
        option::of("hidden.{0,8}"),
        option::of(".{0,8}"),
    );
    let rest = (
        vec(
            ("[a-z-]{1,10}", ".{0,12}").prop_map(|(name, value)| (name, value)),
            0..3,
        ),
        option::of(".{0,12}"),
        option::of(any::<u64>()),
        option::of((1_u64..1 << 40).prop_map(Nanos)),
        option::of(Just(RttSource::TcpInfo)),
        vec(".{0,12}", 0..2),
    );
    (observed, rest).prop_map(|(observed, rest)| {
        let (status, interim, http_version, address, connection, tls, hidden, dns_skipped) = observed;
        let (headers, redirect, encoded_bytes, min_rtt_ns, min_rtt_source, notes) = rest;
        Facts {
            status,
            interim,
            http_version,
            address,
            connection,
            tls,
            hidden,
            dns_skipped,
            headers,
            redirect,
            encoded_bytes,
            min_rtt_ns,
            min_rtt_source,
            notes,
            ..Facts::default()
        }
    })
}

/// A sample whose phases are not computed.
pub(crate) fn sample() -> impl Strategy<Value = Sample> {
    let failure = (0..FailureKind::ALL.len(), ".{0,12}")
        .prop_map(|(kind, detail)| Failure::new(FailureKind::ALL[kind], FailurePhase::Wait, detail));
    let indices = (0_u32..50, 0_u32..50, 0_u32..4);
    (
        indices,
        marks(),
        facts(),
        option::weighted(0.2, failure),
        any::<bool>(),
    )
        .prop_map(
            |((seq, block, exchange), marks, facts, failure, disturbed)| Sample {
                seq,
                block,
                exchange,
                mark_sources: marks
                    .iter()
                    .map(|(mark, _)| (mark, StampSource::Kernel))
                    .collect(),
                marks,
                facts,
                failure,
                disturbed,
                ..Sample::default()
            },
        )
}

/// A computed document with a few arms of arbitrary samples.
pub(crate) fn document() -> impl Strategy<Value = Document> {
    let samples = || vec(sample(), 0..6);
    (samples(), samples(), samples(), protocol(), any::<u64>()).prop_map(
        |(h1, h3, browser, protocol, seed)| {
            let mut document = Document {
                arms: Vec::new(),
                ..example::document()
            };
            document.plan.seed = seed;
            for (source, protocol, temperature, samples) in [
                (Source::Probe, Some(Protocol::H1), Some(Temperature::Cold), h1),
                (Source::Probe, Some(Protocol::H3), Some(Temperature::Cold), h3),
                (Source::Browser, protocol, None, browser),
            ] {
                let mut arm = Arm::new(source, protocol, temperature);
                arm.samples = samples;
                document.arms.push(arm);
            }
            document.recompute();
            document
        },
    )
}
