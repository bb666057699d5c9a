//! What keeps hostile servers and hostile links from doing anything in the page.

use http::Method;
use serde_json::{Value, json};
use shared::StoredResult;
use tests::browser::with_browser;
use tests::certificates::{Authority, Certificate};
use tests::hostile::{Step, TcpServer, h1_response};
use tests::server::Server;

use crate::page::{has_page, measure, options};

/// Sets a flag that no page of ours sets.
const SCRIPT: &str = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>";

#[tokio::test]
async fn every_answer_has_a_policy_and_is_not_sniffed() {
    let server = Server::start();
    let client = server.client();
    for path in [
        "/",
        "/r/AAAAAAAAAAAAAAAAAAAAAA",
        "/no/such/page",
        "/api/v1/config",
        "/api/v1/nothing",
    ] {
        let answer = client.get(path).await;
        let policy = answer.header("content-security-policy").to_owned();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy:?}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy:?}");
        assert!(
            !policy.contains("'unsafe-inline'") && !policy.contains("'unsafe-eval'"),
            "{path}: {policy:?}"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_starts_under_its_policy_without_a_complaint() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    with_browser(&options(&server), async |page| {
        for url in [&server.page, &server.origin] {
            page.open(url).await?;
            assert_eq!(page.state().await?, "idle");
            assert_eq!(page.console_errors().await?, [] as [String; 0], "{url}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hostile_server_says_is_shown_as_text() {
    let authority = Authority::new();
    let server_field = format!("server: {SCRIPT}");
    let response = h1_response(
        &[
            "HTTP/1.1 200 OK",
            "content-length: 2",
            "connection: close",
            &server_field,
            "timing-allow-origin: *",
            "access-control-allow-origin: *",
        ],
        b"ok",
    );
    let config = authority.server(Certificate::Good, &["http/1.1"]);
    let hostile = TcpServer::over_tls(config, vec![Step::ReadRequest, response]).await;
    let root = authority.root();
    let server = Server::start_with(&["--allow-private", "--cacert", root.to_str().unwrap()]);
    if !has_page(&server).await {
        return;
    }
    with_browser(&options(&server), async |page| {
        page.open(&server.page).await?;
        measure(&page, &hostile.url()).await?;
        let shown = page.script_text("return document.body.textContent").await?;
        assert!(shown.contains(SCRIPT), "the field is shown as it was sent");
        let hacked = page.script("return window.hacked ?? null").await?;
        assert_eq!(hacked, Value::Null);
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_shared_document_says_is_shown_as_text() {
    let server = Server::start();
    if !has_page(&server).await {
        return;
    }
    let client = server.client();
    let mut plan = shared::Plan::new(format!("{}/t", server.origin));
    plan.samples = 2;
    let document = client.finish(&plan).await;
    let mut hostile = serde_json::to_value(&document).unwrap();
    hostile["vantage"]["description"] = json!(SCRIPT);
    hostile["plan"]["url"] = json!(format!("https://localhost/{SCRIPT}"));
    for arm in hostile["arms"].as_array_mut().unwrap() {
        for sample in arm["samples"].as_array_mut().unwrap() {
            sample["facts"]["headers"] = json!([["server", SCRIPT], ["alt-svc", SCRIPT]]);
            sample["facts"]["http_version"] = json!(SCRIPT);
            sample["facts"]["redirect"] = json!("javascript:window.hacked=1");
        }
    }
    let answer = client.send_json(Method::POST, "/api/v1/results", &hostile).await;
    if answer.status.is_client_error() {
        // Refused is as good as shown as text.
        answer.problem();
        return;
    }
    let stored: StoredResult = answer.read();
    with_browser(&options(&server), async |page| {
        page.open(&format!("{}/r/{}", server.origin, stored.id)).await?;
        page.wait_for_state(&["shared", "error"]).await?;
        let hacked = page.script("return window.hacked ?? null").await?;
        assert_eq!(hacked, Value::Null);
        let injected = page
            .script("return document.querySelectorAll('main img, main script, main a[href^=\"javascript\" i]').length")
            .await?;
        assert_eq!(injected, Value::from(0));
        Ok(())
    })
    .await;
}
