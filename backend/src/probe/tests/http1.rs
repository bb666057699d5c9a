//! HTTP/1.1 without TLS: servers that stall, cut, lie and shout.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use shared::{ConnectionUse, FailureKind, FailurePhase, Mark, Plan, Protocol, Sample, StampSource};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::*;

/// What a server does after it has read a request.
enum Act {
    Say(Vec<u8>),
    Wait(Duration),
    /// Reads the next request.
    Next,
    /// Holds the connection open for ever.
    Hold,
}

fn say(text: &str) -> Act {
    Act::Say(text.as_bytes().to_vec())
}

async fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_closed) => break,
        }
    }
    request
}

/// Serves one connection, on a port of its own.
async fn server(acts: Vec<Act>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        read_request(&mut stream).await;
        for act in acts {
            match act {
                Act::Say(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Act::Wait(span) => sleep(span).await,
                Act::Next => drop(read_request(&mut stream).await),
                Act::Hold => std::future::pending().await,
            }
        }
    });
    port
}

async fn exchange(change: impl FnOnce(&mut Plan), acts: Vec<Act>) -> Sample {
    let port = server(acts).await;
    let mut plan = plan(&format!("http://127.0.0.1:{port}/a"));
    change(&mut plan);
    cold(&plan, &settings(None), Protocol::H1, port).await
}

#[tokio::test]
async fn a_plain_exchange_has_its_marks_in_order_and_from_the_socket() {
    let acts = vec![
        say("HTTP/1.1 200 OK\r\nserver: test\r\ncontent-length: 5\r\n\r\nab"),
        Act::Wait(Duration::from_millis(10)),
        say("cde"),
        Act::Hold,
    ];
    let sample = exchange(|_| {}, acts).await;
    assert_in_order(
        &sample,
        [
            Mark::Start,
            Mark::ConnectStart,
            Mark::TcpEstablished,
            Mark::RequestSent,
            Mark::Headers,
            Mark::FirstBodyByte,
            Mark::End,
        ],
    );
    for mark in [
        Mark::ConnectStart,
        Mark::RequestSent,
        Mark::Headers,
        Mark::FirstBodyByte,
        Mark::End,
    ] {
        assert_eq!(sample.mark_sources[&mark], StampSource::Syscall, "{mark:?}");
    }
    let [sent, end] = times(&sample, [Mark::RequestSent, Mark::End]);
    assert!(end - sent >= 10_000_000, "the rest came 10 ms later");
    assert_eq!(sample.facts.encoded_bytes, Some(5));
    assert_eq!(sample.facts.status, Some(200));
    assert_eq!(sample.facts.tls, Some(false));
    assert_eq!(sample.facts.header("server"), Some("test"));
    assert!(sample.facts.dns_skipped.is_some());
}

#[tokio::test]
async fn a_slow_server_shows_in_wait_and_an_interim_response_does_not_end_it() {
    let acts = vec![
        say("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
        Act::Wait(Duration::from_millis(30)),
        say("HTTP/1.1 204 No Content\r\n\r\n"),
        Act::Hold,
    ];
    let sample = exchange(|_| {}, acts).await;
    assert_in_order(
        &sample,
        [Mark::RequestSent, Mark::FirstInterim, Mark::Headers, Mark::End],
    );
    let [sent, headers, end] = times(&sample, [Mark::RequestSent, Mark::Headers, Mark::End]);
    assert!(headers - sent >= 30_000_000);
    assert_eq!(headers, end, "an empty body ends with its header section");
    assert_eq!(sample.facts.interim, [103]);
    assert_eq!(sample.marks.at(Mark::FirstBodyByte), None);
}

#[tokio::test]
async fn a_body_may_end_with_the_connection() {
    let acts = vec![
        say("HTTP/1.1 200 OK\r\n\r\nabc"),
        Act::Wait(Duration::from_millis(20)),
    ];
    let sample = exchange(|_| {}, acts).await;
    assert_in_order(&sample, [Mark::Headers, Mark::FirstBodyByte, Mark::End]);
    let [sent, end] = times(&sample, [Mark::RequestSent, Mark::End]);
    assert!(end - sent >= 20_000_000, "it ended with the close");
}

#[tokio::test]
async fn a_chunked_body_is_counted_without_its_framing() {
    let acts = vec![
        say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
        Act::Hold,
    ];
    let sample = exchange(|_| {}, acts).await;
    assert_in_order(&sample, [Mark::Headers, Mark::End]);
    assert_eq!(sample.facts.encoded_bytes, Some(5));
}

#[tokio::test]
async fn the_exchanges_of_a_connection_follow_each_other() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let acts = vec![
        say(answer),
        Act::Next,
        say(answer),
        Act::Next,
        say(answer),
        Act::Hold,
    ];
    let port = server(acts).await;
    let plan = plan(&format!("http://127.0.0.1:{port}/"));
    let prober = Prober::new(&plan, &settings(None)).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (_, mut connection) = prober.cold(Protocol::H1, address).await;
    for _warm in 0..2 {
        let (sample, open) = prober.warm(connection.take().unwrap()).await;
        assert_in_order(
            &sample,
            [Mark::Start, Mark::RequestSent, Mark::Headers, Mark::End],
        );
        assert_eq!(sample.marks.at(Mark::ConnectStart), None);
        assert_eq!(sample.facts.connection, Some(ConnectionUse::Reused));
        connection = open;
    }
}

