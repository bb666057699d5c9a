//! Ask for a URL, follow the run, then let the browser measure, and show the result.

use std::{cell::Cell, rc::Rc};

use shared::ServerConfig;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlElement;
use yew::prelude::*;

use crate::{
    browser::lane,
    client,
    state::{Action, Edit, FieldError, Handle, RunState, Stage},
    stream::{self, Arrival, RunStream},
    view::{PlanForm, Report, Share, example, plan_form, primer, progress, raw},
};

/// The page that measures.
#[component]
pub(crate) fn Home() -> Html {
    let state = use_reducer(RunState::default);
    let config = use_state(|| None::<Handle<ServerConfig>>);
    let stream = use_mut_ref(|| None::<RunStream>);
    // Counts what was started and cancelled: an answer that belongs to an earlier number is dropped.
    let turn = use_memo((), |()| Cell::new(0_u32));

    {
        let (config, dispatcher) = (config.clone(), state.dispatcher());
        use_effect_with((), move |()| {
            spawn_local(async move {
                if let Ok(answer) = client::config().await {
                    if let Some(url) = example(&answer) {
                        dispatcher.dispatch(Action::Example(url));
                    }
                    config.set(Some(Handle::new(answer)));
                }
            });
        });
    }
    {
        let stage = state.stage.id();
        use_effect_with(stage, |stage| super::mark_body(stage));
    }
    {
        let (dispatcher, turn) = (state.dispatcher(), Rc::clone(&turn));
        let (document, id, config) = (state.document.clone(), state.id.clone(), config.clone());
        use_effect_with(matches!(state.stage, Stage::Browsing { .. }), move |browsing| {
            if let Some(document) = document.filter(|_| *browsing) {
                spawn_local(measure_here(dispatcher, turn, document, id, (*config).clone()));
            }
        });
    }

    let on_edit = {
        let dispatcher = state.dispatcher();
        Callback::from(move |edit: Edit| dispatcher.dispatch(Action::Edit(edit)))
    };
    let on_start = {
        let (dispatcher, turn, stream) = (state.dispatcher(), Rc::clone(&turn), Rc::clone(&stream));
        let form = state.form.clone();
        Callback::from(move |()| match form.plan(random_seed()) {
            Err(error) => refuse(&dispatcher, error),
            Ok(plan) => {
                turn.set(turn.get().wrapping_add(1));
                let mine = turn.get();
                let (dispatcher, turn, stream) = (dispatcher.clone(), Rc::clone(&turn), Rc::clone(&stream));
                dispatcher.dispatch(Action::Submitted);
                spawn_local(async move {
                    match client::start(&plan).await {
                        Ok(accepted) if turn.get() == mine => {
                            let followed = follow(&accepted.id, &dispatcher);
                            dispatcher.dispatch(match &followed {
                                Some(_) => Action::Accepted(accepted.id),
                                None => {
                                    Action::Ended("The browser did not open the stream of events.".into())
                                }
                            });
                            *stream.borrow_mut() = followed;
                        }
                        // Cancelled before the server had answered.
                        Ok(accepted) => drop(client::cancel(&accepted.id).await),
                        Err(error) if turn.get() == mine => refuse(&dispatcher, error),
                        Err(_) => {}
                    }
                });
            }
        })
    };
    let on_cancel = {
        let (dispatcher, turn, stream) = (state.dispatcher(), Rc::clone(&turn), Rc::clone(&stream));
        let (id, browsing) = (state.id.clone(), matches!(state.stage, Stage::Browsing { .. }));
        Callback::from(move |()| {
            turn.set(turn.get().wrapping_add(1));
            stream.borrow_mut().take();
            if browsing {
                dispatcher.dispatch(Action::Complete {
                    document: None,
                    notes: vec!["The browser side was cancelled.".into()],
                });
                return;
            }
            dispatcher.dispatch(Action::Ended("The run was cancelled.".into()));
            if let Some(id) = id.clone() {
                spawn_local(async move { drop(client::cancel(&id).await) });
            }
        })
    };

    let active = state.stage.is_active();
    let live = matches!(
        state.stage,
        Stage::Starting | Stage::Queued { .. } | Stage::Probing { .. }
    );
    let form = plan_form(&PlanForm {
        form: &state.form,
        error: state.error.as_ref(),
        active,
        config: config.as_deref(),
        on_edit,
        on_start,
        on_cancel,
    });
    html! {
        <div class="stack">
            <section class="intro">
                <h1>{ "Where does the time go?" }</h1>
                <p>{ "One URL over HTTP/1.1, HTTP/2 and HTTP/3, each forced, and in this browser: phase by phase, and whether the difference is real." }</p>
            </section>
            { form }
            { progress(&state.stage) }
            if let Some(document) = &state.document {
                if state.stage == Stage::Done {
                    <Share document={document.clone()} store={config.as_ref().and_then(|config| config.store.clone())} />
                }
                <Report document={document.clone()} live={live || matches!(state.stage, Stage::Ended { .. })}
                    browser_notes={state.browser_notes.clone()} />
            } else if !active {
                { raw(primer()) }
            }
        </div>
    }
}

type Dispatcher = UseReducerDispatcher<RunState>;

fn follow(id: &str, dispatcher: &Dispatcher) -> Option<RunStream> {
    let dispatcher = dispatcher.clone();
    stream::follow(id, move |arrival| {
        dispatcher.dispatch(match arrival {
            Arrival::Events(events) => Action::Events(events),
            Arrival::Lost => {
                Action::Ended("The connection to the Roundtrip server broke before the run was over.".into())
            }
        });
    })
}

/// Shows what is wrong with a field and puts the cursor there.
fn refuse(dispatcher: &Dispatcher, error: FieldError) {
    let field = gloo::utils::document().get_element_by_id(&error.field);
    dispatcher.dispatch(Action::Refused(error));
    if let Some(field) = field {
        drop(wasm_bindgen::JsCast::unchecked_into::<HtmlElement>(field).focus());
    }
}

/// The browser side of a run whose probe is done, and the result of both.
async fn measure_here(
    dispatcher: Dispatcher,
    turn: Rc<Cell<u32>>,
    document: Handle<shared::Document>,
    id: Option<String>,
    config: Option<Handle<ServerConfig>>,
) {
    let mine = turn.get();
    let of = document.plan.browser_samples;
    let same_machine = config.is_some_and(|config| config.same_machine);
    let lane::Outcome { report, mut notes } = lane::measure(&document, same_machine, |made| {
        let go_on = turn.get() == mine;
        if go_on {
            dispatcher.dispatch(Action::BrowserMade { made, of });
        }
        go_on
    })
    .await;
    if turn.get() != mine {
        return;
    }
    let merged = match report {
        None => None,
        Some(report) => {
            let answer = match &id {
                Some(id) => client::add_browser(id, &report)
                    .await
                    .map_err(|error| error.message),
                None => Err("the run has no id".into()),
            };
            Some(answer.unwrap_or_else(|why| {
                notes.push(format!(
                    "The server did not take the browser side ({why}); it is added on this page only."
                ));
                let mut document = (*document).clone();
                document.add_browser(report);
                document
            }))
        }
    };
    if turn.get() == mine {
        dispatcher.dispatch(Action::Complete {
            document: merged.map(Box::new),
            notes,
        });
    }
}

/// A seed that JSON carries without loss.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the product lies between 0 and 2^32"
)]
fn random_seed() -> u64 {
    (js_sys::Math::random() * 4_294_967_296.0) as u64
}
