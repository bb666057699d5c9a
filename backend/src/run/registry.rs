//! The runs of a server: a queue of which one is measured at a time, and what happened in each, for replay.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use futures_util::Stream;
use shared::{BrowserReport, Document, Plan, RunEvent};
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::executor::{Executor, Stopped};
use crate::id;

/// Bounds on what a registry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistryLimits {
    /// Most runs that wait.
    pub queued: usize,
    /// Most unfinished runs of one client; clients on this machine (also a reverse proxy) are not counted.
    pub unfinished_per_client: usize,
    /// Most finished runs that are remembered.
    pub remembered: usize,
    /// Most bytes of events of finished runs that are remembered; the newest run always is.
    pub remembered_bytes: usize,
    /// A run whose last reader has been gone for so long is cancelled: nobody waits for it, but others may wait behind it.
    /// One that never had a reader is not.
    pub abandoned_after: Duration,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            queued: 32,
            unfinished_per_client: 4,
            remembered: 64,
            remembered_bytes: 256 << 20,
            abandoned_after: Duration::from_secs(30),
        }
    }
}

/// Why the registry did not do what was asked.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RegistryError {
    /// No such run: it never was, or is no longer remembered.
    #[error("no run under this address")]
    Absent,
    /// Too many runs wait.
    #[error("{0} runs wait already")]
    QueueFull(usize),
    /// Too many unfinished runs of this client.
    #[error("{0} runs of this client are unfinished")]
    ClientFull(usize),
    /// The run has no result yet, or ended without one.
    #[error("the run has no result")]
    NoResult,
    /// The server is ending.
    #[error("the server is ending")]
    Closed,
    /// The operating system failed.
    #[error("{0}")]
    System(String),
}

/// One thing that happened in a run: its number from 0, and the [`RunEvent`] as JSON.
pub type NumberedEvent = (usize, Arc<str>);

/// All runs of a server.
#[derive(Debug)]
pub struct RunRegistry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: RegistryLimits,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Debug, Default)]
struct State {
    runs: HashMap<String, Arc<Run>>,
    queue: VecDeque<Arc<Run>>,
    running: Option<Arc<Run>>,
    /// Oldest first, with the bytes of their events.
    finished: VecDeque<(String, usize)>,
    closed: bool,
}

