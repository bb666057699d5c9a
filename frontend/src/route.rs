//! Which page an address means. Pure: the page's own four routes need no router.

/// What an address asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Ask for a URL and measure it.
    Home,
    /// A result stored under this id.
    Stored(String),
    /// A result inside the link: the fragment with its format version, without `#`.
    Fragment(String),
    /// Nothing is here.
    NotFound,
}

/// Longest id of a stored result that is asked for.
const MAX_ID_CHARS: usize = 64;

impl Route {
    /// From `location.pathname` and `location.hash`.
    pub(crate) fn from_location(path: &str, hash: &str) -> Self {
        match path.strip_prefix('/').unwrap_or(path).trim_end_matches('/') {
            "" | "index.html" => Self::Home,
            "r" => match hash.strip_prefix('#').filter(|fragment| !fragment.is_empty()) {
                Some(fragment) => Self::Fragment(fragment.to_owned()),
                None => Self::NotFound,
            },
            rest => match rest.strip_prefix("r/") {
                Some(id) if is_id(id) => Self::Stored(id.to_owned()),
                _ => Self::NotFound,
            },
        }
    }
}

/// Whether `id` can be the id of a stored result: base64url, so that it goes into an API path as it is.
fn is_id(id: &str) -> bool {
    (1..=MAX_ID_CHARS).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_page() {
        for (path, hash, route) in [
            ("/", "", Route::Home),
            ("/", "#result", Route::Home),
            ("/index.html", "", Route::Home),
            ("/r", "#1.abc", Route::Fragment("1.abc".into())),
            ("/r/", "#1.abc", Route::Fragment("1.abc".into())),
            ("/r", "", Route::NotFound),
            ("/r", "#", Route::NotFound),
            ("/r/aB-_9", "", Route::Stored("aB-_9".into())),
            ("/r/aB-_9/", "", Route::Stored("aB-_9".into())),
            ("/r/a/b", "", Route::NotFound),
            ("/r/../x", "", Route::NotFound),
            ("/elsewhere", "", Route::NotFound),
        ] {
            assert_eq!(Route::from_location(path, hash), route, "{path}{hash}");
        }
    }

    #[test]
    fn an_endless_id_is_not_asked_for() {
        assert_eq!(
            Route::from_location(&format!("/r/{}", "a".repeat(65)), ""),
            Route::NotFound
        );
    }
}
