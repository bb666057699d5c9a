//! Servers that fail in every way: each is a result with its kind and phase, in bounded time, and never a panic.

use std::io::Write as _;
use std::path::Path;

use shared::{FailureKind as Kind, FailurePhase as At, Quality};
use tests::certificates::{Authority, Certificate};
use tests::checks::assert_coherent;
use tests::hostile::{
    Layer, QuicServer, Step, TcpServer, garbage_udp, h1_response, h2_frame, h2_settings, h2_status_200,
    h3_data, h3_status_200, silent_udp,
};
use tests::ports;
use tests::probe::{Outcome, probe};

/// Seconds given to an exchange. The kit kills a probe that takes many times as long.
const MAX_TIME: &str = "1";

async fn measured(url: &str, protocol: &str, root: Option<&Path>, more: &[&str]) -> Outcome {
    let mut arguments = vec![url, protocol, "-n", "2", "--max-time", MAX_TIME];
    if let Some(root) = root {
        arguments.extend(["--cacert", root.to_str().unwrap()]);
    }
    arguments.extend(more);
    probe(&arguments).await
}

/// Every sample failed, each in one of these ways, and the document is coherent.
fn assert_fails(outcome: &Outcome, arm: &str, expected: &[(Kind, At)]) {
    assert_eq!(outcome.code, 3, "{}{}", outcome.printed, outcome.said);
    assert_coherent(&outcome.printed);
    let failures = outcome.failures(arm);
    assert_eq!(failures.len(), 2, "{}", outcome.printed);
    for (kind, phase, detail) in &failures {
        assert!(
            expected.contains(&(*kind, *phase)),
            "{arm}: {kind:?} in {phase:?} ({detail}), expected {expected:?}"
        );
        assert!(!detail.is_empty());
    }
    // An exchange that ended early has lasted until then, and says so; the run did not outlast its bound unmeasured.
    for sample in &outcome.arm(arm).samples {
        let total = &sample.phases[&shared::Phase::Total];
        assert!(total.quality != Quality::Inconsistent, "{total:?}");
    }
}

fn arm(protocol: &str) -> &'static str {
    match protocol {
        "--http1.1" => "h1-cold",
        "--http2" => "h2-cold",
        _ => "h3-cold",
    }
}

#[tokio::test]
async fn a_closed_tcp_port_refuses() {
    let url = format!("https://localhost:{}/", ports::free());
    for protocol in ["--http1.1", "--http2"] {
        let outcome = measured(&url, protocol, None, &["-4"]).await;
        assert_fails(&outcome, arm(protocol), &[(Kind::ConnectRefused, At::Tcp)]);
    }
}

/// The ICMP message is the answer: the run must not wait for a timeout. Its bound is the deadline itself, which it would
/// reach otherwise.
#[tokio::test]
async fn a_closed_udp_port_refuses() {
    let url = format!("https://localhost:{}/", ports::free());
    let outcome = measured(&url, "--http3", None, &["-4"]).await;
    assert_fails(&outcome, "h3-cold", &[(Kind::ConnectRefused, At::Quic)]);
}

#[tokio::test]
async fn a_udp_port_that_drops_everything_does_not_answer() {
    let port = silent_udp().await;
    let outcome = measured(&port.url(), "--http3", None, &["-4"]).await;
    assert_fails(&outcome, "h3-cold", &[(Kind::UdpNoAnswer, At::Quic)]);
}

#[tokio::test]
async fn a_udp_port_that_is_not_quic_is_no_handshake() {
    let port = garbage_udp().await;
    let outcome = measured(&port.url(), "--http3", None, &["-4"]).await;
    let expected = [
        (Kind::UdpNoAnswer, At::Quic),
        (Kind::QuicTimeout, At::Quic),
        (Kind::H3Protocol, At::Quic),
    ];
    assert_fails(&outcome, "h3-cold", &expected);
}

