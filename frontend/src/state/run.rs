//! A run as the page sees it: what the user asked for, what has landed, and what is said about it.

use std::rc::Rc;

use shared::{
    Arm, Document, Plan, Protocol, RunEvent, Sample, Source, Temperature, Tool, Vantage, VantageKind,
    document::SCHEMA, statistics,
};
use yew::Reducible;

use super::{Edit, FieldError, Form, Handle};

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing was asked for yet.
    #[default]
    Idle,
    /// The plan is on its way.
    Starting,
    /// Other runs are before it.
    Queued {
        /// How many.
        ahead: u32,
    },
    /// The probe measures.
    Probing {
        /// Samples that have landed.
        landed: u32,
        /// Samples that will come.
        expected: u32,
    },
    /// The probe is done and the browser measures.
    Browsing {
        /// Requests made.
        made: u32,
        /// Requests in all.
        of: u32,
    },
    /// The result is complete.
    Done,
    /// It ended without a result.
    Ended {
        /// Why, in words.
        message: String,
    },
}

impl Stage {
    /// Whether the run still goes on.
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self, Self::Idle | Self::Done | Self::Ended { .. })
    }

    /// The value of `body[data-state]`.
    pub(crate) fn id(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting | Self::Queued { .. } | Self::Probing { .. } => "running",
            Self::Browsing { .. } => "browser",
            Self::Done => "done",
            Self::Ended { .. } => "error",
        }
    }
}

/// Everything the page knows about the run it makes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunState {
    /// The form's fields.
    pub(crate) form: Form,
    /// What is wrong with one of them.
    pub(crate) error: Option<FieldError>,
    /// Where the run stands.
    pub(crate) stage: Stage,
    /// The run's id, once the backend took it.
    pub(crate) id: Option<String>,
    /// What has landed so far, or the finished result.
    pub(crate) document: Option<Handle<Document>>,
    /// What the browser side could not do, in words.
    pub(crate) browser_notes: Vec<String>,
}

/// What happens to the page's run.
#[derive(Debug)]
pub(crate) enum Action {
    /// The user changed a field.
    Edit(Edit),
    /// The backend's example is known; it fills an empty URL field.
    Example(String),
    /// A field cannot be taken as it is.
    Refused(FieldError),
    /// The plan is sent.
    Submitted,
    /// The backend took the plan.
    Accepted(String),
    /// What the backend reported since the last drawing.
    Events(Vec<RunEvent>),
    /// The browser side has made so many of its requests.
    BrowserMade {
        /// Requests made.
        made: u32,
        /// Requests in all.
        of: u32,
    },
    /// Both sides are done; without a document the probe's stands.
    Complete {
        /// The result with both sides.
        document: Option<Box<Document>>,
        /// What the browser side could not do.
        notes: Vec<String>,
    },
    /// The run ended without a result.
    Ended(String),
}

impl Reducible for RunState {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut next = Rc::unwrap_or_clone(self);
        next.apply(action);
        Rc::new(next)
    }
}

impl RunState {
    fn apply(&mut self, action: Action) {
        match action {
            Action::Edit(edit) => {
                self.form.edit(edit);
                self.error = None;
            }
            Action::Example(url) => {
                if self.form.url.is_empty() {
                    self.form.url = url;
                }
            }
            Action::Refused(error) => {
                self.error = Some(error);
                if self.stage.is_active() {
                    self.stage = Stage::Idle;
                }
            }
            Action::Submitted => {
                self.error = None;
                self.id = None;
                self.document = None;
                self.browser_notes.clear();
                self.stage = Stage::Starting;
            }
            Action::Accepted(id) => self.id = Some(id),
            Action::Events(events) => self.take(events),
            Action::BrowserMade { made, of } => self.stage = Stage::Browsing { made, of },
            Action::Complete { document, notes } => {
                if let Some(document) = document {
                    self.document = Some(Handle::new(*document));
                }
                self.browser_notes = notes;
                self.stage = Stage::Done;
            }
            Action::Ended(message) => self.stage = Stage::Ended { message },
        }
    }

