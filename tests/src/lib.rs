//! The kit of the end-to-end tests: the product's binary, real and hostile servers, a real browser.
//!
//! Everything listens on loopback, on a port of its own, and ends with the value that started it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "the kit is part of tests: what cannot be started or read fails the test at once, with its place"
)]

pub mod browser;
pub mod caddy;
pub mod certificates;
pub mod checks;
pub mod client;
pub mod hostile;
pub mod ports;
pub mod probe;
pub mod process;
pub mod programs;
pub mod server;
