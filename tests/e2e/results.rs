//! Stored results over HTTP: stored, read, deleted, and what is refused.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use shared::{Document, Phase, StoredResult};
use tests::checks::assert_coherent;
use tests::server::Server;

use crate::api::short_plan;

#[tokio::test]
async fn a_stored_result_is_read_and_deleted_with_its_token() {
    let server = Server::start();
    let client = server.client();
    let document = client.finish(&short_plan(&server)).await;
    let answer = client
        .send_json(Method::POST, "/api/v1/results?expires_days=7", &document)
        .await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
    let stored: StoredResult = answer.read();
    assert_eq!(stored.id.len(), 22, "128 bits in base64url");

    let path = format!("/api/v1/results/{}", stored.id);
    let read = client.get(&path).await;
    assert_eq!(read.status, StatusCode::OK);
    assert_coherent(&read.text());
    let mut again: Document = read.read();
    assert_eq!(again.id.take().as_deref(), Some(stored.id.as_str()));
    assert_eq!(again, document, "what is read is what was stored");
    assert!(!read.text().contains(&stored.delete_token));

    let delete = async |token: &str| {
        let bearer = format!("Bearer {token}");
        client
            .send(Method::DELETE, &path, &[("authorization", &bearer)], None)
            .await
    };
    let without = client.send(Method::DELETE, &path, &[], None).await;
    assert_eq!(without.status, StatusCode::UNAUTHORIZED);
    let wrong = delete("AAAAAAAAAAAAAAAAAAAAAA").await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    wrong.problem();
    assert_eq!(
        client.get(&path).await.status,
        StatusCode::OK,
        "a wrong token deletes nothing"
    );
    assert_eq!(delete(&stored.delete_token).await.status, StatusCode::NO_CONTENT);
    let gone = client.get(&path).await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    gone.problem();
    assert_eq!(delete(&stored.delete_token).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_stored_result_outlives_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.sqlite");
    let options = ["--allow-private", "--database", database.to_str().unwrap()];
    let (document, path) = {
        let server = Server::start_with(&options);
        let client = server.client();
        let document = client.finish(&short_plan(&server)).await;
        let answer = client.send_json(Method::POST, "/api/v1/results", &document).await;
        (
            document,
            format!("/api/v1/results/{}", answer.read::<StoredResult>().id),
        )
    };
    let again = Server::start_with(&options);
    let mut read: Document = again.client().get(&path).await.read();
    read.id = None;
    assert_eq!(read, document);
}

#[tokio::test]
async fn only_the_offered_expiries_are_accepted() {
    let server = Server::start();
    let client = server.client();
    let document = client.finish(&short_plan(&server)).await;
    let mut ends = Vec::new();
    for path in ["/api/v1/results?expires_days=1", "/api/v1/results"] {
        let answer = client.send_json(Method::POST, path, &document).await;
        ends.push(answer.read::<StoredResult>().expires);
    }
    // Times in UTC as RFC 3339 sort as text.
    assert!(document.created < ends[0] && ends[0] < ends[1], "{ends:?}");
    for query in [
        "expires_days=0",
        "expires_days=1000000",
        "expires_days=-1",
        "expires_days=soon",
        "other=1",
    ] {
        let path = format!("/api/v1/results?{query}");
        let answer = client.send_json(Method::POST, &path, &document).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{query}");
        assert!(answer.problem()["field"].is_string(), "{query}");
    }
}

#[tokio::test]
async fn false_figures_in_a_posted_document_do_not_survive() {
    let server = Server::start();
    let client = server.client();
    let document = client.finish(&short_plan(&server)).await;
    let mut false_one = document.clone();
    for arm in &mut false_one.arms {
        for summary in arm.summary.phases.values_mut() {
            summary.median_ns = shared::Nanos(1);
        }
        for sample in &mut arm.samples {
            if let Some(total) = sample.phases.get_mut(&Phase::Total) {
                total.ns = Some(shared::Nanos(1));
            }
        }
    }
    false_one.comparisons.clear();
    let answer = client
        .send_json(Method::POST, "/api/v1/results", &false_one)
        .await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
    let stored: StoredResult = answer.read();
    let mut read: Document = client.get(&format!("/api/v1/results/{}", stored.id)).await.read();
    read.id = None;
    assert_eq!(read, document, "every figure follows from the marks again");
}

#[tokio::test]
async fn documents_that_cannot_be_true_are_refused() {
    let server = Server::start();
    let client = server.client();
    let document = client.finish(&short_plan(&server)).await;
    let good = serde_json::to_value(&document).unwrap();
    type Break = fn(&mut Value);
    let cases: [(&str, Break); 8] = [
        ("another schema", |d| d["schema"] = json!(2)),
        ("an unknown arm id", |d| d["arms"][0]["id"] = json!("h9-cold")),
        ("an arm id that is not its protocol", |d| {
            d["arms"][0]["id"] = json!("h3-cold");
        }),
        ("an arm twice", |d| {
            let arm = d["arms"][0].clone();
            d["arms"].as_array_mut().unwrap().push(arm);
        }),
        ("a negative mark", |d| {
            d["arms"][0]["samples"][0]["marks"]["end"] = json!(-5);
        }),
        ("a fraction as mark", |d| {
            d["arms"][0]["samples"][0]["marks"]["end"] = json!(0.5);
        }),
        ("a page as URL", |d| {
            d["plan"]["url"] = json!("javascript:alert(1)");
        }),
        ("a very long string", |d| {
            d["created"] = json!("x".repeat(100_000));
        }),
    ];
    for (what, break_it) in cases {
        let mut bad = good.clone();
        break_it(&mut bad);
        let answer = client.send_json(Method::POST, "/api/v1/results", &bad).await;
        assert!(
            answer.status.is_client_error(),
            "{what}: {} {}",
            answer.status,
            answer.text()
        );
        answer.problem();
    }
    let answer = client.send_json(Method::POST, "/api/v1/results", &good).await;
    assert_eq!(answer.status, StatusCode::CREATED, "the good one is none of them");
}

#[tokio::test]
async fn a_server_without_a_store_says_so() {
    let server = Server::start_with(&["--allow-private", "--no-store"]);
    let client = server.client();
    let config: Value = client.get("/api/v1/config").await.read();
    assert_eq!(config["store"], Value::Null);
    let answer = client
        .send_json(Method::POST, "/api/v1/results", &json!({}))
        .await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(
        answer.problem()["detail"]
            .as_str()
            .unwrap()
            .contains("stores no results")
    );
}
