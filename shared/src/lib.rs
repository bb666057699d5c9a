//! The breakdown model of Roundtrip: the theory on one page.
//!
//! An *exchange* is one request and its response. A driver (the probe, or a browser) stamps *marks*
//! ([`Mark`]): times since the exchange's start on one monotonic clock. A *phase* ([`Phase`]) is the time between
//! two marks and always carries a *quality* ([`Quality`]): a value with how it was obtained, or an absence with its
//! reason, never a bare number. What lies between phases is a *gap*; phases and gaps add up to the total exactly.
//!
//! A *run* is one URL under a [`Plan`]. Its *arms* (protocol x temperature x source) are sampled in interleaved
//! *blocks*. Per arm there is a summary, between arms a shift of medians with a bootstrap interval, and the whole is
//! an immutable [`Document`] from which every figure can be recomputed.
//!
//! This crate does no I/O, reads no clock and is not async, so the browser and the backend share the same types and
//! the same arithmetic.

mod breakdown;
mod diagnosis;
pub mod document;
mod event;
pub mod explain;
mod facts;
mod failure;
pub mod format;
pub mod headline;
mod map;
mod mark;
mod phase;
mod plan;
mod protocol;
mod quality;
pub mod schedule;
pub mod source;
pub mod statistics;
mod time;
pub mod wire;

pub use breakdown::{Breakdown, Circumstances, ConnectionUse, Gap, breakdown};
pub use document::{
    Arm, ArmSummary, Comparison, DnsOutcome, DnsQuery, DnsReport, Document, Evidence, Finding, HttpsRecord,
    PhaseSummary, Sample, Source, Sureness, Tool, Vantage, VantageKind, Verdict,
};
pub use event::{BrowserReport, RunAccepted, RunEvent, ServerConfig, StoreConfig, StoredResult};
pub use facts::{Facts, HEADERS_OF_INTEREST, RttSource};
pub use failure::{Failure, FailureKind, FailurePhase};
pub use map::Map;
pub use mark::{Mark, Marks, StampSource};
pub use phase::Phase;
pub use plan::{Family, Method, Plan, PlanError, Temperature};
pub use protocol::Protocol;
pub use quality::{PhaseValue, Quality};
pub use time::Nanos;
