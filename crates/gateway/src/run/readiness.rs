//! Ports that are not up: in the status for the service manager, and a notice when all are up.

use super::running::RunningGateway;
use super::site::PlanSource;
use crate::notice::Notice;
use engine::{CounterSnapshot, PortState};
use std::time::{Duration, Instant};

/// The shortest time between two looks at the ports, however often their interfaces change.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The last report on the ports that are not up.
#[derive(Default)]
pub(super) struct PortReadiness {
    /// The ports that were not up when the gateway was ready, until all ports are up.
    awaited: Vec<String>,
    /// The ports that were not up at the last report.
    told: Vec<String>,
    /// The time of the last look.
    last: Option<Instant>,
    /// The time of the next look; `None` if no interface has changed since the last one.
    next: Option<Instant>,
}

impl PortReadiness {
    /// Begins anew: the gateway is ready, without these ports.
    pub(super) fn start(&mut self, not_up: Vec<String>) {
        *self = Self {
            awaited: not_up.clone(),
            told: not_up,
            ..Self::default()
        };
    }
}

impl<S: PlanSource> RunningGateway<'_, S> {
    /// Returns the ports through which no frame can pass at the moment, because their interface is
    /// down, absent or bus-off, or their other side is not there.
    pub(super) fn not_up(&self, now: &CounterSnapshot) -> Vec<String> {
        let here = now.ports.iter();
        let here = here.filter(|row| row.count.state == PortState::Down);
        let here = here.map(|row| row.name.clone());
        let in_kernel = self.kernel().interfaces.in_kernel_down();
        here.chain(in_kernel.map(str::to_owned)).collect()
    }

    /// Notes that interfaces may have changed.
    pub(super) fn look_at_ports(&mut self) {
        let is_of_use = self.manager.listens() || !self.readiness.awaited.is_empty();
        let last = self.readiness.last;
        if is_of_use && self.readiness.next.is_none() {
            let now = Instant::now();
            let next = last.map_or(now, |last| now.max(last + LOOK_INTERVAL));
            self.readiness.next = Some(next);
        }
    }

    /// Returns the time at which [`RunningGateway::report_ports`] has something to do.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        self.readiness.next
    }

    /// Reports which ports are up, if that has changed.
    pub(crate) fn report_ports(&mut self) {
        let begun = Instant::now();
        if self.readiness.next.is_none_or(|at| at > begun) {
            return;
        }
        self.readiness.next = None;
        self.readiness.last = Some(begun);
        let Some(now) = self.snapshot() else { return };
        let not_up = self.not_up(&now);
        if not_up == self.readiness.told {
            return;
        }
        self.notify_status(&now);
        if not_up.is_empty() && !self.readiness.awaited.is_empty() {
            let ports = std::mem::take(&mut self.readiness.awaited);
            self.notices().send(Notice::PortsUp { ports });
        }
        self.readiness.told = not_up;
    }
}
