//! The test origin: a server whose delay, body and coding are chosen by the asker, so that what is measured has a known
//! truth. It serves the page and the API too, over HTTP/1.1, HTTP/2 and HTTP/3.
//!
//! `router` needs no sockets; `tcp` and `quic` carry any router.

pub mod certificate;
mod content;
mod parameters;
pub mod quic;
pub mod tcp;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALT_SVC, CACHE_CONTROL, CONTENT_ENCODING,
    CONTENT_LENGTH, CONTENT_TYPE, LOCATION, SERVER, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use shared::Nanos;

use self::content::Coded;
use self::parameters::{Coding, Content, Parameters};
use crate::api::{ApiError, Problem, accepts};
use crate::probe::net::clock;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const TIMING_ALLOW_ORIGIN: HeaderName = HeaderName::from_static("timing-allow-origin");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What a page of another origin may read besides the safelisted fields.
const EXPOSED: &str = "alt-svc, server-timing, content-encoding, content-length, server, vary, age, date";

/// What the origin needs for each answer.
#[derive(Debug)]
struct Origin {
    coded: Coded,
    /// `None` when HTTP/3 is not served.
    alt_svc: Option<HeaderValue>,
}

/// The origin's router: `/t`, and everything that `page` serves. `h3_port` is advertised as the alternative service
/// (RFC 7838) on the same host.
pub fn router(page: Router, h3_port: Option<u16>) -> Router {
    content::prepare();
    let alternative = |port: u16| HeaderValue::from_str(&format!("h3=\":{port}\"; ma=86400")).ok();
    let origin = Arc::new(Origin {
        coded: Coded::default(),
        alt_svc: h3_port.and_then(alternative),
    });
    Router::new()
        .route("/t", get(answer))
        .method_not_allowed_fallback(async || ApiError::WrongMethod)
        .with_state(Arc::clone(&origin))
        .fallback_service(page)
        .layer(middleware::from_fn_with_state(origin, open))
}

/// Lets pages of any origin read what is served here and when, except the API.
async fn open(State(origin): State<Arc<Origin>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api");
    let mut response = if request.method() == Method::OPTIONS && !is_api {
        preflight()
    } else {
        next.run(request).await
    };
    let is_unchanged = response.status() == StatusCode::NOT_MODIFIED;
    let headers = response.headers_mut();
    if is_unchanged {
        headers.remove(CONTENT_LENGTH);
    }
    headers.insert(TIMING_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        SERVER,
        HeaderValue::from_static(concat!("roundtrip/", env!("CARGO_PKG_VERSION"))),
    );
    if let Some(alternative) = &origin.alt_svc {
        headers.insert(ALT_SVC, alternative.clone());
    }
    if !is_api {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("cross-origin"));
    }
    response
}

fn preflight() -> Response {
    let fields = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, OPTIONS"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "*"),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, fields).into_response()
}

