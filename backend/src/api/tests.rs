//! The API as a client sees it, without sockets and without a probe.

use std::sync::atomic::{AtomicI64, Ordering};

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use shared::{Document, Plan, RunEvent};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::*;
use crate::run::stand_in::{document, sample_event};
use crate::run::{Executor, RegistryLimits, Stopped};
use crate::store::{Limits, MemoryStore};

/// Gives one sample and a document, or waits for being cancelled when the URL says so.
struct StandIn;

impl Executor for StandIn {
    fn carry_out(
        &mut self,
        plan: Plan,
        on_event: &mut (dyn FnMut(RunEvent) + Send),
        cancel: &CancellationToken,
    ) -> Result<Document, Stopped> {
        on_event(sample_event(0));
        while plan.url.ends_with("/wait") {
            if cancel.is_cancelled() {
                return Err(Stopped::Cancelled);
            }
            std::thread::yield_now();
        }
        Ok(document(plan))
    }
}

fn app_at(now: fn() -> i64) -> Router {
    let runs = RunRegistry::new(StandIn, RegistryLimits::default()).unwrap();
    let store = Arc::new(MemoryStore::default());
    let app = App::new(runs, Assets::new([]), now)
        .with_results(Some(Results::new(store, Limits::default())))
        .with_hosts(Hosts::Local(Vec::new()))
        .with_facts(true, Some("https://localhost:8443".into()));
    router(Arc::new(app))
}

