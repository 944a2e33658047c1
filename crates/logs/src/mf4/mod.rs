//! Bus logging in ASAM MDF 4 (MF4), finished or not.
//!
//! ```text
//! file ──► blocks ──► groups, channels ──► records ──► frames in the order of their times
//!          (block)    (group, channel)     (records,   (store)
//!                                           data)
//! ```
//!
//! The links between the blocks of a file point forward and back, and each group of records has its
//! own order of time. So the whole file is read into memory, up to [`MOST_BYTES`], before its first
//! frame is returned. This makes pipes and packed files readable as any other.
//!
//! The layouts are those of ASAM MDF 4.1 to 4.2; the names of the members of a frame are those of
//! its associated standard for bus logging.

mod block;
mod channel;
mod data;
mod faults;
mod group;
mod plan;
mod records;
mod store;

use crate::bad::LogFault;
use crate::pcap::{HeadVerdict, NextBlock};
use block::{Blocks, CUT};
use faults::FaultList;
use frame::FrameBuf;
use store::FrameStore;

/// The largest file that is read, in bytes: 1 GiB.
pub(crate) const MOST_BYTES: usize = 1 << 30;

/// Size in bytes of the block with which a file begins.
const ID_BLOCK: usize = 64;

const TOO_LARGE: LogFault = LogFault::Said(
    "an MF4 file of more than 1 GiB, which would be read into memory: cut it into several files \
     (asammdf can)",
);

/// Records of an MF4 file that are not classic or FD frames, but of another bus, for example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassedRecords {
    /// The name of their group.
    pub name: String,
    /// Number of records.
    pub records: u64,
}

impl PassedRecords {
    /// Returns a sentence for a user. `log`: the name of the log.
    #[must_use]
    pub fn remark(&self, log: &str) -> String {
        let Self { name, records } = self;
        format!("{log}: {records} records of {name} are not classic or FD frames and were left out")
    }
}

/// Examines the beginning of a log.
pub(crate) fn begins(head: &[u8]) -> HeadVerdict {
    let is_mdf = head.starts_with(b"MDF ") || head.starts_with(b"UnFinMF ");
    // The version follows the 8 bytes of the name.
    match head.get(8) {
        _ if !is_mdf => HeadVerdict::Other,
        Some(b'4') if head.len() >= ID_BLOCK => HeadVerdict::Yes,
        Some(b'4') | None => HeadVerdict::More,
        Some(_) => HeadVerdict::Other,
    }
}

/// A reader of MF4.
#[derive(Default)]
pub(crate) struct Mf4Reader {
    file: Vec<u8>,
    loaded: bool,
    /// The input breaks off, which the caller reports.
    torn: bool,
    /// The place of what was returned last.
    place: u64,
    /// Nothing can be read.
    lost: Option<LogFault>,
    frames: FrameStore,
    faults: FaultList,
    passed: Vec<PassedRecords>,
}

impl Mf4Reader {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Returns whether the whole file was read, so that [`Mf4Reader::block`] returns its frames.
    pub(crate) const fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// Returns the place of what [`Mf4Reader::block`] returned last.
    pub(crate) const fn place(&self) -> u64 {
        self.place
    }

    /// Notifies the reader that the input breaks off, so that it does not report it, too.
    pub(crate) const fn tear(&mut self) {
        self.torn = true;
    }

    /// Takes the bytes of `head`; returns their number. `last`: no more will follow.
    pub(crate) fn collect(&mut self, head: &[u8], last: bool) -> usize {
        if self.loaded {
            return 0;
        }
        if self.file.len() + head.len() > MOST_BYTES {
            self.lost = Some(TOO_LARGE);
            self.loaded = true;
        }
        if self.lost.is_none() {
            self.file.extend_from_slice(head);
        }
        if last && !self.loaded {
            self.loaded = true;
            let file = std::mem::take(&mut self.file);
            self.load(&file);
            if self.torn {
                self.faults.forget(CUT);
            }
        }
        head.len()
    }

    fn load(&mut self, file: &[u8]) {
        let Some(blocks) = Blocks::new(file) else {
            self.lost = Some(CUT);
            return;
        };
        let mut records = records::RecordReader {
            blocks: &blocks,
            frames: &mut self.frames,
            faults: &mut self.faults,
            passed: &mut self.passed,
            budget: data::MOST_UNPACKED,
        };
        if let Err(fault) = records.read_all() {
            self.lost = Some(fault);
        }
        self.frames.sort();
    }

    /// Takes the input until its end; then returns the mistakes, and after them the frames.
    pub(crate) fn block(&mut self, head: &[u8], last: bool, frame: &mut FrameBuf) -> NextBlock {
        let taken = self.collect(head, last);
        if taken > 0 || !self.loaded {
            return match taken {
                0 => NextBlock::More,
                taken => NextBlock::Other(taken as u64),
            };
        }
        if let Some(fault) = self.lost.take() {
            return NextBlock::Lost(fault);
        }
        if let Some((place, fault)) = self.faults.take() {
            self.place = place;
            return NextBlock::Bad(0, fault);
        }
        let Some((place, taken)) = self.frames.take(frame) else {
            return NextBlock::More;
        };
        self.place = place;
        match taken {
            Ok(got) => NextBlock::Frame(0, got),
            Err(fault) => NextBlock::Bad(0, fault),
        }
    }

    /// Returns the groups of records that are not frames.
    pub(crate) fn passed_over(&self) -> &[PassedRecords] {
        &self.passed
    }
}