#[tokio::test]
async fn certificates_that_are_not_accepted_are_named_over_every_protocol() {
    let authority = Authority::new();
    for certificate in [
        Certificate::Expired,
        Certificate::SelfSigned,
        Certificate::OtherName,
    ] {
        for (protocol, alpn) in [("--http1.1", "http/1.1"), ("--http2", "h2"), ("--http3", "h3")] {
            let config = authority.server(certificate, &[alpn]);
            let root = authority.root();
            let (outcome, phase) = if protocol == "--http3" {
                let server = QuicServer::start(config, vec![Step::Stall], None);
                (
                    measured(&server.url(), protocol, Some(&root), &["-4"]).await,
                    At::Quic,
                )
            } else {
                let server = TcpServer::over_tls(config, vec![Step::Stall]).await;
                (
                    measured(&server.url(), protocol, Some(&root), &["-4"]).await,
                    At::Tls,
                )
            };
            assert_fails(&outcome, arm(protocol), &[(Kind::TlsCertificate, phase)]);
        }
    }
}

#[tokio::test]
async fn with_insecure_the_probe_goes_on_and_says_what_was_wrong() {
    let authority = Authority::new();
    let config = authority.server(Certificate::Expired, &["http/1.1"]);
    let script = vec![
        Step::ReadRequest,
        h1_response(&["HTTP/1.1 200 OK", "content-length: 2"], b"ok"),
    ];
    let server = TcpServer::over_tls(config, script).await;
    let outcome = measured(&server.url(), "--http1.1", Some(&authority.root()), &["-4", "-k"]).await;
    assert_eq!(outcome.code, 0, "{}{}", outcome.printed, outcome.said);
    for sample in &outcome.arm("h1-cold").samples {
        let error = sample.facts.certificate_error.as_deref().unwrap_or_default();
        assert!(error.to_lowercase().contains("expired"), "{error:?}");
    }
}

#[tokio::test]
async fn a_quic_server_without_h3_does_not_agree() {
    let authority = Authority::new();
    let server = QuicServer::start(
        authority.server(Certificate::Good, &["doq"]),
        vec![Step::Stall],
        None,
    );
    let outcome = measured(&server.url(), "--http3", Some(&authority.root()), &["-4"]).await;
    assert_fails(&outcome, "h3-cold", &[(Kind::TlsAlpn, At::Quic)]);
}

#[tokio::test]
async fn what_is_not_tls_fails_in_the_handshake() {
    type Expected = &'static [(Kind, At)];
    let cases: [(Vec<Step>, Expected); 3] = [
        (
            vec![Step::Send(b"220 mail.example ESMTP\r\n".to_vec()), Step::Stall],
            &[(Kind::TlsFailure, At::Tls)],
        ),
        (vec![Step::Stall], &[(Kind::TlsTimeout, At::Tls)]),
        (
            vec![],
            &[(Kind::TlsFailure, At::Tls), (Kind::ConnectionClosed, At::Tls)],
        ),
    ];
    for (script, expected) in cases {
        let server = TcpServer::start(Layer::Plain, script).await;
        for protocol in ["--http1.1", "--http2"] {
            let outcome = measured(&server.url(), protocol, None, &["-4"]).await;
            assert_fails(&outcome, arm(protocol), expected);
        }
    }
}

async fn over_tls(alpn: &str, script: Vec<Step>, more: &[&str]) -> Outcome {
    let authority = Authority::new();
    let config = authority.server(Certificate::Good, &[alpn]);
    let server = TcpServer::over_tls(config, script).await;
    let protocol = if alpn == "h2" { "--http2" } else { "--http1.1" };
    measured(
        &server.url(),
        protocol,
        Some(&authority.root()),
        &[&["-4"], more].concat(),
    )
    .await
}

#[tokio::test]
async fn header_sections_that_never_come_time_out() {
    let outcome = over_tls("http/1.1", vec![Step::ReadRequest, Step::Stall], &[]).await;
    assert_fails(&outcome, "h1-cold", &[(Kind::WaitTimeout, At::Wait)]);
    let script = vec![Step::Send(h2_settings()), Step::ReadRequest, Step::Stall];
    let outcome = over_tls("h2", script, &[]).await;
    assert_fails(&outcome, "h2-cold", &[(Kind::WaitTimeout, At::Wait)]);
    let authority = Authority::new();
    let server = QuicServer::start(
        authority.server(Certificate::Good, &["h3"]),
        vec![Step::ReadRequest, Step::Stall],
        None,
    );
    let outcome = measured(&server.url(), "--http3", Some(&authority.root()), &["-4"]).await;
    assert_fails(&outcome, "h3-cold", &[(Kind::WaitTimeout, At::Wait)]);
}

