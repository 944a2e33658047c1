//! The writer of a dataset.

use super::folder::{DatasetFolder, FinishedPart};
use super::frames::FrameBuffer;
use super::hive;
use super::message::DatasetMessage;
use super::part::{PartCounts, PartFile};
use super::{DatasetError, MAX_PORTS};
use frame::Nanos;
use parquet::data_type::ByteArray;
use std::collections::{BTreeMap, HashMap};

/// The bytes that frames may take until some are written.
const MOST_BYTES: usize = 64 << 20;

/// The number of frames of a message and day that are written at once: the most rows that a signal
/// has in a row group.
const MOST_FRAMES: usize = 1 << 17;

/// The most bytes of these frames.
const MOST_FRAME_BYTES: usize = 16 << 20;

/// The most unfinished files. A log in the order of its times needs one for each message.
const MOST_PARTS: usize = 4096;

/// The most row groups of unfinished files. Their descriptions stay in memory until the footer.
const MOST_GROUPS: usize = 8192;

/// The size from which a file is completed, and another one begins.
const LARGE_PART: u64 = 1 << 30;

/// Limits of what a dataset keeps in memory.
#[derive(Clone, Copy)]
struct DatasetLimits {
    bytes: usize,
    frames: usize,
    parts: usize,
    groups: usize,
    part: u64,
}

/// A frame of one of the dataset's messages.
#[derive(Clone, Copy, Debug)]
pub struct DatasetFrame<'a> {
    /// Its time stamp, nanoseconds since 1970.
    pub stamp: Nanos,
    /// The name of its interface.
    pub port: &'a str,
    /// Its payload.
    pub payload: &'a [u8],
}

/// Counts of the rows and files that were written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DatasetSummary {
    /// Number of rows.
    pub rows: u64,
    /// Number of files.
    pub parts: u64,
    /// Their size, bytes.
    pub bytes: u64,
    /// Number of values that are absent because their frames are too short.
    pub too_short: u64,
}

/// A dataset that is being written.
///
/// Frames wait in memory, at most 64 MiB of them, and are then decoded and appended to the
/// unfinished files. If it is dropped before [`finish`](SignalDataset::finish), nothing of it
/// remains.
///
/// ```
/// use capture::dataset::{DatasetFolder, DatasetFrame, DatasetMessage, SignalDataset};
///
/// let folder = tempfile::tempdir().unwrap();
/// let text = "BU_: A\nBO_ 256 M: 8 A\n SG_ Speed : 0|8@1+ (0.5,0) [0|0] \"km/h\" A\n";
/// let database = signals::dbc::read(text.as_bytes()).unwrap();
/// let messages = vec![DatasetMessage::new(&database.messages[0], &[0])];
/// let place = DatasetFolder::open(folder.path(), false).unwrap();
/// let mut dataset = SignalDataset::new(place, messages).unwrap();
/// let frame = DatasetFrame { stamp: 1_795_651_200_000_000_000, port: "can0", payload: &[25] };
/// dataset.add(0, frame).unwrap();
/// assert_eq!(dataset.finish().unwrap().rows, 1);
/// assert!(folder.path().join("day=2026-11-26/message=M/part-0.parquet").exists());
/// ```
pub struct SignalDataset<'a> {
    folder: DatasetFolder,
    messages: Vec<DatasetMessage<'a>>,
    /// The partitions of each message, by their days.
    partitions: Vec<BTreeMap<u32, Partition>>,
    ports: PortNames,
    finished: Vec<FinishedPart>,
    summary: DatasetSummary,
    limits: DatasetLimits,
    /// The bytes that frames take.
    bytes: usize,
    /// Number of partitions.
    open: usize,
    /// Number of row groups of unfinished files.
    groups: usize,
    /// Number of frames so far.
    frames: u64,
}

/// The frames of one day and message, and the file that they are written into.
struct Partition {
    frames: FrameBuffer,
    part: PartFile,
    /// Number of frames when the last one came.
    last: u64,
}

impl<'a> SignalDataset<'a> {
    /// Begins a dataset of these messages.
    ///
    /// # Errors
    /// [`DatasetError::Name`].
    pub fn new(
        folder: DatasetFolder,
        messages: Vec<DatasetMessage<'a>>,
    ) -> Result<Self, DatasetError> {
        let limits = DatasetLimits {
            bytes: MOST_BYTES,
            frames: MOST_FRAMES,
            parts: MOST_PARTS,
            groups: MOST_GROUPS,
            part: LARGE_PART,
        };
        Self::limited(folder, messages, limits)
    }

    fn limited(
        folder: DatasetFolder,
        messages: Vec<DatasetMessage<'a>>,
        limits: DatasetLimits,
    ) -> Result<Self, DatasetError> {
        for message in &messages {
            let name = &message.definition.name;
            DatasetFolder::check_name(name, &hive::message_name(name))?;
        }
        Ok(Self {
            folder,
            partitions: messages.iter().map(|_| BTreeMap::new()).collect(),
            messages,
            ports: PortNames::default(),
            finished: Vec::new(),
            summary: DatasetSummary::default(),
            limits,
            bytes: 0,
            open: 0,
            groups: 0,
            frames: 0,
        })
    }

