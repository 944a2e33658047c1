//! A log as the traffic of testers: which bus each frame is on, when it is sent, how often the log
//! is repeated, and where the replay waits for an answer.

use crate::account::LogAccount;
use crate::error::Error;
use crate::script::{AnswerWait, ScriptReader, WaitList};
use frame::{CanId, Frame, FrameBuf, Kind, Nanos};
use gateway::config::GatewayConfig;
use port::embedded::BusSettings;
use port::log::{FileFormat, InterfaceName, LogError, LogReader};
use probe::traffic::TrafficRelease;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of nodes on each bus to which the identifiers of a log are assigned: the number of
/// electronic control units in a car is of this order.
const LOG_NODES: u16 = 32;

/// A log to replay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogInput {
    /// The path of the file; `-` is standard input.
    pub path: PathBuf,
    /// Whether to end at the first line that is not a frame, instead of leaving it out.
    pub strict: bool,
    /// The buses of the log's interfaces.
    pub map: InterfaceMap,
    /// How often the log is replayed.
    pub repeat: LogRepeat,
}

impl LogInput {
    /// Returns a log that is replayed once, with its interfaces on the buses as they come.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            strict: false,
            map: InterfaceMap::default(),
            repeat: LogRepeat::default(),
        }
    }
}

/// The assignment of the interfaces of a log to buses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InterfaceMap {
    /// Whether an interface must have the name of a bus or of a port. If not, the interfaces that
    /// have none are on the remaining buses, in the order in which they appear.
    pub by_name: bool,
    /// Other names for interfaces of the log; `None`: their frames are left out.
    pub names: BTreeMap<String, Option<String>>,
}

/// How often a log is replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRepeat {
    /// Number of rounds; `None`: without an end.
    pub rounds: Option<u64>,
    /// Time from the last frame of a round to the first frame of the next one, ns.
    pub pause: Nanos,
}

/// One round.
impl Default for LogRepeat {
    fn default() -> Self {
        Self {
            rounds: Some(1),
            pause: 0,
        }
    }
}

/// A bus on which a log can be replayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReplayBus {
    /// Its name.
    pub(crate) name: String,
    /// The names of the gateway's ports on it.
    pub(crate) ports: Vec<String>,
    /// Whether it carries FD frames.
    pub(crate) fd: bool,
}

impl ReplayBus {
    /// Returns the buses of a configuration, in the order of its ports.
    pub(crate) fn of(config: &GatewayConfig) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for port in &config.ports {
            let Some(settings) = port.settings.downcast_ref::<BusSettings>() else {
                continue;
            };
            match all.iter_mut().find(|bus| bus.name == settings.bus) {
                Some(bus) => bus.ports.push(port.name.clone()),
                None => all.push(Self {
                    name: settings.bus.clone(),
                    ports: vec![port.name.clone()],
                    fd: settings.data_bitrate.is_some(),
                }),
            }
        }
        all
    }
}

/// A release and its bus, by its index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusRelease {
    pub(crate) bus: usize,
    pub(crate) release: TrafficRelease,
}

/// A file, and the number of bytes read from it.
struct CountedFile {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for CountedFile {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(into)?;
        self.read.fetch_add(n as u64, Relaxed);
        Ok(n)
    }
}

/// A wait that has begun.
struct BegunWait {
    wait: AnswerWait,
    bus: usize,
    since: Nanos,
    until: Nanos,
}

/// A log that is replayed.
pub(crate) struct LogReplay {
    input: LogInput,
    reader: LogReader<ScriptReader<CountedFile>>,
    waits: WaitList,
    buses: Vec<ReplayBus>,
    /// For each bus the interface that was assigned to it.
    interfaces: Vec<Option<InterfaceName>>,
    node_of: HashMap<CanId, u16>,
    /// Bus time at which a frame with the stamp `first` is sent.
    start: Nanos,
    /// The first stamp of this round.
    first: Option<Nanos>,
    /// Bus time of the last release.
    last: Nanos,
    /// A frame that was read, and waits for an answer to another one.
    held: Option<(u64, Nanos, usize, Frame)>,
    waiting: Option<BegunWait>,
    ended: bool,
    rounds: u64,
    tag: u64,
    buf: FrameBuf,
    format: FileFormat,
    read: Arc<AtomicU64>,
    /// Its length in bytes; 0 if it is not known.
    length: u64,
    account: LogAccount,
}

