//! A log as the receiving half of a port.

use super::due::{NextDue, ReplaySpeed};
use super::origin::TimeOrigin;
use super::rounds::RoundPlan;
use super::source_config::{OnFull, SourceConfig};

use crate::{
    FrameInterest, PollReceive, PortError, PortWait, Receive, ReceiveStamp, ReceivedFrame,
    RxCounters, RxReport, SourcePace, StampSource,
};
use frame::{FrameBuf, Nanos};
use logs::{LogError, LogFault, LogScanner, LoggedFrame, ScanStep, UnpackedInput, is_torn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of lines read in one call for each frame of the budget: a log with nothing but
/// invalid lines must not keep the other ports waiting.
const LINES_PER_FRAME: usize = 16;

/// Delay of frames from which a remark reports it, ns: more than a busy machine's usual delays.
const REPORTED_DELAY: Nanos = 100_000_000;

/// The source that replays a log. A frame's stamp is the one in the log; its token is the number of
/// its line or the byte offset of its block.
///
/// A file that was compressed by gzip or Zstandard is decompressed; it must be a log from its first
/// bytes on. The format of a pipe's data is recognised when the data come, and they are not
/// decompressed: that would have to wait for more bytes than poll(2) promises.
pub struct LogSource {
    port: String,
    name: String,
    /// The file that is polled; it is read through `input`.
    file: File,
    input: Box<dyn Read + Send>,
    /// True if a read may wait for another process: poll before.
    pollable: bool,
    scanner: LogScanner,
    replay: ReplaySpeed,
    strict: bool,
    on_full: OnFull,
    error_frames: bool,
    frame: FrameBuf,
    due: NextDue,
    /// Place and stamp of the frame in the buffer, if it is not handed over yet.
    pending: Option<LoggedFrame>,
    last: bool,
    finished: bool,
    unread: bool,
    /// True for a named pipe that no program has written to since it was opened.
    unopened: bool,
    /// Longest delay with which a due frame of a regular file was handed over, ns.
    latest: Nanos,
    /// The stamp of the log's first frame, of any interface; 0 if it was not read.
    first: Nanos,
    /// Number of frames that were read in this round.
    in_round: u64,
    counters: RxCounters,
}

impl LogSource {
    /// Opens a file, or takes standard input for `-`. A named pipe need not have a writer yet.
    ///
    /// # Errors
    /// [`PortError`] if it cannot be opened, or the speed is out of range.
    pub fn open(port: &str, path: &Path, config: SourceConfig) -> Result<Self, PortError> {
        let stdin = path == Path::new("-");
        let name = if stdin {
            "standard input".to_owned()
        } else {
            path.display().to_string()
        };
        let input = if stdin {
            io::stdin().as_fd().try_clone_to_owned().map(File::from)
        } else {
            // Without waiting for the writer of a named pipe: the worker does that with poll(2),
            // which reports the end of the input only after there was a writer.
            let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
            let mut how = File::options();
            how.read(true).custom_flags(flags.bits().cast_signed());
            how.open(path)
        };
        let failed = |what: String| {
            move |source: io::Error| PortError {
                port: port.to_owned(),
                what,
                source: Some(source.into()),
            }
        };
        let input = input.map_err(failed(format!("cannot open {name} to read it")))?;
        let mut source = Self::from_file(port, &name, input, config)?;
        let is_pipe = |meta: Metadata| meta.file_type().is_fifo();
        if !stdin && source.file.metadata().is_ok_and(is_pipe) && !source.ready()? {
            // Bytes that are read here are of a writer that has just come.
            let read = source.scanner.fill(&mut source.input);
            source.unopened = matches!(read, Ok(0));
        }
        Ok(source)
    }

    /// Replays an open file; `name` is for messages.
    ///
    /// # Errors
    /// [`PortError`] if the speed is out of range or it is a directory.
    pub fn from_file(
        port: &str,
        name: &str,
        file: File,
        config: SourceConfig,
    ) -> Result<Self, PortError> {
        let wrong = |what: String, source: Option<io::Error>| PortError {
            port: port.to_owned(),
            what,
            source: source.map(Into::into),
        };
        if let ReplaySpeed::Scaled(speed) = config.replay
            && !SourcePace::SPEEDS.contains(&speed)
        {
            let (low, high) = (SourcePace::SPEEDS.start(), SourcePace::SPEEDS.end());
            let what = format!("`pace` cannot be {speed}: choose {low} to {high}");
            return Err(wrong(what, None));
        }
        let kind = file
            .metadata()
            .map_err(|e| wrong(format!("cannot get the type of {name}"), Some(e)))?
            .file_type();
        if kind.is_dir() {
            return Err(wrong(
                format!("{name} is a directory: name a log in it"),
                None,
            ));
        }
        let own = file.try_clone().map_err(|e| {
            wrong(
                format!("cannot duplicate the descriptor of {name}"),
                Some(e),
            )
        })?;
        let input: Box<dyn Read + Send> = if kind.is_file() {
            Box::new(UnpackedInput::new(own))
        } else {
            Box::new(own)
        };
        let mut source = Self {
            port: port.to_owned(),
            name: name.to_owned(),
            file,
            input,
            pollable: !kind.is_file(),
            scanner: LogScanner::new(config.format).only(config.interface),
            replay: config.replay,
            strict: config.strict,
            on_full: config.on_full,
            error_frames: false,
            frame: FrameBuf::new(),
            due: NextDue::default(),
            pending: None,
            last: false,
            finished: false,
            unread: true,
            unopened: false,
            latest: 0,
            first: 0,
            in_round: 0,
            counters: RxCounters::default(),
        };
        if kind.is_file() {
            source.recognise()?;
        }
        Ok(source)
    }

    /// Recognises the format of a file now, so that an error shows before the ports run.
    fn recognise(&mut self) -> Result<(), PortError> {
        while !self.scanner.recognise(self.last) {
            self.fill()?;
        }
        match self.scanner.format() {
            Some(_) => Ok(()),
            None => match self.scanner.step(&mut self.frame, self.last) {
                ScanStep::Unknown(looks) => Err(self.no_log(looks)),
                _ => Ok(()),
            },
        }
    }

    /// Reads once.
    fn fill(&mut self) -> Result<(), PortError> {
        match self.scanner.fill(&mut self.input) {
            Ok(n) => {
                self.last = n == 0;
                self.unopened = false;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // The data that were decompressed before are replayed, and the rest is counted as one
            // bad part.
            Err(e) if is_torn(&e) && self.scanner.tear() => self.last = true,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.unread = false,
            Err(e) => {
                self.finished = true;
                return Err(self.fail(format!("cannot read {}", self.name), Some(e)));
            }
        }
        Ok(())
    }

    fn no_log(&self, looks: logs::OtherKind) -> PortError {
        let name = self.name.clone();
        self.fail(LogError::Unknown { name, looks }.to_string(), None)
    }

    /// Reads up to the next frame, as far as there is input, and at most `patience` lines.
    fn advance(&mut self, now: Nanos, patience: &mut usize) -> Result<(), PortError> {
        while self.pending.is_none() && !self.finished && *patience > 0 {
            match self.scanner.step(&mut self.frame, self.last) {
                ScanStep::Frame(logged)
                    if self.frame.header().id().is_err() && !self.error_frames =>
                {
                    self.pass(now, logged.ns);
                    self.counters.error_frames += 1;
                    *patience -= 1;
                }
                ScanStep::Elsewhere(ns) => {
                    self.pass(now, ns);
                    *patience -= 1;
                }
                ScanStep::Frame(logged) => {
                    self.due.next(now, logged.ns, self.replay);
                    self.pending = Some(logged);
                    self.in_round += 1;
                }
                // Without the answer, the frames after it would come at the wrong time.
                ScanStep::Bad(line) if self.strict || line.fault == LogFault::Waits => {
                    self.counters.malformed += 1;
                    self.finished = true;
                    return Err(self.fail(format!("{}: {line}", self.name), None));
                }
                ScanStep::Bad(_) => {
                    self.counters.malformed += 1;
                    *patience -= 1;
                }
                ScanStep::Other => *patience -= 1,
                ScanStep::Unknown(looks) => {
                    self.finished = true;
                    return Err(self.no_log(looks));
                }
                ScanStep::Lost(line) => {
                    self.counters.malformed += 1;
                    self.finished = true;
                    let name = self.name.clone();
                    return Err(self.fail(LogError::Lost { name, line }.to_string(), None));
                }
                ScanStep::Starved if self.last => self.end_round()?,
                ScanStep::Starved if self.ready()? => {
                    self.fill()?;
                    if !self.unread {
                        return Ok(());
                    }
                }
                ScanStep::Starved => {
                    self.unread = false;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Passes over a frame of the log that this port does not take.
    fn pass(&mut self, now: Nanos, stamp: Nanos) {
        if self.due.is_shared() {
            self.due.next(now, stamp, self.replay);
        }
    }

    /// Repeats the log by this plan.
    pub(super) fn repeating(mut self, plan: RoundPlan) -> Self {
        self.due.repeat(plan);
        self
    }

    /// Begins the next round, or ends.
    fn end_round(&mut self) -> Result<(), PortError> {
        // A round without a frame would be followed by others for ever.
        let has_frames = std::mem::take(&mut self.in_round) > 0;
        if !has_frames || !self.due.begin_round() {
            self.finished = true;
            return Ok(());
        }
        let again = self.file.seek(SeekFrom::Start(0));
        let again = again.and_then(|_| self.file.try_clone());
        let again = again.map_err(|e| {
            let what = format!("cannot read {} again", self.name);
            self.fail(what, Some(e))
        });
        match again {
            Ok(own) => self.input = Box::new(UnpackedInput::new(own)),
            Err(error) => {
                self.finished = true;
                return Err(error);
            }
        }
        let (format, only) = (self.scanner.format(), self.scanner.interface());
        self.scanner = LogScanner::new(format).only(only);
        self.last = false;
        Ok(())
    }

    /// Lets time begin at the origin that it shares with other ports.
    pub(super) fn with_origin(mut self, origin: Option<Arc<TimeOrigin>>, first: Nanos) -> Self {
        self.due = NextDue::new(origin);
        self.first = first;
        self
    }

    /// Returns whether a read returns at once.
    fn ready(&self) -> Result<bool, PortError> {
        if !self.pollable {
            return Ok(true);
        }
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&now)) {
            Ok(n) => Ok(n > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(self.fail(format!("cannot poll {}", self.name), Some(e.into()))),
        }
    }

    fn fail(&self, what: String, source: Option<io::Error>) -> PortError {
        PortError {
            port: self.port.clone(),
            what,
            source: source.map(Into::into),
        }
    }
}

impl Receive for LogSource {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let mut patience = budget.saturating_mul(LINES_PER_FRAME);
        let mut frames = 0;
        self.unread = true;
        while frames < budget {
            self.advance(now, &mut patience)?;
            let Some(logged) = self.pending.filter(|_| self.due.at <= now) else {
                break;
            };
            self.pending = None;
            frames += 1;
            if !self.pollable && self.due.at > 0 {
                self.latest = self.latest.max(now.saturating_sub(self.due.at));
            }
            take(ReceivedFrame {
                frame: self.frame.view(),
                stamp: ReceiveStamp {
                    ns: logged.ns.saturating_add(self.due.shift()),
                    source: StampSource::Log,
                },
                hops: 0,
                token: logged.place.number(),
            });
        }
        let waiting = self.pending.is_some() && self.due.at > now;
        Ok(RxReport {
            frames,
            more: budget > 0 && !waiting && self.unread && !self.finished,
            finished: self.finished && self.pending.is_none(),
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        if self.pending.is_some() {
            return Some(self.due.at);
        }
        // A regular file is always readable, and some pollers refuse it.
        let at_once = !self.finished && (!self.pollable || self.unread);
        at_once.then_some(0)
    }

    fn counters(&self) -> RxCounters {
        self.counters
    }

    fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        self.error_frames = interest.error_frames;
        Ok(())
    }

    fn is_up(&self) -> bool {
        !self.finished
    }

    fn can_wait(&self) -> bool {
        self.on_full == OnFull::Wait
    }

    fn remarks(&self) -> Vec<String> {
        let mut out = self.scanner.remarks(&self.name);
        let (elsewhere, other) = self.scanner.elsewhere();
        if let (Some(only), Some(other)) = (self.scanner.interface(), other) {
            out.push(format!(
                "{}: {elsewhere} frames of other interfaces than {only} were left out, such as {other}",
                self.name
            ));
        }
        let behind = self.due.behind(self.first);
        if behind >= REPORTED_DELAY {
            out.push(format!(
                "{} begins {:.1} s after another log with the same clock, and its replay keeps \
                 this distance (`origin = \"own\"` starts it at once)",
                self.name,
                behind as f64 / 1e9
            ));
        }
        if self.unopened {
            out.push(format!(
                "{} is a named pipe that no program writes to yet: waiting for one",
                self.name
            ));
        }
        if self.latest >= REPORTED_DELAY {
            out.push(format!(
                "{}: frames were up to {:.1} s late, because destinations had no room or this \
                 machine was busy",
                self.name,
                self.latest as f64 / 1e9
            ));
        }
        if self.due.rounds_done() > 1 {
            let rounds = self.due.rounds_done();
            out.push(format!("{}: replayed {rounds} times", self.name));
        }
        if self.due.steps_back > 0 {
            out.push(format!(
                "{}: time went back {} times",
                self.name, self.due.steps_back
            ));
        }
        out
    }
}

impl PollReceive for LogSource {
    fn wait(&self) -> PortWait {
        if self.finished || self.pending.is_some() {
            return PortWait::default();
        }
        PortWait {
            fd: Some(self.file.as_raw_fd()),
            readable: true,
            writable: false,
        }
    }
}
