//! The decision table of what an entry can honestly say, row by row.

use super::*;
use crate::{Phase, Quality};

const STEP: Nanos = Nanos(100_000);

/// A fresh HTTP/2 connection over a path of 20 ms.
fn entry() -> Entry {
    serde_json::from_str(
        r#"{"name":"https://example.org/","entryType":"resource","startTime":1000.1,"duration":85.2,"initiatorType":"fetch",
            "deliveryType":"","nextHopProtocol":"h2","workerStart":0,"redirectStart":0,"redirectEnd":0,"fetchStart":1000.1,
            "domainLookupStart":1000.3,"domainLookupEnd":1004.5,"connectStart":1004.5,"connectEnd":1045.3,
            "secureConnectionStart":1024.9,"requestStart":1045.4,"firstInterimResponseStart":0,
            "finalResponseHeadersStart":1080.9,"responseStart":1080.9,"responseEnd":1085.3,"transferSize":1300,
            "encodedBodySize":1000,"decodedBodySize":2500,"responseStatus":200,"serverTiming":[],"new":{"a":1}}"#,
    )
    .unwrap()
}

/// The same request over a connection that existed.
fn reused() -> Entry {
    let at = Some(1000.1);
    Entry {
        domain_lookup_start: at,
        domain_lookup_end: at,
        connect_start: at,
        connect_end: at,
        secure_connection_start: at,
        request_start: Some(1000.6),
        ..entry()
    }
}

/// A total and nothing else.
fn opaque() -> Entry {
    Entry {
        start_time: Some(1000.1),
        fetch_start: Some(1000.1),
        duration: Some(85.2),
        response_end: Some(1085.3),
        next_hop_protocol: Some(String::new()),
        transfer_size: Some(0.0),
        encoded_body_size: Some(0.0),
        decoded_body_size: Some(0.0),
        connect_start: Some(0.0),
        ..Entry::default()
    }
}

fn context() -> PageContext {
    PageContext {
        clock_step: STEP,
        tls: true,
        outcome: FetchOutcome::Ok {
            status: 200,
            headers: vec![
                ("Content-Type".into(), "text/html".into()),
                ("x-secret".into(), "1".into()),
            ],
        },
        ..PageContext::default()
    }
}

fn quality(reading: &Reading, phase: Phase) -> Quality {
    reading.sample.phases[&phase].quality
}

fn has_note(reading: &Reading, part: &str) -> bool {
    reading.sample.facts.notes.iter().any(|note| note.contains(part))
}

fn failure(reading: &Reading) -> Option<FailureKind> {
    reading.sample.failure.as_ref().map(|failure| failure.kind)
}

#[test]
fn rows_1_and_2_an_entry_without_phases_is_hidden_and_its_total_counts() {
    for (same_origin, why) in [(false, "no Timing-Allow-Origin"), (true, "redirect")] {
        let reading = read(
            &opaque(),
            &PageContext {
                same_origin,
                ..context()
            },
        );
        assert_eq!((reading.protocol, reading.temperature), (None, None));
        assert_eq!(failure(&reading), None);
        assert_eq!(quality(&reading, Phase::Total), Quality::Measured);
        for phase in Phase::ALL.into_iter().filter(|phase| *phase != Phase::Total) {
            assert_eq!(quality(&reading, phase), Quality::Hidden);
        }
        assert!(reading.sample.facts.hidden.unwrap().contains(why));
    }
}

#[test]
fn rows_3_and_4_no_connect_time_is_reuse_only_where_the_clock_could_have_shown_one() {
    let fine = read(&reused(), &context());
    assert_eq!(fine.sample.facts.connection, Some(ConnectionUse::Reused));
    assert_eq!(fine.temperature, Some(Temperature::Warm));
    assert_eq!(quality(&fine, Phase::Setup), Quality::Reused);
    assert!(has_note(&fine, "preconnect"));
    let coarse = PageContext {
        clock_step: Nanos(1_000_000),
        ..context()
    };
    let near = PageContext {
        loopback: true,
        ..context()
    };
    for unresolvable in [coarse, near] {
        let reading = read(&reused(), &unresolvable);
        assert_eq!(reading.sample.facts.connection, Some(ConnectionUse::Unresolvable));
        assert_eq!(reading.temperature, Some(Temperature::Warm));
        assert_eq!(quality(&reading, Phase::Setup), Quality::NotObserved);
    }
}

