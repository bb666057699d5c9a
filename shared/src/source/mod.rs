//! What comes from elsewhere as text or JSON, read into the model. Malformed input never panics: what is valid is kept,
//! the rest comes with its reason.

pub mod alt_svc;
mod field;
pub mod resource_timing;
pub mod server_timing;

pub use field::Rejected;
