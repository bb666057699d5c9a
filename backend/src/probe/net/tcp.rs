//! A TCP stream that stamps each read and write around its system call.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::clock;
use super::tcp_info::TcpInfoReader;
use crate::probe::events::{SharedLog, Stamp};

/// The stream that TLS, or HTTP/1.1 without TLS, runs over.
#[derive(Debug)]
pub(crate) struct StampedTcp {
    stream: TcpStream,
    log: SharedLog,
}

impl StampedTcp {
    /// Stamps what crosses `stream` into `log`.
    pub(crate) fn new(stream: TcpStream, log: SharedLog) -> Self {
        Self { stream, log }
    }

    /// A reader of the kernel's statistics that outlives the stream.
    pub(crate) fn info(&self) -> TcpInfoReader {
        TcpInfoReader::of(&self.stream)
    }
}

impl AsyncRead for StampedTcp {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        self.log.lock().on_received(read, Stamp::syscall(clock::now()));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for StampedTcp {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let before = Stamp::syscall(clock::now());
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.log.lock().on_sent(written, before);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
