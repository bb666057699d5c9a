//! The target of a probe: URL and request fields, parsed once and valid from then on. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use rustls::pki_types::ServerName;
use shared::{Method, Plan, Protocol};
use url::{Host, Url};

use super::Fault;

/// What is asked for, in every form that a protocol needs.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    url: Url,
    /// Whether the scheme is `https`.
    pub(crate) tls: bool,
    /// The host as parsed: a name in ASCII, or an address.
    pub(crate) host: Host<String>,
    /// The port, explicit or the scheme's.
    pub(crate) port: u16,
    /// What the certificate must be for; sent as SNI if it is a name.
    pub(crate) server_name: ServerName<'static>,
    /// The request method.
    pub(crate) method: Method,
    absolute: Uri,
    origin_form: Uri,
    authority: HeaderValue,
    fields: HeaderMap,
}

/// Fields that belong to the connection, or that would contradict what is being measured.
const REFUSED_FIELDS: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-encoding",
];

impl Target {
    /// Parses the plan's URL and request fields.
    pub(crate) fn parse(plan: &Plan) -> Result<Self, Fault> {
        let fault = |message: String| Fault {
            field: "url",
            message,
        };
        let mut url = Url::parse(&plan.url).map_err(|error| fault(error.to_string()))?;
        url.set_fragment(None);
        let tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(fault("must begin with http:// or https://".into())),
        };
        let host = url
            .host()
            .map(|host| host.to_owned())
            .ok_or_else(|| fault("has no host name".into()))?;
        let port = url
            .port_or_known_default()
            .filter(|port| *port != 0)
            .ok_or_else(|| fault("has no usable port".into()))?;
        let server_name = match &host {
            Host::Domain(name) => ServerName::try_from(name.trim_end_matches('.').to_owned())
                .map_err(|_error| fault(format!("`{name}` is not a valid host name")))?,
            Host::Ipv4(address) => ServerName::from(std::net::IpAddr::from(*address)),
            Host::Ipv6(address) => ServerName::from(std::net::IpAddr::from(*address)),
        };

        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_string(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let uri = |text: &str| {
            text.parse::<Uri>()
                .map_err(|error| fault(format!("cannot be sent: {error}")))
        };
        Ok(Self {
            tls,
            port,
            server_name,
            method: plan.method,
            absolute: uri(&format!("{}://{authority}{path}", url.scheme()))?,
            origin_form: uri(&path)?,
            authority: HeaderValue::from_str(&authority).map_err(|error| fault(error.to_string()))?,
            fields: fields(plan, &url)?,
            host,
            url,
        })
    }

    /// The request for one protocol: HTTP/1.1 has the path and a Host field, the others the whole URI.
    pub(crate) fn request<B>(&self, protocol: Protocol, body: B) -> Request<B> {
        let mut request = Request::new(body);
        *request.method_mut() = match self.method {
            Method::Get => http::Method::GET,
            Method::Head => http::Method::HEAD,
        };
        if protocol == Protocol::H1 {
            *request.uri_mut() = self.origin_form.clone();
            request.headers_mut().insert(HOST, self.authority.clone());
        } else {
            *request.uri_mut() = self.absolute.clone();
        }
        request.headers_mut().extend(self.fields.clone());
        request
    }

    /// Where a `location` field points to.
    pub(crate) fn resolve(&self, location: &str) -> Option<String> {
        self.url.join(location).ok().map(String::from)
    }

    /// The name as TLS and QUIC want it: an IPv6 address without brackets.
    pub(crate) fn tls_name(&self) -> String {
        self.server_name.to_str().into_owned()
    }
}

