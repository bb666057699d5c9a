//! HTTP/3 exchanges over one connection.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use h3::client::{self, SendRequest};
use h3::error::StreamError;
use http::header::CONTENT_LENGTH;
use quinn::ConnectionError;
use shared::{Facts, Failure, FailureKind, FailurePhase, Mark, Method, Protocol, RttSource};
use tokio::time::timeout;

use super::body::Content;
use super::connection::{Agreed, Exchange, known_rtt};
use super::events::{SharedLog, Stamp};
use super::limits;
use super::net::clock;
use super::net::h3_streams::{self, Opener};
use super::quic::{self, H3_NO_ERROR, QuicConnection};

/// More than this before a header section is decoded is not a header section: a server's whole stream window may
/// arrive ahead of a lost first datagram, but no more.
const BYTES_BEFORE_HEADERS: u64 = 2 * limits::STREAM_WINDOW_BYTES as u64;

type Driver = client::Connection<h3_streams::QuicConnection, Bytes>;
type RequestStream = client::RequestStream<h3_streams::RequestStream, Bytes>;

/// An HTTP/3 connection between exchanges.
pub(crate) struct H3Connection {
    quic: QuicConnection,
    sender: SendRequest<Opener, Bytes>,
    driver: Option<Driver>,
    log: SharedLog,
}

impl H3Connection {
    /// Opens a QUIC connection and HTTP/3 on it.
    pub(crate) async fn open(
        prepared: quic::Prepared,
        address: SocketAddr,
        exchange: &mut Exchange<'_>,
        log: &SharedLog,
    ) -> Result<(Self, Agreed), Failure> {
        let (quic, agreed) = QuicConnection::open(prepared, address, exchange).await?;
        let streams = h3_streams::QuicConnection::new(quic.connection.clone());
        let mut builder = client::builder();
        builder
            .send_grease(false)
            .max_field_section_size(limits::HEADER_SECTION_BYTES.into());
        let built = timeout(exchange.deadline.remaining(), builder.build(streams)).await;
        let (driver, sender) = built
            .map_err(|_elapsed| wait_timeout())?
            .map_err(|error| connection_failure(&quic.connection, FailurePhase::Send, &error))?;
        let connection = Self {
            quic,
            sender,
            driver: Some(driver),
            log: log.clone(),
        };
        Ok((connection, agreed))
    }

    /// One request and its response, on a stream of its own.
    pub(crate) async fn exchange(&mut self, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
        let result = self.request(exchange).await;
        exchange
            .recorder
            .mark_if(Mark::HandshakeConfirmed, self.log.lock().confirmed);
        if result.is_err() {
            // Never stop_sending: the response is given up with its connection.
            self.quic.connection.close(H3_NO_ERROR, b"");
        }
        result
    }

    async fn request(&mut self, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
        let Self {
            quic,
            sender,
            driver,
            log,
        } = self;
        let connection = &quic.connection;
        let request = exchange.target.request(Protocol::H3, ());
        let send = async {
            let mut stream = sender.send_request(request).await?;
            stream.finish().await?;
            // Nothing has left yet: QUIC's task sends when this one waits.
            let mut log = log.lock();
            log.begin();
            log.step = true;
            Ok(stream)
        };
        let mut stream = timeout(exchange.deadline.remaining(), drive(driver, send))
            .await
            .map_err(|_elapsed| wait_timeout())?
            .map_err(|error| stream_failure(connection, FailurePhase::Send, &error))?;

        let waited = timeout(
            exchange.deadline.remaining(),
            final_response(&mut stream, driver, exchange, log, connection),
        )
        .await
        .unwrap_or_else(|_elapsed| Err(wait_timeout()));
        exchange
            .recorder
            .mark_if(Mark::RequestSent, log.lock().sent.first);
        let head = waited?;

        let mut content = Content::new(
            exchange.target.method,
            head.status,
            &head.headers,
            exchange.max_body_bytes,
        );
        let mut first_byte = None;
        let received = timeout(
            exchange.deadline.remaining(),
            read(
                &mut stream,
                driver,
                log,
                connection,
                &mut content,
                &mut first_byte,
            ),
        )
        .await
        .unwrap_or_else(|_elapsed| Err(exchange.read_timeout(content.encoded_bytes())));
        let received = received.and_then(|()| complete(exchange.target.method, &head.headers, &content));
        exchange.recorder.mark_if(Mark::FirstBodyByte, first_byte);
        if received.is_ok() {
            exchange.recorder.mark(Mark::End, latest(log));
        }
        content.finish(&mut exchange.recorder.facts, received.is_ok())?;
        received
    }

    /// The transport's statistics.
    pub(crate) fn describe(&self, facts: &mut Facts) {
        let path = self.quic.connection.stats().path;
        facts.min_rtt_ns = known_rtt(path.min_rtt);
        facts.min_rtt_source = facts.min_rtt_ns.map(|_| RttSource::QuicStack);
        facts.smoothed_rtt_ns = known_rtt(path.rtt);
        facts.packets_lost = Some(path.lost_packets);
    }

    /// Closes the connection.
    pub(crate) async fn close(self) {
        // The streams' handles first, else they would close it with a reason of their own.
        drop((self.driver, self.sender));
        self.quic.close().await;
    }
}

