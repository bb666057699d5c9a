//! A document as text for a terminal. Pure.

use shared::format::{bytes, millis, round_trips, signed_millis};
use shared::{Arm, Comparison, DnsOutcome, Document, Facts, Phase, PhaseSummary, Sample, Verdict};

/// The columns of the table.
const COLUMNS: [Phase; 7] = [
    Phase::Dns,
    Phase::Setup,
    Phase::Send,
    Phase::Wait,
    Phase::Download,
    Phase::Ttfb,
    Phase::Total,
];

/// Everything about a document: headline, table, comparisons, failures, findings, facts.
pub fn render(document: &Document) -> String {
    let mut text = String::new();
    let sections = [
        shared::headline::headline(document),
        phases(document),
        comparisons(document),
        failures(document),
        findings(document),
        facts(document),
    ];
    for section in sections.iter().filter(|section| !section.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(section.trim_end());
        text.push('\n');
    }
    // What a server says is shown, never obeyed: no escape sequence reaches the terminal.
    text.chars()
        .map(|shown| {
            let reorders =
                matches!(shown, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if (shown.is_control() && shown != '\n') || reorders {
                '\u{fffd}'
            } else {
                shown
            }
        })
        .collect()
}

/// What each figure means.
pub fn definitions() -> String {
    let mut text = String::from("What the figures mean\n");
    for key in shared::explain::keys() {
        if let Some(definition) = shared::explain::definition(key) {
            line(&mut text, &format!("  {key}: {definition}"));
        }
    }
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Three lines for each arm: median, spread, round trips.
fn phases(document: &Document) -> String {
    let mut rows = vec![header()];
    for arm in document.arms.iter().filter(|arm| arm.summary.ok > 0) {
        rows.extend(arm_rows(arm));
    }
    if rows.len() == 1 {
        return String::new();
    }
    let mut text = grid(&rows);
    line(
        &mut text,
        "Median; below it the range from the 5th to the 95th percentile, and round trips (phase / minimum RTT).",
    );
    text
}

fn header() -> Vec<String> {
    let mut cells = vec![String::new()];
    cells.extend(COLUMNS.iter().map(|phase| phase.id().to_owned()));
    cells
}

fn arm_rows(arm: &Arm) -> [Vec<String>; 3] {
    let summary = |phase: &Phase| arm.summary.phases.get(phase);
    let row = |label: String, cell: &dyn Fn(&Phase) -> String| {
        let mut cells = vec![label];
        cells.extend(COLUMNS.iter().map(cell));
        cells
    };
    let counted = match arm.summary.failed {
        0 => format!("  n {}", arm.summary.ok),
        failed => format!("  n {}, {failed} failed", arm.summary.ok),
    };
    let path = match arm.summary.min_rtt_ns {
        Some(rtt) => format!("  RTT {}", millis(rtt)),
        None => String::new(),
    };
    [
        row(arm.label(), &|phase| {
            summary(phase).map_or_else(|| absence(arm, *phase), |phase| millis(phase.median_ns))
        }),
        row(counted, &|phase| summary(phase).map_or_else(String::new, spread)),
        row(path, &|phase| {
            summary(phase)
                .and_then(|phase| phase.rtts)
                .map_or_else(String::new, round_trips)
        }),
    ]
}

fn spread(phase: &PhaseSummary) -> String {
    if phase.n < 2 {
        return String::new();
    }
    let (low, high) = (millis(phase.p5_ns), millis(phase.p95_ns));
    format!(
        "{} - {}",
        low.trim_end_matches(" ms"),
        high.trim_end_matches(" ms")
    )
}

/// Why there is no value, in a word.
fn absence(arm: &Arm, phase: Phase) -> String {
    let value = arm.samples.iter().find_map(|sample| sample.phases.get(&phase));
    match value.map(|value| value.quality) {
        Some(shared::Quality::NotApplicable) => "none".into(),
        Some(shared::Quality::Reused) => "reused".into(),
        _ => "-".into(),
    }
}

/// Cells in columns: the first left-aligned, the others right-aligned.
fn grid(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let widths = rows
            .iter()
            .map(|row| row.get(column).map_or(0, |cell| cell.chars().count()));
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut cells = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            if column == 0 {
                cells.extend([cell, &padding].map(String::as_str));
            } else {
                cells.extend(["  ", &padding, cell]);
            }
        }
        line(&mut text, &cells);
    }
    text
}

