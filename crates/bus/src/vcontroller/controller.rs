//! The controller: functions, and the arbitration module between them and the bus.

use super::budget::BudgetBucket;
use super::counters::{FunctionCounters, FunctionImbalance};
use super::function::{FunctionFrame, RequestCompletion, RequestOutcome, Ticket, VirtualFunction};
use super::rights::FunctionRights;
use alloc::vec::Vec;
use frame::{ErrorState, Frame, Kind, Nanos};

/// A virtual function, identified by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct VfNumber(pub u8);

/// Configuration of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ControllerConfig {
    /// Number of virtual functions.
    pub functions: u8,
    /// Capacity of a function's transmit queue, frames.
    pub queue: usize,
    /// Capacity of a function's receive FIFO, frames.
    pub fifo: usize,
    /// Carry FD frames, too.
    pub fd: bool,
}

/// The error that no such function exists.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("there is no virtual function {}", .0.0)]
pub struct NoFunction(pub VfNumber);

/// Reason why a request was not taken. The refusal is counted, and no completion follows.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestRefusal {
    /// The queue is full: the VF must read completions, or wait.
    #[error("the queue is full")]
    Full,
    /// The function may not send this identifier.
    #[error("this function may not send this identifier")]
    NotPermitted,
    /// FD on a classic controller, XL, or an error frame.
    #[error("the controller cannot send this frame")]
    Unsupported,
    /// The function is stopped or in listen-only mode, or the controller is not on the bus.
    #[error("the function or its controller is down")]
    Down,
    /// No such function exists.
    #[error("there is no such function")]
    NoFunction,
}

/// The frame that is sent first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextFrame {
    /// The function to which it belongs.
    pub vf: VfNumber,
    /// Its number among all requests.
    pub order: u64,
    /// The frame.
    pub frame: Frame,
}

/// The controller. See [the crate's page](crate).
pub struct VirtualController {
    functions: Vec<VirtualFunction>,
    /// Functions from this number on were never used: they are stopped, and have no frame.
    used: usize,
    fd: bool,
    state: Option<ErrorState>,
    order: u64,
    /// The frame on the wire.
    wire: Option<(VfNumber, u64)>,
}

impl VirtualController {
    /// Creates a controller that is off the bus, with stopped functions that have no rights.
    #[must_use]
    pub fn new(config: ControllerConfig) -> Self {
        let function = |_| VirtualFunction::new(config.queue, config.fifo);
        Self {
            functions: (0..config.functions).map(function).collect(),
            used: 0,
            fd: config.fd,
            state: None,
            order: 0,
            wire: None,
        }
    }

    fn function(&self, vf: VfNumber) -> Result<&VirtualFunction, NoFunction> {
        self.functions.get(usize::from(vf.0)).ok_or(NoFunction(vf))
    }

    fn function_mut(&mut self, vf: VfNumber) -> Result<&mut VirtualFunction, NoFunction> {
        let number = usize::from(vf.0);
        let function = self.functions.get_mut(number).ok_or(NoFunction(vf))?;
        self.used = self.used.max(number + 1);
        Ok(function)
    }

    fn in_use(&self) -> impl Iterator<Item = &VirtualFunction> {
        self.functions.iter().take(self.used)
    }

    fn in_use_mut(&mut self) -> impl Iterator<Item = &mut VirtualFunction> {
        self.functions.iter_mut().take(self.used)
    }

    // ---- The physical function ----

