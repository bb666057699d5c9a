//! The backend of Roundtrip: `api` calls `run`, `run` calls `probe`; `probe` knows no HTTP API, no store and no
//! statistics; `store` knows only `shared`.

pub mod api;
pub mod cli;
pub mod id;
pub mod origin;
pub mod probe;
pub mod run;
pub mod store;
