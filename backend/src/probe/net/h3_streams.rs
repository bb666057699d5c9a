//! QUIC streams as the h3 crate wants them, without two faults of h3 0.0.8 and h3-quinn 0.0.10: a stream is taken away
//! while a read is pending and then insisted on, a panic that a malformed response can bring about (h3 issue 330); and
//! an empty DATA frame is taken for the end of the body.

use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, SendStream as _, StreamErrorIncoming, StreamId, WriteBuf};

use crate::probe::observe::h3::FrameFilter;

/// A connection whose request streams can be stopped at any time.
pub(crate) struct QuicConnection(h3_quinn::Connection);

impl QuicConnection {
    /// Over an established connection.
    pub(crate) fn new(connection: quinn::Connection) -> Self {
        Self(h3_quinn::Connection::new(connection))
    }
}

/// Opens request streams.
pub(crate) struct Opener(h3_quinn::OpenStreams);

impl Clone for Opener {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// A request stream.
pub(crate) struct RequestStream {
    inner: h3_quinn::BidiStream<Bytes>,
    id: StreamId,
    reading: bool,
    frames: FrameFilter,
}

impl RequestStream {
    fn new(inner: h3_quinn::BidiStream<Bytes>) -> Self {
        Self {
            id: inner.send_id(),
            inner,
            reading: false,
            frames: FrameFilter::default(),
        }
    }
}

type SendStream = h3_quinn::SendStream<Bytes>;

impl quic::Connection<Bytes> for QuicConnection {
    type RecvStream = h3_quinn::RecvStream;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        quic::Connection::<Bytes>::poll_accept_recv(&mut self.0, context)
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        quic::Connection::<Bytes>::poll_accept_bidi(&mut self.0, context)
            .map(|accepted| accepted.map(RequestStream::new))
    }

    fn opener(&self) -> Self::OpenStreams {
        Opener(quic::Connection::<Bytes>::opener(&self.0))
    }
}

macro_rules! open_streams {
    ($opener:ty) => {
        impl quic::OpenStreams<Bytes> for $opener {
            type BidiStream = RequestStream;
            type SendStream = SendStream;

            fn poll_open_bidi(
                &mut self,
                context: &mut Context<'_>,
            ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
                quic::OpenStreams::<Bytes>::poll_open_bidi(&mut self.0, context)
                    .map(|opened| opened.map(RequestStream::new))
            }

            fn poll_open_send(
                &mut self,
                context: &mut Context<'_>,
            ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
                quic::OpenStreams::<Bytes>::poll_open_send(&mut self.0, context)
            }

            fn close(&mut self, code: Code, reason: &[u8]) {
                quic::OpenStreams::<Bytes>::close(&mut self.0, code, reason);
            }
        }
    };
}

open_streams!(QuicConnection);
open_streams!(Opener);

impl quic::RecvStream for RequestStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Self::Buf>, StreamErrorIncoming>> {
        loop {
            if let Some(piece) = self.frames.pop() {
                return Poll::Ready(Ok(Some(piece)));
            }
            let polled = self.inner.poll_data(context);
            self.reading = polled.is_pending();
            let Some(piece) = ready!(polled)? else {
                self.frames.end();
                return Poll::Ready(Ok(self.frames.pop()));
            };
            self.frames.push(piece);
        }
    }

    fn stop_sending(&mut self, error_code: u64) {
        // While a read is pending there is no stream to stop; the driver closes the whole connection anyway.
        if !self.reading {
            self.inner.stop_sending(error_code);
        }
    }

    fn recv_id(&self) -> StreamId {
        self.id
    }
}

impl quic::SendStream<Bytes> for RequestStream {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_ready(context)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.inner.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_finish(context)
    }

    fn reset(&mut self, reset_code: u64) {
        self.inner.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.id
    }
}

impl quic::SendStreamUnframed<Bytes> for RequestStream {
    fn poll_send<D: Buf>(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut D,
    ) -> Poll<Result<usize, StreamErrorIncoming>> {
        self.inner.poll_send(context, buffer)
    }
}
