//! A document in columns: what stands in a link's payload.

use super::{LinkError, RESOLUTIONS, column::Column, facts::FactColumns};
use crate::{
    Arm, DnsReport, Document, Facts, Failure, Map, Mark, Marks, Nanos, Plan, Protocol, Sample, Source,
    StampSource, Temperature, Tool, Vantage, document::SCHEMA, wire_struct,
};

/// Most samples of a link.
const MAX_SAMPLES: usize = 3_000;
/// Most arms of a link: as many as a document may have.
const MAX_ARMS: usize = 24;
/// Most bytes that constants may grow to when they are spread over their samples.
const MAX_SPREAD_BYTES: usize = 8 << 20;

/// A document without what can be computed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packed {
    schema: u32,
    created: String,
    tool: Tool,
    plan: Plan,
    vantage: Vantage,
    browser_vantage: Option<Vantage>,
    dns: Option<DnsReport>,
    address: Option<String>,
    resolution: Nanos,
    arms: Vec<PackedArm>,
}

#[derive(Clone, Debug, PartialEq)]
struct PackedArm {
    source: Source,
    protocol: Option<Protocol>,
    temperature: Option<Temperature>,
    samples: usize,
    /// Less that of the sample before; the first as it is. Likewise `block`.
    seq: Option<Column<i64>>,
    block: Option<Column<i64>>,
    exchange: Option<Column<i64>>,
    /// In units of the resolution, less the mark before it in the order of [`Mark`].
    marks: Map<Mark, Column<i64>>,
    mark_sources: Map<Mark, Column<StampSource>>,
    facts: FactColumns,
    failure: Option<Column<Failure>>,
    /// Indices of the disturbed samples.
    disturbed: Vec<usize>,
}

wire_struct!(Packed {
    schema, created, tool, plan, vantage, resolution, arms | browser_vantage, dns, address
});

wire_struct!(PackedArm {
    source, samples | protocol, temperature, seq, block, exchange, marks, mark_sources, facts, failure, disturbed
});

impl Packed {
    pub(super) fn from_document(document: &Document, resolution: Nanos) -> Result<Self, LinkError> {
        let coarser = |vantage: &Vantage| Vantage {
            clock_step_ns: if resolution > Nanos(1) {
                vantage.clock_step_ns.max(resolution)
            } else {
                vantage.clock_step_ns
            },
            ..vantage.clone()
        };
        let arms = document
            .arms
            .iter()
            .map(|arm| PackedArm::from_arm(arm, resolution));
        let packed = Self {
            schema: SCHEMA,
            created: document.created.clone(),
            tool: document.tool.clone(),
            plan: document.plan.clone(),
            vantage: coarser(&document.vantage),
            browser_vantage: document.browser_vantage.as_ref().map(coarser),
            dns: document.dns.clone(),
            address: document.address.clone(),
            resolution,
            arms: arms.collect::<Result<_, _>>()?,
        };
        packed.check_sizes()?;
        Ok(packed)
    }

    /// The document; its computed figures are still missing.
    pub(super) fn into_document(self) -> Result<Document, LinkError> {
        if !RESOLUTIONS.contains(&self.resolution) {
            return Err(LinkError::Invalid("unknown resolution".into()));
        }
        self.check_sizes()?;
        let arms = self.arms.iter().map(|arm| arm.to_arm(self.resolution));
        Ok(Document {
            arms: arms.collect::<Result<_, _>>()?,
            schema: self.schema,
            id: None,
            created: self.created,
            tool: self.tool,
            plan: self.plan,
            vantage: self.vantage,
            browser_vantage: self.browser_vantage,
            dns: self.dns,
            address: self.address,
            comparisons: Vec::new(),
            findings: Vec::new(),
        })
    }

    /// Bounds everything that [`Self::into_document`] allocates.
    fn check_sizes(&self) -> Result<(), LinkError> {
        let mut samples = 0_usize;
        let mut bytes = 0_usize;
        for arm in &self.arms {
            samples = samples.saturating_add(arm.samples);
            if self.arms.len() > MAX_ARMS || samples > MAX_SAMPLES {
                return Err(LinkError::TooLarge);
            }
            bytes = bytes.saturating_add(arm.spread()?);
        }
        if bytes > MAX_SPREAD_BYTES {
            return Err(LinkError::TooLarge);
        }
        Ok(())
    }
}