fn fields(plan: &Plan, url: &Url) -> Result<HeaderMap, Fault> {
    let fault = |message: String| Fault {
        field: "headers",
        message,
    };
    let mut fields = HeaderMap::new();
    fields.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("roundtrip/", env!("CARGO_PKG_VERSION"))),
    );
    fields.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if let Some(encoding) = &plan.accept_encoding {
        let value = HeaderValue::from_str(encoding).map_err(|_error| Fault {
            field: "accept_encoding",
            message: "contains characters that a field cannot have".into(),
        })?;
        fields.insert(ACCEPT_ENCODING, value);
    }
    if !url.username().is_empty() || url.password().is_some() {
        let decode = |text: &str| percent_decode(text);
        let credentials = [
            decode(url.username()),
            b":".to_vec(),
            decode(url.password().unwrap_or_default()),
        ]
        .concat();
        let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(credentials)))
            .map_err(|error| fault(error.to_string()))?;
        value.set_sensitive(true);
        fields.insert(AUTHORIZATION, value);
    }

    let mut given = HeaderMap::new();
    for (name, value) in &plan.headers {
        let parsed = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|_error| fault(format!("`{name}` is not a field name")))?;
        if REFUSED_FIELDS.contains(&parsed.as_str()) {
            return Err(fault(format!(
                "`{parsed}` is set by the probe and cannot be given"
            )));
        }
        let value = HeaderValue::from_str(value.trim())
            .map_err(|_error| fault(format!("the value of `{parsed}` has characters it cannot have")))?;
        given.append(parsed, value);
    }
    // A field that is given replaces ours.
    for name in given.keys() {
        fields.remove(name);
    }
    fields.extend(given);
    Ok(fields)
}

/// Undoes percent-encoding; a stray `%` stays.
fn percent_decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let decoded = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::parse(&Plan::new(url)).unwrap()
    }

    #[test]
    fn http1_gets_the_path_and_the_others_the_whole_uri() {
        let target = target("https://example.org:8443/a?b=c#d");
        let h1 = target.request(Protocol::H1, ());
        assert_eq!(h1.uri(), "/a?b=c");
        assert_eq!(h1.headers()[HOST], "example.org:8443");
        let h2 = target.request(Protocol::H2, ());
        assert_eq!(h2.uri(), "https://example.org:8443/a?b=c");
        assert!(!h2.headers().contains_key(HOST));
    }

    #[test]
    fn names_and_addresses_become_what_tls_wants() {
        assert_eq!(
            target("https://bücher.example/").tls_name(),
            "xn--bcher-kva.example"
        );
        assert_eq!(target("https://[::1]:4433/").tls_name(), "::1");
        assert_eq!(
            target("https://0x7f.1/").host,
            Host::<String>::Ipv4(std::net::Ipv4Addr::LOCALHOST)
        );
    }

    #[test]
    fn fields_that_belong_to_the_connection_are_refused() {
        for (name, value) in [
            ("Host", "evil.example"),
            ("Transfer-Encoding", "chunked"),
            (":authority", "x"),
            ("x-a", "b\r\nx-c: d"),
            ("x a", "b"),
        ] {
            let mut plan = Plan::new("https://example.org/");
            plan.headers = vec![(name.into(), value.into())];
            assert_eq!(Target::parse(&plan).unwrap_err().field, "headers", "{name}");
        }
    }

    #[test]
    fn a_given_field_replaces_the_default_and_may_repeat() {
        let mut plan = Plan::new("https://a%20b:c@example.org/");
        plan.headers = vec![
            ("User-Agent".into(), "x".into()),
            ("cookie".into(), "a=1".into()),
            ("cookie".into(), "b=2".into()),
        ];
        let request = Target::parse(&plan).unwrap().request(Protocol::H2, ());
        assert_eq!(request.headers()[USER_AGENT], "x");
        assert_eq!(request.headers().get_all("cookie").iter().count(), 2);
        assert_eq!(
            request.headers()[AUTHORIZATION],
            format!("Basic {}", STANDARD.encode("a b:c")).as_str()
        );
        assert_eq!(request.uri(), "https://example.org/");
    }

    #[test]
    fn a_redirect_is_resolved_against_the_url() {
        let target = target("https://example.org/a/b");
        assert_eq!(target.resolve("../c").as_deref(), Some("https://example.org/c"));
        assert_eq!(
            target.resolve("https://other.example").as_deref(),
            Some("https://other.example/")
        );
    }
}
