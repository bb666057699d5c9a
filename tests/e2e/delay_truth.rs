//! What the test origin is told to do is what the probe must see: a truth that is known beforehand.

use std::time::Duration;

use shared::{Arm, Mark, Phase};
use tests::certificates::{Authority, Certificate};
use tests::checks::{assert_coherent, median_ns};
use tests::hostile::{
    QuicServer, Step, TcpServer, h2_frame, h2_settings, h2_status_103, h2_status_200, h3_data, h3_status_103,
    h3_status_200,
};
use tests::probe::{Outcome, probe};
use tests::server::Server;

const MILLISECOND: u64 = 1_000_000;

async fn measured(server: &Server, path: &str, more: &[&str]) -> Outcome {
    let url = format!("{}{path}", server.origin);
    let root = server.certificate();
    let outcome = probe(&[&[url.as_str(), "--cacert", root.to_str().unwrap()], more].concat()).await;
    assert_eq!(outcome.code, 0, "{}{}", outcome.printed, outcome.said);
    assert_coherent(&outcome.printed);
    outcome
}

fn every_wait(arm: &Arm) -> impl Iterator<Item = u64> {
    arm.samples
        .iter()
        .filter_map(|sample| sample.phases[&Phase::Wait].ns)
        .map(|ns| ns.0)
}

