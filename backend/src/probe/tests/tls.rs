//! TLS over TCP, and HTTP/2 on it: certificates, ALPN, and ports that speak something else.

use shared::{FailureKind, FailurePhase, Mark, Protocol, StampSource};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

/// Serves over TLS: HTTP/2 where it was agreed, else a fixed HTTP/1.1 answer to each connection.
async fn server(identity: &Identity, alpn: &[&str]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(identity.server(alpn)));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                tokio::spawn(serve_h2(stream));
            } else {
                let mut request = [0; 1024];
                // A client that was refused its protocol leaves without a request.
                if stream.read(&mut request).await.is_ok_and(|bytes| bytes > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    stream.write_all(answer).await.unwrap();
                }
            }
        }
    });
    port
}

async fn serve_h2(stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let mut response = http::Response::new(());
        if request.uri().path() == "/huge" {
            let value = http::HeaderValue::try_from("y".repeat(100_000)).unwrap();
            response.headers_mut().insert("x", value);
        }
        let mut body = respond.send_response(response, false).unwrap();
        body.send_data(vec![7; 100_000].into(), true).unwrap();
    }
}

fn url(port: u16) -> String {
    format!("https://localhost:{port}/")
}

#[tokio::test]
async fn a_trusted_server_is_measured_over_both_protocols() {
    let identity = Identity::new();
    let port = server(&identity, &["h2", "http/1.1"]).await;
    for (protocol, bytes) in [(Protocol::H1, 2), (Protocol::H2, 100_000)] {
        let sample = cold(&patient(&url(port)), &settings(Some(&identity)), protocol, port).await;
        assert_in_order(
            &sample,
            [
                Mark::ConnectStart,
                Mark::TcpEstablished,
                Mark::FirstPeerPacket,
                Mark::HandshakeDone,
                Mark::RequestSent,
                Mark::Headers,
                Mark::FirstBodyByte,
                Mark::End,
            ],
        );
        for mark in [Mark::HandshakeDone, Mark::RequestSent, Mark::Headers, Mark::End] {
            assert_eq!(
                sample.mark_sources[&mark],
                StampSource::Syscall,
                "{protocol} {mark:?}"
            );
        }
        let facts = &sample.facts;
        assert_eq!(facts.http_version.as_deref(), Some(protocol.alpn()));
        assert_eq!(facts.tls_version.as_deref(), Some("TLSv1.3"));
        assert!(facts.tls_cipher.is_some() && facts.tls_group.is_some());
        assert_eq!(facts.encoded_bytes, Some(bytes));
        assert_eq!(facts.certificate_count, Some(1));
        assert_eq!(facts.public_root, Some(false));
        assert_eq!(facts.certificate_error, None);
    }
}

#[tokio::test]
async fn further_exchanges_on_one_http2_connection_are_streams_of_their_own() {
    let identity = Identity::new();
    let port = server(&identity, &["h2"]).await;
    let prober = Prober::new(&patient(&url(port)), &settings(Some(&identity))).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (_, mut connection) = prober.cold(Protocol::H2, address).await;
    for _warm in 0..3 {
        let (sample, open) = prober.warm(connection.take().unwrap()).await;
        assert_in_order(
            &sample,
            [
                Mark::Start,
                Mark::RequestSent,
                Mark::Headers,
                Mark::FirstBodyByte,
                Mark::End,
            ],
        );
        assert_eq!(sample.facts.encoded_bytes, Some(100_000));
        connection = open;
    }
}

#[tokio::test]
async fn a_huge_header_section_is_refused() {
    let identity = Identity::new();
    let port = server(&identity, &["h2"]).await;
    let plan = patient(&format!("https://localhost:{port}/huge"));
    let failed = cold(&plan, &settings(Some(&identity)), Protocol::H2, port).await;
    assert_fails(&failed, FailureKind::HeadersTooLarge);
}

#[tokio::test]
async fn an_untrusted_certificate_fails_unless_told_to_go_on() {
    let identity = Identity::new();
    let port = server(&identity, &["http/1.1"]).await;
    let failed = cold(&patient(&url(port)), &settings(None), Protocol::H1, port).await;
    assert_eq!(
        assert_fails(&failed, FailureKind::TlsCertificate).phase,
        FailurePhase::Tls
    );
    let mut insecure = patient(&url(port));
    insecure.insecure = true;
    let sample = cold(&insecure, &settings(None), Protocol::H1, port).await;
    assert_in_order(&sample, [Mark::HandshakeDone, Mark::End]);
    assert!(sample.facts.certificate_error.is_some());
}

#[tokio::test]
async fn a_certificate_for_another_name_fails() {
    let identity = Identity::new();
    let port = server(&identity, &["http/1.1"]).await;
    let plan = patient(&format!("https://other.localhost:{port}/"));
    let failed = cold(&plan, &settings(Some(&identity)), Protocol::H1, port).await;
    assert!(
        assert_fails(&failed, FailureKind::TlsCertificate)
            .detail
            .contains("host name")
    );
}

#[tokio::test]
async fn a_server_without_the_protocol_is_not_measured_over_another() {
    let identity = Identity::new();
    let trusting = settings(Some(&identity));
    let only_h1 = server(&identity, &["http/1.1"]).await;
    let without_alpn = server(&identity, &[]).await;
    for port in [only_h1, without_alpn] {
        let failed = cold(&patient(&url(port)), &trusting, Protocol::H2, port).await;
        let failure = assert_fails(&failed, FailureKind::TlsAlpn);
        assert!(
            failure.detail.starts_with("server did not select h2"),
            "{failure:?}"
        );
        let sample = cold(&patient(&url(port)), &trusting, Protocol::H1, port).await;
        assert_eq!(sample.failure, None, "HTTP/1.1 needs no ALPN");
    }
}

#[tokio::test]
async fn a_port_that_is_not_tls_says_so_and_a_silent_one_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut chatty, _) = listener.accept().await.unwrap();
        chatty.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
        let silent = listener.accept().await.unwrap();
        std::future::pending::<()>().await;
        drop((chatty, silent));
    });
    let failed = cold(&plan(&url(port)), &settings(None), Protocol::H1, port).await;
    assert_fails(&failed, FailureKind::TlsFailure);
    let failed = cold(&plan(&url(port)), &settings(None), Protocol::H1, port).await;
    assert_fails(&failed, FailureKind::TlsTimeout);
}
