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
use crate::format::FormatSpec;
use crate::read::{
    BlockReader, FormatReader, FormatReading, FormatRecognition, HeadVerdict, NextBlock,
    PassedRecords,
};
use block::{Blocks, CUT};
use faults::FaultList;
use frame::FrameBuf;
use store::FrameStore;

/// ASAM MF4, which is only read.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "mf4",
    title: "ASAM MF4",
    reading: Some(FormatReading {
        contents: "the bus logging of MDF 4.0 to 4.2: classic and FD frames, error frames; sorted, \
                   unsorted, by columns, packed, unfinished",
        recognition: FormatRecognition::Bytes(verdict),
        open: |_| FormatReader::Blocks(Box::<Mf4Reader>::default()),
    }),
    writing: None,
};

/// The largest file that is read, in bytes: 1 GiB.
const MOST_BYTES: usize = 1 << 30;

/// Size in bytes of the block with which a file begins.
const ID_BLOCK: usize = 64;

const TOO_LARGE: LogFault = LogFault::Said(
    "an MF4 file of more than 1 GiB, which would be read into memory: cut it into several files \
     (asammdf can)",
);

/// Returns whether a file with this beginning is MDF 4.
fn verdict(head: &[u8]) -> HeadVerdict {
    let is_mdf = head.starts_with(b"MDF ") || head.starts_with(b"UnFinMF ");
    // The version follows the 8 bytes of the name.
    match head.get(8) {
        _ if !is_mdf => HeadVerdict::Other,
        Some(b'4') if head.len() >= ID_BLOCK => HeadVerdict::Yes,
        Some(b'4') | None => HeadVerdict::More,
        Some(_) => HeadVerdict::Variant(
            "ASAM MDF of another version than 4",
            "write it as MDF 4 with another program, such as asammdf",
        ),
    }
}

/// A reader of MF4.
#[derive(Default)]
struct Mf4Reader {
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
            budget: data::MAX_UNPACKED,
        };
        if let Err(fault) = records.read_all() {
            self.lost = Some(fault);
        }
        self.frames.sort();
    }
}

impl BlockReader for Mf4Reader {
    fn collect(&mut self, head: &[u8], last: bool) -> Option<usize> {
        if self.loaded {
            return None;
        }
        if self.file.len() + head.len() > MOST_BYTES {
            self.file = Vec::new();
            self.lost = Some(TOO_LARGE);
            self.loaded = true;
            return None;
        }
        self.file.extend_from_slice(head);
        if last {
            self.loaded = true;
            let file = std::mem::take(&mut self.file);
            self.load(&file);
            if self.torn {
                self.faults.forget(CUT);
            }
        }
        Some(head.len())
    }

    /// Returns the mistakes, and after them the frames.
    fn block(&mut self, _: &[u8], _: bool, frame: &mut FrameBuf) -> NextBlock {
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

    fn place(&self) -> Option<u64> {
        Some(self.place)
    }

    fn tear(&mut self) {
        self.torn = true;
    }

    fn passed_over(&self) -> &[PassedRecords] {
        &self.passed
    }
}