#[tokio::test]
async fn bodies_that_stall_time_out() {
    let head = ["HTTP/1.1 200 OK", "content-length: 1000"];
    let script = vec![Step::ReadRequest, h1_response(&head, b"only this"), Step::Stall];
    let outcome = over_tls("http/1.1", script, &[]).await;
    assert_fails(&outcome, "h1-cold", &[(Kind::ReadTimeout, At::Download)]);

    let script = vec![
        Step::Send(h2_settings()),
        Step::ReadRequest,
        Step::Send(h2_status_200()),
        Step::Send(h2_frame(0, 0, 1, b"only this")),
        Step::Stall,
    ];
    let outcome = over_tls("h2", script, &[]).await;
    assert_fails(&outcome, "h2-cold", &[(Kind::ReadTimeout, At::Download)]);

    let authority = Authority::new();
    let script = vec![
        Step::ReadRequest,
        Step::Send(h3_status_200()),
        Step::Send(h3_data(b"only this")),
        Step::Stall,
    ];
    let server = QuicServer::start(authority.server(Certificate::Good, &["h3"]), script, None);
    let outcome = measured(&server.url(), "--http3", Some(&authority.root()), &["-4"]).await;
    assert_fails(&outcome, "h3-cold", &[(Kind::ReadTimeout, At::Download)]);
}

#[tokio::test]
async fn bodies_that_end_early_are_truncated() {
    let head = ["HTTP/1.1 200 OK", "content-length: 1000"];
    let script = vec![Step::ReadRequest, h1_response(&head, b"only this")];
    let outcome = over_tls("http/1.1", script, &[]).await;
    assert_fails(&outcome, "h1-cold", &[(Kind::BodyTruncated, At::Download)]);

    let head = ["HTTP/1.1 200 OK", "transfer-encoding: chunked"];
    let script = vec![Step::ReadRequest, h1_response(&head, b"5\r\nhello\r\n")];
    let outcome = over_tls("http/1.1", script, &[]).await;
    assert_fails(&outcome, "h1-cold", &[(Kind::BodyTruncated, At::Download)]);
}

#[tokio::test]
async fn a_connection_that_closes_instead_of_answering_is_closed() {
    let outcome = over_tls("http/1.1", vec![Step::ReadRequest], &[]).await;
    assert_fails(&outcome, "h1-cold", &[(Kind::ConnectionClosed, At::Wait)]);
    let outcome = over_tls("h2", vec![Step::Send(h2_settings()), Step::ReadRequest], &[]).await;
    let expected = [(Kind::ConnectionClosed, At::Wait), (Kind::H2Protocol, At::Wait)];
    assert_fails(&outcome, "h2-cold", &expected);

    let authority = Authority::new();
    // H3_INTERNAL_ERROR (RFC 9114, section 8.1).
    let server = QuicServer::start(
        authority.server(Certificate::Good, &["h3"]),
        vec![Step::ReadRequest],
        Some(0x102),
    );
    let outcome = measured(&server.url(), "--http3", Some(&authority.root()), &["-4"]).await;
    let expected = [(Kind::ConnectionClosed, At::Wait), (Kind::H3Protocol, At::Wait)];
    assert_fails(&outcome, "h3-cold", &expected);
}

