//! Each protocol forced, against real servers: what is agreed, what is shown, how the run ends.

use std::path::Path;

use shared::{FailureKind, FailurePhase, Phase, Protocol, Quality, Sample};
use tests::caddy::{self, Caddy};
use tests::certificates::{Authority, Certificate};
use tests::checks::assert_coherent;
use tests::hostile::{Step, TcpServer, h1_response};
use tests::ports;
use tests::probe::{Outcome, probe, run};
use tests::programs::need;
use tests::server::Server;

const SAMPLES: usize = 4;
const WARM: usize = 2;

async fn measured(url: &str, root: &Path, more: &[&str]) -> Outcome {
    let root = root.to_str().unwrap();
    let arguments = [&[url, "-n", "4", "--warm", "2", "--cacert", root], more].concat();
    probe(&arguments).await
}

/// What holds whenever all three protocols were measured, with new and with reused connections.
fn assert_three_protocols(outcome: &Outcome) {
    assert_eq!(outcome.code, 0, "{}{}", outcome.printed, outcome.said);
    assert_coherent(&outcome.printed);
    let ids: Vec<&str> = outcome
        .document()
        .arms
        .iter()
        .map(|arm| arm.id.as_str())
        .collect();
    assert_eq!(
        ids,
        ["h1-cold", "h1-warm", "h2-cold", "h2-warm", "h3-cold", "h3-warm"]
    );
    for arm in &outcome.document().arms {
        let protocol = arm.protocol.unwrap();
        let expected = if arm.id.ends_with("cold") {
            SAMPLES
        } else {
            SAMPLES * WARM
        };
        assert_eq!(arm.samples.len(), expected, "{}", arm.id);
        assert_eq!(arm.summary.ok as usize, expected, "{}: {:?}", arm.id, arm.summary);
        for sample in &arm.samples {
            assert_eq!(
                sample.facts.http_version.as_deref(),
                Some(protocol.alpn()),
                "{}",
                arm.id
            );
            assert_eq!(sample.facts.status, Some(200));
            assert_eq!(sample.facts.tls, Some(true));
            if arm.id.ends_with("cold") {
                assert_cold(protocol, sample);
            } else {
                assert!(sample.exchange > 0);
                assert_eq!(quality(sample, Phase::Setup), Quality::Reused);
            }
        }
    }
}

fn assert_cold(protocol: Protocol, sample: &Sample) {
    assert_eq!(sample.exchange, 0);
    assert!(quality(sample, Phase::Setup).has_value(), "{sample:?}");
    let of_tcp = [Phase::Tcp, Phase::Tls];
    if protocol == Protocol::H3 {
        assert!(quality(sample, Phase::Quic).has_value(), "{sample:?}");
        assert!(
            of_tcp
                .iter()
                .all(|phase| quality(sample, *phase) == Quality::NotApplicable)
        );
    } else {
        assert!(
            of_tcp.iter().all(|phase| quality(sample, *phase).has_value()),
            "{sample:?}"
        );
        assert_eq!(quality(sample, Phase::Quic), Quality::NotApplicable);
    }
    let facts = &sample.facts;
    assert_eq!(facts.tls_version.as_deref(), Some("TLSv1.3"));
    assert!(
        facts.certificate_chain_bytes.is_some_and(|bytes| bytes > 0),
        "{facts:?}"
    );
    assert_eq!(
        facts.public_root,
        Some(false),
        "a local authority is none of the public roots"
    );
    assert!(facts.min_rtt_ns.is_some(), "{facts:?}");
}

fn quality(sample: &Sample, phase: Phase) -> Quality {
    sample.phases[&phase].quality
}

#[tokio::test]
async fn caddy_agrees_to_each_forced_protocol() {
    let Some(program) = need("caddy") else { return };
    let caddy = Caddy::start(&program, "h1 h2 h3");
    let outcome = measured(&caddy.url("/"), &caddy.root(), &[]).await;
    assert_three_protocols(&outcome);
    let facts = &outcome.arm("h2-cold").samples[0].facts;
    assert_eq!(facts.encoded_bytes, Some(caddy::BODY.len() as u64));
    assert_eq!(facts.header("server"), Some("Caddy"));
    assert!(
        facts.header("alt-svc").is_some_and(|value| value.contains("h3=")),
        "{facts:?}"
    );
}

#[tokio::test]
async fn the_test_origin_agrees_to_each_forced_protocol() {
    let server = Server::start();
    let url = format!("{}/t?bytes=5000", server.origin);
    let outcome = measured(&url, &server.certificate(), &[]).await;
    assert_three_protocols(&outcome);
    for arm in &outcome.document().arms {
        assert!(
            arm.samples
                .iter()
                .all(|sample| sample.facts.encoded_bytes == Some(5000))
        );
    }
}

