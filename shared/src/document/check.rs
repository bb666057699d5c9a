//! What a document from elsewhere must satisfy before it is stored, shown or computed with.

use thiserror::Error;

use crate::{
    Arm, BrowserReport, DnsReport, Document, Facts, Finding, Nanos, Plan, PlanError, Sample, Source, Vantage,
    VantageKind, document::SCHEMA,
};

/// Most arms: three protocols and "hidden", each cold, warm and without temperature, for two sources.
const MAX_ARMS: usize = 24;
/// Most samples of all arms together.
const MAX_SAMPLES: u64 = Plan::MAX_EXCHANGES + Plan::MAX_BROWSER_SAMPLES as u64;
/// Longest text that is not a URL.
const MAX_TEXT: usize = 2048;
/// Most items of any list inside a sample or report.
const MAX_ITEMS: usize = 64;
/// Largest `seq`, `block` or `exchange`.
const MAX_INDEX: u32 = 1_000_000;
/// Latest mark and largest span: above 2^53 a page's numbers are no longer exact.
const MAX_TIME: Nanos = Nanos(1 << 53);
/// Largest count of round trips.
const MAX_ROUND_TRIPS: f64 = 1e12;

/// A document that breaks a rule: where, and which.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {message}")]
pub struct DocumentError {
    /// The place in the document, such as `arms[2].samples[7].facts`.
    pub at: String,
    /// What is wrong there.
    pub message: String,
}

impl From<PlanError> for DocumentError {
    fn from(error: PlanError) -> Self {
        Self {
            at: format!("plan.{}", error.field),
            message: error.message,
        }
    }
}

impl Document {
    /// Checks schema, limits, lengths, numbers, and that the parts agree with each other.
    ///
    /// Figures that can be computed are only checked for being well formed: call [`Document::recompute`] afterwards to
    /// be independent of what somebody wrote there.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), DocumentError> {
        if self.schema != SCHEMA {
            return fail(
                "schema",
                format!("is {}, this version reads {SCHEMA}", self.schema),
            );
        }
        text("id", self.id.as_deref().unwrap_or_default(), 64)?;
        text("created", &self.created, 40)?;
        text("tool.version", &self.tool.version, 64)?;
        self.plan.validate()?;
        for (at, value) in [
            ("accept_encoding", &self.plan.accept_encoding),
            ("resolve", &self.plan.resolve),
        ] {
            text(
                &format!("plan.{at}"),
                value.as_deref().unwrap_or_default(),
                MAX_TEXT,
            )?;
        }
        check_vantage("vantage", &self.vantage)?;
        if let Some(vantage) = &self.browser_vantage {
            check_vantage("browser_vantage", vantage)?;
        }
        if let Some(dns) = &self.dns {
            check_dns(dns)?;
        }
        text("address", self.address.as_deref().unwrap_or_default(), MAX_TEXT)?;
        check_arms(&self.arms)?;
        self.check_comparisons()?;
        check_findings(&self.findings)
    }

    fn check_comparisons(&self) -> Result<(), DocumentError> {
        // Every pair of arms in every phase.
        count(
            "comparisons",
            self.comparisons.len(),
            MAX_ARMS * MAX_ARMS * 11 / 2,
        )?;
        for (index, comparison) in self.comparisons.iter().enumerate() {
            let known = |id: &str| self.arms.iter().any(|arm| arm.id == id);
            if !known(&comparison.a) || !known(&comparison.b) {
                return fail(
                    format!("comparisons[{index}]"),
                    "compares an arm that is not there",
                );
            }
            if comparison.low_ns > comparison.high_ns {
                return fail(
                    format!("comparisons[{index}]"),
                    "the interval ends before it begins",
                );
            }
        }
        Ok(())
    }
}

impl BrowserReport {
    /// Checks a report as [`Document::check`] does, and that it is a browser's.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), DocumentError> {
        if self.vantage.kind != VantageKind::Browser {
            return fail("vantage.kind", "is not browser");
        }
        check_vantage("vantage", &self.vantage)?;
        check_arms(&self.arms)?;
        if self.arms.iter().any(|arm| arm.source != Source::Browser) {
            return fail("arms", "an arm is not the browser's");
        }
        if samples(&self.arms) > Plan::MAX_BROWSER_SAMPLES.into() {
            return fail("arms", format!("more than {} samples", Plan::MAX_BROWSER_SAMPLES));
        }
        Ok(())
    }
}

