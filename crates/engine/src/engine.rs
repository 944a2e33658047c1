//! Ports, a routing table and the counters between them, in somebody else's time.

use crate::batch::{CopyOptions, copy_options};
use crate::counters::{Counts, PortCount, PortState, RouteCount};
use crate::error::{EngineError, PortError};
use crate::event::Event;
use crate::half::{Receive, Transmit};
use crate::lane::{Lane, NamedPort, Receiver, Sender, count_port};
use crate::layout::Layout;
use crate::room::{Destination, destinations};
use crate::snapshot::Snapshot;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use frame::Nanos;
use route::{Memory, Routes, Table};

/// Frames that one port may hand over in one [`Engine::step`] before the next port's turn.
///
/// Large enough that one system call and one flush are shared by many frames, small enough that
/// a flooded port delays the others by no more than this many frames. 64 is what one `recvmmsg`
/// of the socket port brings.
pub const BUDGET: usize = 64;

/// What one [`Engine::step`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Frames received.
    pub frames: usize,
    /// There may be more at once: step again before waiting.
    pub more: bool,
    /// Ports whose input has ended or failed.
    pub ended: usize,
    /// Nothing will ever come in again: every port's input has ended or failed. Frames may still
    /// be held, and embedded buses may still have work.
    pub finished: bool,
    /// Frames that ports took and have not yet passed on.
    pub held: usize,
    /// Step again at this time at the latest.
    pub deadline: Option<Nanos>,
    /// [`Engine::events`] has something to tell.
    pub events: bool,
}

/// Ports, a routing table and the counters between them.
///
/// The engine knows no clock, no thread, no file and no descriptor: it does what is to be done
/// *now*, where now is passed in. Whoever drives it decides what time that is (the time of a
/// simulated bus, a real clock) and how to wait: [`Engine::receiving`] and [`Engine::sending`] name
/// the halves that are worth waiting for, and what such a half waits for is between it and the
/// driver. [`Engine::step`] takes no lock and, once ports have settled, allocates nothing.
///
/// **A destination without room** refuses frames, which are counted. Ports whose frames can wait
/// ([`Receive::can_wait`]: a log) are asked only for as many as their destinations have
/// [room](Transmit::room) for.
///
/// **A port that fails** (a [`PortError`], which ports keep for what they cannot survive) is taken
/// out of service, both halves of it: its held frames count as lost, copies for it count as
/// [`Fate::Undeliverable`](crate::Fate::Undeliverable), and [`Engine::events`] tells it once. All
/// other ports go on. It comes back by a [`Change`](crate::Change) that opens it anew, or by itself
/// where its transmitting half says when ([`Transmit::retry_at`]: a log whose disk was full).
pub struct Engine<R = Box<dyn Receive>, T = Box<dyn Transmit>> {
    pub(crate) table: Arc<Table>,
    pub(crate) memory: Memory,
    pub(crate) layout: Arc<Layout>,
    pub(crate) rx: Vec<Receiver<R>>,
    pub(crate) tx: Vec<Sender<T>>,
    pub(crate) routes: Vec<RouteCount>,
    pub(crate) options: Vec<CopyOptions>,
    /// By port.
    pub(crate) destinations: Vec<Vec<Destination>>,
    pub(crate) retired_ports: PortCount,
    pub(crate) retired_routes: RouteCount,
    pub(crate) reloads: u64,
    /// The port whose turn is the next step's first.
    pub(crate) first: usize,
    pub(crate) budget: usize,
    /// A port may hold frames since its last flush: the next step looks which.
    pub(crate) holding: bool,
    /// A port that has failed is to be tried again.
    retrying: bool,
    at: Nanos,
    pub(crate) events: bool,
}

