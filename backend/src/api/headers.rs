//! The header fields every answer of the API and of the page gets unless it has its own.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

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
    let headers = response.headers_mut();
    for (name, value) in DEFAULTS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if of_result {
        headers.insert("x-robots-tag", HeaderValue::from_static("noindex"));
    }
    response
}
