//! A shared controller on a Linux CAN interface.
//!
//! The driver of the interface gets one frame at a time, the best of all machines, and the next one
//! when it has echoed that frame, which a driver does at the end of its transmission. So no frame
//! waits in the driver behind one with a lower priority, but between two frames the bus is free for
//! as long as this process takes. What the driver has is not called back: a better frame waits for
//! at most that one.

use super::registry;
use frame::{Frame, FrameRef, Nanos};
use linux::Errno;
use linux::can::{FrameOptions, FrameSocket, MOST_ARRIVALS, OpenError};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use vcontroller::{Candidate, Controller, State};

/// How often the interface is looked at when nothing says that it has changed, ns.
const LOOK: Nanos = 100_000_000;
/// Frames that come later than this after those before are read one at a time, ns: less than the
/// shortest frame at 1 Mbit/s takes, so that only a turn that finds more than one waiting reads
/// them all.
const APART: Nanos = 40_000;
/// When a frame is offered again for which the interface's queue had no room, ns.
const AGAIN: Nanos = 1_000_000;

/// `CAN_ERR_CRTL`, `CAN_ERR_BUSOFF`, `CAN_ERR_RESTARTED`, and bits of `data[1]` with the first
/// (include/uapi/linux/can/error.h).
const CONTROLLER: u32 = 0x04;
const BUS_OFF: u32 = 0x40;
const RESTARTED: u32 = 0x100;
const WARNING: u8 = 0x04 | 0x08;
const PASSIVE: u8 = 0x10 | 0x20;
const ACTIVE: u8 = 0x40;

pub(crate) struct OnInterface {
    socket: FrameSocket,
    pub(crate) controller: Controller,
    /// What the driver has.
    flying: Option<Candidate>,
    look_at: Nanos,
    /// Says when that is, so that nobody need wait with a time; `None`: there is none.
    timer: Option<OwnedFd>,
    /// When something came last.
    came_at: Option<Nanos>,
    again_at: Option<Nanos>,
    lost: u32,
}