    /// Takes a batch of events in, drawing once for all of them.
    fn take(&mut self, events: Vec<RunEvent>) {
        let mut live: Option<Document> = None;
        let mut touched: Vec<String> = Vec::new();
        for event in events {
            match event {
                RunEvent::Queued { ahead } => self.stage = Stage::Queued { ahead },
                RunEvent::Started {
                    plan,
                    dns,
                    address,
                    expected,
                } => {
                    self.stage = Stage::Probing { landed: 0, expected };
                    live = Some(Document {
                        dns,
                        address,
                        ..empty(plan)
                    });
                }
                RunEvent::Sample { arm, sample } => {
                    if let Stage::Probing { landed, .. } = &mut self.stage {
                        *landed = landed.saturating_add(1);
                    }
                    let document = match &mut live {
                        Some(document) => document,
                        None => match &self.document {
                            Some(document) => live.insert((**document).clone()),
                            None => continue,
                        },
                    };
                    if let Some(arm) = document.arms.iter_mut().find(|known| known.id == arm) {
                        arm.samples.push(without_facts(*sample));
                    }
                    if !touched.contains(&arm) {
                        touched.push(arm);
                    }
                }
                RunEvent::Finished { document } => {
                    let of = document.plan.browser_samples;
                    self.stage = if of == 0 {
                        Stage::Done
                    } else {
                        Stage::Browsing { made: 0, of }
                    };
                    self.document = Some(Handle::new(*document));
                    return;
                }
                RunEvent::Failed {
                    field: Some(field),
                    message,
                } => {
                    self.error = Some(FieldError { field, message });
                    self.stage = Stage::Idle;
                }
                RunEvent::Failed { field: None, message } => self.stage = Stage::Ended { message },
                RunEvent::Cancelled => {
                    self.stage = Stage::Ended {
                        message: "The run was cancelled.".into(),
                    };
                }
            }
        }
        if let Some(mut document) = live {
            for arm in &mut document.arms {
                if touched.contains(&arm.id) {
                    arm.summary = statistics::summarise(&arm.samples);
                }
            }
            self.document = Some(Handle::new(document));
        }
    }
}

/// A document in which samples land while a run goes on: every arm of the plan is there from the start, so that rows
/// do not jump.
fn empty(plan: Plan) -> Document {
    let arm = |protocol: &Protocol, temperature| Arm::new(Source::Probe, Some(*protocol), Some(temperature));
    let arms = plan
        .protocols
        .iter()
        .flat_map(|protocol| {
            [Temperature::Cold, Temperature::Warm]
                .into_iter()
                .filter(|temperature| plan.wants(*temperature))
                .map(move |temperature| arm(protocol, temperature))
        })
        .collect();
    Document {
        schema: SCHEMA,
        id: None,
        created: String::new(),
        tool: Tool::default(),
        plan,
        vantage: Vantage {
            kind: VantageKind::Probe,
            clock_step_ns: shared::Nanos(1),
            description: None,
            same_machine: None,
        },
        browser_vantage: None,
        dns: None,
        address: None,
        arms,
        comparisons: Vec::new(),
        findings: Vec::new(),
    }
}

/// A sample as the live drawing needs it: the finished document brings the facts, and copying them at each drawing
/// would cost more than the drawing.
fn without_facts(mut sample: Sample) -> Sample {
    sample.facts = shared::Facts::default();
    sample.mark_sources.clear();
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::{Failure, FailureKind, FailurePhase};

    fn after(actions: Vec<Action>) -> RunState {
        let mut state = RunState::default();
        for action in actions {
            state.apply(action);
        }
        state
    }

    fn started() -> RunEvent {
        RunEvent::Started {
            plan: Plan::new("https://example.org/"),
            dns: None,
            address: Some("[::1]:443".into()),
            expected: 60,
        }
    }

    fn sample(arm: &str) -> RunEvent {
        RunEvent::Sample {
            arm: arm.into(),
            sample: Box::new(Sample {
                failure: Some(Failure::new(
                    FailureKind::ConnectRefused,
                    FailurePhase::Tcp,
                    "refused",
                )),
                ..Sample::default()
            }),
        }
    }

    #[test]
    fn samples_land_in_their_arm_and_are_counted() {
        let state = after(vec![
            Action::Submitted,
            Action::Events(vec![RunEvent::Queued { ahead: 1 }, started(), sample("h2-cold")]),
            Action::Events(vec![sample("h2-cold"), sample("h3-cold")]),
        ]);
        assert_eq!(
            state.stage,
            Stage::Probing {
                landed: 3,
                expected: 60
            }
        );
        let document = state.document.unwrap();
        let failed: Vec<u32> = document.arms.iter().map(|arm| arm.summary.failed).collect();
        assert_eq!(failed, [0, 2, 1]);
    }

    #[test]
    fn the_browser_follows_the_probe_only_when_asked_for() {
        for (browser_samples, stage) in [(0, Stage::Done), (4, Stage::Browsing { made: 0, of: 4 })] {
            let mut document = empty(Plan::new("https://example.org/"));
            document.plan.browser_samples = browser_samples;
            let state = after(vec![Action::Events(vec![RunEvent::Finished {
                document: Box::new(document),
            }])]);
            assert_eq!(state.stage, stage);
        }
    }

    #[test]
    fn a_failure_with_a_field_stands_beside_the_field() {
        let state = after(vec![
            Action::Submitted,
            Action::Events(vec![RunEvent::Failed {
                field: Some("url".into()),
                message: "the name does not exist".into(),
            }]),
        ]);
        assert_eq!(state.stage, Stage::Idle);
        assert_eq!(state.error.unwrap().field, "url");
    }

    #[test]
    fn an_example_does_not_overwrite_what_was_typed() {
        let typed = after(vec![
            Action::Edit(Edit::Url("example.org".into())),
            Action::Example("https://localhost/t".into()),
        ]);
        assert_eq!(typed.form.url, "example.org");
    }

    #[test]
    fn samples_before_the_start_are_not_an_error() {
        let state = after(vec![Action::Events(vec![sample("h2-cold")])]);
        assert_eq!(state.document, None);
    }
}
