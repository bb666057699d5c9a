//! Whether a certificate chain ends in a root of the public list: browsers refuse QUIC where it does not.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use x509_parser::parse_x509_certificate;

/// Mozilla's roots, with the answer for the chain asked last: a run asks the same one for every exchange.
#[derive(Debug)]
pub(super) struct PublicRoots {
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
    last: Mutex<Option<(Vec<CertificateDer<'static>>, bool)>>,
}

impl PublicRoots {
    pub(super) fn new(provider: &Arc<CryptoProvider>) -> Self {
        Self {
            provider: Arc::clone(provider),
            roots: RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            },
            last: Mutex::new(None),
        }
    }

    /// Whether one of the roots issued the chain, whatever its host name and whether or not it has expired since.
    pub(super) fn issued(&self, chain: &[CertificateDer<'static>]) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, issued)) = last.as_ref().filter(|(asked, _)| asked == chain) {
            return *issued;
        }
        let issued = self.verify(chain).is_some();
        *last = Some((chain.to_vec(), issued));
        issued
    }

    fn verify(&self, chain: &[CertificateDer<'static>]) -> Option<()> {
        let (end_entity, intermediates) = chain.split_first()?;
        let (_, parsed) = parse_x509_certificate(end_entity).ok()?;
        let issued_at = u64::try_from(parsed.validity().not_before.timestamp()).ok()?;
        verify_server_cert_signed_by_trust_anchor(
            &ParsedCertificate::try_from(end_entity).ok()?,
            &self.roots,
            intermediates,
            // An hour after it was issued: the question is who issued it, not whether it is valid today.
            UnixTime::since_unix_epoch(Duration::from_secs(issued_at.saturating_add(3600))),
            self.provider.signature_verification_algorithms.all,
        )
        .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_self_signed_certificate_is_not_public_and_neither_is_nonsense() {
        let roots = PublicRoots::new(&Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
        let own = rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
        assert!(!roots.issued(&[own.cert.der().clone()]));
        assert!(!roots.issued(&[own.cert.der().clone()]), "asked again");
        assert!(!roots.issued(&[CertificateDer::from(vec![1, 2, 3])]));
        assert!(!roots.issued(&[]));
    }
}
