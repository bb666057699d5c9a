//! `roundtrip probe` as a user runs it, with its document read.

use std::process::Stdio;
use std::time::Duration;

use shared::{Arm, Document, FailureKind, FailurePhase};
use tokio::process::Command;

use crate::programs::roundtrip;

/// Far longer than any run of these tests: reaching it means that the probe hangs.
const HANGS: Duration = Duration::from_secs(90);

/// What a run gave.
pub struct Outcome {
    /// Exit status.
    pub code: i32,
    /// Standard output as it was.
    pub printed: String,
    /// Standard error.
    pub said: String,
    /// The document, when `--json` printed one.
    pub document: Option<Document>,
}

impl Outcome {
    /// The document.
    ///
    /// # Panics
    /// When none was printed; with what was.
    pub fn document(&self) -> &Document {
        self.document.as_ref().unwrap_or_else(|| {
            panic!(
                "no document; exit status {}\n{}\n{}",
                self.code, self.printed, self.said
            )
        })
    }

    /// An arm by id.
    ///
    /// # Panics
    /// When there is none.
    pub fn arm(&self, id: &str) -> &Arm {
        let arms = &self.document().arms;
        arms.iter().find(|arm| arm.id == id).unwrap_or_else(|| {
            let ids: Vec<&str> = arms.iter().map(|arm| arm.id.as_str()).collect();
            panic!("no arm {id} among {ids:?}")
        })
    }

    /// Kind, phase and detail of every failure of an arm.
    pub fn failures(&self, arm: &str) -> Vec<(FailureKind, FailurePhase, &str)> {
        let samples = &self.arm(arm).samples;
        let failures = samples.iter().filter_map(|sample| sample.failure.as_ref());
        failures
            .map(|failure| (failure.kind, failure.phase, failure.detail.as_str()))
            .collect()
    }
}

/// Runs `roundtrip probe --json` with these arguments, private targets allowed.
pub async fn probe(arguments: &[&str]) -> Outcome {
    run(&[&["probe", "--json", "--allow-private"], arguments].concat()).await
}

/// Runs the binary with exactly these arguments.
///
/// # Panics
/// When it cannot be started, hangs, is killed by a signal, or panics.
pub async fn run(arguments: &[&str]) -> Outcome {
    let child = Command::new(roundtrip())
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(HANGS, child)
        .await
        .unwrap_or_else(|_| panic!("hangs: roundtrip {}", arguments.join(" ")))
        .expect("the binary can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !said.contains("panicked at"),
        "roundtrip {} panicked: {said}",
        arguments.join(" ")
    );
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let document = arguments
        .contains(&"--json")
        .then(|| serde_json::from_str(&printed).ok())
        .flatten();
    Outcome {
        code: output.status.code().expect("no signal ended it"),
        printed,
        said,
        document,
    }
}
