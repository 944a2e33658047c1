//! `read`: one datagram a call. Frames have the gateway's own stamps, and what the socket lost is
//! asked for when somebody looks at the counters.
//!
//! Where the worker waits in between, a frame is a batch: that is the simplest gateway. Where it
//! looks again and again and is behind, what is there is a batch, as in the paper's `readnb-mmap`
//! (syscalls-2014 §3.2: it sends when read(2) finds no more).

use super::super::way::{Arrival, Brought, ReceiveWay};
use super::mmsg::Lost;
use linux::Errno;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// `S`: a datagram socket that does not wait.
pub(in super::super) struct ByRead<S> {
    socket: S,
    buffer: Box<[u8]>,
    busy: bool,
    /// The last look found nothing, so that a frame that comes now is alone.
    waited: bool,
    /// The last call said that there may be more.
    went_on: bool,
}

impl<S> ByRead<S> {
    /// `size`: the largest datagram to expect. `busy`: never to be waited for.
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

impl<S: AsFd + AsRawFd + Lost + Send> ReceiveWay for ByRead<S> {
    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn receive(
        &mut self,
        _want: usize,
        take: &mut dyn FnMut(Arrival<'_>),
    ) -> Result<Brought, Errno> {
        let went_on = std::mem::take(&mut self.went_on);
        let len = match linux::socket::read(&self.socket, &mut self.buffer) {
            Err(Errno::AGAIN) => {
                // Behind a batch, it only ends the batch: the next frame may come while that
                // leaves.
                self.waited = !went_on;
                return Err(Errno::AGAIN);
            }
            read => read?,
        };
        // A call that finds nothing costs more than it brings: a frame that was waited for leaves
        // first, then the worker looks whether there are more. A frame that was there at the first
        // look shows that frames come faster than they leave one by one: then all that are there
        // are one batch, so that they can leave by one call.
        self.went_on = self.busy && !std::mem::take(&mut self.waited);
        take(Arrival {
            bytes: self.buffer.get(..len).unwrap_or_default(),
            ..Arrival::default()
        });
        Ok(Brought {
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
    struct End(Arc<UnixDatagram>);

    impl AsFd for End {
        fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    impl AsRawFd for End {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_raw_fd()
        }
    }

    impl Lost for End {
        fn lost(&self) -> Option<u32> {
            None
        }
    }

    fn pair(busy: bool) -> (ByRead<End>, UnixDatagram) {
        let (here, there) = UnixDatagram::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        (ByRead::new(End(Arc::new(here)), 16, busy), there)
    }

    /// As a half does: until it is said that there is no more. Frames, and calls.
    fn step(way: &mut ByRead<End>) -> (usize, usize) {
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
    fn whoever_is_behind_takes_all_at_once() {
        let (mut way, bus) = pair(true);
        let come = |n| (0..n).for_each(|_| assert_eq!(bus.send(b"x").unwrap(), 1));
        come(6);
        assert_eq!(step(&mut way), (1, 1), "nobody knows yet");
        assert_eq!(step(&mut way), (5, 6));
        come(3);
        assert_eq!(step(&mut way), (3, 4), "they came while the others left");
        assert_eq!(step(&mut way), (0, 1));
        come(2);
        assert_eq!(step(&mut way), (1, 1));
    }

    /// The paper's `read-write` (syscalls-2014 §3.2).
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