/// The stamp of the datagram that produced what has just surfaced.
fn latest(log: &SharedLog) -> Stamp {
    let last = log.lock().received.last;
    last.unwrap_or_else(|| Stamp::task(clock::now()))
}

async fn final_response(
    stream: &mut RequestStream,
    driver: &mut Option<Driver>,
    exchange: &mut Exchange<'_>,
    log: &SharedLog,
    connection: &quinn::Connection,
) -> Result<http::response::Parts, Failure> {
    loop {
        let response = drive(driver, bounded(stream.recv_response(), log)).await?;
        let stamp = latest(log);
        let response = response.map_err(|error| stream_failure(connection, FailurePhase::Wait, &error))?;
        let (head, ()) = response.into_parts();
        if !head.status.is_informational() {
            exchange.recorder.mark(Mark::Headers, stamp);
            exchange
                .recorder
                .response(head.status, &head.headers, exchange.target);
            return Ok(head);
        }
        let interim = &mut exchange.recorder.facts.interim;
        if interim.len() >= limits::INTERIM_RESPONSES {
            return Err(Failure::new(
                FailureKind::H3Protocol,
                FailurePhase::Wait,
                "too many interim responses",
            ));
        }
        interim.push(head.status.as_u16());
        if interim.len() == 1 {
            exchange.recorder.mark(Mark::FirstInterim, stamp);
        }
    }
}

/// The h3 crate keeps a header section until it is whole, whatever its length: ends the wait when too much has come.
async fn bounded<F: Future>(future: F, log: &SharedLog) -> Result<F::Output, Failure> {
    let mut future = std::pin::pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending if log.lock().received.bytes > BYTES_BEFORE_HEADERS => Poll::Ready(Err(too_large())),
        Poll::Pending => Poll::Pending,
    })
    .await
}

fn too_large() -> Failure {
    Failure::new(
        FailureKind::HeadersTooLarge,
        FailurePhase::Wait,
        format!("more than {} bytes", limits::HEADER_SECTION_BYTES),
    )
}

async fn read(
    stream: &mut RequestStream,
    driver: &mut Option<Driver>,
    log: &SharedLog,
    connection: &quinn::Connection,
    content: &mut Content,
    first_byte: &mut Option<Stamp>,
) -> Result<(), Failure> {
    loop {
        let piece = drive(driver, poll_fn(|context| poll_piece(stream, context))).await;
        let piece = piece.map_err(|error| stream_failure(connection, FailurePhase::Download, &error))?;
        let Some(piece) = piece else {
            return Ok(());
        };
        if !piece.is_empty() {
            first_byte.get_or_insert_with(|| latest(log));
            // From here on only the end is asked for, and the rate counts.
            log.lock().step = false;
        }
        content.push(piece)?;
    }
}

fn poll_piece(
    stream: &mut RequestStream,
    context: &mut Context<'_>,
) -> Poll<Result<Option<Bytes>, StreamError>> {
    stream
        .poll_recv_data(context)
        .map_ok(|piece| piece.map(|mut piece| piece.copy_to_bytes(piece.remaining())))
}

/// QUIC ends a stream that was cut like one that was not: the announced length tells (RFC 9114, section 4.1.2).
fn complete(method: Method, fields: &http::HeaderMap, content: &Content) -> Result<(), Failure> {
    let announced = fields
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse::<u64>().ok());
    match announced {
        Some(announced) if method == Method::Get && announced > content.encoded_bytes() => Err(Failure::new(
            FailureKind::BodyTruncated,
            FailurePhase::Download,
            format!("{} of {announced} bytes came", content.encoded_bytes()),
        )),
        _ => Ok(()),
    }
}

/// Polls the connection and then `future`, in this task: what the connection read surfaces at once.
async fn drive<F: Future>(driver: &mut Option<Driver>, future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    poll_fn(|context| {
        if let Some(connection) = driver
            && let Poll::Ready(ended) = connection.poll_close(context)
        {
            // The stream's own future says what went wrong.
            tracing::trace!(%ended, "the HTTP/3 connection ended");
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

fn stream_failure(connection: &quinn::Connection, phase: FailurePhase, error: &StreamError) -> Failure {
    let kind = match error {
        StreamError::HeaderTooBig { .. } => FailureKind::HeadersTooLarge,
        StreamError::RemoteTerminate { .. } if phase == FailurePhase::Download => FailureKind::BodyTruncated,
        _ => return connection_failure(connection, phase, error),
    };
    Failure::new(kind, phase, error.to_string())
}

fn connection_failure(
    connection: &quinn::Connection,
    phase: FailurePhase,
    error: &dyn std::error::Error,
) -> Failure {
    let reason = connection.close_reason();
    let kind = match &reason {
        Some(ConnectionError::ApplicationClosed(close)) if close.error_code == H3_NO_ERROR => {
            FailureKind::ConnectionClosed
        }
        Some(ConnectionError::Reset | ConnectionError::TimedOut) => FailureKind::ConnectionClosed,
        _ => FailureKind::H3Protocol,
    };
    let detail = match &reason {
        Some(reason) if !matches!(reason, ConnectionError::LocallyClosed) => format!("{error} ({reason})"),
        _ => error.to_string(),
    };
    Failure::new(kind, phase, detail)
}
