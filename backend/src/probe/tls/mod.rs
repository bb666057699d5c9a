//! TLS for a probe: one configuration per exchange, the real certificate check, and what it found.

mod public_root;
pub(crate) mod quic;
mod verifier;

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use shared::{Facts, Protocol};

use self::public_root::PublicRoots;
use self::verifier::RecordingVerifier;
pub(crate) use self::verifier::{Verdict, VerdictSlot};

/// What a probe trusts, loaded once.
#[derive(Debug)]
pub(crate) struct Trust {
    provider: Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
    public_roots: PublicRoots,
}

impl Trust {
    /// The platform's roots and `extra_roots`. Without any the list of Mozilla stands in.
    ///
    /// # Errors
    /// When a certificate of `extra_roots` is none.
    pub(crate) fn load(extra_roots: &[CertificateDer<'static>]) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = verifier::platform(extra_roots, &provider)?;
        Ok(Self {
            public_roots: PublicRoots::new(&provider),
            provider,
            verifier,
        })
    }

    /// A configuration that has never seen the server and offers one protocol, with the place where its certificate
    /// check will leave its verdict. With `insecure` the handshake goes on whatever the verdict.
    ///
    /// # Errors
    /// When the provider lacks what TLS needs; does not happen with the one used.
    pub(crate) fn config(
        &self,
        protocol: Protocol,
        insecure: bool,
    ) -> Result<(ClientConfig, VerdictSlot), rustls::Error> {
        let slot = VerdictSlot::default();
        let verifier = RecordingVerifier::new(Arc::clone(&self.verifier), slot.clone(), insecure);
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.alpn().as_bytes().to_vec()];
        config.resumption = Resumption::disabled();
        Ok((config, slot))
    }

    /// Adds what is known of the peer's certificates. Not to be called while something is timed: it verifies a chain.
    pub(crate) fn describe(&self, verdict: &Verdict, facts: &mut Facts) {
        facts.certificate_chain_bytes = Some(verdict.chain.iter().map(|der| der.len() as u64).sum());
        facts.certificate_count = u32::try_from(verdict.chain.len()).ok();
        facts.public_root = Some(self.public_roots.issued(&verdict.chain));
        facts.certificate_error = verdict.error.as_ref().map(explain);
    }
}

/// Why a certificate was not accepted, in words.
pub(crate) fn explain(error: &rustls::Error) -> String {
    use rustls::CertificateError as E;
    let rustls::Error::InvalidCertificate(reason) = error else {
        return error.to_string();
    };
    match reason {
        E::UnknownIssuer => "issued by an authority that is not trusted here".into(),
        E::Expired | E::ExpiredContext { .. } => "expired".into(),
        E::NotValidYet | E::NotValidYetContext { .. } => "not valid yet".into(),
        E::NotValidForName | E::NotValidForNameContext { .. } => "for another host name".into(),
        E::Revoked => "revoked".into(),
        // webpki's own reasons come as text in Rust's notation.
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            "a certificate authority's own certificate, which may not be used by a server".into()
        }
        other => other.to_string(),
    }
}
