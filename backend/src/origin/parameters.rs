//! What `/t` is asked for: the parameters of its query, each bounded.

use std::time::Duration;

use http::header::HeaderValue;
use http::{StatusCode, Uri};
use thiserror::Error;
use url::form_urlencoded;

/// Longest delay before the header section, and longest stall within the body.
const LONGEST_DELAY: Duration = Duration::from_secs(10);
/// Longest body, in bytes.
pub(super) const MOST_BYTES: u64 = 64_000_000;
/// Longest body that is compressed, in bytes: it is compressed as a whole before anything is sent.
pub(super) const MOST_CODED_BYTES: u64 = 8_000_000;
/// Longest `server-timing`.
const MOST_TIMING_BYTES: usize = 1024;

/// What the body consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Content {
    /// Words, which compress to a third or less.
    Text,
    /// Random bytes, which do not compress.
    Random,
}

/// How the body is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Coding {
    /// Not at all.
    Identity,
    /// gzip, whether asked for or not.
    Gzip,
    /// Brotli, whether asked for or not.
    Brotli,
    /// The best of `accept-encoding`.
    Negotiated,
}

/// A request of `/t`, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameters {
    /// Time between the request and the header section.
    pub(super) delay: Duration,
    /// Time the body stalls in its middle.
    pub(super) body_delay: Duration,
    /// Length of the body before coding.
    pub(super) bytes: u64,
    /// What the body consists of.
    pub(super) content: Content,
    /// How it is coded.
    pub(super) coding: Coding,
    /// What is sent as `server-timing` before our own metrics.
    pub(super) server_timing: Option<HeaderValue>,
    /// The status.
    pub(super) status: StatusCode,
    /// What is sent as `location`: a path of this origin.
    pub(super) location: Option<HeaderValue>,
}

/// A parameter that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}: {allowed}")]
pub(super) struct ParameterError {
    /// Its name.
    pub(super) name: String,
    /// What is allowed.
    pub(super) allowed: &'static str,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            body_delay: Duration::ZERO,
            bytes: 1000,
            content: Content::Text,
            coding: Coding::Identity,
            server_timing: None,
            status: StatusCode::OK,
            location: None,
        }
    }
}

impl Parameters {
    /// Reads a query. `roundtrip`, and a parameter whose name begins with `_`, are ignored: they make a URL unique.
    ///
    /// # Errors
    /// The first parameter that is not understood.
    pub(super) fn parse(query: &str) -> Result<Self, ParameterError> {
        let mut parameters = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if name != "roundtrip" && !name.starts_with('_') {
                parameters.set(&name, &value).map_err(|allowed| ParameterError {
                    name: name.into_owned(),
                    allowed,
                })?;
            }
        }
        if parameters.coding != Coding::Identity && parameters.bytes > MOST_CODED_BYTES {
            return Err(ParameterError {
                name: "bytes".into(),
                allowed: "at most 8m together with an encoding",
            });
        }
        Ok(parameters)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        const DELAY: &str = "a time up to 10s, such as 25ms or 1.5s";
        match name {
            "delay" => self.delay = duration(value).ok_or(DELAY)?,
            "body-delay" => self.body_delay = duration(value).ok_or(DELAY)?,
            "bytes" => self.bytes = size(value).ok_or("a size up to 64m, such as 500, 100k or 2m")?,
            "content" => {
                self.content = match value {
                    "text" => Content::Text,
                    "random" => Content::Random,
                    _ => return Err("text or random"),
                }
            }
            "encoding" => {
                self.coding = match value {
                    "identity" => Coding::Identity,
                    "gzip" => Coding::Gzip,
                    "br" => Coding::Brotli,
                    "auto" => Coding::Negotiated,
                    _ => return Err("identity, gzip, br, or auto for the best that the client accepts"),
                }
            }
            "server-timing" => {
                let short = Some(value).filter(|value| value.len() <= MOST_TIMING_BYTES);
                let sent = short.and_then(|value| HeaderValue::from_str(value).ok());
                self.server_timing = Some(sent.ok_or("a Server-Timing value of at most 1024 bytes")?);
            }
            "status" => {
                let status = value.parse().ok().filter(|status| (200..=599).contains(status));
                let status = status.and_then(|status| StatusCode::from_u16(status).ok());
                self.status = status.ok_or("a status from 200 to 599")?;
            }
            "location" => {
                let path = Some(value).filter(|value| value.starts_with('/') && !value.starts_with("//"));
                // A path and query as HTTP knows them; a backslash would be a slash to a browser.
                let path = path.filter(|value| !value.contains('\\') && value.parse::<Uri>().is_ok());
                let sent = path.and_then(|value| HeaderValue::from_str(value).ok());
                self.location = Some(sent.ok_or("a path of this origin, such as /t")?);
            }
            _ => {
                return Err(
                    "no such parameter; there are delay, body-delay, bytes, content, encoding, \
                            server-timing, status, location",
                );
            }
        }
        Ok(())
    }
}

/// `25ms`, `1.5s`, or a bare number of milliseconds.
fn duration(text: &str) -> Option<Duration> {
    let (number, seconds) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => text
            .strip_suffix('s')
            .map_or((text, 1e-3), |number| (number, 1.0)),
    };
    let value = decimal(number)? * seconds;
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|time| *time <= LONGEST_DELAY)
}

/// Digits with at most one point: no sign, no exponent, no infinity.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { text.parse().ok() } else { None }
}

/// `500`, `100k` or `2m`, in powers of 1000, as sizes are shown.
fn size(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = match lower.strip_suffix('k') {
        Some(number) => (number, 1000),
        None => lower
            .strip_suffix('m')
            .map_or((lower.as_str(), 1), |number| (number, 1_000_000)),
    };
    let value = number.parse::<u64>().ok()?.checked_mul(unit)?;
    Some(value).filter(|bytes| *bytes <= MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_understood() {
        let query = "delay=25ms&body-delay=1.5s&bytes=100k&content=random&encoding=br&server-timing=db;dur=3&\
                     status=302&location=/t%3Fx&_=7&roundtrip=1-2";
        let expected = Parameters {
            delay: Duration::from_millis(25),
            body_delay: Duration::from_millis(1500),
            bytes: 100_000,
            content: Content::Random,
            coding: Coding::Brotli,
            server_timing: Some(HeaderValue::from_static("db;dur=3")),
            status: StatusCode::FOUND,
            location: Some(HeaderValue::from_static("/t?x")),
        };
        assert_eq!(Parameters::parse(query), Ok(expected));
        assert_eq!(Parameters::parse(""), Ok(Parameters::default()));
        assert_eq!(
            Parameters::parse("delay=40").unwrap().delay,
            Duration::from_millis(40)
        );
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        for (query, name) in [
            ("delay=10.001s", "delay"),
            ("delay=-1ms", "delay"),
            ("delay=1e3", "delay"),
            ("delay=inf", "delay"),
            ("delay=", "delay"),
            ("body-delay=11s", "body-delay"),
            ("bytes=65m", "bytes"),
            ("bytes=18446744073709551615m", "bytes"),
            ("bytes=9m&encoding=gzip", "bytes"),
            ("encoding=zstd", "encoding"),
            ("server-timing=a%0d%0ab", "server-timing"),
            ("status=103", "status"),
            ("location=//evil.example", "location"),
            ("location=/%5Cevil.example", "location"),
            ("location=https://evil.example", "location"),
            ("dealy=25ms", "dealy"),
        ] {
            assert_eq!(Parameters::parse(query).unwrap_err().name, name, "{query}");
        }
    }
}
