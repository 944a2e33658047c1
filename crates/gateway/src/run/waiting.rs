//! What the worker waits for in ppoll(2).

use super::halves::Engine;
use super::watch::watch;
use engine::Receive;
use linux::Poll;
use port::{PollReceive, PollTransmit};
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// The mailbox's bell is the first descriptor of a wait for work; those of receiving halves follow.
const FIRST_RECEIVER: usize = 1;

/// The worker's list of descriptors, made anew for each waiting, because what ports wait for
/// changes. The room is reused.
pub(crate) struct Waiting {
    poll: Poll,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        Self {
            poll: Poll::with_capacity(64),
        }
    }

    /// Waits until the bell rings, a frame may have come in, or there may be room for one that is
    /// held; at most so long (`None`: for ever). Was there anything?
    ///
    /// # Errors
    /// Those of ppoll(2).
    pub(crate) fn for_work(
        &mut self,
        bell: RawFd,
        engine: &Engine,
        timeout: Option<Duration>,
    ) -> io::Result<bool> {
        self.poll.clear();
        self.poll.add_fd(bell, true, false);
        for half in engine.receiving() {
            self.poll.add(watch(half.wait()));
        }
        for half in engine.sending() {
            self.poll.add(watch(half.wait()));
        }
        Ok(self.poll.wait(timeout)? > 0)
    }

    /// After [`Waiting::for_work`]: the engine's next step passes over receiving halves that wait
    /// for nothing but a descriptor, and whose is not ready.
    pub(crate) fn skip_idle(&self, engine: &mut Engine) {
        let mut place = FIRST_RECEIVER;
        engine.skip_once(|half| {
            if half.wait().fd.is_none() {
                return false;
            }
            let ready = self.poll.is_ready(place);
            place += 1;
            !ready && half.deadline().is_none()
        });
    }

    /// Waits until there may be room for a frame that is held, at most so long.
    ///
    /// # Errors
    /// Those of ppoll(2).
    pub(crate) fn for_room(&mut self, engine: &Engine, timeout: Duration) -> io::Result<()> {
        self.poll.clear();
        for half in engine.sending() {
            self.poll.add(watch(half.wait()));
        }
        self.poll.wait(Some(timeout)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::halves::Port;
    use super::*;
    use engine::{Nowhere, PortError, Received, RxCounters, RxReport, Stamp};
    use frame::{CanId, Frame, Nanos};
    use port::Wait;
    use route::{PortId, Route, Routes, Table};
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A frame for each byte of a stream; counts how often it was asked for some.
    struct Bytes {
        stream: UnixStream,
        asked: Arc<AtomicUsize>,
        /// Has a deadline besides.
        deadline: Option<Nanos>,
        /// Says what to wait for.
        polled: bool,
    }

    impl Receive for Bytes {
        fn receive(
            &mut self,
            _now: Nanos,
            budget: usize,
            take: &mut dyn FnMut(Received<'_>),
        ) -> Result<RxReport, PortError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let mut bytes = [0; 16];
            let room = budget.min(bytes.len());
            let frames = self.stream.read(&mut bytes[..room]).unwrap_or(0);
            for byte in &bytes[..frames] {
                let frame = Frame::classic(CanId::sff(1).unwrap(), &[*byte]).unwrap();
                take(Received {
                    frame: frame.view(),
                    stamp: Stamp::default(),
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

    impl PollReceive for Bytes {
        fn wait(&self) -> Wait {
            Wait {
                fd: self.polled.then(|| self.stream.as_raw_fd()),
                readable: self.polled,
                writable: false,
            }
        }
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
                rx: Box::new(Bytes {
                    stream: here,
                    asked: Arc::clone(&asked[i]),
                    deadline: (i == 3).then_some(1_000_000),
                    polled: i != 0,
                }),
                tx: Box::new(Nowhere),
            }
        };
        let ports: Vec<Port> = (0..4).map(port).collect();
        let routes = Routes {
            routes: vec![Route::new("r", vec![PortId(0)], vec![PortId(1)])],
            max_hops: 1,
            ..Routes::default()
        };
        let table = Arc::new(Table::compile(&routes, 4).unwrap());
        let mut engine = Engine::new(ports, table, &routes).unwrap();
        let (bell, _ringer) = UnixStream::pair().unwrap();
        far[2].write_all(b"x").unwrap();
        let mut waiting = Waiting::new();
        assert!(waiting.for_work(bell.as_raw_fd(), &engine, None).unwrap());
        waiting.skip_idle(&mut engine);
        assert_eq!(engine.step(0).frames, 1);
        let counts = || -> Vec<usize> { asked.iter().map(|n| n.load(Ordering::Relaxed)).collect() };
        assert_eq!(counts(), [1, 0, 1, 1]);
        engine.step(1);
        assert_eq!(counts(), [2, 1, 2, 2], "the next step looks again");
    }

    #[test]
    fn the_time_ends_a_wait_in_which_nothing_comes() {
        let routes = Routes::default();
        let table = Arc::new(Table::compile(&routes, 0).unwrap());
        let engine = Engine::new(Vec::new(), table, &routes).unwrap();
        let (bell, mut ringer) = UnixStream::pair().unwrap();
        let mut waiting = Waiting::new();
        let moment = Duration::from_millis(1);
        let mut wait = || {
            waiting
                .for_work(bell.as_raw_fd(), &engine, Some(moment))
                .unwrap()
        };
        assert!(!wait());
        ringer.write_all(b"!").unwrap();
        assert!(wait());
        waiting.for_room(&engine, moment).unwrap();
    }
}
