//! QUIC handshakes: one connection on a socket of its own, from the first Initial to the server's Finished.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::{
    ClientConfig, ConnectionError, Endpoint, EndpointConfig, IdleTimeout, NoneTokenStore, TokioRuntime,
    TransportConfig, TransportErrorCode, VarInt,
};
use shared::{Failure, FailureKind, FailurePhase, Mark, Protocol};
use tokio::time::{sleep, timeout};

use super::connection::{Agreed, Exchange, Opening, alpn_failure, certificate_failure};
use super::events::{SharedLog, Stamp};
use super::limits;
use super::net::clock;
use super::tls::quic::{Negotiated, TlsConfig};
use super::tls::{Verdict, VerdictSlot};

/// How long the CONNECTION_CLOSE of a finished exchange is given to leave.
const GOODBYE: Duration = Duration::from_millis(2);
/// TLS alert `no_application_protocol` (RFC 7301, section 3.2).
const NO_APPLICATION_PROTOCOL: u8 = 120;
/// `H3_NO_ERROR` (RFC 9114, section 8.1).
pub(crate) const H3_NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// Everything of a connection that needs no packet: our own work, done before the clock runs.
pub(crate) struct Prepared {
    endpoint: Endpoint,
    config: ClientConfig,
    slot: VerdictSlot,
    log: SharedLog,
}

impl Prepared {
    /// Makes the configuration, the socket and the endpoint.
    pub(crate) fn new(opening: Opening<'_>, max_time: Duration, log: SharedLog) -> Result<Self, Failure> {
        let (tls, slot) = opening
            .trust
            .config(Protocol::H3, opening.insecure)
            .map_err(|error| internal(&error))?;
        let config = client_config(tls, max_time)?;
        let socket = opening.dialler.udp(opening.address, log.clone())?;
        let endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            None,
            Arc::new(socket),
            Arc::new(TokioRuntime),
        )
        .map_err(|error| internal(&error))?;
        Ok(Self {
            endpoint,
            config,
            slot,
            log,
        })
    }
}

/// An established QUIC connection and the endpoint that carries only it.
pub(crate) struct QuicConnection {
    pub(crate) connection: quinn::Connection,
    endpoint: Endpoint,
    log: SharedLog,
}

impl Drop for QuicConnection {
    fn drop(&mut self) {
        self.log.forget_confirmation();
    }
}

impl QuicConnection {
    /// Does the handshake, stamping into the exchange that needs it.
    pub(crate) async fn open(
        prepared: Prepared,
        address: SocketAddr,
        exchange: &mut Exchange<'_>,
    ) -> Result<(Self, Agreed), Failure> {
        let Prepared {
            endpoint,
            config,
            slot,
            log,
        } = prepared;
        let connecting = endpoint
            .connect_with(config, address, &exchange.target.tls_name())
            .map_err(|error| internal(&error))?;

        log.lock().step = true;
        let outcome = establish(connecting, exchange, &log).await;
        let recorder = &mut exchange.recorder;
        {
            let log = log.lock();
            recorder.mark_if(Mark::ConnectStart, log.sent.first);
            recorder.mark_if(Mark::FirstPeerPacket, log.received.first);
            if outcome.is_ok() {
                let finished = log.handshake.last_handshake_sent;
                recorder.mark(
                    Mark::HandshakeDone,
                    finished.unwrap_or_else(|| Stamp::task(clock::now())),
                );
            }
        }
        let connection = outcome.map_err(|ended| ended.failure(exchange, &log, &slot))?;
        let agreed = agreed(&connection, slot.get())?;
        let watched = connection.clone();
        log.watch_confirmation(Box::new(move || watched.stats().frame_rx.handshake_done > 0));
        let established = Self {
            connection,
            endpoint,
            log,
        };
        Ok((established, agreed))
    }

    /// Says goodbye and leaves; draining goes on without us.
    pub(crate) async fn close(self) {
        self.connection.close(H3_NO_ERROR, b"");
        if timeout(GOODBYE, self.endpoint.wait_idle()).await.is_err() {
            tracing::trace!("left a QUIC connection to drain");
        }
    }
}

/// Why a handshake did not come to its end.
enum Ended {
    Refused,
    Silence(Duration),
    Slow(Duration),
    Error(ConnectionError),
}

