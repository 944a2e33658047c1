//! Ports that this process has open.

use super::FrameFilter;
use super::source::{SeenFrame, WatchLosses, WatchNews, WatchSource};
use crate::opening;
use console::Failure;
use engine::{PortCount, RxCounters};
use frame::Nanos;
use linux::PollSet;
use port::{Halves, PortOpener, PortSpec, StampSource};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most frames that a port hands over before the others have their turn.
const BUDGET: usize = 64;

/// The frames of ports that are opened here.
pub(crate) struct PortSource {
    ports: Vec<OpenPort>,
    /// Keeps what ports share.
    _opener: PortOpener,
    poll: PollSet,
    start: Instant,
    /// The Unix time at the start, ns.
    epoch: Nanos,
    losses: WatchLosses,
}

struct OpenPort {
    name: Arc<str>,
    halves: Halves,
    is_finished: bool,
}

impl PortSource {
    /// Opens the ports.
    ///
    /// # Errors
    /// A port cannot be opened.
    pub(crate) fn open(specs: &[PortSpec]) -> Result<Self, Failure> {
        let (start, epoch) = (Instant::now(), opening::unix_now());
        let mut opener = PortOpener::new(epoch, epoch);
        let mut ports = Vec::new();
        for spec in specs {
            let halves = spec.open(&mut opener).map_err(Failure::run)?;
            ports.push(OpenPort {
                name: Arc::from(spec.name.as_str()),
                halves,
                is_finished: false,
            });
        }
        opening::start(&mut opener)?;
        Ok(Self {
            poll: PollSet::with_capacity(ports.len()),
            ports,
            _opener: opener,
            start,
            epoch,
            losses: WatchLosses::default(),
        })
    }

    fn now(&self) -> Nanos {
        let elapsed = Nanos::try_from(self.start.elapsed().as_nanos());
        self.epoch.saturating_add(elapsed.unwrap_or(Nanos::MAX))
    }

    /// Takes what the ports have; returns the frames, and the time of the next call.
    fn take(&mut self, filter: &FrameFilter) -> Result<(Vec<SeenFrame>, Option<Nanos>), Failure> {
        let now = self.now();
        let mut frames = Vec::new();
        let mut next: Option<Nanos> = None;
        let mut losses = WatchLosses::default();
        for port in &mut self.ports {
            let (receive, transmit) = &mut port.halves;
            if !port.is_finished {
                let name = &port.name;
                let report = receive.receive(now, BUDGET, &mut |received| {
                    if filter.passes(received.frame) {
                        let at = match received.stamp.source {
                            StampSource::Kernel => received.stamp.ns,
                            _ => now,
                        };
                        frames.push(SeenFrame::new(at, name, false, received.frame));
                    }
                });
                let report = report.map_err(Failure::run)?;
                port.is_finished = report.finished;
                let again = report.more || receive.is_busy();
                let at = if again { Some(now) } else { receive.deadline() };
                next = [next, at.filter(|_| !port.is_finished)]
                    .into_iter()
                    .flatten()
                    .min();
            }
            transmit.flush(now).map_err(Failure::run)?;
            let counters = receive.counters();
            losses.error_frames += counters.error_frames;
            let count = PortCount {
                rx: counters,
                ..PortCount::default()
            };
            let lost = RxCounters::DEFINITIONS.iter();
            losses.lost += lost.map(|counter| counter.losses(&count)).sum::<u64>();
        }
        self.losses = losses;
        Ok((frames, next))
    }

    fn wait(&mut self, until: Option<Nanos>) -> Result<(), Failure> {
        let timeout = until.map(|at| Duration::from_nanos(at.saturating_sub(self.now())));
        if timeout == Some(Duration::ZERO) {
            return Ok(());
        }
        self.poll.clear();
        for port in self.ports.iter().filter(|port| !port.is_finished) {
            let wait = port.halves.0.wait();
            if let Some(fd) = wait.fd {
                self.poll.add_fd(fd, wait.readable, wait.writable);
            }
        }
        let waited = self.poll.wait(timeout).map(drop);
        waited.map_err(|error| Failure::Run(format!("cannot wait for frames: {error}")))
    }
}

impl WatchSource for PortSource {
    fn next(&mut self, filter: &FrameFilter) -> WatchNews {
        loop {
            let before = self.losses;
            let (frames, next) = match self.take(filter) {
                Ok(taken) => taken,
                Err(failure) => return WatchNews::Failed(failure),
            };
            if !frames.is_empty() || self.losses != before {
                return WatchNews::Frames(frames, self.losses);
            }
            if self.ports.iter().all(|port| port.is_finished) {
                return WatchNews::Ended("the ports have no more frames".to_owned());
            }
            if let Err(failure) = self.wait(next) {
                return WatchNews::Failed(failure);
            }
        }
    }
}
