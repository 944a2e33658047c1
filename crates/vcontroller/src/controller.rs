//! The controller: functions, and the arbitration module between them and the bus.

use crate::budget::Bucket;
use crate::counters::{Counters, Imbalance};
use crate::function::{Completion, Function, Outcome, Received, Ticket};
use crate::rights::Rights;
use ::controller::State;
use alloc::vec::Vec;
use frame::{Frame, Kind, Nanos};

/// A virtual function, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Vf(pub u8);

/// What a controller is made with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Virtual functions.
    pub functions: u8,
    /// Frames that a function's queue has room for.
    pub queue: usize,
    /// Frames that its receive FIFO has room for.
    pub fifo: usize,
    /// FD frames, too.
    pub fd: bool,
}

/// There is no such function.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("there is no virtual function {}", .0.0)]
pub struct NoFunction(pub Vf);

/// Why a request was not taken. It is counted, and no completion comes.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refused {
    /// No place in the queue: read completions, or wait.
    #[error("the queue is full")]
    Full,
    /// Not an identifier that this function may send.
    #[error("this function may not send this identifier")]
    NotPermitted,
    /// FD on a classic controller, XL, an error frame.
    #[error("the controller cannot send this frame")]
    Unsupported,
    /// The function is stopped or listens only, or the controller is not on the bus.
    #[error("the function or its controller is down")]
    Down,
    /// There is no such function.
    #[error("there is no such function")]
    NoFunction,
}

/// The frame that goes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Whose.
    pub vf: Vf,
    /// Which: its number among all requests.
    pub order: u64,
    /// The frame.
    pub frame: Frame,
}

/// The controller. See [the crate's page](crate).
pub struct Controller {
    functions: Vec<Function>,
    /// The functions behind these were never used: they are stopped, and have no frame.
    used: usize,
    fd: bool,
    state: State,
    order: u64,
    /// The frame on the wire.
    wire: Option<(Vf, u64)>,
}