fn check_vantage(at: &str, vantage: &Vantage) -> Result<(), DocumentError> {
    text(
        &format!("{at}.description"),
        vantage.description.as_deref().unwrap_or_default(),
        MAX_TEXT,
    )?;
    // A page behind the strictest privacy mode still has 100 ms.
    if vantage.clock_step_ns > Nanos(1_000_000_000) {
        return fail(format!("{at}.clock_step_ns"), "is more than a second");
    }
    Ok(())
}

fn check_dns(dns: &DnsReport) -> Result<(), DocumentError> {
    text("dns.host", &dns.host, MAX_TEXT)?;
    text("dns.resolver", &dns.resolver, MAX_TEXT)?;
    count("dns.queries", dns.queries.len(), MAX_ITEMS)?;
    for (index, query) in dns.queries.iter().enumerate() {
        let at = format!("dns.queries[{index}]");
        text(&at, &query.record_type, 16)?;
        text(&at, query.detail.as_deref().unwrap_or_default(), MAX_TEXT)?;
        texts(&at, &query.answers)?;
        time(&at, query.ns)?;
    }
    count("dns.https", dns.https.len(), MAX_ITEMS)?;
    for (index, record) in dns.https.iter().enumerate() {
        let at = format!("dns.https[{index}]");
        text(&at, &record.target, MAX_TEXT)?;
        texts(&at, &record.alpn)?;
        texts(&at, &record.hints)?;
    }
    Ok(())
}

fn check_arms(arms: &[Arm]) -> Result<(), DocumentError> {
    count("arms", arms.len(), MAX_ARMS)?;
    if samples(arms) > MAX_SAMPLES {
        return fail("arms", format!("more than {MAX_SAMPLES} samples"));
    }
    for (index, arm) in arms.iter().enumerate() {
        let at = format!("arms[{index}]");
        let expected = Arm::id_for(arm.source, arm.protocol, arm.temperature);
        if arm.id != expected {
            return fail(format!("{at}.id"), format!("must be {expected}"));
        }
        if arms[..index].iter().any(|earlier| earlier.id == arm.id) {
            return fail(format!("{at}.id"), "occurs twice");
        }
        for (sample, index) in arm.samples.iter().zip(0..) {
            check_sample(sample).map_err(|error| DocumentError {
                at: format!("{at}.samples[{index}].{}", error.at),
                ..error
            })?;
        }
        for phase in arm.summary.phases.values() {
            round_trips(&format!("{at}.summary"), phase.rtts)?;
        }
    }
    Ok(())
}

fn samples(arms: &[Arm]) -> u64 {
    arms.iter().map(|arm| arm.samples.len() as u64).sum()
}

fn check_sample(sample: &Sample) -> Result<(), DocumentError> {
    for (at, index) in [
        ("seq", sample.seq),
        ("block", sample.block),
        ("exchange", sample.exchange),
    ] {
        if index > MAX_INDEX {
            return fail(at, format!("is more than {MAX_INDEX}"));
        }
    }
    for (mark, at) in sample.marks.iter() {
        time(mark.id(), at)?;
    }
    for (phase, value) in &sample.phases {
        if !value.is_coherent() {
            return fail(
                format!("phases.{}", phase.id()),
                "has neither a value nor a reason, or both",
            );
        }
        time(phase.id(), value.ns.unwrap_or_default())?;
        round_trips(phase.id(), value.rtts)?;
        text(phase.id(), value.why.as_deref().unwrap_or_default(), MAX_TEXT)?;
    }
    count("gaps", sample.gaps.len(), MAX_ITEMS)?;
    for gap in &sample.gaps {
        time("gaps", gap.ns)?;
    }
    if let Some(failure) = &sample.failure {
        text("failure.detail", &failure.detail, MAX_TEXT)?;
    }
    check_facts(&sample.facts)
}

fn check_facts(facts: &Facts) -> Result<(), DocumentError> {
    let optional = [
        &facts.http_version,
        &facts.address,
        &facts.hidden,
        &facts.dns_skipped,
        &facts.tls_version,
        &facts.tls_cipher,
        &facts.tls_group,
        &facts.certificate_error,
    ];
    for value in optional.into_iter().flatten() {
        text("facts", value, MAX_TEXT)?;
    }
    // The target of a redirect can be as long as a header section allows.
    text(
        "facts.redirect",
        facts.redirect.as_deref().unwrap_or_default(),
        16_384,
    )?;
    count("facts.interim", facts.interim.len(), MAX_ITEMS)?;
    count("facts.headers", facts.headers.len(), MAX_ITEMS)?;
    for (name, value) in &facts.headers {
        text("facts.headers", name, 128)?;
        text("facts.headers", value, 16_384)?;
    }
    texts("facts.notes", &facts.notes)?;
    for rtt in [facts.min_rtt_ns, facts.smoothed_rtt_ns].into_iter().flatten() {
        time("facts", rtt)?;
    }
    Ok(())
}