impl LogReplay {
    /// Opens a log for these buses.
    pub(crate) fn open(input: LogInput, buses: Vec<ReplayBus>) -> Result<Self, Error> {
        let read = Arc::new(AtomicU64::new(0));
        let waits = WaitList::default();
        let (mut reader, length) = open(&input.path, &read, &waits)?;
        // A file that is not a log is reported before anything is created from it.
        let format = reader.recognise().map_err(Error::Log)?;
        if input.repeat.rounds != Some(1) && length == 0 {
            return Err(Error::NoFile(input.path));
        }
        Ok(Self {
            interfaces: vec![None; buses.len()],
            input,
            reader,
            waits,
            buses,
            node_of: HashMap::new(),
            start: 0,
            first: None,
            last: 0,
            held: None,
            waiting: None,
            ended: false,
            rounds: 0,
            tag: 0,
            buf: FrameBuf::new(),
            format,
            read,
            length,
            account: LogAccount::default(),
        })
    }

    /// Lets the first frame be sent at `now`.
    pub(crate) fn begin(&mut self, now: Nanos) {
        (self.start, self.last) = (now, now);
    }

    /// Returns the next frame to send; `None` while it waits for an answer, and at the end.
    pub(crate) fn next(&mut self) -> Result<Option<BusRelease>, Error> {
        while self.waiting.is_none() && !self.ended {
            if self.held.is_none() {
                self.held = self.next_frame()?;
            }
            let line = self.held.as_ref().map(|(line, ..)| *line);
            if let Some((at, wait)) = self.waits.take_before(line) {
                let wrong = |why| Error::Script(self.place(at), why);
                let wait = wait.map_err(wrong)?;
                self.begin_wait(wait)?;
            } else if let Some((_, stamp, bus, frame)) = self.held.take() {
                return Ok(Some(self.release(stamp, bus, frame)));
            } else {
                self.end_round()?;
            }
        }
        Ok(None)
    }

    /// Returns the bus time at which the replay stops waiting for an answer.
    pub(crate) fn waits_until(&self) -> Option<Nanos> {
        self.waiting.as_ref().map(|begun| begun.until)
    }

    /// Notes a frame that a node other than the replay's has sent on a bus: its end at `end`.
    /// Returns whether it was the answer for which the replay waited.
    pub(crate) fn see(&mut self, bus: usize, frame: &Frame, end: Nanos) -> bool {
        let is_answer = |begun: &mut BegunWait| {
            begun.bus == bus && end > begun.since && begun.wait.is_answer(frame)
        };
        let Some(begun) = self.waiting.take_if(is_answer) else {
            return false;
        };
        // The log's clock stood still meanwhile.
        let took = end - begun.since;
        self.start = self.start.saturating_add(took);
        self.last = end;
        self.account.answers += 1;
        true
    }

    /// Returns the error of an answer that has not come in time.
    pub(crate) fn time_out(&mut self) -> Option<Error> {
        let begun = self.waiting.take()?;
        self.ended = true;
        let bus = self.buses.get(begun.bus).map(|bus| bus.name.clone());
        Some(Error::NoAnswer {
            place: self.place(begun.wait.line),
            wait: begun.wait.text,
            bus: bus.unwrap_or_default(),
        })
    }

