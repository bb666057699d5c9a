//! The Alt-Svc field (RFC 7838, section 3): where else an origin can be reached, over which protocol.

use super::field::{Rejected, is_token, split, trim, unquote};

/// How long an alternative is fresh when it does not say: 24 hours (section 3.1).
pub const DEFAULT_MAX_AGE_S: u64 = 86_400;

/// An Alt-Svc field value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AltSvc {
    /// The value is `clear`: all alternatives of the origin are to be forgotten.
    pub clear: bool,
    /// The alternatives in the server's order of preference.
    pub alternatives: Vec<Alternative>,
    /// What could not be read.
    pub rejected: Vec<Rejected>,
}

/// One alternative service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The ALPN protocol id, percent-encoding undone: `h3`.
    pub protocol: String,
    /// The host as in a URL (IPv6 in brackets); empty for the origin's own.
    pub host: String,
    /// The port.
    pub port: u16,
    /// `ma`: seconds for which it is fresh.
    pub max_age_s: u64,
    /// `persist=1`: to be kept when the client's network changes.
    pub persist: bool,
}

/// Reads a field value. Several fields of a response are joined with commas first.
pub fn parse(value: &str) -> AltSvc {
    let mut read = AltSvc::default();
    if trim(value) == "clear" {
        read.clear = true;
        return read;
    }
    for element in split(value, ',')
        .into_iter()
        .filter(|element| !element.is_empty())
    {
        match alternative(element, &mut read.rejected) {
            Ok(alternative) => read.alternatives.push(alternative),
            Err(reason) => read.rejected.push(Rejected::new(element, reason)),
        }
    }
    read
}

fn alternative(element: &str, rejected: &mut Vec<Rejected>) -> Result<Alternative, &'static str> {
    let mut parts = split(element, ';').into_iter();
    let first = parts.next().unwrap_or_default();
    if first.eq_ignore_ascii_case("clear") {
        return Err("clear has a meaning only alone and in lower case");
    }
    let (protocol, authority) = first.split_once('=').ok_or("there is no = after the protocol")?;
    if !is_token(protocol) {
        return Err("the protocol is not a token");
    }
    let protocol = percent_decode(protocol).ok_or("the protocol's percent-encoding is broken")?;
    let authority = unquote(authority).ok_or("the authority is not a quoted string")?;
    let (host, port) = authority.rsplit_once(':').ok_or("the authority has no port")?;
    if !is_host(host) {
        return Err("the authority's host is not valid");
    }
    let port = digits(port)
        .and_then(|port| u16::try_from(port).ok())
        .filter(|port| *port > 0)
        .ok_or("the port is not a number from 1 to 65535")?;

    let (mut max_age_s, mut persist) = (None, false);
    for parameter in parts.filter(|parameter| !parameter.is_empty()) {
        match self::parameter(parameter) {
            Some(("ma", value)) => match digits(&value) {
                Some(seconds) => max_age_s = max_age_s.or(Some(seconds)),
                None => rejected.push(Rejected::new(parameter, "ma is not a number of seconds")),
            },
            Some(("persist", value)) if value == "1" => persist = true,
            Some(("persist", _)) => rejected.push(Rejected::new(parameter, "only persist=1 has a meaning")),
            // Unknown parameters are to be ignored (section 3).
            Some(_) => {}
            None => rejected.push(Rejected::new(parameter, "the parameter is not name=value")),
        }
    }
    Ok(Alternative {
        protocol,
        host: host.to_owned(),
        port,
        max_age_s: max_age_s.unwrap_or(DEFAULT_MAX_AGE_S),
        persist,
    })
}

fn parameter(text: &str) -> Option<(&str, String)> {
    let (name, value) = text.split_once('=')?;
    let value = if is_token(value) {
        value.to_owned()
    } else {
        unquote(value)?
    };
    is_token(name).then_some((name, value))
}

