//! HTTP/2 exchanges over one connection.

use std::future::poll_fn;
use std::task::Poll;

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{self, Connection, ResponseFuture, SendRequest};
use shared::{Failure, FailureKind, FailurePhase, Mark, Protocol};
use tokio::time::timeout;

use super::body::Content;
use super::connection::Exchange;
use super::events::{SharedLog, Stamp};
use super::h1::ByteStream;
use super::limits;
use super::net::clock;
use super::net::tap::{Observer, PlainTap};
use super::observe::h2::H2Frames;

type Tapped = PlainTap<Box<dyn ByteStream>, H2Frames>;

/// An HTTP/2 connection between exchanges.
pub(crate) struct H2Connection {
    sender: SendRequest<Bytes>,
    driver: Option<Connection<Tapped>>,
    observer: Observer<H2Frames>,
}

impl H2Connection {
    /// Over a stream on which `h2` was agreed.
    pub(crate) async fn new(stream: Box<dyn ByteStream>, log: SharedLog) -> Result<Self, Failure> {
        let observer = Observer::new(H2Frames::new());
        let tapped = PlainTap::new(stream, log, observer.clone());
        let (sender, driver) = client::Builder::new()
            .enable_push(false)
            .initial_window_size(limits::STREAM_WINDOW_BYTES)
            .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
            .max_header_list_size(limits::HEADER_SECTION_BYTES)
            .handshake::<_, Bytes>(tapped)
            .await
            .map_err(|error| classify(&error, FailurePhase::Send))?;
        Ok(Self {
            sender,
            driver: Some(driver),
            observer,
        })
    }

    /// One request and its response, on a stream of its own.
    pub(crate) async fn exchange(&mut self, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
        self.observer.lock().watch(0);
        let result = self.request(exchange).await;
        let observed = self.observer.lock();
        let events = observed.events();
        let recorder = &mut exchange.recorder;
        recorder.mark_if(Mark::RequestSent, events.request_sent);
        let interim = recorder.facts.interim.len();
        if interim > 0 {
            recorder.mark_if(Mark::FirstInterim, events.header_sections.first().copied());
        }
        if recorder.facts.status.is_some() {
            recorder.mark_if(Mark::Headers, events.header_sections.get(interim).copied());
        }
        // The crate answers too large a section as a protocol error.
        match result {
            Err(failure)
                if failure.phase == FailurePhase::Wait
                    && events.header_bytes > limits::HEADER_SECTION_BYTES.into() =>
            {
                Err(Failure::new(
                    FailureKind::HeadersTooLarge,
                    FailurePhase::Wait,
                    format!("more than {} bytes", limits::HEADER_SECTION_BYTES),
                ))
            }
            other => other,
        }
    }

    async fn request(&mut self, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
        let Self {
            sender,
            driver,
            observer,
        } = self;
        let ready = poll_fn(|context| sender.poll_ready(context));
        timeout(exchange.deadline.remaining(), drive(driver, ready))
            .await
            .map_err(|_elapsed| wait_timeout())?
            .map_err(|error| classify(&error, FailurePhase::Send))?;

        let request = exchange.target.request(Protocol::H2, ());
        let (mut response, _stream) = sender
            .send_request(request, true)
            .map_err(|error| classify(&error, FailurePhase::Send))?;
        observer.lock().watch(response.stream_id().as_u32());
        let interim = &mut exchange.recorder.facts.interim;
        let response = timeout(
            exchange.deadline.remaining(),
            drive(driver, final_response(&mut response, interim)),
        )
        .await
        .map_err(|_elapsed| wait_timeout())?
        .map_err(|error| classify(&error, FailurePhase::Wait))?;
        let (head, body) = response.into_parts();
        exchange
            .recorder
            .response(head.status, &head.headers, exchange.target);

        let mut content = Content::new(
            exchange.target.method,
            head.status,
            &head.headers,
            exchange.max_body_bytes,
        );
        let received = timeout(exchange.deadline.remaining(), read(driver, body, &mut content))
            .await
            .unwrap_or_else(|_elapsed| Err(exchange.read_timeout(content.encoded_bytes())));
        {
            let observed = observer.lock();
            let events = observed.events();
            if content.encoded_bytes() > 0 {
                exchange.recorder.mark_if(Mark::FirstBodyByte, events.first_data);
            }
            if received.is_ok() {
                let end = events.end.unwrap_or_else(|| Stamp::task(clock::now()));
                exchange.recorder.mark(Mark::End, end);
            }
        }
        content.finish(&mut exchange.recorder.facts, received.is_ok())?;
        received
    }
}

async fn final_response(
    response: &mut ResponseFuture,
    interim: &mut Vec<u16>,
) -> Result<http::Response<RecvStream>, h2::Error> {
    poll_fn(|context| {
        while let Poll::Ready(Some(head)) = response.poll_informational(context) {
            if interim.len() >= limits::INTERIM_RESPONSES {
                return Poll::Ready(Err(h2::Reason::ENHANCE_YOUR_CALM.into()));
            }
            interim.push(head?.status().as_u16());
        }
        std::pin::Pin::new(&mut *response).poll(context)
    })
    .await
}

async fn read(
    driver: &mut Option<Connection<Tapped>>,
    mut body: RecvStream,
    content: &mut Content,
) -> Result<(), Failure> {
    let download = |error: h2::Error| classify(&error, FailurePhase::Download);
    loop {
        let Some(piece) = drive(driver, poll_fn(|context| body.poll_data(context))).await else {
            return Ok(());
        };
        let piece = piece.map_err(download)?;
        body.flow_control()
            .release_capacity(piece.len())
            .map_err(download)?;
        content.push(piece)?;
    }
}

/// Polls the connection and then `future`, in this task: what the connection read surfaces at once.
async fn drive<F: Future>(driver: &mut Option<Connection<Tapped>>, future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    poll_fn(|context| {
        if let Some(connection) = driver
            && let Poll::Ready(ended) = std::pin::Pin::new(connection).poll(context)
        {
            // The stream's own future says what went wrong.
            tracing::trace!(?ended, "the HTTP/2 connection ended");
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

fn classify(error: &h2::Error, phase: FailurePhase) -> Failure {
    let kind = match (error.is_io(), phase) {
        (true, FailurePhase::Download) => FailureKind::BodyTruncated,
        (true, _) => FailureKind::ConnectionClosed,
        (false, _) if error.is_go_away() && error.is_remote() => FailureKind::ConnectionClosed,
        (false, _) => FailureKind::H2Protocol,
    };
    Failure::new(kind, phase, error.to_string())
}
