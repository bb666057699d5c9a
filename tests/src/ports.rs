//! Ports for programs that must be told theirs, and locks that keep heavy tests from running all at once.

use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

/// Below the range from which systems take ports for outgoing connections (Linux: 32768 and up).
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Whether this machine has IPv6 on loopback.
pub fn has_ipv6() -> bool {
    UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// A port that is free for TCP and UDP on both loopback addresses.
///
/// # Panics
/// When all are taken.
pub fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test processes run beside each other: each begins somewhere else.
    let offset = u16::try_from(u64::from(std::process::id()) * 37 % u64::from(COUNT)).unwrap_or(0);
    (0..COUNT)
        .map(|_| {
            let step = NEXT.fetch_add(1, Ordering::Relaxed);
            FIRST + (offset + step % COUNT) % COUNT
        })
        .find(|port| is_free(*port))
        .expect("a free port")
}

fn is_free(port: u16) -> bool {
    let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
        && UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let v6 = !has_ipv6()
        || TcpListener::bind((Ipv6Addr::LOCALHOST, port)).is_ok()
            && UdpSocket::bind((Ipv6Addr::LOCALHOST, port)).is_ok();
    v4 && v6
}

/// The right to run one of at most two browsers, over all test processes of this machine. Ends when dropped.
pub struct BrowserSlot {
    // The lock is the file's.
    _lock: File,
}

/// Waits for a browser slot.
///
/// # Panics
/// When the lock files cannot be written.
pub async fn browser_slot() -> BrowserSlot {
    tokio::task::spawn_blocking(|| {
        let slots: Vec<File> = (0..2)
            .map(|slot| {
                let file = std::env::temp_dir().join(format!("roundtrip-tests-browser-{slot}.lock"));
                let mut options = OpenOptions::new();
                options.create(true).write(true).truncate(false);
                options.open(file).expect("a lock file")
            })
            .collect();
        loop {
            for slot in &slots {
                if slot.try_lock().is_ok() {
                    return BrowserSlot {
                        _lock: slot.try_clone().expect("a second handle of the lock"),
                    };
                }
            }
            thread::sleep(Duration::from_millis(50));
        }
    })
    .await
    .expect("the wait for a browser slot")
}