#[tokio::test]
async fn a_head_has_no_body_whatever_its_length_says() {
    let acts = vec![say("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n"), Act::Hold];
    let sample = exchange(|plan| plan.method = shared::Method::Head, acts).await;
    assert_in_order(&sample, [Mark::Headers, Mark::End]);
    assert_eq!(sample.facts.encoded_bytes, None);
}

#[tokio::test]
async fn silence_after_the_request_is_a_wait_timeout() {
    let failed = exchange(|_| {}, vec![Act::Hold]).await;
    assert_eq!(
        assert_fails(&failed, FailureKind::WaitTimeout).phase,
        FailurePhase::Wait
    );
    assert!(
        failed.marks.at(Mark::RequestSent).is_some(),
        "the request had left"
    );
}

#[tokio::test]
async fn a_stalled_body_is_a_read_timeout_that_says_how_much_came() {
    let acts = vec![say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"), Act::Hold];
    let failed = exchange(|_| {}, acts).await;
    assert!(
        assert_fails(&failed, FailureKind::ReadTimeout)
            .detail
            .starts_with("3 bytes")
    );
    assert!(failed.marks.at(Mark::Headers).is_some());
}

#[tokio::test]
async fn wrong_answers_are_told_apart() {
    let huge = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(300_000));
    let cases = [
        (
            vec![say("SSH-2.0-OpenSSH_9.2\r\n"), Act::Hold],
            FailureKind::H1Protocol,
        ),
        (
            vec![say("HTTP/1.1 200 OK\r\nbad header\r\n\r\n"), Act::Hold],
            FailureKind::H1Protocol,
        ),
        (vec![], FailureKind::ConnectionClosed),
        (vec![say(&huge), Act::Hold], FailureKind::HeadersTooLarge),
        (
            vec![say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")],
            FailureKind::BodyTruncated,
        ),
    ];
    for (acts, kind) in cases {
        assert_fails(&exchange(|_| {}, acts).await, kind);
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_ends_the_exchange_also_when_it_is_hidden_in_gzip() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::default());
    bomb.write_all(&vec![0; 4 << 20]).unwrap();
    let bomb = bomb.finish().unwrap();
    let mut coded = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        bomb.len()
    )
    .into_bytes();
    coded.extend(bomb);
    let plain = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n{}",
        "x".repeat(200_000)
    );
    for answer in [coded, plain.into_bytes()] {
        let port = server(vec![Act::Say(answer), Act::Hold]).await;
        let mut plan = patient(&format!("http://127.0.0.1:{port}/"));
        plan.max_body_bytes = 100_000;
        let failed = cold(&plan, &settings(None), Protocol::H1, port).await;
        let failure = failed.failure.as_ref().unwrap();
        assert_eq!(failure.kind, FailureKind::BodyTooLarge, "{failure:?}");
    }
}

#[tokio::test]
async fn a_closed_port_refuses_and_other_protocols_need_tls() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let plan = plan(&format!("http://127.0.0.1:{closed}/"));
    let refused = cold(&plan, &settings(None), Protocol::H1, closed).await;
    assert_fails(&refused, FailureKind::ConnectRefused);
    assert!(refused.marks.at(Mark::ConnectStart).is_some());
    for protocol in [Protocol::H2, Protocol::H3] {
        let unsupported = cold(&plan, &settings(None), protocol, closed).await;
        assert_fails(&unsupported, FailureKind::SchemeUnsupported);
    }
}

#[tokio::test]
async fn the_guard_stands_before_the_very_address_that_is_dialled() {
    let port = server(vec![Act::Hold]).await;
    let plan = plan(&format!("http://127.0.0.1:{port}/"));
    let guarded = ProbeSettings {
        allow_private: false,
        ..settings(None)
    };
    let prober = Prober::new(&plan, &guarded).unwrap();
    let fault = prober.pin().await.err().unwrap();
    assert_eq!(fault.field, "url");
    assert!(fault.message.contains("--allow-private"), "{fault}");
    // As if the name had changed its address since.
    let sample = cold(&plan, &guarded, Protocol::H1, port).await;
    assert_fails(&sample, FailureKind::AddressForbidden);
    assert_eq!(sample.marks.at(Mark::ConnectStart), None, "nothing was dialled");
}
