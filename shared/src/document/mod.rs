//! The result document, `schema: 1`: self-describing, immutable once finished, and enough to recompute every figure.

#[cfg(test)]
pub(crate) mod arbitrary;
mod check;
#[cfg(test)]
pub(crate) mod example;
pub mod link;
mod recompute;
pub mod redact;

pub use check::DocumentError;

use serde::{Deserialize, Serialize};

use crate::{
    Facts, Failure, Gap, Map, Mark, Marks, Nanos, Phase, PhaseValue, Plan, Protocol, StampSource, Temperature,
};

/// The schema this version reads and writes.
pub const SCHEMA: u32 = 1;

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The id it is stored under, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When the run began (RFC 3339, UTC).
    pub created: String,
    /// What made it.
    pub tool: Tool,
    /// What was asked for.
    pub plan: Plan,
    /// Where the probe stands, or the browser in a document without a probe.
    pub vantage: Vantage,
    /// Where the browser stands, in a document that has both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_vantage: Option<Vantage>,
    /// What DNS said at the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsReport>,
    /// The address all probe arms dialled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The arms, probe first, in the order of protocol and temperature.
    pub arms: Vec<Arm>,
    /// Shifts between arms.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
    /// What follows from the figures, with evidence.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// The program that made a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Version of Roundtrip.
    pub version: String,
}

/// What kind of place a measurement was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VantageKind {
    /// The native probe.
    Probe,
    /// A page in a browser.
    Browser,
}

/// The place a measurement was made from, and its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vantage {
    /// Probe or browser.
    pub kind: VantageKind,
    /// The step of its clock in nanoseconds: 1 for the probe, measured at run time for a browser.
    pub clock_step_ns: Nanos,
    /// Operating system and architecture, or the browser's name, major version and platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the browser runs on the machine of the probe, so that absolute times compare; absent when not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_machine: Option<bool>,
}

/// Who stamped an arm's marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The native probe, with the protocol forced.
    Probe,
    /// A browser's Resource Timing entries.
    Browser,
}

/// Samples of one source, protocol and temperature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// `h3-cold` for a probe arm, `browser-h3-warm` for a browser's; see [`Arm::id_for`].
    pub id: String,
    /// Who stamped it.
    pub source: Source,
    /// The protocol; absent where a browser is not told.
    #[serde(default)]
    pub protocol: Option<Protocol>,
    /// Cold or warm; absent where a browser is not told.
    #[serde(default)]
    pub temperature: Option<Temperature>,
    /// Every sample, also the failed ones, in the order taken.
    pub samples: Vec<Sample>,
    /// What they have in common. Recomputed by [`Document::recompute`].
    #[serde(default)]
    pub summary: ArmSummary,
}

impl Arm {
    /// An arm without samples.
    pub fn new(source: Source, protocol: Option<Protocol>, temperature: Option<Temperature>) -> Self {
        let id = Self::id_for(source, protocol, temperature);
        Self {
            id,
            source,
            protocol,
            temperature,
            samples: Vec::new(),
            summary: ArmSummary::default(),
        }
    }

    /// The id of an arm: `h2-cold`, `browser-h3-warm`, `browser-hidden`.
    pub fn id_for(source: Source, protocol: Option<Protocol>, temperature: Option<Temperature>) -> String {
        let mut parts = Vec::new();
        if source == Source::Browser {
            parts.push("browser");
        }
        parts.push(protocol.map_or("hidden", Protocol::id));
        parts.extend(temperature.map(Temperature::id));
        parts.join("-")
    }

    /// The arm's name for people: `HTTP/3, new connection`, `Browser, HTTP/3, reused connection`.
    pub fn label(&self) -> String {
        let mut parts = Vec::new();
        if self.source == Source::Browser {
            parts.push("Browser");
        }
        match self.protocol {
            Some(protocol) => parts.push(protocol.label()),
            None => parts.push("protocol hidden"),
        }
        match self.temperature {
            Some(Temperature::Cold) => parts.push("new connection"),
            Some(Temperature::Warm) => parts.push("reused connection"),
            None => {}
        }
        parts.join(", ")
    }
}

/// One counted exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// The order in which it was taken, over all arms of its source, from 0.
    pub seq: u32,
    /// The block it belongs to, from 0.
    pub block: u32,
    /// Its index on its connection: 0 opened it, 1 is the first warm one.
    pub exchange: u32,
    /// The marks that happened, in nanoseconds since `start`.
    pub marks: Marks,
    /// Where each mark was stamped.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub mark_sources: Map<Mark, StampSource>,
    /// Every phase, with a value or a reason. Recomputed by [`Document::recompute`].
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub phases: Map<Phase, PhaseValue>,
    /// What lies between the phases. Recomputed by [`Document::recompute`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// What else was observed.
    pub facts: Facts,
    /// Why it failed, if it did. A failed sample counts only as a failure.
    pub failure: Option<Failure>,
    /// The probe's host was busy: a 5 ms timer fired more than 5 ms late while the sample ran.
    pub disturbed: bool,
    /// The total's modified z-score is above 14.8: marked, kept and shown. Recomputed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outlier: bool,
}

