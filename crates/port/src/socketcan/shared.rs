//! The state of the interface, which both halves share.

use super::line::SocketLine;
use super::words::words;
use crate::{LinkState, PortError, RawFilter};
use frame::{ErrorState, Nanos};
use linux::Errno;
use linux::can::{InterfaceState, OpenError};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first and the longest pause between two checks of an interface that is not up, ns.
const SHORTEST: Nanos = 20_000_000;
const LONGEST: Nanos = 500_000_000;

/// Maximum number of remarks kept for the user; more frequent events show in the counters.
const REMARKS: usize = 8;

/// The state of the interface: whether frames can pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SocketState {
    Up,
    /// Switched off or without carrier; the socket stays bound and works again when that ends.
    Down,
    /// The controller went bus-off.
    BusOff,
    /// There is no such interface; the socket is not bound to one.
    Gone,
}

impl SocketState {
    fn from_u8(n: u8) -> Self {
        [Self::Up, Self::Down, Self::BusOff, Self::Gone]
            .into_iter()
            .find(|state| *state as u8 == n)
            .unwrap_or(Self::Gone)
    }
}

/// The sockets of both halves, and the state of their interface.
pub(super) struct SharedSockets {
    line: Box<dyn SocketLine>,
    pub(super) port: String,
    interface: String,
    // Hints between two threads; the kernel checks again everything that depends on them.
    state: AtomicU8,
    mtu: AtomicUsize,
    echo: AtomicBool,
    /// See [`SocketLine::is_local`].
    local: AtomicBool,
    next_check: AtomicU64,
    reopened: AtomicU64,
    /// [`ErrorState`] of a controller that is not bus-off, as the last error frame reported it.
    errors: AtomicU8,
    /// True if [`SharedSockets::link`] has changed since [`SharedSockets::take_news`].
    news: AtomicBool,
    slow: Mutex<SlowState>,
}

/// The data that are needed when something changes, never for a frame.
struct SlowState {
    index: u32,
    filters: Vec<RawFilter>,
    pause: Nanos,
    remarks: Vec<String>,
    omitted: u64,
    /// Remarks that the user gets at once.
    alarms: VecDeque<String>,
    /// Number of the interface that was last reported as unusable.
    unfit: u32,
    /// The last report that several interfaces fit.
    ambiguity: Option<String>,
}

impl SharedSockets {
    /// Attaches the line to its interface, which may be down, and also absent if `may_be_absent`.
    pub(super) fn attach(
        line: impl SocketLine + 'static,
        port: &str,
        interface: &str,
        filters: Vec<RawFilter>,
        may_be_absent: bool,
    ) -> Result<Self, Errno> {
        let (link, state) = match line.query_state() {
            Err(Errno::NODEV) if may_be_absent => (InterfaceState::default(), SocketState::Gone),
            link => {
                let link = link?;
                (link, state_of(&link))
            }
        };
        line.set_filters(&filters)?;
        if state != SocketState::Gone {
            line.attach(link.index)?;
        }
        let local = state != SocketState::Gone && link.echo && line.is_local(interface);
        Ok(Self {
            line: Box::new(line),
            port: port.to_owned(),
            interface: interface.to_owned(),
            state: AtomicU8::new(state as u8),
            mtu: AtomicUsize::new(link.mtu),
            echo: AtomicBool::new(link.echo),
            local: AtomicBool::new(local),
            next_check: AtomicU64::new(0),
            reopened: AtomicU64::new(0),
            errors: AtomicU8::new(ErrorState::Active as u8),
            news: AtomicBool::new(true),
            slow: Mutex::new(SlowState {
                index: link.index,
                filters,
                pause: SHORTEST,
                remarks: Vec::new(),
                omitted: 0,
                alarms: VecDeque::new(),
                unfit: 0,
                ambiguity: None,
            }),
        })
    }

    /// Returns the present name of the interface.
    pub(super) fn interface(&self) -> String {
        self.line.name().unwrap_or_else(|| self.interface.clone())
    }

    pub(super) fn state(&self) -> SocketState {
        SocketState::from_u8(self.state.load(Relaxed))
    }

