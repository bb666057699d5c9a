//! HTTP/3 over QUIC: carries a router, within bounds.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use bytes::{Buf as _, Bytes};
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream};
use http::header::{CONTENT_LENGTH, DATE};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime, TransportConfig, VarInt};
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::api::ClientAddress;
use crate::probe::net::clock;

/// Most connections at a time. From half of it on, new peers must first prove their address (Retry).
const MOST_CONNECTIONS: usize = 256;
/// Longest QUIC handshake, and longest wait for a request's header section.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection without any packet lives.
const LONGEST_IDLE_MS: u32 = 30_000;
/// Most requests at a time on one connection.
const MOST_REQUESTS: u32 = 64;
/// Longest header section, in bytes.
const MOST_HEADER_BYTES: u64 = 32 << 10;
/// How much of a request body may be under way at a time, in bytes.
const RECEIVE_WINDOW: u32 = 256 << 10;
/// How long requests in progress may take once the server is ending.
const GRACE: Duration = Duration::from_secs(3);
/// How long the rest of a request that needs no body is read, so that the peer is not told to stop sending it.
const LONGEST_REST: Duration = Duration::from_secs(1);

type Stream<S> = RequestStream<S, Bytes>;
type SendHalf = Stream<h3_quinn::SendStream<Bytes>>;
type ReceiveHalf = Stream<h3_quinn::RecvStream>;

/// Why HTTP/3 is not served.
#[derive(Debug, Error)]
pub enum QuicError {
    /// The TLS configuration does not suit QUIC.
    #[error("TLS configuration: {0}")]
    Tls(#[from] quinn::crypto::rustls::NoInitialCipherSuite),
    /// The socket does not.
    #[error("UDP socket: {0}")]
    Socket(#[from] io::Error),
}

/// An endpoint on `socket` with `tls`, which must select `h3`. To be called within a runtime.
///
/// # Errors
/// When socket or configuration are not suitable.
pub fn endpoint(socket: UdpSocket, tls: rustls::ServerConfig) -> Result<Endpoint, QuicError> {
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(Some(VarInt::from_u32(LONGEST_IDLE_MS).into()))
        .max_concurrent_bidi_streams(MOST_REQUESTS.into())
        .max_concurrent_uni_streams(8_u32.into())
        .stream_receive_window(RECEIVE_WINDOW.into())
        .receive_window((4 * RECEIVE_WINDOW).into())
        .datagram_receive_buffer_size(None);
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config
        .transport_config(Arc::new(transport))
        .max_incoming(MOST_CONNECTIONS);
    socket.set_nonblocking(true)?;
    Ok(Endpoint::new(
        EndpointConfig::default(),
        Some(config),
        socket,
        Arc::new(TokioRuntime),
    )?)
}

/// Serves `router` on `endpoint` until `ending`, then lets requests in progress finish.
pub async fn serve(endpoint: Endpoint, router: Router, ending: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            () = ending.cancelled() => break,
        };
        let Some(incoming) = incoming else { break };
        let open = endpoint.open_connections();
        if open >= MOST_CONNECTIONS {
            incoming.refuse();
        } else if open >= MOST_CONNECTIONS / 2 && !incoming.remote_address_validated() {
            if let Err(error) = incoming.retry() {
                tracing::debug!(%error, "a Retry could not be sent");
            }
        } else {
            connections.spawn(connection(incoming, router.clone(), ending.clone()));
        }
    }
    connections.close();
    connections.wait().await;
    endpoint.close(VarInt::from_u32(0x100), b"the server is ending");
    if tokio::time::timeout(GRACE, endpoint.wait_idle()).await.is_err() {
        tracing::debug!("some QUIC connections did not end in time");
    }
}

async fn connection(incoming: Incoming, router: Router, ending: CancellationToken) {
    let peer = incoming.remote_address();
    let connection = match tokio::time::timeout(LONGEST_HANDSHAKE, incoming).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return tracing::debug!(%error, "a QUIC handshake failed"),
        Err(_) => return tracing::debug!("a QUIC handshake took too long"),
    };
    let mut builder = h3::server::builder();
    builder
        .send_grease(false)
        .max_field_section_size(MOST_HEADER_BYTES);
    let mut connection = match builder.build(h3_quinn::Connection::new(connection)).await {
        Ok(connection) => connection,
        Err(error) => return tracing::debug!(%error, "an HTTP/3 connection could not be set up"),
    };
    let requests = TaskTracker::new();
    let mut too_late = std::pin::pin!(async {
        ending.cancelled().await;
        tokio::time::sleep(GRACE).await;
    });
    let mut going_away = false;
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Ok(Some(resolver)) => {
                    requests.spawn(request(resolver, peer, router.clone()));
                }
                Ok(None) => break,
                Err(error) if error.is_h3_no_error() => break,
                Err(error) => break tracing::debug!(%error, "an HTTP/3 connection ended early"),
            },
            () = ending.cancelled(), if !going_away => {
                going_away = true;
                if connection.shutdown(0).await.is_err() || requests.is_empty() {
                    break;
                }
            }
            () = &mut too_late => break,
        }
    }
}