/// The clock of the server starts when it has the request and stops before it answers, both inside `wait`: so no sample
/// may be shorter than the delay.
#[tokio::test]
async fn no_wait_is_shorter_than_the_servers_delay() {
    let server = Server::start();
    for delay in [25, 100] {
        let path = format!("/t?delay={delay}ms");
        let outcome = measured(&server, &path, &["-n", "5", "--warm", "2"]).await;
        for arm in &outcome.document().arms {
            assert!(every_wait(arm).count() > 0);
            for wait in every_wait(arm) {
                assert!(
                    wait >= delay * MILLISECOND,
                    "{}: waited {wait} ns for an answer that was delayed by {delay} ms",
                    arm.id
                );
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_stalls_in_its_middle_is_download_and_not_wait() {
    let server = Server::start();
    let outcome = measured(&server, "/t?bytes=50000&body-delay=200ms", &["-n", "3"]).await;
    for arm in &outcome.document().arms {
        for sample in &arm.samples {
            let download = sample.phases[&Phase::Download].ns.unwrap().0;
            assert!(download >= 200 * MILLISECOND, "{}: {download} ns", arm.id);
        }
        let wait = median_ns(arm, Phase::Wait);
        assert!(wait < 200 * MILLISECOND, "{}: {wait} ns of wait", arm.id);
    }
}

/// An interim response is told, and does not end `wait`: the final one comes known time later.
#[tokio::test]
async fn interim_responses_are_told_and_are_not_the_answer() {
    let pause = Duration::from_millis(100);
    let authority = Authority::new();
    let root = authority.root();
    let arguments = ["-4", "-n", "2", "--cacert", root.to_str().unwrap()];
    let script = |interim: Vec<u8>, last: Vec<Vec<u8>>| {
        let mut script = vec![Step::ReadRequest, Step::Send(interim), Step::Pause(pause)];
        script.extend(last.into_iter().map(Step::Send));
        script
    };
    let good = |alpn| authority.server(Certificate::Good, &[alpn]);
    let h1 = TcpServer::over_tls(
        good("http/1.1"),
        script(
            b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".to_vec(),
            vec![b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_vec()],
        ),
    )
    .await;
    let mut of_h2 = vec![Step::Send(h2_settings())];
    // The last frame ends the stream.
    of_h2.extend(script(
        h2_status_103(),
        vec![h2_status_200(), h2_frame(0, 1, 1, b"ok")],
    ));
    of_h2.push(Step::Stall);
    let h2 = TcpServer::over_tls(good("h2"), of_h2).await;
    let of_h3 = script(h3_status_103(), vec![h3_status_200(), h3_data(b"ok")]);
    let h3 = QuicServer::start(good("h3"), of_h3, None);
    for (url, protocol) in [
        (h1.url(), "--http1.1"),
        (h2.url(), "--http2"),
        (h3.url(), "--http3"),
    ] {
        let outcome = probe(&[&[url.as_str(), protocol], &arguments[..]].concat()).await;
        assert_eq!(outcome.code, 0, "{protocol}: {}{}", outcome.printed, outcome.said);
        assert_coherent(&outcome.printed);
        for sample in &outcome.document().arms[0].samples {
            assert_eq!(sample.facts.interim, [103], "{protocol}");
            assert_eq!(sample.facts.status, Some(200));
            let at = |mark| sample.marks.at(mark).unwrap();
            let between = at(Mark::Headers).since(at(Mark::FirstInterim)).unwrap();
            // The pause lies between two writes of the server; its first one may be read late, but by far less than half.
            assert!(
                u128::from(between.0) * 2 >= pause.as_nanos(),
                "{protocol}: {between:?}"
            );
        }
    }
}

/// The delay is long beside what a busy machine adds to a median, so the bound holds on any.
#[tokio::test]
async fn a_longer_delay_moves_wait_by_as_much_and_no_other_phase() {
    let delay = 400 * MILLISECOND;
    let server = Server::start();
    let without = measured(&server, "/t?delay=0ms", &["-n", "5"]).await;
    let with = measured(&server, "/t?delay=400ms", &["-n", "5"]).await;
    for id in ["h1-cold", "h2-cold", "h3-cold"] {
        let moved = |phase| {
            let (before, after) = (median_ns(without.arm(id), phase), median_ns(with.arm(id), phase));
            i128::from(after) - i128::from(before)
        };
        let of_delay = |percent| i128::from(delay) * percent / 100;
        for phase in [Phase::Wait, Phase::Ttfb, Phase::Total] {
            let shift = moved(phase);
            assert!(
                shift >= of_delay(90) && shift <= of_delay(125),
                "{id} {}: {shift} ns",
                phase.id()
            );
        }
        for phase in [Phase::Setup, Phase::Download] {
            assert!(
                moved(phase).abs() <= of_delay(25),
                "{id} {}: {} ns",
                phase.id(),
                moved(phase)
            );
        }
    }
}

#[tokio::test]
async fn a_slower_arm_is_called_slower_only_with_an_interval() {
    let server = Server::start();
    let outcome = measured(&server, "/t?delay=5ms", &["-n", "6", "--warm", "2"]).await;
    let document = outcome.document();
    assert!(!document.comparisons.is_empty());
    for comparison in &document.comparisons {
        assert!(comparison.low_ns <= comparison.high_ns);
        let verdict = match (comparison.low_ns, comparison.high_ns) {
            (_, high) if high < 0 => shared::Verdict::Faster,
            (low, _) if low > 0 => shared::Verdict::Slower,
            _ => shared::Verdict::NoClearDifference,
        };
        assert_eq!(comparison.verdict, verdict, "{comparison:?}");
    }
}

#[tokio::test]
async fn bodies_have_exactly_the_bytes_asked_for() {
    let server = Server::start();
    for (asked, bytes) in [("0", 0), ("1", 1), ("100k", 100_000), ("3m", 3_000_000)] {
        let outcome = measured(&server, &format!("/t?bytes={asked}"), &["-n", "2"]).await;
        for sample in outcome.document().arms.iter().flat_map(|arm| &arm.samples) {
            assert_eq!(sample.facts.encoded_bytes, Some(bytes), "{asked}");
            assert_eq!(sample.facts.decoded_bytes, Some(bytes), "{asked}");
        }
    }
}

#[tokio::test]
async fn encoded_and_decoded_bytes_are_told_apart() {
    let server = Server::start();
    for encoding in ["gzip", "br"] {
        let path = format!("/t?bytes=100k&encoding={encoding}");
        let outcome = measured(&server, &path, &["-n", "2", "--encoding", encoding]).await;
        for sample in outcome.document().arms.iter().flat_map(|arm| &arm.samples) {
            assert_eq!(sample.facts.header("content-encoding"), Some(encoding));
            assert_eq!(sample.facts.decoded_bytes, Some(100_000), "{encoding}");
            let encoded = sample.facts.encoded_bytes.unwrap();
            assert!(encoded > 0 && encoded != 100_000, "{encoding}: {encoded}");
        }
    }
}

#[tokio::test]
async fn the_servers_own_account_stands_beside_its_delay() {
    let server = Server::start();
    let outcome = measured(&server, "/t?delay=25ms", &["-n", "2"]).await;
    for sample in outcome.document().arms.iter().flat_map(|arm| &arm.samples) {
        let header = sample.facts.header("server-timing").unwrap_or_default();
        let said = shared::source::server_timing::parse(header);
        let longest = said
            .entries
            .iter()
            .filter_map(|entry| entry.duration_ms)
            .fold(0.0, f64::max);
        assert!(longest >= 25.0, "{header:?}");
    }
}

#[tokio::test]
async fn the_origin_advertises_h3_on_its_own_port() {
    let server = Server::start();
    let outcome = measured(&server, "/t", &["-n", "1"]).await;
    let header = outcome.arm("h2-cold").samples[0]
        .facts
        .header("alt-svc")
        .unwrap()
        .to_owned();
    let parsed = shared::source::alt_svc::parse(&header);
    let port: u16 = server
        .origin_authority()
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        parsed
            .alternatives
            .iter()
            .any(|a| a.protocol == "h3" && a.port == port),
        "{header}"
    );
}