#[derive(Debug)]
struct Run {
    id: String,
    plan: Plan,
    client: Option<IpAddr>,
    cancel: CancellationToken,
    log: Mutex<Log>,
    /// Changes whenever the log grows.
    news: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Log {
    events: Vec<Arc<str>>,
    over: bool,
    finished: bool,
}

impl RunRegistry {
    /// A registry whose runs are carried out by `executor` on a thread of their own.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn new(executor: impl Executor, limits: RegistryLimits) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            limits,
            state: Mutex::default(),
            work: Condvar::new(),
        });
        let worker = Arc::clone(&shared);
        thread::Builder::new()
            .name("measure".into())
            .spawn(move || worker.measure(executor))?;
        Ok(Self { shared })
    }

    /// Puts a run into the queue and returns its id.
    ///
    /// # Errors
    /// When too many wait already.
    pub fn start(&self, plan: Plan, client: Option<IpAddr>) -> Result<String, RegistryError> {
        let id = id::unguessable().map_err(|error| RegistryError::System(error.to_string()))?;
        let client = client.filter(|address| !address.is_loopback());
        let limits = self.shared.limits;
        let mut state = self.shared.state();
        if state.closed {
            return Err(RegistryError::Closed);
        }
        if state.queue.len() >= limits.queued {
            return Err(RegistryError::QueueFull(state.queue.len()));
        }
        let of_client = state
            .queue
            .iter()
            .chain(&state.running)
            .filter(|run| client.is_some() && run.client == client)
            .count();
        if of_client >= limits.unfinished_per_client {
            return Err(RegistryError::ClientFull(of_client));
        }
        let run = Arc::new(Run {
            id: id.clone(),
            plan,
            client,
            cancel: CancellationToken::new(),
            log: Mutex::default(),
            news: watch::Sender::new(()),
        });
        state.runs.insert(id.clone(), Arc::clone(&run));
        state.queue.push_back(run);
        state.tell_places();
        drop(state);
        self.shared.work.notify_one();
        Ok(id)
    }

    /// What happened in a run from event number `from` on, and what happens until its end.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn events(
        &self,
        id: &str,
        from: usize,
    ) -> Result<impl Stream<Item = NumberedEvent> + Send + use<>, RegistryError> {
        let run = self.shared.run(id)?;
        let reader = Reader {
            news: run.news.subscribe(),
            abandoned_after: self.shared.limits.abandoned_after,
            run,
        };
        Ok(futures_util::stream::unfold(
            (reader, from),
            async |(mut reader, next)| {
                let event = reader.read(next).await?;
                Some(((next, event), (reader, next + 1)))
            },
        ))
    }

    /// Whether event number `from` lies behind the end of a run.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn is_read_to_the_end(&self, id: &str, from: usize) -> Result<bool, RegistryError> {
        Ok(self.shared.run(id)?.event(from).is_none())
    }

    /// Cancels a run. One that waits never starts; one that is over stays as it is.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn cancel(&self, id: &str) -> Result<(), RegistryError> {
        let run = self.shared.run(id)?;
        let mut state = self.shared.state();
        if let Some(place) = state.queue.iter().position(|waiting| waiting.id == id) {
            state.queue.remove(place);
            state.tell_places();
            run.finish(&RunEvent::Cancelled);
            state.remember(&run, self.shared.limits);
        } else {
            run.cancel.cancel();
        }
        Ok(())
    }

    /// Adds the browser's exchanges to a finished run, whose last event becomes the merged document, and returns that.
    /// Computes: not for a thread that serves.
    ///
    /// # Errors
    /// When there is no such run, or it has no result.
    pub fn add_browser(&self, id: &str, report: BrowserReport) -> Result<Document, RegistryError> {
        let run = self.shared.run(id)?;
        let mut document = run.document().ok_or(RegistryError::NoResult)?;
        document.add_browser(report);
        run.replace_result(&document);
        Ok(document)
    }

    /// Cancels everything and takes no further runs.
    pub fn close(&self) {
        let mut state = self.shared.state();
        state.closed = true;
        for run in state.queue.drain(..) {
            run.finish(&RunEvent::Cancelled);
        }
        if let Some(run) = &state.running {
            run.cancel.cancel();
        }
        drop(state);
        self.shared.work.notify_all();
    }
}

impl Drop for RunRegistry {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, id: &str) -> Result<Arc<Run>, RegistryError> {
        self.state().runs.get(id).cloned().ok_or(RegistryError::Absent)
    }

    /// The life of the measuring thread.
    fn measure(&self, mut executor: impl Executor) {
        while let Some(run) = self.next_run() {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                executor.carry_out(run.plan.clone(), &mut |event| run.happened(&event), &run.cancel)
            }));
            let last = match ended {
                Ok(Ok(document)) => RunEvent::Finished {
                    document: Box::new(document),
                },
                Ok(Err(Stopped::Failed { field, message })) => RunEvent::Failed { field, message },
                Ok(Err(Stopped::Cancelled)) => RunEvent::Cancelled,
                Err(_) => {
                    tracing::error!(run = run.id, "the run panicked");
                    RunEvent::Failed {
                        field: None,
                        message: "the run ended with an internal error; the server's log says more".into(),
                    }
                }
            };
            let mut state = self.state();
            run.finish(&last);
            state.running = None;
            state.remember(&run, self.limits);
        }
    }

    fn next_run(&self) -> Option<Arc<Run>> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(run) = state.queue.pop_front() {
                if run.cancel.is_cancelled() {
                    run.finish(&RunEvent::Cancelled);
                    state.remember(&run, self.limits);
                    continue;
                }
                state.running = Some(Arc::clone(&run));
                state.tell_places();
                return Some(run);
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// Tells every waiting run how many are before it.
    fn tell_places(&self) {
        let running = u32::from(self.running.is_some());
        for (ahead, run) in (running..).zip(&self.queue) {
            run.happened(&RunEvent::Queued { ahead });
        }
    }

    /// Counts a run among the finished ones and forgets the oldest of those that are too many.
    fn remember(&mut self, run: &Run, limits: RegistryLimits) {
        self.finished.push_back((run.id.clone(), run.bytes()));
        let mut bytes: usize = self.finished.iter().map(|(_, bytes)| bytes).sum();
        while self.finished.len() > limits.remembered
            || (bytes > limits.remembered_bytes && self.finished.len() > 1)
        {
            let Some((oldest, freed)) = self.finished.pop_front() else {
                break;
            };
            bytes -= freed;
            self.runs.remove(&oldest);
        }
    }
}

