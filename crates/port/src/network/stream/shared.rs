//! State that both halves of a port share: its connections and the frames for them.

use super::conversation::{Conversation, MAX_STAGED, Next};
use super::dialer::Dialer;
use super::store::FrameStore;
use crate::network::ids::{IdRange, is_urgent};
use crate::network::remarks::LatestRemarks;
use crate::{LinkState, RxCounters, TransmitRefusal, TxCounters};
use frame::{Frame, FrameRef, Nanos};
use linux::Errno;
use net::StreamStep;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The data of the hub's event. Those of connections are their places.
const HUB: u64 = u64::MAX;

/// Maximum number of events that are taken at once.
const MAX_EVENTS: usize = 64;

/// Maximum number of units without a frame that one connection has in one call, for each frame of
/// the budget.
const UNITS_PER_FRAME: usize = 4;

/// The protocol and the limits of a port.
#[derive(Clone)]
pub(crate) struct StreamRules {
    /// Whether the protocol can express a frame.
    pub(crate) carries: fn(&FrameRef<'_>) -> bool,
    /// Time between the opening of a session and its first frame, ns.
    pub(crate) settle: Nanos,
    /// Maximum number of connections.
    pub(crate) clients: usize,
    /// Maximum number of frames that wait for each connection.
    pub(crate) queue: usize,
    /// Frames that leave before all others.
    pub(crate) urgent: Vec<IdRange>,
    /// Unix time at which the gateway's clock was 0, ns.
    pub(crate) epoch: Nanos,
}

pub(super) struct StreamShared(Mutex<StreamState>);

impl StreamShared {
    pub(super) fn new(rules: StreamRules, dialer: Option<Dialer>) -> Result<Self, Errno> {
        Ok(Self(Mutex::new(StreamState::new(rules, dialer)?)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, StreamState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct StreamState {
    pub(super) rules: StreamRules,
    epoll: OwnedFd,
    dialer: Option<Dialer>,
    /// The connections; the place of each is the data of its events.
    members: Vec<Option<Conversation>>,
    /// Place of the connection that is served first the next time.
    first: usize,
    store: FrameStore,
    pub(super) rx: RxCounters,
    link: LinkState,
    /// Number of frames that had an end at the last report.
    reported: u64,
    /// The session was open before: the next time counts as `reopened`.
    was_open: bool,
    rejected: u64,
    pub(super) remarks: LatestRemarks,
}

/// Result of a call of [`StreamState::work`].
pub(super) struct WorkReport {
    /// There may be more frames.
    pub(super) more: bool,
    /// The hub has work.
    pub(super) hub: bool,
}

impl StreamState {
    fn new(rules: StreamRules, dialer: Option<Dialer>) -> Result<Self, Errno> {
        // A frame is stored before the oldest one of a full queue gives up its place.
        let copies = rules.queue + 1 + rules.clients * MAX_STAGED;
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            dialer,
            members: Vec::new(),
            first: 0,
            store: FrameStore::new(copies),
            rx: RxCounters::default(),
            link: LinkState::Down,
            reported: 0,
            was_open: false,
            rejected: 0,
            remarks: LatestRemarks::default(),
            rules,
        })
    }

    pub(super) fn fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }

    pub(super) fn watch_hub(&self, hub: &impl AsFd) -> Result<(), Errno> {
        epoll::add(&self.epoll, hub, EventData::new_u64(HUB), EventFlags::IN)
    }

    /// Adds a connection. It is also ready for writing, so that it is served soon.
    pub(super) fn join(&mut self, mut member: Conversation) -> Result<(), Errno> {
        let free = self.members.iter().position(Option::is_none);
        let place = free.unwrap_or(self.members.len());
        member.reserve(self.rules.queue);
        member.blocked = true;
        member.change_events();
        let data = EventData::new_u64(place as u64);
        epoll::add(&self.epoll, member.socket(), data, member.events())?;
        match self.members.get_mut(place) {
            Some(free) => *free = Some(member),
            None => self.members.push(Some(member)),
        }
        Ok(())
    }

    /// Serves all connections: hands at most `budget` frames to `batch`, and writes what waits.
    pub(super) fn work(&mut self, now: Nanos, budget: usize, batch: &mut Vec<Frame>) -> WorkReport {
        self.dial(now);
        let empty = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut events = [empty; MAX_EVENTS];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // A signal: the next call gets the events.
        let found = epoll::wait(&self.epoll, &mut events[..], Some(&at_once)).unwrap_or(0);
        let mut report = WorkReport {
            more: found == MAX_EVENTS,
            hub: false,
        };
        for event in &events[..found] {
            // The structure is packed.
            let (flags, data) = (event.flags, event.data);
            if data.u64() == HUB {
                report.hub = true;
                continue;
            }
            let member = self.members.get_mut(data.u64() as usize);
            if let Some(Some(member)) = member {
                if flags.intersects(EventFlags::OUT) {
                    member.unblock(now);
                }
                member.readable |= flags.intersects(!EventFlags::OUT);
            }
        }
        let count = self.members.len();
        for place in (self.first..count).chain(0..self.first) {
            report.more |= self.serve(place, now, budget, batch);
        }
        self.first = if count == 0 {
            0
        } else {
            (self.first + 1) % count
        };
        report
    }

    /// Serves one connection. Returns whether it may have more units at once.
    fn serve(&mut self, place: usize, now: Nanos, budget: usize, batch: &mut Vec<Frame>) -> bool {
        let Some(member) = self.members[place].as_mut() else {
            return false;
        };
        let mut end = member.is_stuck(now).map(|why| Some(why.to_owned()));
        let mut units = budget * UNITS_PER_FRAME;
        while end.is_none() && batch.len() < budget && units > 0 {
            units -= 1;
            match member.next() {
                Next::Nothing => break,
                Next::Ended(why) => end = Some(why),
                Next::Unit(StreamStep::Frame(_, frame)) => batch.push(frame),
                Next::Unit(StreamStep::Malformed(_)) => self.rx.malformed += 1,
                Next::Unit(StreamStep::Rejected(_)) => self.rejected += 1,
                Next::Unit(_) => {}
            }
            member.update_open(self.rules.settle, &mut self.store, now);
        }
        member.update_open(self.rules.settle, &mut self.store, now);
        let more = member.may_have_units();
        if end.is_none()
            && !member.blocked
            && let Err(error) = member.write(&mut self.store, now)
        {
            end = Some(Some(error.to_string()));
        }
        match end {
            Some(why) => {
                self.leave(place, why, now);
                false
            }
            None => {
                self.watch(place);
                more
            }
        }
    }

    /// Waits for room in a connection's socket, or no longer.
    fn watch(&mut self, place: usize) {
        if let Some(member) = &mut self.members[place]
            && member.change_events()
        {
            let data = EventData::new_u64(place as u64);
            // The socket is open and in the set, so this can only lack memory: try again later.
            if epoll::modify(&self.epoll, member.socket(), data, member.events()).is_err() {
                member.forget_events();
            }
        }
    }

    fn leave(&mut self, place: usize, why: Option<String>, now: Nanos) {
        let Some(member) = self.members[place].take() else {
            return;
        };
        let peer = member.peer.clone();
        // Closing the socket removes it from the epoll instance.
        member.close(&mut self.store);
        if let Some(why) = why {
            self.remarks
                .push(format!("the connection with {peer} ended: {why}"));
        }
        if let Some(dialer) = &mut self.dialer {
            dialer.rest(now);
        }
    }

    fn dial(&mut self, now: Nanos) {
        let connected = self.members.iter().flatten().next().is_some();
        let Some(dialer) = &mut self.dialer else {
            return;
        };
        if connected || now < dialer.at() {
            return;
        }
        let begun = match dialer.dial(now) {
            Ok(member) => {
                let peer = member.peer.clone();
                let joined = self.join(member);
                joined.map_err(|error| format!("{peer} cannot be waited for: {error}"))
            }
            Err((peer, error)) => Err(format!("the connection with {peer} ended: {error}")),
        };
        if let Err(remark) = begun {
            self.remarks.push(remark);
            if let Some(dialer) = &mut self.dialer {
                dialer.rest(now);
            }
        }
    }

    fn open(&mut self) -> impl Iterator<Item = &mut Conversation> {
        let members = self.members.iter_mut().flatten();
        members.filter(|member| member.is_open())
    }

    /// Returns whether the link or the number of frames with an end has changed since the last
    /// call.
    pub(super) fn news(&mut self) -> (bool, bool) {
        let link = if self.open().next().is_some() {
            LinkState::Up
        } else {
            LinkState::Down
        };
        let news = std::mem::replace(&mut self.link, link) != link;
        if news
            && link == LinkState::Up
            && let Some(dialer) = &mut self.dialer
        {
            dialer.succeed();
            self.rx.reopened += u64::from(std::mem::replace(&mut self.was_open, true));
        }
        let gone = self.store.counters().gone();
        let ended = std::mem::replace(&mut self.reported, gone) != gone;
        (news, ended)
    }

    pub(super) const fn link(&self) -> LinkState {
        self.link
    }

    pub(super) fn deadline(&self) -> Option<Nanos> {
        let members = self.members.iter().flatten();
        let idle = members.clone().next().is_none();
        let dialer = self.dialer.as_ref().filter(|_| idle).map(Dialer::at);
        members
            .filter_map(Conversation::deadline)
            .chain(dialer)
            .min()
    }

    /// Queues a frame for each open connection.
    pub(super) fn send(
        &mut self,
        frame: &FrameRef<'_>,
        unix: Nanos,
    ) -> Result<(), TransmitRefusal> {
        if !(self.rules.carries)(frame) {
            return Err(TransmitRefusal::Unsupported);
        }
        let copies = self.open().count();
        if copies == 0 {
            return Err(TransmitRefusal::Down);
        }
        let frame = Frame::from_view(*frame).ok_or(TransmitRefusal::Unsupported)?;
        let most = self.rules.queue;
        let urgent = is_urgent(&self.rules.urgent, frame.id());
        let Some(at) = self.store.add(frame, unix, copies as u32) else {
            return Err(TransmitRefusal::Full);
        };
        let store = &mut self.store;
        for member in self.members.iter_mut().flatten() {
            if member.is_open() {
                member.queue(at, urgent, most, store);
            }
        }
        Ok(())
    }

    /// Writes what waits; returns the number of frames that left.
    pub(super) fn flush(&mut self, now: Nanos) -> u64 {
        let before = self.store.counters().sent;
        for place in 0..self.members.len() {
            let Some(member) = self.members[place]
                .as_mut()
                .filter(|member| !member.blocked)
            else {
                continue;
            };
            match member.write(&mut self.store, now) {
                Ok(()) if member.blocked => self.watch(place),
                Ok(()) => {}
                Err(error) => self.leave(place, Some(error.to_string()), now),
            }
        }
        self.store.counters().sent - before
    }

    pub(super) fn tx_counters(&self) -> TxCounters {
        self.store.counters()
    }

    /// Returns the room of the connection that has most.
    pub(super) fn room(&mut self) -> usize {
        let most = self.rules.queue;
        // Without a connection, frames are refused for another reason.
        self.open()
            .map(|member| member.room(most))
            .max()
            .unwrap_or(usize::MAX)
    }

    pub(super) fn all_remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.list();
        if self.rejected > 0 {
            let frames = self.rejected;
            remarks.push(format!(
                "the other side reported {frames} refused frames or commands"
            ));
        }
        remarks
    }
}

#[cfg(test)]
impl StreamState {
    /// Makes all connections impossible to wait for.
    pub(super) fn lose_epoll(&mut self) {
        self.epoll = std::fs::File::open("/dev/null").unwrap().into();
    }
}
