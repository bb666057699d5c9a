//! Statistics of arms and between arms: summaries, outliers, and the shift of medians with its interval.

mod bootstrap;
mod compare;
mod outlier;
mod summary;

pub use bootstrap::{Observation, RESAMPLES, Shift, shift};
pub use compare::{MIN_BLOCKS, compare};
pub use outlier::{MAD_FLOOR, OUTLIER_LIMIT, outliers};
pub use summary::{quantile, summarise};
