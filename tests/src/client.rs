//! A plain HTTP client of the API, and a reader of its events.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::{Document, Plan, RunAccepted, RunEvent};
use tokio::net::TcpStream;

/// Asks one server.
#[derive(Clone, Debug)]
pub struct Client {
    authority: String,
}

/// What the server answered.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: StatusCode,
    /// Header section.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as what it must be.
    ///
    /// # Panics
    /// When it is something else.
    pub fn read<T: DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {} {}", self.status, self.text()))
    }

    /// A header field as text; empty when absent.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }

    /// The problem document (RFC 9457) that it must be.
    ///
    /// # Panics
    /// When it is none.
    pub fn problem(&self) -> Value {
        assert_eq!(
            self.header("content-type"),
            "application/problem+json",
            "{} {}",
            self.status,
            self.text()
        );
        let problem: Value = self.read();
        assert_eq!(problem["status"], self.status.as_u16());
        assert!(problem["title"].is_string() && problem["detail"].is_string());
        problem
    }
}

impl Client {
    /// A client of `http://host:port`.
    pub fn new(base: &str) -> Self {
        Self {
            authority: base
                .trim_start_matches("http://")
                .trim_end_matches('/')
                .to_owned(),
        }
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None).await
    }

    /// Sends a value as JSON.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn send_json(&self, method: Method, path: &str, value: &impl Serialize) -> Answer {
        let body = serde_json::to_vec(value).expect("JSON");
        self.send(
            method,
            path,
            &[("content-type", "application/json")],
            Some(body.into()),
        )
        .await
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Panics
    /// When the server does not answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Bytes>,
    ) -> Answer {
        let (parts, incoming) = self.open(method, path, headers, body).await;
        let body = incoming.collect().await.expect("a whole body").to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }

    async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Bytes>,
    ) -> (http::response::Parts, Incoming) {
        let stream = TcpStream::connect(&self.authority).await.expect("it listens");
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .expect("a connection");
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", &self.authority);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(body.unwrap_or_default()))
            .expect("a valid request");
        let response = sender.send_request(request).await.expect("an answer");
        response.into_parts()
    }

    /// Starts a run.
    ///
    /// # Panics
    /// When it is not accepted.
    pub async fn start(&self, plan: &Plan) -> String {
        let answer = self.send_json(Method::POST, "/api/v1/runs", plan).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text());
        answer.read::<RunAccepted>().id
    }

    /// Follows the events of a run.
    ///
    /// # Panics
    /// When there is no such run.
    pub async fn events(&self, run: &str) -> Events {
        let path = format!("/api/v1/runs/{run}/events");
        let (parts, body) = self.open(Method::GET, &path, &[], None).await;
        assert_eq!(parts.status, StatusCode::OK);
        let kind = parts.headers.get("content-type");
        assert!(kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")));
        Events {
            body,
            pending: BytesMut::new(),
        }
    }

    /// Carries out a plan and gives its document.
    ///
    /// # Panics
    /// When it does not finish.
    pub async fn finish(&self, plan: &Plan) -> Document {
        let run = self.start(plan).await;
        let events = self.events(&run).await.rest().await;
        match events.into_iter().last() {
            Some((_, RunEvent::Finished { document })) => *document,
            other => panic!("the run ended with {other:?}"),
        }
    }
}

/// Server-sent events of a run.
pub struct Events {
    body: Incoming,
    pending: BytesMut,
}

impl Events {
    /// The next event with its id; `None` at the end.
    ///
    /// # Panics
    /// When an event is not a run's.
    pub async fn next(&mut self) -> Option<(u64, RunEvent)> {
        loop {
            if let Some(end) = self.pending.windows(2).position(|pair| pair == b"\n\n") {
                let block = self.pending.split_to(end + 2);
                let block = String::from_utf8_lossy(&block).into_owned();
                let field = |name: &str| {
                    block
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .map(|value| value.trim().to_owned())
                };
                // A block without data is a comment that keeps the connection open.
                let Some(data) = field("data:") else {
                    continue;
                };
                let id = field("id:").and_then(|id| id.parse().ok()).expect("an id");
                let event = serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error} in {data}"));
                return Some((id, event));
            }
            let frame = self.body.frame().await?.expect("a frame");
            if let Some(data) = frame.data_ref() {
                self.pending.extend_from_slice(data);
            }
        }
    }

    /// All further events to the end.
    pub async fn rest(mut self) -> Vec<(u64, RunEvent)> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}