    /// Stores a state, which the receiving half will report. An interface that goes out of use or
    /// comes back no longer has its old error counters.
    fn set_state(&self, state: SocketState) {
        if self.state.swap(state as u8, Relaxed) != state as u8 {
            self.errors.store(ErrorState::Active as u8, Relaxed);
            self.news.store(true, Relaxed);
        }
    }

    /// Stores the error state that an error frame has reported.
    pub(super) fn set_errors(&self, errors: ErrorState) {
        if self.errors.swap(errors as u8, Relaxed) != errors as u8 {
            self.news.store(true, Relaxed);
        }
    }

    fn errors(&self) -> Option<ErrorState> {
        ErrorState::from_number(self.errors.load(Relaxed).into())
    }

    /// Returns whether [`SharedSockets::link`] has changed since the last call.
    pub(super) fn take_news(&self) -> bool {
        self.news.load(Relaxed) && self.news.swap(false, Relaxed)
    }

    pub(super) fn link(&self) -> LinkState {
        match self.state() {
            SocketState::Up => self.errors().map_or(LinkState::Up, LinkState::from),
            SocketState::Down => LinkState::Down,
            SocketState::BusOff => LinkState::BusOff,
            SocketState::Gone => LinkState::Gone,
        }
    }

    pub(super) fn mtu(&self) -> usize {
        self.mtu.load(Relaxed)
    }

    pub(super) fn echo(&self) -> bool {
        self.echo.load(Relaxed)
    }

    /// Returns whether frames reach other sockets only by the kernel's loopback.
    pub(super) fn needs_loopback(&self) -> bool {
        !self.echo() || self.local.load(Relaxed)
    }

    pub(super) fn reopened(&self) -> u64 {
        self.reopened.load(Relaxed)
    }

    /// Returns the time at which [`SharedSockets::retry`] has something to do.
    pub(super) fn next_check(&self) -> Option<Nanos> {
        (self.state() != SocketState::Up).then(|| self.next_check.load(Relaxed))
    }

    /// Returns whether the controller may be bus-off, after an error frame that reports it. Not
    /// every way to receive can distinguish frames of a controller from those that a local process
    /// has sent, so this asks the driver, once for each bus-off.
    pub(super) fn may_be_bus_off(&self) -> bool {
        self.state() != SocketState::Up || self.line.is_bus_off(&self.interface()) != Some(false)
    }

    /// Notes that the interface went out of use.
    pub(super) fn suspend(&self, state: SocketState, now: Nanos) {
        let mut slow = self.slow();
        if self.state() == state {
            return;
        }
        self.set_state(state);
        slow.pause = SHORTEST;
        self.next_check.store(now.saturating_add(SHORTEST), Relaxed);
        let what = match state {
            SocketState::Up => return,
            SocketState::Down => "is down: frames for it are refused until it is up again",
            SocketState::BusOff => "is bus-off: frames for it are refused until it is restarted",
            SocketState::Gone => "is gone: frames for it are refused until it is back",
        };
        slow.remark(format!("{} {what}", self.interface()));
    }

    /// Notes that the interface is in use again, because a frame came from it.
    pub(super) fn resume(&self) {
        self.set_state(SocketState::Up);
        self.line.reset();
        self.reopened.fetch_add(1, Relaxed);
        self.check_settings(&mut self.slow());
    }

    /// Raises an alarm if the interface is set up differently now. Another program can have done
    /// that only while the interface was down.
    fn check_settings(&self, slow: &mut SlowState) {
        if let Some(difference) = self.line.differs() {
            self.alarm(slow, difference);
        }
    }

    fn alarm(&self, slow: &mut SlowState, text: String) {
        if slow.alarms.len() < REMARKS {
            slow.alarms.push_back(text.clone());
        }
        slow.remark(text);
        self.news.store(true, Relaxed);
    }

    /// Returns a remark that the user should get at once; each remark once.
    pub(super) fn take_alarm(&self) -> Option<String> {
        self.slow().alarms.pop_front()
    }

    /// Lets the next [`SharedSockets::retry`] check the interface at once.
    pub(super) fn check_now(&self) {
        self.next_check.store(0, Relaxed);
    }

