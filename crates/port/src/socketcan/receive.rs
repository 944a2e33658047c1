//! The receiving half.

use super::filter::filters;
use super::line::Line;
use super::shared::{Errors, Shared, State};
use crate::{
    Interest, LinkState, PollReceive, PortError, Receive, Received, RxCounters, RxReport, Stamp,
    StampSource, Wait,
};
use frame::{FrameRef, Nanos};
use linux::Errno;
use linux::can::layout::decode;
use linux::can::{controller_trouble, error_class};
use linux::mmsg::{Control, Inbox};
use std::sync::Arc;

/// Datagrams of one `recvmmsg`.
const BATCH: usize = 64;

pub(super) struct RawReceive<L> {
    shared: Arc<Shared<L>>,
    inbox: Inbox,
    /// Hand error frames on.
    error_frames: bool,
    hardware_stamps: bool,
    /// The kernel's drop counter as it was last seen.
    dropped: u32,
    counters: RxCounters,
}

impl<L: Line> RawReceive<L> {
    /// `size`: the largest datagram to expect.
    pub(super) fn new(shared: Arc<Shared<L>>, size: usize, hardware_stamps: bool) -> Self {
        Self {
            shared,
            inbox: Inbox::new(BATCH, size),
            error_frames: false,
            hardware_stamps,
            dropped: 0,
            counters: RxCounters::default(),
        }
    }

    /// Hands over one datagram, if it is a frame that is wanted.
    fn hand_over(&mut self, now: Nanos, i: usize, take: &mut dyn FnMut(Received<'_>)) -> bool {
        let Some((bytes, control)) = self.inbox.get(i) else {
            return false;
        };
        let control = Control::parse(control);
        if let Some(dropped) = control.lost {
            self.counters.overrun += u64::from(dropped.wrapping_sub(self.dropped));
            self.dropped = dropped;
        }
        let Some(frame) = decode(bytes) else {
            self.counters.malformed += 1;
            return false;
        };
        if frame.id().is_err() {
            heed(&self.shared, frame, now);
            if !self.error_frames {
                self.counters.error_frames += 1;
                return false;
            }
        } else if self.shared.state() == State::Down {
            self.shared.is_back();
        }
        self.counters.local += u64::from(self.inbox.is_local(i));
        let stamp = |ns, source| Stamp { ns, source };
        let hardware = control.hardware.filter(|_| self.hardware_stamps);
        take(Received {
            frame,
            stamp: match (hardware, control.software) {
                (Some(ns), _) => stamp(ns, StampSource::Hardware),
                (None, Some(ns)) => stamp(ns, StampSource::Kernel),
                (None, None) => stamp(now, StampSource::Gateway),
            },
            hops: 0,
            token: 0,
        });
        true
    }
}

/// What an error frame says about the interface's use (`uapi/linux/can/error.h`).
fn heed<L: Line>(shared: &Shared<L>, frame: FrameRef<'_>, now: Nanos) {
    let id = frame.id();
    if id.raw() & error_class::BUS_OFF != 0 {
        shared.lose(State::BusOff, now);
    }
    if id.raw() & error_class::RESTARTED != 0 && shared.state() != State::Up {
        shared.look_now();
    }
    if id.raw() & error_class::CONTROLLER != 0 {
        let trouble = frame.data().get(1).copied().unwrap_or(0);
        if trouble & controller_trouble::PASSIVE != 0 {
            shared.set_errors(Errors::Passive);
        } else if trouble & controller_trouble::WARNING != 0 {
            shared.set_errors(Errors::Warning);
        } else if trouble & controller_trouble::ACTIVE != 0 {
            shared.set_errors(Errors::Active);
        }
    }
}

impl<L: Line> Receive for RawReceive<L> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError> {
        self.shared.try_again(now);
        let (mut frames, mut looked, mut more) = (0, 0, false);
        while looked < budget && self.shared.state() != State::Gone {
            let want = (budget - looked).min(self.inbox.capacity());
            match self.shared.line.receive(&mut self.inbox, want) {
                Ok(n) => {
                    for i in 0..n {
                        frames += usize::from(self.hand_over(now, i, take));
                    }
                    looked += n;
                    more = n == want;
                    if !more {
                        break;
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {
                    more = false;
                    break;
                }
                // Said once by the kernel; the socket stays bound.
                Err(Errno::NETDOWN) => {
                    self.shared.lose(State::Down, now);
                    more = true;
                    break;
                }
                Err(Errno::NODEV | Errno::NXIO) => {
                    self.shared.lose(State::Gone, now);
                    more = false;
                }
                Err(Errno::NOBUFS | Errno::NOMEM) => {
                    self.shared.remark(format!(
                        "no memory to receive from {}",
                        self.shared.interface
                    ));
                    more = false;
                    break;
                }
                Err(e) => return Err(self.shared.fail("cannot receive from", e)),
            }
        }
        Ok(RxReport {
            frames,
            more,
            finished: false,
            news: self.shared.take_news(),
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        self.shared.next_look()
    }

    fn counters(&self) -> RxCounters {
        // Those that were lost after the last frame that came, too: they must not pass for frames
        // that were not asked for.
        let lost = self.shared.line.lost();
        let since = lost.map_or(0, |lost| lost.wrapping_sub(self.dropped));
        RxCounters {
            reopened: self.shared.reopened(),
            overrun: self.counters.overrun + u64::from(since),
            ..self.counters
        }
    }

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        self.error_frames = interest.error_frames;
        self.shared.set_filters(filters(interest))
    }

    fn is_up(&self) -> bool {
        self.shared.state() == State::Up
    }

    fn link(&self) -> LinkState {
        self.shared.link()
    }

    fn remarks(&self) -> Vec<String> {
        self.shared.remarks()
    }
}

impl<L: Line> PollReceive for RawReceive<L> {
    fn wait(&self) -> Wait {
        let bound = self.shared.state() != State::Gone;
        Wait {
            fd: bound.then(|| self.shared.line.fd()),
            readable: bound,
            writable: false,
        }
    }
}
