//! Every error of the API as a problem document (RFC 9457), mapped in one place.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::run::RegistryError;
use crate::store::{ResultsError, StoreError};

/// What a client is told when nothing is stored under an id: in the same words whether it never was, was deleted or has
/// expired.
const NO_RESULT: &str = "There is no result under this address. It may have been deleted or have expired.";

/// Why a request was not carried out.
#[derive(Debug)]
pub enum ApiError {
    /// The body is not JSON of the expected form.
    Malformed {
        /// The path of the field at fault, where known.
        field: Option<String>,
        /// What is wrong with it.
        detail: String,
    },
    /// A field or parameter has a value that is not allowed.
    Invalid {
        /// The field.
        field: String,
        /// What is allowed.
        detail: String,
    },
    /// The body is not declared as JSON.
    NotJson,
    /// The body is longer than allowed, in bytes.
    TooLong(usize),
    /// The body did not come in time, or the connection broke.
    BodyUnread,
    /// The `Host` is none that this server answers to.
    WrongHost,
    /// The request was made by a page of another origin.
    WrongOrigin,
    /// No `Authorization: Bearer` with a token.
    NoToken,
    /// No such path.
    NoSuchPath,
    /// Not with this method.
    WrongMethod,
    /// This server stores nothing.
    NoStore,
    /// From the runs.
    Run(RegistryError),
    /// From the stored results.
    Result(ResultsError),
    /// The work was cut off by the end of the process.
    Interrupted,
}

/// A problem document. `type` is `about:blank`: the status says what kind it is.
#[derive(Debug, Serialize)]
pub struct Problem {
    /// The status code again.
    pub status: u16,
    /// What the status means.
    pub title: &'static str,
    /// What went wrong this time.
    pub detail: String,
    /// The field or parameter at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Problem {
    /// A problem of `status`.
    pub fn new(status: StatusCode, detail: impl Into<String>, field: Option<String>) -> Self {
        Self {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or("Error"),
            detail: detail.into(),
            field,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        use StatusCode as S;
        let plain = |status: S, detail: &str| Self::new(status, detail, None);
        match error {
            ApiError::Malformed { field, detail } => Self::new(S::BAD_REQUEST, detail, field),
            ApiError::Invalid { field, detail } => Self::new(S::UNPROCESSABLE_ENTITY, detail, Some(field)),
            ApiError::NotJson => plain(S::UNSUPPORTED_MEDIA_TYPE, "The body must be application/json."),
            ApiError::TooLong(limit) => Self::new(
                S::PAYLOAD_TOO_LARGE,
                format!("The body is longer than {limit} bytes."),
                None,
            ),
            ApiError::BodyUnread => plain(S::REQUEST_TIMEOUT, "The body did not come in time."),
            ApiError::WrongHost => plain(
                S::MISDIRECTED_REQUEST,
                "This server does not answer to this host name. If it should, start it with --allow-host NAME.",
            ),
            ApiError::WrongOrigin => plain(S::FORBIDDEN, "Pages of other origins may not use this server."),
            ApiError::NoToken => plain(
                S::UNAUTHORIZED,
                "Send the delete token as Authorization: Bearer TOKEN.",
            ),
            ApiError::NoSuchPath => plain(S::NOT_FOUND, "There is nothing under this path."),
            ApiError::WrongMethod => plain(S::METHOD_NOT_ALLOWED, "This path does not allow this method."),
            ApiError::NoStore => plain(
                S::NOT_FOUND,
                "This server stores no results. A link that holds the whole result needs no server.",
            ),
            ApiError::Run(RegistryError::Absent) => plain(
                S::NOT_FOUND,
                "There is no run under this address. Only the latest runs are remembered.",
            ),
            ApiError::Run(error @ RegistryError::QueueFull(_)) => {
                Self::new(S::SERVICE_UNAVAILABLE, format!("Try again later: {error}."), None)
            }
            ApiError::Run(error @ RegistryError::ClientFull(_)) => {
                Self::new(S::TOO_MANY_REQUESTS, format!("Try again later: {error}."), None)
            }
            ApiError::Run(RegistryError::NoResult) => plain(
                S::CONFLICT,
                "The run has no result to add to: it is not over, or it ended without one.",
            ),
            ApiError::Run(RegistryError::Closed) => plain(S::SERVICE_UNAVAILABLE, "The server is ending."),
            ApiError::Result(ResultsError::Absent) => plain(S::NOT_FOUND, NO_RESULT),
            ApiError::Result(ResultsError::WrongToken) => {
                plain(S::FORBIDDEN, "The token does not belong to this result.")
            }
            ApiError::Result(error @ ResultsError::Expiry) => Self::new(
                S::UNPROCESSABLE_ENTITY,
                error.to_string(),
                Some("expires_days".into()),
            ),
            ApiError::Result(error @ ResultsError::TooLarge { .. }) => {
                Self::new(S::PAYLOAD_TOO_LARGE, error.to_string(), None)
            }
            ApiError::Result(ResultsError::Store(StoreError::Full)) => plain(
                S::INSUFFICIENT_STORAGE,
                "The store is full. Share with a link that holds the result instead.",
            ),
            ApiError::Run(RegistryError::System(_)) | ApiError::Result(_) | ApiError::Interrupted => {
                tracing::error!(?error, "a request failed");
                plain(S::INTERNAL_SERVER_ERROR, "The server failed. Its log says more.")
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> Self {
        Self::Run(error)
    }
}

impl From<ResultsError> for ApiError {
    fn from(error: ResultsError) -> Self {
        Self::Result(error)
    }
}