/// `GET /t`
async fn answer(State(origin): State<Arc<Origin>>, uri: Uri, asked: HeaderMap) -> Response {
    let received = clock::now();
    let parameters = match Parameters::parse(uri.query().unwrap_or_default()) {
        Ok(parameters) => parameters,
        Err(error) => {
            return Problem::new(StatusCode::BAD_REQUEST, error.allowed, Some(error.name)).into_response();
        }
    };
    let coding = match parameters.coding {
        Coding::Negotiated if accepts(&asked, "br") => Coding::Brotli,
        Coding::Negotiated if accepts(&asked, "gzip") => Coding::Gzip,
        Coding::Negotiated => Coding::Identity,
        chosen => chosen,
    };
    let Some((length, body)) = body(&origin, &parameters, coding).await else {
        return ApiError::Interrupted.into_response();
    };
    sleep_until(received.plus(clock::nanos(parameters.delay))).await;

    let mut response = Response::new(body);
    *response.status_mut() = parameters.status;
    let headers = response.headers_mut();
    let kind = match parameters.content {
        Content::Text => "text/plain; charset=utf-8",
        Content::Random => "application/octet-stream",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if has_content(parameters.status) {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    match coding {
        Coding::Gzip => headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip")),
        Coding::Brotli => headers.insert(CONTENT_ENCODING, HeaderValue::from_static("br")),
        Coding::Identity | Coding::Negotiated => None,
    };
    if parameters.coding == Coding::Negotiated {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    if let Some(location) = parameters.location {
        headers.insert(LOCATION, location);
    }
    if let Some(timing) = parameters.server_timing {
        headers.append(SERVER_TIMING, timing);
    }
    if let Some(took) = clock::now().since(received) {
        // What it really took, not what was asked for: timers fire late, never early, and a body that is compressed for
        // the first time takes longer still.
        let metric = format!("delay;dur={:.3}", took.as_millis_f64());
        headers.extend(
            HeaderValue::from_str(&metric)
                .ok()
                .map(|metric| (SERVER_TIMING, metric)),
        );
    }
    response
}

/// The body and its length as sent; `None` when the process ends meanwhile.
async fn body(origin: &Arc<Origin>, parameters: &Parameters, coding: Coding) -> Option<(u64, Body)> {
    let (content, stall) = (parameters.content, parameters.body_delay);
    if !has_content(parameters.status) {
        return Some((0, Body::empty()));
    }
    let length = parameters.bytes;
    if coding == Coding::Identity {
        return Some((length, content::streamed(content, length, stall)));
    }
    let bytes = if let Some(known) = origin.coded.known(content, coding, length) {
        known
    } else {
        let origin = Arc::clone(origin);
        let made = tokio::task::spawn_blocking(move || origin.coded.bytes(content, coding, length));
        made.await.ok()?.ok()?
    };
    Some((bytes.len() as u64, content::whole(bytes, stall)))
}

/// Whether a response of this status has content (RFC 9110, section 6.4.1).
fn has_content(status: StatusCode) -> bool {
    !matches!(
        status,
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED
    )
}

async fn sleep_until(time: Nanos) {
    if let Some(left) = time.since(clock::now()).filter(|left| *left > Nanos::ZERO) {
        tokio::time::sleep(Duration::from_nanos(left.0)).await;
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(method: Method, path: &str, fields: &[(&str, &str)]) -> (Response<()>, bytes::Bytes) {
        let page = Router::new().fallback(async || "the page");
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = router(page, Some(8443)).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        (
            Response::from_parts(parts, ()),
            body.collect().await.unwrap().to_bytes(),
        )
    }

    #[tokio::test]
    async fn everything_but_the_api_is_open_to_pages_of_any_origin() {
        for path in ["/t", "/", "/api/v1/config"] {
            let (response, _) = ask(Method::GET, path, &[]).await;
            let headers = response.headers();
            assert_eq!(headers["timing-allow-origin"], "*", "{path}");
            assert_eq!(headers["alt-svc"], "h3=\":8443\"; ma=86400", "{path}");
            let open = headers
                .get("access-control-allow-origin")
                .is_some_and(|origin| origin == "*");
            assert_eq!(open, !path.starts_with("/api"), "{path}");
        }
        let (preflight, _) = ask(Method::OPTIONS, "/t", &[("origin", "https://a.example")]).await;
        assert_eq!(preflight.status(), 204);
        assert_eq!(preflight.headers()["access-control-allow-headers"], "*");
    }

    #[tokio::test]
    async fn the_delay_is_kept_and_told() {
        let before = clock::now();
        let (response, body) = ask(Method::GET, "/t?delay=25ms&bytes=3k&server-timing=db;dur=3", &[]).await;
        let took = clock::now().since(before).unwrap();
        let timing: Vec<&str> = response
            .headers()
            .get_all("server-timing")
            .iter()
            .map(|value| value.to_str().unwrap())
            .collect();
        assert_eq!(timing[0], "db;dur=3");
        let told: f64 = timing[1].strip_prefix("delay;dur=").unwrap().parse().unwrap();
        assert!(
            (25.0..=took.as_millis_f64()).contains(&told),
            "told {told}, took {took:?}"
        );
        assert_eq!(body.len(), 3000);
        assert_eq!(response.headers()["content-length"], "3000");
        assert_eq!(response.headers()["cache-control"], "no-store");
    }

    #[tokio::test]
    async fn head_has_the_fields_of_get_and_no_content() {
        let (response, body) = ask(Method::HEAD, "/t?bytes=1m&encoding=gzip", &[]).await;
        let (same, content) = ask(Method::GET, "/t?bytes=1m&encoding=gzip", &[]).await;
        assert_eq!(body.len(), 0);
        assert_eq!(
            response.headers()["content-length"],
            same.headers()["content-length"]
        );
        assert_eq!(same.headers()["content-length"], content.len().to_string());
        assert_eq!(same.headers()["content-encoding"], "gzip");
    }

    #[tokio::test]
    async fn the_coding_is_negotiated_when_asked_to() {
        for (accept, coding) in [
            ("gzip, br", Some("br")),
            ("gzip", Some("gzip")),
            ("identity", None),
        ] {
            let (response, _) = ask(Method::GET, "/t?encoding=auto", &[("accept-encoding", accept)]).await;
            let sent = response
                .headers()
                .get("content-encoding")
                .map(|coding| coding.to_str().unwrap());
            assert_eq!(sent, coding);
            assert_eq!(response.headers()["vary"], "accept-encoding");
        }
    }

    #[tokio::test]
    async fn a_wrong_parameter_is_named_in_a_problem_document() {
        let (response, body) = ask(Method::GET, "/t?delay=11s", &[]).await;
        assert_eq!(response.status(), 400);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["field"], "delay");
    }

    #[tokio::test]
    async fn statuses_and_redirects_are_as_asked_for() {
        let (response, _) = ask(Method::GET, "/t?status=302&location=/t", &[]).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["location"]),
            (302, &HeaderValue::from_static("/t"))
        );
        let (response, body) = ask(Method::GET, "/t?status=204", &[]).await;
        assert!(response.status() == 204 && body.is_empty());
    }
}
