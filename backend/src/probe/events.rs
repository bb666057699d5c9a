//! What crossed the sockets of one exchange and when: pure bookkeeping between a stamping socket and a driver.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::{Nanos, StampSource};
use tokio::sync::Notify;

use super::observe::quic::HandshakeDatagrams;

/// A point in time with where it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// On the process's monotonic clock.
    pub(crate) at: Nanos,
    /// Who took it.
    pub(crate) source: StampSource,
}

impl Stamp {
    /// Taken in a socket wrapper.
    pub(crate) fn syscall(at: Nanos) -> Self {
        let source = StampSource::Syscall;
        Self { at, source }
    }

    /// Taken by a task that had waited for the event.
    pub(crate) fn task(at: Nanos) -> Self {
        let source = StampSource::Task;
        Self { at, source }
    }
}

/// One direction of a socket's traffic since the exchange began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    /// The first piece.
    pub(crate) first: Option<Stamp>,
    /// The latest piece.
    pub(crate) last: Option<Stamp>,
    /// Bytes so far.
    pub(crate) bytes: u64,
}

impl Traffic {
    fn add(&mut self, bytes: usize, stamp: Stamp) {
        self.first.get_or_insert(stamp);
        self.last = Some(stamp);
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }
}

/// What crossed the socket of a connection since its current exchange began.
///
/// Fed by the stamping sockets (`on_*`), read by the drivers. A driver that sees an event surface asks for the latest
/// stamp: drivers poll the protocol stack and their own future in one task, so nothing lies between the read that
/// produced an event and the question.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    /// What was handed to the kernel, each stamped before the call.
    pub(crate) sent: Traffic,
    /// What came from the kernel, each stamped after the call.
    pub(crate) received: Traffic,
    /// When the peer's end of file was read.
    pub(crate) closed: Option<Stamp>,
    /// The latest datagram, also of earlier exchanges.
    last_datagram: Option<Stamp>,
    /// The datagram that brought HANDSHAKE_DONE.
    pub(crate) confirmed: Option<Stamp>,
    /// When an ICMP error or a reset said that nothing listens.
    pub(crate) refused: Option<Stamp>,
    /// The datagrams of a QUIC handshake.
    pub(crate) handshake: HandshakeDatagrams,
    /// The driver wants to see what each datagram brings before the next one is read.
    pub(crate) step: bool,
}

impl EventLog {
    /// The next exchange on the same connection begins.
    pub(crate) fn begin(&mut self) {
        self.sent = Traffic::default();
        self.received = Traffic::default();
    }

    /// Bytes were handed to a stream socket.
    pub(crate) fn on_sent(&mut self, bytes: usize, stamp: Stamp) {
        self.sent.add(bytes, stamp);
    }

    /// Bytes came from a stream socket; none at the end of file.
    pub(crate) fn on_received(&mut self, bytes: usize, stamp: Stamp) {
        if bytes == 0 {
            self.closed.get_or_insert(stamp);
        } else {
            self.received.add(bytes, stamp);
        }
    }

    /// A datagram was handed to the kernel.
    pub(crate) fn on_datagram_sent(&mut self, datagram: &[u8], stamp: Stamp) {
        self.sent.add(datagram.len(), stamp);
        self.handshake.on_sent(datagram, stamp);
    }

    /// A datagram came from the kernel.
    pub(crate) fn on_datagram_received(&mut self, datagram: &[u8], stamp: Stamp) {
        self.received.add(datagram.len(), stamp);
        self.last_datagram = Some(stamp);
    }

    /// The peer's host says that nothing listens.
    pub(crate) fn on_refused(&mut self, stamp: Stamp) {
        self.refused.get_or_insert(stamp);
    }
}

/// The log shared between a socket, which the protocol stack owns, and the driver.
#[derive(Clone, Default)]
pub(crate) struct SharedLog {
    log: Arc<Mutex<EventLog>>,
    refusal: Arc<Notify>,
    confirmation: Arc<Mutex<Option<ConfirmationCheck>>>,
}

/// Whether the QUIC handshake is confirmed by now.
type ConfirmationCheck = Box<dyn Fn() -> bool + Send>;

impl SharedLog {
    /// The log itself, for a moment.
    pub(crate) fn lock(&self) -> MutexGuard<'_, EventLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks `check` after each datagram that is seen alone (see [`EventLog::step`]) until it says yes.
    pub(crate) fn watch_confirmation(&self, check: ConfirmationCheck) {
        *self.confirmation() = Some(check);
    }

    /// Asks no more. The check holds the connection, so this ends with it.
    pub(crate) fn forget_confirmation(&self) {
        *self.confirmation() = None;
    }

    /// The protocol stack has processed the latest datagram, which it was given alone.
    pub(crate) fn on_processed(&self) {
        let mut confirmation = self.confirmation();
        if confirmation.as_ref().is_some_and(|check| check()) {
            let mut log = self.lock();
            log.confirmed = log.last_datagram;
            *confirmation = None;
        }
    }

    fn confirmation(&self) -> MutexGuard<'_, Option<ConfirmationCheck>> {
        self.confirmation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a refusal and wakes who waits for one.
    pub(crate) fn refuse(&self, stamp: Stamp) {
        self.lock().on_refused(stamp);
        self.refusal.notify_one();
    }

    /// Completes when the peer's host said that nothing listens.
    pub(crate) async fn refused(&self) {
        while self.lock().refused.is_none() {
            self.refusal.notified().await;
        }
    }
}

impl fmt::Debug for SharedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedLog").field(&self.log).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmation_has_the_stamp_of_the_datagram_after_which_it_is_seen() {
        let shared = SharedLog::default();
        let calls = Arc::new(Mutex::new(0));
        let seen = Arc::clone(&calls);
        shared.watch_confirmation(Box::new(move || {
            let mut calls = seen.lock().unwrap();
            *calls += 1;
            *calls == 2
        }));
        for at in [5, 7, 9] {
            shared
                .lock()
                .on_datagram_received(b"x", Stamp::syscall(Nanos(at)));
            shared.lock().begin();
            shared.on_processed();
        }
        assert_eq!(shared.lock().confirmed, Some(Stamp::syscall(Nanos(7))));
        assert_eq!(*calls.lock().unwrap(), 2, "not asked again");
    }

    #[test]
    fn the_end_of_file_is_not_traffic() {
        let mut log = EventLog::default();
        log.on_received(3, Stamp::syscall(Nanos(5)));
        log.on_received(0, Stamp::syscall(Nanos(9)));
        assert_eq!(log.received.last, Some(Stamp::syscall(Nanos(5))));
        assert_eq!(log.received.bytes, 3);
        assert_eq!(log.closed, Some(Stamp::syscall(Nanos(9))));
    }

    #[test]
    fn a_new_exchange_forgets_the_traffic_of_the_one_before() {
        let mut log = EventLog::default();
        log.on_sent(3, Stamp::syscall(Nanos(5)));
        log.begin();
        assert_eq!(log.sent.first, None);
        log.on_sent(1, Stamp::syscall(Nanos(8)));
        assert_eq!(log.sent.first, Some(Stamp::syscall(Nanos(8))));
    }
}