async fn request(resolver: RequestResolver<h3_quinn::Connection, Bytes>, peer: SocketAddr, router: Router) {
    let resolved = tokio::time::timeout(LONGEST_HANDSHAKE, resolver.resolve_request()).await;
    let Ok(Ok((head, stream))) = resolved else {
        return tracing::debug!("an HTTP/3 request did not come");
    };
    let (send, receive) = stream.split();
    let has_no_body = matches!(
        *head.method(),
        Method::GET | Method::HEAD | Method::OPTIONS | Method::DELETE
    );
    let (body, rest) = if has_no_body {
        (Body::empty(), Some(receive))
    } else {
        (request_body(receive), None)
    };
    let is_head = head.method() == Method::HEAD;
    let mut request: Request<Body> = head.map(|()| body);
    request.extensions_mut().insert(ClientAddress(peer));
    let Ok(response) = router.oneshot(request).await;
    if let Err(error) = respond(send, response, is_head).await {
        tracing::debug!(%error, "an HTTP/3 response was not taken");
    }
    if let Some(receive) = rest
        && tokio::time::timeout(LONGEST_REST, read_rest(receive))
            .await
            .is_err()
    {
        tracing::debug!("an HTTP/3 request did not end");
    }
}

async fn respond(
    mut stream: SendHalf,
    response: Response,
    is_head: bool,
) -> Result<(), h3::error::StreamError> {
    let (mut head, mut body) = response.into_parts();
    // What hyper does for the other protocols.
    if head.status == StatusCode::NO_CONTENT {
        head.headers.remove(CONTENT_LENGTH);
    } else if let Some(length) = body.size_hint().exact().filter(|length| !is_head && *length > 0) {
        head.headers.entry(CONTENT_LENGTH).or_insert(length.into());
    }
    let since_1970 = Duration::from_secs(clock::unix_seconds().try_into().unwrap_or(0));
    let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since_1970);
    head.headers
        .extend(HeaderValue::from_str(&date).ok().map(|date| (DATE, date)));
    stream.send_response(Response::from_parts(head, ())).await?;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            // What is missing must not look like the end.
            stream.stop_stream(Code::H3_INTERNAL_ERROR);
            return Ok(());
        };
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            stream.send_data(data).await?;
        }
    }
    stream.finish().await
}

fn request_body(receive: ReceiveHalf) -> Body {
    Body::from_stream(futures_util::stream::unfold(Some(receive), async |receive| {
        let mut receive = receive?;
        match receive.recv_data().await {
            Ok(Some(mut data)) => {
                let bytes = data.copy_to_bytes(data.remaining());
                drop(data);
                Some((Ok(bytes), Some(receive)))
            }
            Ok(None) => None,
            Err(error) => Some((Err(io::Error::other(error)), None)),
        }
    }))
}

