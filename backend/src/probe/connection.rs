//! One connection of a forced protocol, opened and used: the steps that every exchange goes through.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::AlertDescription;
use shared::{Failure, FailureKind, FailurePhase, Mark, Nanos, Protocol, RttSource};
use tokio::io::BufReader;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::events::{SharedLog, Stamp};
use super::exchange::Recorder;
use super::h1::{ByteStream, H1Connection};
use super::h2::H2Connection;
use super::h3::H3Connection;
use super::limits::{self, Deadline};
use super::net::clock;
use super::net::dial::Dialler;
use super::net::tcp::StampedTcp;
use super::net::tcp_info::TcpInfoReader;
use super::quic;
use super::target::Target;
use super::tls::{self, Trust, Verdict, VerdictSlot};

/// Bytes that one read of a TCP socket may bring.
const READ_BYTES: usize = 64 << 10;

/// What an exchange works with.
pub(crate) struct Exchange<'a> {
    pub(crate) target: &'a Target,
    pub(crate) deadline: Deadline,
    pub(crate) max_time: Duration,
    pub(crate) max_body_bytes: u64,
    pub(crate) recorder: Recorder,
}

impl Exchange<'_> {
    /// The body did not end in time.
    pub(crate) fn read_timeout(&self, received: u64) -> Failure {
        Failure::new(
            FailureKind::ReadTimeout,
            FailurePhase::Download,
            format!(
                "{received} bytes came within the {} ms of the exchange",
                self.max_time.as_millis()
            ),
        )
    }
}

/// How connections are made: the same for all exchanges of a run.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    pub(crate) target: &'a Target,
    pub(crate) trust: &'a Trust,
    pub(crate) dialler: Dialler,
    pub(crate) insecure: bool,
    pub(crate) address: SocketAddr,
}

/// An open connection.
pub(crate) struct Connection {
    http: Http,
    log: SharedLog,
    address: SocketAddr,
    agreed: Agreed,
}

enum Http {
    H1(Box<H1Connection>, TcpInfoReader),
    H2(Box<H2Connection>, TcpInfoReader),
    H3(Box<H3Connection>),
}

/// What was agreed in the handshake, told with every exchange on the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agreed {
    pub(crate) http_version: Option<String>,
    pub(crate) tls_version: Option<String>,
    pub(crate) tls_cipher: Option<String>,
    pub(crate) tls_group: Option<String>,
    pub(crate) verdict: Option<Verdict>,
}

/// What a new connection needs beside packets. Keys, configuration and sockets are our work, not the network's: it is
/// done before the exchange begins.
pub(crate) struct Prepared {
    protocol: Protocol,
    log: SharedLog,
    transport: Transport,
}

enum Transport {
    Tcp(Option<(rustls::ClientConfig, VerdictSlot)>),
    Quic(quic::Prepared),
}

impl Prepared {
    /// Prepares a connection of one protocol and no other.
    pub(crate) fn new(opening: Opening<'_>, protocol: Protocol, max_time: Duration) -> Result<Self, Failure> {
        if !opening.target.tls && protocol != Protocol::H1 {
            return Err(Failure::new(
                FailureKind::SchemeUnsupported,
                FailurePhase::Start,
                format!("{protocol} is not spoken over http://"),
            ));
        }
        let log = SharedLog::default();
        let transport = match protocol {
            Protocol::H3 => Transport::Quic(quic::Prepared::new(opening, max_time, log.clone())?),
            Protocol::H1 | Protocol::H2 if opening.target.tls => {
                let config = opening.trust.config(protocol, opening.insecure);
                Transport::Tcp(Some(config.map_err(|error| tls_failure(&error, None))?))
            }
            Protocol::H1 | Protocol::H2 => Transport::Tcp(None),
        };
        Ok(Self {
            protocol,
            log,
            transport,
        })
    }
}

