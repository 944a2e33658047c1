//! A candump log as the receiving half of a port.

use super::name::InterfaceName;
use super::reader::{Logged, Scanner, Step};
use crate::{
    Interest, Pace, PollReceive, PortError, Receive, Received, RxCounters, RxReport, Stamp,
    StampSource, Wait,
};
use frame::{FrameBuf, Nanos};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

/// A step back in a log's time that is larger begins another recording, and a step forward that is
/// larger can lead back to the one before.
const REORDERED: Nanos = 1_000_000_000;

/// Lines looked at in one call for each frame asked for: a log of nothing but garbage must not
/// keep the other ports waiting.
const LINES_PER_FRAME: usize = 16;

/// How fast a log is replayed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Replay {
    /// With the log's own timing.
    #[default]
    Original,
    /// So many times as fast, within [`Pace::SPEEDS`].
    Scaled(f64),
    /// As fast as the frames are taken.
    Fast,
}

/// What to replay, and how.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SourceConfig {
    /// Only lines of this interface.
    pub interface: Option<InterfaceName>,
    /// How fast.
    pub replay: Replay,
    /// Stop at the first bad line instead of leaving it out.
    pub strict: bool,
}

/// Replays a candump log. A frame's stamp is what its line says, its token the line's number.
pub struct LogSource {
    port: String,
    name: String,
    input: File,
    /// A read may wait for somebody: ask before.
    pollable: bool,
    scanner: Scanner,
    replay: Replay,
    strict: bool,
    error_frames: bool,
    frame: FrameBuf,
    due: Due,
    /// The frame in the buffer, not handed over yet.
    pending: Option<Logged>,
    last: bool,
    finished: bool,
    unread: bool,
    counters: RxCounters,
}

