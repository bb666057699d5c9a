//! What is to be measured: a plan, and the limits it must keep.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Protocol;

/// Whether a sample's connection is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Temperature {
    /// A new connection without any earlier state.
    Cold,
    /// The n-th request (n > 1) on one connection.
    Warm,
}

impl Temperature {
    /// The name in documents.
    pub fn id(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
        }
    }
}

/// Which IP version is dialled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// The first address in the order of RFC 6724 that can be dialled.
    #[default]
    Auto,
    /// IPv4 only.
    Ipv4,
    /// IPv6 only.
    Ipv6,
}

/// The request method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// GET.
    #[default]
    Get,
    /// HEAD: the response has no body.
    Head,
}

/// One URL and how it is to be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// An absolute `http://` or `https://` URL. A fragment is dropped.
    pub url: String,
    /// The request method.
    #[serde(default)]
    pub method: Method,
    /// The protocols to force, without repetition.
    #[serde(default = "all_protocols")]
    pub protocols: Vec<Protocol>,
    /// `cold`, `warm` or both, without repetition.
    #[serde(default = "cold_only")]
    pub temperatures: Vec<Temperature>,
    /// The IP version.
    #[serde(default)]
    pub family: Family,
    /// Blocks, each of which gives every protocol one connection: so many cold samples an arm gets.
    #[serde(default = "default_samples")]
    pub samples: u32,
    /// Uncounted connections per protocol before the first block.
    #[serde(default = "one")]
    pub warmup: u32,
    /// Further requests on each connection when `warm` is asked for: so many warm samples a block gives.
    #[serde(default = "three")]
    pub warm_requests: u32,
    /// The seed of the order inside blocks and of the bootstrap.
    #[serde(default = "one_u64")]
    pub seed: u64,
    /// Longest time for one exchange, in milliseconds.
    #[serde(default = "default_max_time")]
    pub max_time_ms: u64,
    /// Longest body to read, in bytes.
    #[serde(default = "default_max_body")]
    pub max_body_bytes: u64,
    /// The `accept-encoding` to send; `None` sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_encoding: Option<String>,
    /// Further request fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Go on when the certificate is not accepted, and say so.
    #[serde(default)]
    pub insecure: bool,
    /// Dial this IP address instead of asking DNS. Host name, SNI and certificate check stay those of the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolve: Option<String>,
    /// Requests the page makes for the browser side; 0 for none.
    #[serde(default)]
    pub browser_samples: u32,
}

fn all_protocols() -> Vec<Protocol> {
    Protocol::ALL.to_vec()
}
fn cold_only() -> Vec<Temperature> {
    vec![Temperature::Cold]
}
fn default_samples() -> u32 {
    Plan::DEFAULT_SAMPLES
}
fn one() -> u32 {
    1
}
fn one_u64() -> u64 {
    1
}
fn three() -> u32 {
    Plan::DEFAULT_WARM_REQUESTS
}
fn default_max_time() -> u64 {
    Plan::DEFAULT_MAX_TIME_MS
}
fn default_max_body() -> u64 {
    Plan::DEFAULT_MAX_BODY_BYTES
}

impl Plan {
    /// Samples when none are asked for.
    pub const DEFAULT_SAMPLES: u32 = 20;
    /// Most samples of a plan.
    pub const MAX_SAMPLES: u32 = 1000;
    /// Warm requests when none are asked for.
    pub const DEFAULT_WARM_REQUESTS: u32 = 3;
    /// Most warm requests on one connection.
    pub const MAX_WARM_REQUESTS: u32 = 50;
    /// Most exchanges of a run: protocols x blocks x requests on each connection.
    pub const MAX_EXCHANGES: u64 = 10_000;
    /// Most warm-up connections for each protocol.
    pub const MAX_WARMUP: u32 = 10;
    /// Most requests of the browser side.
    pub const MAX_BROWSER_SAMPLES: u32 = 200;
    /// Time for one exchange when none is given, in milliseconds.
    pub const DEFAULT_MAX_TIME_MS: u64 = 10_000;
    /// Longest time for one exchange that can be asked for, in milliseconds.
    pub const LONGEST_MAX_TIME_MS: u64 = 60_000;
    /// Longest body when none is given: 16 MiB.
    pub const DEFAULT_MAX_BODY_BYTES: u64 = 16 << 20;
    /// Longest body that can be asked for: 256 MiB.
    pub const LARGEST_MAX_BODY_BYTES: u64 = 256 << 20;
    /// Longest URL, in bytes.
    pub const MAX_URL_BYTES: usize = 4096;

