//! A scripted server over QUIC.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, VarInt};
use rustls::ServerConfig;
use tokio::task::JoinHandle;

use super::Step;

/// The type of the control stream, then an empty SETTINGS frame (RFC 9114, sections 6.2.1 and 7.2.4).
const CONTROL_STREAM: [u8; 3] = [0, 4, 0];

/// A running server. Ends when dropped.
pub struct QuicServer {
    /// Where it listens.
    pub address: SocketAddr,
    endpoint: Endpoint,
    task: JoinHandle<()>,
}

impl QuicServer {
    /// Serves the first request stream of every connection with the script. A script that ends closes the connection
    /// with `close_code` (RFC 9114, section 8.1) when there is one, else only the stream.
    ///
    /// # Panics
    /// When no port can be bound.
    pub fn start(tls: ServerConfig, script: Vec<Step>, close_code: Option<u32>) -> Self {
        let crypto = QuicServerConfig::try_from(tls).expect("TLS 1.3 with a cipher for Initial packets");
        let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
        let endpoint = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        let address = endpoint.local_addr().expect("its address");
        let acceptor = endpoint.clone();
        let task = tokio::spawn(async move {
            while let Some(incoming) = acceptor.accept().await {
                let script = script.clone();
                tokio::spawn(async move {
                    if let Ok(connection) = incoming.await {
                        // The peer may leave at any time: that ends the script and is no error of the test.
                        let _peer_left = serve(&connection, script).await;
                        if let Some(code) = close_code {
                            connection.close(VarInt::from_u32(code), b"closed by the test's script");
                        }
                        connection.closed().await;
                    }
                });
            }
        });
        Self {
            address,
            endpoint,
            task,
        }
    }

    /// An `https` URL of it, by name.
    pub fn url(&self) -> String {
        format!("https://localhost:{}/", self.address.port())
    }
}

impl Drop for QuicServer {
    fn drop(&mut self) {
        self.endpoint.close(VarInt::from_u32(0), b"");
        self.task.abort();
    }
}

/// `None` when the peer left.
async fn serve(connection: &Connection, script: Vec<Step>) -> Option<()> {
    let mut control = connection.open_uni().await.ok()?;
    control.write_all(&CONTROL_STREAM).await.ok()?;
    let (mut send, mut receive) = connection.accept_bi().await.ok()?;
    for step in script {
        match step {
            Step::ReadRequest => {
                // A request without a body ends with its header section.
                receive.read_to_end(1 << 16).await.ok()?;
            }
            Step::Send(bytes) => send.write_all(&bytes).await.ok()?,
            Step::SendForever(bytes) => loop {
                send.write_all(&bytes).await.ok()?;
            },
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Stall => {
                connection.closed().await;
            }
        }
    }
    send.finish().ok()?;
    // An error is an answer too: the stream is over.
    let _acknowledged = send.stopped().await;
    // The control stream must outlive the exchange (RFC 9114, section 6.2.1).
    drop(control);
    Some(())
}
