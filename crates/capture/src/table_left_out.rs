//! The replacement for `table` in a build without Parquet: a table that cannot be created. Such an
//! output is refused earlier ([`crate::FormError::NotBuilt`]); no error can occur here.

use crate::chunk::{FrameGap, RecordedFrame};
use std::convert::Infallible;
use std::sync::Arc;

/// The reason why there is no table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this program was built without the feature `parquet`")]
pub(crate) struct ParquetError;

/// A table of frames, which cannot exist in this build.
pub(crate) struct FrameTable(Infallible);

impl FrameTable {
    /// Returns an error.
    pub(crate) const fn new() -> Result<Self, ParquetError> {
        Err(ParquetError)
    }

    pub(crate) const fn begin(&mut self) {
        match self.0 {}
    }

    pub(crate) const fn frame(&mut self, _: &RecordedFrame<'_>) -> bool {
        match self.0 {}
    }

    pub(crate) const fn gap(&mut self, _: &FrameGap) {
        match self.0 {}
    }

    pub(crate) const fn is_full(&self) -> bool {
        match self.0 {}
    }

    pub(crate) const fn flush(
        &mut self,
        _: &[Arc<str>],
        _: &mut Vec<u8>,
    ) -> Result<Vec<u8>, ParquetError> {
        match self.0 {}
    }
}
