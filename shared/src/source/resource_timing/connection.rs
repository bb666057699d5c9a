//! Whether an entry's connection was made for its request, and its marks if it was.

use super::{PageContext, stamp, times::Times};
use crate::{ConnectionUse, Mark, Nanos, Protocol, Sample, format::millis};

/// Stamps the connect marks and says whether the connection was made for this request.
pub(super) fn connection(
    sample: &mut Sample,
    times: &Times,
    protocol: Option<Protocol>,
    context: &PageContext,
) -> ConnectionUse {
    let step = context.clock_step.max(Nanos(1));
    let same = |a: Nanos, b: Nanos| a.0.abs_diff(b.0) < step.0.saturating_mul(2);
    let mut note = |text: String| sample.facts.notes.push(text);
    let (Some(start), Some(end)) = (times.connect_start, times.connect_end) else {
        note("the connection's times are missing".into());
        return ConnectionUse::Unresolvable;
    };
    if same(start, end) {
        if protocol == Some(Protocol::H3) {
            note("a QUIC handshake, if there was one, happened outside of this request".into());
        }
        if !same(end, times.fetch_start) {
            note("the connection existed, but was not ready at once".into());
        }
        // A step of 1 ms, or a server on this machine: a whole handshake fits below what the clock shows.
        return if step >= Nanos(1_000_000) || context.loopback {
            note(format!(
                "connection reused, or made within less than the clock can show ({})",
                millis(Nanos(step.0.saturating_mul(2)))
            ));
            ConnectionUse::Unresolvable
        } else {
            note("connection reused or made beforehand (preconnect)".into());
            ConnectionUse::Reused
        };
    }
    let took = Nanos(end.0.saturating_sub(start.0));
    if context.path_rtt.is_some_and(|rtt| took < rtt) {
        note(format!(
            "the connection was begun before this request; {} of it remained",
            millis(took)
        ));
        return ConnectionUse::Unresolvable;
    }

    let early_data = times.request_start.is_some_and(|sent| sent < end);
    let split = times
        .secure_start
        .filter(|secure| start < *secure && *secure < end);
    if protocol == Some(Protocol::H3) {
        // What some browsers show between connectStart and secureConnectionStart is not a TCP phase.
        if early_data {
            note("0-RTT: the request left before the handshake ended".into());
        }
    } else if context.tls && split.is_none() {
        note("TLS split not available: the entry does not say where TLS began".into());
    }
    match (times.dns_start, times.dns_end) {
        (Some(from), Some(to)) if !same(from, to) => {
            stamp(sample, Mark::DnsStart, Some(from));
            stamp(sample, Mark::DnsEnd, Some(to));
        }
        _ => {
            sample.facts.dns_skipped =
                Some("no name resolution shown: cached, an IP address, or hidden".into());
        }
    }
    stamp(sample, Mark::ConnectStart, Some(start));
    if context.tls {
        let tcp = split.filter(|_| matches!(protocol, Some(Protocol::H1 | Protocol::H2)));
        stamp(sample, Mark::TcpEstablished, tcp);
        stamp(sample, Mark::HandshakeDone, Some(end));
    } else {
        stamp(sample, Mark::TcpEstablished, Some(end));
    }
    ConnectionUse::New
}
