//! The traffic of the demo's testers: the SAE class C messages, or a log.

use crate::error::Error;
use crate::progress::DemoProgress;
use frame::{Frame, FrameBuf, Kind, Nanos};
use port::log::{FileFormat, InterfaceName, LogError, LogReader, loss_words};
use probe::traffic::{ReplayTraffic, SetSchedule, TrafficRelease, TrafficSource, sae_class_c};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

/// The subsystems of the SAE benchmark that the demo puts on the second bus.
const SECOND_BUS: &[&str] = &["instrument panel", "driver input"];

/// The number of nodes on each bus to which the identifiers of a log are assigned: the number of
/// electronic control units in a car is of this order.
const LOG_NODES: u16 = 32;

/// A release and its bus.
pub(crate) struct BusRelease {
    pub(crate) bus: usize,
    pub(crate) release: TrafficRelease,
}

/// Frames for the testers, in order of time.
pub(crate) enum TesterSource {
    Sae {
        schedule: Box<SetSchedule>,
        end: Nanos,
        bus_of: Vec<usize>,
        words: String,
    },
    Log(Box<LogSource>),
}

impl TesterSource {
    /// Returns the SAE class C messages for `end` ns.
    pub(crate) fn sae(seed: u64, end: Nanos, buses: usize) -> Result<Self, Error> {
        let set = sae_class_c();
        let second = buses.saturating_sub(1).min(1);
        let bus_of = set
            .nodes
            .iter()
            .map(|n| if SECOND_BUS.contains(n) { second } else { 0 });
        let bus_of = bus_of.collect();
        let schedule = SetSchedule::new(&set, seed, end).map_err(Error::scene)?;
        let words = format!("{}: {}", set.name, set.source);
        Ok(Self::Sae {
            schedule: Box::new(schedule),
            end,
            bus_of,
            words,
        })
    }

    /// Opens a log. An interface that has the name of a bus is assigned to it; the others are
    /// assigned to the remaining buses, in the order in which they appear. `buses`: their names,
    /// and whether each carries FD frames.
    pub(crate) fn log(
        path: &Path,
        buses: Vec<(String, bool)>,
        strict: bool,
    ) -> Result<Self, Error> {
        let place = if path == Path::new("-") {
            Path::new("/dev/stdin")
        } else {
            path
        };
        let file = File::open(place).map_err(|source| Error::ReadLog {
            path: path.to_owned(),
            source,
        })?;
        let length = file.metadata().map_or(0, |m| m.len());
        let read = Rc::new(Cell::new(0));
        let counted = CountedFile {
            file,
            read: Rc::clone(&read),
        };
        let mut reader = LogReader::new(counted, path.display().to_string());
        // A file that is not a log is reported before anything is created from it.
        let format = reader.recognise().map_err(Error::Log)?;
        let shared = Rc::new(RefCell::new(LogState {
            reader,
            interfaces: vec![None; buses.len()],
            on: buses,
            strict,
            buses: VecDeque::new(),
            left_out: BTreeMap::new(),
            frames: 0,
            failure: None,
            buf: FrameBuf::new(),
        }));
        let frames = LogFrames(Rc::clone(&shared));
        let replay = ReplayTraffic::new(frames, 0, LOG_NODES);
        Ok(Self::Log(Box::new(LogSource {
            replay,
            shared,
            read,
            length,
            format,
        })))
    }

    /// Returns the next frame to send.
    pub(crate) fn next(&mut self) -> Result<Option<BusRelease>, Error> {
        match self {
            Self::Sae {
                schedule, bus_of, ..
            } => Ok(schedule.next().map(|release| BusRelease {
                bus: bus_of.get(usize::from(release.node)).copied().unwrap_or(0),
                release,
            })),
            Self::Log(log) => {
                let release = log.replay.next();
                let mut state = log.shared.borrow_mut();
                if let Some(failure) = state.failure.take() {
                    return Err(failure);
                }
                let bus = state.buses.pop_front().unwrap_or(0);
                Ok(release.map(|release| BusRelease { bus, release }))
            }
        }
    }

    /// Returns the progress of the run at bus time `now`.
    pub(crate) fn progress(&self, now: Nanos) -> DemoProgress {
        match self {
            Self::Sae { end, .. } => DemoProgress {
                done: now.min(*end),
                of: *end,
            },
            Self::Log(log) => DemoProgress {
                done: log.read.get(),
                of: log.length,
            },
        }
    }