impl<R: Receive, T: Transmit> Engine<R, T> {
    /// An engine with all its counters at zero. `table` is compiled from `routes`, and port
    /// `n` of the table is `ports[n]`.
    ///
    /// # Errors
    /// [`EngineError`] where these do not belong together.
    pub fn new(
        ports: Vec<NamedPort<R, T>>,
        table: Arc<Table>,
        routes: &Routes,
    ) -> Result<Self, EngineError> {
        let names = ports.iter().map(|port| port.name.clone()).collect();
        let layout = Layout::new(names, &table, routes)?;
        let lanes: Vec<Lane<R, T>> = ports.into_iter().map(Lane::new).collect();
        let destinations = destinations(routes, lanes.len());
        let (rx, tx): (Vec<_>, Vec<_>) = lanes.into_iter().map(Lane::split).unzip();
        let events = rx.iter().any(Receiver::has_news);
        let mut engine = Self {
            memory: table.memory(),
            table,
            layout: Arc::new(layout),
            rx,
            tx,
            routes: vec![RouteCount::default(); routes.routes.len()],
            options: copy_options(routes),
            destinations,
            retired_ports: PortCount::default(),
            retired_routes: RouteCount::default(),
            reloads: 0,
            first: 0,
            budget: BUDGET,
            holding: false,
            retrying: false,
            at: 0,
            // Interfaces may be down from the start.
            events,
        };
        engine.note_who_is_held_back();
        Ok(engine)
    }

    /// The same with another number of frames a port and step than [`BUDGET`]; at least 1.
    #[must_use]
    pub fn with_budget(mut self, frames: usize) -> Self {
        self.budget = frames.max(1);
        self
    }

