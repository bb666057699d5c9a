//! HTTP/1.1 and HTTP/2 over TCP, with TLS or without: carries a router, within bounds.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::api::ClientAddress;

/// Most connections at a time of one listener.
const MOST_CONNECTIONS: usize = 512;
/// Longest TLS handshake.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);
/// Longest wait for a request's header section, also between requests of one connection.
const LONGEST_HEADERS: Duration = Duration::from_secs(30);
/// Age at which a connection is asked to end; requests in progress are finished.
const OLDEST_CONNECTION: Duration = Duration::from_mins(10);
/// How long requests in progress may take once the server is ending.
const GRACE: Duration = Duration::from_secs(3);
/// Longest header section, in bytes.
const MOST_HEADER_BYTES: u32 = 32 << 10;
/// Pause after a failed accept, such as for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often an idle HTTP/2 peer is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Serves `router` on `listener` until `ending`, then lets requests in progress finish. With `tls`, the protocol is what
/// ALPN selected; without, it is HTTP/1.1.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    ending: CancellationToken,
) {
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            break;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (tls, router, ending) = (tls.clone(), router.clone(), ending.clone());
        connections.spawn(async move {
            connection(stream, peer, tls, router, ending).await;
            drop(place);
        });
    }
    connections.close();
    connections.wait().await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    router: Router,
    ending: CancellationToken,
) {
    // Without it a small answer waits for the peer's delayed ACK: 40 ms that would be measured as ours.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let Some(tls) = tls else {
        return http_1(stream, peer, router, ending).await;
    };
    match tokio::time::timeout(LONGEST_HANDSHAKE, tls.accept(stream)).await {
        Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
            http_2(stream, peer, router, ending).await;
        }
        Ok(Ok(stream)) => http_1(stream, peer, router, ending).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn http_1(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    router: Router,
    ending: CancellationToken,
) {
    let service = service_fn(move |request| answer(router.clone(), peer, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST_HEADERS)
        .max_buf_size(MOST_HEADER_BYTES as usize)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        result = connection.as_mut() => result,
        () = asked_to_end(&ending) => {
            connection.as_mut().graceful_shutdown();
            last_requests(connection, &ending).await
        }
    };
    log_end(ended);
}

async fn http_2(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    router: Router,
    ending: CancellationToken,
) {
    let service = service_fn(move |request| answer(router.clone(), peer, request));
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_INTERVAL)
        .max_concurrent_streams(64)
        .max_header_list_size(MOST_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        result = connection.as_mut() => result,
        () = asked_to_end(&ending) => {
            connection.as_mut().graceful_shutdown();
            last_requests(connection, &ending).await
        }
    };
    log_end(ended);
}

async fn asked_to_end(ending: &CancellationToken) {
    tokio::select! {
        () = ending.cancelled() => {}
        () = tokio::time::sleep(OLDEST_CONNECTION) => {}
    }
}

/// What is in progress: as long as it takes while the server goes on, [`GRACE`] once it is ending.
async fn last_requests(
    connection: impl Future<Output = hyper::Result<()>>,
    ending: &CancellationToken,
) -> hyper::Result<()> {
    let too_late = async {
        ending.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        result = connection => result,
        () = too_late => Ok(()),
        () = tokio::time::sleep(OLDEST_CONNECTION) => Ok(()),
    }
}

fn log_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn answer(
    router: Router,
    peer: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(ClientAddress(peer));
    router.oneshot(request.map(Body::new)).await
}
