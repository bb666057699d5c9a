//! Marks and circumstances to phases and gaps that add up to the total exactly.

use serde::{Deserialize, Serialize};

use crate::{Map, Mark, Marks, Nanos, Phase, PhaseValue, Protocol, Quality, quality::round_count};

/// Whether the connection was made for this exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionUse {
    /// Made for this exchange.
    New,
    /// It existed already: an earlier exchange, or a finished preconnect.
    Reused,
    /// The source cannot tell reuse from a handshake below its clock's resolution.
    Unresolvable,
}

/// What must be known beside the marks to read them.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The protocol, where it is known.
    pub protocol: Option<Protocol>,
    /// Whether the exchange is over TLS (or QUIC).
    pub tls: bool,
    /// Whether the connection is new.
    pub connection: ConnectionUse,
    /// Why the phases are not visible, if they are not.
    pub hidden: Option<&'a str>,
    /// Why there was no name resolution, if there was none.
    pub dns_skipped: Option<&'a str>,
    /// In which words an exchange that ended early failed.
    pub failed: Option<&'a str>,
    /// The clock's step: differences below twice of it cannot be told from zero.
    pub clock_step: Nanos,
    /// The path's minimum round trip time, from an independent measure.
    pub min_rtt: Option<Nanos>,
}

/// Time of an exchange that belongs to no phase: shown, not hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The mark or phase edge it follows.
    pub after: Mark,
    /// The mark it ends at.
    pub before: Mark,
    /// How long, in nanoseconds; never 0.
    pub ns: Nanos,
}

/// The phases of one exchange, every one present with a value or a reason, and the gaps between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breakdown {
    /// All of [`Phase::ALL`].
    pub phases: Map<Phase, PhaseValue>,
    /// The gaps, in order of time. Empty where the total is not known.
    pub gaps: Vec<Gap>,
}

/// Computes the breakdown of one exchange.
///
/// Rules, which property tests hold: no phase is negative; `dns + setup + send + wait + download + gaps = total`
/// exactly wherever there is a total; an absent phase has its reason.
pub fn breakdown(marks: &Marks, circumstances: &Circumstances<'_>) -> Breakdown {
    let reader = Reader { marks, circumstances };
    let mut phases: Map<Phase, PhaseValue> = Phase::ALL
        .iter()
        .map(|phase| (*phase, reader.phase(*phase)))
        .collect();

    let mut gaps = tile(&mut phases, &reader);
    if let Some(late) = after_end(marks) {
        let why = format!("end lies before {}", late.id());
        phases.insert(Phase::Total, PhaseValue::absent(Quality::Inconsistent, why));
    }
    if phases.get(&Phase::Total).is_none_or(|total| total.ns.is_none()) {
        gaps.clear();
    }
    demote_parts(&mut phases);
    let server = server(&phases, circumstances);
    phases.insert(Phase::Server, server);
    if let Some(min_rtt) = circumstances.min_rtt.filter(|rtt| *rtt > Nanos::ZERO) {
        for (phase, value) in &mut phases {
            value.rtts = value
                .ns
                .filter(|_| phase.counts_round_trips())
                .map(|ns| round_count(ns.as_f64() / min_rtt.as_f64()));
        }
    }
    Breakdown { phases, gaps }
}

struct Reader<'a> {
    marks: &'a Marks,
    circumstances: &'a Circumstances<'a>,
}

