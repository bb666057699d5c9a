//! End-to-end tests: the binary as users start it, against real and hostile servers, and in a real browser.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests: what does not hold fails the test at once, with its place"
)]

mod api;
mod delay_truth;
mod failures;
mod forbidden_addresses;
mod forced_protocol;
mod page;
mod results;
mod security;
mod share;
mod size;
