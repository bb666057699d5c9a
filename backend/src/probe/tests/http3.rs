//! QUIC and HTTP/3: a server that writes frames by hand, so that it can also write wrong ones, and UDP ports that are
//! closed, silent or noisy.

use std::net::UdpSocket;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, ServerConfig};
use shared::{FailureKind, FailurePhase, Mark, Protocol, RttSource, StampSource};

use super::*;

/// HEADERS frames (RFC 9114) with one static QPACK field (RFC 9204, appendix A): `:status` 200 and 103.
const STATUS_200: &[u8] = &[1, 3, 0, 0, 0xd9];
const STATUS_103: &[u8] = &[1, 3, 0, 0, 0xd8];
/// A HEADERS frame whose field section has no `:status`.
const MALFORMED: &[u8] = &[1, 2, 0, 0];

fn data(payload: &[u8]) -> Vec<u8> {
    [&[0, u8::try_from(payload.len()).unwrap()], payload].concat()
}

/// Answers every request with the same bytes, and ends the stream if told to.
fn server(identity: &Identity, alpn: &[&str], pieces: Vec<Vec<u8>>, finish: bool) -> (Endpoint, u16) {
    let crypto = QuicServerConfig::try_from(identity.server(alpn)).unwrap();
    let config = ServerConfig::with_crypto(Arc::new(crypto));
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let port = endpoint.local_addr().unwrap().port();
    let accepting = endpoint.clone();
    tokio::spawn(async move {
        while let Some(incoming) = accepting.accept().await {
            let pieces = pieces.clone();
            tokio::spawn(async move {
                let Ok(connection) = incoming.await else { return };
                let mut control = connection.open_uni().await.unwrap();
                control.write_all(&[0, 4, 0]).await.unwrap();
                while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                    if receive.read_to_end(10_000).await.is_err() {
                        return;
                    }
                    for piece in &pieces {
                        if send.write_all(piece).await.is_err() {
                            return;
                        }
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    if finish {
                        send.finish().unwrap();
                    } else {
                        std::mem::forget(send);
                    }
                }
            });
        }
    });
    (endpoint, port)
}

fn url(port: u16) -> String {
    format!("https://localhost:{port}/")
}

#[tokio::test]
async fn an_exchange_has_its_marks_in_order_and_from_the_socket() {
    let identity = Identity::new();
    let pieces = vec![
        STATUS_103.to_vec(),
        STATUS_200.to_vec(),
        data(b"abc"),
        data(b"de"),
    ];
    let (_endpoint, port) = server(&identity, &["h3"], pieces, true);
    let prober = Prober::new(&patient(&url(port)), &settings(Some(&identity))).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (sample, connection) = prober.cold(Protocol::H3, address).await;
    let of_exchange = [
        Mark::RequestSent,
        Mark::FirstInterim,
        Mark::Headers,
        Mark::FirstBodyByte,
        Mark::End,
    ];
    assert_in_order(
        &sample,
        [
            Mark::ConnectStart,
            Mark::FirstPeerPacket,
            Mark::HandshakeDone,
            Mark::RequestSent,
        ],
    );
    assert_in_order(&sample, of_exchange);
    for mark in of_exchange
        .into_iter()
        .chain([Mark::ConnectStart, Mark::HandshakeDone])
    {
        assert_eq!(sample.mark_sources[&mark], StampSource::Syscall, "{mark:?}");
    }
    assert_eq!(sample.marks.at(Mark::TcpEstablished), None, "QUIC has no TCP");
    let [sent, headers, end] = times(&sample, [Mark::RequestSent, Mark::Headers, Mark::End]);
    assert!(
        headers - sent >= 5_000_000 && end - sent >= 15_000_000,
        "{:?}",
        sample.marks
    );
    let facts = &sample.facts;
    assert_eq!((facts.status, facts.encoded_bytes), (Some(200), Some(5)));
    assert_eq!(facts.interim, [103]);
    assert_eq!(facts.http_version.as_deref(), Some("h3"));
    assert_eq!(facts.min_rtt_source, Some(RttSource::QuicStack));

    let (warm, _) = prober.warm(connection.unwrap()).await;
    assert_in_order(&warm, of_exchange);
    assert_eq!(warm.marks.at(Mark::HandshakeDone), None);
}

#[tokio::test]
async fn empty_data_frames_do_not_end_a_body() {
    let identity = Identity::new();
    let body = [STATUS_200, &data(b"abc"), &data(b""), &data(b""), &data(b"de")].concat();
    let (_endpoint, port) = server(&identity, &["h3"], vec![body], true);
    let sample = cold(
        &patient(&url(port)),
        &settings(Some(&identity)),
        Protocol::H3,
        port,
    )
    .await;
    assert_in_order(&sample, [Mark::Headers, Mark::End]);
    assert_eq!(sample.facts.encoded_bytes, Some(5));
}

