//! `read`: one datagram per call. Frames have the gateway's own stamps, and the number of frames
//! that the socket lost is read only when the counters are read.
//!
//! If the worker waits in between, a frame is a batch: that is the simplest gateway. If it polls
//! continuously and is behind, all frames that are there are a batch, as in the paper's
//! `readnb-mmap` (syscalls-2014 §3.2: it sends when read(2) finds no more).

use super::super::way::{CallResult, DatagramArrival, ReceiveWay};
use super::mmsg::LossCount;
use linux::Errno;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// The way to receive by `read`. `S`: a non-blocking datagram socket.
pub(in super::super) struct ByRead<S> {
    socket: S,
    buffer: Box<[u8]>,
    busy: bool,
    /// True if the last call found nothing, so that a frame that comes now is alone.
    waited: bool,
    /// True if the last call returned that there may be more.
    went_on: bool,
}

impl<S> ByRead<S> {
    /// Makes the way. `size`: the largest datagram to expect. `busy`: the worker never waits for
    /// it.
    pub(in super::super) fn new(socket: S, size: usize, busy: bool) -> Self {
        Self {
            socket,
            buffer: vec![0; size].into_boxed_slice(),
            busy,
            waited: true,
            went_on: false,
        }
    }
}

impl<S: AsFd + AsRawFd + LossCount + Send> ReceiveWay for ByRead<S> {
    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn receive(
        &mut self,
        _want: usize,
        take: &mut dyn FnMut(DatagramArrival<'_>),
    ) -> Result<CallResult, Errno> {
        let went_on = std::mem::take(&mut self.went_on);
        let len = match linux::socket::read(&self.socket, &mut self.buffer) {
            Err(Errno::AGAIN) => {
                // After a batch, this only ends the batch: the next frame may come while the batch
                // leaves.
                self.waited = !went_on;
                return Err(Errno::AGAIN);
            }
            read => read?,
        };
        // A call that finds nothing costs more than it gains: a frame that the worker waited for
        // leaves first, then the worker checks whether there are more. A frame that was there at
        // the first call shows that frames come faster than they leave one by one: then all frames
        // that are there are one batch, so that they can leave by one call.
        self.went_on = self.busy && !std::mem::take(&mut self.waited);
        take(DatagramArrival {
            bytes: self.buffer.get(..len).unwrap_or_default(),
            ..DatagramArrival::default()
        });
        Ok(CallResult {
            count: 1,
            more: self.went_on,
        })
    }

    fn lost(&self) -> Option<u32> {
        self.socket.lost()
    }

    fn is_busy(&self) -> bool {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;
    use std::sync::Arc;

    #[derive(Clone)]
    struct StreamEnd(Arc<UnixDatagram>);

    impl AsFd for StreamEnd {
        fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    impl AsRawFd for StreamEnd {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_raw_fd()
        }
    }

    impl LossCount for StreamEnd {
        fn lost(&self) -> Option<u32> {
            None
        }
    }

    fn pair(busy: bool) -> (ByRead<StreamEnd>, UnixDatagram) {
        let (here, there) = UnixDatagram::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        (ByRead::new(StreamEnd(Arc::new(here)), 16, busy), there)
    }

    /// Calls the way as a half does, until it returns that there is no more. Returns the numbers of
    /// frames and of calls.
    fn step(way: &mut ByRead<StreamEnd>) -> (usize, usize) {
        let (mut frames, mut calls) = (0, 0);
        loop {
            calls += 1;
            match way.receive(64, &mut |_| frames += 1) {
                Ok(brought) if brought.more => {}
                Ok(_) | Err(Errno::AGAIN) => return (frames, calls),
                Err(errno) => panic!("{errno}"),
            }
        }
    }

    #[test]
    fn a_frame_that_was_waited_for_costs_one_call() {
        let (mut way, bus) = pair(true);
        for _ in 0..3 {
            assert_eq!(step(&mut way), (0, 1));
            bus.send(b"x").unwrap();
            assert_eq!(step(&mut way), (1, 1));
        }
    }

    #[test]
    fn a_late_worker_takes_all_at_once() {
        let (mut way, bus) = pair(true);
        let come = |n| (0..n).for_each(|_| assert_eq!(bus.send(b"x").unwrap(), 1));
        come(6);
        assert_eq!(step(&mut way), (1, 1), "the state is unknown yet");
        assert_eq!(step(&mut way), (5, 6));
        come(3);
        assert_eq!(step(&mut way), (3, 4), "they came while the others left");
        assert_eq!(step(&mut way), (0, 1));
        come(2);
        assert_eq!(step(&mut way), (1, 1));
    }

    /// Checks the paper's `read-write` (syscalls-2014 §3.2).
    #[test]
    fn one_by_one_where_the_worker_waits() {
        let (mut way, bus) = pair(false);
        for _ in 0..3 {
            bus.send(b"x").unwrap();
        }
        for _ in 0..3 {
            assert_eq!(step(&mut way), (1, 1));
        }
    }
}
