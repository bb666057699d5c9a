//! A UDP socket under QUIC that stamps each datagram around its system call and notices ICMP refusals.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::clock;
use crate::probe::events::{SharedLog, Stamp};

/// A socket for one QUIC connection to one peer.
///
/// Segmentation offload is off in both directions, so that one datagram has one stamp.
pub(crate) struct StampedUdp {
    socket: UdpSocket,
    state: UdpSocketState,
    log: SharedLog,
    pause: Mutex<Option<Pause>>,
}

/// Lets every other task run before it completes.
type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

impl StampedUdp {
    /// A socket that can reach `peer`. On Linux it is connected, since a connected socket is told of ICMP errors; other
    /// systems do not allow an address with each datagram then.
    pub(crate) fn new(peer: SocketAddr, log: SharedLog) -> io::Result<Self> {
        let local = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = std::net::UdpSocket::bind(local)?;
        let state = UdpSocketState::new((&socket).into())?;
        socket.set_nonblocking(true)?;
        offload::disable_receive_merging(&socket)?;
        if cfg!(target_os = "linux") {
            socket.connect(peer)?;
        }
        let socket = UdpSocket::from_std(socket)?;
        Ok(Self {
            socket,
            state,
            log,
            pause: Mutex::default(),
        })
    }

    fn pause(&self) -> MutexGuard<'_, Option<Pause>> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll_pause(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut pause = self.pause();
        if let Some(pending) = pause.as_mut() {
            ready!(pending.as_mut().poll(context));
            *pause = None;
            drop(pause);
            self.log.on_processed();
        }
        Poll::Ready(())
    }

    /// A refusal is noted for the driver and hidden from QUIC, which could only lose its endpoint over it.
    fn is_refusal(&self, error: &io::Error) -> bool {
        let refused = error.kind() == io::ErrorKind::ConnectionRefused;
        if refused {
            self.log.refuse(Stamp::syscall(clock::now()));
        }
        refused
    }
}

impl fmt::Debug for StampedUdp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StampedUdp")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

impl AsyncUdpSocket for StampedUdp {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Writable { socket: self })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let before = Stamp::syscall(clock::now());
        let sent = self.socket.try_io(Interest::WRITABLE, || {
            self.state.try_send((&self.socket).into(), transmit)
        });
        match sent {
            Ok(()) => {
                self.log.lock().on_datagram_sent(transmit.contents, before);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            Err(error) => {
                // As with a datagram lost on the way: QUIC recovers, or its deadline ends it.
                if !self.is_refusal(&error) {
                    tracing::debug!(%error, "a datagram was not sent");
                }
                Ok(())
            }
        }
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_pause(context));
        let step = self.log.lock().step;
        // A datagram alone, and then a pause in which QUIC and the driver see what it brings: else the driver would find
        // the stamp of a later one.
        let at_once = if step { 1 } else { buffers.len().min(metas.len()) };
        let (buffers, metas) = (&mut buffers[..at_once], &mut metas[..at_once]);
        loop {
            ready!(self.socket.poll_recv_ready(context))?;
            let received = self.socket.try_io(Interest::READABLE, || {
                self.state.recv((&self.socket).into(), buffers, metas)
            });
            match received {
                Ok(count) => {
                    let stamp = Stamp::syscall(clock::now());
                    let mut log = self.log.lock();
                    for (buffer, meta) in buffers.iter().zip(metas.iter()).take(count) {
                        log.on_datagram_received(buffer.get(..meta.len).unwrap_or_default(), stamp);
                    }
                    if step {
                        *self.pause() = Some(Box::pin(tokio::task::yield_now()));
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if self.is_refusal(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

/// Waits until the socket takes another datagram.
struct Writable {
    socket: Arc<StampedUdp>,
}

impl fmt::Debug for Writable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writable").finish_non_exhaustive()
    }
}

impl UdpPoller for Writable {
    fn poll_writable(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.socket.poll_send_ready(context)
    }
}

#[cfg(target_os = "linux")]
mod offload {
    use std::io;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    /// quinn-udp asks the kernel to merge datagrams (UDP_GRO); merged ones would share a stamp and not fit our buffers.
    #[expect(unsafe_code, reason = "no crate of ours wraps setsockopt(UDP_GRO)")]
    pub(super) fn disable_receive_merging(socket: &UdpSocket) -> io::Result<()> {
        let off: libc::c_int = 0;
        let length = libc::socklen_t::try_from(size_of_val(&off)).map_err(io::Error::other)?;
        // SAFETY: the descriptor is open for the call, and the kernel reads `length` bytes from `off`, which are its size.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_UDP,
                libc::UDP_GRO,
                (&raw const off).cast(),
                length,
            )
        };
        // Kernels before 5.0 do not know the option, and do not merge.
        if result == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::ENOPROTOOPT) {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod offload {
    use std::io;
    use std::net::UdpSocket;

    pub(super) fn disable_receive_merging(_socket: &UdpSocket) -> io::Result<()> {
        Ok(())
    }
}
