//! The Server-Timing field (W3C Server Timing): what a server says about its own time.

use super::field::{Rejected, is_token, split, trim, unquote};
use crate::wire::parse_number;

/// A Server-Timing field value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerTiming {
    /// The metrics in the order sent; names may repeat.
    pub entries: Vec<Metric>,
    /// What could not be read.
    pub rejected: Vec<Rejected>,
}

/// One metric: a claim of the server, not a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name.
    pub name: String,
    /// `dur` in milliseconds by convention; absent where not given or not a number.
    pub duration_ms: Option<f64>,
    /// `desc`.
    pub description: Option<String>,
}

/// Reads a field value. Several fields of a response are joined with commas first.
pub fn parse(value: &str) -> ServerTiming {
    let mut read = ServerTiming::default();
    for element in split(value, ',')
        .into_iter()
        .filter(|element| !element.is_empty())
    {
        let mut parts = split(element, ';').into_iter();
        let name = parts.next().unwrap_or_default();
        if !is_token(name) {
            read.rejected
                .push(Rejected::new(element, "the name is not a token"));
            continue;
        }
        let mut metric = Metric {
            name: name.to_owned(),
            duration_ms: None,
            description: None,
        };
        let mut seen = Vec::new();
        for parameter in parts.filter(|parameter| !parameter.is_empty()) {
            apply(&mut metric, parameter, &mut seen, &mut read.rejected);
        }
        read.entries.push(metric);
    }
    read
}

/// The value with names and valid durations only: descriptions are words of the server, which may tell too much.
pub(crate) fn without_descriptions(value: &str) -> String {
    let mut kept = Vec::new();
    for element in split(value, ',') {
        let mut parts = split(element, ';').into_iter();
        let Some(name) = parts.next().filter(|name| is_token(name)) else {
            continue;
        };
        let duration = parts.find(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            trim(name).eq_ignore_ascii_case("dur") && duration(trim(value)).is_some()
        });
        kept.push(duration.map_or_else(|| name.to_owned(), |duration| [name, ";", duration].concat()));
    }
    kept.join(", ")
}

/// Takes one parameter. The first of a name counts, also when its value is not valid.
fn apply(metric: &mut Metric, parameter: &str, seen: &mut Vec<String>, rejected: &mut Vec<Rejected>) {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let name = trim(name).to_ascii_lowercase();
    if seen.contains(&name) {
        return;
    }
    let value = text(trim(value));
    match name.as_str() {
        "dur" => match value.as_deref().and_then(duration) {
            Some(duration) => metric.duration_ms = Some(duration),
            None => rejected.push(Rejected::new(parameter, "dur is not a number of milliseconds")),
        },
        "desc" => match value {
            Some(description) => metric.description = Some(description),
            None => rejected.push(Rejected::new(parameter, "the quoted text is broken")),
        },
        // Other parameters are reserved and ignored.
        _ => {}
    }
    seen.push(name);
}

/// A token or a quoted string. What follows a closed quote is ignored, as the specification has it.
fn text(value: &str) -> Option<String> {
    if !value.starts_with('"') {
        return Some(value.to_owned());
    }
    let mut escaped = false;
    let close = value
        .char_indices()
        .skip(1)
        .find(|(_, character)| match character {
            _ if escaped => {
                escaped = false;
                false
            }
            '\\' => {
                escaped = true;
                false
            }
            character => *character == '"',
        });
    unquote(&value[..=close?.0])
}

fn duration(text: &str) -> Option<f64> {
    parse_number(text).filter(|number| *number >= 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn metric(name: &str, duration_ms: Option<f64>, description: Option<&str>) -> Metric {
        Metric {
            name: name.into(),
            duration_ms,
            description: description.map(Into::into),
        }
    }

    #[test]
    fn valid_values_are_read_whole() {
        let cases: &[(&str, &[Metric])] = &[
            ("miss", &[metric("miss", None, None)]),
            ("db;dur=53.2", &[metric("db", Some(53.2), None)]),
            (
                r#"cache;desc="Cache Read";dur=23.2, db ; dur = 0"#,
                &[
                    metric("cache", Some(23.2), Some("Cache Read")),
                    metric("db", Some(0.0), None),
                ],
            ),
            (
                r#"a;desc="x, \"y\"; z""#,
                &[metric("a", None, Some(r#"x, "y"; z"#))],
            ),
            (
                "a;dur=1;dur=2;DESC=one;desc=two",
                &[metric("a", Some(1.0), Some("one"))],
            ),
            ("a;dur=1e2;foo=3;bar", &[metric("a", Some(100.0), None)]),
            (r#"a;dur="12""#, &[metric("a", Some(12.0), None)]),
            (r#"a;desc="b"c;dur=1"#, &[metric("a", Some(1.0), Some("b"))]),
            ("a,,b,", &[metric("a", None, None), metric("b", None, None)]),
            ("", &[]),
        ];
        for (value, entries) in cases {
            let read = parse(value);
            assert_eq!(read.entries, *entries, "{value}");
            assert_eq!(read.rejected, [], "{value}");
        }
    }

    #[test]
    fn what_is_malformed_is_named_and_the_rest_is_kept() {
        let cases: &[(&str, &[Metric])] = &[
            ("a;dur=fast;dur=3", &[metric("a", None, None)]),
            ("a;dur=-1", &[metric("a", None, None)]),
            ("a;dur=inf", &[metric("a", None, None)]),
            ("a;dur", &[metric("a", None, None)]),
            (r#"a;desc="b"#, &[metric("a", None, None)]),
            ("b c;dur=1, a", &[metric("a", None, None)]),
            (";dur=1, a", &[metric("a", None, None)]),
        ];
        for (value, entries) in cases {
            let read = parse(value);
            assert_eq!(read.entries, *entries, "{value}");
            assert_eq!(read.rejected.len(), 1, "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(value in ".{0,60}", tricky in r#"[adur=";,\\1. esc]{0,40}"#) {
            parse(&value);
            parse(&tricky);
        }
    }
}