impl Controller {
    /// A controller off the bus, whose functions are stopped and may do nothing.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let function = |_| Function::new(config.queue, config.fifo);
        Self {
            functions: (0..config.functions).map(function).collect(),
            used: 0,
            fd: config.fd,
            state: State::Stopped,
            order: 0,
            wire: None,
        }
    }

    fn function(&self, vf: Vf) -> Result<&Function, NoFunction> {
        self.functions.get(usize::from(vf.0)).ok_or(NoFunction(vf))
    }

    fn function_mut(&mut self, vf: Vf) -> Result<&mut Function, NoFunction> {
        let number = usize::from(vf.0);
        let function = self.functions.get_mut(number).ok_or(NoFunction(vf))?;
        self.used = self.used.max(number + 1);
        Ok(function)
    }

    fn in_use(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().take(self.used)
    }

    fn in_use_mut(&mut self) -> impl Iterator<Item = &mut Function> {
        self.functions.iter_mut().take(self.used)
    }

    // ---- The physical function ----

    /// What a function may do from now on. Frames that it may not send any more and that are not on
    /// the wire are given up; its budget begins anew, with a full bucket.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn set_rights(&mut self, vf: Vf, rights: Rights, now: Nanos) -> Result<(), NoFunction> {
        let wire = self.wire;
        let function = self.function_mut(vf)?;
        function.bucket = rights.budget.map(|budget| Bucket::new(budget, now));
        function.rights = rights;
        let mut place = 0;
        while let Some(waiting) = function.waiting.get_mut(place) {
            let id = waiting.frame.id();
            let may = function.rights.send.iter().any(|rule| rule.matches(id));
            if may {
                place += 1;
            } else if wire == Some((vf, waiting.order)) {
                waiting.unwanted = Some(Outcome::Dropped);
                place += 1;
            } else {
                function.complete(place, Outcome::Dropped, now);
            }
        }
        Ok(())
    }

    /// How the controller takes part in its bus from now on; all functions are told. When frames
    /// pass no more, all that wait are given up.
    pub fn set_state(&mut self, state: State, now: Nanos) {
        if self.state == state {
            return;
        }
        self.state = state;
        for function in &mut self.functions {
            function.news = true;
            if !state.passes() {
                while !function.waiting.is_empty() {
                    // The oldest first: confirmations are in the order of the requests.
                    let all = function.waiting.iter().enumerate();
                    let oldest = all.min_by_key(|(_, w)| w.order).map_or(0, |(i, _)| i);
                    function.complete(oldest, Outcome::Dropped, now);
                }
            }
        }
        if !state.passes() {
            self.wire = None;
        }
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// A function's counts.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn counters(&self, vf: Vf) -> Result<Counters, NoFunction> {
        Ok(self.function(vf)?.counters)
    }

    /// Do all counts add up?
    ///
    /// # Errors
    /// [`Imbalance`]: a mistake in this crate.
    pub fn check(&self) -> Result<(), Imbalance> {
        self.functions.iter().try_for_each(|function| {
            let (waiting, unread) = (function.waiting.len(), function.fifo.len());
            function.counters.check(waiting as u64, unread as u64)
        })
    }

    // ---- A virtual function ----

    /// It takes part from now on. It may listen only.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn start(&mut self, vf: Vf, listen_only: bool) -> Result<(), NoFunction> {
        let function = self.function_mut(vf)?;
        function.started = true;
        function.listen_only = listen_only;
        function.news = true;
        Ok(())
    }

    /// It takes part no more, and is as it was at first: what waits is given up, what it has not
    /// read is thrown away. A frame on the wire is on the wire; its function learns nothing more of
    /// it.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn reset(&mut self, vf: Vf) -> Result<(), NoFunction> {
        let function = self.function_mut(vf)?;
        function.counters.reset += function.waiting.len() as u64;
        function.counters.discarded += function.fifo.len() as u64;
        function.waiting.clear();
        function.completions.clear();
        function.fifo.clear();
        function.started = false;
        function.listen_only = false;
        function.news = true;
        Ok(())
    }

    /// Asks for a frame to be sent; `ticket` comes back with what becomes of it.
    ///
    /// # Errors
    /// [`Refused`]; it is counted.
    pub fn request(&mut self, vf: Vf, frame: &Frame, ticket: Ticket) -> Result<(), Refused> {
        let (fd, passes, order) = (self.fd, self.state.passes(), self.order);
        let function = self.function_mut(vf).map_err(|_| Refused::NoFunction)?;
        let counters = &mut function.counters;
        counters.requested += 1;
        let known = match frame.kind() {
            Kind::Classic => true,
            Kind::Fd => fd && !frame.id().is_rtr(),
            Kind::Xl => false,
        };
        let id = frame.id();
        if !known || id.is_err() {
            counters.unsupported += 1;
            return Err(Refused::Unsupported);
        }
        if !passes || !function.started || function.listen_only {
            counters.down += 1;
            return Err(Refused::Down);
        }
        if !function.rights.send.iter().any(|rule| rule.matches(id)) {
            counters.not_permitted += 1;
            return Err(Refused::NotPermitted);
        }
        if function.room() == 0 {
            function.counters.full += 1;
            return Err(Refused::Full);
        }
        function.counters.accepted += 1;
        function.push(*frame, ticket, order);
        self.order += 1;
        Ok(())
    }

    /// Takes back all requests with this ticket. One that is on the wire stays there; it is not
    /// tried again. Gives the number of those that were taken back or will be.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn abort(&mut self, vf: Vf, ticket: Ticket, now: Nanos) -> Result<usize, NoFunction> {
        let wire = self.wire;
        let function = self.function_mut(vf)?;
        let (mut place, mut found) = (0, 0);
        while let Some(waiting) = function.waiting.get_mut(place) {
            if waiting.ticket != ticket {
                place += 1;
                continue;
            }
            found += 1;
            if wire == Some((vf, waiting.order)) {
                waiting.unwanted = Some(Outcome::Aborted);
                place += 1;
            } else {
                function.complete(place, Outcome::Aborted, now);
            }
        }
        Ok(found)
    }

    /// The oldest frame of its FIFO.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn receive(&mut self, vf: Vf) -> Result<Option<Received>, NoFunction> {
        let function = self.function_mut(vf)?;
        let received = function.fifo.pop_front();
        function.counters.read += u64::from(received.is_some());
        Ok(received)
    }

    /// The oldest confirmation; its place in the queue is free then.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn completion(&mut self, vf: Vf) -> Result<Option<Completion>, NoFunction> {
        Ok(self.function_mut(vf)?.completions.pop_front())
    }

    /// The controller's state, if it has changed since the function asked last.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn news(&mut self, vf: Vf) -> Result<Option<State>, NoFunction> {
        let state = self.state;
        let function = self.function_mut(vf)?;
        Ok(core::mem::take(&mut function.news).then_some(state))
    }

    /// Is there something that the function has not read: a confirmation, a frame, a change of the
    /// state?
    #[must_use]
    pub fn has_news(&self, vf: Vf) -> bool {
        self.function(vf).is_ok_and(|function| {
            function.news || !function.completions.is_empty() || !function.fifo.is_empty()
        })
    }

    /// Frames that its queue takes for certain, if they are its to send.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn room(&self, vf: Vf) -> Result<usize, NoFunction> {
        Ok(self.function(vf)?.room())
    }

    // ---- The bus ----

    /// The frame to offer to the bus just before an arbitration: the one with the highest priority
    /// of all functions whose budgets allow theirs. `None` while one is on the wire, or where
    /// nothing may be sent.
    #[must_use]
    pub fn best(&self, now: Nanos) -> Option<Candidate> {
        if self.wire.is_some() || !self.state.passes() {
            return None;
        }
        let heads = (0..).zip(self.in_use()).filter_map(|(number, function)| {
            let head = function.waiting.get(function.best()?)?;
            let bucket = function.bucket.as_ref();
            let may = bucket.is_none_or(|bucket| bucket.allows(&head.frame, now));
            may.then_some((Vf(number), head))
        });
        let (vf, head) = heads.min_by_key(|(_, head)| (head.key, head.order))?;
        Some(Candidate {
            vf,
            order: head.order,
            frame: head.frame,
        })
    }

    /// When a budget allows a frame that it does not allow now: [`Controller::best`] may change
    /// then.
    #[must_use]
    pub fn deadline(&self, now: Nanos) -> Option<Nanos> {
        let times = self.in_use().filter_map(|function| {
            let head = function.waiting.get(function.best()?)?;
            let at = function.bucket.as_ref()?.allows_at(&head.frame, now)?;
            (at > now).then_some(at)
        });
        times.min()
    }

    /// A candidate has won the arbitration: its start of frame was at this time. Its budget pays.
    pub fn on_wire(&mut self, candidate: &Candidate, now: Nanos) {
        let Ok(function) = self.function_mut(candidate.vf) else {
            return;
        };
        if let Some(bucket) = &mut function.bucket {
            bucket.pay(&candidate.frame, now);
        }
        function.counters.attempts += 1;
        if function.place(candidate.order).is_some() {
            self.wire = Some((candidate.vf, candidate.order));
        }
    }

    /// The attempt has failed by an error; the frame competes again, unless it was taken back.
    pub fn off_wire(&mut self, candidate: &Candidate, now: Nanos) {
        self.wire = None;
        let Ok(function) = self.function_mut(candidate.vf) else {
            return;
        };
        if let Some(place) = function.place(candidate.order)
            && let Some(outcome) = function.waiting.get(place).and_then(|w| w.unwanted)
        {
            function.complete(place, outcome, now);
        }
    }

    /// It was sent and acknowledged, with this end of frame. All other functions hear it.
    pub fn sent(&mut self, candidate: &Candidate, end: Nanos) {
        self.wire = None;
        for (number, function) in (0..).zip(self.in_use_mut()) {
            if Vf(number) != candidate.vf {
                function.hear(&candidate.frame, end);
            } else if let Some(place) = function.place(candidate.order) {
                function.complete(place, Outcome::Sent, end);
            }
        }
    }

    /// A frame of another node has ended.
    pub fn heard(&mut self, frame: &Frame, end: Nanos) {
        for function in self.in_use_mut() {
            function.hear(frame, end);
        }
    }
}