/// A number of digits only. One that is too large counts as 2^31, as RFC 9111, section 1.2.2, says for seconds.
fn digits(text: &str) -> Option<u64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().unwrap_or(1 << 31))
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut nibble = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (nibble()?, nibble()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Empty, an IP literal in brackets, or a registered name's characters (RFC 3986, section 3.2.2).
fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return !inner.is_empty()
            && inner
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
    }
    host.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(protocol: &str, host: &str, port: u16, max_age_s: u64, persist: bool) -> Alternative {
        Alternative {
            protocol: protocol.into(),
            host: host.into(),
            port,
            max_age_s,
            persist,
        }
    }

    #[test]
    fn valid_values_are_read_whole() {
        let cases: &[(&str, &[Alternative])] = &[
            (r#"h3=":443""#, &[one("h3", "", 443, 86_400, false)]),
            (
                r#"h3=":443"; ma=2592000"#,
                &[one("h3", "", 443, 2_592_000, false)],
            ),
            (r#"h3=":443";ma=0"#, &[one("h3", "", 443, 0, false)]),
            (
                r#"h3=":443"; ma=60; persist=1, h3-29=":443" ; ma="120""#,
                &[one("h3", "", 443, 60, true), one("h3-29", "", 443, 120, false)],
            ),
            (
                r#"h2="alt.example.com:8000", h2=":443""#,
                &[
                    one("h2", "alt.example.com", 8000, 86_400, false),
                    one("h2", "", 443, 86_400, false),
                ],
            ),
            (
                r#"h3="[2001:db8::1]:8443""#,
                &[one("h3", "[2001:db8::1]", 8443, 86_400, false)],
            ),
            // The example of section 3: ALPN id `w=x:y#z`.
            (r#"w%3Dx%3Ay#z=":443""#, &[one("w=x:y#z", "", 443, 86_400, false)]),
            (r#"http%2F1.1=":80""#, &[one("http/1.1", "", 80, 86_400, false)]),
            (r#"h3=":443"; foo="a,b;c"; ma=5"#, &[one("h3", "", 443, 5, false)]),
            (r#"h3=":4\43""#, &[one("h3", "", 443, 86_400, false)]),
            (r#", h3=":443",,"#, &[one("h3", "", 443, 86_400, false)]),
            (
                r#"h3=":443"; ma=99999999999999999999"#,
                &[one("h3", "", 443, 1 << 31, false)],
            ),
            ("", &[]),
        ];
        for (value, alternatives) in cases {
            let read = parse(value);
            assert_eq!(read.alternatives, *alternatives, "{value}");
            assert_eq!(read.rejected, [], "{value}");
            assert!(!read.clear);
        }
    }

    #[test]
    fn clear_is_alone_and_in_lower_case() {
        assert!(parse(" clear ").clear);
        for value in ["Clear", "clear, h3=\":443\"", "clear; ma=1"] {
            let read = parse(value);
            assert!(!read.clear, "{value}");
            assert_eq!(read.rejected.len(), 1, "{value}");
        }
        assert_eq!(parse("clear, h3=\":443\"").alternatives.len(), 1);
    }

    #[test]
    fn what_is_malformed_is_named_and_the_rest_is_kept() {
        let cases = [
            ("h3", "there is no = after the protocol"),
            ("h3=:443", "the authority is not a quoted string"),
            (r#"h3=":443"#, "the authority is not a quoted string"),
            (r#"h3="443""#, "the authority has no port"),
            (r#"h3=":0""#, "the port is not a number from 1 to 65535"),
            (r#"h3=":65536""#, "the port is not a number from 1 to 65535"),
            (r#"h3=":+443""#, "the port is not a number from 1 to 65535"),
            (r#"h3="a b:443""#, "the authority's host is not valid"),
            (r#"h3="::1:443""#, "the authority's host is not valid"),
            (r#"h%3=":443""#, "the protocol's percent-encoding is broken"),
            (r#"h%FF=":443""#, "the protocol's percent-encoding is broken"),
            (r#"h 3=":443""#, "the protocol is not a token"),
            (r#"="":443""#, "the protocol is not a token"),
        ];
        for (element, reason) in cases {
            let read = parse(&format!(r#"h2=":443", {element}"#));
            assert_eq!(
                read.alternatives,
                [one("h2", "", 443, 86_400, false)],
                "{element}"
            );
            assert_eq!(read.rejected, [Rejected::new(element, reason)], "{element}");
        }
    }

    #[test]
    fn a_broken_parameter_does_not_cost_its_alternative() {
        let read = parse(r#"h3=":443"; ma=soon; persist=2; ma; ma=7"#);
        assert_eq!(read.alternatives, [one("h3", "", 443, 7, false)]);
        assert_eq!(read.rejected.len(), 3);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(value in ".{0,60}", tricky in r#"[h3=":,;%\\a0 \[\]]{0,40}"#) {
            parse(&value);
            parse(&tricky);
        }
    }
}
