//! One exchange in, one sample out: forces a protocol and stamps what happens. Knows no HTTP API, no store and no
//! statistics.

mod body;
mod connection;
mod dns;
mod events;
mod exchange;
pub mod guard;
mod h1;
mod h2;
mod h3;
mod limits;
pub mod net;
mod observe;
mod prober;
mod quic;
mod target;
#[cfg(test)]
mod tests;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use shared::Plan;
use thiserror::Error;

pub use self::prober::{Pinned, ProbedConnection, Prober};

/// What a server's operator or a terminal's user allows a probe.
#[derive(Clone, Debug, Default)]
pub struct ProbeSettings {
    /// Whether loopback, private and reserved addresses may be dialled.
    pub allow_private: bool,
    /// Certificates trusted beside the platform's roots.
    pub extra_roots: Arc<Vec<CertificateDer<'static>>>,
    /// The DNS resolver to ask instead of the system's.
    pub resolver: Option<SocketAddr>,
}

/// Checks what can be known of a plan without carrying it out: its limits, its URL and its request fields.
///
/// # Errors
/// The field at fault.
pub fn check_plan(plan: &Plan) -> Result<(), Fault> {
    plan.validate().map_err(|error| Fault {
        field: error.field,
        message: error.message,
    })?;
    target::Target::parse(plan).map(drop)
}

/// A plan that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {message}")]
pub struct Fault {
    /// The field of the plan that is at fault.
    pub field: &'static str,
    /// What is wrong with it.
    pub message: String,
}
