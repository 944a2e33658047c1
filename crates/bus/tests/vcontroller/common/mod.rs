//! The controller on a simulated bus, and the actions on it.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each program of tests uses a part; a test that cannot go on has failed"
)]

use cangate_bus::vcontroller::VirtualController;
pub use cangate_bus::vcontroller::{AttachedController, ControllerEvent};
use cangate_bus::{Bus, NodeConfig};
use frame::Nanos;

/// The controller on a bus, error-active.
pub fn attach(bus: &mut Bus, controller: VirtualController) -> AttachedController {
    AttachedController::new(bus, controller, NodeConfig::new("vcontroller")).unwrap()
}

/// Lets the bus and the controller run until `until`, and calls `act` at each of these times, in
/// order.
pub fn run(
    bus: &mut Bus,
    attached: &mut AttachedController,
    until: Nanos,
    times: &[Nanos],
    mut act: impl FnMut(&mut Bus, &mut AttachedController, usize),
    mut seen: impl FnMut(&ControllerEvent),
) {
    let mut next = 0;
    loop {
        let due = times.get(next).copied();
        let budget = attached.controller.deadline(bus.now());
        let all = [bus.next(), due, budget].into_iter().flatten();
        let Some(to) = all.min().filter(|&to| to <= until) else {
            return;
        };
        let to = to.max(bus.now());
        let mut happened = Vec::new();
        let node = attached.node;
        bus.run_until(to, |event| {
            happened.extend(ControllerEvent::from_event(event, node));
        });
        for what in &happened {
            attached.react(what);
            seen(what);
        }
        while times.get(next).is_some_and(|&at| at <= to) {
            act(bus, attached, next);
            next += 1;
        }
        attached.offer(bus);
    }
}
