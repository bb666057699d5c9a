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
#[serde(tag = "type", rename_all = "snake_case", try_from = "Fields")]
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

/// Every event's members beside each other. Reading by the tag would keep a copy of everything until the tag is known,
/// and double the code of the page with a second reader for all types of a document.
#[derive(Deserialize)]
pub(crate) struct Fields {
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    pub(crate) ahead: Option<u32>,
    pub(crate) plan: Option<Plan>,
    pub(crate) dns: Option<DnsReport>,
    pub(crate) address: Option<String>,
    pub(crate) expected: Option<u32>,
    pub(crate) arm: Option<String>,
    pub(crate) sample: Option<Box<Sample>>,
    pub(crate) document: Option<Box<Document>>,
    pub(crate) field: Option<String>,
    pub(crate) message: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Queued,
    Started,
    Sample,
    Finished,
    Failed,
    Cancelled,
}

impl TryFrom<Fields> for RunEvent {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        Ok(match fields.kind {
            Kind::Queued => Self::Queued {
                ahead: fields.ahead.ok_or("queued without ahead")?,
            },
            Kind::Started => Self::Started {
                plan: fields.plan.ok_or("started without plan")?,
                dns: fields.dns,
                address: fields.address,
                expected: fields.expected.ok_or("started without expected")?,
            },
            Kind::Sample => Self::Sample {
                arm: fields.arm.ok_or("sample without arm")?,
                sample: fields.sample.ok_or("sample without sample")?,
            },
            Kind::Finished => Self::Finished {
                document: fields.document.ok_or("finished without document")?,
            },
            Kind::Failed => Self::Failed {
                field: fields.field,
                message: fields.message.ok_or("failed without message")?,
            },
            Kind::Cancelled => Self::Cancelled,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example;

    #[test]
    fn every_event_is_read_as_it_was_written() {
        let document = example::document();
        let events = [
            RunEvent::Queued { ahead: 2 },
            RunEvent::Started {
                plan: document.plan.clone(),
                dns: document.dns.clone(),
                address: None,
                expected: 9,
            },
            RunEvent::Sample {
                arm: "h2-cold".into(),
                sample: Box::new(document.arms[0].samples[0].clone()),
            },
            RunEvent::Finished {
                document: Box::new(document),
            },
            RunEvent::Failed {
                field: Some("url".into()),
                message: "no".into(),
            },
            RunEvent::Cancelled,
        ];
        for event in events {
            let json = serde_json::to_string(&event).unwrap();
            assert!(json.starts_with(r#"{"type":""#), "{json}");
            assert_eq!(serde_json::from_str::<RunEvent>(&json).unwrap(), event);
        }
    }

    #[test]
    fn an_event_without_its_members_is_refused() {
        for json in [r#"{"type":"finished"}"#, r#"{"type":"other"}"#, r#"{"ahead":1}"#] {
            assert!(serde_json::from_str::<RunEvent>(json).is_err(), "{json}");
        }
    }
}
