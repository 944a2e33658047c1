//! Ports, a routing table and the counters between them, with a time that the caller passes in.

use crate::counters::{EngineCounts, PortCount, PortState, RouteCount};
use crate::error::{EngineError, PortError};
use crate::event::PortEvent;
use crate::fate::Verifications;
use crate::half::{Receive, Transmit};
use crate::lane::{CountedReceiver, NamedPort, PortHalves, count_port};
use crate::layout::CounterNames;
use crate::room::Destination;
use crate::setup::EngineSetup;
use crate::snapshot::CounterSnapshot;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use frame::Nanos;
use route::{Routes, RoutingTable};

/// Frames that one port may hand over in one [`Engine::step`] before the next port's turn.
///
/// Large enough that one system call and one flush are shared by many frames, small enough that
/// a flooded port delays the others by no more than this many frames. 64 is what one `recvmmsg` of
/// the socket port brings.
pub const BUDGET: usize = 64;

/// The result of one [`Engine::step`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepResult {
    /// Frames received.
    pub frames: usize,
    /// More frames may be available immediately: step again before waiting.
    pub more: bool,
    /// Ports whose input has ended or failed.
    pub ended: usize,
    /// No frame will ever come in again: every port's input has ended or failed. Frames may still
    /// be held, and embedded buses may still have work.
    pub finished: bool,
    /// Frames that ports took and have not yet passed on.
    pub held: usize,
    /// The latest time for the next step.
    pub deadline: Option<Nanos>,
    /// [`Engine::events`] has something to report.
    pub events: bool,
}

/// Ports, a routing table and the counters between them.
///
/// The engine has no clock, no thread, no file and no descriptor: it does the work that is due
/// *now*, where now is passed in. The caller decides what time that is (the time of a simulated
/// bus, a real clock) and how to wait: [`Engine::receiving`] and [`Engine::sending`] return the
/// halves that are worth waiting for; how to wait for such a half is up to the half and the caller.
/// [`Engine::step`] takes no lock and, once ports have settled, allocates nothing.
///
/// **A destination without room** refuses frames, which are counted. Ports whose frames can wait
/// ([`Receive::can_wait`]: a log) are asked only for as many as their destinations have
/// [room](Transmit::room) for.
///
/// **A port that fails** (with a [`PortError`], which ports return only for errors from which they
/// cannot recover) is taken out of service, both halves of it: its held frames count as lost,
/// copies for it count as [`Fate::Undeliverable`](crate::Fate::Undeliverable), and
/// [`Engine::events`] reports it once. All other ports go on. It returns to service by a
/// [`Change`](crate::LayoutChange) that opens it again, or on its own if its transmitting half
/// returns a time for it ([`Transmit::retry_at`]: a log whose disk was full).
pub struct Engine<R = Box<dyn Receive>, T = Box<dyn Transmit>> {
    pub(crate) setup: EngineSetup<R, T>,
    pub(crate) retired_ports: PortCount,
    pub(crate) retired_routes: RouteCount,
    pub(crate) retired_verifications: Verifications,
    pub(crate) reloads: u64,
    /// The port that is first in the next step.
    pub(crate) first: usize,
    pub(crate) budget: usize,
    /// A port may hold frames since its last flush: the next step checks which one.
    pub(crate) holding: bool,
    /// A failed port must be tried again.
    retrying: bool,
    at: Nanos,
    pub(crate) events: bool,
}

impl<R: Receive, T: Transmit> Engine<R, T> {
    /// Creates an engine with all its counters at zero. `table` is compiled from `routes`, and port
    /// `n` of the table is `ports[n]`.
    ///
    /// # Errors
    /// [`EngineError`] if these do not belong together.
    pub fn new(
        ports: Vec<NamedPort<R, T>>,
        table: Arc<RoutingTable>,
        routes: &Routes,
    ) -> Result<Self, EngineError> {
        let names = ports.iter().map(|port| port.name.clone()).collect();
        let mut setup = EngineSetup::new(names, table, routes)?;
        for port in ports {
            setup.push(PortHalves::new(port));
        }
        setup.note_held_back();
        // Interfaces may be down from the start.
        let events = setup.rx.iter().any(CountedReceiver::has_news);
        Ok(Self {
            setup,
            retired_ports: PortCount::default(),
            retired_routes: RouteCount::default(),
            retired_verifications: Verifications::default(),
            reloads: 0,
            first: 0,
            budget: BUDGET,
            holding: false,
            retrying: false,
            at: 0,
            events,
        })
    }

    /// Returns the same engine with another number of frames per port and step than [`BUDGET`]; at
    /// least 1.
    #[must_use]
    pub fn with_budget(mut self, frames: usize) -> Self {
        self.budget = frames.max(1);
        self
    }

