//! The worker's wait for descriptors.

use crate::descriptor::poll_watch;
use crate::halves::Engine;
use engine::Receive;
use frame::Nanos;
use linux::events::{EventTrigger, SetMember};
use linux::poll::PollWatch;
use linux::{Epoll, EventSet, PollSet};
use port::{PollReceive, PollTransmit};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

/// The mailbox's bell is the first place of a wait for work; the receiving halves follow.
const FIRST_RECEIVER: usize = 1;

/// The number of receiving halves up to which ppoll(2) takes less time than epoll_wait(2): see
/// docs/performance.md.
const FEW: usize = 2;

/// The descriptors that the worker waits for. They are listed anew for each wait, because they
/// depend on the frames that ports hold.
///
/// With many ports, only the changes are passed to the kernel (epoll(7)): ppoll(2), which is given
/// all descriptors in each call, took longer with each additional port.
pub(crate) struct WorkerWait {
    places: WaitPlaces,
    /// Set if there can be no set of descriptors (no memory, too many of them, a limit on what they
    /// hold): it is not tried again before ports change.
    refused: bool,
    /// The common set, if ports have their descriptors in one.
    common: Option<CommonSet>,
}

/// The worker waits in this set, which delivers its events to the ports that are its members. All
/// other descriptors are in an epoll instance that is one descriptor of the set: most events are of
/// the set's members, and then the others need not be checked.
struct CommonSet {
    set: Arc<EventSet>,
    others: SetMember,
    /// The number of the epoll instance of the others that is in the set.
    known: Option<u64>,
}

impl CommonSet {
    fn new(set: Arc<EventSet>) -> Self {
        set.attend(true);
        Self {
            others: set.member(),
            set,
            known: None,
        }
    }

    /// Returns the half's membership in this set, if it has one.
    fn member<'h>(&self, half: &'h dyn PollReceive) -> Option<&'h SetMember> {
        half.events()
            .filter(|member| Arc::ptr_eq(member.set(), &self.set))
    }

    fn wait(&mut self, others: &mut Epoll, timeout: Option<Duration>) -> io::Result<usize> {
        others.prepare()?;
        let number = others.number();
        if self.known != Some(number) {
            self.others.add(&*others, 0, EventTrigger::Level)?;
            self.known = Some(number);
        }
        let timeout = if others.is_always_ready() {
            Some(Duration::ZERO)
        } else {
            timeout
        };
        let ready = self.set.wait(timeout)?;
        if self.others.take() == 0 && !others.is_always_ready() {
            others.clear_ready();
        } else {
            others.collect(Some(Duration::ZERO))?;
        }
        Ok(ready + usize::from(others.is_always_ready()))
    }
}

/// Makes the members check for themselves again, as long as the worker does not wait in the set.
impl Drop for CommonSet {
    fn drop(&mut self) {
        self.set.attend(false);
    }
}

enum WaitPlaces {
    Few(PollSet),
    Many(Epoll),
}

impl WaitPlaces {
    fn clear(&mut self) {
        match self {
            Self::Few(poll) => poll.clear(),
            Self::Many(epoll) => epoll.clear(),
        }
    }

    #[inline]
    fn add(&mut self, what: Option<PollWatch>) {
        match self {
            // The kernel ignores a negative descriptor, and it keeps the place.
            Self::Few(poll) => match what {
                Some(what) => poll.add(what),
                None => poll.add_fd(-1, false, false),
            },
            Self::Many(epoll) => epoll.add(what),
        }
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        match self {
            Self::Few(poll) => poll.wait(timeout),
            Self::Many(epoll) => epoll.wait(timeout),
        }
    }

    fn is_ready(&self, place: usize) -> bool {
        match self {
            Self::Few(poll) => poll.is_ready(place),
            Self::Many(epoll) => epoll.is_ready(place),
        }
    }
}

