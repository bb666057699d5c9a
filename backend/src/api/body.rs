//! Request bodies: JSON, bounded in size and time, with the path of the field that is wrong.

use std::time::Duration;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::problem::ApiError;

/// Longest time a body may take.
const TIME: Duration = Duration::from_secs(30);

/// The body of `request`, to be called before anything else can fail: an answer to a request whose body was not read comes
/// with a reset over HTTP/2, which clients may take for a failure of the connection.
pub(super) async fn bytes(request: Request<Body>, limit: usize) -> Result<Vec<u8>, ApiError> {
    let is_json = is_json(request.headers());
    let reading = Limited::new(request.into_body(), limit).collect();
    match tokio::time::timeout(TIME, reading).await {
        Ok(Ok(_)) if !is_json => Err(ApiError::NotJson),
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ApiError::TooLong(limit)),
        Ok(Err(_)) | Err(_) => Err(ApiError::BodyUnread),
    }
}

/// What a body says.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        ApiError::Malformed {
            // A path of "." is the whole document, and a place where the JSON itself breaks off is no field.
            field: (error.is_data() && path != ".").then_some(path),
            detail: error.to_string(),
        }
    })?;
    json.end().map_err(|error| ApiError::Malformed {
        field: None,
        detail: error.to_string(),
    })?;
    Ok(value)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}
