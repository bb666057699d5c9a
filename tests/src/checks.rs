//! What must hold for every document, whatever was measured.

use serde_json::Value;
use shared::{Arm, Document, Mark, Phase, Sample};

/// Fails unless every figure of the document follows from its marks, phases and gaps add up, and each absence has its
/// reason. `text` is the document as it was received.
///
/// # Panics
/// With the figure that does not hold.
pub fn assert_coherent(text: &str) {
    let received: Value = serde_json::from_str(text).expect("JSON");
    let mut document: Document = serde_json::from_str(text).expect("a document");
    if let Err(error) = document.check() {
        panic!("not a valid document: {error}");
    }
    for arm in &document.arms {
        for sample in &arm.samples {
            assert_adds_up(arm, sample);
        }
    }
    document.recompute();
    let recomputed = serde_json::to_string(&document).expect("JSON");
    // Both sides were printed from the same floats and are read by the same parser, so equal means equal.
    let recomputed: Value = serde_json::from_str(&recomputed).expect("JSON");
    for part in ["arms", "comparisons", "findings"] {
        assert_same(part, &received[part], &recomputed[part]);
    }
}

fn assert_same(path: &str, received: &Value, recomputed: &Value) {
    match (received, recomputed) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let (a, b) = (
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                );
                assert_same(&format!("{path}.{key}"), a, b);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(
                a.len(),
                b.len(),
                "{path}: another number of entries when recomputed"
            );
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                assert_same(&format!("{path}[{index}]"), a, b);
            }
        }
        _ => assert_eq!(received, recomputed, "{path} is another when recomputed"),
    }
}

fn assert_adds_up(arm: &Arm, sample: &Sample) {
    let place = format!("{} seq {}", arm.id, sample.seq);
    for phase in Phase::ALL {
        let value = sample.phases.get(&phase);
        let value = value.unwrap_or_else(|| panic!("{place}: {} is missing without a reason", phase.id()));
        assert!(value.is_coherent(), "{place}: {} is {value:?}", phase.id());
    }
    if let Some(total) = sample.phases[&Phase::Total].ns {
        let tiles = Phase::TILES
            .iter()
            .filter_map(|phase| sample.phases[phase].ns)
            .map(|ns| ns.0);
        let gaps = sample.gaps.iter().map(|gap| gap.ns.0);
        let sum: u64 = tiles.chain(gaps).sum();
        assert_eq!(
            sum, total.0,
            "{place}: phases and gaps do not add up to the total"
        );
    }
    if sample.failure.is_none() {
        for mark in [Mark::Start, Mark::RequestSent, Mark::Headers, Mark::End] {
            assert!(
                sample.marks.at(mark).is_some(),
                "{place}: a success without {}",
                mark.id()
            );
        }
    }
}

/// The median of a phase over an arm's successful samples, in nanoseconds, as the document says.
///
/// # Panics
/// When the arm has none.
pub fn median_ns(arm: &Arm, phase: Phase) -> u64 {
    let summary = arm.summary.phases.get(&phase);
    let summary = summary.unwrap_or_else(|| panic!("{} has no {}: {:?}", arm.id, phase.id(), arm.summary));
    summary.median_ns.0
}