impl WorkerWait {
    pub(crate) fn new() -> Self {
        Self {
            places: WaitPlaces::Few(PollSet::with_capacity(64)),
            refused: false,
            common: None,
        }
    }

    /// Handles that ports may have been closed or replaced since the last wait.
    pub(crate) fn forget(&mut self) {
        self.refused = false;
        self.common = None;
        if let WaitPlaces::Many(epoll) = &mut self.places {
            epoll.forget();
        }
    }

    /// Starts a new list of descriptors.
    fn begin(&mut self, engine: &Engine) {
        if self.common.is_none() && !self.refused {
            let set = engine.receiving().find_map(PollReceive::events);
            self.common = set.map(|member| CommonSet::new(Arc::clone(member.set())));
        }
        if matches!(self.places, WaitPlaces::Few(_))
            && !self.refused
            && (self.common.is_some() || engine.receiving().nth(FEW).is_some())
        {
            match Epoll::new() {
                Ok(epoll) => self.places = WaitPlaces::Many(epoll),
                Err(_) => self.refuse(),
            }
        }
        self.places.clear();
    }

    /// Falls back to ppoll(2): passing all descriptors each time is slower, but uses none of the
    /// kernel's limits.
    fn refuse(&mut self) {
        self.places = WaitPlaces::Few(PollSet::with_capacity(64));
        self.refused = true;
        self.common = None;
    }

    /// Waits until the bell rings, a frame may have come in, or there may be space for a frame that
    /// is held; at most for `timeout` (`None`: without limit). Returns whether there was an event.
    ///
    /// # Errors
    /// Those of epoll_wait(2) and epoll_ctl(2), or of ppoll(2).
    pub(crate) fn wait_for_work(
        &mut self,
        bell: RawFd,
        engine: &Engine,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        self.begin(engine);
        self.places.add(Some(PollWatch {
            fd: bell,
            readable: true,
            writable: false,
        }));
        let common = self.common.as_ref();
        for half in engine.receiving() {
            let member = common.and_then(|common| common.member(half));
            self.places.add(match member {
                Some(_) => None,
                None => poll_watch(half.wait()),
            });
        }
        for half in engine.sending() {
            self.places.add(poll_watch(half.wait()));
        }
        let ready = match (&mut self.common, &mut self.places) {
            (Some(common), WaitPlaces::Many(others)) => common.wait(others, timeout),
            (_, places) => places.wait(timeout),
        };
        if ready.is_err() && matches!(self.places, WaitPlaces::Many(_)) {
            self.refuse();
        }
        Ok(ready? > 0)
    }

    /// Marks the halves to skip after [`WorkerWait::wait_for_work`]: the engine's next step skips
    /// receiving halves that wait for nothing but a descriptor that is not ready, and members of
    /// the common set that have neither an event nor a deadline that has passed.
    pub(crate) fn skip_idle(&self, engine: &mut Engine, now: Nanos) {
        let mut place = FIRST_RECEIVER;
        engine.skip_once(|half| {
            let ready = self.places.is_ready(place);
            place += 1;
            let common = self.common.as_ref();
            match common.and_then(|common| common.member(half)) {
                Some(member) => !member.has_events() && half.deadline().is_none_or(|at| at > now),
                None => half.wait().fd.is_some() && !ready && half.deadline().is_none(),
            }
        });
    }