#[test]
fn row_5_a_connect_time_below_a_round_trip_is_the_rest_of_an_earlier_one() {
    let rtt = |millis: u64| PageContext {
        path_rtt: Some(Nanos(millis * 1_000_000)),
        ..context()
    };
    let partial = read(&entry(), &rtt(45));
    assert_eq!(partial.temperature, Some(Temperature::Warm));
    assert!(has_note(&partial, "begun before"));
    assert_eq!(quality(&partial, Phase::Setup), Quality::NotObserved);
    assert_eq!(read(&entry(), &rtt(20)).temperature, Some(Temperature::Cold));
}

#[test]
fn row_6_a_new_connection_over_tcp_has_tcp_and_tls() {
    let reading = read(&entry(), &context());
    assert_eq!(reading.protocol, Some(Protocol::H2));
    assert_eq!(reading.temperature, Some(Temperature::Cold));
    let ns = |phase| reading.sample.phases[&phase].ns.unwrap().0;
    assert_eq!(ns(Phase::Dns), 4_200_000);
    assert_eq!(
        (ns(Phase::Tcp), ns(Phase::Tls), ns(Phase::Setup)),
        (20_400_000, 20_400_000, 40_800_000)
    );
    assert_eq!((ns(Phase::Wait), ns(Phase::Download)), (35_500_000, 4_400_000));
    assert_eq!((ns(Phase::Ttfb), ns(Phase::Total)), (80_800_000, 85_200_000));
    assert_eq!(quality(&reading, Phase::Send), Quality::BelowResolution);
    assert_eq!(
        reading.sample.facts.headers,
        [("content-type".into(), "text/html".into())]
    );
    assert!(
        reading
            .sample
            .marks
            .iter()
            .all(|(mark, _)| { reading.sample.mark_sources.get(&mark) == Some(&StampSource::Browser) })
    );
}

#[test]
fn row_7_an_offset_of_the_tls_start_over_quic_is_not_tcp() {
    let quic = Entry {
        next_hop_protocol: Some("h3".into()),
        secure_connection_start: Some(1004.9),
        ..entry()
    };
    let reading = read(&quic, &context());
    assert_eq!(reading.protocol, Some(Protocol::H3));
    assert_eq!(reading.sample.marks.at(Mark::TcpEstablished), None);
    assert_eq!(quality(&reading, Phase::Tcp), Quality::NotApplicable);
    assert_eq!(reading.sample.phases[&Phase::Quic].ns, Some(Nanos(40_800_000)));
}

#[test]
fn row_8_a_request_before_the_end_of_the_handshake_is_0_rtt() {
    let early = Entry {
        next_hop_protocol: Some("h3".into()),
        request_start: Some(1006.0),
        ..entry()
    };
    let reading = read(&early, &context());
    assert!(has_note(&reading, "0-RTT"));
    assert_eq!(quality(&reading, Phase::Send), Quality::Overlapping);
    assert_eq!(quality(&reading, Phase::Wait), Quality::Overlapping);
    assert_eq!(quality(&reading, Phase::Ttfb), Quality::Measured);
}

#[test]
fn rows_9_and_10_a_quic_handshake_outside_of_the_request_is_not_called_fast() {
    let quic = Entry {
        next_hop_protocol: Some("h3".into()),
        ..reused()
    };
    let reading = read(&quic, &context());
    assert!(has_note(&reading, "happened outside"));
    assert_eq!(quality(&reading, Phase::Quic), Quality::Reused);

    let arms = arms(vec![read(&entry(), &context()), reading.clone(), reading]);
    let ids: Vec<_> = arms.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(ids, ["browser-h2-cold", "browser-h3-warm"]);
    let in_background = |index: usize| {
        let notes = &arms[1].samples[index].facts.notes;
        notes.iter().any(|note| note.contains("in the background"))
    };
    assert!(in_background(0) && !in_background(1));
    assert_eq!((arms[1].samples[1].seq, arms[1].samples[1].block), (2, 2));
}

