//! The one place that opens connections, behind the guard.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use shared::{Failure, FailureKind, FailurePhase};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::clock;
use super::tcp::StampedTcp;
use super::udp::StampedUdp;
use crate::probe::events::{SharedLog, Stamp};
use crate::probe::guard;

/// Opens connections to addresses that the guard lets through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialler {
    allow_private: bool,
}

/// An open TCP connection with the stamps of its opening.
pub(crate) struct Dialled {
    pub(crate) stream: StampedTcp,
    pub(crate) established: Stamp,
}

impl Dialler {
    /// With `allow_private`, also to loopback, private and reserved addresses.
    pub(crate) fn new(allow_private: bool) -> Self {
        Self { allow_private }
    }

    /// Whether `address` may be dialled.
    pub(crate) fn check(self, address: SocketAddr) -> Result<(), guard::Forbidden> {
        if self.allow_private {
            return Ok(());
        }
        guard::check(address.ip())
    }

    fn guard(self, address: SocketAddr) -> Result<(), Failure> {
        self.check(address).map_err(|forbidden| {
            Failure::new(
                FailureKind::AddressForbidden,
                FailurePhase::Start,
                forbidden.to_string(),
            )
        })
    }

    /// A TCP connection; `on_start` is given the stamp taken just before the SYN.
    pub(crate) async fn tcp(
        self,
        address: SocketAddr,
        limit: Duration,
        log: SharedLog,
        on_start: impl FnOnce(Stamp),
    ) -> Result<Dialled, Failure> {
        self.guard(address)?;
        let fail = |error: &io::Error| connect_failure(error, FailurePhase::Tcp);
        let socket = tcp_socket(address).map_err(|error| fail(&error))?;
        on_start(Stamp::syscall(clock::now()));
        let connected = timeout(limit, socket.connect(address)).await;
        let established = Stamp::task(clock::now());
        let stream: TcpStream = match connected {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(fail(&error)),
            Err(_elapsed) => {
                return Err(Failure::new(
                    FailureKind::ConnectTimeout,
                    FailurePhase::Tcp,
                    format!("no answer from {address} within {} ms", limit.as_millis()),
                ));
            }
        };
        Ok(Dialled {
            stream: StampedTcp::new(stream, log),
            established,
        })
    }

    /// A UDP socket for QUIC to `address`. Nothing is sent yet.
    pub(crate) fn udp(self, address: SocketAddr, log: SharedLog) -> Result<StampedUdp, Failure> {
        self.guard(address)?;
        StampedUdp::new(address, log).map_err(|error| connect_failure(&error, FailurePhase::Quic))
    }

    /// Whether a TCP connection to `address` is accepted within `limit`: to choose among several addresses.
    pub(crate) async fn accepts_tcp(self, address: SocketAddr, limit: Duration) -> bool {
        self.tcp(address, limit, SharedLog::default(), |_stamp| {})
            .await
            .is_ok()
    }

    /// Whether this machine has a way to `address`. Nothing is sent.
    pub(crate) fn has_route(self, address: SocketAddr) -> bool {
        self.udp(address, SharedLog::default()).is_ok()
    }
}

fn tcp_socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_nodelay(true)?;
    Ok(socket)
}

fn connect_failure(error: &io::Error, phase: FailurePhase) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionRefused => FailureKind::ConnectRefused,
        io::ErrorKind::TimedOut => FailureKind::ConnectTimeout,
        io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::AddrNotAvailable => FailureKind::ConnectUnreachable,
        _ => FailureKind::ConnectFailed,
    };
    Failure::new(kind, phase, error.to_string())
}