impl PackedArm {
    fn from_arm(arm: &Arm, resolution: Nanos) -> Result<Self, LinkError> {
        let samples = &arm.samples;
        let steps = |value: fn(&Sample) -> u32| {
            let mut before = 0;
            let steps = samples.iter().map(|sample| {
                let now = i64::from(value(sample));
                let step = now - before;
                before = now;
                Some(step)
            });
            Column::from_values(steps.collect())
        };
        let exchange = samples.iter().map(|sample| Some(i64::from(sample.exchange)));
        let facts: Vec<Facts> = samples
            .iter()
            .map(|sample| rounded(&sample.facts, resolution))
            .collect();
        let failures = samples.iter().map(|sample| sample.failure.clone());
        let disturbed = samples.iter().enumerate().filter(|(_, sample)| sample.disturbed);
        Ok(Self {
            source: arm.source,
            protocol: arm.protocol,
            temperature: arm.temperature,
            samples: samples.len(),
            seq: steps(|sample| sample.seq),
            block: steps(|sample| sample.block),
            exchange: Column::from_values(exchange.collect()),
            marks: mark_columns(samples, resolution)?,
            mark_sources: columns(|mark| {
                samples
                    .iter()
                    .map(|sample| sample.mark_sources.get(&mark).copied())
                    .collect()
            }),
            facts: FactColumns::from_facts(&facts),
            failure: Column::from_values(failures.collect()),
            disturbed: disturbed.map(|(index, _)| index).collect(),
        })
    }

    fn to_arm(&self, resolution: Nanos) -> Result<Arm, LinkError> {
        let mut arm = Arm::new(self.source, self.protocol, self.temperature);
        let (mut seq, mut block) = (0_i64, 0_i64);
        for index in 0..self.samples {
            let step = |column: &Option<Column<i64>>| {
                column.as_ref().and_then(|column| column.at(index)).unwrap_or(0)
            };
            seq = seq.saturating_add(step(&self.seq));
            block = block.saturating_add(step(&self.block));
            let small = |value: i64| {
                u32::try_from(value).map_err(|_| LinkError::Invalid("an index is out of range".into()))
            };
            let sources = self.mark_sources.iter();
            arm.samples.push(Sample {
                seq: small(seq)?,
                block: small(block)?,
                exchange: small(step(&self.exchange))?,
                marks: self.marks_at(index, resolution)?,
                mark_sources: sources
                    .filter_map(|(mark, column)| Some((*mark, column.at(index)?)))
                    .collect(),
                facts: self.facts.at(index),
                failure: self.failure.as_ref().and_then(|column| column.at(index)),
                ..Sample::default()
            });
        }
        for index in &self.disturbed {
            if let Some(sample) = arm.samples.get_mut(*index) {
                sample.disturbed = true;
            }
        }
        Ok(arm)
    }

    fn marks_at(&self, index: usize, resolution: Nanos) -> Result<Marks, LinkError> {
        let mut at = 0_i64;
        let mut marks = Marks::new();
        for (mark, column) in &self.marks {
            if let Some(step) = column.at(index) {
                at = at.saturating_add(step);
                let time = u64::try_from(at)
                    .ok()
                    .and_then(|units| units.checked_mul(resolution.0));
                let time = time.ok_or_else(|| LinkError::Invalid("a mark is out of range".into()))?;
                marks.set(*mark, Nanos(time));
            }
        }
        Ok(marks)
    }

    /// As [`Column::spread`], over all columns.
    fn spread(&self) -> Result<usize, LinkError> {
        let mut bytes = self.facts.spread(self.samples)?;
        for column in [&self.seq, &self.block, &self.exchange]
            .into_iter()
            .flatten()
            .chain(self.marks.values())
        {
            column.spread(self.samples)?;
        }
        for column in self.mark_sources.values() {
            column.spread(self.samples)?;
        }
        if let Some(column) = &self.failure {
            bytes = bytes.saturating_add(column.spread(self.samples)?);
        }
        Ok(bytes)
    }
}

/// Differences, as a mark repeats most of the digits of the one before; in the order of marks, not of time, so that a
/// difference can be negative (a QUIC handshake is often confirmed after the request was sent).
fn mark_columns(samples: &[Sample], resolution: Nanos) -> Result<Map<Mark, Column<i64>>, LinkError> {
    let mut before = vec![0_i64; samples.len()];
    let mut found = Map::new();
    for mark in Mark::ALL {
        let mut steps = Vec::with_capacity(samples.len());
        for (sample, before) in samples.iter().zip(&mut before) {
            let Some(at) = sample.marks.at(mark) else {
                steps.push(None);
                continue;
            };
            let at = i64::try_from(units(at, resolution)).map_err(|_| LinkError::TooLarge)?;
            steps.push(Some(at - *before));
            *before = at;
        }
        found.extend(Column::from_values(steps).map(|column| (mark, column)));
    }
    Ok(found)
}

fn columns<T: Clone + PartialEq>(values: impl Fn(Mark) -> Vec<Option<T>>) -> Map<Mark, Column<T>> {
    let found = Mark::ALL.into_iter();
    found
        .filter_map(|mark| Some((mark, Column::from_values(values(mark))?)))
        .collect()
}

fn rounded(facts: &Facts, resolution: Nanos) -> Facts {
    let round = |time: Nanos| Nanos(units(time, resolution).saturating_mul(resolution.0));
    Facts {
        min_rtt_ns: facts.min_rtt_ns.map(round),
        smoothed_rtt_ns: facts.smoothed_rtt_ns.map(round),
        ..facts.clone()
    }
}

/// How many units a time is, rounded half up.
fn units(time: Nanos, resolution: Nanos) -> u64 {
    time.0.saturating_add(resolution.0 / 2) / resolution.0.max(1)
}