async fn establish(
    mut connecting: quinn::Connecting,
    exchange: &Exchange<'_>,
    log: &SharedLog,
) -> Result<quinn::Connection, Ended> {
    let connect = exchange.deadline.limit(limits::CONNECT);
    tokio::select! {
        biased;
        done = &mut connecting => return done.map_err(Ended::Error),
        () = log.refused() => return Err(Ended::Refused),
        () = sleep(connect) => {}
    }
    if log.lock().received.first.is_none() {
        return Err(Ended::Silence(connect));
    }
    let handshake = exchange.deadline.limit(limits::HANDSHAKE);
    match timeout(handshake, connecting).await {
        Ok(done) => done.map_err(Ended::Error),
        Err(_elapsed) => Err(Ended::Slow(connect + handshake)),
    }
}

impl Ended {
    fn failure(self, exchange: &Exchange<'_>, log: &SharedLog, slot: &VerdictSlot) -> Failure {
        let fail = |kind, detail: String| Failure::new(kind, FailurePhase::Quic, detail);
        let address = exchange.recorder.facts.address.as_deref().unwrap_or_default();
        match self {
            Self::Refused => fail(
                FailureKind::ConnectRefused,
                format!("ICMP says that nothing listens on UDP {address}"),
            ),
            Self::Silence(waited) => fail(
                FailureKind::UdpNoAnswer,
                format!(
                    "no datagram came from UDP {address} within {} ms",
                    waited.as_millis()
                ),
            ),
            Self::Slow(waited) => fail(
                FailureKind::QuicTimeout,
                format!("answered, but not finished within {} ms", waited.as_millis()),
            ),
            Self::Error(ConnectionError::TimedOut) if log.lock().received.first.is_none() => fail(
                FailureKind::UdpNoAnswer,
                format!("no datagram came from UDP {address}"),
            ),
            Self::Error(error) => handshake_failure(&error, slot.get().as_ref()),
        }
    }
}

fn handshake_failure(error: &ConnectionError, verdict: Option<&Verdict>) -> Failure {
    let fail = |kind, detail: String| Failure::new(kind, FailurePhase::Quic, detail);
    let crypto = TransportErrorCode::crypto(NO_APPLICATION_PROTOCOL);
    let is_crypto = |code: TransportErrorCode| (0x100..0x200).contains(&u64::from(code));
    match error {
        ConnectionError::TransportError(error) if error.code == crypto => {
            alpn_failure(FailurePhase::Quic, Protocol::H3, "it agreed to no protocol")
        }
        ConnectionError::ConnectionClosed(close) if close.error_code == crypto => alpn_failure(
            FailurePhase::Quic,
            Protocol::H3,
            "it sent the alert no_application_protocol",
        ),
        ConnectionError::TransportError(error) if is_crypto(error.code) => {
            certificate_failure(FailurePhase::Quic, verdict)
                .unwrap_or_else(|| fail(FailureKind::TlsFailure, error.to_string()))
        }
        ConnectionError::ConnectionClosed(close) if is_crypto(close.error_code) => {
            fail(FailureKind::TlsFailure, error.to_string())
        }
        ConnectionError::TimedOut => fail(FailureKind::QuicTimeout, error.to_string()),
        other => fail(FailureKind::H3Protocol, other.to_string()),
    }
}

fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::ConnectFailed, FailurePhase::Quic, error.to_string())
}

fn client_config(tls: rustls::ClientConfig, max_time: Duration) -> Result<ClientConfig, Failure> {
    let crypto = TlsConfig::new(tls).map_err(|error| internal(&error))?;
    let mut transport = TransportConfig::default();
    let idle = IdleTimeout::try_from(max_time + limits::HANDSHAKE).map_err(|error| internal(&error))?;
    transport
        .max_idle_timeout(Some(idle))
        .stream_receive_window(VarInt::from_u32(limits::STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(limits::CONNECTION_WINDOW_BYTES))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        // Probing for a larger MTU would put datagrams of its own beside those being timed.
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false);
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    // A token from an earlier connection would make this one's address validated.
    config.token_store(Arc::new(NoneTokenStore));
    Ok(config)
}

fn agreed(connection: &quinn::Connection, verdict: Option<Verdict>) -> Result<Agreed, Failure> {
    let negotiated = connection
        .handshake_data()
        .and_then(|data| data.downcast::<Negotiated>().ok())
        .map(|data| *data)
        .unwrap_or_default();
    if negotiated.alpn.as_deref() != Some(Protocol::H3.alpn().as_bytes()) {
        return Err(alpn_failure(
            FailurePhase::Quic,
            Protocol::H3,
            "it chose no protocol",
        ));
    }
    Ok(Agreed {
        http_version: Some(Protocol::H3.alpn().to_owned()),
        // The only version that QUIC v1 has (RFC 9001, section 4.2).
        tls_version: Some("TLSv1.3".to_owned()),
        tls_cipher: negotiated.cipher,
        tls_group: negotiated.group,
        verdict,
    })
}