    /// Receives a batch from every port in turn, decides about each frame, hands its copies to
    /// their ports and flushes every port that got some, once per batch.
    ///
    /// A different port begins in every step, so that no port is always last.
    pub fn step(&mut self, now: Nanos) -> StepResult {
        self.at = now;
        let mut step = StepResult::default();
        if self.retrying {
            self.retry(now);
        }
        if self.holding {
            self.flush_held(now);
        }
        let ports = self.setup.rx.len();
        for i in 0..ports {
            let turn = self.first + i;
            let from = if turn < ports { turn } else { turn - ports };
            let (frames, more) = self.take_batch(from, now);
            step.frames += frames;
            step.more |= more;
        }
        self.first = if self.first + 1 < ports {
            self.first + 1
        } else {
            0
        };
        self.sum_up(&mut step);
        step
    }

    /// Receives nothing, and sends the held frames. For an orderly end.
    pub fn flush(&mut self, now: Nanos) -> StepResult {
        self.at = now;
        let mut step = StepResult::default();
        if self.holding {
            self.flush_held(now);
        }
        self.sum_up(&mut step);
        step
    }

    /// Takes a port out of service. This happens once to a port, so it may allocate.
    pub(crate) fn fail(&mut self, i: usize, error: &PortError) {
        let (Some(rx), Some(tx)) = (self.setup.rx.get_mut(i), self.setup.tx.get_mut(i)) else {
            return;
        };
        rx.before = core::mem::replace(&mut rx.state, PortState::Failed);
        tx.in_service = false;
        tx.held = 0;
        let cause = error
            .source
            .as_ref()
            .map_or(String::new(), |e| format!(" ({e})"));
        tx.failure = Some(Arc::from(format!("{}{cause}", error.what)));
        tx.retry_at = tx.half.retry_at();
        self.retrying |= tx.retry_at.is_some();
        self.events = true;
    }

    /// Takes ports into service again whose time has come. The next frame shows whether they work.
    #[cold]
    fn retry(&mut self, now: Nanos) {
        self.retrying = false;
        for (rx, tx) in self.setup.rx.iter_mut().zip(&mut self.setup.tx) {
            match tx.retry_at {
                Some(at) if at <= now && rx.state == PortState::Failed => {
                    tx.retry_at = None;
                    rx.state = rx.before;
                    tx.in_service = true;
                    tx.failure = None;
                    // If the failure was not reported, its end is not reported either.
                    tx.recovered = core::mem::replace(&mut tx.announced, false);
                    self.events |= tx.recovered;
                }
                Some(_) => self.retrying = true,
                None => {}
            }
        }
    }

    fn sum_up(&mut self, step: &mut StepResult) {
        step.finished = true;
        let mut deadline: Option<Nanos> = None;
        let mut sooner = |half: Option<Nanos>| {
            if let Some(at) = half {
                deadline = Some(deadline.map_or(at, |d| d.min(at)));
            }
        };
        for (rx, tx) in self.setup.rx.iter().zip(&self.setup.tx) {
            if rx.state == PortState::Up {
                step.finished = false;
                // A port that waits for room is checked when there may be some.
                if !rx.blocked {
                    sooner(rx.half.deadline());
                }
            } else {
                step.ended += 1;
                sooner(tx.retry_at);
            }
            if tx.held > 0 {
                step.held += tx.held;
                sooner(tx.half.deadline());
            }
        }
        self.holding = step.held > 0;
        step.deadline = deadline;
        step.events = self.events;
    }

