//! Typed calls to the API; the types are the model's.

use shared::{
    BrowserReport, Document, Plan, RunAccepted, ServerConfig, StoredResult,
    wire::{self, ReadJson},
    wire_renamed,
};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Headers, RequestInit, Response};

use crate::state::FieldError;

/// A problem document (RFC 9457), as far as the page shows it.
#[derive(Default)]
struct Problem {
    title: Option<String>,
    detail: Option<String>,
    field: Option<String>,
}

wire_renamed!(Problem { title = "title", detail = "detail", field = "field" });

/// `GET /api/v1/config`.
///
/// # Errors
/// In words, when the server cannot be asked or refuses.
pub(crate) async fn config() -> Result<ServerConfig, FieldError> {
    parse(&call("GET", "config", None, None).await?)
}

/// `POST /api/v1/runs`: starts a run.
///
/// # Errors
/// In words, with the field of the plan that is at fault, if one is.
pub(crate) async fn start(plan: &Plan) -> Result<RunAccepted, FieldError> {
    parse(&call("POST", "runs", Some(wire::to_text(plan)), None).await?)
}

/// `DELETE /api/v1/runs/{id}`: cancels a run.
///
/// # Errors
/// In words.
pub(crate) async fn cancel(id: &str) -> Result<(), FieldError> {
    call("DELETE", &["runs/", id].concat(), None, None)
        .await
        .map(drop)
}

/// `PUT /api/v1/runs/{id}/browser`: adds the browser side; answers with the result of both.
///
/// # Errors
/// In words.
pub(crate) async fn add_browser(id: &str, report: &BrowserReport) -> Result<Document, FieldError> {
    let path = ["runs/", id, "/browser"].concat();
    parse(&call("PUT", &path, Some(wire::to_text(report)), None).await?)
}

/// `POST /api/v1/results`: stores a result for so many days.
///
/// # Errors
/// In words.
pub(crate) async fn store(document: &Document, days: u32) -> Result<StoredResult, FieldError> {
    let path = ["results?expires_days=", &days.to_string()].concat();
    parse(&call("POST", &path, Some(wire::to_text(document)), None).await?)
}

/// `GET /api/v1/results/{id}`, as it came: what is opened is checked by the caller.
///
/// # Errors
/// In words.
pub(crate) async fn stored(id: &str) -> Result<String, FieldError> {
    call("GET", &["results/", id].concat(), None, None).await
}

/// `DELETE /api/v1/results/{id}` with the token that was shown when it was stored.
///
/// # Errors
/// In words.
pub(crate) async fn delete(id: &str, token: &str) -> Result<(), FieldError> {
    call("DELETE", &["results/", id].concat(), None, Some(token))
        .await
        .map(drop)
}

async fn call(
    method: &str,
    path: &str,
    body: Option<String>,
    token: Option<&str>,
) -> Result<String, FieldError> {
    let unreachable = |_: JsValue| FieldError {
        field: String::new(),
        message: "The Roundtrip server does not answer. Is it still running?".into(),
    };
    let headers = Headers::new().map_err(unreachable)?;
    if body.is_some() {
        headers
            .set("content-type", "application/json")
            .map_err(unreachable)?;
    }
    if let Some(token) = token {
        headers
            .set("authorization", &["Bearer ", token].concat())
            .map_err(unreachable)?;
    }
    let init = RequestInit::new();
    init.set_method(method);
    init.set_headers(&headers);
    if let Some(body) = body {
        init.set_body(&JsValue::from_str(&body));
    }
    let window = gloo::utils::window();
    let url = ["/api/v1/", path].concat();
    let response: Response = JsFuture::from(window.fetch_with_str_and_init(&url, &init))
        .await
        .and_then(JsCast::dyn_into)
        .map_err(unreachable)?;
    let text = JsFuture::from(response.text().map_err(unreachable)?)
        .await
        .map_err(unreachable)?
        .as_string()
        .unwrap_or_default();
    if response.ok() {
        Ok(text)
    } else {
        Err(problem(response.status(), &text))
    }
}

/// The error in words that a problem document, or whatever came instead, means.
fn problem(status: u16, body: &str) -> FieldError {
    let problem: Problem = wire::from_text(body).unwrap_or_default();
    let message = problem
        .detail
        .or(problem.title)
        .unwrap_or_else(|| ["The server answered with status ", &status.to_string(), "."].concat());
    FieldError {
        field: problem.field.unwrap_or_default(),
        message,
    }
}

fn parse<T: ReadJson>(text: &str) -> Result<T, FieldError> {
    wire::from_text(text).map_err(|error| FieldError {
        field: String::new(),
        message: ["The server's answer was not understood: ", &error.to_string()].concat(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_document_keeps_its_field() {
        let error = problem(
            422,
            r#"{"type":"about:blank","title":"Plan","status":422,"detail":"must be 1 to 9","field":"samples"}"#,
        );
        assert_eq!(
            (error.field.as_str(), error.message.as_str()),
            ("samples", "must be 1 to 9")
        );
    }

    #[test]
    fn an_answer_that_is_no_problem_document_is_still_an_error_in_words() {
        assert_eq!(
            problem(502, "<html>").message,
            "The server answered with status 502."
        );
    }
}
