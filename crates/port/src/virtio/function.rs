//! A machine as a virtual function of a controller: its frames go to the bus by the controller's
//! arbitration, and are acknowledged after they were on the bus.

use crate::controllers::MachineFunction;
use ::virtio::{DeviceLink, FrameTicket, VirtioDevice};
use bus::vcontroller::{
    ErrorState, FunctionFrame, FunctionRights, RequestOutcome, VirtualController,
};
use frame::{Frame, Nanos};
use std::sync::Arc;

/// Maximum number of frames that one turn takes from a machine: a machine that sends without end,
/// even if all its frames are refused, must not hold up the other ports.
const AT_ONCE: usize = 64;

/// The results of a turn.
#[derive(Default)]
pub(super) struct TurnResult {
    /// True if the machine has more frames than one turn takes.
    pub(super) more: bool,
    /// Frames of the machine that were sent on the bus, each with its end of frame in bus time, ns.
    pub(super) sent: Vec<(Frame, Nanos)>,
}

/// The machine's part of a controller.
pub(super) struct FunctionState {
    function: MachineFunction,
    rights: FunctionRights,
    /// True if the rights have been set.
    begun: bool,
    /// True if the device's events include those of the interface.
    watched: bool,
    /// Time of the last turn.
    turned: Nanos,
    started: bool,
    /// Frames under way, by the number that the controller returns with their completion.
    under_way: Vec<Option<(FrameTicket, Frame)>>,
    /// A received frame for which the machine had no buffer yet.
    held: Option<FunctionFrame>,
    /// Number of frames that the machine could not get, such as FD frames if it did not negotiate
    /// FD.
    pub(super) not_carried: u64,
}

impl FunctionState {
    pub(super) const fn new(function: MachineFunction, rights: FunctionRights) -> Self {
        Self {
            function,
            rights,
            begun: false,
            watched: false,
            turned: 0,
            started: false,
            under_way: Vec::new(),
            held: None,
            not_carried: 0,
        }
    }

    /// Moves the bus to the time of the clock, and moves frames and completions between the machine
    /// and its function.
    pub(super) fn turn(&mut self, device: &mut VirtioDevice, clock: Nanos, turn: &mut TurnResult) {
        let place = Arc::clone(&self.function.place);
        let Some(place) = place.get() else { return };
        // Before the interface is watched, there are no events of it: assume all of them.
        let came = if self.watched {
            device.others()
        } else {
            u32::MAX
        };
        place.turn(clock, came, |controller, now| {
            self.work(device, controller, now, turn);
            self.function.wake_others(controller);
        });
        self.turned = clock;
        if !std::mem::replace(&mut self.watched, true) {
            place.watch(device);
        }
    }

    fn work(
        &mut self,
        device: &mut VirtioDevice,
        controller: &mut VirtualController,
        now: Nanos,
        turn: &mut TurnResult,
    ) {
        let vf = self.function.vf;
        if !std::mem::replace(&mut self.begun, true) {
            let _ = controller.set_rights(vf, self.rights.clone(), now);
        }
        if controller.take_news(vf) == Ok(true) {
            device.set_bus_off(controller.state() == Some(ErrorState::BusOff));
        }
        let takes_part = matches!(device.link(), DeviceLink::Up | DeviceLink::BusOff);
        if takes_part != self.started {
            self.started = takes_part;
            if takes_part {
                let _ = controller.start(vf, false);
            } else {
                self.stop(device, controller);
            }
        }
        self.complete(device, controller, turn);
        turn.more = self.request(device, controller);
        self.deliver(device, controller);
    }

    /// Resets the function, because the machine has stopped or disconnected.
    fn stop(&mut self, device: &mut VirtioDevice, controller: &mut VirtualController) {
        let _ = controller.reset(self.function.vf);
        for (ticket, _) in self.under_way.drain(..).flatten() {
            device.finish(ticket, false);
        }
        self.held = None;
    }

    fn complete(
        &mut self,
        device: &mut VirtioDevice,
        controller: &mut VirtualController,
        turn: &mut TurnResult,
    ) {
        while let Ok(Some(completion)) = controller.completion(self.function.vf) {
            let place = usize::try_from(completion.ticket).ok();
            let place = place.and_then(|place| self.under_way.get_mut(place));
            let Some((ticket, frame)) = place.and_then(Option::take) else {
                continue;
            };
            let sent = completion.outcome == RequestOutcome::Sent;
            device.finish(ticket, sent);
            if sent {
                turn.sent.push((frame, completion.at));
            }
        }
    }

    /// Asks the controller to send the machine's frames; returns true if there may be more of them.
    fn request(&mut self, device: &mut VirtioDevice, controller: &mut VirtualController) -> bool {
        let vf = self.function.vf;
        for _ in 0..AT_ONCE {
            // Frames that the controller has no room for wait in the machine, until others of the
            // machine have ended.
            if !controller.room(vf).is_ok_and(|room| room > 0) {
                return false;
            }
            let mut taken = None;
            let more = device.take(1, &mut |one| taken = Some(one));
            let Some(taken) = taken else { return more };
            let free = self.under_way.iter().position(Option::is_none);
            let place = free.unwrap_or(self.under_way.len());
            match controller.request(vf, &taken.frame, place as u64) {
                Ok(()) => {
                    let entry = Some((taken.ticket, taken.frame));
                    match self.under_way.get_mut(place) {
                        Some(there) => *there = entry,
                        None => self.under_way.push(entry),
                    }
                }
                Err(_) => device.finish(taken.ticket, false),
            }
        }
        true
    }

    fn deliver(&mut self, device: &mut VirtioDevice, controller: &mut VirtualController) {
        loop {
            let next = self.held.take();
            let next = next.or_else(|| controller.receive(self.function.vf).ok().flatten());
            let Some(received) = next else { return };
            let view = received.frame.view();
            if device.link() != DeviceLink::Up || !device.carries(&view) {
                self.not_carried += 1;
            } else if !device.give(&view) {
                self.held = Some(received);
                return;
            }
        }
    }

    /// Returns whether there is a frame for which the machine had no buffer.
    pub(super) const fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the latest time of the next turn, in the time of the clock.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        self.function.place.get()?.deadline(self.turned)
    }

    /// Returns a sentence with the counters of the machine's frames at the controller.
    pub(super) fn remark(&self) -> Option<String> {
        let place = self.function.place.get()?;
        let (c, late) = place.counters(self.function.vf)?;
        let name = &self.function.name;
        let ended = c.aborted + c.dropped + c.reset;
        let waiting = c.accepted - (c.sent + ended);
        let late = match late {
            0 => String::new(),
            n => format!("; {n} frames of the interface came too fast for this process"),
        };
        Some(format!(
            "controller {name}: {} frames requested = {} sent, {} refused by its rights, {} \
             refused while it was down or for their kind, {ended} given up, {waiting} waiting; {} \
             received = {} read, {} lost (its queue was full), {} waiting or discarded{late}",
            c.requested,
            c.sent,
            c.not_permitted,
            c.down + c.unsupported + c.full,
            c.heard,
            c.read,
            c.overrun,
            c.received - c.read,
        ))
    }
}
