//! Geometry of the charts: values to coordinates to path text. Pure: nothing here draws or touches the document.

mod path;
mod scale;

pub(crate) use path::{dots, line};
pub(crate) use scale::{Axis, percent};
