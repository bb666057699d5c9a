//! Who may ask: keeps pages of other origins, and names that were rebound to this address, from using the API.
//!
//! A server on loopback has no password, because only this machine can reach it. A page from elsewhere can, through the
//! visitor's browser: by a request to `localhost` (its `Origin` tells), or by a name of its own whose DNS answer it
//! changes to 127.0.0.1 (its `Host` tells).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Method, Request, Uri};

use super::App;
use super::problem::ApiError;

/// The host names a server answers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// Any: the server listens on more than loopback, and DNS rebinding gives nobody more than they have.
    #[default]
    Any,
    /// Those of this machine, and these.
    Local(Vec<String>),
}

/// Refuses a request before anything is done for it.
pub(super) async fn guard(State(app): State<Arc<App>>, request: Request<Body>, next: Next) -> Response {
    match check(&app.hosts, request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn check(hosts: &Hosts, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(authority) = authority(uri, headers) else {
        return Err(ApiError::WrongHost);
    };
    if let Hosts::Local(more) = hosts {
        let name = host_of(authority);
        if !is_local(name) && !more.iter().any(|host| host.eq_ignore_ascii_case(name)) {
            return Err(ApiError::WrongHost);
        }
    }
    if method.is_safe() {
        return Ok(());
    }
    if headers
        .get("sec-fetch-site")
        .is_some_and(|site| site == "cross-site")
    {
        return Err(ApiError::WrongOrigin);
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    match origin {
        Some((_, of_page)) if of_page.eq_ignore_ascii_case(authority) => Ok(()),
        // Another port of this machine: the page's development server, or the test origin. A stranger's page there still
        // meets the preflight, which this API never answers.
        Some((_, of_page)) if matches!(hosts, Hosts::Local(_)) && is_local(host_of(of_page)) => Ok(()),
        _ => Err(ApiError::WrongOrigin),
    }
}

/// Whether a request that came over loopback was made on this machine: a reverse proxy passes on the name it is reached by,
/// or says for whom it asks.
pub(super) fn is_direct(uri: &Uri, headers: &HeaderMap) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "via"];
    let local = authority(uri, headers).is_some_and(|authority| is_local(host_of(authority)));
    local && !forwarded.iter().any(|name| headers.contains_key(*name))
}

/// HTTP/2 and HTTP/3 have the authority in the URI, HTTP/1.1 in a field.
fn authority<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let field = || headers.get(HOST)?.to_str().ok();
    uri.authority().map(http::uri::Authority::as_str).or_else(field)
}

/// The host of `host:port`, brackets included.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn is_local(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost") || host == "127.0.0.1" || host == "[::1]"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(hosts: &Hosts, method: Method, fields: &[(&'static str, &str)]) -> &'static str {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, value.parse().unwrap());
        }
        match check(hosts, &method, &Uri::from_static("/api/v1/runs"), &headers) {
            Ok(()) => "ok",
            Err(ApiError::WrongHost) => "host",
            Err(_) => "origin",
        }
    }

    #[test]
    fn names_rebound_to_loopback_are_refused() {
        let local = Hosts::Local(vec!["roundtrip.example".into()]);
        for host in [
            "localhost:8080",
            "127.0.0.1",
            "[::1]:8080",
            "a.localhost:1",
            "LOCALHOST",
            "Roundtrip.example:80",
        ] {
            assert_eq!(verdict(&local, Method::GET, &[("host", host)]), "ok", "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:8080",
            "127.0.0.1.evil.example",
            "",
            "[::2]",
        ] {
            assert_eq!(verdict(&local, Method::GET, &[("host", host)]), "host", "{host}");
        }
        assert_eq!(verdict(&local, Method::GET, &[]), "host");
        assert_eq!(verdict(&Hosts::Any, Method::GET, &[("host", "a.example")]), "ok");
    }

    #[test]
    fn what_a_reverse_proxy_passes_on_is_not_of_this_machine() {
        let direct = |fields: &[(&'static str, &str)]| {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            is_direct(&Uri::from_static("/"), &fields.collect::<HeaderMap>())
        };
        assert!(direct(&[("host", "localhost:8080")]));
        assert!(!direct(&[("host", "rt.example")]));
        assert!(!direct(&[
            ("host", "localhost:8080"),
            ("x-forwarded-for", "192.0.2.1")
        ]));
    }

    #[test]
    fn pages_of_other_origins_change_nothing() {
        let local = Hosts::Local(Vec::new());
        let post =
            |hosts: &Hosts, host, origin| verdict(hosts, Method::POST, &[("host", host), ("origin", origin)]);
        assert_eq!(post(&local, "localhost:8080", "http://localhost:8080"), "ok");
        assert_eq!(post(&local, "127.0.0.1:8080", "http://localhost:3000"), "ok");
        assert_eq!(post(&local, "localhost:8080", "https://evil.example"), "origin");
        assert_eq!(post(&local, "localhost:8080", "null"), "origin");
        assert_eq!(post(&Hosts::Any, "rt.example", "https://rt.example"), "ok");
        assert_eq!(post(&Hosts::Any, "rt.example", "https://localhost"), "origin");
        let cross_site = [("host", "localhost"), ("sec-fetch-site", "cross-site")];
        assert_eq!(verdict(&local, Method::DELETE, &cross_site), "origin");
        assert_eq!(
            verdict(&local, Method::GET, &cross_site),
            "ok",
            "a link may lead here"
        );
    }
}