    /// Returns whether frames can pass. If not, checks the interface again after a sensible pause,
    /// and uses it again when it is back.
    pub(super) fn retry(&self, now: Nanos) -> bool {
        if self.state() == SocketState::Up {
            return true;
        }
        if now < self.next_check.load(Relaxed) {
            return false;
        }
        let mut slow = self.slow();
        slow.pause = (slow.pause * 2).min(LONGEST);
        self.next_check
            .store(now.saturating_add(slow.pause), Relaxed);
        let state = match self.line.query_state() {
            Ok(link) => self.take_up(&link, &mut slow),
            Err(_) => {
                self.report_ambiguity(&mut slow);
                SocketState::Gone
            }
        };
        self.set_state(state);
        if state == SocketState::Up {
            self.reopened.fetch_add(1, Relaxed);
            slow.remark(format!("{} is up again", self.interface()));
            self.check_settings(&mut slow);
        }
        state == SocketState::Up
    }

    fn take_up(&self, link: &InterfaceState, slow: &mut SlowState) -> SocketState {
        if self.state() == SocketState::Gone || link.index != slow.index || self.line.may_forget() {
            // The kernel forgets a socket's filters together with the interface (raw_notify in
            // net/can/raw.c), and they must be set before the first frame.
            let set = self.line.set_filters(&slow.filters);
            if let Err(why) = set.and_then(|()| self.line.attach(link.index)) {
                self.report_unfit(link, slow, why);
                return SocketState::Gone;
            }
            if link.index != slow.index
                && let Some(output) = self.line.set_up()
            {
                self.alarm(slow, output);
            }
            let local = link.echo && self.line.is_local(&self.interface());
            self.local.store(local, Relaxed);
            slow.index = link.index;
        }
        self.mtu.store(link.mtu, Relaxed);
        self.echo.store(link.echo, Relaxed);
        match state_of(link) {
            SocketState::Down if self.state() == SocketState::BusOff => SocketState::BusOff,
            state => state,
        }
    }

    /// Reports once for each interface that it has appeared and cannot be used, unless it has just
    /// gone again.
    fn report_unfit(&self, link: &InterfaceState, slow: &mut SlowState, why: Errno) {
        if slow.unfit != link.index
            && self
                .line
                .query_state()
                .is_ok_and(|now| now.index == link.index)
        {
            slow.unfit = link.index;
            let why = words(&OpenError::attach(&self.interface(), why));
            self.alarm(
                slow,
                format!("{why}; frames for it are refused as if it were gone"),
            );
        }
    }

    /// Reports once that several interfaces fit, so that the port uses none.
    fn report_ambiguity(&self, slow: &mut SlowState) {
        let ambiguity = self.line.ambiguity();
        if let Some(words) = ambiguity.clone().filter(|_| slow.ambiguity != ambiguity) {
            self.alarm(slow, format!("{words}; frames for it are refused"));
        }
        slow.ambiguity = ambiguity;
    }

    /// Replaces the filters, now and for every time that the interface is attached again.
    pub(super) fn set_filters(&self, filters: Vec<RawFilter>) -> Result<(), PortError> {
        let mut slow = self.slow();
        slow.filters = filters;
        if self.state() == SocketState::Gone {
            return Ok(());
        }
        match self.line.set_filters(&slow.filters) {
            Ok(()) | Err(Errno::NODEV | Errno::NXIO) => Ok(()),
            Err(e) => Err(self.fail("cannot set filters on", e)),
        }
    }

    pub(super) fn remark(&self, text: String) {
        self.slow().remark(text);
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        let slow = self.slow();
        let mut out = slow.remarks.clone();
        if slow.omitted > 0 {
            out.push(format!("{}: and {} more", self.interface(), slow.omitted));
        }
        out
    }

    /// Returns an error that ends the port.
    pub(super) fn fail(&self, what: &str, errno: Errno) -> PortError {
        PortError {
            port: self.port.clone(),
            what: format!("{what} {}", self.interface()),
            source: Some(errno.into()),
        }
    }

    fn slow(&self) -> MutexGuard<'_, SlowState> {
        // A panic cannot leave the data half changed.
        self.slow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlowState {
    fn remark(&mut self, text: String) {
        if self.remarks.len() < REMARKS {
            self.remarks.push(text);
        } else {
            self.omitted += 1;
        }
    }
}

fn state_of(link: &InterfaceState) -> SocketState {
    if link.is_usable() {
        SocketState::Up
    } else {
        SocketState::Down
    }
}
