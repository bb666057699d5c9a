//! The certificate check: runs the real verifier, keeps the verdict, and goes on despite it only when told to.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// The certificates a peer sent and what the verifier said.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// The chain, the end entity's certificate first.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// Why it was not accepted, if it was not.
    pub(crate) error: Option<Error>,
}

/// Where a verifier leaves its verdict for the driver.
#[derive(Clone, Debug, Default)]
pub(crate) struct VerdictSlot(Arc<Mutex<Option<Verdict>>>);

impl VerdictSlot {
    /// The verdict, if it came to one.
    pub(crate) fn get(&self) -> Option<Verdict> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, verdict: Verdict) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
    }
}

/// The verifier of the platform's roots and `extra_roots`.
pub(super) fn platform(
    extra_roots: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    match Verifier::new_with_extra_roots(extra_roots.iter().cloned(), Arc::clone(provider)) {
        Ok(verifier) => Ok(Arc::new(verifier)),
        // A machine without a certificate store.
        Err(Error::General(_)) => {
            let mut roots = RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            };
            for root in extra_roots {
                roots.add(root.clone())?;
            }
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
            Ok(verifier)
        }
        Err(error) => Err(error),
    }
}

/// Delegates to the real verifier and records what it said.
#[derive(Debug)]
pub(super) struct RecordingVerifier {
    inner: Arc<dyn ServerCertVerifier>,
    slot: VerdictSlot,
    insecure: bool,
}

impl RecordingVerifier {
    pub(super) fn new(inner: Arc<dyn ServerCertVerifier>, slot: VerdictSlot, insecure: bool) -> Self {
        Self {
            inner,
            slot,
            insecure,
        }
    }
}

impl ServerCertVerifier for RecordingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.inner
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let chain = std::iter::once(end_entity)
            .chain(intermediates)
            .map(|der| der.clone().into_owned())
            .collect();
        self.slot.set(Verdict {
            chain,
            error: verified.as_ref().err().cloned(),
        });
        match verified {
            Err(_) if self.insecure => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
