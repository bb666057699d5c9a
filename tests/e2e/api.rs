//! The API over HTTP: runs and their events, and what it refuses.

use http::{Method, StatusCode};
use serde_json::json;
use shared::{Document, Phase, Plan, Protocol, RunEvent, Temperature};
use tests::checks::assert_coherent;
use tests::server::Server;

/// The probe of a server without `--cacert` does not trust the origin's self-made certificate.
fn plan(server: &Server, path: &str) -> Plan {
    let mut plan = Plan::new(format!("{}{path}", server.origin));
    plan.samples = 3;
    plan.warm_requests = 2;
    plan.temperatures = vec![Temperature::Cold, Temperature::Warm];
    plan.insecure = true;
    plan
}

pub(crate) fn short_plan(server: &Server) -> Plan {
    let mut plan = plan(server, "/t");
    plan.samples = 2;
    plan.temperatures = vec![Temperature::Cold];
    plan
}

#[tokio::test]
async fn a_run_tells_its_samples_in_order_and_ends_with_the_document() {
    let server = Server::start();
    let client = server.client();
    let plan = plan(&server, "/t?delay=5ms");
    let run = client.start(&plan).await;
    let events = client.events(&run).await.rest().await;

    let ids: Vec<u64> = events.iter().map(|(id, _)| *id).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    let mut kinds = events
        .iter()
        .map(|(_, event)| event)
        .skip_while(|event| matches!(event, RunEvent::Queued { .. }));
    let expected = match kinds.next() {
        Some(RunEvent::Started {
            plan: carried_out,
            expected,
            address,
            ..
        }) => {
            assert_eq!(carried_out.url, plan.url);
            assert!(address.is_some());
            *expected as usize
        }
        other => panic!("began with {other:?}"),
    };
    let mut samples = Vec::new();
    let document = loop {
        match kinds.next() {
            Some(RunEvent::Sample { arm, sample }) => samples.push((arm.clone(), sample.clone())),
            Some(RunEvent::Finished { document }) => break document.clone(),
            other => panic!("in the middle of the run: {other:?}"),
        }
    };
    assert!(kinds.next().is_none(), "nothing comes after the end");
    assert_eq!(samples.len(), expected);
    assert_eq!(samples.len() as u64, plan.exchanges());
    assert!(samples.windows(2).all(|pair| pair[0].1.seq < pair[1].1.seq));
    for (arm, sample) in &samples {
        let arm = document.arms.iter().find(|other| other.id == *arm).unwrap();
        let same = arm.samples.iter().find(|other| other.seq == sample.seq).unwrap();
        assert_eq!(
            same.marks, sample.marks,
            "the document holds the very samples that were told"
        );
        assert_eq!(same.phases, sample.phases);
    }
    assert_coherent(&serde_json::to_string(&document).unwrap());

    let again = client.events(&run).await.rest().await;
    assert_eq!(
        again.len(),
        events.len(),
        "who comes later gets everything from the start"
    );
}

#[tokio::test]
async fn arms_are_interleaved_in_blocks() {
    let server = Server::start();
    let mut plan = short_plan(&server);
    plan.samples = 6;
    let document = server.client().finish(&plan).await;
    for block in 0..6 {
        let mut seqs: Vec<u32> = document
            .arms
            .iter()
            .flat_map(|arm| &arm.samples)
            .filter(|sample| sample.block == block)
            .map(|sample| sample.seq)
            .collect();
        seqs.sort_unstable();
        let expected: Vec<u32> = (block * 3..block * 3 + 3).collect();
        assert_eq!(
            seqs, expected,
            "block {block} has one sample of each protocol, next to each other"
        );
    }
}

#[tokio::test]
async fn one_run_is_measured_at_a_time_and_the_next_one_waits() {
    let server = Server::start();
    let client = server.client();
    let mut slow = plan(&server, "/t?delay=100ms");
    slow.samples = 3;
    let first = client.start(&slow).await;
    let second = client.start(&short_plan(&server)).await;
    let mut events = client.events(&second).await;
    match events.next().await {
        Some((_, RunEvent::Queued { ahead })) => assert_eq!(ahead, 1),
        other => panic!("{other:?}"),
    }
    let rest = events.rest().await;
    assert!(matches!(rest.last(), Some((_, RunEvent::Finished { .. }))));
    let first = client.events(&first).await.rest().await;
    assert!(matches!(first.last(), Some((_, RunEvent::Finished { .. }))));
}

#[tokio::test]
async fn a_cancelled_run_ends_with_that_word() {
    let server = Server::start();
    let client = server.client();
    let mut slow = plan(&server, "/t?delay=200ms");
    slow.samples = 100;
    let run = client.start(&slow).await;
    let mut events = client.events(&run).await;
    loop {
        match events.next().await {
            Some((_, RunEvent::Sample { .. })) => break,
            Some(_) => {}
            None => panic!("ended before the first sample"),
        }
    }
    let path = format!("/api/v1/runs/{run}");
    let answer = client.send(Method::DELETE, &path, &[], None).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    let rest = events.rest().await;
    assert!(
        matches!(rest.last(), Some((_, RunEvent::Cancelled))),
        "{:?}",
        rest.last()
    );
    assert!(rest.len() < 100, "it stopped early");
    // The probe is free again.
    let document = client.finish(&short_plan(&server)).await;
    assert_eq!(document.arms.len(), 3);
}