    /// Waits until there may be space for a frame that is held, at most for `timeout`.
    ///
    /// # Errors
    /// As [`WorkerWait::wait_for_work`].
    pub(crate) fn wait_for_room(&mut self, engine: &Engine, timeout: Duration) -> io::Result<()> {
        self.places.clear();
        for half in engine.sending() {
            self.places.add(poll_watch(half.wait()));
        }
        self.places.wait(Some(timeout)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves::Port;
    use engine::{NullTransmitter, PortError, ReceiveStamp, ReceivedFrame, RxCounters, RxReport};
    use frame::{CanId, Frame, Nanos};
    use port::PortWait;
    use route::{PortId, Route, Routes, RoutingTable};
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A port that receives a frame for each byte of a stream, and counts how often it was asked.
    struct ByteFrames {
        /// Its membership in a common set.
        member: Option<SetMember>,
        stream: UnixStream,
        asked: Arc<AtomicUsize>,
        /// A deadline, in addition to the stream.
        deadline: Option<Nanos>,
        /// Whether it has a descriptor to wait for.
        polled: bool,
    }

    impl Receive for ByteFrames {
        fn receive(
            &mut self,
            _now: Nanos,
            budget: usize,
            take: &mut dyn FnMut(ReceivedFrame<'_>),
        ) -> Result<RxReport, PortError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let _ = self.member.as_ref().map(SetMember::take);
            let mut bytes = [0; 16];
            let room = budget.min(bytes.len());
            let frames = self.stream.read(&mut bytes[..room]).unwrap_or(0);
            for byte in &bytes[..frames] {
                let frame = Frame::classic(CanId::sff(1).unwrap(), &[*byte]).unwrap();
                take(ReceivedFrame {
                    frame: frame.view(),
                    stamp: ReceiveStamp::default(),
                    hops: 0,
                    token: 0,
                });
            }
            Ok(RxReport {
                frames,
                ..RxReport::default()
            })
        }

        fn deadline(&self) -> Option<Nanos> {
            self.deadline
        }

        fn counters(&self) -> RxCounters {
            RxCounters::default()
        }
    }

    impl PollReceive for ByteFrames {
        fn wait(&self) -> PortWait {
            PortWait {
                fd: self.polled.then(|| self.stream.as_raw_fd()),
                readable: self.polled,
                writable: false,
            }
        }

        fn events(&self) -> Option<&SetMember> {
            self.member.as_ref()
        }
    }

    fn engine(ports: Vec<Port>) -> Engine {
        let routes = Routes {
            routes: vec![Route::new("r", vec![PortId(0)], vec![PortId(1)])],
            max_hops: 1,
            ..Routes::default()
        };
        let table = Arc::new(RoutingTable::compile(&routes, ports.len()).unwrap());
        Engine::new(ports, table, &routes).unwrap()
    }

    /// Ports of a common set wait in it, and one of them is asked when it has an event, or when its
    /// deadline has passed.
    #[test]
    fn of_ports_with_a_set_in_common_those_are_asked_that_have_something() {
        let set = EventSet::new().unwrap();
        let mut far = Vec::new();
        let mut asked = Vec::new();
        // By index: in the set; in the set, with a deadline; on its own.
        let port = |i: usize| {
            let (here, there) = UnixStream::pair().unwrap();
            here.set_nonblocking(true).unwrap();
            far.push(there);
            asked.push(Arc::new(AtomicUsize::new(0)));
            let member = (i < 2).then(|| set.member());
            if let Some(member) = &member {
                member.add(&here, 3, EventTrigger::Level).unwrap();
            }
            Port {
                name: format!("p{i}"),
                rx: Box::new(ByteFrames {
                    member,
                    stream: here,
                    asked: Arc::clone(&asked[i]),
                    deadline: (i == 1).then_some(100),
                    polled: true,
                }),
                tx: Box::new(NullTransmitter),
            }
        };
        let ports: Vec<Port> = (0..3).map(port).collect();
        let mut engine = engine(ports);
        let (bell, mut ringer) = UnixStream::pair().unwrap();
        let mut waiting = WorkerWait::new();
        let mut round = |now: Nanos| {
            let moment = Some(Duration::from_millis(1));
            let ready = waiting
                .wait_for_work(bell.as_raw_fd(), &engine, moment)
                .unwrap();
            if ready {
                waiting.skip_idle(&mut engine, now);
                engine.step(now);
            }
            let counts = asked.iter().map(|n| n.swap(0, Ordering::Relaxed));
            (ready, counts.collect::<Vec<_>>())
        };
        assert_eq!(round(0), (false, vec![0, 0, 0]));
        far[0].write_all(b"x").unwrap();
        assert_eq!(round(1), (true, vec![1, 0, 0]));
        far[2].write_all(b"x").unwrap();
        assert_eq!(round(2), (true, vec![0, 0, 1]));
        far[1].write_all(b"x").unwrap();
        far[2].write_all(b"x").unwrap();
        assert_eq!(round(3), (true, vec![0, 1, 1]));
        // The deadline of the second one has passed.
        far[0].write_all(b"x").unwrap();
        assert_eq!(round(100), (true, vec![1, 1, 0]));
        assert_eq!(round(4), (false, vec![0, 0, 0]));
        ringer.write_all(b"!").unwrap();
        assert_eq!(round(5), (true, vec![0, 0, 0]), "there is a letter");
        // Ports may have changed, and all descriptors are listed anew.
        waiting.forget();
        far[0].write_all(b"x").unwrap();
        far[2].write_all(b"x").unwrap();
        let work = |waiting: &mut WorkerWait, engine: &mut Engine| {
            assert!(
                waiting
                    .wait_for_work(bell.as_raw_fd(), engine, None)
                    .unwrap()
            );
            waiting.skip_idle(engine, 6);
            engine.step(6);
        };
        work(&mut waiting, &mut engine);
        let counts: Vec<usize> = asked.iter().map(|n| n.swap(0, Ordering::Relaxed)).collect();
        assert_eq!(counts, [1, 0, 1]);
    }

    /// After a wait, ports whose descriptor is not ready are passed over once; others never are.
    #[test]
    fn only_ports_whose_descriptor_is_not_ready_are_passed_over() {
        let mut far = Vec::new();
        let mut asked = Vec::new();
        // By index: waits for nothing; not ready; ready; not ready, but has a deadline.
        let port = |i: usize| {
            let (here, there) = UnixStream::pair().unwrap();
            here.set_nonblocking(true).unwrap();
            far.push(there);
            asked.push(Arc::new(AtomicUsize::new(0)));
            Port {
                name: format!("p{i}"),
                rx: Box::new(ByteFrames {
                    member: None,
                    stream: here,
                    asked: Arc::clone(&asked[i]),
                    deadline: (i == 3).then_some(1_000_000),
                    polled: i != 0,
                }),
                tx: Box::new(NullTransmitter),
            }
        };
        let ports: Vec<Port> = (0..4).map(port).collect();
        let mut engine = engine(ports);
        let (bell, _ringer) = UnixStream::pair().unwrap();
        far[2].write_all(b"x").unwrap();
        let mut waiting = WorkerWait::new();
        assert!(
            waiting
                .wait_for_work(bell.as_raw_fd(), &engine, None)
                .unwrap()
        );
        waiting.skip_idle(&mut engine, 0);
        assert_eq!(engine.step(0).frames, 1);
        let counts = || -> Vec<usize> { asked.iter().map(|n| n.load(Ordering::Relaxed)).collect() };
        assert_eq!(counts(), [1, 0, 1, 1]);
        engine.step(1);
        assert_eq!(counts(), [2, 1, 2, 2], "the next step looks again");
    }

    #[test]
    fn the_time_ends_a_wait_in_which_nothing_comes() {
        let routes = Routes::default();
        let table = Arc::new(RoutingTable::compile(&routes, 0).unwrap());
        let engine = Engine::new(Vec::new(), table, &routes).unwrap();
        let (bell, mut ringer) = UnixStream::pair().unwrap();
        let mut waiting = WorkerWait::new();
        let moment = Duration::from_millis(1);
        let mut wait = || {
            waiting
                .wait_for_work(bell.as_raw_fd(), &engine, Some(moment))
                .unwrap()
        };
        assert!(!wait());
        ringer.write_all(b"!").unwrap();
        assert!(wait());
        waiting.wait_for_room(&engine, moment).unwrap();
    }
}
