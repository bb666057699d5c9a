//! What every figure shown means: one sentence for each, for `--explain` and for a click on the page.

use crate::{Phase, Quality};

/// The definition of the figure `key`; `None` for a key that is none of [`keys`].
pub fn definition(key: &str) -> Option<&'static str> {
    if let Some(phase) = Phase::ALL.into_iter().find(|phase| phase.id() == key) {
        return Some(phase.definition());
    }
    FIGURES
        .iter()
        .find(|(name, _)| *name == key)
        .map(|(_, text)| *text)
}

/// Every key that [`definition`] knows: the phases first, then the other figures in the order they are shown.
pub fn keys() -> impl Iterator<Item = &'static str> {
    let phases = Phase::ALL.into_iter().map(Phase::id);
    phases.chain(FIGURES.iter().map(|(name, _)| *name))
}

impl Quality {
    /// The key under which the quality is explained, which is its name in documents.
    pub fn id(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::BelowResolution => "below_resolution",
            Self::Reused => "reused",
            Self::Hidden => "hidden",
            Self::NotApplicable => "not_applicable",
            Self::Overlapping => "overlapping",
            Self::Inconsistent => "inconsistent",
            Self::NotObserved => "not_observed",
        }
    }
}

const FIGURES: &[(&str, &str)] = &[
    (
        "gap",
        "Time between two phases that belongs to none of them. Phases and gaps add up to the total exactly.",
    ),
    (
        "rtts",
        "A phase's time divided by the path's minimum round trip time. Counts compare across places, milliseconds do not.",
    ),
    (
        "min_rtt",
        "The smallest round trip time of the path seen on the connection, measured apart from the phases: by the kernel for \
         TCP (TCP_INFO), by the QUIC stack for QUIC.",
    ),
    (
        "smoothed_rtt",
        "The transport's moving average of the round trip time at the end of the exchange (RFC 6298; RFC 9002, section \
         5.3). It contains the peer's processing and our scheduling: a cross-check, not a measure of the path.",
    ),
    ("n", "How many samples have a value for this phase."),
    (
        "ok",
        "Samples that succeeded. All figures of an arm are over these.",
    ),
    (
        "failed",
        "Samples that failed. Each counts as a failure of its kind and as nothing else.",
    ),
    (
        "median",
        "The value in the middle: half of the samples are faster, half slower.",
    ),
    ("mean", "The sum of all values divided by their number."),
    (
        "sd",
        "Sample standard deviation (n - 1); absent for a single value.",
    ),
    ("min", "The smallest value."),
    ("max", "The largest value."),
    (
        "p5",
        "5th percentile (type 7: linear interpolation between neighbouring values).",
    ),
    (
        "p25",
        "25th percentile (type 7). Half of the values lie between p25 and p75.",
    ),
    (
        "p75",
        "75th percentile (type 7). Half of the values lie between p25 and p75.",
    ),
    ("p90", "90th percentile (type 7): nine of ten samples are faster."),
    ("p95", "95th percentile (type 7): 19 of 20 samples are faster."),
    (
        "spread",
        "From the 25th to the 75th percentile: the middle half of the samples.",
    ),
    (
        "shift",
        "The median of one arm less the median of another, over the blocks in which both have a value. Negative: the second \
         is faster.",
    ),
    (
        "interval",
        "The 95 % bootstrap interval of the shift: the blocks are drawn anew 10,000 times, the same ones for both arms, and \
         95 % of the shifts lie inside.",
    ),
    (
        "verdict",
        "Faster or slower where the whole interval lies on one side of 0; otherwise there is no clear difference.",
    ),
    (
        "block",
        "One round in which every protocol is measured once, in an order shuffled by the seed, so that a drift of the path \
         falls on all alike.",
    ),
    (
        "seed",
        "The number the order inside the blocks and the bootstrap are drawn from: the same seed gives the same order and the \
         same interval.",
    ),
    (
        "warmup",
        "Connections made before the first block and not counted, so that caches on the way are in the same state for all.",
    ),
    (
        "cold",
        "A new connection for the request, without any earlier state.",
    ),
    ("warm", "A further request on a connection that had one before."),
    (
        "exchange",
        "One request and its response; the index counts the requests on one connection from 0.",
    ),
    (
        "outlier",
        "A sample whose total is more than 14.8 median absolute deviations (ten standard deviations of a normal \
         distribution) from the median. Marked, kept and counted.",
    ),
    (
        "disturbed",
        "A 5 ms timer on the machine that probes fired more than 5 ms late while the sample ran: the machine was busy.",
    ),
    (
        "clock_step",
        "The smallest difference the clock shows. Differences below twice of it cannot be told from zero.",
    ),
    ("measured", "The difference of two marks that were stamped."),
    ("derived", "Computed from other values, which are named."),
    (
        "below_resolution",
        "Shorter than twice the clock's step: the reading is kept, but cannot be told from zero.",
    ),
    (
        "reused",
        "The connection existed already, so the phase did not happen.",
    ),
    (
        "hidden",
        "The page may not see it: mostly because the response has no Timing-Allow-Origin for the page.",
    ),
    (
        "not_applicable",
        "The phase does not exist in this protocol or scheme.",
    ),
    (
        "overlapping",
        "The request left before the handshake ended (0-RTT), so the phases cannot be told apart.",
    ),
    (
        "inconsistent",
        "The source contradicts itself. The value is left out of the statistics and counted.",
    ),
    (
        "not_observed",
        "One of its marks did not happen: the exchange ended before, or the source does not record it.",
    ),
    (
        "encoded_bytes",
        "Content bytes as transferred, before a content coding such as gzip was undone.",
    ),
    (
        "decoded_bytes",
        "Content bytes after the content coding was undone.",
    ),
    (
        "packets_lost",
        "QUIC packets that this side sent and declared lost on the connection.",
    ),
    (
        "packets_retransmitted",
        "TCP segments that the kernel sent again on the connection.",
    ),
    (
        "certificate_chain_bytes",
        "Size of the certificates the server sent. Over QUIC a server may send three times what it received before it must \
         wait a round trip, so a long chain can cost one.",
    ),
    (
        "public_root",
        "Whether the certificate chain ends in a root of the public list. Where it does not, browsers refuse HTTP/3 without \
         saying so.",
    ),
    (
        "server_timing",
        "What the server says about its own time in the Server-Timing field: a claim, not a measurement of ours.",
    ),
    (
        "dns_query",
        "From sending a DNS query to having its answer, before the run.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_is_defined_once() {
        let all: Vec<_> = keys().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for key in all {
            assert!(definition(key).unwrap().ends_with('.'), "{key}");
        }
        assert_eq!(definition("speed"), None);
    }

    #[test]
    fn every_figure_of_a_summary_and_every_quality_is_defined() {
        let json = serde_json::to_value(crate::document::example::document()).unwrap();
        let total = &json["arms"][0]["summary"]["phases"]["total"];
        for field in total.as_object().unwrap().keys() {
            let key = field.strip_suffix("_ns").unwrap_or(field);
            assert!(definition(key).is_some(), "{key}");
        }
        for quality in [
            Quality::Measured,
            Quality::Derived,
            Quality::BelowResolution,
            Quality::Reused,
            Quality::Hidden,
            Quality::NotApplicable,
            Quality::Overlapping,
            Quality::Inconsistent,
            Quality::NotObserved,
        ] {
            assert_eq!(serde_json::to_value(quality).unwrap(), quality.id());
            assert!(definition(quality.id()).is_some(), "{}", quality.id());
        }
    }
}
