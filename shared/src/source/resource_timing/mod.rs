//! A browser's Resource Timing entry, read into an exchange: only what the entry can honestly say.
//!
//! Three kinds of entries give no time of an exchange with the server, and become failed samples, so that they are counted and
//! shown but enter no statistics: answered from a cache ([`FailureKind::Cached`]), answered by a service worker
//! ([`FailureKind::ServiceWorker`]), and contradictory ones ([`FailureKind::EntryInconsistent`]). An entry without
//! phases (no Timing-Allow-Origin) is a successful sample whose phases are hidden: its total counts.

mod arms;
mod connection;
#[cfg(test)]
mod tests;
mod times;

use serde::Deserialize;

pub use arms::arms;

use self::{
    connection::connection,
    times::{Coarseness, Times},
};
use crate::{
    ConnectionUse, Facts, Failure, FailureKind, FailurePhase, HEADERS_OF_INTEREST, Mark, Nanos, Protocol,
    Sample, StampSource, Temperature,
};

/// `PerformanceResourceTiming.toJSON()`. Times in milliseconds since the page's time origin; 0 means that the event did
/// not happen or is hidden. Everything is optional, as browsers differ; unknown members are ignored.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the names are the standard's, which defines them")]
pub struct Entry {
    pub name: Option<String>,
    pub start_time: Option<f64>,
    pub duration: Option<f64>,
    pub delivery_type: Option<String>,
    pub next_hop_protocol: Option<String>,
    pub worker_start: Option<f64>,
    pub redirect_start: Option<f64>,
    pub redirect_end: Option<f64>,
    pub fetch_start: Option<f64>,
    pub domain_lookup_start: Option<f64>,
    pub domain_lookup_end: Option<f64>,
    pub connect_start: Option<f64>,
    pub connect_end: Option<f64>,
    pub secure_connection_start: Option<f64>,
    pub request_start: Option<f64>,
    pub first_interim_response_start: Option<f64>,
    pub final_response_headers_start: Option<f64>,
    pub response_start: Option<f64>,
    pub response_end: Option<f64>,
    pub transfer_size: Option<f64>,
    pub encoded_body_size: Option<f64>,
    pub decoded_body_size: Option<f64>,
    pub response_status: Option<u16>,
}

/// What the page knows of a request beside its entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageContext {
    /// The step of the page's clock, as measured.
    pub clock_step: Nanos,
    /// Whether the URL is `https`.
    pub tls: bool,
    /// Whether the server is on this machine, so that a handshake can be shorter than the clock's step.
    pub loopback: bool,
    /// Whether the URL is of the page's own origin.
    pub same_origin: bool,
    /// How the fetch ended.
    pub outcome: FetchOutcome,
    /// The path's round trip time from an independent measure, where there is one from the same place. A connect time below
    /// it is the rest of a connection that was begun earlier.
    pub path_rtt: Option<Nanos>,
}

/// How a page's fetch ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FetchOutcome {
    /// A response came and its body was read to the end.
    Ok {
        /// Its status.
        status: u16,
        /// The response fields the page may read; those of interest are kept.
        headers: Vec<(String, String)>,
    },
    /// The fetch was rejected. A page is not told why.
    #[default]
    Failed,
}

/// An entry as an exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The protocol; absent where the browser does not say or it is none of the three.
    pub protocol: Option<Protocol>,
    /// Cold where the connection is provably new, warm where it is not; absent where the phases are not visible.
    pub temperature: Option<Temperature>,
    /// The sample, with its phases; `seq` and `block` are set by [`arms`].
    pub sample: Sample,
}

/// Reads an entry.
pub fn read(entry: &Entry, context: &PageContext) -> Reading {
    let facts = facts(entry, context);
    let times = match Times::of(entry) {
        Ok(times) => times,
        Err(why) => return unusable(FailureKind::EntryInconsistent, why, facts, None, context),
    };
    if context.outcome == FetchOutcome::Failed {
        let why = "the fetch was rejected; the browser does not say at which step";
        return unusable(FailureKind::BrowserRefused, why, facts, Some(&times), context);
    }
    if entry.worker_start.is_some_and(|time| time > 0.0) {
        let why = "a service worker answered, so the entry does not show a connection of the page";
        return unusable(FailureKind::ServiceWorker, why, facts, Some(&times), context);
    }
    if let Some(why) = cached(entry, &times) {
        return unusable(FailureKind::Cached, why, facts, Some(&times), context);
    }
    if times.are_hidden() || times.coarseness() == Coarseness::Privacy {
        return hidden(entry, &times, facts, context);
    }
    visible(entry, &times, facts, context)
}

/// A request for which the browser recorded no entry.
pub fn missing(context: &PageContext) -> Reading {
    let facts = facts(&Entry::default(), context);
    match context.outcome {
        FetchOutcome::Ok { .. } => unusable(
            FailureKind::EntryMissing,
            "the fetch succeeded, but no entry was recorded",
            facts,
            None,
            context,
        ),
        FetchOutcome::Failed => unusable(
            FailureKind::BrowserRefused,
            "the fetch was rejected and not measured: the page's own policy, mixed content or CORS may have stopped it",
            facts,
            None,
            context,
        ),
    }
}

fn cached(entry: &Entry, times: &Times) -> Option<&'static str> {
    match entry.delivery_type.as_deref() {
        Some("cache") => return Some("answered from the browser's HTTP cache"),
        Some("cache-storage") => return Some("answered from the browser's cache storage"),
        _ => {}
    }
    // Sizes are masked where phases are: then 0 bytes transferred say nothing.
    let no_transfer = entry.transfer_size == Some(0.0) && size(entry.encoded_body_size).is_some();
    (no_transfer && !times.are_hidden())
        .then_some("answered from the browser's HTTP cache: nothing was transferred")
}

