//! The header fields every answer of the API and of the page gets unless it has its own.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, StatusCode};

const DEFAULTS: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Links to results must not leak to the servers that are measured.
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
];

/// Adds what is missing.
pub(super) async fn add(request: Request, next: Next) -> Response {
    let of_result = request.uri().path().starts_with("/r/");
    let mut response = next.run(request).await;
    for (name, value) in DEFAULTS {
        response
            .headers_mut()
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    if response.status() == StatusCode::NOT_MODIFIED {
        // It would have to be that of the file, and says 0.
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    if of_result {
        response
            .headers_mut()
            .insert("x-robots-tag", HeaderValue::from_static("noindex"));
    }
    response
}