/// What an arm's samples have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmSummary {
    /// Samples that succeeded.
    pub ok: u32,
    /// Samples that failed.
    pub failed: u32,
    /// Failures by kind.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub failures: Map<crate::FailureKind, u32>,
    /// Samples taken while the host was busy.
    #[serde(default)]
    pub disturbed: u32,
    /// The smallest of the samples' minimum round trip times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_ns: Option<Nanos>,
    /// Per phase that has at least one value.
    #[serde(default)]
    pub phases: Map<Phase, PhaseSummary>,
}

/// A phase over the successful samples of an arm. Quantiles are type 7 (linear interpolation) of the values present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// How many samples have a value.
    pub n: u32,
    /// How many values are below the clock's resolution.
    #[serde(default)]
    pub below_resolution: u32,
    /// How many samples were dropped because their source contradicts itself.
    #[serde(default)]
    pub inconsistent: u32,
    /// Median.
    pub median_ns: Nanos,
    /// Arithmetic mean.
    pub mean_ns: Nanos,
    /// Sample standard deviation (n - 1); absent for one value.
    pub sd_ns: Option<Nanos>,
    /// Smallest.
    pub min_ns: Nanos,
    /// Largest.
    pub max_ns: Nanos,
    /// 5th percentile.
    pub p5_ns: Nanos,
    /// 25th percentile.
    pub p25_ns: Nanos,
    /// 75th percentile.
    pub p75_ns: Nanos,
    /// 90th percentile.
    pub p90_ns: Nanos,
    /// 95th percentile.
    pub p95_ns: Nanos,
    /// Median of the samples' round-trip counts; absent where the round trip time is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtts: Option<f64>,
}

/// Whether a difference is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// `b` is faster: the whole interval lies below 0.
    Faster,
    /// `b` is slower: the whole interval lies above 0.
    Slower,
    /// The interval contains 0, or there are too few blocks for one that could be trusted.
    NoClearDifference,
}

/// The shift of a phase's median from arm `a` to arm `b`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The id of the arm compared with.
    pub a: String,
    /// The id of the arm compared.
    pub b: String,
    /// The phase.
    pub phase: Phase,
    /// Median of `b` less median of `a`, in nanoseconds, over the blocks in which both have a value.
    pub shift_ns: i64,
    /// Lower end of the 95 % bootstrap interval.
    pub low_ns: i64,
    /// Upper end of the 95 % bootstrap interval.
    pub high_ns: i64,
    /// Blocks the interval was resampled from.
    #[serde(default)]
    pub blocks: u32,
    /// What the interval says.
    pub verdict: Verdict,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sureness {
    /// The evidence leaves no other reading.
    Proved,
    /// The usual reading of the evidence.
    Likely,
    /// One reading among others.
    Possible,
}

/// A figure a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the figure is.
    pub what: String,
    /// The figure, with its unit.
    pub value: String,
}

/// Something that follows from the figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The id of the rule.
    pub rule: String,
    /// How sure.
    pub sure: Sureness,
    /// What it says, in words.
    pub text: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// What DNS said at the start of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DnsReport {
    /// The host that was resolved.
    pub host: String,
    /// The resolver that was asked, by address; or in words why none was.
    pub resolver: String,
    /// The queries, A, AAAA and HTTPS, each with its time.
    pub queries: Vec<DnsQuery>,
    /// The HTTPS records (RFC 9460).
    #[serde(default)]
    pub https: Vec<HttpsRecord>,
}

/// How a query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DnsOutcome {
    /// Records came.
    Answered,
    /// The name exists without records of this type (NODATA).
    NoRecords,
    /// The name does not exist (RCODE 3).
    Nxdomain,
    /// No answer in time.
    Timeout,
    /// Another error.
    Failed,
}

/// One DNS query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsQuery {
    /// `A`, `AAAA` or `HTTPS`.
    pub record_type: String,
    /// From sending the query to having its answer, as the resolver library's caller sees it.
    pub ns: Nanos,
    /// How it ended.
    pub outcome: DnsOutcome,
    /// The records, as text.
    pub answers: Vec<String>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// An HTTPS record (RFC 9460).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpsRecord {
    /// SvcPriority; 0 is the alias form.
    pub priority: u16,
    /// TargetName.
    pub target: String,
    /// `alpn` values.
    pub alpn: Vec<String>,
    /// `no-default-alpn`.
    #[serde(default)]
    pub no_default_alpn: bool,
    /// `port`.
    pub port: Option<u16>,
    /// `ipv4hint` and `ipv6hint`.
    pub hints: Vec<String>,
}
