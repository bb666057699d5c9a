//! Made runs for tests: what a probe would have said.

use shared::{Document, Nanos, Plan, RunEvent, Sample, Tool, Vantage, VantageKind};

/// A document without arms.
pub(crate) fn document(plan: Plan) -> Document {
    Document {
        schema: shared::document::SCHEMA,
        id: None,
        created: "2026-01-01T00:00:00Z".into(),
        tool: Tool::default(),
        plan,
        vantage: Vantage {
            kind: VantageKind::Probe,
            clock_step_ns: Nanos(1),
            description: None,
            same_machine: None,
        },
        browser_vantage: None,
        dns: None,
        address: None,
        arms: Vec::new(),
        comparisons: Vec::new(),
        findings: Vec::new(),
    }
}

/// A sample that landed.
pub(crate) fn sample_event(seq: u32) -> RunEvent {
    RunEvent::Sample {
        arm: "h3-cold".into(),
        sample: Box::new(Sample {
            seq,
            ..Sample::default()
        }),
    }
}
