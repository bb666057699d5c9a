//! The pieces of structured field values (RFC 9110, section 5.6): lists, tokens, quoted strings.

/// A part of a field value that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The part as it was.
    pub text: String,
    /// Why it was not taken, in words.
    pub reason: String,
}

impl Rejected {
    pub(super) fn new(text: &str, reason: &str) -> Self {
        Self {
            text: text.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

/// The parts of `value` between `separator`s that stand outside quoted strings, without surrounding whitespace. Empty
/// parts stay, so that the caller decides (a list ignores them, RFC 9110, section 5.6.1.2). A quote that is not closed
/// takes the rest of the value into its part.
pub(super) fn split(value: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (index, character) in value.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if character == separator && !quoted => {
                parts.push(trim(&value[start..index]));
                start = index + separator.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(trim(&value[start..]));
    parts
}

/// The content of a quoted string that takes up all of `text`, with its escapes undone.
pub(super) fn unquote(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut content = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => content.push(characters.next()?),
            '"' => return None,
            _ => content.push(character),
        }
    }
    // `"\"` strips to a lone backslash, which the escape above refuses.
    Some(content)
}

/// Whether `text` is a token (RFC 9110, section 5.6.2).
pub(super) fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

/// Without spaces and tabs at both ends (OWS).
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_inside_quotes_do_not_split() {
        assert_eq!(
            split(r#"a="x,\",y" , b,,c"#, ','),
            [r#"a="x,\",y""#, "b", "", "c"]
        );
        assert_eq!(split(r#"a, "b, c"#, ','), ["a", r#""b, c"#]);
        assert_eq!(split("", ','), [""]);
    }

    #[test]
    fn a_quoted_string_is_whole_or_nothing() {
        assert_eq!(unquote(r#""a\"b\\""#).as_deref(), Some(r#"a"b\"#));
        for broken in ["", "\"", "a", "\"a", "a\"", r#""a"b""#, r#""\""#] {
            assert_eq!(unquote(broken), None, "{broken}");
        }
    }
}
