//! The HTTP API and the page: the router, readable as a table of contents.
//!
//! A handler parses, makes one call and answers. What runs is in `run`, what is kept is in `store`; no statistics and no
//! SQL here.

mod assets;
mod body;
mod guard;
mod headers;
mod problem;
mod results;
mod runs;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post, put};
use axum::{Extension, Json, Router, middleware};
use http::{HeaderMap, StatusCode, Uri};
use shared::document::DocumentError;
use shared::{ServerConfig, StoreConfig};
use tokio::sync::Semaphore;

pub use assets::Assets;
pub(crate) use assets::accepts;
pub use guard::Hosts;
pub use problem::{ApiError, Problem};

use crate::run::RunRegistry;
use crate::store::{EXPIRY_CHOICES_DAYS, Results};

/// What the handlers share.
#[derive(Debug)]
pub struct App {
    runs: RunRegistry,
    results: Option<Results>,
    assets: Assets,
    hosts: Hosts,
    allow_private: bool,
    origin: Option<String>,
    /// Seconds since 1970-01-01 UTC.
    now: fn() -> i64,
    computing: Semaphore,
}

/// The address a request came from, which the listener adds to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub SocketAddr);

impl App {
    /// An application that measures with `runs` and tells the time by `now` (seconds since 1970-01-01 UTC). It stores nothing and
    /// answers to any host name unless told otherwise.
    pub fn new(runs: RunRegistry, assets: Assets, now: fn() -> i64) -> Self {
        Self {
            runs,
            results: None,
            assets,
            hosts: Hosts::Any,
            allow_private: false,
            origin: None,
            now,
            computing: Semaphore::new(1),
        }
    }

    /// Stores results there.
    #[must_use]
    pub fn with_results(self, results: Option<Results>) -> Self {
        Self { results, ..self }
    }

    /// Answers to these host names only.
    #[must_use]
    pub fn with_hosts(self, hosts: Hosts) -> Self {
        Self { hosts, ..self }
    }

    /// Tells the page whether private addresses are probed, and where the test origin is.
    #[must_use]
    pub fn with_facts(self, allow_private: bool, origin: Option<String>) -> Self {
        Self {
            allow_private,
            origin,
            ..self
        }
    }

    /// The runs.
    pub fn runs(&self) -> &RunRegistry {
        &self.runs
    }

    /// The stored results, if any are.
    pub fn results(&self) -> Option<&Results> {
        self.results.as_ref()
    }

    /// Does one piece of computing at a time, off the threads that serve: nothing more may take the processor from a
    /// timed sample.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let _turn = self
            .computing
            .acquire()
            .await
            .map_err(|_| ApiError::Interrupted)?;
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|_| ApiError::Interrupted)?
    }
}

/// The whole of it, without sockets.
pub fn router(app: Arc<App>) -> Router {
    let api = Router::new()
        .route("/config", get(config))
        .route("/runs", post(runs::start))
        .route("/runs/{id}", delete(runs::cancel))
        .route("/runs/{id}/events", get(runs::events))
        .route("/runs/{id}/browser", put(runs::add_browser))
        .route("/results", post(results::store))
        .route("/results/{id}", get(results::read).delete(results::delete))
        .fallback(async || ApiError::NoSuchPath)
        .method_not_allowed_fallback(async || ApiError::WrongMethod);
    Router::new()
        .route("/", get(page))
        .route("/r", get(page))
        .route("/r/{id}", get(page))
        .nest("/api/v1", api)
        .fallback(file)
        .method_not_allowed_fallback(async || ApiError::WrongMethod)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .layer(middleware::from_fn(headers::add))
        // Bodies are bounded where they are read, each by its own limit.
        .layer(DefaultBodyLimit::disable())
        .with_state(app)
}

async fn page(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    app.assets.page(StatusCode::OK, &headers)
}

/// A file of the page; for a path without a file the page, which says that it knows no such path.
async fn file(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    if path.starts_with("api/") || path == "api" {
        ApiError::NoSuchPath.into_response()
    } else if last.contains('.') {
        app.assets.file(path, &headers)
    } else {
        app.assets.page(StatusCode::NOT_FOUND, &headers)
    }
}

async fn config(
    State(app): State<Arc<App>>,
    client: Option<Extension<ClientAddress>>,
    uri: Uri,
    headers: HeaderMap,
) -> Json<ServerConfig> {
    let is_loopback = client.is_some_and(|client| client.0.0.ip().to_canonical().is_loopback());
    Json(ServerConfig {
        version: env!("CARGO_PKG_VERSION").into(),
        allow_private: app.allow_private,
        origin: app.origin.clone(),
        same_machine: is_loopback && guard::is_direct(&uri, &headers),
        store: app.results.as_ref().map(|results| StoreConfig {
            max_document_bytes: results::DOCUMENT_BYTES as u64,
            expires_days: EXPIRY_CHOICES_DAYS.into(),
            default_expires_days: results.limits().default_days,
        }),
    })
}

fn invalid_document(error: DocumentError) -> ApiError {
    ApiError::Invalid {
        field: error.at,
        detail: error.message,
    }
}

#[cfg(test)]
mod tests;