fn facts(entry: &Entry, context: &PageContext) -> Facts {
    let (status, headers) = match &context.outcome {
        FetchOutcome::Ok { status, headers } => (Some(*status), headers.as_slice()),
        FetchOutcome::Failed => (entry.response_status, [].as_slice()),
    };
    let headers = headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .filter(|(name, _)| HEADERS_OF_INTEREST.contains(&name.as_str()))
        .collect();
    Facts {
        // An opaque response has status 0.
        status: status.filter(|status| *status > 0),
        http_version: entry
            .next_hop_protocol
            .clone()
            .filter(|version| !version.is_empty()),
        tls: Some(context.tls),
        headers,
        encoded_bytes: size(entry.encoded_body_size),
        decoded_bytes: size(entry.decoded_body_size),
        ..Facts::default()
    }
}

/// A size that is not masked; 0 may be either.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "range checked first"
)]
fn size(bytes: Option<f64>) -> Option<u64> {
    bytes
        .filter(|bytes| (1.0..9_007_199_254_740_992.0).contains(bytes))
        .map(|bytes| bytes as u64)
}

/// A sample that says nothing about the server: it counts as a failure of its kind.
fn unusable(
    kind: FailureKind,
    why: &str,
    mut facts: Facts,
    times: Option<&Times>,
    context: &PageContext,
) -> Reading {
    facts.hidden = Some(kind.label().into());
    let mut sample = Sample {
        facts,
        failure: Some(Failure::new(kind, FailurePhase::Start, why)),
        ..Sample::default()
    };
    if let Some(times) = times {
        stamp(&mut sample, Mark::Start, Some(Nanos::ZERO));
        stamp(&mut sample, Mark::End, Some(times.end));
    }
    sample.recompute(None, context.clock_step);
    Reading {
        protocol: None,
        temperature: None,
        sample,
    }
}

/// Only the total can be seen.
fn hidden(entry: &Entry, times: &Times, mut facts: Facts, context: &PageContext) -> Reading {
    let why = if !times.are_hidden() {
        "the browser's privacy mode rounds its clock too coarsely for phases"
    } else if context.same_origin {
        "a redirect through another origin hid it"
    } else {
        "hidden by the server (no Timing-Allow-Origin)"
    };
    if entry.transfer_size == Some(0.0) && facts.encoded_bytes.is_some() {
        facts
            .notes
            .push("the transferred size is masked: this is not a sign of a cache".into());
    }
    facts.hidden = Some(why.into());
    let mut sample = Sample {
        facts,
        ..Sample::default()
    };
    stamp(&mut sample, Mark::Start, Some(Nanos::ZERO));
    stamp(&mut sample, Mark::End, Some(times.end));
    sample.recompute(None, context.clock_step);
    Reading {
        protocol: None,
        temperature: None,
        sample,
    }
}

/// The phases can be seen.
fn visible(entry: &Entry, times: &Times, facts: Facts, context: &PageContext) -> Reading {
    let raw = entry.next_hop_protocol.as_deref().unwrap_or_default();
    let protocol = Protocol::from_next_hop(raw);
    let mut sample = Sample {
        facts,
        ..Sample::default()
    };
    note_protocol(raw, protocol, &mut sample.facts.notes);

    stamp(&mut sample, Mark::Start, Some(Nanos::ZERO));
    let connection = connection(&mut sample, times, protocol, context);
    sample.facts.connection = Some(connection);
    stamp(&mut sample, Mark::RequestSent, times.request_start);
    stamp(&mut sample, Mark::FirstInterim, times.first_interim);
    stamp(&mut sample, Mark::Headers, times.headers());
    stamp(&mut sample, Mark::End, Some(times.end));

    let notes = &mut sample.facts.notes;
    let mut note = |applies: bool, text: &str| {
        if applies {
            notes.push(text.into());
        }
    };
    note(
        times.first_interim.is_some(),
        "an interim response (1xx) came first; the wait ends at the final one",
    );
    note(
        entry.final_response_headers_start.is_none(),
        "first byte: this browser does not tell interim from final responses, so an interim one is possible",
    );
    note(
        times.coarseness() == Coarseness::Millisecond,
        "this browser rounds to whole milliseconds: phases below 3 ms say little",
    );
    let sizes = [
        entry.transfer_size,
        entry.encoded_body_size,
        entry.decoded_body_size,
    ];
    note(
        sizes.iter().all(|size| *size == Some(0.0)),
        "sizes are masked by this browser",
    );
    note(
        entry.transfer_size == Some(300.0) && sample.facts.encoded_bytes.is_some(),
        "revalidated: a round trip to the server without a body",
    );
    note(
        entry.redirect_end.is_some_and(|time| time > 0.0),
        "redirects came before; their time lies in the gap after the start",
    );

    sample.recompute(protocol, context.clock_step);
    let temperature = match connection {
        ConnectionUse::New => Temperature::Cold,
        ConnectionUse::Reused | ConnectionUse::Unresolvable => Temperature::Warm,
    };
    Reading {
        protocol,
        temperature: Some(temperature),
        sample,
    }
}

fn note_protocol(raw: &str, protocol: Option<Protocol>, notes: &mut Vec<String>) {
    if raw.is_empty() {
        notes.push("the browser does not say which protocol was used".into());
    } else if protocol.is_none() {
        notes.push(format!(
            "{raw} is a draft or another protocol, not one of RFC 9112, 9113 and 9114"
        ));
    }
}

fn stamp(sample: &mut Sample, mark: Mark, time: Option<Nanos>) {
    if let Some(time) = time {
        sample.marks.set(mark, time);
        sample.mark_sources.insert(mark, StampSource::Browser);
    }
}