/// Reads what follows a request without a body, which is its end; anything else is dropped unread.
async fn read_rest(mut receive: ReceiveHalf) {
    if let Ok(Some(_)) = receive.recv_data().await {
        tracing::debug!("an HTTP/3 request has a body that is not read");
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::routing::{get, post};
    use http::HeaderMap;
    use quinn::crypto::rustls::QuicClientConfig;

    use super::*;
    use crate::origin::certificate::Identity;

    type Client = h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>;

    /// A served router and a client of it. The endpoint lives as long as it is held.
    async fn serving(router: Router, ending: CancellationToken) -> (Client, Endpoint) {
        let identity = Identity::make(clock::unix_seconds()).unwrap();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        let server = endpoint(socket, identity.server_config(&["h3"]).unwrap()).unwrap();
        tokio::spawn(serve(server, router, ending));

        let mut roots = rustls::RootCertStore::empty();
        roots.add(identity.self_made().unwrap().der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h3".to_vec()];
        let tls = QuicClientConfig::try_from(tls).unwrap();
        let client = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let config = quinn::ClientConfig::new(Arc::new(tls));
        let connection = client
            .connect_with(config, address, "localhost")
            .unwrap()
            .await
            .unwrap();
        let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(connection))
            .await
            .unwrap();
        tokio::spawn(async move { driver.wait_idle().await });
        (requests, client)
    }

    /// Status, header fields and body of the answer; `None` for one that broke off.
    async fn ask(client: &mut Client, line: &str, body: &'static str) -> Option<(u16, HeaderMap, String)> {
        let (method, path) = line.split_once(' ').unwrap();
        let uri = format!("https://localhost{path}");
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        let mut stream = client.send_request(request).await.unwrap();
        if !body.is_empty() {
            stream
                .send_data(Bytes::from_static(body.as_bytes()))
                .await
                .unwrap();
        }
        stream.finish().await.unwrap();
        let (head, ()) = stream.recv_response().await.ok()?.into_parts();
        let mut content = Vec::new();
        while let Some(mut data) = stream.recv_data().await.ok()? {
            content.extend_from_slice(&data.copy_to_bytes(data.remaining()));
        }
        Some((
            head.status.as_u16(),
            head.headers,
            String::from_utf8(content).unwrap(),
        ))
    }

    fn router() -> Router {
        let broken = || {
            let pieces = [Ok(Bytes::from_static(b"half")), Err(io::Error::other("broke"))];
            Body::from_stream(futures_util::stream::iter(pieces))
        };
        Router::new()
            .route("/text", get(async || "text"))
            .route("/none", get(async || StatusCode::NO_CONTENT))
            .route("/long", get(async || vec![b'7'; 3 << 20]))
            .route("/echo", post(async |body: Bytes| body))
            .route("/broken", get(async move || broken()))
            .route(
                "/who",
                get(async |request: Request<Body>| {
                    let client = request.extensions().get::<ClientAddress>().unwrap().0.ip();
                    format!(
                        "{client} {:?} {}",
                        request.version(),
                        request.uri().authority().unwrap()
                    )
                }),
            )
    }

    #[tokio::test]
    async fn http_3_carries_what_the_router_answers() {
        let (mut client, _endpoint) = serving(router(), CancellationToken::new()).await;
        let (status, headers, body) = ask(&mut client, "GET /text", "").await.unwrap();
        assert_eq!((status, body.as_str()), (200, "text"));
        assert_eq!(headers["content-length"], "4");
        assert!(httpdate::parse_http_date(headers["date"].to_str().unwrap()).is_ok());
        let (_, headers, body) = ask(&mut client, "HEAD /text", "").await.unwrap();
        assert_eq!(
            (&headers["content-length"], body.as_str()),
            (&HeaderValue::from_static("4"), "")
        );
        let (_, _, body) = ask(&mut client, "GET /long", "").await.unwrap();
        assert_eq!(body.len(), 3 << 20);
        let (_, _, body) = ask(&mut client, "POST /echo", "what was sent").await.unwrap();
        assert_eq!(body, "what was sent");
        let (status, headers, _) = ask(&mut client, "GET /none", "").await.unwrap();
        assert!(status == 204 && !headers.contains_key("content-length"));
        let (status, ..) = ask(&mut client, "GET /nothing", "").await.unwrap();
        assert_eq!(status, 404);
        let (_, _, body) = ask(&mut client, "GET /who", "").await.unwrap();
        assert_eq!(body, "127.0.0.1 HTTP/3.0 localhost");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_does_not_look_whole() {
        let (mut client, _endpoint) = serving(router(), CancellationToken::new()).await;
        assert_eq!(ask(&mut client, "GET /broken", "").await, None);
        let (status, ..) = ask(&mut client, "GET /text", "").await.unwrap();
        assert_eq!(status, 200, "and the connection goes on");
    }

    #[tokio::test]
    async fn what_is_in_progress_when_the_server_ends_is_finished() {
        let ending = CancellationToken::new();
        let end = ending.clone();
        let router = Router::new().route(
            "/slow",
            get(async move || {
                end.cancel();
                tokio::time::sleep(Duration::from_millis(100)).await;
                "finished"
            }),
        );
        let (mut client, endpoint) = serving(router, ending).await;
        let (_, _, body) = ask(&mut client, "GET /slow", "").await.unwrap();
        assert_eq!(body, "finished");
        drop(client);
        endpoint.wait_idle().await;
    }
}