    /// A plan for `url` with every other field at its default.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: Method::default(),
            protocols: all_protocols(),
            temperatures: cold_only(),
            family: Family::default(),
            samples: default_samples(),
            warmup: one(),
            warm_requests: three(),
            seed: one_u64(),
            max_time_ms: default_max_time(),
            max_body_bytes: default_max_body(),
            accept_encoding: None,
            headers: Vec::new(),
            insecure: false,
            resolve: None,
            browser_samples: 0,
        }
    }

    /// Whether warm samples are asked for.
    pub fn wants(&self, temperature: Temperature) -> bool {
        self.temperatures.contains(&temperature)
    }

    /// Requests on each connection: one, and the warm ones where asked for.
    pub fn requests_per_connection(&self) -> u32 {
        if self.wants(Temperature::Warm) {
            self.warm_requests.saturating_add(1)
        } else {
            1
        }
    }

    /// How many counted exchanges the probe makes.
    pub fn exchanges(&self) -> u64 {
        self.protocols.len() as u64 * u64::from(self.samples) * u64::from(self.requests_per_connection())
    }

    /// Checks every limit.
    ///
    /// # Errors
    /// The first field that is out of its limits, with what is allowed.
    pub fn validate(&self) -> Result<(), PlanError> {
        let fail = |field: &'static str, message: String| Err(PlanError { field, message });
        let authority = self
            .url
            .strip_prefix("https://")
            .or_else(|| self.url.strip_prefix("http://"));
        match authority {
            _ if self.url.len() > Self::MAX_URL_BYTES => {
                return fail("url", format!("longer than {} bytes", Self::MAX_URL_BYTES));
            }
            None => return fail("url", "must begin with http:// or https://".into()),
            Some(rest) if rest.is_empty() || rest.starts_with(['/', '?', '#']) => {
                return fail("url", "has no host name".into());
            }
            Some(_) => {}
        }
        if self.protocols.is_empty() || has_repetition(&self.protocols) {
            return fail("protocols", "choose at least one of h1, h2, h3, each once".into());
        }
        if self.temperatures.is_empty() || has_repetition(&self.temperatures) {
            return fail("temperatures", "choose cold, warm or both".into());
        }
        let in_range = |field, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(PlanError {
                    field,
                    message: format!("must be {low} to {high}"),
                })
            }
        };
        in_range("samples", self.samples.into(), 1, Self::MAX_SAMPLES.into())?;
        in_range("warmup", self.warmup.into(), 0, Self::MAX_WARMUP.into())?;
        in_range(
            "warm_requests",
            self.warm_requests.into(),
            1,
            Self::MAX_WARM_REQUESTS.into(),
        )?;
        in_range("max_time_ms", self.max_time_ms, 100, Self::LONGEST_MAX_TIME_MS)?;
        in_range(
            "max_body_bytes",
            self.max_body_bytes,
            0,
            Self::LARGEST_MAX_BODY_BYTES,
        )?;
        in_range(
            "browser_samples",
            self.browser_samples.into(),
            0,
            Self::MAX_BROWSER_SAMPLES.into(),
        )?;
        if self.exchanges() > Self::MAX_EXCHANGES {
            return fail(
                "samples",
                format!("more than {} exchanges in all", Self::MAX_EXCHANGES),
            );
        }
        if self.headers.len() > 32
            || self
                .headers
                .iter()
                .any(|(name, value)| name.len() + value.len() > 4096)
        {
            return fail("headers", "at most 32 fields of 4096 bytes each".into());
        }
        Ok(())
    }
}

fn has_repetition<T: PartialEq>(items: &[T]) -> bool {
    items
        .iter()
        .enumerate()
        .any(|(index, item)| items[..index].contains(item))
}

/// A plan that cannot be run: which field, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {message}")]
pub struct PlanError {
    /// The field of [`Plan`].
    pub field: &'static str,
    /// What is allowed.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_names_its_field() {
        type Break = fn(&mut Plan);
        let cases: [(&str, Break); 10] = [
            ("url", |p| p.url = "ftp://example.org".into()),
            ("url", |p| p.url = "https:///x".into()),
            ("protocols", |p| p.protocols.clear()),
            ("protocols", |p| p.protocols = vec![Protocol::H1, Protocol::H1]),
            ("temperatures", |p| p.temperatures.clear()),
            ("samples", |p| p.samples = 0),
            ("warmup", |p| p.warmup = 11),
            ("max_time_ms", |p| p.max_time_ms = 1),
            ("browser_samples", |p| p.browser_samples = 201),
            ("samples", |p| {
                p.samples = 1000;
                p.temperatures = vec![Temperature::Cold, Temperature::Warm];
                p.warm_requests = 10;
            }),
        ];
        assert_eq!(Plan::new("https://example.org/").validate(), Ok(()));
        for (field, break_it) in cases {
            let mut plan = Plan::new("https://example.org/");
            break_it(&mut plan);
            assert_eq!(plan.validate().unwrap_err().field, field);
        }
    }

    #[test]
    fn only_the_url_is_needed() {
        let plan: Plan = serde_json::from_str(r#"{"url":"https://example.org/"}"#).unwrap();
        assert_eq!(plan, Plan::new("https://example.org/"));
        assert!(serde_json::from_str::<Plan>(r#"{"url":"https://a/","sample":3}"#).is_err());
    }
}
