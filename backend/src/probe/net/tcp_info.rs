//! The kernel's statistics of a TCP connection (TCP_INFO, Linux).

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use shared::Nanos;
use tokio::net::TcpStream;

use super::clock;

/// What the kernel knows of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// The smallest round trip time seen; absent on kernels that do not tell.
    pub(crate) min_rtt: Option<Nanos>,
    /// The smoothed round trip time (RFC 6298).
    pub(crate) smoothed_rtt: Option<Nanos>,
    /// Segments sent again on this connection.
    pub(crate) retransmitted: u64,
}

/// Reads [`TcpInfo`], also after the protocol stack has closed its descriptor.
#[derive(Debug)]
pub(crate) struct TcpInfoReader(Option<OwnedFd>);

impl TcpInfoReader {
    /// Keeps a duplicate of the stream's descriptor.
    pub(crate) fn of(stream: &TcpStream) -> Self {
        Self(stream.as_fd().try_clone_to_owned().ok())
    }

    /// The statistics now; `None` where the platform has none.
    pub(crate) fn read(&self) -> Option<TcpInfo> {
        self.0.as_ref().and_then(platform::read)
    }
}

fn micros(value: u32) -> Option<Nanos> {
    // The kernel says 0 before the first sample and all ones for an unset minimum.
    (value != 0 && value != u32::MAX).then(|| clock::nanos(Duration::from_micros(value.into())))
}

#[cfg(target_os = "linux")]
mod platform {
    use std::mem::{MaybeUninit, offset_of, size_of};
    use std::os::fd::{AsRawFd, OwnedFd};

    use super::{TcpInfo, micros};

    #[expect(unsafe_code, reason = "no crate of ours wraps getsockopt(TCP_INFO)")]
    pub(super) fn read(descriptor: &OwnedFd) -> Option<TcpInfo> {
        let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
        let mut length = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).ok()?;
        // SAFETY: the descriptor is open for the call, and the kernel writes at most `length` bytes, the size of the
        // buffer, to the buffer and the number written to `length`.
        let result = unsafe {
            libc::getsockopt(
                descriptor.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return None;
        }
        // SAFETY: `tcp_info` is made of integers only, for which zeroed bytes are valid.
        let info = unsafe { info.assume_init() };
        let written = usize::try_from(length).ok()?;
        // An older kernel fills less than our structure has.
        let has = |offset: usize| written >= offset + size_of::<u32>();
        if !has(offset_of!(libc::tcp_info, tcpi_total_retrans)) {
            return None;
        }
        Some(TcpInfo {
            min_rtt: micros(info.tcpi_min_rtt).filter(|_| has(offset_of!(libc::tcp_info, tcpi_min_rtt))),
            smoothed_rtt: micros(info.tcpi_rtt),
            retransmitted: info.tcpi_total_retrans.into(),
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::os::fd::OwnedFd;

    use super::TcpInfo;

    pub(super) fn read(_descriptor: &OwnedFd) -> Option<TcpInfo> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_new_connection_has_a_round_trip_time_and_outlives_its_stream() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let reader = TcpInfoReader::of(&stream);
        drop(stream);
        let info = reader.read().unwrap();
        assert!(info.smoothed_rtt.is_some());
        assert_eq!(info.retransmitted, 0);
    }
}
