//! What only a browser can do: measure with Resource Timing, compress, copy, save. Thin; decisions are made elsewhere.

mod clock;
pub(crate) mod compression;
mod description;
pub(crate) mod keep;
pub(crate) mod lane;
mod observer;
mod pause;
