//! JSON text (RFC 8259) to a tree and back.

use std::borrow::Cow;

use super::number;

/// How deep lists and objects may be inside each other: a document needs eight.
const MAX_DEPTH: u32 = 32;

/// A JSON value. Numbers keep their text: what kind they are is known where they are read.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`; also what a missing member reads as.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it stands in the text.
    Number(&'a str),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    List(Vec<Json<'a>>),
    /// An object, in the order of the text.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a whole text; `None` when it is not JSON.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut parser = Parser { rest: text };
        let json = parser.value(0)?;
        parser.skip_space();
        parser.rest.is_empty().then_some(json)
    }

    /// The member `name` of an object; null where there is none.
    pub fn get(&self, name: &str) -> &Self {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(known, _)| known == name)
                .map_or(&Json::Null, |(_, value)| value),
            _ => &Json::Null,
        }
    }

    /// The string it is.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The integer it is.
    pub fn integer(&self) -> Option<i128> {
        let Self::Number(text) = self else {
            return None;
        };
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, *text),
        };
        let size = i128::from(digits.parse::<u64>().ok()?);
        Some(if negative { -size } else { size })
    }

    /// The number it is.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(text) => number::parse(text),
            _ => None,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Takes `byte`, which is ASCII, if it comes next.
    fn takes(&mut self, byte: u8) -> bool {
        let comes = self.rest.as_bytes().first() == Some(&byte);
        if comes {
            self.rest = &self.rest[1..];
        }
        comes
    }

    fn value(&mut self, depth: u32) -> Option<Json<'a>> {
        self.skip_space();
        match self.rest.as_bytes().first()? {
            b'"' => self.text().map(Json::Text),
            b'[' => self.list(depth),
            b'{' => self.object(depth),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Option<Json<'a>> {
        for (word, value) in [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
        ] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let length = self.rest.bytes().take_while(is_part).count();
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        number::parse(text).map(|_| Json::Number(text))
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        self.rest = self.rest.strip_prefix('"')?;
        let mut whole = Cow::Borrowed("");
        loop {
            let end = self
                .rest
                .bytes()
                .position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
            let (plain, rest) = self.rest.split_at(end);
            self.rest = rest;
            if whole.is_empty() {
                whole = Cow::Borrowed(plain);
            } else {
                whole.to_mut().push_str(plain);
            }
            if self.takes(b'"') {
                return Some(whole);
            }
            // A control character is neither, and not allowed.
            self.rest = self.rest.strip_prefix('\\')?;
            whole.to_mut().push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let kind = *self.rest.as_bytes().first()?;
        let character = match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.rest = &self.rest[1..];
                return self.unicode();
            }
            _ => return None,
        };
        self.rest = &self.rest[1..];
        Some(character)
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first);
        }
        self.rest = self.rest.strip_prefix("\\u")?;
        let second = self.hex()?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + second)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.rest = &self.rest[4..];
        u32::from_str_radix(digits, 16).ok()
    }

    fn list(&mut self, depth: u32) -> Option<Json<'a>> {
        let mut items = Vec::new();
        self.items(depth, b'[', b']', |parser| {
            items.push(parser.value(depth + 1)?);
            Some(())
        })?;
        Some(Json::List(items))
    }

    fn object(&mut self, depth: u32) -> Option<Json<'a>> {
        let mut members = Vec::new();
        self.items(depth, b'{', b'}', |parser| {
            parser.skip_space();
            let name = parser.text()?;
            parser.skip_space();
            parser.takes(b':').then_some(())?;
            members.push((name, parser.value(depth + 1)?));
            Some(())
        })?;
        Some(Json::Object(members))
    }

    fn items(
        &mut self,
        depth: u32,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        if depth >= MAX_DEPTH || !self.takes(open) {
            return None;
        }
        self.skip_space();
        if self.takes(close) {
            return Some(());
        }
        loop {
            item(self)?;
            self.skip_space();
            if self.takes(close) {
                return Some(());
            }
            self.takes(b',').then_some(())?;
        }
    }
}

/// Appends `text` as a JSON string.
pub(super) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\0'..' ' => {
                out.push_str("\\u00");
                for nibble in [u32::from(character) >> 4, u32::from(character) & 15] {
                    out.extend(char::from_digit(nibble, 16));
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether serde_json's tree says the same.
    fn same(json: &Json<'_>, other: &serde_json::Value) -> bool {
        match (json, other) {
            (Json::Null, serde_json::Value::Null) => true,
            (Json::Bool(a), serde_json::Value::Bool(b)) => a == b,
            (Json::Number(a), serde_json::Value::Number(b)) => {
                let (a, b) = (number::parse(a).unwrap(), b.as_f64().unwrap());
                (a - b).abs() <= b.abs() * 1e-15
            }
            (Json::Text(a), serde_json::Value::String(b)) => a == b,
            (Json::List(a), serde_json::Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (Json::Object(a), serde_json::Value::Object(b)) => {
                b.iter().all(|(name, b)| same(json.get(name), b)) && a.len() >= b.len()
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn strings_are_written_so_that_serde_reads_them(text in any::<String>()) {
            let mut out = String::new();
            write_text(&text, &mut out);
            prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text.clone());
            prop_assert_eq!(Json::parse(&out), Some(Json::Text(text.into())));
        }

        #[test]
        fn what_serde_takes_for_json_is_read_alike(text in r#"[\[\]{},:0-9eE.+\-"\\ntrufalse ]{0,24}"#) {
            if let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) {
                let json = Json::parse(&text);
                prop_assert!(json.as_ref().is_some_and(|json| same(json, &value)), "{text} {json:?}");
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            drop(Json::parse(&text));
        }
    }

    #[test]
    fn escapes_and_surrogates_are_understood() {
        let json = Json::parse(r#" {"a\u0041" : ["\ud83d\ude00\/\t", -0.5e1 , true, {}, []] } "#).unwrap();
        assert_eq!(
            json.get("aA"),
            &Json::List(vec![
                Json::Text("😀/\t".into()),
                Json::Number("-0.5e1"),
                Json::Bool(true),
                Json::Object(vec![]),
                Json::List(vec![]),
            ])
        );
        for bad in [
            "",
            "[1,]",
            "{\"a\"}",
            "\"\\ud83d\"",
            "\"\n\"",
            "nul",
            "[1] 2",
            "\"\\x\"",
            "-",
        ] {
            assert_eq!(Json::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn endless_nesting_is_refused() {
        assert_eq!(Json::parse(&"[".repeat(100_000)), None);
    }
}
