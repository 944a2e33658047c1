//! Conversion of a log of any format into a file of another format.

use crate::chunk::{Chunk, FrameGap, LossPlace, RecordedFrame};
use crate::file::{FileError, RotationRule};
use crate::form::CaptureOutput;
use crate::names::InterfaceNames;
use crate::recorder::{FileRecorder, RecorderRemark, RecorderTotals};
use frame::{FrameBuf, Nanos};
use linux::can::layout::{XL_SIZE, encode};
use logs::{
    BadLines, FileFormat, FormatLimits, FrameEntry, InterfaceName, LogError, LogReader,
    PassedRecords, Shortfall,
};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

/// Maximum number of interfaces that can be distinguished.
const MOST_INTERFACES: usize = u16::MAX as usize - 2;

/// The settings of a conversion.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'a> {
    /// The output for the frames.
    pub output: &'a CaptureOutput,
    /// End at the first bad line, and at the first frame that cannot be written unchanged.
    pub strict: bool,
}

/// The frames with the same shortfall.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundShortfall {
    /// Number of frames.
    pub frames: u64,
    /// The first of them: its position in the log, and the frame.
    pub first: String,
}

/// The result of a conversion.
#[derive(Clone, Debug)]
pub struct ConversionResult {
    /// The format of the log that was read.
    pub from: FileFormat,
    /// The counts of what was written.
    pub written: RecorderTotals,
    /// Parts of the log that are not frames.
    pub bad: BadLines,
    /// Number of frames that the log's own recorder lost, as the log reports them. The file reports
    /// them, too.
    pub missing: u64,
    /// Records of the log that are not CAN frames, of other buses for example.
    pub passed: Vec<PassedRecords>,
    /// The losses of information that the output format caused.
    pub shortfalls: BTreeMap<Shortfall, FoundShortfall>,
}

impl ConversionResult {
    /// Returns the number of frames of the log that are not in the file.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        let all = self.shortfalls.iter().filter(|(s, _)| s.is_left_out());
        all.map(|(_, found)| found.frames).sum()
    }
}

/// The reason why a conversion failed.
#[derive(thiserror::Error, Debug)]
pub enum ConvertError {
    /// The input is not a log, cannot be read to its end, or has a bad line although none is
    /// allowed.
    #[error(transparent)]
    Log(LogError),
    /// The file cannot be created.
    #[error(transparent)]
    File(FileError),
    /// Writing the file failed.
    #[error("cannot write {name}: {why}")]
    Write {
        /// Its name.
        name: String,
        /// The kind of the error, for example that the reader of a pipe has closed it.
        kind: Option<io::ErrorKind>,
        /// The system's error.
        why: String,
    },
    /// A frame cannot be written unchanged, although all frames must be.
    #[error("{first}: such frames would be {shortfall}")]
    Shortfall {
        /// Its position in the log, and the frame.
        first: String,
        /// The part of the frame that cannot be written.
        shortfall: Shortfall,
    },
    /// More interfaces than can be distinguished.
    #[error("more than {MOST_INTERFACES} interfaces: is this a log?")]
    Interfaces,
}

/// Writes the frames of a log into a file. The log's format is determined before the file is
/// created. Frames that the file's format cannot express completely are counted in
/// [`ConversionResult::shortfalls`].
///
/// # Errors
/// [`ConvertError`]; the file then contains what was written before.
pub fn convert<R: Read>(
    mut reader: LogReader<R>,
    conversion: &Conversion<'_>,
) -> Result<ConversionResult, ConvertError> {
    let output = conversion.output;
    let from = reader.recognise().map_err(ConvertError::Log)?;
    let mut places = InterfacePlaces::default();
    let mut recorder = FileRecorder::new(output, RotationRule::default(), &places.names, 0, false)
        .map_err(ConvertError::File)?;
    let mut limits = FormatLimits::new(output.format, output.options);
    let mut shortfalls = BTreeMap::<Shortfall, FoundShortfall>::new();
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
            // The reader counts it.
            Err(LogError::Bad { .. }) if !conversion.strict => continue,
            Err(error) => return Err(ConvertError::Log(error)),
        };
        last = logged.ns;
        missing += losses(&mut reader, &mut places, last, &mut chunk)?;
        let view = frame.view();
        // The buffer is large enough for the longest frame.
        let len = encode(view, &mut bytes).unwrap_or_default();
        let record = RecordedFrame {
            stamp: logged.ns,
            interface: places
                .find_or_add(logged.interface)
                .ok_or(ConvertError::Interfaces)?,
            direction: logged.direction,
            bytes: bytes.get(..len).unwrap_or_default(),
        };
        let mut left_out = false;
        let commented = (logged.comments > 0).then_some(Shortfall::Comment);
        for shortfall in limits
            .shortfalls(&FrameEntry {
                stamp: logged.ns,
                interface: record.interface,
                name: logged.interface.as_str(),
                direction: logged.direction,
                frame: view,
            })
            .into_iter()
            .chain(commented)
        {
            left_out |= shortfall.is_left_out();
            let first = || format!("{}: {} {view}", logged.place, logged.interface);
            if conversion.strict {
                let first = first();
                return Err(ConvertError::Shortfall { first, shortfall });
            }
            let found = shortfalls
                .entry(shortfall)
                .or_insert_with(|| FoundShortfall {
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
    Ok(ConversionResult {
        from,
        written: recorder.done().clone(),
        bad: reader.bad().clone(),
        missing,
        passed: reader.passed_over().to_vec(),
        shortfalls,
    })
}

/// Adds the losses before the next entry, as the log reports them, and returns the number of
/// frames.
fn losses<R: Read>(
    reader: &mut LogReader<R>,
    places: &mut InterfacePlaces,
    stamp: Nanos,
    chunk: &mut Chunk,
) -> Result<u64, ConvertError> {
    let mut all = 0_u64;
    for missing in reader.take_missing() {
        all = all.saturating_add(missing.frames);
        let interface = match missing.interface {
            Some(name) => Some(places.find_or_add(name).ok_or(ConvertError::Interfaces)?),
            None => None,
        };
        chunk.push_gap(&FrameGap {
            stamp,
            interface,
            frames: missing.frames,
            at: LossPlace::Log,
        });
    }
    Ok(all)
}

fn take(
    recorder: &mut FileRecorder,
    chunk: &mut Chunk,
    output: &CaptureOutput,
) -> Result<(), ConvertError> {
    recorder.take(chunk, 0);
    chunk.clear();
    check(recorder, output)
}

/// Returns an error for failures after which a recording would continue, but a conversion must not.
fn check(recorder: &mut FileRecorder, output: &CaptureOutput) -> Result<(), ConvertError> {
    let failed = recorder
        .take_remarks()
        .into_iter()
        .find_map(|remark| match remark {
            RecorderRemark::Failing(why) => Some(why),
            _ => None,
        });
    let done = recorder.done();
    let missing: u64 = done.no_frames.iter().chain(&done.lost).sum();
    match failed {
        None if missing == 0 => Ok(()),
        // No shortfall has been found before: the missing frames must be reported anyway.
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

/// The indexes of interfaces in [`InterfaceNames`].
#[derive(Default)]
struct InterfacePlaces {
    names: InterfaceNames,
    known: HashMap<InterfaceName, u16>,
}

impl InterfacePlaces {
    fn find_or_add(&mut self, name: InterfaceName) -> Option<u16> {
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