#[tokio::test]
async fn answers_that_are_not_http_are_protocol_errors() {
    let garbage = Step::Send(b"\x00\x01\x02 this is no HTTP\r\n\r\n".to_vec());
    let outcome = over_tls(
        "http/1.1",
        vec![Step::ReadRequest, garbage.clone(), Step::Stall],
        &[],
    )
    .await;
    assert_fails(&outcome, "h1-cold", &[(Kind::H1Protocol, At::Wait)]);
    let outcome = over_tls("h2", vec![Step::Send(vec![0xff; 64]), Step::Stall], &[]).await;
    let expected = [(Kind::H2Protocol, At::Wait), (Kind::H2Protocol, At::Send)];
    assert_fails(&outcome, "h2-cold", &expected);

    let authority = Authority::new();
    // A DATA frame before HEADERS is H3_FRAME_UNEXPECTED (RFC 9114, section 4.1).
    let script = vec![Step::ReadRequest, Step::Send(h3_data(b"too early")), Step::Stall];
    let server = QuicServer::start(authority.server(Certificate::Good, &["h3"]), script, None);
    let outcome = measured(&server.url(), "--http3", Some(&authority.root()), &["-4"]).await;
    assert_fails(&outcome, "h3-cold", &[(Kind::H3Protocol, At::Wait)]);
}

#[tokio::test]
async fn endless_header_sections_are_cut_off() {
    let script = vec![
        Step::ReadRequest,
        Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Step::SendForever([b"x-filler: ".to_vec(), vec![b'a'; 1000], b"\r\n".to_vec()].concat()),
    ];
    let outcome = over_tls("http/1.1", script, &[]).await;
    assert_fails(&outcome, "h1-cold", &[(Kind::HeadersTooLarge, At::Wait)]);

    // CONTINUATION frames without END_HEADERS, as in CVE-2024-27316.
    let script = vec![
        Step::Send(h2_settings()),
        Step::ReadRequest,
        Step::Send(h2_frame(1, 0, 1, &[0x88])),
        Step::SendForever(h2_frame(
            9,
            0,
            1,
            // A literal without indexing: name "x", value of 100 bytes.
            &[&[0x00, 1, b'x', 100][..], &[b'a'; 100]].concat(),
        )),
    ];
    let outcome = over_tls("h2", script, &[]).await;
    let expected = [(Kind::HeadersTooLarge, At::Wait), (Kind::H2Protocol, At::Wait)];
    assert_fails(&outcome, "h2-cold", &expected);
}

#[tokio::test]
async fn endless_bodies_are_cut_off() {
    let script = vec![
        Step::ReadRequest,
        h1_response(&["HTTP/1.1 200 OK", "connection: close"], b""),
        Step::SendForever(vec![b'a'; 16384]),
    ];
    let outcome = over_tls("http/1.1", script, &["--max-body", "1000000", "--max-time", "30"]).await;
    assert_fails(&outcome, "h1-cold", &[(Kind::BodyTooLarge, At::Download)]);
}

/// 200 MB of zeros in some 200 kB: the limit is on what comes out.
#[tokio::test]
async fn a_compressed_bomb_is_cut_off() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1_000_000];
    for _ in 0..200 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let length = format!("content-length: {}", bomb.len());
    let head = ["HTTP/1.1 200 OK", "content-encoding: gzip", &length];
    let script = vec![Step::ReadRequest, h1_response(&head, &bomb), Step::Stall];
    let outcome = over_tls("http/1.1", script, &["--encoding", "gzip", "--max-time", "30"]).await;
    assert_fails(&outcome, "h1-cold", &[(Kind::BodyTooLarge, At::Download)]);
}

#[tokio::test]
async fn a_name_that_does_not_exist_fails_in_dns() {
    // RFC 6761, section 6.4: `invalid` never resolves. What a machine without a resolver says is another thing.
    let outcome = measured("https://roundtrip.invalid/", "--http1.1", None, &[]).await;
    assert_eq!(outcome.code, 3, "{}{}", outcome.printed, outcome.said);
    assert_coherent(&outcome.printed);
    let failures = outcome.failures("h1-cold");
    assert!(!failures.is_empty());
    for (kind, phase, detail) in failures {
        let of_dns = [Kind::DnsNxdomain, Kind::DnsTimeout, Kind::DnsFailure];
        assert!(of_dns.contains(&kind), "{kind:?}: {detail}");
        assert_eq!(phase, At::Dns, "{detail}");
    }
    assert!(outcome.document().address.is_none());
}
