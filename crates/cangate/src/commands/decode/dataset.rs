//! Signals as a dataset of Parquet files.

use capture::SelectedMessage;
use capture::dataset::{DatasetError, DatasetFolder, DatasetFrame, DatasetMessage, SignalDataset};
use console::{Failure, say};
use port::log::LoggedFrame;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A dataset that is being written.
pub(super) struct DatasetWriter<'a> {
    folder: PathBuf,
    dataset: SignalDataset<'a>,
}

impl<'a> DatasetWriter<'a> {
    /// Begins a dataset in a folder that is empty or is created; if `is_append`, in any dataset.
    pub(super) fn open(
        folder: &Path,
        is_append: bool,
        messages: &[SelectedMessage<'a>],
    ) -> Result<Self, Failure> {
        let place = DatasetFolder::open(folder, is_append).map_err(explain)?;
        for name in place.leftovers() {
            say(&format!(
                "warning: {}: unfinished files of another run, which is still running or was killed; if it was killed, \
                 delete this folder, and files whose names begin with part-{}",
                folder.join(name).display(),
                name.rsplit('-').next().unwrap_or_default(),
            ));
        }
        let messages = messages
            .iter()
            .map(|message| DatasetMessage::new(message.definition(), message.signals()));
        let dataset = SignalDataset::new(place, messages.collect()).map_err(explain)?;
        Ok(Self {
            folder: folder.to_owned(),
            dataset,
        })
    }

    /// Adds a frame of the message with this index.
    pub(super) fn add(
        &mut self,
        logged: &LoggedFrame,
        message: usize,
        payload: &[u8],
    ) -> Result<(), Failure> {
        let frame = DatasetFrame {
            stamp: logged.ns,
            port: logged.interface.as_str(),
            payload,
        };
        self.dataset.add(message, frame).map_err(explain)
    }

    /// Completes the dataset; returns the number of values that are absent because their frames are
    /// too short, and a line for the user.
    pub(super) fn finish(self) -> Result<(u64, String), Failure> {
        let done = self.dataset.finish().map_err(explain)?;
        let files = if done.parts == 1 { "file" } else { "files" };
        let line = format!(
            "{}: {} rows added in {} {files}, {} bytes\n",
            self.folder.display(),
            done.rows,
            done.parts,
            done.bytes
        );
        Ok((done.too_short, line))
    }
}

fn explain(error: DatasetError) -> Failure {
    match error {
        DatasetError::Occupied { .. } => Failure::input(format!(
            "{error}; name another folder, or give --append to add to the dataset in this one"
        )),
        DatasetError::Foreign { .. } => Failure::input(format!("{error}; name another folder")),
        DatasetError::File { verb, path, source } if source.kind() == ErrorKind::NotADirectory => {
            Failure::Run(format!(
                "cannot {verb} {}: a file has this name or that of a folder above",
                path.display()
            ))
        }
        DatasetError::File { verb, path, source } if source.kind() == ErrorKind::AlreadyExists => {
            Failure::Run(format!(
                "cannot {verb} {}: a file has this name",
                path.display()
            ))
        }
        DatasetError::File { verb, path, source } => match Failure::file(verb, &path, &source) {
            // A folder of the dataset is not an input.
            Failure::Input(text) => Failure::Run(text),
            failure => failure,
        },
        DatasetError::Name { .. } | DatasetError::Ports => Failure::input(error),
        DatasetError::Encode(_) => Failure::run(error),
    }
}
