//! Resource Timing entries as they are recorded: an observer, because the page's buffer of entries may be full.

use std::{cell::RefCell, rc::Rc};

use js_sys::{JSON, Object, Reflect};
use shared::{source::resource_timing::Entry, wire};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{PerformanceEntry, PerformanceObserver, PerformanceObserverEntryList, PerformanceObserverInit};

use super::pause::pause;

/// Milliseconds between two looks for an entry.
const LOOK_EVERY_MS: i32 = 20;

/// Collects the entries whose URL contains a marker. Dropping it ends the observation.
pub(super) struct Observer {
    inner: PerformanceObserver,
    entries: Rc<RefCell<Vec<(String, Entry)>>>,
    _on_entries: Closure<dyn FnMut(PerformanceObserverEntryList)>,
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.inner.disconnect();
    }
}

impl Observer {
    /// Observes requests whose URL contains `marker`; `None` where the browser has no Resource Timing.
    pub(super) fn of(marker: &str) -> Option<Self> {
        let entries = Rc::new(RefCell::new(Vec::new()));
        let on_entries = {
            let (entries, marker) = (Rc::clone(&entries), marker.to_owned());
            Closure::new(move |list: PerformanceObserverEntryList| {
                for entry in list.get_entries().iter() {
                    let name = entry.unchecked_ref::<PerformanceEntry>().name();
                    if name.contains(&marker)
                        && let Some(entry) = read(&entry)
                    {
                        entries.borrow_mut().push((name, entry));
                    }
                }
            })
        };
        let observer = PerformanceObserver::new(on_entries.as_ref().unchecked_ref()).ok()?;
        // `type` instead of `entryTypes`: only the former goes together with `buffered`.
        let init = Object::new();
        Reflect::set(&init, &"type".into(), &"resource".into()).ok()?;
        Reflect::set(&init, &"buffered".into(), &true.into()).ok()?;
        observer.observe(init.unchecked_ref::<PerformanceObserverInit>());
        Some(Self {
            inner: observer,
            entries,
            _on_entries: on_entries,
        })
    }

    /// The entry of the request for `url`. It is recorded after the body has ended, perhaps a little later; `None` when
    /// it does not come within so many milliseconds.
    pub(super) async fn entry(&self, url: &str, wait_ms: i32) -> Option<Entry> {
        for _ in 0..=(wait_ms / LOOK_EVERY_MS) {
            let found = {
                let mut entries = self.entries.borrow_mut();
                let at = entries.iter().position(|(name, _)| name == url);
                at.map(|at| entries.swap_remove(at).1)
            };
            if found.is_some() {
                return found;
            }
            pause(LOOK_EVERY_MS).await;
        }
        None
    }
}

/// Through JSON, which is the form the model reads and which leaves out what a browser does not have.
fn read(entry: &JsValue) -> Option<Entry> {
    let text = JSON::stringify(entry).ok()?.as_string()?;
    wire::from_text(&text).ok()
}