fn app() -> Router {
    app_at(|| 0)
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

async fn ask(app: &Router, line: &str, fields: &[(&str, &str)], body: impl Into<Body>) -> Answer {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost:8080");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let response = app
        .clone()
        .oneshot(request.body(body.into()).unwrap())
        .await
        .unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        text: String::from_utf8(bytes.into()).unwrap(),
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");

async fn start(app: &Router, url: &str) -> String {
    let plan = json!({ "url": url }).to_string();
    let accepted = ask(app, "POST /api/v1/runs", &[JSON], plan).await;
    assert_eq!(accepted.status, 202, "{}", accepted.text);
    accepted.json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_run_is_started_followed_and_completed_by_the_browser() {
    let app = app();
    let id = start(&app, "https://example.org/").await;
    let path = format!("/api/v1/runs/{id}");
    let events = ask(&app, &format!("GET {path}/events"), &[], "").await;
    assert_eq!(events.headers["content-type"], "text/event-stream");
    assert_eq!(events.headers["cache-control"], "no-cache");
    let data: Vec<RunEvent> = events
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|json| serde_json::from_str(json).unwrap())
        .collect();
    assert!(
        matches!(data.last(), Some(RunEvent::Finished { .. })),
        "the stream ends with the document"
    );
    let last_id = events
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("id:"))
        .next_back()
        .unwrap();
    let again = ask(
        &app,
        &format!("GET {path}/events"),
        &[("last-event-id", last_id.trim())],
        "",
    )
    .await;
    assert_eq!(
        again.status, 204,
        "an EventSource that has everything is told to stop"
    );

    let report = json!({
        "vantage": { "kind": "browser", "clock_step_ns": 100_000 },
        "arms": [{ "id": "browser-hidden", "source": "browser", "samples": [] }],
    });
    let merged = ask(&app, &format!("PUT {path}/browser"), &[JSON], report.to_string()).await;
    assert_eq!(merged.status, 200, "{}", merged.text);
    assert_eq!(merged.json()["arms"][0]["id"], "browser-hidden");
}

#[tokio::test]
async fn a_run_is_cancelled() {
    let app = app();
    let id = start(&app, "https://example.org/wait").await;
    assert_eq!(
        ask(&app, &format!("DELETE /api/v1/runs/{id}"), &[], "")
            .await
            .status,
        204
    );
    let events = ask(&app, &format!("GET /api/v1/runs/{id}/events"), &[], "").await;
    assert!(events.text.contains(r#"{"type":"cancelled"}"#), "{}", events.text);
}

#[tokio::test]
async fn errors_are_problem_documents_that_name_the_field() {
    let app = app();
    let long = format!(r#"{{"url":"https://example.org/{}"}}"#, "a".repeat(200_000));
    let cases: [(&str, &str, u16, Option<&str>); 10] = [
        (
            r#"{"url":"ftp://example.org/"}"#,
            "POST /api/v1/runs",
            422,
            Some("url"),
        ),
        (
            r#"{"url":"https://exa mple/"}"#,
            "POST /api/v1/runs",
            422,
            Some("url"),
        ),
        (
            r#"{"url":"https://a/","samples":0}"#,
            "POST /api/v1/runs",
            422,
            Some("samples"),
        ),
        (
            r#"{"url":"https://a/","samples":"x"}"#,
            "POST /api/v1/runs",
            400,
            Some("samples"),
        ),
        (
            r#"{"url":"https://a/","resolve":"x"}"#,
            "POST /api/v1/runs",
            422,
            Some("resolve"),
        ),
        (
            r#"{"url":"https://a/","headers":[["a b","c"]]}"#,
            "POST /api/v1/runs",
            422,
            Some("headers"),
        ),
        ("{", "POST /api/v1/runs", 400, None),
        (&long, "POST /api/v1/runs", 413, None),
        ("{}", "POST /api/v1/results?days=3", 422, Some("days")),
        ("{}", "POST /api/v1/nothing", 404, None),
    ];
    for (body, line, status, field) in cases {
        let answer = ask(&app, line, &[JSON], body.to_owned()).await;
        assert_eq!(answer.status, status, "{line} {}", answer.text);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert_eq!(answer.json()["status"], status);
        assert_eq!(answer.json()["field"].as_str(), field, "{}", answer.text);
    }
    assert_eq!(ask(&app, "POST /api/v1/runs", &[], "{}").await.status, 415);
    assert_eq!(ask(&app, "PATCH /api/v1/runs", &[JSON], "{}").await.status, 405);
    assert_eq!(ask(&app, "GET /api/v1/runs/x/events", &[], "").await.status, 404);
    let foreign = [JSON, ("origin", "https://evil.example")];
    assert_eq!(ask(&app, "POST /api/v1/runs", &foreign, "{}").await.status, 403);
}

static NOW: AtomicI64 = AtomicI64::new(0);

#[tokio::test]
async fn a_result_is_stored_read_expired_and_deleted() {
    let app = app_at(|| NOW.load(Ordering::SeqCst));
    let mut claim = serde_json::to_value(document(Plan::new("https://example.org/"))).unwrap();
    claim["findings"] =
        json!([{ "rule": "made_up", "sure": "proved", "text": "h3 is dead", "evidence": [] }]);
    claim["stranger"] = json!("dropped");
    let store = async |line: &str| ask(&app, line, &[JSON], claim.to_string()).await;
    let stored = store("POST /api/v1/results?expires_days=7").await;
    assert_eq!(stored.status, 201, "{}", stored.text);
    let stored = stored.json();
    assert_eq!(stored["expires"], "1970-01-08T00:00:00Z");
    let path = format!("/api/v1/results/{}", stored["id"].as_str().unwrap());
    let read = ask(&app, &format!("GET {path}"), &[], "").await;
    assert_eq!(read.json()["id"], stored["id"]);
    let findings = &read.json()["findings"];
    assert!(
        !findings.to_string().contains("made_up"),
        "what does not follow from the marks is not stored"
    );
    assert_eq!(read.json()["stranger"], Value::Null);
    assert_eq!(read.headers["cache-control"], "no-store");

    let unknown = ask(&app, "GET /api/v1/results/AAAAAAAAAAAAAAAAAAAAAA", &[], "").await;
    NOW.store(7 * 24 * 60 * 60, Ordering::SeqCst);
    let expired = ask(&app, &format!("GET {path}"), &[], "").await;
    let second = store("POST /api/v1/results").await.json();
    let path = format!("DELETE /api/v1/results/{}", second["id"].as_str().unwrap());
    let bearer = format!("Bearer {}", second["delete_token"].as_str().unwrap());
    assert_eq!(ask(&app, &path, &[], "").await.status, 401);
    assert_eq!(
        ask(&app, &path, &[("authorization", "Bearer x")], "")
            .await
            .status,
        403
    );
    assert_eq!(
        ask(&app, &path, &[("authorization", &bearer)], "").await.status,
        204
    );
    let deleted = ask(&app, &path.replace("DELETE", "GET"), &[], "").await;
    assert_eq!(unknown.status, 404);
    assert_eq!((unknown.status, &unknown.text), (expired.status, &expired.text));
    assert_eq!((unknown.status, &unknown.text), (deleted.status, &deleted.text));
}

#[tokio::test]
async fn the_page_answers_under_its_own_paths_only() {
    let app = app();
    for (path, status, kind) in [
        ("/", 200, "text/html; charset=utf-8"),
        ("/r", 200, "text/html; charset=utf-8"),
        ("/r/AAAAAAAAAAAAAAAAAAAAAA", 200, "text/html; charset=utf-8"),
        ("/somewhere", 404, "text/html; charset=utf-8"),
        ("/missing-0123456789abcdef.js", 404, "application/problem+json"),
        ("/api", 404, "application/problem+json"),
        ("/api/v2/runs", 404, "application/problem+json"),
        ("/api/v1/config", 200, "application/json"),
    ] {
        let answer = ask(&app, &format!("GET {path}"), &[], "").await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.headers["content-type"], kind, "{path}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
        assert!(
            answer.headers["content-security-policy"]
                .to_str()
                .unwrap()
                .contains("frame-ancestors 'none'")
        );
        assert_eq!(
            answer.headers.contains_key("x-robots-tag"),
            path.starts_with("/r/"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_page_is_told_what_the_server_does() {
    let config = ask(&app(), "GET /api/v1/config", &[], "").await.json();
    assert_eq!(config["allow_private"], true);
    assert_eq!(config["origin"], "https://localhost:8443");
    assert_eq!(config["same_machine"], false, "not known without an address");
    assert_eq!(config["store"]["expires_days"], json!([1, 7, 30, 90]));
}
