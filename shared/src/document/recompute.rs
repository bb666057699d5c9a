//! Every derived figure of a document, computed anew from plan, marks and facts.

use crate::{
    Arm, BrowserReport, Circumstances, Comparison, ConnectionUse, Document, Nanos, Phase, Protocol, Sample,
    Source, Temperature, breakdown, diagnosis, statistics,
};

impl Sample {
    /// Fills `phases`, `gaps` and the round-trip counts from the marks and facts.
    ///
    /// Facts that are absent are read like this: `connection` is reused for every exchange but the first on its
    /// connection, and new for that one; `tls` is true, as only HTTP/1.1 goes without.
    pub fn recompute(&mut self, protocol: Option<Protocol>, clock_step: Nanos) {
        let implied = if self.exchange > 0 {
            ConnectionUse::Reused
        } else {
            ConnectionUse::New
        };
        let computed = breakdown(
            &self.marks,
            &Circumstances {
                protocol,
                tls: self.facts.tls.unwrap_or(true),
                connection: self.facts.connection.unwrap_or(implied),
                hidden: self.facts.hidden.as_deref(),
                dns_skipped: self.facts.dns_skipped.as_deref(),
                failed: self.failure.as_ref().map(|failure| failure.kind.label()),
                clock_step,
                min_rtt: self.facts.min_rtt_ns,
            },
        );
        self.phases = computed.phases;
        self.gaps = computed.gaps;
    }
}

impl Arm {
    /// Computes the samples' phases, marks outliers and fills the summary. Cheap enough to be called while a run goes
    /// on; comparisons, which are not, are left to [`Document::recompute`].
    pub fn recompute(&mut self, clock_step: Nanos) {
        for sample in &mut self.samples {
            sample.recompute(self.protocol, clock_step);
        }
        let totals: Vec<Option<Nanos>> = self
            .samples
            .iter()
            .map(|sample| match sample.failure {
                None => sample.phases.get(&Phase::Total).and_then(|total| total.ns),
                Some(_) => None,
            })
            .collect();
        let flags = statistics::outliers(&totals, clock_step);
        for (sample, outlier) in self.samples.iter_mut().zip(flags) {
            sample.outlier = outlier;
        }
        self.summary = statistics::summarise(&self.samples);
    }
}

impl Document {
    /// Computes every derived figure anew: phases, gaps, outliers, summaries, comparisons and findings. The result
    /// depends on plan, vantages, marks, facts and failures only, so it is the same wherever it is computed.
    ///
    /// Compared are probe arms of the same temperature (the later protocol against the earlier one) and the warm arm
    /// of a protocol against its cold one; the seed is the plan's.
    pub fn recompute(&mut self) {
        for index in 0..self.arms.len() {
            let step = self.clock_step(self.arms[index].source);
            self.arms[index].recompute(step);
        }
        self.comparisons = self.compared();
        self.findings = diagnosis::findings(self);
    }

    /// Replaces the browser side by what a page reports, and computes every figure anew.
    pub fn add_browser(&mut self, report: BrowserReport) {
        self.arms.retain(|arm| arm.source != Source::Browser);
        self.arms.extend(report.arms);
        self.browser_vantage = Some(report.vantage);
        self.recompute();
    }

    /// The clock step of the vantage that stamped arms of `source`.
    pub fn clock_step(&self, source: Source) -> Nanos {
        match (source, &self.browser_vantage) {
            (Source::Browser, Some(browser)) => browser.clock_step_ns,
            _ => self.vantage.clock_step_ns,
        }
    }

    /// The arm with this source, protocol and temperature.
    pub fn arm(&self, source: Source, protocol: Protocol, temperature: Temperature) -> Option<&Arm> {
        self.arms.iter().find(|arm| {
            arm.source == source && arm.protocol == Some(protocol) && arm.temperature == Some(temperature)
        })
    }

