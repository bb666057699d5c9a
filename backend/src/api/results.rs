//! Stored results: store, read, delete.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Request, StatusCode};
use shared::document::redact::{RedactOptions, redact};
use shared::{Document, StoredResult};
use url::form_urlencoded;

use super::problem::ApiError;
use super::{App, body};
use crate::store::Results;

/// Longest document that is accepted, as JSON, in bytes.
pub(super) const DOCUMENT_BYTES: usize = 16 << 20;

/// `POST /api/v1/results`
pub(super) async fn store(
    State(app): State<Arc<App>>,
    request: Request<Body>,
) -> Result<(StatusCode, Json<StoredResult>), ApiError> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let bytes = body::bytes(request, DOCUMENT_BYTES).await?;
    let results = results(&app)?;
    let expires_days = expires_days(&query)?;
    let document = app
        .compute(move || {
            // Fields that the schema does not have are dropped, and every figure is computed anew: a stored result says
            // nothing that does not follow from its marks.
            let mut document: Document = body::parse(&bytes)?;
            document.check().map_err(super::invalid_document)?;
            // The page has removed what its user chose; what never belongs to a stored result goes whoever sends it.
            let always = RedactOptions {
                keep_query: true,
                keep_hosts: true,
                alias_all_hosts: false,
            };
            document = redact(&document, &always).document;
            document.recompute();
            Ok(document)
        })
        .await?;
    let stored = results.save(document, expires_days, (app.now)()).await?;
    Ok((StatusCode::CREATED, Json(stored)))
}

/// `GET /api/v1/results/{id}`
pub(super) async fn read(State(app): State<Arc<App>>, Path(id): Path<String>) -> Result<Response, ApiError> {
    let json = results(&app)?.load(id, (app.now)()).await?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// `DELETE /api/v1/results/{id}`
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let token = bearer(&headers).ok_or(ApiError::NoToken)?;
    results(&app)?.delete(id, token, (app.now)()).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn results(app: &App) -> Result<Results, ApiError> {
    app.results.clone().ok_or(ApiError::NoStore)
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

fn expires_days(query: &str) -> Result<Option<u32>, ApiError> {
    let mut days = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let parsed = value.parse().ok();
        match (name.as_ref(), parsed) {
            ("expires_days", Some(parsed)) => days = Some(parsed),
            _ => {
                return Err(ApiError::Invalid {
                    field: name.into_owned(),
                    detail: "the only parameter is expires_days, a number of days".into(),
                });
            }
        }
    }
    Ok(days)
}
