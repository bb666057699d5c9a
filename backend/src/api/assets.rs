//! The built page: files embedded in the binary, negotiated, cached, and kept to what the page needs.

use std::borrow::Cow;
use std::collections::HashMap;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

use super::problem::ApiError;

#[derive(RustEmbed)]
#[folder = "../dist"]
#[allow_missing = true]
struct Embedded;

/// What `/` says when the binary holds no page.
const NO_PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Roundtrip</title>\
    <h1>The page is not built into this binary</h1>\
    <p>Run <code>cargo xtask serve</code>: it builds the page and then the server with the page in it.</p>\
    <p>The API under <code>/api/v1/</code> works without it.</p>";

/// Files are cached for ever when their name changes with their content, else asked for each time.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const REVALIDATE: &str = "no-cache";

/// The page's files.
#[derive(Debug)]
pub struct Assets {
    files: HashMap<String, File>,
    /// The content security policy of the page.
    policy: HeaderValue,
}

#[derive(Debug)]
struct File {
    bytes: Bytes,
    etag: HeaderValue,
}

impl Assets {
    /// What was embedded when the binary was built.
    pub fn embedded() -> Self {
        Self::new(Embedded::iter().filter_map(|path| {
            let bytes = match Embedded::get(&path)?.data {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => bytes.into(),
            };
            Some((path.into_owned(), bytes))
        }))
    }

    /// These files, by their paths without a leading slash. Files whose name begins with a dot are left out.
    pub fn new(files: impl IntoIterator<Item = (String, Bytes)>) -> Self {
        let mut kept: HashMap<String, File> = files
            .into_iter()
            .filter(|(path, _)| !path.split('/').any(|part| part.starts_with('.')))
            .map(|(path, bytes)| (path, File::new(bytes)))
            .collect();
        kept.entry("index.html".into())
            .or_insert_with(|| File::new(Bytes::from_static(NO_PAGE.as_bytes())));
        let html = kept
            .get("index.html")
            .map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
        Self {
            policy: policy(&html.unwrap_or_default()),
            files: kept,
        }
    }

    /// The page itself.
    pub fn page(&self, status: StatusCode, asked: &HeaderMap) -> Response {
        let mut response = self.answer("index.html", asked);
        if response.status() == StatusCode::OK {
            *response.status_mut() = status;
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        // Cross-origin isolation gives the page a clock of 5 us instead of 100 us (Chrome). `credentialless` lets it
        // measure servers that know nothing of it.
        let isolation = [
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-embedder-policy", "credentialless"),
        ];
        for (name, value) in isolation {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// The file under `path` (without a leading slash), or a problem.
    pub fn file(&self, path: &str, asked: &HeaderMap) -> Response {
        let is_variant = matches!(path.rsplit('.').next(), Some("br" | "gz"));
        if path == "index.html" || is_variant || !self.files.contains_key(path) {
            return ApiError::NoSuchPath.into_response();
        }
        self.answer(path, asked)
    }

    fn answer(&self, path: &str, asked: &HeaderMap) -> Response {
        let variant = |coding: &'static str, suffix: &str| {
            let file = self.files.get(&format!("{path}{suffix}"))?;
            accepts(asked, coding).then_some((file, Some(coding)))
        };
        let Some((file, coding)) = variant("br", ".br")
            .or_else(|| variant("gzip", ".gz"))
            .or_else(|| Some((self.files.get(path)?, None)))
        else {
            return ApiError::NoSuchPath.into_response();
        };
        let known = asked.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let unchanged = known.zip(file.etag.to_str().ok()).is_some_and(|(tags, etag)| {
            tags.split(',')
                .any(|tag| tag.trim().trim_start_matches("W/") == etag)
        });
        let mut response = if unchanged {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            Response::new(Body::from(file.bytes.clone()))
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, file.etag.clone());
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        let caching = if is_named_by_content(path) {
            IMMUTABLE
        } else {
            REVALIDATE
        };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(path)));
        if let Some(coding) = coding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        response
    }
}

impl File {
    fn new(bytes: Bytes) -> Self {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(&bytes));
        let etag = HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""));
        Self { bytes, etag }
    }
}