impl Run {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Event number `index`; `Some(None)` when it is still to come, `None` when it never will.
    #[expect(clippy::option_option, reason = "two kinds of absence, told apart right here")]
    fn event(&self, index: usize) -> Option<Option<Arc<str>>> {
        let log = self.log();
        match log.events.get(index) {
            Some(event) => Some(Some(Arc::clone(event))),
            None if log.over => None,
            None => Some(None),
        }
    }

    fn happened(&self, event: &RunEvent) {
        self.record(event, false);
    }

    fn finish(&self, last: &RunEvent) {
        self.record(last, true);
    }

    fn record(&self, event: &RunEvent, last: bool) {
        let json = to_json(event);
        let mut log = self.log();
        // The place in the queue is of no interest twice.
        if log.over || (json.is_some() && log.events.last() == json.as_ref()) {
            return;
        }
        log.events.extend(json);
        log.over = last;
        log.finished = matches!(event, RunEvent::Finished { .. });
        drop(log);
        self.news.send_replace(());
    }

    fn document(&self) -> Option<Document> {
        let log = self.log();
        let last = log.events.last().filter(|_| log.finished).map(Arc::clone);
        drop(log);
        match serde_json::from_str(&last?) {
            Ok(RunEvent::Finished { document }) => Some(*document),
            _ => None,
        }
    }

    fn replace_result(&self, document: &Document) {
        let json = to_json(&RunEvent::Finished {
            document: Box::new(document.clone()),
        });
        if let (Some(last), Some(json)) = (self.log().events.last_mut(), json) {
            *last = json;
        }
    }

    fn bytes(&self) -> usize {
        self.log().events.iter().map(|event| event.len()).sum()
    }
}

/// Somebody who follows a run.
struct Reader {
    run: Arc<Run>,
    news: watch::Receiver<()>,
    abandoned_after: Duration,
}

