//! From a log of any format into a file of another one.

use crate::chunk::{Chunk, Gap, Record, Where};
use crate::file::{FileError, Rotate};
use crate::form::Output;
use crate::limits::{Limits, Shortfall};
use crate::names::Names;
use crate::recorder::{Done, Recorder, Remark};
use frame::{FrameBuf, Nanos};
use linux::can::layout::{XL_SIZE, encode};
use port::log::{BadLines, Format, InterfaceName, LogError, LogReader};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

/// As many interfaces can be told apart.
const MOST_INTERFACES: usize = u16::MAX as usize - 2;

/// A conversion that is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'a> {
    /// Where frames are written to.
    pub output: &'a Output,
    /// End at the first bad line, and at the first frame that cannot be written as it was.
    pub strict: bool,
}

/// Frames with the same shortfall.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// How many.
    pub frames: u64,
    /// The first of them: where it stands in the log, and the frame.
    pub first: String,
}

/// What a conversion has done.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The format of what was read.
    pub from: Format,
    /// What was written.
    pub written: Done,
    /// Parts of the log that are no frames.
    pub bad: BadLines,
    /// Frames that the log's own recorder lost, by its own words. The file says so, too.
    pub missing: u64,
    /// What the format that was written cannot say.
    pub shortfalls: BTreeMap<Shortfall, Found>,
}

impl Converted {
    /// Frames of the log that are not in the file.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        let all = self.shortfalls.iter().filter(|(s, _)| s.is_left_out());
        all.map(|(_, found)| found.frames).sum()
    }
}

/// Why a conversion came to nothing.
#[derive(thiserror::Error, Debug)]
pub enum ConvertError {
    /// The log is none, cannot be read to its end, or has a bad line where there may be none.
    #[error(transparent)]
    Log(LogError),
    /// The file cannot be begun.
    #[error(transparent)]
    File(FileError),
    /// The file cannot be written on.
    #[error("cannot write {name}: {why}")]
    Write {
        /// Its name.
        name: String,
        /// Whether whoever read it is gone, and the like.
        kind: Option<io::ErrorKind>,
        /// What the system said.
        why: String,
    },
    /// A frame that cannot be written as it was, where all must be.
    #[error("{first}: such frames would be {shortfall}")]
    Shortfall {
        /// Where it stands, and the frame.
        first: String,
        /// What cannot be said.
        shortfall: Shortfall,
    },
    /// More interfaces than can be told apart.
    #[error("more than {MOST_INTERFACES} interfaces: is this a log?")]
    Interfaces,
}

/// Writes the frames of a log into a file. The log's format is found out before the file is made.
/// What the file's format cannot say of a frame is counted in [`Converted::shortfalls`].
///
/// # Errors
/// [`ConvertError`]; the file has then what was written before.
pub fn convert<R: Read>(
    mut reader: LogReader<R>,
    conversion: &Conversion<'_>,
) -> Result<Converted, ConvertError> {
    let output = conversion.output;
    let from = reader.recognise().map_err(ConvertError::Log)?;
    let mut places = Places::default();
    let mut recorder = Recorder::new(output, Rotate::default(), &places.names, 0, false)
        .map_err(ConvertError::File)?;
    let mut limits = Limits::of(output);
    let mut shortfalls = BTreeMap::<Shortfall, Found>::new();
    let (mut chunk, mut frame) = (Chunk::with_room(), FrameBuf::new());
    let mut bytes = [0; XL_SIZE];
    let (mut missing, mut last) = (0, 0);
    loop {
        let logged = match reader.read(&mut frame) {
            Ok(None) => {
                missing += losses(&mut reader, &mut places, last, &mut chunk)?;
                break;
            }
            Ok(Some(logged)) => logged,
            // It is counted by the reader.
            Err(LogError::Bad { .. }) if !conversion.strict => continue,
            Err(error) => return Err(ConvertError::Log(error)),
        };
        last = logged.ns;
        missing += losses(&mut reader, &mut places, last, &mut chunk)?;
        let view = frame.view();
        // The longest frame of all fits.
        let len = encode(view, &mut bytes).unwrap_or_default();
        let record = Record {
            stamp: logged.ns,
            interface: places
                .of(logged.interface)
                .ok_or(ConvertError::Interfaces)?,
            direction: logged.direction,
            bytes: bytes.get(..len).unwrap_or_default(),
        };
        let mut left_out = false;
        let commented = (logged.comments > 0).then_some(Shortfall::Comment);
        for shortfall in limits
            .shortfalls(&record, &view)
            .into_iter()
            .chain(commented)
        {
            left_out |= shortfall.is_left_out();
            let first = || format!("{}: {} {view}", logged.place, logged.interface);
            if conversion.strict {
                let first = first();
                return Err(ConvertError::Shortfall { first, shortfall });
            }
            let found = shortfalls.entry(shortfall).or_insert_with(|| Found {
                frames: 0,
                first: first(),
            });
            found.frames += 1;
        }
        if left_out {
            continue;
        }
        if !chunk.has_room() {
            take(&mut recorder, &mut chunk, output)?;
        }
        chunk.push(&record);
    }
    take(&mut recorder, &mut chunk, output)?;
    recorder.end();
    check(&mut recorder, output)?;
    Ok(Converted {
        from,
        written: recorder.done().clone(),
        bad: reader.bad().clone(),
        missing,
        shortfalls,
    })
}

/// What is missing before the next entry, by the log's own words; how many frames.
fn losses<R: Read>(
    reader: &mut LogReader<R>,
    places: &mut Places,
    stamp: Nanos,
    chunk: &mut Chunk,
) -> Result<u64, ConvertError> {
    let mut all = 0_u64;
    for missing in reader.take_missing() {
        all = all.saturating_add(missing.frames);
        let interface = match missing.interface {
            Some(name) => Some(places.of(name).ok_or(ConvertError::Interfaces)?),
            None => None,
        };
        chunk.push_gap(&Gap {
            stamp,
            interface,
            frames: missing.frames,
            at: Where::Log,
        });
    }
    Ok(all)
}

fn take(recorder: &mut Recorder, chunk: &mut Chunk, output: &Output) -> Result<(), ConvertError> {
    recorder.take(chunk, 0);
    chunk.clear();
    check(recorder, output)
}

/// A conversion has no sense in going on where a recording has.
fn check(recorder: &mut Recorder, output: &Output) -> Result<(), ConvertError> {
    let failed = recorder
        .take_remarks()
        .into_iter()
        .find_map(|remark| match remark {
            Remark::Failing(why) => Some(why),
            _ => None,
        });
    let done = recorder.done();
    let missing: u64 = done.no_frames.iter().chain(&done.lost).sum();
    match failed {
        None if missing == 0 => Ok(()),
        // No shortfall said so before: what is missing is said all the same.
        None => Err(ConvertError::Write {
            name: output.path.display().to_string(),
            kind: None,
            why: format!("{missing} frames could not be written in this format"),
        }),
        Some(why) => Err(ConvertError::Write {
            name: output.path.display().to_string(),
            kind: done.ended,
            why,
        }),
    }
}

/// The places of interfaces in [`Names`].
#[derive(Default)]
struct Places {
    names: Names,
    known: HashMap<InterfaceName, u16>,
}

impl Places {
    fn of(&mut self, name: InterfaceName) -> Option<u16> {
        if let Some(place) = self.known.get(&name) {
            return Some(*place);
        }
        if self.known.len() >= MOST_INTERFACES {
            return None;
        }
        let place = self.names.place(name.as_str());
        self.known.insert(name, place);
        Some(place)
    }
}