fn comparisons(document: &Document) -> String {
    let mut text = String::new();
    let shown = [Phase::Setup, Phase::Wait, Phase::Ttfb, Phase::Total];
    for comparison in &document.comparisons {
        if shown.contains(&comparison.phase)
            && let Some(words) = comparison_words(document, comparison)
        {
            line(&mut text, &words);
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("Shift of the median, with its 95 % interval\n{text}")
}

fn comparison_words(document: &Document, comparison: &Comparison) -> Option<String> {
    let label = |id: &str| document.arms.iter().find(|arm| arm.id == id).map(Arm::label);
    let verdict = match comparison.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoClearDifference => "no clear difference",
    };
    Some(format!(
        "  {} against {}, {}: {} ({} to {}), {verdict}",
        label(&comparison.b)?,
        label(&comparison.a)?,
        comparison.phase.id(),
        signed_millis(comparison.shift_ns),
        signed_millis(comparison.low_ns),
        signed_millis(comparison.high_ns),
    ))
}

fn failures(document: &Document) -> String {
    let mut text = String::new();
    for arm in &document.arms {
        for (kind, count) in &arm.summary.failures {
            let example = arm.samples.iter().find_map(|sample| {
                let failure = sample.failure.as_ref()?;
                (failure.kind == *kind).then_some(failure)
            });
            let detail = example.map_or("", |failure| failure.detail.as_str());
            line(
                &mut text,
                &format!(
                    "  {}: {count} of {} failed: {} [{}]: {detail}. {}",
                    arm.label(),
                    arm.samples.len(),
                    kind.label(),
                    kind.id(),
                    kind.advice(),
                ),
            );
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("Failures\n{text}")
}

fn findings(document: &Document) -> String {
    let mut text = String::new();
    for finding in &document.findings {
        line(&mut text, &format!("  {}", finding.text));
    }
    if text.is_empty() {
        return text;
    }
    format!("Findings\n{text}")
}

fn facts(document: &Document) -> String {
    let mut text = String::from("Facts\n");
    line(&mut text, &format!("  URL: {}", document.plan.url));
    if document.plan.url.starts_with("http://") {
        line(
            &mut text,
            "  Over http:// only HTTP/1.1 is measured: HTTP/2 and HTTP/3 need https.",
        );
    }
    if let Some(address) = &document.address {
        line(&mut text, &format!("  Address: {address}"));
    }
    for arm in &document.arms {
        // One line for each protocol: reused connections have the facts of their first exchange.
        let first_of_protocol = document.arms.iter().find(|other| other.protocol == arm.protocol);
        let measured = arm.samples.iter().rfind(|sample| sample.failure.is_none());
        if let Some(sample) = measured.filter(|_| first_of_protocol.is_some_and(|first| first.id == arm.id)) {
            let protocol = arm.protocol.map_or("?", shared::Protocol::label);
            line(&mut text, &format!("  {protocol}: {}", exchange_facts(sample)));
        }
    }
    if let Some(measured) = measured_facts(document) {
        certificate(&mut text, measured);
        for (name, label) in [
            ("alt-svc", "Alt-Svc"),
            ("server", "Server"),
            ("server-timing", "Server-Timing"),
        ] {
            if let Some(value) = measured.header(name) {
                line(&mut text, &format!("  {label}: {value}"));
            }
        }
        if let Some(location) = &measured.redirect {
            line(
                &mut text,
                &format!("  Redirect, not followed: {location} (--follow goes on)"),
            );
        }
    }
    dns(&mut text, document);
    text
}

fn measured_facts(document: &Document) -> Option<&Facts> {
    let mut samples = document.arms.iter().flat_map(|arm| &arm.samples);
    samples
        .find(|sample| sample.failure.is_none())
        .map(|sample| &sample.facts)
}

fn exchange_facts(sample: &Sample) -> String {
    let facts = &sample.facts;
    let mut parts = Vec::new();
    parts.extend(facts.status.map(|status| format!("status {status}")));
    if !facts.interim.is_empty() {
        let codes: Vec<String> = facts.interim.iter().map(u16::to_string).collect();
        parts.push(format!("interim {}", codes.join(" ")));
    }
    let tls = [&facts.tls_version, &facts.tls_cipher, &facts.tls_group];
    let tls: Vec<&str> = tls.into_iter().flatten().map(String::as_str).collect();
    if !tls.is_empty() {
        parts.push(tls.join(" "));
    }
    if let Some(encoded) = facts.encoded_bytes {
        parts.push(match facts.decoded_bytes {
            Some(decoded) if decoded != encoded => format!("{}, {} decoded", bytes(encoded), bytes(decoded)),
            _ => bytes(encoded),
        });
    }
    if let Some(smoothed) = facts.smoothed_rtt_ns {
        parts.push(format!("smoothed RTT {}", millis(smoothed)));
    }
    if let Some(lost) = facts.packets_lost.filter(|lost| *lost > 0) {
        parts.push(format!("{lost} packets lost"));
    }
    if let Some(again) = facts.packets_retransmitted.filter(|again| *again > 0) {
        parts.push(format!("{again} segments retransmitted"));
    }
    parts.join("; ")
}

fn certificate(text: &mut String, facts: &Facts) {
    let (Some(count), Some(size)) = (facts.certificate_count, facts.certificate_chain_bytes) else {
        return;
    };
    let mut sentence = format!("  Certificate: chain of {count}, {}", bytes(size));
    let root = match facts.public_root {
        Some(true) => ", ends in a public root",
        Some(false) => ", does not end in a public root: browsers refuse HTTP/3 with it",
        None => "",
    };
    sentence.push_str(root);
    if let Some(error) = &facts.certificate_error {
        sentence.extend(["; not accepted (", error, "), gone on with -k"]);
    }
    line(text, &sentence);
}

fn dns(text: &mut String, document: &Document) {
    let Some(report) = &document.dns else {
        let skipped = measured_facts(document).and_then(|facts| facts.dns_skipped.as_deref());
        if let Some(why) = skipped {
            line(text, &format!("  DNS: not asked, {why}"));
        }
        return;
    };
    line(text, &format!("  DNS resolver: {}", report.resolver));
    for query in &report.queries {
        let mut answer = match query.outcome {
            DnsOutcome::Answered => query.answers.join(", "),
            DnsOutcome::NoRecords => "no records".into(),
            DnsOutcome::Nxdomain => "the name does not exist".into(),
            DnsOutcome::Timeout => "no answer".into(),
            DnsOutcome::Failed => "failed".into(),
        };
        if let Some(detail) = &query.detail {
            answer.extend([" (", detail, ")"]);
        }
        line(
            text,
            &format!("  {} in {}: {answer}", query.record_type, millis(query.ns)),
        );
    }
    for record in &report.https {
        let alpn = match &record.alpn[..] {
            [] => "no alpn".to_owned(),
            alpn => format!("alpn {}", alpn.join(" ")),
        };
        let hints = match &record.hints[..] {
            [] => String::new(),
            hints => format!(", hints {}", hints.join(" ")),
        };
        let port = record
            .port
            .map_or_else(String::new, |port| format!(", port {port}"));
        line(
            text,
            &format!(
                "  HTTPS record: priority {}, target {}, {alpn}{port}{hints}",
                record.priority, record.target
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use shared::{Failure, FailureKind, FailurePhase, Mark, Nanos, Plan, Protocol, Source, Temperature};

    use super::*;

    fn document() -> Document {
        let mut arm = Arm::new(Source::Probe, Some(Protocol::H2), Some(Temperature::Cold));
        for block in 0..10 {
            let mut sample = Sample {
                seq: block,
                block,
                ..Sample::default()
            };
            let marks = [
                (Mark::Start, 0),
                (Mark::ConnectStart, 1_000),
                (Mark::TcpEstablished, 20_001_000),
                (Mark::HandshakeDone, 40_001_000),
                (Mark::RequestSent, 40_101_000),
                (Mark::Headers, 60_101_000),
                (Mark::End, 60_101_000),
            ];
            for (mark, ns) in marks {
                sample.marks.set(mark, Nanos(ns));
            }
            sample.facts.min_rtt_ns = Some(Nanos(20_000_000));
            sample.facts.dns_skipped = Some("the host is an address".into());
            if block == 3 {
                sample.failure = Some(Failure::new(
                    FailureKind::H2Protocol,
                    FailurePhase::Wait,
                    "\u{1b}[31mred",
                ));
            }
            arm.samples.push(sample);
        }
        let mut document: Document = serde_json::from_value(serde_json::json!({
            "schema": 1, "created": "2026-01-01T00:00:00Z", "tool": {"version": "0"},
            "plan": serde_json::to_value(Plan::new("https://example.org/")).unwrap(),
            "vantage": {"kind": "probe", "clock_step_ns": 1},
            "arms": [],
        }))
        .unwrap();
        document.arms.push(arm);
        document.recompute();
        document
    }

    #[test]
    fn an_arm_shows_median_round_trips_and_why_a_phase_is_missing() {
        let text = render(&document());
        assert!(text.contains("HTTP/2, new connection"), "{text}");
        assert!(text.contains("40.0 ms"), "{text}");
        assert!(text.contains("2.0 RTT"), "{text}");
        assert!(text.contains("none"), "{text}");
    }

    #[test]
    fn failures_have_their_share_and_cannot_write_escape_sequences() {
        let text = render(&document());
        assert!(text.contains("1 of 10 failed"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn every_column_is_explained() {
        let text = definitions();
        for phase in COLUMNS {
            assert!(text.contains(&format!("{}:", phase.id())), "{phase:?}");
        }
    }
}