impl Connection {
    /// Opens the connection, stamping into the exchange that needs it.
    pub(crate) async fn open(
        opening: Opening<'_>,
        prepared: Prepared,
        exchange: &mut Exchange<'_>,
    ) -> Result<Self, Failure> {
        let Prepared {
            protocol,
            log,
            transport,
        } = prepared;
        let (http, agreed) = match transport {
            Transport::Tcp(tls) => open_tcp(opening, protocol, tls, exchange, &log).await?,
            Transport::Quic(prepared) => {
                let opened = H3Connection::open(prepared, opening.address, exchange, &log);
                let (connection, agreed) = opened.await?;
                (Http::H3(Box::new(connection)), agreed)
            }
        };
        Ok(Self {
            http,
            log,
            address: opening.address,
            agreed,
        })
    }

    /// The next exchange on the connection.
    pub(crate) async fn exchange(&mut self, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
        self.log.lock().begin();
        let result = match &mut self.http {
            Http::H1(connection, _) => connection.exchange(exchange).await,
            Http::H2(connection, _) => connection.exchange(exchange).await,
            Http::H3(connection) => connection.exchange(exchange).await,
        };
        let facts = &mut exchange.recorder.facts;
        facts.address = Some(self.address.to_string());
        facts.http_version.clone_from(&self.agreed.http_version);
        facts.tls_version.clone_from(&self.agreed.tls_version);
        facts.tls_cipher.clone_from(&self.agreed.tls_cipher);
        facts.tls_group.clone_from(&self.agreed.tls_group);
        match &self.http {
            Http::H1(_, info) | Http::H2(_, info) => {
                if let Some(info) = info.read() {
                    facts.min_rtt_ns = info.min_rtt;
                    facts.min_rtt_source = info.min_rtt.map(|_| RttSource::TcpInfo);
                    facts.smoothed_rtt_ns = info.smoothed_rtt;
                    facts.packets_retransmitted = Some(info.retransmitted);
                }
            }
            Http::H3(connection) => connection.describe(facts),
        }
        result
    }

    /// What the certificate check of the handshake found.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        self.agreed.verdict.as_ref()
    }

    /// Says goodbye. Outside of anything timed.
    pub(crate) async fn close(self) {
        if let Http::H3(connection) = self.http {
            connection.close().await;
        }
    }
}

async fn open_tcp(
    opening: Opening<'_>,
    protocol: Protocol,
    tls: Option<(rustls::ClientConfig, VerdictSlot)>,
    exchange: &mut Exchange<'_>,
    log: &SharedLog,
) -> Result<(Http, Agreed), Failure> {
    let recorder = &mut exchange.recorder;
    let dialled = opening
        .dialler
        .tcp(
            opening.address,
            exchange.deadline.limit(limits::CONNECT),
            log.clone(),
            |stamp| recorder.mark(Mark::ConnectStart, stamp),
        )
        .await?;
    recorder.mark(Mark::TcpEstablished, dialled.established);
    let info = dialled.stream.info();
    // TLS reads in pieces of 4 kB: one system call fetches many of them.
    let socket = BufReader::with_capacity(READ_BYTES, dialled.stream);
    let (stream, agreed): (Box<dyn ByteStream>, _) = if let Some((config, slot)) = tls {
        let handshake = handshake(socket, config, &slot, opening.target, protocol, exchange, log);
        let (stream, agreed) = handshake.await?;
        (Box::new(stream), agreed)
    } else {
        let agreed = Agreed {
            http_version: Some(Protocol::H1.alpn().into()),
            ..Agreed::default()
        };
        (Box::new(socket), agreed)
    };
    let http = if protocol == Protocol::H2 {
        let connection = H2Connection::new(stream, log.clone()).await?;
        Http::H2(Box::new(connection), info)
    } else {
        let connection = H1Connection::new(stream, log.clone()).await?;
        Http::H1(Box::new(connection), info)
    };
    Ok((http, agreed))
}

