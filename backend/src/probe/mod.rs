//! One exchange in, one observation out: forces a protocol and stamps what happens.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;

/// What a server's operator or a terminal's user allows a probe.
#[derive(Clone, Debug, Default)]
pub struct ProbeSettings {
    /// Whether loopback, private and reserved addresses may be dialled.
    pub allow_private: bool,
    /// Certificates trusted beside the platform's roots.
    pub extra_roots: Arc<Vec<CertificateDer<'static>>>,
}