fn check_findings(findings: &[Finding]) -> Result<(), DocumentError> {
    count("findings", findings.len(), MAX_ITEMS)?;
    for (index, finding) in findings.iter().enumerate() {
        let at = format!("findings[{index}]");
        text(&at, &finding.rule, 64)?;
        text(&at, &finding.text, MAX_TEXT)?;
        count(&at, finding.evidence.len(), MAX_ITEMS)?;
        for evidence in &finding.evidence {
            text(&at, &evidence.what, MAX_TEXT)?;
            text(&at, &evidence.value, MAX_TEXT)?;
        }
    }
    Ok(())
}

fn texts(at: &str, values: &[String]) -> Result<(), DocumentError> {
    count(at, values.len(), MAX_ITEMS)?;
    values.iter().try_for_each(|value| text(at, value, MAX_TEXT))
}

fn text(at: &str, value: &str, longest: usize) -> Result<(), DocumentError> {
    if value.len() > longest {
        return fail(at, format!("a text is longer than {longest} bytes"));
    }
    Ok(())
}

fn count(at: &str, items: usize, most: usize) -> Result<(), DocumentError> {
    if items > most {
        return fail(at, format!("has {items} items, more than {most}"));
    }
    Ok(())
}

fn time(at: &str, value: Nanos) -> Result<(), DocumentError> {
    if value > MAX_TIME {
        return fail(at, "a time is out of range");
    }
    Ok(())
}

fn round_trips(at: &str, counted: Option<f64>) -> Result<(), DocumentError> {
    // Also refuses NaN, for which no comparison holds.
    if counted.is_some_and(|counted| !(0.0..=MAX_ROUND_TRIPS).contains(&counted)) {
        return fail(at, "a count of round trips is out of range");
    }
    Ok(())
}

fn fail(at: impl Into<String>, message: impl Into<String>) -> Result<(), DocumentError> {
    Err(DocumentError {
        at: at.into(),
        message: message.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phase, Quality, document::example};

    #[test]
    fn what_this_version_makes_is_accepted() {
        assert_eq!(example::document().check(), Ok(()));
    }

    #[test]
    fn each_broken_rule_names_its_place() {
        type Break = fn(&mut Document);
        let cases: [(&str, Break); 12] = [
            ("schema", |d| d.schema = 2),
            ("created", |d| d.created = "x".repeat(41)),
            ("plan.samples", |d| d.plan.samples = 0),
            ("vantage.clock_step_ns", |d| {
                d.vantage.clock_step_ns = Nanos(u64::MAX);
            }),
            ("arms[1].id", |d| d.arms[1].id = "h9".into()),
            ("arms[1].id", |d| d.arms[1] = d.arms[0].clone()),
            ("arms[0].samples[3].seq", |d| d.arms[0].samples[3].seq = u32::MAX),
            ("arms[0].samples[0].facts.notes", |d| {
                d.arms[0].samples[0].facts.notes = vec![String::new(); 65];
            }),
            ("arms[0].samples[0].end", |d| {
                d.arms[0].samples[0].marks.set(crate::Mark::End, Nanos(u64::MAX));
            }),
            ("arms[0].samples[0].phases.total", |d| {
                let phases = &mut d.arms[0].samples[0].phases;
                phases.get_mut(&Phase::Total).unwrap().quality = Quality::Hidden;
            }),
            ("arms[0].samples[0].total", |d| {
                let phases = &mut d.arms[0].samples[0].phases;
                phases.get_mut(&Phase::Total).unwrap().rtts = Some(f64::NAN);
            }),
            ("comparisons[0]", |d| d.comparisons[0].b = "h7-cold".into()),
        ];
        for (at, break_it) in cases {
            let mut document = example::document();
            break_it(&mut document);
            assert_eq!(document.check().unwrap_err().at, at);
        }
    }

    #[test]
    fn a_report_of_the_probe_is_not_a_browsers() {
        let document = example::document();
        let mut report = BrowserReport {
            vantage: document.vantage,
            arms: document.arms,
        };
        assert_eq!(report.check().unwrap_err().at, "vantage.kind");
        report.vantage.kind = VantageKind::Browser;
        assert_eq!(report.check().unwrap_err().at, "arms");
    }
}
