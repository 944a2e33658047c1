//! Vector BLF, as CANoe and CANalyzer write it.
//!
//! ```text
//! file header, containers ──► BlfReader ──► ObjectBuffer ──► frames
//!                             (unpacks)     (objects may begin in one container
//!                                            and end in the next)
//! ```
//!
//! Vector publishes no description of the format. The layouts are those of its header
//! `binlog_objects.h`, as far as the files of python-can and of Vector's programs agree with it.

mod frames;
mod kinds;
mod objects;

use crate::bad::LogFault;
use crate::byte_order::ByteOrder;
use crate::format::FormatSpec;
use crate::read::{
    BlockReader, FormatReader, FormatReading, FormatRecognition, HeadVerdict, NextBlock,
};
use crate::time;
use flate2::{Decompress, FlushDecompress, Status};
use frame::{FrameBuf, Nanos};
use objects::{LookResult, ObjectBuffer, find_object};

/// Vector BLF, which is only read.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "blf",
    title: "Vector BLF",
    reading: Some(FormatReading {
        contents: "classic and FD frames, error frames, lost events; packed and unpacked containers",
        recognition: FormatRecognition::Bytes(verdict),
        open: |_| FormatReader::Blocks(Box::new(BlfReader::new())),
    }),
    writing: None,
};

/// Size in bytes of the file's header.
const FILE_HEADER: usize = 144;

/// If a file states a longer header than this, its header is damaged.
const LONGEST_HEADER: u64 = 4096;

/// The type of a container, and the size in bytes of its own header behind that of the object.
const LOG_CONTAINER: u32 = 10;
const CONTAINER_HEADER: usize = 16;

/// Number of packed bytes that are unpacked at a time. What a damaged container gives before its
/// damage depends on it, and must not depend on how the input arrives.
const STEP: usize = 1024;

/// Maximum number of bytes that are unpacked at a time.
const PIECE: usize = 32 * 1024;

/// All numbers are little-endian.
const LE: ByteOrder = ByteOrder::Little;

const NO_OBJECT: LogFault =
    LogFault::Said("no object of BLF begins here: reading continues at the next one");
const DAMAGED: LogFault =
    LogFault::Said("a container that cannot be unpacked: reading continues at the next one");
const CUT: LogFault =
    LogFault::Said("the log ends within a container or an object: was it cut off?");
const SHORT: LogFault =
    LogFault::Said("the file is shorter than its header states: was it cut off?");

/// Returns whether a file with this beginning is BLF.
fn verdict(head: &[u8]) -> HeadVerdict {
    match head.len() {
        _ if !head.starts_with(b"LOGG") => HeadVerdict::Other,
        FILE_HEADER.. => HeadVerdict::Yes,
        _ => HeadVerdict::More,
    }
}

/// A container whose content is being read.
struct OpenContainer {
    packed: bool,
    /// Number of its bytes that were not read yet.
    rest: u64,
}

/// A reader of BLF, in bounded memory. Places are positions in the unpacked objects, after the
/// file's header.
struct BlfReader {
    /// The time at which the measurement began; `None` before the file's header was read.
    start: Option<Nanos>,
    /// Size of the file in bytes, as its header states; 0 where it was never completed.
    size: u64,
    /// Number of bytes that were read so far.
    read: u64,
    container: Option<OpenContainer>,
    /// No object began where one was expected: the next one is searched for.
    searching: bool,
    /// The input breaks off, which the caller reports.
    torn: bool,
    /// The place of what was returned last.
    place: u64,
    inflater: Decompress,
    piece: Box<[u8]>,
    objects: ObjectBuffer,
}

impl BlfReader {
    fn new() -> Self {
        Self {
            start: None,
            size: 0,
            read: 0,
            container: None,
            searching: false,
            torn: false,
            place: 0,
            inflater: Decompress::new(true),
            piece: vec![0; PIECE].into_boxed_slice(),
            objects: ObjectBuffer::default(),
        }
    }

    /// Reads the file's header.
    fn begin(&mut self, head: &[u8]) -> NextBlock {
        let (Some(size), Some(file_size)) = (LE.u32(head, 4), LE.u64(head, 16)) else {
            return NextBlock::More;
        };
        let size = u64::from(size);
        if !(FILE_HEADER as u64..=LONGEST_HEADER).contains(&size) {
            return NextBlock::Lost(LogFault::Said("the file's header has an impossible size"));
        }
        // Python-can writes zeros where it does not know the date.
        self.start = Some(system_time(head, 40).unwrap_or(0));
        self.size = file_size;
        self.read = size;
        self.objects.begin(size);
        NextBlock::Other(size)
    }