impl OnInterface {
    /// `fd`: FD frames, too, if the interface has them; `controller` makes the controller, with FD
    /// or without.
    pub(crate) fn open(
        interface: &str,
        fd: bool,
        controller: impl FnOnce(bool) -> Controller,
    ) -> Result<Self, OpenError> {
        let options = FrameOptions {
            fd,
            hear: true,
            echo: true,
            own: true,
            // The time of a turn is that of its frames.
            no_stamps: true,
            ..FrameOptions::default()
        };
        let socket = FrameSocket::open(interface, &options)?;
        let carries_fd = socket.look().is_ok_and(|found| found.carries_fd());
        Ok(Self {
            socket,
            controller: controller(fd && carries_fd),
            flying: None,
            look_at: 0,
            timer: timer().ok(),
            came_at: None,
            again_at: None,
            lost: 0,
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Readable when the interface is to be looked at, again and again. Nobody need read it.
    pub(crate) fn timer(&self) -> Option<BorrowedFd<'_>> {
        self.timer.as_ref().map(AsFd::as_fd)
    }

    /// Takes what has come, if anything has, lets `work` be done, and offers what is best then.
    /// `came`: what there is, by its bits in the module `registry`.
    pub(crate) fn turn<R>(
        &mut self,
        now: Nanos,
        came: u32,
        work: impl FnOnce(&mut Controller, Nanos) -> R,
    ) -> R {
        // What is left after another machine's turn in this step is there in the next one, too.
        if came & 1 << registry::FRAMES != 0 && self.came_at != Some(now) {
            self.receive(now);
        }
        // The timer's steps and those of this clock are not the same: half of one is near enough.
        let due = came & 1 << registry::TICK != 0 && now.saturating_add(LOOK / 2) >= self.look_at;
        if due || now >= self.look_at {
            self.look(now);
        }
        let done = work(&mut self.controller, now);
        self.offer(now);
        done
    }

    fn receive(&mut self, now: Nanos) {
        let Self {
            socket,
            controller,
            flying,
            came_at,
            ..
        } = self;
        let mut take = |frame: FrameRef<'_>, own: bool| {
            if frame.id().is_err() {
                if let Some(state) = state_of(&frame) {
                    set_state(controller, flying, state, now);
                }
            } else if let Some(sent) = flying.take_if(|flying| own && is(&flying.frame, &frame)) {
                controller.sent(&sent, now);
            } else if let Some(frame) = Frame::from_view(frame) {
                controller.heard(&frame, now);
            }
        };
        // The descriptor stays readable as long as there is more, and a turn after a turn is soon
        // enough for that.
        let alone = came_at
            .replace(now)
            .is_none_or(|at| now.saturating_sub(at) >= APART);
        let most = if alone { 1 } else { MOST_ARRIVALS };
        loop {
            match socket.receive_at_most(most, &mut |arrival| take(arrival.frame, arrival.own)) {
                Ok(MOST_ARRIVALS) => {}
                // There is no more for now, or it is looked for at once.
                Ok(_) => return,
                // It went down, or away.
                Err(_) => {
                    self.look_at = now;
                    return;
                }
            }
        }
    }

    /// Asks how the interface is. Error states come by error frames, and are left as they are.
    fn look(&mut self, now: Nanos) {
        self.look_at = now.saturating_add(LOOK);
        let before = self.controller.state();
        let state = match self.socket.look() {
            Ok(found) if found.is_usable() && before.passes() => before,
            Ok(found) if found.is_usable() => State::Active,
            Ok(found) if found.up => State::BusOff,
            Ok(_) | Err(_) => State::Stopped,
        };
        set_state(&mut self.controller, &mut self.flying, state, now);
        self.lost = self.socket.lost().unwrap_or(0);
    }

    fn offer(&mut self, now: Nanos) {
        self.again_at = None;
        if self.flying.is_some() {
            return;
        }
        let Some(best) = self.controller.best(now) else {
            return;
        };
        match self.socket.send(best.frame.view()) {
            Ok(()) => {
                self.controller.on_wire(&best, now);
                self.flying = Some(best);
            }
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => {
                self.again_at = Some(now.saturating_add(AGAIN));
            }
            Err(_) => {
                self.look(now);
                self.again_at = Some(now.saturating_add(AGAIN));
            }
        }
    }

    /// When the next turn is to be at the latest.
    pub(crate) fn deadline(&self, now: Nanos) -> Option<Nanos> {
        let budget = self.controller.deadline(now);
        let look = self.timer.is_none().then_some(self.look_at);
        budget.into_iter().chain(self.again_at).chain(look).min()
    }

    /// Frames of the bus that this process was too late for.
    pub(crate) const fn lost(&self) -> u32 {
        self.lost
    }
}

/// A timer that says each [`LOOK`] that time has passed.
fn timer() -> rustix::io::Result<OwnedFd> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK as i64,
    };
    let each = Itimerspec {
        it_interval: time,
        it_value: time,
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &each)?;
    Ok(timer)
}

/// Is it this frame that comes back?
fn is(sent: &Frame, came: &FrameRef<'_>) -> bool {
    sent.id() == came.id() && sent.kind() == came.kind() && sent.data() == came.data()
}

fn set_state(
    controller: &mut Controller,
    flying: &mut Option<Candidate>,
    state: State,
    now: Nanos,
) {
    controller.set_state(state, now);
    if !state.passes() {
        *flying = None;
    }
}

/// What an error frame says of the controller.
fn state_of(frame: &FrameRef<'_>) -> Option<State> {
    let class = frame.id().raw();
    let bits = frame.data().get(1).copied().unwrap_or(0);
    if class & BUS_OFF != 0 {
        return Some(State::BusOff);
    }
    if class & RESTARTED != 0 {
        return Some(State::Active);
    }
    if class & CONTROLLER == 0 {
        return None;
    }
    [
        (PASSIVE, State::Passive),
        (WARNING, State::Warning),
        (ACTIVE, State::Active),
    ]
    .into_iter()
    .find_map(|(bit, state)| (bits & bit != 0).then_some(state))
}