    /// Receives a batch from every port in turn, decides about each frame, hands its copies to
    /// their ports and flushes every port that was given some, once a batch.
    ///
    /// The port that begins changes with every step, so that none is always last.
    pub fn step(&mut self, now: Nanos) -> Step {
        self.at = now;
        let mut step = Step::default();
        if self.retrying {
            self.retry(now);
        }
        if self.holding {
            self.flush_held(now);
        }
        let ports = self.rx.len();
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

    /// Receives nothing, sends what is held. For an orderly end.
    pub fn flush(&mut self, now: Nanos) -> Step {
        self.at = now;
        let mut step = Step::default();
        if self.holding {
            self.flush_held(now);
        }
        self.sum_up(&mut step);
        step
    }

    /// Takes a port out of service. Happens once to a port, so it may allocate.
    pub(crate) fn fail(&mut self, i: usize, error: &PortError) {
        let (Some(rx), Some(tx)) = (self.rx.get_mut(i), self.tx.get_mut(i)) else {
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
        for (rx, tx) in self.rx.iter_mut().zip(&mut self.tx) {
            match tx.retry_at {
                Some(at) if at <= now && rx.state == PortState::Failed => {
                    tx.retry_at = None;
                    rx.state = rx.before;
                    tx.in_service = true;
                    tx.failure = None;
                    // A failure that was not told need not be over.
                    tx.recovered = core::mem::replace(&mut tx.told, false);
                    self.events |= tx.recovered;
                }
                Some(_) => self.retrying = true,
                None => {}
            }
        }
    }

    fn sum_up(&mut self, step: &mut Step) {
        step.finished = true;
        let mut deadline: Option<Nanos> = None;
        let mut sooner = |half: Option<Nanos>| {
            if let Some(at) = half {
                deadline = Some(deadline.map_or(at, |d| d.min(at)));
            }
        };
        for (rx, tx) in self.rx.iter().zip(&self.tx) {
            if rx.state == PortState::Up {
                step.finished = false;
                // Who waits for room is looked at when there may be some.
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

    /// Tells what has happened to ports since the last call, each thing once.
    /// [`Step::events`] says whether a call is worth while.
    pub fn events(&mut self, mut tell: impl FnMut(Event<'_>)) {
        self.events = false;
        let halves = self.rx.iter_mut().zip(&mut self.tx);
        for ((rx, tx), port) in halves.zip(&self.layout.ports) {
            if let Some(why) = &tx.failure {
                if !core::mem::replace(&mut tx.told, true) {
                    tell(Event::Failed { port, why });
                }
                continue;
            }
            if core::mem::take(&mut tx.recovered) {
                tell(Event::Recovered { port });
            }
            while let Some(what) = rx.half.take_alarm() {
                tell(Event::Alarm { port, what: &what });
            }
            let now = rx.half.link();
            let before = core::mem::replace(&mut rx.link, now);
            if before != now {
                tell(Event::Link { port, before, now });
            }
        }
    }

    /// The receiving halves from which frames may come before a destination has more room: all of
    /// them are worth waiting for.
    pub fn receiving(&self) -> impl Iterator<Item = &R> {
        let up = self.rx.iter().filter(|rx| rx.is_asked());
        up.map(|rx| &rx.half)
    }

    /// The transmitting halves that hold frames: room in these is worth waiting for.
    pub fn sending(&self) -> impl Iterator<Item = &T> {
        let holding = self.tx.iter().filter(|tx| tx.held > 0);
        holding.map(|tx| &tx.half)
    }

    /// Asks `skip` about each half of [`Engine::receiving`], in the same order. The next step
    /// passes over those for which it says yes, because they are known to have nothing: a system
    /// call less for each.
    pub fn skip_once(&mut self, mut skip: impl FnMut(&R) -> bool) {
        for rx in self.rx.iter_mut().filter(|rx| rx.is_asked()) {
            rx.skip = skip(&rx.half);
        }
    }

    /// Looks for a half of [`Engine::receiving`] of which this is true. It has the first turn in
    /// the next step: nobody else is asked before it.
    #[inline]
    pub fn look_for(&mut self, mut has: impl FnMut(&R) -> bool) -> bool {
        let found = self.rx.iter().position(|rx| rx.is_asked() && has(&rx.half));
        if let Some(at) = found {
            self.first = at;
        }
        found.is_some()
    }

    /// The end: no port is in service any more, and what they still hold counts as lost.
    pub fn close(&mut self) {
        for tx in &mut self.tx {
            tx.in_service = false;
            tx.held = 0;
            tx.retry_at = None;
        }
        for rx in &mut self.rx {
            if rx.state == PortState::Up {
                rx.state = PortState::Closed;
            }
        }
    }

    /// Have all ports of these names no more input, and is there at least one? A port that a
    /// reload took away has none.
    #[must_use]
    pub fn have_ended(&self, names: &[String]) -> bool {
        let up =
            |(rx, name): (&Receiver<R>, &String)| rx.state == PortState::Up && names.contains(name);
        !names.is_empty() && !self.rx.iter().zip(&self.layout.ports).any(up)
    }

    /// Has one of the ports of these names failed? Then what its input still had did not come in.
    #[must_use]
    pub fn have_failed(&self, names: &[String]) -> bool {
        let mut all = self.rx.iter().zip(&self.layout.ports);
        all.any(|(rx, name)| rx.state == PortState::Failed && names.contains(name))
    }

    /// Does a port in service say that frames it took have not left yet? More than
    /// [`Step::held`]: frames that wait for their bus count too.
    #[must_use]
    pub fn holds_any(&self) -> bool {
        let in_service = self.tx.iter().filter(|tx| tx.in_service);
        in_service.into_iter().any(|tx| tx.half.counters().held > 0)
    }

    /// Are all ports to which routes lead out of service, and is there at least one?
    #[must_use]
    pub fn leads_nowhere(&self) -> bool {
        let mut all = self.destinations.iter().flatten().peekable();
        let in_service = |to: &Destination| self.tx.get(to.port).is_some_and(|tx| tx.in_service);
        all.peek().is_some() && !all.any(in_service)
    }

    /// Is a port out of service?
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.rx.iter().any(|rx| rx.state == PortState::Failed)
    }

    /// The names of ports and routes that the counters belong to, by index.
    #[must_use]
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Copies all numbers into `counts`, whose vectors are reused. This is all that the worker
    /// does for a reader: a few plain copies, 96 bytes a route and 232 a port. It allocates
    /// only where `counts` is too small.
    pub fn count(&self, counts: &mut Counts) {
        counts.at = self.at;
        counts.reloads = self.reloads;
        counts.ports.clear();
        counts.failures.clear();
        for (rx, tx) in self.rx.iter().zip(&self.tx) {
            counts.ports.push(count_port(rx, tx));
            counts.failures.push(tx.failure.clone());
        }
        counts.routes.clear();
        counts.routes.extend_from_slice(&self.routes);
        counts.retired_ports = self.retired_ports;
        counts.retired_routes = self.retired_routes;
    }

    /// All numbers with their names.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let mut counts = Counts::default();
        self.count(&mut counts);
        Snapshot::new(&self.layout, &counts)
    }

    /// What ports say besides their counters, with the port's name in front; bounded by the
    /// ports. Allocates: for the end of a run.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (i, (rx, tx)) in self.rx.iter().zip(&self.tx).enumerate() {
            let name = self.layout.ports.get(i).map_or("?", |name| name.as_str());
            for remark in rx.half.remarks().into_iter().chain(tx.half.remarks()) {
                all.push(format!("{name}: {remark}"));
            }
        }
        all
    }
}
