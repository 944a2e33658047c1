//! `cangate decode --format parquet` in a build without the feature `parquet`.

use capture::SelectedMessage;
use console::Failure;
use port::log::LoggedFrame;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::path::Path;

/// A dataset that is being written: there is none.
pub(super) struct DatasetWriter<'a>(Infallible, PhantomData<&'a ()>);

impl<'a> DatasetWriter<'a> {
    /// Refuses the format, with the reason.
    pub(super) fn open(_: &Path, _: bool, _: &[SelectedMessage<'a>]) -> Result<Self, Failure> {
        Err(Failure::input(
            "--format parquet is not in this build of cangate, which was made without the feature `parquet`: build it \
             with `--features parquet`, or install a package with all features",
        ))
    }

    pub(super) fn add(&mut self, _: &LoggedFrame, _: usize, _: &[u8]) -> Result<(), Failure> {
        match self.0 {}
    }

    pub(super) fn finish(self) -> Result<(u64, String), Failure> {
        match self.0 {}
    }
}