#[tokio::test]
async fn every_arm_dials_the_same_address_of_the_family_asked_for() {
    let server = Server::start();
    let url = format!("{}/t", server.origin);
    let families: &[(&str, &str)] = if ports::has_ipv6() {
        &[("-4", "127.0.0.1:"), ("-6", "[::1]:")]
    } else {
        &[("-4", "127.0.0.1:")]
    };
    for (option, start) in families {
        let outcome = measured(&url, &server.certificate(), &[option]).await;
        assert_eq!(outcome.code, 0, "{}", outcome.printed);
        for sample in outcome.document().arms.iter().flat_map(|arm| &arm.samples) {
            let address = sample.facts.address.as_deref().unwrap();
            assert!(address.starts_with(start), "{option}: {address}");
        }
    }
}

#[tokio::test]
async fn only_the_protocols_named_are_measured() {
    let server = Server::start();
    let url = format!("{}/t", server.origin);
    let outcome = measured(&url, &server.certificate(), &["--http1.1", "--http3"]).await;
    assert_eq!(outcome.code, 0, "{}", outcome.printed);
    let document = outcome.document();
    assert_eq!(document.plan.protocols, [Protocol::H1, Protocol::H3]);
    assert!(document.arms.iter().all(|arm| arm.protocol != Some(Protocol::H2)));
}

/// Caddy 2.6 without `h3` listens on no UDP port, without `h2` it selects `http/1.1` only.
#[tokio::test]
async fn what_an_h1_only_server_does_not_speak_fails_and_h1_succeeds() {
    let Some(program) = need("caddy") else { return };
    let caddy = Caddy::start(&program, "h1");
    let outcome = measured(&caddy.url("/"), &caddy.root(), &["--max-time", "3"]).await;
    assert_eq!(outcome.code, 1, "some arms failed: {}", outcome.said);
    assert_coherent(&outcome.printed);
    assert_eq!(outcome.arm("h1-cold").summary.ok as usize, SAMPLES);
    assert_eq!(outcome.arm("h1-warm").summary.ok as usize, SAMPLES * WARM);
    let h2 = outcome.failures("h2-cold");
    assert_eq!(h2.len(), SAMPLES);
    assert!(
        h2.iter()
            .all(|failure| (failure.0, failure.1) == (FailureKind::TlsAlpn, FailurePhase::Tls)),
        "{h2:?}"
    );
    let h3 = outcome.failures("h3-cold");
    assert_eq!(h3.len(), SAMPLES);
    assert!(
        h3.iter()
            .all(|failure| (failure.0, failure.1) == (FailureKind::ConnectRefused, FailurePhase::Quic)),
        "{h3:?}"
    );
}

#[tokio::test]
async fn a_server_that_ignores_alpn_speaks_h1_and_not_h2() {
    let authority = Authority::new();
    let config = authority.server(Certificate::Good, &[]);
    let response = h1_response(
        &["HTTP/1.1 200 OK", "content-length: 2", "connection: close"],
        b"ok",
    );
    let server = TcpServer::over_tls(config, vec![Step::ReadRequest, response]).await;
    let root = authority.root();
    let arguments = [
        "--http1.1",
        "--http2",
        "-n",
        "2",
        "--cacert",
        root.to_str().unwrap(),
    ];
    let outcome = probe(&[&[server.url().as_str()], &arguments[..]].concat()).await;
    assert_eq!(outcome.code, 1, "{}", outcome.printed);
    assert_eq!(outcome.arm("h1-cold").summary.ok, 2, "{}", outcome.printed);
    let h2 = outcome.failures("h2-cold");
    assert!(
        h2.iter().all(|failure| failure.0 == FailureKind::TlsAlpn),
        "{h2:?}"
    );
}

#[tokio::test]
async fn exit_status_3_when_nothing_could_be_measured() {
    let url = format!("https://localhost:{}/", ports::free());
    let outcome = probe(&[&url, "-n", "2", "--max-time", "2"]).await;
    assert_eq!(outcome.code, 3, "{}{}", outcome.printed, outcome.said);
    assert_coherent(&outcome.printed);
}

#[tokio::test]
async fn exit_status_2_for_what_is_not_understood() {
    for arguments in [
        &["probe"][..],
        &["probe", "ftp://localhost/", "--json"],
        &["probe", "https://localhost/", "--no-such-option"],
        &["probe", "https://localhost/", "-n", "0"],
        &["probe", "https://localhost/", "-n", "many"],
        &["probe", "https://localhost/", "-H", "no colon here"],
        &["no-such-command"],
    ] {
        let outcome = run(arguments).await;
        assert_eq!(
            outcome.code, 2,
            "{arguments:?}: {}{}",
            outcome.printed, outcome.said
        );
        assert!(!outcome.said.is_empty(), "{arguments:?} says what is wrong");
    }
}

