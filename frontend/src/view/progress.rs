//! How far a run is, in words and as a bar.

use yew::prelude::*;

use crate::state::Stage;

/// The progress of a run; nothing when none goes on.
pub(crate) fn progress(stage: &Stage) -> Html {
    let (words, done, of) = match stage {
        Stage::Starting => ("Starting.".to_owned(), None, 1),
        Stage::Queued { ahead } => (
            format!("Waiting: only one run is measured at a time; {ahead} before this one."),
            None,
            1,
        ),
        Stage::Probing { landed, expected } => (
            format!("The probe measures: {landed} of {expected} exchanges."),
            Some(*landed),
            *expected,
        ),
        Stage::Browsing { made, of } => (
            format!("Your browser measures: {made} of {of} requests."),
            Some(*made),
            *of,
        ),
        Stage::Idle | Stage::Done => return html! {},
        Stage::Ended { message } => {
            return html! { <p class="note bad" role="alert" id="run-error">{ message }</p> };
        }
    };
    html! {
        <div class="card progress">
            <div class="line"><span>{ &words }</span></div>
            if let Some(done) = done {
                <progress max={of.max(1).to_string()} value={done.to_string()} aria-label="Progress of the run"></progress>
            } else {
                <progress aria-label="Progress of the run"></progress>
            }
            <span class="visually-hidden" role="status">{ spoken(stage) }</span>
        </div>
    }
}

/// What a screen reader is told: the stage and each quarter of it, not every sample.
fn spoken(stage: &Stage) -> String {
    let quarter = |done: u32, of: u32| (u64::from(done) * 4 / u64::from(of.max(1)) * 25).to_string();
    match stage {
        Stage::Probing { landed, expected } => {
            format!("The probe measures: {} percent.", quarter(*landed, *expected))
        }
        Stage::Browsing { made, of } => format!("The browser measures: {} percent.", quarter(*made, *of)),
        Stage::Starting => "Starting.".into(),
        Stage::Queued { .. } => "Waiting for other runs.".into(),
        Stage::Idle | Stage::Done | Stage::Ended { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_spoken_by_quarters() {
        let at = |landed| spoken(&Stage::Probing { landed, expected: 60 });
        assert_eq!(at(1), at(14));
        assert_ne!(at(14), at(15));
    }
}