/// What the page may do. It measures any origin, so it may connect anywhere; it loads code from here only.
fn policy(html: &str) -> HeaderValue {
    let scripts = inline_hashes(html, "script");
    let styles = inline_hashes(html, "style");
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'{scripts}; style-src 'self'{styles}; \
         img-src 'self' data: blob:; font-src 'self'; manifest-src 'self'; connect-src 'self' https: http:; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The sources ` 'sha256-...'` of the inline elements `tag` of a page of our own making.
fn inline_hashes(html: &str, tag: &str) -> String {
    let mut sources = String::new();
    for piece in html.split(&format!("<{tag}")).skip(1) {
        let Some((attributes, rest)) = piece.split_once('>') else {
            continue;
        };
        let Some((content, _)) = rest.split_once(&format!("</{tag}")) else {
            continue;
        };
        if !attributes.contains("src=") && !content.is_empty() {
            let hash = STANDARD.encode(Sha256::digest(content.as_bytes()));
            sources.extend([" 'sha256-", &hash, "'"]);
        }
    }
    sources
}

/// Whether `accept-encoding` allows `coding`, by name and not with `q=0`.
pub(crate) fn accepts(asked: &HeaderMap, coding: &str) -> bool {
    let fields = asked
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    fields.flat_map(|value| value.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding));
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        named
            && weight
                .and_then(|q| q.trim().parse::<f32>().ok())
                .is_none_or(|q| q > 0.0)
    })
}

/// Whether trunk named the file by its content: `name-0123456789abcdef.js`, `name-0123456789abcdef_bg.wasm`. The hash is 64
/// bits in hexadecimal without leading zeros.
fn is_named_by_content(path: &str) -> bool {
    path.split(['-', '_', '.'])
        .skip(1)
        .any(|part| (12..=16).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "<html><style>a{}</style><script src=\"x.js\"></script><script type=\"module\">go()</script>";

    fn assets() -> Assets {
        let files = [
            ("index.html", PAGE),
            ("app-0123456789abcdef.js", "plain"),
            ("app-0123456789abcdef.js.br", "brotli"),
            ("app-0123456789abcdef.js.gz", "gzip"),
            ("icon.svg", "<svg/>"),
            (".built", "stamp"),
        ];
        Assets::new(files.map(|(path, text)| (path.to_owned(), Bytes::from_static(text.as_bytes()))))
    }

    fn asking(name: http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn the_best_accepted_coding_is_sent() {
        for (accept, coding) in [
            ("gzip, deflate, br", Some("br")),
            ("gzip;q=1.0, br;q=0", Some("gzip")),
            ("identity", None),
        ] {
            let response = assets().file("app-0123456789abcdef.js", &asking(ACCEPT_ENCODING, accept));
            let sent = response
                .headers()
                .get(CONTENT_ENCODING)
                .map(|value| value.to_str().unwrap());
            assert_eq!(sent, coding, "{accept}");
            assert_eq!(response.headers()[VARY], "accept-encoding");
            assert_eq!(response.headers()[CACHE_CONTROL], IMMUTABLE);
            assert_eq!(response.headers()[CONTENT_TYPE], "text/javascript; charset=utf-8");
        }
    }

    #[test]
    fn an_unchanged_file_is_not_sent_again() {
        let first = assets().file("icon.svg", &HeaderMap::new());
        assert_eq!(first.headers()[CACHE_CONTROL], REVALIDATE);
        let etag = first.headers()[ETAG].to_str().unwrap().to_owned();
        let again = assets().file("icon.svg", &asking(IF_NONE_MATCH, &etag));
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }

    #[test]
    fn the_policy_knows_the_inline_script_and_nothing_else_inline() {
        let response = assets().page(StatusCode::OK, &HeaderMap::new());
        let policy = response.headers()[CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap()
            .to_owned();
        let script = STANDARD.encode(Sha256::digest(b"go()"));
        assert!(
            policy.contains(&format!("'wasm-unsafe-eval' 'sha256-{script}';")),
            "{policy}"
        );
        assert!(!policy.contains("unsafe-inline"));
    }

    #[test]
    fn missing_hidden_and_compressed_files_are_not_the_page() {
        for path in [
            "missing.js",
            ".built",
            "app-0123456789abcdef.js.br",
            "index.html.gz",
        ] {
            assert_eq!(
                assets().file(path, &HeaderMap::new()).status(),
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
    }

    #[test]
    fn without_a_page_it_is_said_how_to_get_one() {
        let response = Assets::new([]).page(StatusCode::OK, &HeaderMap::new());
        assert_eq!(response.status(), StatusCode::OK);
        assert!(NO_PAGE.contains("cargo xtask serve"));
    }
}
