//! One quantity over all samples of an arm: once where it is the same for all, else a list.

use super::LinkError;
use crate::{
    ConnectionUse, Failure, Nanos, RttSource, StampSource,
    wire::{Json, Object, ReadJson, Reader, WriteJson},
};

/// A quantity of every sample, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column<T> {
    /// All samples have this value. In JSON: `{"c": value}`.
    Constant(T),
    /// Each its own, or none. In JSON: `{"l": [value or null, …]}`.
    List(Vec<Option<T>>),
}

impl<T: ReadJson> ReadJson for Column<T> {
    fn read(json: &Json<'_>, reader: &mut Reader) -> Self {
        match (json.get("c"), json.get("l")) {
            (Json::Null, Json::List(items)) => {
                Self::List(items.iter().map(|item| Option::read(item, reader)).collect())
            }
            (value, Json::Null) => {
                if *value == Json::Null {
                    reader.refuse();
                }
                Self::Constant(T::read(value, reader))
            }
            _ => {
                reader.refuse();
                Self::List(Vec::new())
            }
        }
    }
}

impl<T: WriteJson> WriteJson for Column<T> {
    fn write(&self, out: &mut String) {
        let mut object = Object::open(out);
        match self {
            Self::Constant(value) => object.member("c", value),
            Self::List(values) => object.member("l", values),
        }
        object.close();
    }
}

impl<T: Clone + PartialEq> Column<T> {
    /// `None` when no sample has a value.
    pub(super) fn from_values(values: Vec<Option<T>>) -> Option<Self> {
        let first = values.first()?;
        match first {
            Some(value) if values.iter().all(|other| other == first) => Some(Self::Constant(value.clone())),
            _ if values.iter().all(Option::is_none) => None,
            _ => Some(Self::List(values)),
        }
    }

    /// The value of the sample at `index`.
    pub(super) fn at(&self, index: usize) -> Option<T> {
        match self {
            Self::Constant(value) => Some(value.clone()),
            Self::List(values) => values.get(index)?.clone(),
        }
    }
}

impl<T: Weight> Column<T> {
    /// Checks a list's length, and returns how many bytes the column takes on the heap when it is spread over all
    /// `samples`, beyond what the list itself holds.
    pub(super) fn spread(&self, samples: usize) -> Result<usize, LinkError> {
        match self {
            Self::Constant(value) => Ok(value.weight().saturating_mul(samples)),
            Self::List(values) if values.len() == samples => Ok(0),
            Self::List(_) => Err(LinkError::Invalid("a column is not as long as its arm".into())),
        }
    }
}

/// How many bytes a value holds on the heap, so that a short payload cannot become a huge document.
pub(super) trait Weight {
    /// The bytes, roughly.
    fn weight(&self) -> usize {
        0
    }
}

impl Weight for bool {}
impl Weight for i64 {}
impl Weight for u16 {}
impl Weight for u32 {}
impl Weight for u64 {}
impl Weight for Nanos {}
impl Weight for ConnectionUse {}
impl Weight for RttSource {}
impl Weight for StampSource {}

impl Weight for String {
    fn weight(&self) -> usize {
        self.len()
    }
}

impl Weight for (String, String) {
    fn weight(&self) -> usize {
        self.0.len() + self.1.len()
    }
}

impl Weight for Failure {
    fn weight(&self) -> usize {
        self.detail.len()
    }
}

impl<T: Weight> Weight for Vec<T> {
    fn weight(&self) -> usize {
        self.iter().map(|item| size_of::<T>() + item.weight()).sum()
    }
}