impl Reader<'_> {
    /// QUIC contains TLS, whatever the circumstances say.
    fn over_tls(&self) -> bool {
        self.circumstances.tls || self.circumstances.protocol == Some(Protocol::H3)
    }

    /// The marks a phase lies between, given the scheme and whether the connection is new.
    fn edges(&self, phase: Phase) -> (Mark, Mark) {
        let setup_end = if self.over_tls() {
            Mark::HandshakeDone
        } else {
            Mark::TcpEstablished
        };
        match phase {
            Phase::Dns => (Mark::DnsStart, Mark::DnsEnd),
            Phase::Tcp => (Mark::ConnectStart, Mark::TcpEstablished),
            Phase::Tls => (Mark::TcpEstablished, Mark::HandshakeDone),
            Phase::Quic => (Mark::ConnectStart, Mark::HandshakeDone),
            Phase::Setup => (Mark::ConnectStart, setup_end),
            Phase::Send if self.circumstances.connection == ConnectionUse::New => {
                (setup_end, Mark::RequestSent)
            }
            Phase::Send => (Mark::Start, Mark::RequestSent),
            Phase::Wait | Phase::Server => (Mark::RequestSent, Mark::Headers),
            Phase::Download => (Mark::Headers, Mark::End),
            Phase::Ttfb => (Mark::Start, Mark::Headers),
            Phase::Total => (Mark::Start, Mark::End),
        }
    }

    fn phase(&self, phase: Phase) -> PhaseValue {
        if let Some(absence) = self.known_absence(phase) {
            return absence;
        }
        let (from, to) = self.edges(phase);
        let (Some(start), Some(end)) = (self.marks.at(from), self.marks.at(to)) else {
            return self.unobserved(from, to);
        };
        match end.since(start) {
            Some(ns) => PhaseValue::measured(ns, self.circumstances.clock_step),
            None if (from, to) == (Mark::HandshakeDone, Mark::RequestSent) => PhaseValue::absent(
                Quality::Overlapping,
                "the request left before the handshake ended (0-RTT)",
            ),
            None => PhaseValue::absent(
                Quality::Inconsistent,
                format!("{} lies before {}", to.id(), from.id()),
            ),
        }
    }

    /// Absences that follow from the circumstances, whatever the marks say.
    fn known_absence(&self, phase: Phase) -> Option<PhaseValue> {
        let c = self.circumstances;
        let absent = |quality, why: &str| Some(PhaseValue::absent(quality, why));
        if let Some(why) = c.hidden.filter(|_| phase != Phase::Total) {
            return absent(Quality::Hidden, why);
        }
        let connects = matches!(
            phase,
            Phase::Dns | Phase::Tcp | Phase::Tls | Phase::Quic | Phase::Setup
        );
        if connects && c.connection == ConnectionUse::Reused {
            return absent(Quality::Reused, "the connection existed already");
        }
        if connects && c.connection == ConnectionUse::Unresolvable {
            return absent(
                Quality::NotObserved,
                "the connection was reused, or its handshake was shorter than the clock can tell",
            );
        }
        match (phase, c.protocol) {
            (Phase::Dns, _) if self.marks.at(Mark::DnsStart).is_none() => {
                c.dns_skipped.and_then(|why| absent(Quality::NotApplicable, why))
            }
            (Phase::Tcp, Some(Protocol::H3)) => absent(Quality::NotApplicable, "QUIC has no TCP"),
            (Phase::Tls, Some(Protocol::H3)) => absent(
                Quality::NotApplicable,
                "QUIC does transport and TLS in one handshake",
            ),
            (Phase::Quic, Some(Protocol::H1 | Protocol::H2)) => {
                absent(Quality::NotApplicable, "TCP has no QUIC")
            }
            (Phase::Quic, None) => absent(Quality::NotObserved, "the protocol is not known"),
            (Phase::Tls, _) if !self.over_tls() => absent(Quality::NotApplicable, "http has no TLS"),
            _ => None,
        }
    }

    fn unobserved(&self, from: Mark, to: Mark) -> PhaseValue {
        let missing = if self.marks.at(from).is_none() { from } else { to };
        let why = match self.circumstances.failed {
            Some(failed) => format!("ended before {}: {failed}", missing.id()),
            None => format!("{} was not recorded", missing.id()),
        };
        PhaseValue::absent(Quality::NotObserved, why)
    }
}