async fn handshake(
    stream: BufReader<StampedTcp>,
    config: rustls::ClientConfig,
    slot: &VerdictSlot,
    target: &Target,
    protocol: Protocol,
    exchange: &mut Exchange<'_>,
    log: &SharedLog,
) -> Result<(TlsStream<BufReader<StampedTcp>>, Agreed), Failure> {
    let limit = exchange.deadline.limit(limits::HANDSHAKE);
    let connecting = TlsConnector::from(Arc::new(config)).connect(target.server_name.clone(), stream);
    let connected = timeout(limit, connecting).await;
    // The client's Finished left (TLS 1.3), or the server's came (TLS 1.2): whichever is later. The log holds nothing
    // after it, since the client has not read on.
    let done = {
        let log = log.lock();
        exchange
            .recorder
            .mark_if(Mark::FirstPeerPacket, log.received.first);
        [log.sent.last, log.received.last]
            .into_iter()
            .flatten()
            .max_by_key(|stamp| stamp.at)
            .unwrap_or_else(|| Stamp::task(clock::now()))
    };
    let stream = match connected {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(handshake_failure(&error, slot, protocol)),
        Err(_elapsed) => {
            return Err(Failure::new(
                FailureKind::TlsTimeout,
                FailurePhase::Tls,
                format!("not finished within {} ms", limit.as_millis()),
            ));
        }
    };
    exchange.recorder.mark(Mark::HandshakeDone, done);
    let tls = stream.get_ref().1;
    let alpn = tls.alpn_protocol();
    // A server that does not know ALPN speaks HTTP/1.1 (RFC 9113, section 3.3).
    if alpn != Some(protocol.alpn().as_bytes()) && (protocol != Protocol::H1 || alpn.is_some()) {
        return Err(alpn_failure(FailurePhase::Tls, protocol, "it chose no protocol"));
    }
    let agreed = Agreed {
        http_version: Some(protocol.alpn().to_owned()),
        tls_version: tls.protocol_version().map(version_name),
        tls_cipher: tls
            .negotiated_cipher_suite()
            .and_then(|suite| suite.suite().as_str())
            .map(str::to_owned),
        tls_group: tls
            .negotiated_key_exchange_group()
            .and_then(|group| group.name().as_str())
            .map(str::to_owned),
        verdict: slot.get(),
    };
    Ok((stream, agreed))
}

fn version_name(version: rustls::ProtocolVersion) -> String {
    match version {
        rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
        rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The server did not agree to the one protocol it was offered.
pub(crate) fn alpn_failure(phase: FailurePhase, protocol: Protocol, how: &str) -> Failure {
    Failure::new(
        FailureKind::TlsAlpn,
        phase,
        format!("server did not select {}: {how}", protocol.alpn()),
    )
}

/// The certificate was not accepted, if that is what the verdict says.
pub(crate) fn certificate_failure(phase: FailurePhase, verdict: Option<&Verdict>) -> Option<Failure> {
    let error = verdict?.error.as_ref()?;
    Some(Failure::new(
        FailureKind::TlsCertificate,
        phase,
        tls::explain(error),
    ))
}

fn handshake_failure(error: &io::Error, slot: &VerdictSlot, protocol: Protocol) -> Failure {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => alpn_failure(
            FailurePhase::Tls,
            protocol,
            "it sent the alert no_application_protocol",
        ),
        Some(error) => tls_failure(error, slot.get().as_ref()),
        None => {
            let how = match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    "the server closed the connection during the handshake".into()
                }
                _ => error.to_string(),
            };
            Failure::new(FailureKind::TlsFailure, FailurePhase::Tls, how)
        }
    }
}

fn tls_failure(error: &rustls::Error, verdict: Option<&Verdict>) -> Failure {
    if matches!(error, rustls::Error::InvalidCertificate(_))
        && let Some(failure) = certificate_failure(FailurePhase::Tls, verdict)
    {
        return failure;
    }
    Failure::new(FailureKind::TlsFailure, FailurePhase::Tls, error.to_string())
}

/// A transport's round trip time where it has one: QUIC stacks say 0 or an initial guess before the first sample.
pub(crate) fn known_rtt(rtt: Duration) -> Option<Nanos> {
    (!rtt.is_zero() && rtt != Duration::MAX).then(|| clock::nanos(rtt))
}