#[tokio::test]
async fn a_malformed_section_behind_another_one_is_a_protocol_error_and_no_panic() {
    let identity = Identity::new();
    let answer = [STATUS_103, MALFORMED].concat();
    let (_endpoint, port) = server(&identity, &["h3"], vec![answer], false);
    let failed = cold(
        &patient(&url(port)),
        &settings(Some(&identity)),
        Protocol::H3,
        port,
    )
    .await;
    assert_eq!(
        assert_fails(&failed, FailureKind::H3Protocol).phase,
        FailurePhase::Wait
    );
}

#[tokio::test]
async fn wrong_answers_are_told_apart() {
    let identity = Identity::new();
    let cases: [(&[u8], bool, FailureKind); 4] = [
        (&[0, 1, b'x'], true, FailureKind::H3Protocol),
        (&[], true, FailureKind::H3Protocol),
        (&[], false, FailureKind::WaitTimeout),
        (STATUS_200, false, FailureKind::ReadTimeout),
    ];
    for (answer, finish, kind) in cases {
        let (_endpoint, port) = server(&identity, &["h3"], vec![answer.to_vec()], finish);
        let failed = cold(&plan(&url(port)), &settings(Some(&identity)), Protocol::H3, port).await;
        assert_fails(&failed, kind);
    }
}

#[tokio::test]
async fn a_huge_header_section_is_refused() {
    let identity = Identity::new();
    // A literal field (RFC 9204, section 4.5.6) with the name `x` and a value of 100 000 bytes.
    let value = vec![b'y'; 100_000];
    let field = [&[0, 0, 0xd9, 0x21, b'x', 0x7f, 0xa1, 0x8c, 0x06][..], &value].concat();
    let length = u32::try_from(field.len()).unwrap() | 0x8000_0000;
    let frame = [&[1], &length.to_be_bytes()[..], &field].concat();
    let (_endpoint, port) = server(&identity, &["h3"], vec![frame], false);
    let failed = cold(
        &patient(&url(port)),
        &settings(Some(&identity)),
        Protocol::H3,
        port,
    )
    .await;
    assert_fails(&failed, FailureKind::HeadersTooLarge);
}

#[tokio::test]
async fn certificates_and_alpn_are_checked_as_over_tcp() {
    let identity = Identity::new();
    let (_endpoint, port) = server(&identity, &["h3"], vec![STATUS_200.to_vec()], true);
    let failed = cold(&patient(&url(port)), &settings(None), Protocol::H3, port).await;
    assert_eq!(
        assert_fails(&failed, FailureKind::TlsCertificate).phase,
        FailurePhase::Quic
    );
    let mut insecure = patient(&url(port));
    insecure.insecure = true;
    let sample = cold(&insecure, &settings(None), Protocol::H3, port).await;
    assert_in_order(&sample, [Mark::HandshakeDone, Mark::End]);
    assert!(sample.facts.certificate_error.is_some());

    let (_endpoint, port) = server(&identity, &["hq-interop"], Vec::new(), true);
    let failed = cold(
        &patient(&url(port)),
        &settings(Some(&identity)),
        Protocol::H3,
        port,
    )
    .await;
    assert_fails(&failed, FailureKind::TlsAlpn);
}

#[tokio::test]
async fn closed_silent_and_noisy_udp_ports_are_told_apart() {
    let closed = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    // Longer than the test's patience: a refusal must not wait for a deadline.
    let refused = cold(&patient(&url(closed)), &settings(None), Protocol::H3, closed).await;
    if cfg!(target_os = "linux") {
        assert_fails(&refused, FailureKind::ConnectRefused);
    } else {
        assert_fails(&refused, FailureKind::UdpNoAnswer);
    }

    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let failed = cold(&plan(&url(port)), &settings(None), Protocol::H3, port).await;
    assert_fails(&failed, FailureKind::UdpNoAnswer);
    assert!(
        failed.marks.at(Mark::ConnectStart).is_some(),
        "an Initial was sent"
    );

    let noisy = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = noisy.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut datagram = [0; 2000];
        loop {
            let (_, peer) = noisy.recv_from(&mut datagram).await.unwrap();
            noisy.send_to(b"\x40 what?", peer).await.unwrap();
        }
    });
    let failed = cold(&plan(&url(port)), &settings(None), Protocol::H3, port).await;
    assert_fails(&failed, FailureKind::QuicTimeout);
}