#[test]
fn row_11_a_missing_tls_start_leaves_the_setup_whole() {
    for secure in [None, Some(0.0), Some(1004.5), Some(1045.3)] {
        let unsplit = Entry {
            secure_connection_start: secure,
            ..entry()
        };
        let reading = read(&unsplit, &context());
        assert!(has_note(&reading, "TLS split not available"));
        assert_eq!(quality(&reading, Phase::Tls), Quality::NotObserved);
        assert_eq!(quality(&reading, Phase::Setup), Quality::Measured);
    }
}

#[test]
fn row_12_http_has_no_tls() {
    let plain = Entry {
        next_hop_protocol: Some("http/1.1".into()),
        secure_connection_start: Some(0.0),
        ..entry()
    };
    let reading = read(
        &plain,
        &PageContext {
            tls: false,
            ..context()
        },
    );
    assert_eq!(quality(&reading, Phase::Tls), Quality::NotApplicable);
    assert_eq!(reading.sample.phases[&Phase::Tcp].ns, Some(Nanos(40_800_000)));
    assert_eq!(quality(&reading, Phase::Setup), Quality::Measured);
}

#[test]
fn row_13_nothing_transferred_with_visible_phases_is_a_cache_hit() {
    let cached = Entry {
        transfer_size: Some(0.0),
        ..reused()
    };
    let reading = read(&cached, &context());
    assert_eq!(failure(&reading), Some(FailureKind::Cached));
    assert_eq!(
        reading.protocol, None,
        "the protocol is a memory of an earlier response"
    );
}

#[test]
fn row_13b_nothing_transferred_without_phases_is_a_mask() {
    let masked = Entry {
        encoded_body_size: Some(1000.0),
        ..opaque()
    };
    let reading = read(&masked, &context());
    assert_eq!(failure(&reading), None);
    assert_eq!(reading.sample.facts.encoded_bytes, Some(1000));
    assert!(has_note(&reading, "masked"));
}

#[test]
fn rows_14_to_16_sizes() {
    let revalidated = Entry {
        transfer_size: Some(300.0),
        ..entry()
    };
    assert!(has_note(&read(&revalidated, &context()), "revalidated"));
    let plain = read(&entry(), &context());
    let sizes = (plain.sample.facts.encoded_bytes, plain.sample.facts.decoded_bytes);
    assert_eq!(sizes, (Some(1000), Some(2500)));
    let masked = Entry {
        transfer_size: Some(0.0),
        encoded_body_size: Some(0.0),
        decoded_body_size: Some(0.0),
        ..entry()
    };
    let reading = read(&masked, &context());
    assert!(has_note(&reading, "sizes are masked"));
    assert_eq!(
        (failure(&reading), reading.sample.facts.encoded_bytes),
        (None, None)
    );
}

#[test]
fn rows_17_and_18_a_cache_and_a_service_worker_are_not_the_server() {
    for delivery in ["cache", "cache-storage"] {
        let cached = Entry {
            delivery_type: Some(delivery.into()),
            ..entry()
        };
        assert_eq!(failure(&read(&cached, &context())), Some(FailureKind::Cached));
    }
    let worker = Entry {
        worker_start: Some(1000.2),
        ..entry()
    };
    let reading = read(&worker, &context());
    assert_eq!(failure(&reading), Some(FailureKind::ServiceWorker));
    assert_eq!(reading.sample.marks.at(Mark::ConnectStart), None);
}

#[test]
fn row_21_the_wait_ends_at_the_final_response() {
    let interim = Entry {
        first_interim_response_start: Some(1066.0),
        response_start: Some(1066.0),
        ..entry()
    };
    let reading = read(&interim, &context());
    assert_eq!(
        reading.sample.marks.at(Mark::FirstInterim),
        Some(Nanos(65_900_000))
    );
    assert_eq!(reading.sample.marks.at(Mark::Headers), Some(Nanos(80_800_000)));
    assert!(has_note(&reading, "interim"));
}

#[test]
fn row_23_an_old_browser_may_have_shown_an_interim_response() {
    let old = Entry {
        final_response_headers_start: None,
        ..entry()
    };
    let reading = read(&old, &context());
    assert!(has_note(&reading, "an interim one is possible"));
    assert_eq!(quality(&reading, Phase::Ttfb), Quality::Measured);
}