    fn compared(&self) -> Vec<Comparison> {
        let probe = |protocol, temperature| self.arm(Source::Probe, protocol, temperature);
        let mut pairs = Vec::new();
        for temperature in [Temperature::Cold, Temperature::Warm] {
            for (a, b) in [
                (Protocol::H1, Protocol::H2),
                (Protocol::H1, Protocol::H3),
                (Protocol::H2, Protocol::H3),
            ] {
                pairs.push((probe(a, temperature), probe(b, temperature)));
            }
        }
        for protocol in Protocol::ALL {
            pairs.push((
                probe(protocol, Temperature::Cold),
                probe(protocol, Temperature::Warm),
            ));
        }
        let mut comparisons = Vec::new();
        for (a, b) in pairs.into_iter().filter_map(|(a, b)| Some((a?, b?))) {
            for phase in Phase::COMPARED {
                comparisons.extend(statistics::compare(a, b, phase, self.plan.seed));
            }
        }
        comparisons
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mark, Vantage, VantageKind, Verdict, document::example};

    #[test]
    fn recomputing_changes_nothing_that_was_computed() {
        let document = example::document();
        let mut again = document.clone();
        for arm in &mut again.arms {
            arm.summary = crate::ArmSummary::default();
            for sample in &mut arm.samples {
                sample.phases.clear();
                sample.gaps.clear();
                sample.outlier = !sample.outlier;
            }
        }
        again.comparisons.clear();
        again.recompute();
        assert_eq!(again, document);
    }

    #[test]
    fn protocols_are_compared_within_a_temperature_and_temperatures_within_a_protocol() {
        let document = example::document();
        let pairs: std::collections::BTreeSet<_> = document
            .comparisons
            .iter()
            .map(|c| (c.a.as_str(), c.b.as_str()))
            .collect();
        let expected = [
            ("h1-cold", "h1-warm"),
            ("h1-cold", "h2-cold"),
            ("h1-cold", "h3-cold"),
            ("h1-warm", "h2-warm"),
            ("h1-warm", "h3-warm"),
            ("h2-cold", "h2-warm"),
            ("h2-cold", "h3-cold"),
            ("h2-warm", "h3-warm"),
            ("h3-cold", "h3-warm"),
        ];
        assert_eq!(pairs, expected.into());
        let setup = document
            .comparisons
            .iter()
            .find(|c| (c.a.as_str(), c.b.as_str(), c.phase) == ("h2-cold", "h3-cold", Phase::Setup))
            .unwrap();
        assert_eq!(setup.verdict, Verdict::Faster);
        assert!(setup.low_ns <= setup.shift_ns && setup.shift_ns <= setup.high_ns);
        assert!(
            !document
                .comparisons
                .iter()
                .any(|c| c.phase == Phase::Setup && c.b.ends_with("warm")),
            "a reused connection has no setup to compare"
        );
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

        #[test]
        fn a_document_read_from_its_json_is_the_same(document in crate::document::arbitrary::document()) {
            let json = serde_json::to_string(&document).unwrap();
            let read: Document = serde_json::from_str(&json).unwrap();
            proptest::prop_assert_eq!(&read, &document);
            proptest::prop_assert_eq!(read.check(), Ok(()));
        }

        #[test]
        fn a_sample_read_from_its_json_is_the_same(mut sample in crate::document::arbitrary::sample()) {
            sample.recompute(Some(Protocol::H2), Nanos(1));
            let json = serde_json::to_string(&sample).unwrap();
            proptest::prop_assert_eq!(serde_json::from_str::<Sample>(&json).unwrap(), sample);
        }
    }

    #[test]
    fn the_browser_side_is_replaced_and_read_with_its_own_clock() {
        let mut document = example::document();
        let mut arm = Arm::new(Source::Browser, Some(Protocol::H2), Some(Temperature::Warm));
        arm.samples.push(Sample {
            marks: [(Mark::Start, Nanos(0)), (Mark::End, Nanos(1_500_000))]
                .into_iter()
                .collect(),
            ..Sample::default()
        });
        let vantage = Vantage {
            kind: VantageKind::Browser,
            clock_step_ns: Nanos(1_000_000),
            description: None,
            same_machine: None,
        };
        for _ in 0..2 {
            document.add_browser(BrowserReport {
                vantage: vantage.clone(),
                arms: vec![arm.clone()],
            });
        }
        let browser: Vec<_> = document
            .arms
            .iter()
            .filter(|arm| arm.source == Source::Browser)
            .collect();
        assert_eq!(browser.len(), 1);
        let total = &browser[0].samples[0].phases[&Phase::Total];
        assert_eq!(total.quality, crate::Quality::BelowResolution);
    }
}
