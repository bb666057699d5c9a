//! JSON for the page: each type of the model is described once, and read and written by that description.
//!
//! The page could use serde, as everything else does. But serde's derived code is made anew for every type in every use; for
//! the types of a document that is 400 kB of wasm, half of the page. Here a member costs two calls. What is written and read
//! is the same JSON: property tests hold the two against each other.

mod json;
mod model;
mod number;

pub use json::Json;
pub(crate) use number::parse as parse_number;

use thiserror::Error;

use crate::{Map, Nanos};

/// A text that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// Not JSON.
    #[error("not valid JSON")]
    NotJson,
    /// JSON, but a member is missing or of the wrong kind.
    #[error("{0} is missing or not valid")]
    Member(&'static str),
}

/// A type that is read from JSON.
pub trait ReadJson: Sized {
    /// What `json` says. Where it says no such value that is noted in `reader`, and a stand-in is returned: so there is one
    /// way out of a description, which keeps its code small. A missing member reads as null.
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self;
}

/// A type that is written as JSON.
pub trait WriteJson {
    /// Appends the JSON text.
    fn write(&self, out: &mut String);

    /// Whether a member that may be left out is: nothing, or a list without items.
    fn is_nothing(&self) -> bool {
        false
    }
}

/// A type whose values are names, so that it can be a key.
pub trait Name: Sized + Copy {
    /// From its name.
    fn from_name(name: &str) -> Option<Self>;
    /// Its name.
    fn name(self) -> &'static str;
    /// Any value.
    fn stand_in() -> Self;
}

/// Notes the first thing that is not as it should be.
#[derive(Debug, Default)]
pub struct Reader {
    member: &'static str,
    fault: Option<&'static str>,
}

impl Reader {
    /// Reads a member of an object.
    pub fn member<T: ReadJson>(&mut self, json: &Json<'_>, name: &'static str) -> T {
        self.member = name;
        T::read(json.get(name), self)
    }

    /// Notes that the member being read is not valid.
    #[cold]
    pub fn refuse(&mut self) {
        self.fault.get_or_insert(self.member);
    }
}

/// Reads a whole text.
///
/// # Errors
/// When it is not JSON, or says something else.
pub fn from_text<T: ReadJson>(text: &str) -> Result<T, WireError> {
    from_json(&Json::parse(text).ok_or(WireError::NotJson)?)
}

/// Reads a whole tree.
///
/// # Errors
/// When it says something else.
pub fn from_json<T: ReadJson>(json: &Json<'_>) -> Result<T, WireError> {
    let mut reader = Reader {
        member: "the whole",
        fault: None,
    };
    let value = T::read(json, &mut reader);
    match reader.fault {
        Some(member) => Err(WireError::Member(member)),
        None => Ok(value),
    }
}

/// Writes a whole text.
pub fn to_text<T: WriteJson>(value: &T) -> String {
    let mut out = String::new();
    value.write(&mut out);
    out
}

/// An object being written.
#[derive(Debug)]
pub struct Object<'a> {
    out: &'a mut String,
    before: char,
}

impl<'a> Object<'a> {
    /// Opens it.
    pub fn open(out: &'a mut String) -> Self {
        Self { out, before: '{' }
    }

    /// Writes a member.
    pub fn member<T: WriteJson>(&mut self, name: &str, value: &T) {
        self.key(name);
        value.write(self.out);
    }

    /// Writes a member unless it is nothing.
    pub fn optional<T: WriteJson>(&mut self, name: &str, value: &T) {
        if !value.is_nothing() {
            self.member(name, value);
        }
    }

    fn key(&mut self, name: &str) {
        self.out.push(self.before);
        self.before = ',';
        json::write_text(name, self.out);
        self.out.push(':');
    }

    /// Closes it.
    pub fn close(self) {
        if self.before == '{' {
            self.out.push('{');
        }
        self.out.push('}');
    }
}

/// Describes a struct: its members, and after the bar those that are left out when they are nothing.
#[macro_export]
macro_rules! wire_struct {
    ($type:ty { $($field:ident),* $(,)? | $($optional:ident),* $(,)? }) => {
        impl $crate::wire::ReadJson for $type {
            fn read(json: &$crate::wire::Json<'_>, reader: &mut $crate::wire::Reader) -> Self {
                Self {
                    $($field: reader.member(json, stringify!($field)),)*
                    $($optional: reader.member(json, stringify!($optional)),)*
                }
            }
        }

        impl $crate::wire::WriteJson for $type {
            fn write(&self, out: &mut String) {
                let mut object = $crate::wire::Object::open(out);
                $(object.member(stringify!($field), &self.$field);)*
                $(object.optional(stringify!($optional), &self.$optional);)*
                object.close();
            }
        }
    };
}

/// Describes a struct that is only read, and whose members have other names in JSON than here.
#[macro_export]
macro_rules! wire_renamed {
    ($type:ty { $($field:ident = $name:literal),* $(,)? }) => {
        impl $crate::wire::ReadJson for $type {
            fn read(json: &$crate::wire::Json<'_>, reader: &mut $crate::wire::Reader) -> Self {
                Self { $($field: reader.member(json, $name),)* }
            }
        }
    };
}

