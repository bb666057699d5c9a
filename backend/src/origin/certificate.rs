//! The origin's certificate: made at start for this machine's names, or read from files.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData as _,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use time::{Duration, OffsetDateTime};

/// How long a certificate of our own making is valid. Browsers accept certificates by hash, for WebTransport, only when
/// they are valid for at most 14 days.
const VALIDITY: Duration = Duration::days(13);
/// How long before now it becomes valid, for clocks that are late.
const HEAD_START: Duration = Duration::hours(1);

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file cannot be read or is not PEM.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// A certificate could not be made.
    #[error("making a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// Certificate and key do not fit together.
    #[error("certificate and key: {0}")]
    Unfit(#[from] rustls::Error),
}

/// A certificate chain with its key.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    self_made: Option<SelfMade>,
}

/// What is known of a certificate of our own making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfMade {
    /// The certificate, as PEM.
    pub pem: String,
    /// SHA-256 of its SubjectPublicKeyInfo, as base64: what Chromium takes in
    /// `--ignore-certificate-errors-spki-list`.
    pub spki_sha256: String,
    /// The certificate, as DER.
    pub der: CertificateDer<'static>,
}

impl Identity {
    /// A self-signed certificate for `localhost`, its subdomains and the loopback addresses. `now` is in seconds since
    /// 1970-01-01 UTC.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn make(now: i64) -> Result<Self, CertificateError> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let names = ["localhost", "*.localhost", "127.0.0.1", "::1"].map(String::from);
        let mut params = CertificateParams::new(names)?;
        let now = OffsetDateTime::from_unix_timestamp(now).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        params.not_before = now - HEAD_START;
        params.not_after = now - HEAD_START + VALIDITY;
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "Roundtrip test origin");
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.self_signed(&key)?;
        let self_made = SelfMade {
            pem: certificate.pem(),
            spki_sha256: STANDARD.encode(Sha256::digest(key.subject_public_key_info())),
            der: certificate.der().clone(),
        };
        Ok(Self {
            chain: vec![self_made.der.clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            self_made: Some(self_made),
        })
    }

    /// A certificate chain and its key from PEM files.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        Ok(Self {
            chain: read_certificates(chain)?,
            key: PrivateKeyDer::from_pem_file(key).map_err(file_error(key))?,
            self_made: None,
        })
    }

    /// What is known of it, if it was made here.
    pub fn self_made(&self) -> Option<&SelfMade> {
        self.self_made.as_ref()
    }

    /// A TLS configuration that selects one of `protocols` (ALPN ids, best first). TLS 1.3 only for `h3`.
    ///
    /// # Errors
    /// When certificate and key do not fit together.
    pub fn server_config(&self, protocols: &[&str]) -> Result<ServerConfig, CertificateError> {
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = if protocols.contains(&"h3") {
            builder.with_protocol_versions(&[&rustls::version::TLS13])?
        } else {
            builder.with_safe_default_protocol_versions()?
        };
        let mut config = builder
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())?;
        config.alpn_protocols = protocols.iter().map(|id| id.as_bytes().to_vec()).collect();
        Ok(config)
    }
}

/// The certificates of a PEM file, at least one.
///
/// # Errors
/// When the file cannot be read or holds none.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(file_error(path))?;
    if certificates.is_empty() {
        return Err(file_error(path)(rustls::pki_types::pem::Error::NoItemsFound));
    }
    Ok(certificates)
}

fn file_error(path: &Path) -> impl FnOnce(rustls::pki_types::pem::Error) -> CertificateError {
    let path = path.display().to_string();
    move |source| CertificateError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_certificate_lasts_at_most_14_days_and_names_this_machine() {
        let identity = Identity::make(1_700_000_000).unwrap();
        let made = identity.self_made().unwrap();
        let (_, parsed) = x509_parser::parse_x509_certificate(&made.der).unwrap();
        let validity = parsed.validity();
        let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
        assert!(seconds <= 14 * 24 * 60 * 60);
        assert!(
            validity.not_before.timestamp() < 1_700_000_000 && validity.not_after.timestamp() > 1_700_000_000
        );
        let names = parsed
            .subject_alternative_name()
            .unwrap()
            .unwrap()
            .value
            .general_names
            .len();
        assert_eq!(names, 4);
        let spki = STANDARD.encode(Sha256::digest(parsed.public_key().raw));
        assert_eq!(made.spki_sha256, spki);
    }

    #[test]
    fn files_are_read_and_bad_ones_named() {
        let folder = tempfile::tempdir().unwrap();
        let (chain, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
        let made = Identity::make(0).unwrap();
        std::fs::write(&chain, &made.self_made().unwrap().pem).unwrap();
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        std::fs::write(&key, pair.serialize_pem()).unwrap();
        let unfit = Identity::read(&chain, &key).unwrap().server_config(&["h2"]);
        assert!(matches!(unfit, Err(CertificateError::Unfit(_))));
        std::fs::write(&chain, "nothing").unwrap();
        let error = Identity::read(&chain, &key).unwrap_err().to_string();
        assert!(error.contains("c.pem"), "{error}");
    }
}