impl Reader {
    /// Event number `index`, once it happens; `None` behind the last.
    async fn read(&mut self, index: usize) -> Option<Arc<str>> {
        loop {
            self.news.borrow_and_update();
            if let Some(event) = self.run.event(index)? {
                return Some(event);
            }
            self.news.changed().await.ok()?;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if self.run.log().over {
            return;
        }
        let (run, grace) = (Arc::clone(&self.run), self.abandoned_after);
        runtime.spawn(async move {
            tokio::time::sleep(grace).await;
            if run.news.receiver_count() == 0 {
                run.cancel.cancel();
            }
        });
    }
}

fn to_json(event: &RunEvent) -> Option<Arc<str>> {
    match serde_json::to_string(event) {
        Ok(json) => Some(json.into()),
        Err(error) => {
            // Only non-finite numbers could do this, and the model has none.
            tracing::error!(%error, "an event could not be written");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::StreamExt as _;

    use super::*;
    use crate::run::stand_in::{document, sample_event};

    /// Emits a sample, then does what the test tells it to.
    struct Obedient(mpsc::Receiver<Order>);

    enum Order {
        Finish,
        Fail,
        Panic,
        AwaitCancel,
    }

    impl Executor for Obedient {
        fn carry_out(
            &mut self,
            plan: Plan,
            on_event: &mut (dyn FnMut(RunEvent) + Send),
            cancel: &CancellationToken,
        ) -> Result<Document, Stopped> {
            on_event(sample_event(0));
            match self.0.recv().unwrap_or(Order::AwaitCancel) {
                Order::Finish => Ok(document(plan)),
                Order::Fail => Err(Stopped::Failed {
                    field: Some("url".into()),
                    message: "no such host".into(),
                }),
                Order::Panic => panic!("ordered to"),
                Order::AwaitCancel => {
                    while !cancel.is_cancelled() {
                        thread::yield_now();
                    }
                    Err(Stopped::Cancelled)
                }
            }
        }
    }

    fn registry(limits: RegistryLimits) -> (RunRegistry, mpsc::Sender<Order>) {
        let (orders, receiver) = mpsc::channel();
        (RunRegistry::new(Obedient(receiver), limits).unwrap(), orders)
    }

    fn plan() -> Plan {
        Plan::new("https://example.org/")
    }

    /// The types of all events of a run, in order; waits for its end.
    async fn kinds(registry: &RunRegistry, id: &str) -> Vec<String> {
        let events: Vec<NumberedEvent> = registry.events(id, 0).unwrap().collect().await;
        assert!(events.iter().map(|(number, _)| *number).eq(0..events.len()));
        let kind = |(_, json): &NumberedEvent| -> serde_json::Value { serde_json::from_str(json).unwrap() };
        events
            .iter()
            .map(|event| kind(event)["type"].as_str().unwrap().to_owned())
            .collect()
    }

    #[tokio::test]
    async fn events_are_replayed_and_end_with_the_last() {
        let (registry, orders) = registry(RegistryLimits::default());
        let id = registry.start(plan(), None).unwrap();
        let live = tokio::spawn({
            let events = registry.events(&id, 0).unwrap();
            async move { events.count().await }
        });
        orders.send(Order::Finish).unwrap();
        let all = kinds(&registry, &id).await;
        assert_eq!(all, ["queued", "sample", "finished"]);
        assert_eq!(live.await.unwrap(), all.len(), "live and replayed are the same");
        let tail: Vec<_> = registry.events(&id, 2).unwrap().collect().await;
        assert_eq!(tail.len(), 1, "reading may go on where it ended");
        assert!(registry.is_read_to_the_end(&id, 3).unwrap());
        assert_eq!(registry.events("unknown", 0).err(), Some(RegistryError::Absent));
    }

    #[tokio::test]
    async fn one_run_at_a_time_and_a_cancelled_one_never_starts() {
        let (registry, orders) = registry(RegistryLimits::default());
        let first = registry.start(plan(), None).unwrap();
        let second = registry.start(plan(), None).unwrap();
        let third = registry.start(plan(), None).unwrap();
        registry.cancel(&second).unwrap();
        let of_second = kinds(&registry, &second).await;
        assert!(of_second.iter().all(|kind| kind != "sample"), "{of_second:?}");
        assert_eq!(of_second.last().unwrap(), "cancelled");
        orders.send(Order::Finish).unwrap();
        orders.send(Order::Fail).unwrap();
        assert_eq!(kinds(&registry, &first).await.last().unwrap(), "finished");
        let places: Vec<NumberedEvent> = registry.events(&third, 0).unwrap().collect().await;
        assert!(places[0].1.contains("\"ahead\":2"), "{places:?}");
        assert_eq!(kinds(&registry, &third).await.last().unwrap(), "failed");
    }

    #[tokio::test]
    async fn a_running_run_is_cancelled_and_a_panic_ends_only_its_run() {
        let (registry, orders) = registry(RegistryLimits::default());
        let first = registry.start(plan(), None).unwrap();
        orders.send(Order::AwaitCancel).unwrap();
        let mut events = Box::pin(registry.events(&first, 0).unwrap());
        while let Some((_, json)) = events.next().await {
            if json.contains("\"sample\"") {
                registry.cancel(&first).unwrap();
            }
        }
        assert_eq!(kinds(&registry, &first).await.last().unwrap(), "cancelled");
        orders.send(Order::Panic).unwrap();
        let second = registry.start(plan(), None).unwrap();
        assert_eq!(kinds(&registry, &second).await.last().unwrap(), "failed");
        orders.send(Order::Finish).unwrap();
        let third = registry.start(plan(), None).unwrap();
        assert_eq!(kinds(&registry, &third).await.last().unwrap(), "finished");
    }

    #[tokio::test]
    async fn a_run_that_everybody_left_is_cancelled() {
        let (registry, orders) = registry(RegistryLimits {
            abandoned_after: Duration::from_millis(1),
            ..RegistryLimits::default()
        });
        let first = registry.start(plan(), None).unwrap();
        orders.send(Order::AwaitCancel).unwrap();
        let second = registry.start(plan(), None).unwrap();
        drop(registry.events(&second, 0).unwrap());
        tokio::time::sleep(Duration::from_millis(20)).await;
        registry.cancel(&first).unwrap();
        let of_second = kinds(&registry, &second).await;
        assert_eq!(of_second.last().unwrap(), "cancelled");
        assert!(of_second.iter().all(|kind| kind != "sample"), "{of_second:?}");
    }

    #[tokio::test]
    async fn waiting_and_remembered_runs_are_bounded() {
        let (registry, orders) = registry(RegistryLimits {
            queued: 2,
            unfinished_per_client: 1,
            remembered: 1,
            ..RegistryLimits::default()
        });
        let client = Some(IpAddr::from([192, 0, 2, 1]));
        let first = registry.start(plan(), client).unwrap();
        let one_more = registry.start(plan(), client);
        assert_eq!(one_more, Err(RegistryError::ClientFull(1)));
        let mut started = vec![first.clone()];
        let full = loop {
            match registry.start(plan(), Some(IpAddr::from([127, 0, 0, 1]))) {
                Ok(id) => started.push(id),
                Err(error) => break error,
            }
        };
        assert_eq!(full, RegistryError::QueueFull(2));
        for _ in &started {
            orders.send(Order::Finish).unwrap();
        }
        kinds(&registry, started.last().unwrap()).await;
        assert_eq!(
            registry.events(&first, 0).err(),
            Some(RegistryError::Absent),
            "the oldest is forgotten"
        );
    }

    #[tokio::test]
    async fn the_browsers_report_becomes_part_of_the_result() {
        let (registry, orders) = registry(RegistryLimits::default());
        let id = registry.start(plan(), None).unwrap();
        let report = || BrowserReport {
            vantage: shared::Vantage {
                kind: shared::VantageKind::Browser,
                clock_step_ns: shared::Nanos(100_000),
                description: None,
                same_machine: None,
            },
            arms: vec![shared::Arm::new(shared::Source::Browser, None, None)],
        };
        assert_eq!(
            registry.add_browser(&id, report()).err(),
            Some(RegistryError::NoResult)
        );
        orders.send(Order::Finish).unwrap();
        kinds(&registry, &id).await;
        let merged = registry.add_browser(&id, report()).unwrap();
        assert_eq!(merged.arms.len(), 1);
        let last: Vec<_> = registry.events(&id, 2).unwrap().collect().await;
        assert!(
            last[0].1.contains("browser-hidden"),
            "a late reader sees both sides"
        );
    }
}
