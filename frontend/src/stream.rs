//! Server-sent events of a run to batches of events, so that the page draws a few times a second at most.

use std::{cell::RefCell, rc::Rc};

use gloo::timers::callback::Interval;
use shared::{RunEvent, wire};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{EventSource, MessageEvent};

/// Milliseconds between two drawings while samples land.
const DRAW_EVERY_MS: u32 = 300;

/// An open stream. Dropping it closes the connection.
pub(crate) struct RunStream {
    source: EventSource,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_error: Closure<dyn FnMut()>,
    _draw: Interval,
}

impl Drop for RunStream {
    fn drop(&mut self) {
        self.source.close();
    }
}

struct Batch {
    events: Vec<RunEvent>,
    /// The highest event id seen: a reconnection may replay what is known.
    last_id: Option<u64>,
    over: bool,
}

/// What arrives.
pub(crate) enum Arrival {
    /// Events, in order; the last batch ends with the event that ends the run.
    Events(Vec<RunEvent>),
    /// The stream broke and does not come back.
    Lost,
}

/// Follows the run `id`; `None` when the browser refuses to open the stream.
pub(crate) fn follow(id: &str, on_arrival: impl Fn(Arrival) + 'static) -> Option<RunStream> {
    let url = ["/api/v1/runs/", id, "/events"].concat();
    let source = EventSource::new(&url).ok()?;
    let batch = Rc::new(RefCell::new(Batch {
        events: Vec::new(),
        last_id: None,
        over: false,
    }));
    let on_arrival = Rc::new(on_arrival);

    let flush = {
        let (batch, on_arrival) = (Rc::clone(&batch), Rc::clone(&on_arrival));
        move || {
            let events = std::mem::take(&mut batch.borrow_mut().events);
            if !events.is_empty() {
                on_arrival(Arrival::Events(events));
            }
        }
    };
    let on_message = {
        let (batch, flush, source) = (Rc::clone(&batch), flush.clone(), source.clone());
        Closure::new(move |message: MessageEvent| {
            let id = message.last_event_id().parse().ok();
            let Some(event) = message
                .data()
                .as_string()
                .and_then(|text| wire::from_text::<RunEvent>(&text).ok())
            else {
                return;
            };
            let over = ends(&event);
            {
                let mut batch = batch.borrow_mut();
                if id.is_some() && id <= batch.last_id {
                    return;
                }
                batch.last_id = id.or(batch.last_id);
                batch.over |= over;
                batch.events.push(event);
            }
            if over {
                source.close();
                flush();
            }
        })
    };
    let on_error = {
        let (batch, source) = (Rc::clone(&batch), source.clone());
        Closure::new(move || {
            // A stream that is being reconnected is not lost.
            if source.ready_state() == EventSource::CLOSED && !batch.borrow().over {
                on_arrival(Arrival::Lost);
            }
        })
    };
    source.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    source.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    Some(RunStream {
        source,
        _on_message: on_message,
        _on_error: on_error,
        _draw: Interval::new(DRAW_EVERY_MS, flush),
    })
}

fn ends(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::Finished { .. } | RunEvent::Failed { .. } | RunEvent::Cancelled
    )
}
