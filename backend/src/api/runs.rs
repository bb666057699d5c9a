//! Runs: start, follow, cancel, add the browser's side.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use shared::{BrowserReport, Document, Plan, RunAccepted};
use url::Url;

use super::problem::ApiError;
use super::{App, ClientAddress, body};

/// Longest plan, in bytes: a URL of 4 KiB and 32 header fields of 4 KiB fit.
const PLAN_BYTES: usize = 192 << 10;
/// Longest browser report, in bytes: 200 samples with long names of everything fit.
const REPORT_BYTES: usize = 4 << 20;
/// How often a line is sent while nothing happens, so that nothing on the way gives up.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// `POST /api/v1/runs`
pub(super) async fn start(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<RunAccepted>), ApiError> {
    let client = request
        .extensions()
        .get::<ClientAddress>()
        .map(|client| client.0.ip());
    let plan: Plan = body::parse(&body::bytes(request, PLAN_BYTES).await?)?;
    check(&plan)?;
    let id = app.runs.start(plan, client)?;
    Ok((StatusCode::ACCEPTED, Json(RunAccepted { id })))
}

/// `GET /api/v1/runs/{id}/events`
pub(super) async fn events(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let seen = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse::<usize>().ok());
    let from = seen.map_or(0, |seen| seen.saturating_add(1));
    if seen.is_some() && app.runs.is_read_to_the_end(&id, from)? {
        // Tells an EventSource that reconnects by itself to stop (HTML, section 9.2).
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let events = app
        .runs
        .events(&id, from)?
        .map(|(number, json)| Ok::<_, Infallible>(Event::default().id(number.to_string()).data(json)));
    let mut response = Sse::new(events)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response();
    let unbuffered = (
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response.headers_mut().extend([unbuffered]);
    Ok(response)
}

/// `DELETE /api/v1/runs/{id}`
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.runs.cancel(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

/// `PUT /api/v1/runs/{id}/browser`
pub(super) async fn add_browser(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Result<Json<Document>, ApiError> {
    let bytes = body::bytes(request, REPORT_BYTES).await?;
    let runs = Arc::clone(&app);
    let merged = app
        .compute(move || {
            let report: BrowserReport = body::parse(&bytes)?;
            report.check().map_err(super::invalid_document)?;
            Ok(runs.runs.add_browser(&id, report)?)
        })
        .await?;
    Ok(Json(merged))
}

/// What can be said about a plan before anything is resolved or sent.
fn check(plan: &Plan) -> Result<(), ApiError> {
    let invalid = |field: &str, detail: String| ApiError::Invalid {
        field: field.into(),
        detail,
    };
    plan.validate()
        .map_err(|error| invalid(error.field, error.message))?;
    let url = Url::parse(&plan.url).map_err(|error| invalid("url", error.to_string()))?;
    if url.host_str().is_none() {
        return Err(invalid("url", "has no host name".into()));
    }
    for (name, value) in &plan.headers {
        let named = HeaderName::from_bytes(name.as_bytes()).is_ok();
        if !named || HeaderValue::from_str(value).is_err() {
            return Err(invalid(
                "headers",
                format!("{name:?} is not a field that can be sent"),
            ));
        }
    }
    if plan
        .accept_encoding
        .as_ref()
        .is_some_and(|value| HeaderValue::from_str(value).is_err())
    {
        return Err(invalid(
            "accept_encoding",
            "cannot be sent in a header field".into(),
        ));
    }
    if plan
        .resolve
        .as_ref()
        .is_some_and(|address| address.parse::<std::net::IpAddr>().is_err())
    {
        return Err(invalid("resolve", "must be an IP address".into()));
    }
    Ok(())
}
