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
use http::{HeaderValue, Method, Request};
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
    // hyper adds these two for the other protocols.
    if let Some(length) = body.size_hint().exact().filter(|length| !is_head && *length > 0) {
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