    /// Describes the traffic, for people.
    pub(crate) fn words(&self, path: Option<&Path>) -> String {
        match (self, path) {
            (Self::Sae { words, .. }, _) => words.clone(),
            (Self::Log(log), Some(path)) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                format!(
                    "replay of the log {} ({}) with its own timing; a log does not record the \
                     bit rate, the gateway file sets the simulated one",
                    name.to_string_lossy(),
                    log.format
                )
            }
            (Self::Log(_), None) => String::new(),
        }
    }

    /// Returns the account of a log, once it has been read.
    pub(crate) fn log_account(&self) -> Option<LogAccount> {
        let Self::Log(log) = self else { return None };
        let state = log.shared.borrow();
        let bad = state.reader.bad();
        let passed = state.reader.passed_over().iter();
        Some(LogAccount {
            frames: state.frames,
            left_out: state
                .left_out
                .iter()
                .map(|(why, n)| ((*why).to_owned(), *n))
                .collect(),
            bad_lines: bad.count(),
            missing: state.reader.all_missing(),
            not_frames: passed
                .map(|records| (records.name.clone(), records.records))
                .collect(),
            first_bad: bad.first().iter().map(ToString::to_string).collect(),
            backwards: log.replay.backwards(),
            interfaces: state
                .interfaces
                .iter()
                .flatten()
                .map(|i| i.as_str().to_owned())
                .collect(),
        })
    }
}

/// The account of a log that was read.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LogAccount {
    /// Lines that are frames.
    pub frames: u64,
    /// Frames that no bus here can carry, by reason.
    #[serde(rename = "not_replayed")]
    pub left_out: BTreeMap<String, u64>,
    /// Lines that are not frames.
    pub bad_lines: u64,
    /// The first of these lines, with the reason.
    pub first_bad: Vec<String>,
    /// Frames that are not in the log because its recorder lost them, as the log states.
    pub missing: u64,
    /// Records that are not CAN frames, by the name of their group.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_frames: BTreeMap<String, u64>,
    /// Time stamps that were earlier than that of the line above.
    pub backwards: u64,
    /// Interfaces, in the order of the buses to which they were assigned.
    pub interfaces: Vec<String>,
}

impl LogAccount {
    /// Returns sentences for people on the frames that were not replayed because the log does not
    /// have them, or has something else in their place.
    #[must_use]
    pub fn absent(&self) -> Vec<String> {
        let all = self.not_frames.iter();
        let others = all.map(|(name, records)| {
            format!("Left out: {records} records of {name} are not classic or FD frames.")
        });
        let lost = loss_words(self.missing).map(|words| format!("Not replayed: {words}."));
        others.chain(lost).collect()
    }
}

/// A log that is replayed.
pub(crate) struct LogSource {
    format: FileFormat,
    replay: ReplayTraffic<LogFrames>,
    shared: Rc<RefCell<LogState>>,
    /// The number of bytes read so far.
    read: Rc<Cell<u64>>,
    /// Its length in bytes; 0 if it is not known.
    length: u64,
}

/// A file, and the number of bytes read from it.
struct CountedFile {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for CountedFile {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(into)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

/// The state that the iterator (owned by the replay) and the source share.
struct LogState {
    reader: LogReader<CountedFile>,
    /// The buses: their names, and whether each carries FD frames.
    on: Vec<(String, bool)>,
    strict: bool,
    /// For each bus the interface that was assigned to it.
    interfaces: Vec<Option<InterfaceName>>,
    /// The bus of each frame that the iterator returned and the source has not passed on.
    buses: VecDeque<usize>,
    left_out: BTreeMap<&'static str, u64>,
    frames: u64,
    failure: Option<Error>,
    buf: FrameBuf,
}

struct LogFrames(Rc<RefCell<LogState>>);

impl Iterator for LogFrames {
    type Item = (Nanos, Frame);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.borrow_mut().next_frame()
    }
}

impl LogState {
    fn next_frame(&mut self) -> Option<(Nanos, Frame)> {
        loop {
            let logged = match self.reader.read(&mut self.buf) {
                Ok(None) => return None,
                Ok(Some(logged)) => logged,
                Err(LogError::Bad { .. }) if !self.strict => continue,
                Err(error @ LogError::Bad { .. }) => {
                    self.failure = Some(Error::BadLine(error));
                    return None;
                }
                Err(error) => {
                    self.failure = Some(Error::Log(error));
                    return None;
                }
            };
            self.frames += 1;
            match self.bus_for(logged.interface) {
                Ok((bus, frame)) => {
                    self.buses.push_back(bus);
                    return Some((logged.ns, frame));
                }
                Err(why) => *self.left_out.entry(why).or_default() += 1,
            }
        }
    }

    /// Returns the bus of an interface, and the frame in the buffer, if that bus can carry it.
    fn bus_for(&mut self, interface: InterfaceName) -> Result<(usize, Frame), &'static str> {
        let named = || {
            let name = interface.as_str();
            let mut all = self.on.iter().zip(&self.interfaces);
            all.position(|((bus, _), taken)| bus == name && taken.is_none())
        };
        let known = self.interfaces.iter().position(|i| *i == Some(interface));
        let free = || self.interfaces.iter().position(Option::is_none);
        let bus = known
            .or_else(named)
            .or_else(free)
            .ok_or("of more interfaces than the gateway file has buses")?;
        self.interfaces[bus] = Some(interface);
        let frame = Frame::from_view(self.buf.view())
            .ok_or("XL frames, which the bus model does not send")?;
        if frame.id().is_err() {
            return Err("error frames of a controller, which were never on the bus");
        }
        if frame.kind() == Kind::Fd && !self.on[bus].1 {
            return Err("FD frames for a bus without data_bitrate");
        }
        Ok((bus, frame))
    }
}