#[tokio::test]
async fn http_without_tls_is_measured_over_h1_only_and_says_so() {
    let server = Server::start();
    let url = format!("{}/api/v1/config", server.page);
    let outcome = probe(&[&url, "-n", "3"]).await;
    assert_eq!(outcome.code, 0, "{}{}", outcome.printed, outcome.said);
    assert_coherent(&outcome.printed);
    assert_eq!(outcome.document().plan.protocols, [Protocol::H1]);
    let sample = &outcome.arm("h1-cold").samples[0];
    assert_eq!(sample.facts.tls, Some(false));
    assert_eq!(quality(sample, Phase::Tls), Quality::NotApplicable);

    let forced = probe(&[&url, "-n", "3", "--http1.1", "--http2", "--http3"]).await;
    assert_eq!(forced.code, 1, "{}{}", forced.printed, forced.said);
    for arm in ["h2-cold", "h3-cold"] {
        let failures = forced.failures(arm);
        assert!(
            failures.len() == 3
                && failures
                    .iter()
                    .all(|failure| failure.0 == FailureKind::SchemeUnsupported),
            "{arm}: {failures:?}"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_the_result_unless_it_is_to_be_followed() {
    let Some(program) = need("caddy") else { return };
    let caddy = Caddy::start(&program, "h1 h2 h3");
    let outcome = measured(&caddy.url("/moved"), &caddy.root(), &[]).await;
    assert_eq!(outcome.code, 0, "{}", outcome.said);
    for sample in outcome.document().arms.iter().flat_map(|arm| &arm.samples) {
        assert_eq!(sample.facts.status, Some(302));
        assert_eq!(sample.facts.redirect, Some(caddy.url("/")));
    }
    let followed = measured(&caddy.url("/moved"), &caddy.root(), &["--follow"]).await;
    assert_eq!(followed.code, 0, "{}", followed.said);
    assert_eq!(followed.document().plan.url, caddy.url("/"));
    let mut samples = followed.document().arms.iter().flat_map(|arm| &arm.samples);
    assert!(samples.all(|sample| sample.facts.status == Some(200)));
}

#[tokio::test]
async fn an_error_status_is_a_measurement() {
    let Some(program) = need("caddy") else { return };
    let caddy = Caddy::start(&program, "h1 h2 h3");
    let outcome = measured(&caddy.url("/missing"), &caddy.root(), &[]).await;
    assert_eq!(outcome.code, 0, "{}", outcome.said);
    let mut samples = outcome.document().arms.iter().flat_map(|arm| &arm.samples);
    assert!(samples.all(|sample| sample.facts.status == Some(404) && sample.failure.is_none()));
}

#[tokio::test]
async fn head_has_no_body_and_still_an_end() {
    let server = Server::start();
    let url = format!("{}/t?bytes=9000", server.origin);
    let outcome = measured(&url, &server.certificate(), &["-I"]).await;
    assert_eq!(outcome.code, 0, "{}", outcome.said);
    assert_coherent(&outcome.printed);
    for sample in outcome.document().arms.iter().flat_map(|arm| &arm.samples) {
        assert_eq!(sample.facts.encoded_bytes, None, "{sample:?}");
        assert!(sample.marks.at(shared::Mark::FirstBodyByte).is_none());
    }
}

#[tokio::test]
async fn the_table_has_a_row_for_each_arm_and_the_definition_of_every_figure() {
    let server = Server::start();
    let url = format!("{}/t", server.origin);
    let root = server.certificate();
    let arguments = [
        "probe",
        &url,
        "--allow-private",
        "-n",
        "3",
        "--warm",
        "1",
        "--explain",
    ];
    let outcome = run(&[&arguments[..], &["--cacert", root.to_str().unwrap()]].concat()).await;
    assert_eq!(outcome.code, 0, "{}", outcome.said);
    for word in [
        "HTTP/1.1", "HTTP/2", "HTTP/3", "setup", "wait", "download", "ttfb", "total",
    ] {
        assert!(
            outcome.printed.contains(word),
            "{word} is missing in\n{}",
            outcome.printed
        );
    }
    assert!(
        outcome.printed.contains(Phase::Wait.definition()) || {
            // Wrapped to the terminal's width.
            let joined = outcome.printed.split_whitespace().collect::<Vec<_>>().join(" ");
            joined.contains(Phase::Wait.definition())
        },
        "{}",
        outcome.printed
    );
}