/// Describes an enum without data: its variants and their names.
#[macro_export]
macro_rules! wire_names {
    ($type:ty { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $crate::wire::Name for $type {
            fn from_name(name: &str) -> Option<Self> {
                [$((Self::$variant, $name)),+]
                    .into_iter()
                    .find(|(_, known)| *known == name)
                    .map(|(value, _)| value)
            }

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            fn stand_in() -> Self {
                [$(Self::$variant),+][0]
            }
        }

        $crate::wire_by_name!($type);
    };
}

/// Reads and writes a type by its [`Name`].
#[macro_export]
macro_rules! wire_by_name {
    ($type:ty) => {
        impl $crate::wire::ReadJson for $type {
            fn read(json: &$crate::wire::Json<'_>, reader: &mut $crate::wire::Reader) -> Self {
                json.text()
                    .and_then($crate::wire::Name::from_name)
                    .unwrap_or_else(|| {
                        reader.refuse();
                        $crate::wire::Name::stand_in()
                    })
            }
        }

        impl $crate::wire::WriteJson for $type {
            fn write(&self, out: &mut String) {
                $crate::wire::WriteJson::write(&$crate::wire::Name::name(*self).to_owned(), out);
            }
        }
    };
}

impl ReadJson for String {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        json.text().map_or_else(
            || {
                reader.refuse();
                Self::new()
            },
            str::to_owned,
        )
    }
}

impl WriteJson for String {
    fn write(&self, out: &mut String) {
        json::write_text(self, out);
    }
}

impl ReadJson for bool {
    /// A missing switch is off.
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        match json {
            Json::Bool(value) => *value,
            Json::Null => false,
            _ => {
                reader.refuse();
                false
            }
        }
    }
}

impl WriteJson for bool {
    fn write(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl ReadJson for $type {
            fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
                json.integer().and_then(|number| Self::try_from(number).ok()).unwrap_or_else(|| {
                    reader.refuse();
                    0
                })
            }
        }

        impl WriteJson for $type {
            fn write(&self, out: &mut String) {
                out.push_str(&self.to_string());
            }
        }
    )+};
}

integers!(u16, u32, u64, i64, usize);

impl ReadJson for f64 {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        json.number().unwrap_or_else(|| {
            reader.refuse();
            0.0
        })
    }
}

impl WriteJson for f64 {
    fn write(&self, out: &mut String) {
        number::write(*self, out);
    }
}

impl ReadJson for Nanos {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        Self(u64::read(json, reader))
    }
}

impl WriteJson for Nanos {
    fn write(&self, out: &mut String) {
        self.0.write(out);
    }
}

impl<T: ReadJson> ReadJson for Option<T> {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        match json {
            Json::Null => None,
            json => Some(T::read(json, reader)),
        }
    }
}

impl<T: WriteJson> WriteJson for Option<T> {
    fn write(&self, out: &mut String) {
        match self {
            Some(value) => value.write(out),
            None => out.push_str("null"),
        }
    }

    fn is_nothing(&self) -> bool {
        self.is_none()
    }
}

impl<T: ReadJson> ReadJson for Box<T> {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        Self::new(T::read(json, reader))
    }
}

impl<T: WriteJson> WriteJson for Box<T> {
    fn write(&self, out: &mut String) {
        T::write(self, out);
    }
}

impl<T: ReadJson> ReadJson for Vec<T> {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        match json {
            Json::List(items) => items.iter().map(|item| T::read(item, reader)).collect(),
            Json::Null => Self::new(),
            _ => {
                reader.refuse();
                Self::new()
            }
        }
    }
}

impl<T: WriteJson> WriteJson for Vec<T> {
    fn write(&self, out: &mut String) {
        let mut before = '[';
        for item in self {
            out.push(before);
            before = ',';
            item.write(out);
        }
        if before == '[' {
            out.push('[');
        }
        out.push(']');
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<A: ReadJson, B: ReadJson> ReadJson for (A, B) {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        let (a, b) = match json {
            Json::List(items) => match items.as_slice() {
                [a, b] => (a, b),
                _ => (&Json::Null, &Json::Null),
            },
            _ => (&Json::Null, &Json::Null),
        };
        (A::read(a, reader), B::read(b, reader))
    }
}

impl<A: WriteJson, B: WriteJson> WriteJson for (A, B) {
    fn write(&self, out: &mut String) {
        out.push('[');
        self.0.write(out);
        out.push(',');
        self.1.write(out);
        out.push(']');
    }
}

impl<K: Name + Ord, V: ReadJson> ReadJson for Map<K, V> {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        let mut map = Self::new();
        match json {
            Json::Object(members) => {
                for (name, value) in members {
                    let value = V::read(value, reader);
                    match K::from_name(name) {
                        Some(key) => drop(map.insert(key, value)),
                        None => reader.refuse(),
                    }
                }
            }
            Json::Null => {}
            _ => reader.refuse(),
        }
        map
    }
}

impl<K: Name + Ord, V: WriteJson> WriteJson for Map<K, V> {
    fn write(&self, out: &mut String) {
        let mut object = Object::open(out);
        for (key, value) in self {
            object.member(key.name(), value);
        }
        object.close();
    }

    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}
