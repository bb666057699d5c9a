//! What the page knows, and how it changes. Pure: no DOM, no clock, no network; tested natively.

mod form;
mod handle;
mod run;

pub(crate) use form::{Edit, FieldError, Form};
pub(crate) use handle::Handle;
pub(crate) use run::{Action, RunState, Stage};