    /// Returns whether no frame follows.
    pub(crate) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the number of bytes that were read, and the length of the file.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let rounds = self.input.repeat.rounds.unwrap_or(0);
        (self.read.load(Relaxed), self.length.saturating_mul(rounds))
    }

    /// Describes the traffic, for people.
    pub(crate) fn words(&self) -> String {
        let path = &self.input.path;
        let name = path.file_name().unwrap_or(path.as_os_str());
        format!(
            "replay of the log {} ({}) with its own timing; a log does not record the bit rate, the \
             gateway file sets the simulated one",
            name.to_string_lossy(),
            self.format
        )
    }

    /// Returns the account, as far as the log was read.
    pub(crate) fn account(&self) -> LogAccount {
        let mut account = self.account.clone();
        add_reader(&mut account, &self.reader);
        let interfaces = self.interfaces.iter().flatten();
        account.interfaces = interfaces.map(|i| i.as_str().to_owned()).collect();
        account
    }

    fn place(&self, line: u64) -> String {
        format!("{}: line {line}", self.input.path.display())
    }

    fn begin_wait(&mut self, wait: AnswerWait) -> Result<(), Error> {
        let place = self.place(wait.line);
        let bus = InterfaceName::new(&wait.interface).ok_or(BusProblem::Unknown);
        let bus = match bus.and_then(|name| self.known_bus(name)) {
            Ok(bus) => bus,
            Err(BusProblem::LeftOut(_)) => {
                let interface = &wait.interface;
                let why = format!("no frames of {interface} are replayed, so none can be awaited");
                return Err(Error::Script(place, why));
            }
            Err(BusProblem::Unknown) => return Err(self.unknown(&wait.interface, &place)),
        };
        self.waiting = Some(BegunWait {
            bus,
            since: self.last,
            until: self.last.saturating_add(wait.timeout),
            wait,
        });
        Ok(())
    }

    fn unknown(&self, interface: &str, place: &str) -> Error {
        let buses: Vec<&str> = self.buses.iter().map(|bus| bus.name.as_str()).collect();
        Error::UnknownInterface {
            place: place.to_owned(),
            interface: interface.to_owned(),
            buses: buses.join(", "),
        }
    }

    /// Begins the next round, or ends.
    fn end_round(&mut self) -> Result<(), Error> {
        self.rounds += 1;
        let is_last = self
            .input
            .repeat
            .rounds
            .is_some_and(|all| self.rounds >= all);
        // A log without frames would be read without an end.
        if is_last || self.first.is_none() {
            self.ended = true;
            return Ok(());
        }
        add_reader(&mut self.account, &self.reader);
        let (reader, _) = open(&self.input.path, &self.read, &self.waits)?;
        self.reader = reader.with_format(Some(self.format));
        self.first = None;
        self.start = self.last.saturating_add(self.input.repeat.pause);
        self.last = self.start;
        Ok(())
    }

    fn release(&mut self, stamp: Nanos, bus: usize, frame: Frame) -> BusRelease {
        let first = *self.first.get_or_insert(stamp);
        let at = stamp.checked_sub(first);
        let at = at.map(|gone| self.start.saturating_add(gone));
        self.last = match at {
            Some(at) if at >= self.last => at,
            _ => {
                self.account.backwards += 1;
                self.last
            }
        };
        // A log has no nodes. On a bus, every identifier has one sender, so frames with the same
        // one come from the same node.
        let next = (self.node_of.len() % usize::from(LOG_NODES)) as u16;
        let node = *self.node_of.entry(frame.id()).or_insert(next);
        let tag = self.tag;
        self.tag += 1;
        let release = TrafficRelease {
            at: self.last,
            node,
            frame,
            tag,
        };
        BusRelease { bus, release }
    }

    /// Reads up to the next frame that is replayed: the number of its line, its stamp, its bus.
    fn next_frame(&mut self) -> Result<Option<(u64, Nanos, usize, Frame)>, Error> {
        loop {
            let logged = match self.reader.read(&mut self.buf) {
                Ok(None) => return Ok(None),
                Ok(Some(logged)) => logged,
                Err(LogError::Bad { .. }) if !self.input.strict => continue,
                Err(error @ LogError::Bad { .. }) => return Err(Error::BadLine(error)),
                Err(error) => return Err(Error::Log(error)),
            };
            self.account.frames += 1;
            match self.bus_for(logged.interface) {
                Ok((bus, frame)) => {
                    return Ok(Some((logged.place.number(), logged.ns, bus, frame)));
                }
                Err(BusProblem::LeftOut(why)) => {
                    *self.account.left_out.entry(why.to_owned()).or_default() += 1;
                }
                Err(BusProblem::Unknown) => {
                    let place = format!("{}: {}", self.input.path.display(), logged.place);
                    return Err(self.unknown(logged.interface.as_str(), &place));
                }
            }
        }
    }

    /// Returns the bus of an interface: the one that was assigned to it, or the one of its name.
    fn known_bus(&self, interface: InterfaceName) -> Result<usize, BusProblem> {
        let known = self.interfaces.iter().position(|i| *i == Some(interface));
        if let Some(known) = known {
            return Ok(known);
        }
        let map = &self.input.map;
        let name = match map.names.get(interface.as_str()) {
            Some(None) => return Err(BusProblem::LeftOut("of interfaces that --map leaves out")),
            Some(Some(name)) => name.as_str(),
            None => interface.as_str(),
        };
        let mut all = self.buses.iter();
        let named = all.position(|bus| bus.name == name).or_else(|| {
            let mut all = self.buses.iter();
            all.position(|bus| bus.ports.iter().any(|port| port == name))
        });
        named.ok_or(BusProblem::Unknown)
    }

    /// Returns the bus of an interface. If interfaces need not have the names of buses, one without
    /// a bus gets the next one that is free.
    fn find_bus(&mut self, interface: InterfaceName) -> Result<usize, BusProblem> {
        let named = match self.known_bus(interface) {
            Err(BusProblem::Unknown) if !self.input.map.by_name => None,
            known => Some(known?),
        };
        let holder = |bus: usize| self.interfaces.get(bus).copied().flatten();
        if let Some(bus) = named.filter(|bus| holder(*bus) == Some(interface)) {
            return Ok(bus);
        }
        if self.input.map.by_name {
            // Several interfaces of a log can be on one bus.
            let bus = named.ok_or(BusProblem::Unknown)?;
            if let Some(taken) = self.interfaces.get_mut(bus) {
                taken.get_or_insert(interface);
            }
            return Ok(bus);
        }
        let is_free = |bus: &usize| self.interfaces.get(*bus).is_some_and(Option::is_none);
        let free = || self.interfaces.iter().position(Option::is_none);
        let bus = named.filter(is_free).or_else(free);
        let bus = bus.ok_or(BusProblem::LeftOut(
            "of more interfaces than the gateway file has buses",
        ))?;
        if let Some(taken) = self.interfaces.get_mut(bus) {
            *taken = Some(interface);
        }
        Ok(bus)
    }

    /// Returns the bus of an interface, and the frame in the buffer, if that bus can carry it.
    fn bus_for(&mut self, interface: InterfaceName) -> Result<(usize, Frame), BusProblem> {
        let bus = self.find_bus(interface)?;
        let frame = Frame::from_view(self.buf.view()).ok_or(BusProblem::LeftOut(
            "XL frames, which the bus model does not send",
        ))?;
        if frame.id().is_err() {
            return Err(BusProblem::LeftOut(
                "error frames of a controller, which were never on the bus",
            ));
        }
        if frame.kind() == Kind::Fd && !self.buses.get(bus).is_some_and(|bus| bus.fd) {
            return Err(BusProblem::LeftOut(
                "FD frames for a bus without data_bitrate",
            ));
        }
        Ok((bus, frame))
    }
}