impl LogSource {
    /// Opens a file, or takes standard input for `-`. Opening a named pipe waits for its writer.
    ///
    /// # Errors
    /// [`PortError`] where it cannot be opened, or the speed is out of range.
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
            File::open(path)
        };
        let failed = |what: String| {
            move |source: io::Error| PortError {
                port: port.to_owned(),
                what,
                source: Some(source.into()),
            }
        };
        let input = input.map_err(failed(format!("cannot open {name} to read it")))?;
        Self::from_file(port, &name, input, config)
    }

    /// Replays what comes out of an open file; `name` is for messages.
    ///
    /// # Errors
    /// [`PortError`] where the speed is out of range or it is a directory.
    pub fn from_file(
        port: &str,
        name: &str,
        input: File,
        config: SourceConfig,
    ) -> Result<Self, PortError> {
        let wrong = |what: String, source: Option<io::Error>| PortError {
            port: port.to_owned(),
            what,
            source: source.map(Into::into),
        };
        if let Replay::Scaled(speed) = config.replay
            && !Pace::SPEEDS.contains(&speed)
        {
            let (low, high) = (Pace::SPEEDS.start(), Pace::SPEEDS.end());
            let what =
                format!("a log cannot be replayed {speed} times as fast: choose {low} to {high}");
            return Err(wrong(what, None));
        }
        let kind = input
            .metadata()
            .map_err(|e| wrong(format!("cannot look at {name}"), Some(e)))?
            .file_type();
        if kind.is_dir() {
            return Err(wrong(
                format!("{name} is a directory: name a log in it"),
                None,
            ));
        }
        let mut scanner = Scanner::new();
        scanner.only = config.interface;
        Ok(Self {
            port: port.to_owned(),
            name: name.to_owned(),
            input,
            pollable: !kind.is_file(),
            scanner,
            replay: config.replay,
            strict: config.strict,
            error_frames: false,
            frame: FrameBuf::new(),
            due: Due::default(),
            pending: None,
            last: false,
            finished: false,
            unread: true,
            counters: RxCounters::default(),
        })
    }

    /// Goes on to the next frame, as far as there is input and `patience` lines reach.
    fn advance(&mut self, now: Nanos, patience: &mut usize) -> Result<(), PortError> {
        while self.pending.is_none() && !self.finished && *patience > 0 {
            match self.scanner.step(&mut self.frame, self.last) {
                Step::Frame(_) if self.frame.header().id().is_err() && !self.error_frames => {
                    self.counters.error_frames += 1;
                    *patience -= 1;
                }
                Step::Frame(logged) => {
                    self.due.next(now, logged.ns, self.replay);
                    self.pending = Some(logged);
                }
                Step::Bad(line) if self.strict => {
                    self.counters.malformed += 1;
                    self.finished = true;
                    return Err(self.fail(format!("{}: {line}", self.name), None));
                }
                Step::Bad(_) => {
                    self.counters.malformed += 1;
                    *patience -= 1;
                }
                Step::Other => *patience -= 1,
                Step::Starved if self.last => self.finished = true,
                Step::Starved if self.ready()? => match self.scanner.lines.fill(&mut self.input) {
                    Ok(n) => self.last = n == 0,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                        self.unread = false;
                        return Ok(());
                    }
                    Err(e) => {
                        self.finished = true;
                        return Err(self.fail(format!("cannot read {}", self.name), Some(e)));
                    }
                },
                Step::Starved => {
                    self.unread = false;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Does a read return at once?
    fn ready(&self) -> Result<bool, PortError> {
        if !self.pollable {
            return Ok(true);
        }
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut [PollFd::new(&self.input, PollFlags::IN)], Some(&now)) {
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
        take: &mut dyn FnMut(Received<'_>),
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
            take(Received {
                frame: self.frame.view(),
                stamp: Stamp {
                    ns: logged.ns,
                    source: StampSource::Log,
                },
                hops: 0,
                token: logged.line,
            });
        }
        let waiting = self.pending.is_some() && self.due.at > now;
        Ok(RxReport {
            frames,
            more: budget > 0 && !waiting && self.unread && !self.finished,
            finished: self.finished && self.pending.is_none(),
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

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        self.error_frames = interest.error_frames;
        Ok(())
    }

    fn is_up(&self) -> bool {
        !self.finished
    }

    fn remarks(&self) -> Vec<String> {
        let mut out = self.scanner.bad.remarks(&self.name);
        if let (Some(only), Some(other)) = (self.scanner.only, self.scanner.other) {
            out.push(format!(
                "{}: {} frames of other interfaces than {only} were left out, such as {other}",
                self.name, self.scanner.elsewhere
            ));
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
    fn wait(&self) -> Wait {
        if self.finished || self.pending.is_some() {
            return Wait::default();
        }
        Wait {
            fd: Some(self.input.as_raw_fd()),
            readable: true,
            writable: false,
        }
    }
}

/// When the next frame is due.
#[derive(Default)]
struct Due {
    /// On the clock; 0 is at once.
    at: Nanos,
    pace: Option<Pace>,
    /// The log's time without its steps back.
    played: Nanos,
    /// The latest stamp of the present recording.
    latest: Nanos,
    /// A recording whose stamps are ahead of the present one's: its latest stamp, and what was
    /// played by then.
    ahead: Option<(Nanos, Nanos)>,
    steps_back: u64,
}

impl Due {
    fn next(&mut self, now: Nanos, stamp: Nanos, replay: Replay) {
        let pace = *self.pace.get_or_insert_with(|| {
            self.played = stamp;
            self.latest = stamp;
            let speed = match replay {
                Replay::Scaled(speed) => speed,
                Replay::Original | Replay::Fast => 1.0,
            };
            Pace::scaled(now, stamp, speed).unwrap_or(Pace::real_time(now, stamp))
        });
        match stamp.checked_sub(self.latest) {
            Some(gap) => {
                self.played = match self.ahead {
                    // Back in the recording before: a single wrong stamp, or two clocks in turn.
                    // What that step forward skips was never waited for.
                    Some((latest, played)) if gap > REORDERED && stamp >= latest => {
                        self.ahead = None;
                        self.played.max(played.saturating_add(stamp - latest))
                    }
                    _ => self.played.saturating_add(gap),
                };
                self.latest = stamp;
            }
            None => {
                self.steps_back += 1;
                if self.latest - stamp > REORDERED {
                    if self.ahead.is_none_or(|(latest, _)| latest < self.latest) {
                        self.ahead = Some((self.latest, self.played));
                    }
                    self.latest = stamp;
                }
            }
        }
        self.at = match replay {
            Replay::Fast => 0,
            Replay::Original | Replay::Scaled(_) => pace.to_clock(self.played),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(stamps: &[Nanos], replay: Replay) -> Vec<Nanos> {
        let mut due = Due::default();
        let next = |stamp: &Nanos| {
            due.next(1_000, *stamp, replay);
            due.at
        };
        stamps.iter().map(next).collect()
    }

    #[test]
    fn original_scaled_and_fast() {
        let stamps = [5_000, 5_010, 5_100];
        assert_eq!(dues(&stamps, Replay::Original), [1_000, 1_010, 1_100]);
        assert_eq!(dues(&stamps, Replay::Scaled(0.5)), [1_000, 1_020, 1_200]);
        assert_eq!(dues(&stamps, Replay::Fast), [0, 0, 0]);
    }

    #[test]
    fn a_frame_out_of_order_delays_nobody() {
        let stamps = [5_000, 5_100, 5_050, 5_200];
        assert_eq!(
            dues(&stamps, Replay::Original),
            [1_000, 1_100, 1_100, 1_200]
        );
    }

    /// Whatever stamps go back by: the replay is no longer than the log's latest stamp is after its
    /// first one.
    #[test]
    fn stamps_that_go_back_do_not_make_the_replay_longer() {
        const S: Nanos = 1_000_000_000;
        let at = |tenths: u64| tenths * S / 10;
        // One stamp of a clock that was not set yet.
        let one = [at(10_000), at(20), at(10_001), at(10_002)];
        // Two interfaces with clocks of their own.
        let two = [
            at(10_000),
            at(50),
            at(51),
            at(10_002),
            at(52),
            at(10_003),
            at(10_004),
            at(54),
            at(55),
            at(56),
            at(10_007),
        ];
        for (stamps, tenths) in [(&one[..], 2), (&two, 7)] {
            for (replay, factor) in [(Replay::Original, 1), (Replay::Scaled(0.5), 2)] {
                let dues = dues(stamps, replay);
                assert!(dues.is_sorted(), "{dues:?}");
                assert_eq!(*dues.last().unwrap(), 1_000 + factor * at(tenths));
            }
        }
    }

    #[test]
    fn another_recording_follows_without_a_pause() {
        let old = 10_000_000_000;
        let stamps = [old, old + 100, 70, 90];
        assert_eq!(
            dues(&stamps, Replay::Original),
            [1_000, 1_100, 1_100, 1_120]
        );
    }
}
