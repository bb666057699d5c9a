//! What travels between the backend and a page while a run goes on.

use serde::{Deserialize, Serialize};

use crate::{DnsReport, Document, Plan, Sample};

/// The answer to a started run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAccepted {
    /// The run's id, under which events are read and the run is cancelled.
    pub id: String,
}

/// What happens in a run, in order: `queued` (perhaps several), `started`, `sample` many times, and exactly one of
/// `finished`, `failed`, `cancelled`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "one `started` for each run: a box would cost its readers more than it saves"
)]
pub enum RunEvent {
    /// Other runs are before this one; only one run is measured at a time.
    Queued {
        /// How many.
        ahead: u32,
    },
    /// Measuring began.
    Started {
        /// The plan as it is carried out.
        plan: Plan,
        /// What DNS said.
        dns: Option<DnsReport>,
        /// The address all arms use.
        address: Option<String>,
        /// How many samples will come.
        expected: u32,
    },
    /// A counted sample has landed.
    Sample {
        /// The id of its arm.
        arm: String,
        /// The sample, with its phases.
        sample: Box<Sample>,
    },
    /// The run is over.
    Finished {
        /// The result.
        document: Box<Document>,
    },
    /// Nothing could be measured.
    Failed {
        /// The field of the plan that is at fault, if one is.
        field: Option<String>,
        /// Why, in words.
        message: String,
    },
    /// The run was cancelled.
    Cancelled,
}

/// The browser's exchanges as a page sends them: one arm per protocol and connection state was made by the page with
/// `source::resource_timing`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrowserReport {
    /// Where the browser stands: its clock step and its name.
    pub vantage: crate::Vantage,
    /// The arms, source `browser`.
    pub arms: Vec<crate::Arm>,
}

/// The answer to a stored result. The token is shown once and stored hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredResult {
    /// 128 random bits, base64url without padding.
    pub id: String,
    /// Deletes the result, sent as `Authorization: Bearer`.
    pub delete_token: String,
    /// When it expires (RFC 3339).
    pub expires: String,
}

/// What a page must know about the server it came from (`GET /api/v1/config`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerConfig {
    /// Version of the server.
    pub version: String,
    /// Whether it probes loopback, private and reserved addresses.
    pub allow_private: bool,
    /// The test origin, such as `https://localhost:8443`, if it is served.
    #[serde(default)]
    pub origin: Option<String>,
    /// Whether the asking client's address is loopback: browser and probe then are on one machine.
    pub same_machine: bool,
    /// What it stores; absent when it stores nothing.
    #[serde(default)]
    pub store: Option<StoreConfig>,
}

/// What a server stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreConfig {
    /// Longest document that is accepted, as JSON, in bytes.
    pub max_document_bytes: u64,
    /// Days after which a result may expire (`POST /api/v1/results?expires_days=`).
    pub expires_days: Vec<u32>,
    /// Days until a result expires when none are asked for.
    pub default_expires_days: u32,
}