#[test]
fn rows_24_and_29_coarse_clocks_are_seen_in_the_times_themselves() {
    let rounded = |step: f64| {
        let round =
            |time: Option<f64>| time.map(|time| ((time - 1000.1) * 10.0 / step).ceil() * step + 1000.1);
        let entry = entry();
        Entry {
            domain_lookup_start: round(entry.domain_lookup_start),
            domain_lookup_end: round(entry.domain_lookup_end),
            connect_start: round(entry.connect_start),
            connect_end: round(entry.connect_end),
            secure_connection_start: round(entry.secure_connection_start),
            request_start: round(entry.request_start),
            final_response_headers_start: round(entry.final_response_headers_start),
            response_start: round(entry.response_start),
            response_end: round(entry.response_end),
            ..entry
        }
    };
    assert!(has_note(&read(&rounded(1.0), &context()), "whole milliseconds"));
    assert!(!has_note(&read(&entry(), &context()), "whole milliseconds"));
    for step in [100.0, 1000.0 / 60.0] {
        let reading = read(&rounded(step), &context());
        assert_eq!(quality(&reading, Phase::Setup), Quality::Hidden, "{step}");
        assert!(reading.sample.facts.hidden.unwrap().contains("privacy mode"));
    }
}

#[test]
fn rows_25_to_27_a_failed_fetch_and_a_missing_entry_have_no_cause() {
    let failed = PageContext {
        outcome: FetchOutcome::Failed,
        ..context()
    };
    let reading = read(&opaque(), &failed);
    assert_eq!(failure(&reading), Some(FailureKind::BrowserRefused));
    assert_eq!(reading.sample.marks.at(Mark::End), Some(Nanos(85_200_000)));
    assert_eq!(failure(&missing(&failed)), Some(FailureKind::BrowserRefused));
    let unseen = missing(&context());
    assert_eq!(failure(&unseen), Some(FailureKind::EntryMissing));
    assert!(unseen.sample.marks.is_empty());
    assert_eq!(arms(vec![unseen])[0].id, "browser-hidden");
}

#[test]
fn row_28_no_name_resolution_has_its_reason() {
    let resolved = Entry {
        domain_lookup_start: Some(1004.5),
        ..entry()
    };
    let reading = read(&resolved, &context());
    assert_eq!(quality(&reading, Phase::Dns), Quality::NotApplicable);
    assert!(
        reading.sample.phases[&Phase::Dns]
            .why
            .as_ref()
            .unwrap()
            .contains("cached")
    );
}

#[test]
fn row_33_an_entry_that_contradicts_itself_is_dropped_and_counted() {
    let broken = [
        Entry {
            start_time: None,
            ..entry()
        },
        Entry {
            response_end: Some(-1.0),
            duration: None,
            ..entry()
        },
        Entry {
            connect_start: Some(-1.0),
            ..entry()
        },
        Entry {
            connect_start: Some(f64::NAN),
            ..entry()
        },
        Entry {
            request_start: Some(999.0),
            ..entry()
        },
        Entry {
            connect_end: Some(9_999_999.0),
            ..entry()
        },
        Entry {
            connect_end: Some(1004.0),
            ..entry()
        },
        Entry {
            request_start: Some(1081.0),
            ..entry()
        },
        Entry {
            domain_lookup_end: Some(1000.2),
            ..entry()
        },
        Entry::default(),
    ];
    for entry in broken {
        let reading = read(&entry, &context());
        assert_eq!(
            failure(&reading),
            Some(FailureKind::EntryInconsistent),
            "{entry:?}"
        );
    }
}

#[test]
fn row_35_drafts_have_a_label_of_their_own() {
    for raw in ["h3-29", "hq", "http/2+quic/46"] {
        let draft = Entry {
            next_hop_protocol: Some(raw.into()),
            ..entry()
        };
        let reading = read(&draft, &context());
        assert_eq!(reading.protocol, None);
        assert_eq!(reading.sample.facts.http_version.as_deref(), Some(raw));
        assert!(has_note(&reading, raw));
    }
}
