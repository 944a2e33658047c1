//! A shared controller on a Linux CAN interface.
//!
//! The driver of the interface gets one frame at a time, the highest-priority one of all machines,
//! and the next one when it has echoed that frame, which a driver does at the end of its
//! transmission. So no frame waits in the driver behind one with a lower priority, but between two
//! frames the bus is free for as long as this process takes. A frame that the driver has is not
//! called back: a higher-priority frame waits for at most that one.

use bus::vcontroller::{ErrorState, NextFrame, VirtualController};
use frame::{Frame, FrameRef, Nanos};
use linux::Errno;
use linux::can::{
    FrameOptions, FrameSocket, MOST_ARRIVALS, OpenError, error_class, reported_state,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use virtio::FIRST_OTHER;

/// Interval at which the interface is checked when no event reports a change, ns.
const CHECK_INTERVAL: Nanos = 100_000_000;
/// Minimum time after the previous frames from which frames are read one at a time, ns: less than
/// the duration of the shortest frame at 1 Mbit/s, so that only a turn that finds more than one
/// waiting reads them all.
const APART: Nanos = 40_000;
/// Time after which a frame is offered again for which the interface's queue had no room, ns.
const AGAIN: Nanos = 1_000_000;

/// Event of a machine's device, in addition to the device's own events: the interface has received
/// a frame, or has an error.
pub(crate) const FRAMES: u8 = FIRST_OTHER;
/// Event: the state of the interface must be checked.
pub(crate) const TICK: u8 = FRAMES + 1;

pub(crate) struct OnInterface {
    socket: FrameSocket,
    pub(crate) controller: VirtualController,
    /// The frame that the driver has.
    flying: Option<NextFrame>,
    look_at: Nanos,
    /// Periodic timer that reports that time, so that no worker has to wait with a timeout; `None`:
    /// there is no timer.
    timer: Option<OwnedFd>,
    /// Time of the last turn that received something.
    came_at: Option<Nanos>,
    again_at: Option<Nanos>,
    lost: u32,
}

impl OnInterface {
    /// Opens the socket. `fd`: FD frames, too, if the interface carries them; `controller` makes
    /// the controller, with FD or without.
    pub(crate) fn open(
        interface: &str,
        fd: bool,
        controller: impl FnOnce(bool) -> VirtualController,
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
        let carries_fd = socket.query_state().is_ok_and(|found| found.carries_fd());
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

    /// Returns the timer, which becomes readable periodically when the interface must be checked.
    /// It need not be read.
    pub(crate) fn timer(&self) -> Option<BorrowedFd<'_>> {
        self.timer.as_ref().map(AsFd::as_fd)
    }

    /// Takes the frames that have come, if any, calls `work`, and then offers the highest-priority
    /// frame. `came`: the events that there are, as bits by their numbers in the module `registry`.
    pub(crate) fn turn<R>(
        &mut self,
        now: Nanos,
        came: u32,
        work: impl FnOnce(&mut VirtualController, Nanos) -> R,
    ) -> R {
        // Frames that are left after another machine's turn in this step are still there in the
        // next step.
        if came & 1 << FRAMES != 0 && self.came_at != Some(now) {
            self.receive(now);
        }
        // The timer's steps and those of this clock are not the same: half an interval is near
        // enough.
        let due = came & 1 << TICK != 0 && now.saturating_add(CHECK_INTERVAL / 2) >= self.look_at;
        if due || now >= self.look_at {
            self.check_interface(now);
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
                if let Some(state) = state_of(frame) {
                    set_state(controller, flying, Some(state), now);
                }
            } else if let Some(sent) = flying.take_if(|flying| own && is(&flying.frame, &frame)) {
                controller.sent(&sent, now);
            } else if let Some(frame) = Frame::from_view(frame) {
                controller.deliver(&frame, now);
            }
        };
        // The descriptor stays readable as long as there is more, and the next turn is soon enough
        // for that.
        let alone = came_at
            .replace(now)
            .is_none_or(|at| now.saturating_sub(at) >= APART);
        let most = if alone { 1 } else { MOST_ARRIVALS };
        loop {
            match socket.receive_at_most(most, &mut |arrival| take(arrival.frame, arrival.own)) {
                Ok(MOST_ARRIVALS) => {}
                // There is no more for now, or the next turn follows at once.
                Ok(_) => return,
                // The interface went down, or no longer exists.
                Err(_) => {
                    self.look_at = now;
                    return;
                }
            }
        }
    }

    /// Checks the state of the interface. Error states come by error frames, and are left
    /// unchanged.
    fn check_interface(&mut self, now: Nanos) {
        self.look_at = now.saturating_add(CHECK_INTERVAL);
        let before = self.controller.state();
        let state = match self.socket.query_state() {
            Ok(found) if found.is_usable() && before.is_some_and(ErrorState::is_on_bus) => before,
            Ok(found) if found.is_usable() => Some(ErrorState::Active),
            Ok(found) if found.up => Some(ErrorState::BusOff),
            Ok(_) | Err(_) => None,
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
                self.check_interface(now);
                self.again_at = Some(now.saturating_add(AGAIN));
            }
        }
    }

    /// Returns the latest time of the next turn.
    pub(crate) fn deadline(&self, now: Nanos) -> Option<Nanos> {
        let budget = self.controller.deadline(now);
        let look = self.timer.is_none().then_some(self.look_at);
        budget.into_iter().chain(self.again_at).chain(look).min()
    }

    /// Returns the number of frames of the bus that were lost because this process was too late.
    pub(crate) const fn lost(&self) -> u32 {
        self.lost
    }
}

/// Makes a timer that expires every [`CHECK_INTERVAL`].
fn timer() -> rustix::io::Result<OwnedFd> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: CHECK_INTERVAL as i64,
    };
    let each = Itimerspec {
        it_interval: time,
        it_value: time,
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &each)?;
    Ok(timer)
}

/// Returns whether the frame that came back is this sent frame.
fn is(sent: &Frame, came: &FrameRef<'_>) -> bool {
    sent.id() == came.id() && sent.kind() == came.kind() && sent.data() == came.data()
}

fn set_state(
    controller: &mut VirtualController,
    flying: &mut Option<NextFrame>,
    state: Option<ErrorState>,
    now: Nanos,
) {
    controller.set_state(state, now);
    if !state.is_some_and(ErrorState::is_on_bus) {
        *flying = None;
    }
}

/// Returns the state of the controller that an error frame reports, if it reports one.
fn state_of(frame: FrameRef<'_>) -> Option<ErrorState> {
    let class = frame.id().raw();
    if class & error_class::BUS_OFF != 0 {
        Some(ErrorState::BusOff)
    } else if class & error_class::RESTARTED != 0 {
        Some(ErrorState::Active)
    } else {
        reported_state(frame)
    }
}
