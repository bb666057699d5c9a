//! The adapter between rustls and quinn that shows what was negotiated: quinn's own hides cipher suite and key
//! exchange group.

use std::any::Any;
use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::CipherSuite;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Connection, KeyChange, Secrets, Suite, Version};

/// QUIC version 1 (RFC 9000, section 15), the only one whose handshake this adapter does.
const QUIC_V1: u32 = 1;

/// What a finished handshake agreed to; what [`quinn::Connection::handshake_data`] gives for a connection of a
/// [`TlsConfig`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Negotiated {
    /// The ALPN protocol id.
    pub(crate) alpn: Option<Vec<u8>>,
    /// The cipher suite, in rustls's spelling.
    pub(crate) cipher: Option<String>,
    /// The key exchange group, in rustls's spelling.
    pub(crate) group: Option<String>,
}

/// A client's TLS configuration for QUIC.
pub(crate) struct TlsConfig {
    tls: Arc<rustls::ClientConfig>,
    /// The suite of Initial packets (RFC 9001, section 5).
    initial: Suite,
    /// quinn's own adapter, for what it does as well: checking a Retry.
    stock: Arc<QuicClientConfig>,
}

impl TlsConfig {
    /// Prepares `tls` for QUIC.
    ///
    /// # Errors
    /// When its provider lacks TLS 1.3 or the suite of Initial packets.
    pub(crate) fn new(tls: rustls::ClientConfig) -> Result<Self, rustls::Error> {
        let initial = tls
            .crypto_provider()
            .cipher_suites
            .iter()
            .find(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256)
            .and_then(|suite| suite.tls13()?.quic_suite())
            .ok_or_else(|| rustls::Error::General("no cipher suite for QUIC's Initial packets".into()))?;
        let tls = Arc::new(tls);
        let stock = QuicClientConfig::with_initial(tls.clone(), initial)
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        Ok(Self {
            tls,
            initial,
            stock: Arc::new(stock),
        })
    }
}

impl ClientConfig for TlsConfig {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        if version != QUIC_V1 {
            return Err(UnsupportedVersion.into());
        }
        let invalid = |reason: &dyn std::fmt::Display| {
            ConnectError::InvalidServerName(format!("{server_name} ({reason})"))
        };
        let name = ServerName::try_from(server_name)
            .map_err(|error| invalid(&error))?
            .to_owned();
        let mut encoded = Vec::new();
        params.write(&mut encoded);
        let tls = ClientConnection::new(self.tls.clone(), Version::V1, name, encoded)
            .map_err(|error| invalid(&error))?;
        Ok(Box::new(TlsSession {
            tls: Connection::Client(tls),
            next: None,
            announced: false,
            server_name: server_name.to_owned(),
            params: *params,
            config: self,
        }))
    }
}

/// One handshake.
struct TlsSession {
    tls: Connection,
    /// Secrets of the next key phase, once there are 1-RTT keys.
    next: Option<Secrets>,
    /// Whether quinn was told that [`Negotiated`] can be read.
    announced: bool,
    server_name: String,
    params: TransportParameters,
    config: Arc<TlsConfig>,
}

impl Session for TlsSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, _side: Side) -> Keys {
        boxed(
            self.config
                .initial
                .keys(dst_cid, rustls::Side::Client, Version::V1),
        )
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        if !self.announced {
            return None;
        }
        Some(Box::new(Negotiated {
            alpn: self.tls.alpn_protocol().map(<[u8]>::to_vec),
            cipher: self
                .tls
                .negotiated_cipher_suite()
                .map(|suite| format!("{:?}", suite.suite())),
            group: self
                .tls
                .negotiated_key_exchange_group()
                .map(|group| format!("{:?}", group.name())),
        }))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        let certificates = self.tls.peer_certificates()?;
        Some(Box::new(certificates.to_vec()))
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.tls.zero_rtt_keys()?;
        Some((Box::new(keys.header), Box::new(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        match &self.tls {
            Connection::Client(tls) => Some(tls.is_early_data_accepted()),
            Connection::Server(_) => None,
        }
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.tls.read_hs(buf).map_err(|error| {
            // An error without an alert is still TLS's: internal_error (RFC 9001, section 4.8; RFC 8446, section 6.2).
            let alert = self
                .tls
                .alert()
                .unwrap_or(rustls::AlertDescription::InternalError);
            TransportError {
                code: TransportErrorCode::crypto(alert.into()),
                frame: None,
                reason: error.to_string(),
            }
        })?;
        let ready = self.tls.alpn_protocol().is_some() || !self.tls.is_handshaking();
        let first_time = ready && !self.announced;
        self.announced |= ready;
        Ok(first_time)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(mut encoded) = self.tls.quic_transport_parameters() else {
            return Ok(None);
        };
        Ok(Some(TransportParameters::read(Side::Client, &mut encoded)?))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        Some(boxed(match self.tls.write_hs(buf)? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        }))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair {
            local: Box::new(keys.local),
            remote: Box::new(keys.remote),
        })
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        // The integrity tag depends on nothing but its arguments (RFC 9001, section 5.8), so any session can check it.
        // A Retry is rare: only then is a second session worth its keys.
        self.config
            .stock
            .clone()
            .start_session(QUIC_V1, &self.server_name, &self.params)
            .is_ok_and(|session| session.is_valid_retry(orig_dst_cid, header, payload))
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.tls
            .export_keying_material(output, label, Some(context))
            .map(|_| ())
            .map_err(|_error| ExportKeyingMaterialError)
    }
}

fn boxed(keys: rustls::quic::Keys) -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(keys.local.header),
            remote: Box::new(keys.remote.header),
        },
        packet: KeyPair {
            local: Box::new(keys.local.packet),
            remote: Box::new(keys.remote.packet),
        },
    }
}