/// The reason why a frame is on no bus.
enum BusProblem {
    LeftOut(&'static str),
    Unknown,
}

/// Opens a log, and returns its length in bytes; 0 if it is not a file.
fn open(
    path: &Path,
    read: &Arc<AtomicU64>,
    waits: &WaitList,
) -> Result<(LogReader<ScriptReader<CountedFile>>, u64), Error> {
    let place = if path == Path::new("-") {
        Path::new("/dev/stdin")
    } else {
        path
    };
    let file = File::open(place).map_err(|source| Error::ReadLog {
        path: path.to_owned(),
        source,
    })?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file);
    let length = length.map_or(0, |meta| meta.len());
    let counted = CountedFile {
        file,
        read: Arc::clone(read),
    };
    let script = ScriptReader::new(counted, waits.clone());
    Ok((LogReader::new(script, path.display().to_string()), length))
}

/// Adds the counts of a reader, which are those of one round.
fn add_reader<R: Read>(account: &mut LogAccount, reader: &LogReader<R>) {
    let bad = reader.bad();
    account.bad_lines += bad.count();
    account.missing += reader.all_missing();
    if account.first_bad.is_empty() {
        account.first_bad = bad.first().iter().map(ToString::to_string).collect();
    }
    for records in reader.passed_over() {
        let name = records.name.clone();
        *account.not_frames.entry(name).or_default() += records.records;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(text: &str, repeat: LogRepeat, map: InterfaceMap) -> (LogReplay, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        std::fs::write(&path, text).unwrap();
        let input = LogInput {
            repeat,
            map,
            ..LogInput::new(path)
        };
        let bus = |name: &str, port: &str| ReplayBus {
            name: name.to_owned(),
            ports: vec![port.to_owned()],
            fd: false,
        };
        let buses = vec![bus("can0", "engine"), bus("can1", "body")];
        (LogReplay::open(input, buses).unwrap(), folder)
    }

    fn times(replay: &mut LogReplay) -> Vec<(Nanos, usize, u16)> {
        let next = || replay.next().unwrap();
        let all = std::iter::from_fn(next);
        all.map(|next| (next.release.at, next.bus, next.release.node))
            .collect()
    }

    #[test]
    fn distances_are_kept_and_time_never_goes_back() {
        let text = "(1.000000500) can0 010#\n(1.000000700) can0 020#\n(1.000000600) can0 010#\n\
                    (0.000000999) can1 030#\n(1.000001500) can0 020#\n";
        let (mut replay, _folder) = replay(text, LogRepeat::default(), InterfaceMap::default());
        replay.begin(50);
        assert_eq!(
            times(&mut replay),
            [
                (50, 0, 0),
                (250, 0, 1),
                (250, 0, 0),
                (250, 1, 2),
                (1_050, 0, 1)
            ]
        );
        assert_eq!(replay.account().backwards, 2);
        assert!(replay.has_ended());
    }

    #[test]
    fn rounds_follow_after_the_pause() {
        let text = "(5.000000000) can0 010#\n(5.000000100) can1 020#\n";
        let repeat = LogRepeat {
            rounds: Some(3),
            pause: 1_000,
        };
        let (mut replay, _folder) = replay(text, repeat, InterfaceMap::default());
        let at: Vec<Nanos> = times(&mut replay).iter().map(|(at, ..)| *at).collect();
        assert_eq!(at, [0, 100, 1_100, 1_200, 2_200, 2_300]);
        assert_eq!(replay.account().frames, 6);
    }

    #[test]
    fn the_clock_of_the_log_stands_still_during_a_wait() {
        let text = "(1.0) can0 7DF#0201\nwait can0 7E8 50ms\n(1.001) can0 7DF#0202\n\
                    wait can1 123 1ms\n";
        let (mut replay, _folder) = replay(text, LogRepeat::default(), InterfaceMap::default());
        assert_eq!(times(&mut replay).len(), 1);
        assert_eq!(replay.waits_until(), Some(50_000_000));
        let frame = |raw| Frame::classic(CanId::from_raw(raw), &[1]).unwrap();
        assert!(!replay.see(1, &frame(0x7E8), 10), "another bus");
        assert!(!replay.see(0, &frame(0x7E9), 10), "another ID");
        assert!(replay.see(0, &frame(0x7E8), 7_000_000));
        assert_eq!(
            times(&mut replay),
            [(8_000_000, 0, 0)],
            "1 ms after the answer"
        );
        assert_eq!(replay.waits_until(), Some(9_000_000));
        assert!(!replay.has_ended());
        let error = replay.time_out().unwrap().to_string();
        assert!(
            error.contains("line 4") && error.contains("wait can1 123 1ms"),
            "{error}"
        );
        assert!(replay.has_ended());
        assert_eq!(replay.account().answers, 1);
    }

    #[test]
    fn interfaces_are_found_by_bus_port_or_map() {
        let text = "(1.0) vcan0 001#\n(1.1) body 002#\n(1.2) can0 003#\n(1.3) x 004#\n";
        let names = BTreeMap::from([
            ("vcan0".to_owned(), Some("can0".to_owned())),
            ("x".to_owned(), None),
        ]);
        let map = InterfaceMap {
            by_name: true,
            names,
        };
        let (mut replay, _folder) = replay(text, LogRepeat::default(), map.clone());
        let buses: Vec<usize> = times(&mut replay).iter().map(|(_, bus, _)| *bus).collect();
        assert_eq!(buses, [0, 1, 0]);
        assert_eq!(replay.account().left_out.values().sum::<u64>(), 1);
        let (mut replay, _folder) =
            super::tests::replay("(1.0) can7 001#\n", LogRepeat::default(), map);
        let error = replay.next().unwrap_err().to_string();
        assert!(
            error.contains("can7") && error.contains("--map can7=can0"),
            "{error}"
        );
    }
}