/// Walks the tiling phases in order of time and collects what lies between them. A tile that begins before the one
/// before it ended, or lasts longer than the exchange, is demoted, so that the sum stays exact.
fn tile(phases: &mut Map<Phase, PhaseValue>, reader: &Reader<'_>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut push = |after, before, from: Nanos, to: Nanos| {
        if let Some(ns) = to.since(from).filter(|ns| *ns > Nanos::ZERO) {
            gaps.push(Gap { after, before, ns });
        }
    };
    let mut cursor = reader.marks.at(Mark::Start).unwrap_or(Nanos::ZERO);
    let end = reader.marks.at(Mark::End);
    let mut after = Mark::Start;
    let mut early_data = false;
    for phase in Phase::TILES {
        let Some(value) = phases.get_mut(&phase) else {
            continue;
        };
        early_data |= value.quality == Quality::Overlapping;
        let (from, to) = reader.edges(phase);
        let (true, Some(start), Some(stop)) =
            (value.ns.is_some(), reader.marks.at(from), reader.marks.at(to))
        else {
            continue;
        };
        if start < cursor && early_data {
            *value = PhaseValue::absent(
                Quality::Overlapping,
                "it began before the handshake ended (0-RTT)",
            );
        } else if start < cursor {
            *value = PhaseValue::absent(
                Quality::Inconsistent,
                format!("{} lies before {}", from.id(), after.id()),
            );
        } else if end.is_some_and(|end| stop > end) {
            *value = PhaseValue::absent(Quality::Inconsistent, format!("end lies before {}", to.id()));
        } else {
            push(after, from, cursor, start);
            cursor = stop;
            after = to;
        }
    }
    if let Some(end) = end {
        push(after, Mark::End, cursor, end);
    }
    gaps
}

/// A mark of the request or its response that lies after their end: then the end is no end. What belongs to the
/// connection may come later (0-RTT, confirmation).
fn after_end(marks: &Marks) -> Option<Mark> {
    let end = marks.at(Mark::End)?;
    [
        Mark::DnsEnd,
        Mark::RequestSent,
        Mark::Headers,
        Mark::FirstBodyByte,
    ]
    .into_iter()
    .find(|mark| marks.at(*mark).is_some_and(|at| at > end))
}

/// Demotes what cannot be true beside the tiles: parts of a setup that contradicts itself, parts that do not fit into
/// it, and a time to the first byte longer than the whole.
fn demote_parts(phases: &mut Map<Phase, PhaseValue>) {
    let value = |phases: &Map<Phase, PhaseValue>, phase| phases.get(&phase).and_then(|value| value.ns);
    let quality = |phases: &Map<Phase, PhaseValue>, phase| phases.get(&phase).map(|value| value.quality);
    let inconsistent = Some(Quality::Inconsistent);

    let setup_fails = quality(phases, Phase::Setup) == inconsistent;
    let split_fails = [Phase::Tcp, Phase::Tls]
        .iter()
        .any(|part| quality(phases, *part) == inconsistent);
    let first_byte_fails = value(phases, Phase::Ttfb)
        .zip(value(phases, Phase::Total))
        .is_some_and(|(ttfb, total)| ttfb > total);
    for (fails, phase, why) in [
        (
            setup_fails || split_fails,
            Phase::Tcp,
            "the marks of the setup contradict each other",
        ),
        (
            setup_fails || split_fails,
            Phase::Tls,
            "the marks of the setup contradict each other",
        ),
        (
            setup_fails,
            Phase::Quic,
            "the marks of the setup contradict each other",
        ),
        (first_byte_fails, Phase::Ttfb, "headers lies after end"),
    ] {
        if fails && value(phases, phase).is_some() {
            phases.insert(phase, PhaseValue::absent(Quality::Inconsistent, why));
        }
    }
}

