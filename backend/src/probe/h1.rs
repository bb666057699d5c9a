//! HTTP/1.1 exchanges over one connection.

use std::error::Error as _;
use std::future::poll_fn;
use std::io;
use std::task::Poll;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::ext::on_informational;
use hyper_util::rt::TokioIo;
use shared::{Failure, FailureKind, FailurePhase, Mark, Protocol};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::time::timeout;

use super::body::Content;
use super::connection::Exchange;
use super::events::{SharedLog, Stamp};
use super::limits;
use super::net::clock;
use super::net::tap::{Observer, PlainTap};
use super::observe::h1::H1Message;

/// Boxed, so that the connection has one type with and without TLS.
pub(crate) trait ByteStream: AsyncBufRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncBufRead + AsyncWrite + Unpin + Send> ByteStream for S {}

type Tapped = TokioIo<PlainTap<Box<dyn ByteStream>, H1Message>>;

/// An HTTP/1.1 connection between exchanges.
pub(crate) struct H1Connection {
    sender: http1::SendRequest<Empty<Bytes>>,
    driver: Option<http1::Connection<Tapped, Empty<Bytes>>>,
    observer: Observer<H1Message>,
    log: SharedLog,
}

impl H1Connection {
    /// Over a stream that is ready for the first request.
    pub(crate) async fn new(stream: Box<dyn ByteStream>, log: SharedLog) -> Result<Self, Failure> {
        let observer = Observer::new(H1Message::default());
        let tapped = TokioIo::new(PlainTap::new(stream, log.clone(), observer.clone()));
        let (sender, driver) = http1::Builder::new()
            .max_header_size(limits::HEADER_SECTION_BYTES as usize)
            .handshake(tapped)
            .await
            .map_err(|error| classify(&error, FailurePhase::Send))?;
        Ok(Self {
            sender,
            driver: Some(driver),
            observer,
            log,
        })
    }

    /// One request and its response.
    pub(crate) async fn exchange(&mut self, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
        *self.observer.lock() = H1Message::default();
        let result = self.request(exchange).await;
        let observed = self.observer.lock();
        exchange
            .recorder
            .mark_if(Mark::RequestSent, observed.request_sent);
        exchange
            .recorder
            .mark_if(Mark::FirstInterim, observed.first_interim);
        exchange.recorder.mark_if(Mark::Headers, observed.headers);
        result
    }

    async fn request(&mut self, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
        let Self {
            sender,
            driver,
            observer,
            log,
        } = self;
        let remaining = exchange.deadline.remaining();
        timeout(remaining, drive(driver, sender.ready()))
            .await
            .map_err(|_elapsed| wait_timeout())?
            .map_err(|error| classify(&error, FailurePhase::Send))?;

        let mut request = exchange.target.request(Protocol::H1, Empty::<Bytes>::new());
        let interim = Observer::new(Vec::new());
        let seen = interim.clone();
        on_informational(&mut request, move |response| {
            let mut seen = seen.lock();
            if seen.len() < limits::INTERIM_RESPONSES {
                seen.push(response.status().as_u16());
            }
        });
        let response = timeout(
            exchange.deadline.remaining(),
            drive(driver, sender.send_request(request)),
        )
        .await;
        exchange.recorder.facts.interim.clone_from(&interim.lock());
        let response = response
            .map_err(|_elapsed| wait_timeout())?
            .map_err(|error| classify(&error, FailurePhase::Wait))?;
        let (head, body) = response.into_parts();
        exchange
            .recorder
            .response(head.status, &head.headers, exchange.target);

        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failure::new(
                FailureKind::H1Protocol,
                FailurePhase::Wait,
                "101 Switching Protocols, although no upgrade was asked for (RFC 9110, section 15.2.2)",
            ));
        }

        let mut content = Content::new(
            exchange.target.method,
            head.status,
            &head.headers,
            exchange.max_body_bytes,
        );
        let received = timeout(exchange.deadline.remaining(), read(driver, body, &mut content))
            .await
            .unwrap_or_else(|_elapsed| Err(exchange.read_timeout(content.encoded_bytes())));
        let ends_with_connection = !head.headers.contains_key(http::header::CONTENT_LENGTH)
            && !head.headers.contains_key(http::header::TRANSFER_ENCODING);
        {
            let observed = observer.lock();
            if content.encoded_bytes() > 0 {
                exchange
                    .recorder
                    .mark_if(Mark::FirstBodyByte, observed.first_content);
            }
            if received.is_ok() {
                let closed = log
                    .lock()
                    .closed
                    .filter(|_| ends_with_connection && content.encoded_bytes() > 0);
                let end = closed.or(observed.last);
                exchange
                    .recorder
                    .mark(Mark::End, end.unwrap_or_else(|| Stamp::task(clock::now())));
            }
        }
        content.finish(&mut exchange.recorder.facts, received.is_ok())?;
        received
    }
}

async fn read(
    driver: &mut Option<http1::Connection<Tapped, Empty<Bytes>>>,
    mut body: Incoming,
    content: &mut Content,
) -> Result<(), Failure> {
    while let Some(frame) = drive(driver, body.frame()).await {
        let frame = frame.map_err(|error| classify(&error, FailurePhase::Download))?;
        if let Ok(piece) = frame.into_data() {
            content.push(piece)?;
        }
    }
    Ok(())
}

/// Polls the connection and then `future`, in this task: what the connection read surfaces at once.
async fn drive<F: Future>(
    driver: &mut Option<http1::Connection<Tapped, Empty<Bytes>>>,
    future: F,
) -> F::Output {
    let mut future = std::pin::pin!(future);
    poll_fn(|context| {
        if let Some(connection) = driver
            && let Poll::Ready(ended) = connection.poll_without_shutdown(context)
        {
            // The request's own future says what went wrong.
            tracing::trace!(?ended, "the HTTP/1.1 connection ended");
            *driver = None;
        }
        future.as_mut().poll(context)
    })
    .await
}

fn wait_timeout() -> Failure {
    Failure::new(
        FailureKind::WaitTimeout,
        FailurePhase::Wait,
        "no header section before the deadline",
    )
}

fn classify(error: &hyper::Error, phase: FailurePhase) -> Failure {
    let io = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    let in_body = phase == FailurePhase::Download;
    let kind = if error.is_parse_too_large() {
        FailureKind::HeadersTooLarge
    } else if error.is_parse() || (!in_body && io.is_some_and(|io| io.kind() == io::ErrorKind::InvalidData)) {
        FailureKind::H1Protocol
    } else if in_body {
        FailureKind::BodyTruncated
    } else {
        FailureKind::ConnectionClosed
    };
    let detail = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    Failure::new(kind, phase, detail)
}