    /// Adds a frame of the message with this index.
    ///
    /// # Errors
    /// [`DatasetError`] if rows could not be written. The dataset must then be dropped.
    ///
    /// # Panics
    /// If there is no message of this index.
    pub fn add(&mut self, message: usize, frame: DatasetFrame<'_>) -> Result<(), DatasetError> {
        let port = self.ports.number(frame.port)?;
        let day = hive::day_of(frame.stamp);
        self.frames += 1;
        if !self.partitions[message].contains_key(&day) {
            self.begin(message, day)?;
        }
        let Some(partition) = self.partitions[message].get_mut(&day) else {
            return Ok(());
        };
        partition.last = self.frames;
        let frames = &mut partition.frames;
        self.bytes += frames.push(frame.stamp, port, frame.payload);
        if frames.len() >= self.limits.frames || frames.bytes() >= MOST_FRAME_BYTES {
            self.write(message, day)?;
        } else if self.bytes >= self.limits.bytes {
            self.write_largest()?;
        }
        Ok(())
    }

    /// Writes all frames, completes the files, and gives them their places.
    ///
    /// # Errors
    /// [`DatasetError`]; nothing of the dataset remains then.
    pub fn finish(mut self) -> Result<DatasetSummary, DatasetError> {
        for message in 0..self.partitions.len() {
            while let Some(day) = self.partitions[message].keys().next().copied() {
                self.complete(message, day)?;
            }
        }
        self.folder.place(&self.finished)?;
        Ok(self.summary)
    }

    fn begin(&mut self, message: usize, day: u32) -> Result<(), DatasetError> {
        if self.open >= self.limits.parts {
            let oldest = self
                .partitions()
                .min_by_key(|(_, partition)| partition.last);
            if let Some(((message, day), _)) = oldest {
                self.complete(message, day)?;
            }
        }
        let partition = Partition {
            frames: FrameBuffer::default(),
            part: PartFile::new(self.folder.next_file())?,
            last: self.frames,
        };
        self.partitions[message].insert(day, partition);
        self.open += 1;
        Ok(())
    }

    /// Returns all partitions with the indices of their messages and with their days.
    fn partitions(&self) -> impl Iterator<Item = ((usize, u32), &Partition)> {
        let all = self.partitions.iter().enumerate();
        all.flat_map(|(message, days)| {
            let days = days.iter();
            days.map(move |(day, partition)| ((message, *day), partition))
        })
    }

    fn write_largest(&mut self) -> Result<(), DatasetError> {
        let largest = self
            .partitions()
            .max_by_key(|(_, partition)| partition.frames.bytes());
        match largest {
            Some(((message, day), _)) => self.write(message, day),
            None => Ok(()),
        }
    }

    /// Writes the frames of a partition, and completes files that have become too large.
    fn write(&mut self, message: usize, day: u32) -> Result<(), DatasetError> {
        let Some(partition) = self.partitions[message].get_mut(&day) else {
            return Ok(());
        };
        let frames = std::mem::take(&mut partition.frames);
        self.bytes -= frames.bytes();
        self.groups -= partition.part.groups();
        partition
            .part
            .write(&self.messages[message], &frames, &self.ports.names)?;
        self.groups += partition.part.groups();
        if partition.part.bytes() >= self.limits.part {
            self.complete(message, day)?;
        }
        while self.groups > self.limits.groups {
            let most = self
                .partitions()
                .max_by_key(|(_, partition)| partition.part.groups());
            let Some(((message, day), _)) = most else {
                break;
            };
            self.complete(message, day)?;
        }
        Ok(())
    }

    /// Completes the file of a partition, which ends the partition.
    fn complete(&mut self, message: usize, day: u32) -> Result<(), DatasetError> {
        let Some(mut partition) = self.partitions[message].remove(&day) else {
            return Ok(());
        };
        self.open -= 1;
        self.bytes -= partition.frames.bytes();
        self.groups -= partition.part.groups();
        partition.part.write(
            &self.messages[message],
            &partition.frames,
            &self.ports.names,
        )?;
        let (counts, path) = partition.part.finish()?;
        self.count(counts);
        if let Some(path) = path {
            self.summary.parts += 1;
            self.finished.push(FinishedPart {
                path,
                day: hive::day_name(day),
                message: hive::message_name(&self.messages[message].definition.name),
            });
        }
        Ok(())
    }

    fn count(&mut self, counts: PartCounts) {
        self.summary.rows += counts.rows;
        self.summary.bytes += counts.bytes;
        self.summary.too_short += counts.too_short;
    }
}

/// The names of ports, by their numbers.
#[derive(Default)]
struct PortNames {
    names: Vec<ByteArray>,
    numbers: HashMap<String, u16>,
    /// The port of the frame before, which most frames share.
    last: (String, u16),
}

impl PortNames {
    fn number(&mut self, name: &str) -> Result<u16, DatasetError> {
        if self.last.0 == name && !self.names.is_empty() {
            return Ok(self.last.1);
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
                if usize::from(number) >= MAX_PORTS {
                    return Err(DatasetError::Ports);
                }
                self.names.push(ByteArray::from(name));
                self.numbers.insert(name.to_owned(), number);
                number
            }
        };
        name.clone_into(&mut self.last.0);
        self.last.1 = number;
        Ok(number)
    }
}

#[cfg(test)]
mod tests;