fn server(phases: &Map<Phase, PhaseValue>, circumstances: &Circumstances<'_>) -> PhaseValue {
    let Some(wait) = phases.get(&Phase::Wait) else {
        return PhaseValue::absent(Quality::NotObserved, "wait was not recorded");
    };
    match (wait.ns, circumstances.min_rtt) {
        (None, _) => PhaseValue {
            rtts: None,
            ..wait.clone()
        },
        (Some(_), None) => {
            PhaseValue::absent(Quality::NotObserved, "the path's round trip time is not known")
        }
        (Some(wait), Some(rtt)) => match wait.since(rtt) {
            Some(ns) => PhaseValue::derived(ns, "wait less the minimum round trip time"),
            None => PhaseValue::absent(
                Quality::Inconsistent,
                "wait is shorter than the minimum round trip time",
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::{option, prelude::*};

    use super::*;
    use crate::document::arbitrary;

    const MS: u64 = 1_000_000;

    fn circumstances(protocol: Protocol, connection: ConnectionUse) -> Circumstances<'static> {
        Circumstances {
            protocol: Some(protocol),
            tls: true,
            connection,
            hidden: None,
            dns_skipped: None,
            failed: None,
            clock_step: Nanos(1),
            min_rtt: Some(Nanos(10 * MS)),
        }
    }

    fn marks(millis: &[(Mark, u64)]) -> Marks {
        millis.iter().map(|(mark, at)| (*mark, Nanos(at * MS))).collect()
    }

    fn cold() -> Vec<(Mark, u64)> {
        vec![
            (Mark::Start, 0),
            (Mark::DnsStart, 1),
            (Mark::DnsEnd, 4),
            (Mark::ConnectStart, 5),
            (Mark::TcpEstablished, 15),
            (Mark::HandshakeDone, 27),
            (Mark::RequestSent, 28),
            (Mark::Headers, 48),
            (Mark::End, 60),
        ]
    }

    fn quality(breakdown: &Breakdown, phase: Phase) -> Quality {
        breakdown.phases[&phase].quality
    }

    #[test]
    fn a_cold_exchange_over_tcp() {
        let breakdown = breakdown(&marks(&cold()), &circumstances(Protocol::H2, ConnectionUse::New));
        for (phase, millis, rtts) in [
            (Phase::Dns, 3, None),
            (Phase::Tcp, 10, Some(1.0)),
            (Phase::Tls, 12, Some(1.2)),
            (Phase::Setup, 22, Some(2.2)),
            (Phase::Send, 1, None),
            (Phase::Wait, 20, Some(2.0)),
            (Phase::Server, 10, None),
            (Phase::Download, 12, Some(1.2)),
            (Phase::Ttfb, 48, Some(4.8)),
            (Phase::Total, 60, Some(6.0)),
        ] {
            let value = &breakdown.phases[&phase];
            assert_eq!(
                (value.ns, value.rtts),
                (Some(Nanos(millis * MS)), rtts),
                "{phase:?}"
            );
        }
        assert_eq!(quality(&breakdown, Phase::Quic), Quality::NotApplicable);
        assert_eq!(quality(&breakdown, Phase::Server), Quality::Derived);
        let gaps: Vec<_> = breakdown
            .gaps
            .iter()
            .map(|gap| (gap.after, gap.before, gap.ns.0 / MS))
            .collect();
        assert_eq!(
            gaps,
            [
                (Mark::Start, Mark::DnsStart, 1),
                (Mark::DnsEnd, Mark::ConnectStart, 1)
            ]
        );
    }

    #[test]
    fn a_warm_exchange_has_no_setup_and_sends_from_the_start() {
        let warm = marks(&[
            (Mark::Start, 0),
            (Mark::RequestSent, 1),
            (Mark::Headers, 21),
            (Mark::End, 22),
        ]);
        let breakdown = breakdown(&warm, &circumstances(Protocol::H3, ConnectionUse::Reused));
        for phase in [Phase::Dns, Phase::Tcp, Phase::Tls, Phase::Quic, Phase::Setup] {
            assert_eq!(quality(&breakdown, phase), Quality::Reused);
        }
        assert_eq!(breakdown.phases[&Phase::Send].ns, Some(Nanos(MS)));
        assert_eq!(breakdown.gaps, []);
    }

    #[test]
    fn early_data_overlaps_and_is_no_contradiction() {
        let mut early = marks(&cold());
        early.set(Mark::RequestSent, Nanos(6 * MS));
        let breakdown = breakdown(&early, &circumstances(Protocol::H3, ConnectionUse::New));
        assert_eq!(quality(&breakdown, Phase::Send), Quality::Overlapping);
        assert_eq!(quality(&breakdown, Phase::Wait), Quality::Overlapping);
        assert_eq!(quality(&breakdown, Phase::Server), Quality::Overlapping);
        assert_eq!(breakdown.phases[&Phase::Setup].ns, Some(Nanos(22 * MS)));
        assert_eq!(breakdown.phases[&Phase::Download].ns, Some(Nanos(12 * MS)));
    }

    #[test]
    fn a_failure_keeps_what_was_measured_before_it() {
        let mut failed = marks(&cold());
        failed.clear(Mark::Headers);
        failed.clear(Mark::End);
        let circumstances = Circumstances {
            failed: Some("no response header section in time"),
            ..circumstances(Protocol::H1, ConnectionUse::New)
        };
        let breakdown = breakdown(&failed, &circumstances);
        assert_eq!(quality(&breakdown, Phase::Setup), Quality::Measured);
        let wait = &breakdown.phases[&Phase::Wait];
        assert_eq!(
            wait.why.as_deref(),
            Some("ended before headers: no response header section in time")
        );
        assert_eq!(breakdown.gaps, [], "without a total there is nothing to tile");
    }

    #[test]
    fn parts_of_a_contradictory_setup_are_not_shown_as_measured() {
        let mut wrong = marks(&cold());
        wrong.set(Mark::TcpEstablished, Nanos(2 * MS));
        let split = breakdown(&wrong, &circumstances(Protocol::H2, ConnectionUse::New));
        assert_eq!(quality(&split, Phase::Tcp), Quality::Inconsistent);
        assert_eq!(quality(&split, Phase::Tls), Quality::Inconsistent);
        assert_eq!(quality(&split, Phase::Setup), Quality::Measured);

        let mut early = marks(&cold());
        early.set(Mark::ConnectStart, Nanos(2 * MS));
        let overlap = breakdown(&early, &circumstances(Protocol::H2, ConnectionUse::New));
        for phase in [Phase::Tcp, Phase::Tls, Phase::Setup] {
            assert_eq!(quality(&overlap, phase), Quality::Inconsistent);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn phases_and_gaps_add_up_and_every_absence_has_its_reason(
            marks in arbitrary::marks(),
            protocol in arbitrary::protocol(),
            connection in arbitrary::connection(),
            tls in any::<bool>(),
            hidden in option::weighted(0.1, Just("hidden")),
            dns_skipped in option::of(Just("no name")),
            failed in option::of(Just("it failed")),
            clock_step in 0_u64..10,
            min_rtt in option::of(0_u64..1 << 40),
        ) {
            let circumstances = Circumstances {
                protocol, tls, connection, hidden, dns_skipped, failed,
                clock_step: Nanos(clock_step),
                min_rtt: min_rtt.map(Nanos),
            };
            let breakdown = breakdown(&marks, &circumstances);
            prop_assert_eq!(breakdown.phases.len(), Phase::ALL.len());
            for (phase, value) in &breakdown.phases {
                prop_assert!(value.is_coherent(), "{:?}: {:?}", phase, value);
                prop_assert!(value.rtts.is_none_or(|rtts| rtts.is_finite() && rtts >= 0.0));
            }
            let ns = |phase: Phase| breakdown.phases[&phase].ns;
            prop_assert!(breakdown.gaps.iter().all(|gap| gap.ns > Nanos::ZERO));
            let gaps: u64 = breakdown.gaps.iter().map(|gap| gap.ns.0).sum();
            let tiles: u64 = Phase::TILES.into_iter().filter_map(ns).map(|ns| ns.0).sum();
            if let Some(total) = ns(Phase::Total) {
                prop_assert_eq!(tiles + gaps, total.0);
            } else {
                prop_assert_eq!(gaps, 0);
            }
            if let Some((tcp, tls)) = ns(Phase::Tcp).zip(ns(Phase::Tls)) {
                prop_assert_eq!(Some(tcp.plus(tls)), ns(Phase::Setup));
            }
            if let Some((part, whole)) = ns(Phase::Ttfb).zip(ns(Phase::Total)) {
                prop_assert!(part <= whole);
            }
            for phase in [Phase::Quic, Phase::Server] {
                let whole = if phase == Phase::Quic { Phase::Setup } else { Phase::Wait };
                prop_assert!(ns(phase).is_none_or(|part| Some(part) <= ns(whole)), "{:?}", phase);
            }
        }
    }
}
