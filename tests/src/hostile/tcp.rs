//! A scripted server over TCP, with or without TLS.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::Step;

/// What lies below the script.
pub enum Layer {
    /// TCP alone.
    Plain,
    /// TLS with this configuration.
    Tls(Arc<ServerConfig>),
}

/// A running server. Ends when dropped.
pub struct TcpServer {
    /// Where it listens.
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl TcpServer {
    /// Serves every connection over TLS with the script.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn over_tls(config: ServerConfig, script: Vec<Step>) -> Self {
        Self::start(Layer::Tls(Arc::new(config)), script).await
    }

    /// Serves every connection with the script.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn start(layer: Layer, script: Vec<Step>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let acceptor = match layer {
            Layer::Plain => None,
            Layer::Tls(config) => Some(TlsAcceptor::from(config)),
        };
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, acceptor.clone(), script.clone()));
            }
        });
        Self {
            address,
            connections,
            task,
        }
    }

    /// How many connections it has accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// An `https` URL of it, by name.
    pub fn url(&self) -> String {
        format!("https://localhost:{}/", self.address.port())
    }
}

impl Drop for TcpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The peer may leave at any time: that ends the script and is no error of the test.
async fn serve(stream: TcpStream, acceptor: Option<TlsAcceptor>, script: Vec<Step>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match acceptor {
        None => follow(stream, script).await,
        Some(acceptor) => follow(acceptor.accept(stream).await?, script).await,
    }
}

async fn follow(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: Vec<Step>) -> io::Result<()> {
    for step in script {
        match step {
            Step::ReadRequest => read_request(&mut stream).await?,
            Step::Send(bytes) => {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
            }
            Step::SendForever(bytes) => loop {
                stream.write_all(&bytes).await?;
            },
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Stall => {
                let mut left_over = [0; 4096];
                while stream.read(&mut left_over).await? > 0 {}
            }
        }
    }
    stream.shutdown().await
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut received = Vec::new();
    while !has_request(&received) {
        if stream.read_buf(&mut received).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Whether the bytes hold a whole HTTP/1.1 header section, or an HTTP/2 HEADERS frame after the client's preface.
fn has_request(received: &[u8]) -> bool {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    if !received.starts_with(&PREFACE[..received.len().min(PREFACE.len())]) {
        return received.windows(4).any(|window| window == b"\r\n\r\n");
    }
    let mut rest = received.get(PREFACE.len()..).unwrap_or_default();
    while let Some((header, after)) = rest.split_at_checked(9) {
        let length = usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2]);
        let Some(next) = after.get(length..) else {
            return false;
        };
        if header[3] == 1 {
            return true;
        }
        rest = next;
    }
    false
}
