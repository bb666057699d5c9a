//! UDP ports behind which no QUIC is.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// A bound UDP port. Ends when dropped.
pub struct UdpPort {
    /// Where it is.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl UdpPort {
    /// An `https` URL of it, by name.
    pub fn url(&self) -> String {
        format!("https://localhost:{}/", self.address.port())
    }
}

impl Drop for UdpPort {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Takes every datagram and never answers, like a firewall that drops.
///
/// # Panics
/// When no port can be bound.
pub async fn silent_udp() -> UdpPort {
    start(None).await
}

/// Answers every datagram with bytes that are not QUIC.
///
/// # Panics
/// When no port can be bound.
pub async fn garbage_udp() -> UdpPort {
    start(Some(b"this is not QUIC; it is a line of text of no meaning")).await
}

async fn start(answer: Option<&'static [u8]>) -> UdpPort {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = socket.local_addr().expect("its address");
    let task = tokio::spawn(async move {
        let mut datagram = [0; 2048];
        while let Ok((_, peer)) = socket.recv_from(&mut datagram).await {
            if let Some(answer) = answer {
                // The peer may have gone; the next datagram is answered all the same.
                let _peer_gone = socket.send_to(answer, peer).await;
            }
        }
    });
    UdpPort { address, task }
}
