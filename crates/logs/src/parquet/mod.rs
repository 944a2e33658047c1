//! Parquet, a row for each frame. Its writer, with the library that it needs, is the feature
//! `parquet`; without it, the format is known, and refused with the reason.

#[cfg(feature = "parquet")]
mod write;

use crate::format::FormatSpec;
use crate::shortfall::Shortfall;
use crate::write::{FormatWriting, FrameWriter, WriteError, WriteOptions};
use std::time::Duration;

/// Parquet, which is only written.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "parquet",
    title: "Parquet",
    reading: None,
    writing: Some(FormatWriting {
        endings: &[".parquet"],
        help: "Parquet, a row for each frame",
        omissions: "user comments on frames of pcapng",
        flush_every: Duration::from_secs(10),
        is_packed: true,
        has_losses: true,
        has_messages: true,
        is_built: cfg!(feature = "parquet"),
        create,
        // Stamps are signed numbers of 64 bits.
        shortfalls: |entry, _| {
            let late = i64::try_from(entry.stamp).is_err();
            late.then_some(Shortfall::Late).into_iter().collect()
        },
    }),
};

#[cfg(feature = "parquet")]
fn create(options: WriteOptions) -> Result<Box<dyn FrameWriter>, WriteError> {
    Ok(Box::new(write::FrameTable::new(options.messages)?))
}

#[cfg(not(feature = "parquet"))]
fn create(_: WriteOptions) -> Result<Box<dyn FrameWriter>, WriteError> {
    let text = "this program was built without the feature `parquet`";
    Err(WriteError::new(text.to_owned()))
}
