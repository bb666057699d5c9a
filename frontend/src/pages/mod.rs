//! The pages: each puts views together for one thing a user came for.

mod home;
mod not_found;
mod opened;

pub(crate) use home::Home;
pub(crate) use not_found::not_found;
pub(crate) use opened::{Opened, Origin};

/// Says in `body[data-state]` what the page is doing, for styles and for tests.
pub(crate) fn mark_body(state: &str) {
    drop(gloo::utils::body().set_attribute("data-state", state));
}
