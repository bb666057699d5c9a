//! The parts of an absolute URL, cut apart without being changed.

/// An absolute `http` or `https` URL (RFC 3986, section 3) in its parts.
pub(super) struct Target<'a> {
    scheme: &'a str,
    /// Before `@`.
    pub(super) userinfo: Option<&'a str>,
    /// As written; an IPv6 address in brackets.
    pub(super) host: &'a str,
    port: Option<&'a str>,
    path: &'a str,
    /// After `?`, without it.
    pub(super) query: Option<&'a str>,
    /// After `#`, without it.
    pub(super) fragment: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Cuts `url` apart; `None` when it is not such a URL or has no host.
    pub(super) fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let (rest, fragment) = cut(rest, '#');
        let (rest, query) = cut(rest, '?');
        // Browsers read a backslash as a slash.
        let path_at = rest.find(['/', '\\']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path_at);
        let (userinfo, host_and_port) = match authority.rsplit_once('@') {
            Some((userinfo, rest)) => (Some(userinfo), rest),
            None => (None, authority),
        };
        let port_at = match host_and_port.rfind(']') {
            Some(bracket) => host_and_port[bracket..].find(':').map(|at| bracket + at),
            None => host_and_port.find(':'),
        };
        let (host, port) = match port_at {
            Some(at) => (&host_and_port[..at], Some(&host_and_port[at + 1..])),
            None => (host_and_port, None),
        };
        (!host.is_empty()).then_some(Self {
            scheme,
            userinfo,
            host,
            port,
            path,
            query,
            fragment,
        })
    }

    /// The URL put together again with another host.
    pub(super) fn with_host(&self, host: &str) -> String {
        let mut url = [self.scheme, "://"].concat();
        let mut push = |before: &str, part: Option<&str>, after: &str| {
            if let Some(part) = part {
                url.push_str(before);
                url.push_str(part);
                url.push_str(after);
            }
        };
        push("", self.userinfo, "@");
        push("", Some(host), "");
        push(":", self.port, "");
        push("", Some(self.path), "");
        push("?", self.query, "");
        push("#", self.fragment, "");
        url
    }
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_put_together_again_is_the_same() {
        for url in [
            "https://example.org",
            "https://example.org/",
            "http://u:p@ss@[2001:db8::1]:8443/a/b;c?d=e?f#g#h",
            "HTTPS://example.org?x",
            "https://example.org#/x@y",
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!(target.with_host(target.host), url);
        }
    }

    #[test]
    fn the_parts_are_where_the_standard_has_them() {
        let target = Target::parse("https://u:p@ss@[2001:db8::1]:8443/a@b?d=e#g").unwrap();
        assert_eq!(target.userinfo, Some("u:p@ss"));
        assert_eq!((target.host, target.port), ("[2001:db8::1]", Some("8443")));
        assert_eq!(
            (target.path, target.query, target.fragment),
            ("/a@b", Some("d=e"), Some("g"))
        );
        for bad in [
            "",
            "example.org",
            "ftp://example.org",
            "https://",
            "https:///x",
            "https://u@/x",
        ] {
            assert!(Target::parse(bad).is_none(), "{bad}");
        }
    }
}