    /// Sets the rights of a function. Frames that it may not send any more are given up unless they
    /// are on the wire; its budget is reset to a full bucket.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn set_rights(
        &mut self,
        vf: VfNumber,
        rights: FunctionRights,
        now: Nanos,
    ) -> Result<(), NoFunction> {
        let wire = self.wire;
        let function = self.function_mut(vf)?;
        function.bucket = rights.budget.map(|budget| BudgetBucket::new(budget, now));
        function.rights = rights;
        let mut place = 0;
        while let Some(waiting) = function.waiting.get_mut(place) {
            let id = waiting.frame.id();
            let may = function.rights.send.iter().any(|rule| rule.matches(id));
            if may {
                place += 1;
            } else if wire == Some((vf, waiting.order)) {
                waiting.unwanted = Some(RequestOutcome::Dropped);
                place += 1;
            } else {
                function.complete(place, RequestOutcome::Dropped, now);
            }
        }
        Ok(())
    }

    /// Sets the controller's state on its bus, `None` for stopped, and notifies all functions. When
    /// frames can pass no longer, all waiting frames are given up.
    pub fn set_state(&mut self, state: Option<ErrorState>, now: Nanos) {
        if self.state == state {
            return;
        }
        self.state = state;
        for function in &mut self.functions {
            function.news = true;
            if !state.is_some_and(ErrorState::is_on_bus) {
                while !function.waiting.is_empty() {
                    // The oldest first: confirmations are in the order of the requests.
                    let all = function.waiting.iter().enumerate();
                    let oldest = all.min_by_key(|(_, w)| w.order).map_or(0, |(i, _)| i);
                    function.complete(oldest, RequestOutcome::Dropped, now);
                }
            }
        }
        if !state.is_some_and(ErrorState::is_on_bus) {
            self.wire = None;
        }
    }

    /// Returns the state on the bus; `None` while the controller is stopped.
    #[must_use]
    pub const fn state(&self) -> Option<ErrorState> {
        self.state
    }

    /// Returns a function's counters.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn counters(&self, vf: VfNumber) -> Result<FunctionCounters, NoFunction> {
        Ok(self.function(vf)?.counters)
    }

    /// Checks that all counters add up.
    ///
    /// # Errors
    /// [`FunctionImbalance`]: a bug in this crate.
    pub fn check(&self) -> Result<(), FunctionImbalance> {
        self.functions.iter().try_for_each(|function| {
            let (waiting, unread) = (function.waiting.len(), function.fifo.len());
            function.counters.check(waiting as u64, unread as u64)
        })
    }

    // ---- A virtual function ----

    /// Starts a function, optionally in listen-only mode.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn start(&mut self, vf: VfNumber, listen_only: bool) -> Result<(), NoFunction> {
        let function = self.function_mut(vf)?;
        function.started = true;
        function.listen_only = listen_only;
        function.news = true;
        Ok(())
    }

    /// Stops a function and resets it to its initial state: its waiting frames are given up, and
    /// its unread frames are discarded. A frame that is on the wire is still sent; its function
    /// gets no confirmation of it.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn reset(&mut self, vf: VfNumber) -> Result<(), NoFunction> {
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

    /// Requests the transmission of a frame; its completion has the same `ticket`.
    ///
    /// # Errors
    /// [`RequestRefusal`]; it is counted.
    pub fn request(
        &mut self,
        vf: VfNumber,
        frame: &Frame,
        ticket: Ticket,
    ) -> Result<(), RequestRefusal> {
        let (fd, passes, order) = (
            self.fd,
            self.state.is_some_and(ErrorState::is_on_bus),
            self.order,
        );
        let function = self
            .function_mut(vf)
            .map_err(|_| RequestRefusal::NoFunction)?;
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
            return Err(RequestRefusal::Unsupported);
        }
        if !passes || !function.started || function.listen_only {
            counters.down += 1;
            return Err(RequestRefusal::Down);
        }
        if !function.rights.send.iter().any(|rule| rule.matches(id)) {
            counters.not_permitted += 1;
            return Err(RequestRefusal::NotPermitted);
        }
        if function.room() == 0 {
            function.counters.full += 1;
            return Err(RequestRefusal::Full);
        }
        function.counters.accepted += 1;
        function.push(*frame, ticket, order);
        self.order += 1;
        Ok(())
    }

    /// Withdraws all requests with this ticket. A frame that is on the wire stays there, but is not
    /// tried again. Returns the number of requests that were withdrawn or will be.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn abort(&mut self, vf: VfNumber, ticket: Ticket, now: Nanos) -> Result<usize, NoFunction> {
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
                waiting.unwanted = Some(RequestOutcome::Aborted);
                place += 1;
            } else {
                function.complete(place, RequestOutcome::Aborted, now);
            }
        }
        Ok(found)
    }

    /// Takes the oldest frame of its FIFO.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn receive(&mut self, vf: VfNumber) -> Result<Option<FunctionFrame>, NoFunction> {
        let function = self.function_mut(vf)?;
        let received = function.fifo.pop_front();
        function.counters.read += u64::from(received.is_some());
        Ok(received)
    }

    /// Takes the oldest confirmation, which frees its place in the queue.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn completion(&mut self, vf: VfNumber) -> Result<Option<RequestCompletion>, NoFunction> {
        Ok(self.function_mut(vf)?.completions.pop_front())
    }

    /// Returns whether the controller's state has changed since the last call for the function.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn take_news(&mut self, vf: VfNumber) -> Result<bool, NoFunction> {
        Ok(core::mem::take(&mut self.function_mut(vf)?.news))
    }

    /// Returns whether there is something that the function has not read: a confirmation, a frame,
    /// or a change of the state.
    #[must_use]
    pub fn has_news(&self, vf: VfNumber) -> bool {
        self.function(vf).is_ok_and(|function| {
            function.news || !function.completions.is_empty() || !function.fifo.is_empty()
        })
    }

    /// Returns the number of frames for which its queue has room, if the function may send them.
    ///
    /// # Errors
    /// [`NoFunction`].
    pub fn room(&self, vf: VfNumber) -> Result<usize, NoFunction> {
        Ok(self.function(vf)?.room())
    }

    // ---- The bus ----

    /// Returns the frame to offer to the bus just before an arbitration: the one with the highest
    /// priority among the first frames of all functions whose budgets allow them. `None` while a
    /// frame is on the wire, or if nothing may be sent.
    #[must_use]
    pub fn best(&self, now: Nanos) -> Option<NextFrame> {
        if self.wire.is_some() || !self.state.is_some_and(ErrorState::is_on_bus) {
            return None;
        }
        let heads = (0..).zip(self.in_use()).filter_map(|(number, function)| {
            let head = function.waiting.get(function.best()?)?;
            let bucket = function.bucket.as_ref();
            let may = bucket.is_none_or(|bucket| bucket.allows(&head.frame, now));
            may.then_some((VfNumber(number), head))
        });
        let (vf, head) = heads.min_by_key(|(_, head)| (head.key, head.order))?;
        Some(NextFrame {
            vf,
            order: head.order,
            frame: head.frame,
        })
    }

    /// Returns the next time at which a budget allows a frame that it does not allow now: the
    /// result of [`VirtualController::best`] may change then.
    #[must_use]
    pub fn deadline(&self, now: Nanos) -> Option<Nanos> {
        let times = self.in_use().filter_map(|function| {
            let head = function.waiting.get(function.best()?)?;
            let at = function.bucket.as_ref()?.allows_at(&head.frame, now)?;
            (at > now).then_some(at)
        });
        times.min()
    }

    /// Records that a candidate has won the arbitration, with this time of its start of frame. Its
    /// budget is charged.
    pub fn on_wire(&mut self, candidate: &NextFrame, now: Nanos) {
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

    /// Records that the attempt has failed by an error; the frame competes again, unless it was
    /// withdrawn.
    pub fn off_wire(&mut self, candidate: &NextFrame, now: Nanos) {
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

    /// Records that the frame was sent and acknowledged, with this end of frame. All other
    /// functions receive it.
    pub fn sent(&mut self, candidate: &NextFrame, end: Nanos) {
        self.wire = None;
        for (number, function) in (0..).zip(self.in_use_mut()) {
            if VfNumber(number) != candidate.vf {
                function.deliver(&candidate.frame, end);
            } else if let Some(place) = function.place(candidate.order) {
                function.complete(place, RequestOutcome::Sent, end);
            }
        }
    }

    /// Records that a frame of another node has ended.
    pub fn deliver(&mut self, frame: &Frame, end: Nanos) {
        for function in self.in_use_mut() {
            function.deliver(frame, end);
        }
    }
}