    /// Opens the object at the beginning of `head`. An object outside of a container is read as if
    /// it were in one.
    fn open(&mut self, head: &[u8], last: bool) -> NextBlock {
        // Fewer bytes than an object's header: padding of the last object.
        if last && head.len() < 8 && head.iter().all(|b| *b == 0) {
            return match head.len() {
                0 => NextBlock::More,
                n => NextBlock::Other(n as u64),
            };
        }
        let object = match find_object(head, self.searching) {
            LookResult::More => return NextBlock::More,
            LookResult::Skip(bytes) => return NextBlock::Other(bytes as u64),
            LookResult::Nothing(bytes) => {
                self.searching = true;
                return NextBlock::Bad(bytes as u64, NO_OBJECT);
            }
            LookResult::At(0, object) => object,
            // Its header may not be complete yet: it is found again at the beginning.
            LookResult::At(at, _) => {
                self.searching = false;
                return NextBlock::Other(at as u64);
            }
        };
        self.searching = false;
        if object.kind != LOG_CONTAINER {
            self.container = Some(OpenContainer {
                packed: false,
                rest: u64::from(object.size),
            });
            return NextBlock::Other(0);
        }
        let data = object.header_size + CONTAINER_HEADER;
        let Some(rest) = u64::from(object.size).checked_sub(data as u64) else {
            self.searching = true;
            return NextBlock::Bad(4, NO_OBJECT);
        };
        if head.len() < data {
            return NextBlock::More;
        }
        let method = LE.u16(head, object.header_size);
        if !matches!(method, Some(0 | 2)) {
            self.objects.damage();
            let all = u64::from(object.size);
            return NextBlock::Bad(
                all,
                LogFault::Unknown(
                    "a container of compression method",
                    method.unwrap_or(0).into(),
                ),
            );
        }
        self.inflater.reset(true);
        self.container = Some(OpenContainer {
            packed: method == Some(2),
            rest,
        });
        NextBlock::Other(data as u64)
    }

    /// Hands over a piece of the open container, which is not packed, to the objects.
    fn copy(&mut self, head: &[u8]) -> NextBlock {
        let Some(container) = &mut self.container else {
            return NextBlock::Other(0);
        };
        let most = usize::try_from(container.rest).unwrap_or(usize::MAX);
        let input = head.get(..most.min(PIECE)).unwrap_or(head);
        container.rest -= input.len() as u64;
        self.objects.push(input);
        if container.rest == 0 {
            self.container = None;
        } else if input.is_empty() {
            return NextBlock::More;
        }
        NextBlock::Other(input.len() as u64)
    }

    /// Unpacks a piece of the open container for the objects.
    fn unpack(&mut self, head: &[u8], last: bool) -> NextBlock {
        let Some(container) = &mut self.container else {
            return NextBlock::Other(0);
        };
        let most = usize::try_from(container.rest).unwrap_or(usize::MAX);
        let step = most.min(STEP);
        if head.len() < step && (!last || head.is_empty()) {
            return NextBlock::More;
        }
        let input = head.get(..step).unwrap_or(head);
        let before = (self.inflater.total_in(), self.inflater.total_out());
        let flush = FlushDecompress::None;
        let status = self.inflater.decompress(input, &mut self.piece, flush);
        let used = self.inflater.total_in() - before.0;
        let made = (self.inflater.total_out() - before.1) as usize;
        self.objects
            .push(self.piece.get(..made).unwrap_or_default());
        container.rest = container.rest.saturating_sub(used);
        let rest = used + container.rest;
        match status {
            Ok(Status::StreamEnd) => {
                self.container = None;
                NextBlock::Other(rest)
            }
            Ok(_) if used > 0 || made > 0 => NextBlock::Other(used),
            _ => {
                self.container = None;
                self.objects.damage();
                NextBlock::Bad(rest, DAMAGED)
            }
        }
    }

    /// Reports, once, that the input ends too early.
    fn end(&mut self, head: &[u8]) -> NextBlock {
        let short = std::mem::take(&mut self.size) > self.read;
        let open = self.container.take().is_some();
        let part = self.objects.end();
        if self.torn || !head.is_empty() {
            // The scanner reports the bytes that are left.
            NextBlock::More
        } else if part || open {
            NextBlock::Bad(0, CUT)
        } else if short {
            NextBlock::Bad(0, SHORT)
        } else {
            NextBlock::More
        }
    }
}

impl BlockReader for BlfReader {
    fn block(&mut self, head: &[u8], last: bool, frame: &mut FrameBuf) -> NextBlock {
        let Some(start) = self.start else {
            return self.begin(head);
        };
        if let Some((place, block)) = self.objects.next(start, frame) {
            self.place = place;
            return block;
        }
        self.place = self.objects.unpacked();
        let block = match &self.container {
            Some(container) if container.packed => self.unpack(head, last),
            Some(_) => self.copy(head),
            None => self.open(head, last),
        };
        if let NextBlock::Other(size) | NextBlock::Bad(size, _) = block {
            self.read += size;
        }
        match block {
            NextBlock::More if last => self.end(head),
            block => block,
        }
    }

    fn place(&self) -> Option<u64> {
        Some(self.place)
    }

    fn tear(&mut self) {
        self.torn = true;
    }
}

/// Reads a date of Windows (`SYSTEMTIME`), which has milliseconds. Vector's programs write the
/// local time of the recording computer, without its time zone.
fn system_time(head: &[u8], at: usize) -> Option<Nanos> {
    let field = |n: usize| LE.u16(head, at + 2 * n).map(u32::from);
    // The field 2 is the day of the week.
    let day = time::day(field(0)?, field(1)?, field(3)?)?;
    let (hour, minute, second, ms) = (field(4)?, field(5)?, field(6)?, field(7)?);
    let valid = hour < 24 && minute < 60 && second <= 60 && ms < 1000;
    let seconds = Nanos::from(hour * 3600 + minute * 60 + second);
    valid.then_some(day + seconds * 1_000_000_000 + Nanos::from(ms) * 1_000_000)
}
