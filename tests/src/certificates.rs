//! Certificates of a local authority: good, expired, self-signed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;

/// What is wrong with a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Signed by the authority, for `localhost` and the loopback addresses.
    Good,
    /// Like `Good`, but its time ended in 2001.
    Expired,
    /// Signed by itself.
    SelfSigned,
    /// Like `Good`, but for another name.
    OtherName,
}

/// A certificate authority of one test, with its root in a file for `--cacert`.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    /// A new authority.
    ///
    /// # Panics
    /// When the file of its root cannot be written.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "Roundtrip tests");
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a root");
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("root.pem"), issuer.pem()).expect("the root's file");
        Self { issuer, folder }
    }

    /// The root as PEM, for `--cacert`.
    pub fn root(&self) -> PathBuf {
        Path::join(self.folder.path(), "root.pem")
    }

    /// A server's configuration with a certificate of the kind asked for, and the ALPN ids it selects from; none means
    /// that it ignores ALPN.
    ///
    /// # Panics
    /// When the certificate cannot be made.
    pub fn server(&self, certificate: Certificate, alpn: &[&str]) -> ServerConfig {
        let names = match certificate {
            Certificate::OtherName => vec!["elsewhere.test".to_owned()],
            _ => ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec(),
        };
        let mut params = CertificateParams::new(names).expect("valid names");
        params
            .distinguished_name
            .push(DnType::CommonName, "Roundtrip test server");
        if certificate == Certificate::Expired {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let signed = match certificate {
            Certificate::SelfSigned => params.self_signed(&key),
            _ => params.signed_by(&key, &self.issuer),
        };
        let chain: Vec<CertificateDer<'static>> = vec![signed.expect("a certificate").der().clone()];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("key and certificate belong together");
        config.alpn_protocols = alpn.iter().map(|id| id.as_bytes().to_vec()).collect();
        config
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