#[tokio::test]
async fn an_invalid_plan_is_refused_with_its_field() {
    let server = Server::start();
    let client = server.client();
    for (plan, field) in [
        (json!({ "url": "ftp://localhost/" }), "url"),
        (json!({ "url": "https:///" }), "url"),
        (json!({ "url": "https://localhost:99999/" }), "url"),
        (json!({ "url": "https://localhost/", "samples": 0 }), "samples"),
        (
            json!({ "url": "https://localhost/", "samples": 1_000_000 }),
            "samples",
        ),
        (
            json!({ "url": "https://localhost/", "samples": "many" }),
            "samples",
        ),
        (
            json!({ "url": "https://localhost/", "protocols": [] }),
            "protocols",
        ),
        (
            json!({ "url": "https://localhost/", "protocols": ["h4"] }),
            "protocols[0]",
        ),
        (
            json!({ "url": "https://localhost/", "max_time_ms": 1 }),
            "max_time_ms",
        ),
        (
            json!({ "url": "https://localhost/", "headers": [["a b", "c"]] }),
            "headers",
        ),
        (
            json!({ "url": "https://localhost/", "resolve": "nowhere" }),
            "resolve",
        ),
    ] {
        let answer = client.send_json(Method::POST, "/api/v1/runs", &plan).await;
        assert!(answer.status.is_client_error(), "{plan}: {}", answer.status);
        assert_eq!(answer.problem()["field"], field, "{plan}: {}", answer.text());
    }
    let answer = client
        .send(Method::POST, "/api/v1/runs", &[], Some("{".into()))
        .await;
    assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    answer.problem();
}

#[tokio::test]
async fn the_page_is_told_what_this_server_does() {
    let server = Server::start();
    let config: shared::ServerConfig = server.client().get("/api/v1/config").await.read();
    assert!(config.allow_private && config.same_machine);
    assert_eq!(config.origin.as_deref(), Some(server.origin.as_str()));
    let store = config.store.unwrap();
    assert_eq!(store.default_expires_days, 30);
    let careful = Server::start_with(&[]);
    let config: shared::ServerConfig = careful.client().get("/api/v1/config").await.read();
    assert!(!config.allow_private);
}

#[tokio::test]
async fn bodies_are_bounded() {
    let server = Server::start();
    let client = server.client();
    let long = format!("{{\"url\":\"https://localhost/{}\"}}", "x".repeat(300_000));
    let json = [("content-type", "application/json")];
    let answer = client
        .send(Method::POST, "/api/v1/runs", &json, Some(long.into()))
        .await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    answer.problem();
    let answer = client
        .send(
            Method::POST,
            "/api/v1/runs",
            &json,
            Some("[".repeat(150_000).into()),
        )
        .await;
    assert!(
        answer.status.is_client_error(),
        "deep nesting is refused: {}",
        answer.status
    );
    answer.problem();
}

#[tokio::test]
async fn what_does_not_exist_is_a_problem_document() {
    let server = Server::start();
    let client = server.client();
    for path in [
        "/api/v1/no-such-path",
        "/api/v1/runs/AAAAAAAAAAAAAAAAAAAAAA/events",
        "/api/v1/results/AAAAAAAAAAAAAAAAAAAAAA",
        "/api/v1/results/..%2f..%2fetc%2fpasswd",
        "/api/no-such-version",
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        answer.problem();
    }
    let answer = client.send(Method::PUT, "/api/v1/runs", &[], None).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    answer.problem();
}

#[tokio::test]
async fn the_browsers_side_is_added_to_a_finished_run() {
    let server = Server::start();
    let client = server.client();
    let run = client.start(&short_plan(&server)).await;
    client.events(&run).await.rest().await;
    let path = format!("/api/v1/runs/{run}/browser");
    let sample = json!({
        "seq": 0, "block": 0, "exchange": 0,
        "marks": { "start": 0, "request_sent": 1_000_000, "headers": 30_000_000, "end": 31_000_000 },
        "facts": { "http_version": "h3", "connection": "reused", "tls": true, "status": 200 },
        "failure": null, "disturbed": false
    });
    let report = json!({
        "vantage": { "kind": "browser", "clock_step_ns": 100_000, "description": "Test 1 on Linux" },
        "arms": [{ "id": "browser-h3-warm", "source": "browser", "protocol": "h3", "temperature": "warm",
                   "samples": [sample] }]
    });
    let answer = client.send_json(Method::PUT, &path, &report).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    assert_coherent(&answer.text());
    let document: Document = answer.read();
    let arm = document
        .arms
        .iter()
        .find(|arm| arm.id == "browser-h3-warm")
        .unwrap();
    assert_eq!(arm.protocol, Some(Protocol::H3));
    assert_eq!(
        arm.summary.phases[&Phase::Wait].median_ns,
        shared::Nanos(29_000_000)
    );

    let mut false_report = report.clone();
    false_report["arms"][0]["source"] = json!("probe");
    let answer = client.send_json(Method::PUT, &path, &false_report).await;
    assert!(
        answer.status.is_client_error(),
        "a browser's report holds no arms of the probe"
    );
    answer.problem();
}

#[tokio::test]
async fn names_rebound_to_this_machine_get_nothing() {
    let server = Server::start();
    let client = server.client();
    let answer = client
        .send(Method::GET, "/api/v1/config", &[("host", "evil.example")], None)
        .await;
    assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST);
    let json = [
        ("content-type", "application/json"),
        ("origin", "https://evil.example"),
    ];
    let body = serde_json::to_vec(&short_plan(&server)).unwrap();
    let answer = client
        .send(Method::POST, "/api/v1/runs", &json, Some(body.into()))
        .await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}
