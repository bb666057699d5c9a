//! A stream that shows its plaintext to an observer, above TLS.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use super::clock;
use crate::probe::events::{SharedLog, Stamp};
use crate::probe::observe::Plaintext;

/// An observer shared between the stream, which the protocol stack owns, and the driver.
#[derive(Debug)]
pub(crate) struct Observer<O>(Arc<Mutex<O>>);

impl<O> Observer<O> {
    /// Shares `observer`.
    pub(crate) fn new(observer: O) -> Self {
        Self(Arc::new(Mutex::new(observer)))
    }

    /// The observer itself, for a moment.
    pub(crate) fn lock(&self) -> MutexGuard<'_, O> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O> Clone for Observer<O> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// The stream an HTTP stack reads and writes.
#[derive(Debug)]
pub(crate) struct PlainTap<S, O> {
    stream: S,
    log: SharedLog,
    observer: Observer<O>,
}

impl<S, O> PlainTap<S, O> {
    /// Shows what crosses `stream` to `observer`, with the stamps that the socket below wrote to `log`.
    pub(crate) fn new(stream: S, log: SharedLog, observer: Observer<O>) -> Self {
        Self {
            stream,
            log,
            observer,
        }
    }
}

/// Hands on one piece of what is buffered below at a time: a TLS record, or a socket read. Asked for a whole buffer, TLS
/// would read on until the socket is empty, and all of it would have the stamp of the last read.
impl<S: AsyncBufRead + Unpin, O: Plaintext> AsyncRead for PlainTap<S, O> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self {
            stream,
            log,
            observer,
        } = &mut *self;
        let mut stream = Pin::new(stream);
        let available = ready!(stream.as_mut().poll_fill_buf(context))?;
        let length = available.len().min(buffer.remaining());
        let piece = available.get(..length).unwrap_or_default();
        // Plaintext comes out of TLS in the read that completes its record, or later from what that read left over.
        let stamp = log.lock().received.last;
        observer
            .lock()
            .on_received(piece, stamp.unwrap_or_else(|| Stamp::task(clock::now())));
        buffer.put_slice(piece);
        stream.consume(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, O: Plaintext> AsyncWrite for PlainTap<S, O> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let before = clock::now();
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        // TLS writes its records through at once; only a full socket buffer makes it keep them.
        let stamp = self.log.lock().sent.last.filter(|stamp| stamp.at >= before);
        self.observer.lock().on_sent(
            bytes.get(..written).unwrap_or_default(),
            stamp.unwrap_or_else(|| Stamp::task(before)),
        );
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