    /// Reports what has happened to ports since the last call, each event once.
    /// [`StepResult::events`] indicates whether there is anything to report.
    pub fn events(&mut self, mut tell: impl FnMut(PortEvent<'_>)) {
        self.events = false;
        let halves = self.setup.rx.iter_mut().zip(&mut self.setup.tx);
        for ((rx, tx), port) in halves.zip(&self.setup.layout.ports) {
            if let Some(why) = &tx.failure {
                if !core::mem::replace(&mut tx.announced, true) {
                    tell(PortEvent::Failed { port, why });
                }
                continue;
            }
            if core::mem::take(&mut tx.recovered) {
                tell(PortEvent::Recovered { port });
            }
            while let Some(what) = rx.half.take_alarm() {
                tell(PortEvent::Alarm { port, what: &what });
            }
            let now = rx.half.link();
            let before = core::mem::replace(&mut rx.link, now);
            if before != now {
                tell(PortEvent::Link { port, before, now });
            }
        }
    }

    /// Returns the receiving halves from which frames may come before a destination has more room:
    /// all of them are worth waiting for.
    pub fn receiving(&self) -> impl Iterator<Item = &R> {
        let up = self.setup.rx.iter().filter(|rx| rx.is_asked());
        up.map(|rx| &rx.half)
    }

    /// Returns the transmitting halves that hold frames: room in these is worth waiting for.
    pub fn sending(&self) -> impl Iterator<Item = &T> {
        let holding = self.setup.tx.iter().filter(|tx| tx.held > 0);
        holding.map(|tx| &tx.half)
    }

    /// Calls `skip` for each half of [`Engine::receiving`], in the same order. The next step skips
    /// those for which it returns true, because they are known to have no frames: this saves a
    /// system call for each.
    pub fn skip_once(&mut self, mut skip: impl FnMut(&R) -> bool) {
        for rx in self.setup.rx.iter_mut().filter(|rx| rx.is_asked()) {
            rx.skip = skip(&rx.half);
        }
    }

    /// Searches for a half of [`Engine::receiving`] for which `has` returns true. It has the first
    /// turn in the next step: no other half is asked before it.
    #[inline]
    pub fn look_for(&mut self, mut has: impl FnMut(&R) -> bool) -> bool {
        let found = self
            .setup
            .rx
            .iter()
            .position(|rx| rx.is_asked() && has(&rx.half));
        if let Some(at) = found {
            self.first = at;
        }
        found.is_some()
    }

    /// Ends the engine: all ports go out of service, and the frames that they still hold count as
    /// lost.
    pub fn close(&mut self) {
        for tx in &mut self.setup.tx {
            tx.in_service = false;
            tx.held = 0;
            tx.retry_at = None;
        }
        for rx in &mut self.setup.rx {
            if rx.state == PortState::Up {
                rx.state = PortState::Closed;
            }
        }
    }

    /// Returns whether none of the ports of these names has more input, and there is at least one
    /// name. A port that a reload removed has no more input.
    #[must_use]
    pub fn have_ended(&self, names: &[String]) -> bool {
        let up = |(rx, name): (&CountedReceiver<R>, &String)| {
            rx.state == PortState::Up && names.contains(name)
        };
        !names.is_empty() && !self.setup.rx.iter().zip(&self.setup.layout.ports).any(up)
    }

    /// Returns whether one of the ports of these names has failed. Then the rest of its input was
    /// not read.
    #[must_use]
    pub fn have_failed(&self, names: &[String]) -> bool {
        let mut all = self.setup.rx.iter().zip(&self.setup.layout.ports);
        all.any(|(rx, name)| rx.state == PortState::Failed && names.contains(name))
    }

    /// Returns whether a port in service has taken frames that have not left yet. This includes
    /// more than [`StepResult::held`]: frames that wait for their bus count too.
    #[must_use]
    pub fn holds_any(&self) -> bool {
        let in_service = self.setup.tx.iter().filter(|tx| tx.in_service);
        in_service.into_iter().any(|tx| tx.half.counters().held > 0)
    }

    /// Returns whether all ports to which routes lead are out of service, and there is at least
    /// one.
    #[must_use]
    pub fn leads_nowhere(&self) -> bool {
        let mut all = self.setup.destinations.iter().flatten().peekable();
        let in_service =
            |to: &Destination| self.setup.tx.get(to.port).is_some_and(|tx| tx.in_service);
        all.peek().is_some() && !all.any(in_service)
    }

    /// Returns whether a port has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.setup.rx.iter().any(|rx| rx.state == PortState::Failed)
    }

    /// Returns the names of the ports and routes to which the counters belong, by index.
    #[must_use]
    pub fn layout(&self) -> &Arc<CounterNames> {
        &self.setup.layout
    }

    /// Copies all counters into `counts`, whose vectors are reused. This is all that the worker
    /// does for a reader: a few plain copies, 120 bytes per route and 232 per port. It allocates
    /// only if `counts` is too small.
    pub fn count(&self, counts: &mut EngineCounts) {
        counts.at = self.at;
        counts.reloads = self.reloads;
        counts.ports.clear();
        counts.failures.clear();
        for (rx, tx) in self.setup.rx.iter().zip(&self.setup.tx) {
            counts.ports.push(count_port(rx, tx));
            counts.failures.push(tx.failure.clone());
        }
        counts.routes.clear();
        counts.routes.extend_from_slice(&self.setup.routes);
        counts.verifications.clear();
        counts
            .verifications
            .extend_from_slice(&self.setup.verifications);
        counts.retired_ports = self.retired_ports;
        counts.retired_routes = self.retired_routes;
        counts.retired_verifications = self.retired_verifications;
    }

    /// Returns all counters with their names.
    #[must_use]
    pub fn snapshot(&self) -> CounterSnapshot {
        let mut counts = EngineCounts::default();
        self.count(&mut counts);
        CounterSnapshot::new(&self.setup.layout, &counts)
    }

    /// Returns the ports' remarks, in addition to their counters, each with the port's name in
    /// front; bounded by the ports. Allocates: for the end of a run.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (i, (rx, tx)) in self.setup.rx.iter().zip(&self.setup.tx).enumerate() {
            let name = self
                .setup
                .layout
                .ports
                .get(i)
                .map_or("?", |name| name.as_str());
            for remark in rx.half.remarks().into_iter().chain(tx.half.remarks()) {
                all.push(format!("{name}: {remark}"));
            }
        }
        all
    }
}
