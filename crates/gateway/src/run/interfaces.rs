//! The Linux interfaces of ports, as the kernel reports them: their states, their counters, and the
//! number of their frames that were not asked for.

use super::kernel_plan::KernelPlan;
use super::site::{PlanSource, RunPlan};
use crate::notice::{LinkSource, Notice, ReadyPort};
use crate::stats::{ControllerRow, InterfaceRow};
use engine::{CounterSnapshot, FrameInterest, InterestIds, LinkState, PortCount, interest};
use frame::ErrorState;
use frame::wire::BitRate;
use linux::link::{ControllerCounters, ControllerState, LinkCounters, NetLink, NetLinks};
use port::InterfaceFinder;
use route::RoutingTable;

/// The reasons why a number is not known.
const REPLACED: &str = "another interface of this name has appeared since the port was opened";
const NOT_THERE: &str = "there was no such interface when the port was opened";
const ERROR_FRAMES: &str = "routes take error frames, which the interface does not count";
const TAKEN: &str = "BPF takes frames at this interface before this process can see them";

/// Returns the frames that each port of a table is asked for.
pub(super) fn interests(table: &RoutingTable, ports: usize) -> Vec<FrameInterest> {
    (0..ports).map(|port| interest(table, port)).collect()
}

/// All data on interfaces at one moment, or the reason why there are none.
pub(super) type Reading = Result<NetLinks, String>;

/// The values at which counting started.
#[derive(Clone, Debug)]
struct CounterBase {
    index: u32,
    counters: LinkCounters,
    controller: ControllerCounters,
    /// The port's own counters at that time.
    port: PortCount,
}

/// A port with a Linux interface.
#[derive(Clone, Debug)]
struct WatchedPort {
    port: String,
    interface: String,
    /// Finds it, where it was chosen by its device.
    finder: Option<InterfaceFinder>,
    in_kernel: bool,
    /// Whether the kernel was not asked for every frame.
    filtered: bool,
    /// The reason why the number of frames that were not asked for is not known.
    unknown: Option<&'static str>,
    base: Option<CounterBase>,
    /// The last reported state; only if [`WatchedPort::in_kernel`], since other ports report it
    /// themselves.
    reported: LinkState,
}

/// The ports that have a Linux interface.
#[derive(Debug, Default)]
pub(crate) struct PortInterfaces(Vec<WatchedPort>);

impl PortInterfaces {
    /// Returns the interfaces of a plan. `interests` is by port of this process.
    pub(super) fn new<S: PlanSource>(
        site: &S,
        plan: &RunPlan<S::Spec>,
        kernel: &KernelPlan,
        interests: &[FrameInterest],
    ) -> Self {
        let used = kernel.used();
        let mut all = Vec::new();
        for ((port, spec), interest) in plan.ports.iter().zip(interests) {
            let finder = site.interface_finder(spec);
            let interface = match (site.interface(spec), &finder) {
                (Some(interface), _) => interface,
                // It is not there yet.
                (None, Some(_)) => "",
                (None, None) => continue,
            };
            let taken = |(_, name, takes): &(&str, &str, bool)| *takes && *name == interface;
            let unknown = if interest.error_frames {
                Some(ERROR_FRAMES)
            } else {
                used.iter().any(taken).then_some(TAKEN)
            };
            all.push(WatchedPort {
                port: port.clone(),
                interface: interface.to_owned(),
                finder,
                in_kernel: false,
                filtered: interest.ids != InterestIds::Everything,
                unknown,
                base: None,
                reported: LinkState::Up,
            });
        }
        for (port, interface, _) in used {
            if all.iter().any(|known| known.port == port) {
                continue;
            }
            all.push(WatchedPort {
                port: port.to_owned(),
                interface: interface.to_owned(),
                finder: None,
                in_kernel: true,
                filtered: false,
                unknown: None,
                base: None,
                reported: LinkState::Up,
            });
        }
        Self(all)
    }

    /// Starts counting, with all ports at 0.
    pub(super) fn start_counting(&mut self) {
        let reading = self.read();
        self.start_counting_at(&reading, None);
        let Ok(links) = reading else { return };
        // A missing interface is reported by the data path that needs it.
        let not_there = |watched: &&mut WatchedPort| links.get(&watched.interface).is_none();
        for watched in self.0.iter_mut().filter(not_there) {
            watched.reported = LinkState::Gone;
        }
    }

    fn start_counting_at(&mut self, reading: &Reading, counted: Option<&CounterSnapshot>) {
        for watched in self.0.iter_mut().filter(|watched| watched.base.is_none()) {
            let link = reading.as_ref().ok().and_then(|all| watched.link(all));
            let port = counted.and_then(|counted| counted.port(&watched.port));
            watched.base = link.map(|link| CounterBase {
                index: link.index,
                counters: link.counters,
                controller: link.controller.unwrap_or_default(),
                port: port.copied().unwrap_or_default(),
            });
        }
    }

    /// Replaces the ports after a reload: those that stay continue to count, others start.
    pub(super) fn replace(&mut self, mut new: Self, counted: Option<&CounterSnapshot>) {
        for watched in &mut new.0 {
            let same = |old: &&mut WatchedPort| {
                (&old.port, &old.interface, old.in_kernel)
                    == (&watched.port, &watched.interface, watched.in_kernel)
            };
            if let Some(old) = self.0.iter_mut().find(same) {
                watched.base = old.base.take();
                watched.reported = old.reported;
                // Frames that were filtered before stay counted.
                watched.filtered |= old.filtered;
                watched.unknown = watched.unknown.or(old.unknown);
            }
        }
        *self = new;
        let reading = self.read();
        self.start_counting_at(&reading, counted);
    }

    /// Reads the interfaces from the kernel; it is not asked if no port has an interface.
    pub(super) fn read(&self) -> Reading {
        if self.0.is_empty() {
            return Ok(NetLinks::default());
        }
        NetLinks::now().map_err(|error| error.to_string())
    }

    /// Checks the interfaces that only routes in the kernel use; returns the notices about them.
    pub(super) fn check_links(&mut self) -> Vec<Notice> {
        if !self.0.iter().any(|watched| watched.in_kernel) {
            return Vec::new();
        }
        match self.read() {
            Ok(links) => self.take_changes(&links),
            Err(_) => Vec::new(),
        }
    }

    fn take_changes(&mut self, links: &NetLinks) -> Vec<Notice> {
        let mut notices = Vec::new();
        for watched in self.0.iter_mut().filter(|watched| watched.in_kernel) {
            let now = state(links.get(&watched.interface));
            let before = std::mem::replace(&mut watched.reported, now);
            if before != now {
                notices.push(Notice::Link {
                    port: watched.port.clone(),
                    interface: Some(watched.interface.clone()),
                    before,
                    now,
                    source: LinkSource::Netlink,
                });
            }
        }
        notices
    }

    /// Adds the interface to a notice of the worker, which does not know interfaces.
    pub(super) fn complete(&self, mut notice: Notice) -> Notice {
        if let Notice::Link {
            port, interface, ..
        } = &mut notice
        {
            let known = self.0.iter().find(|watched| watched.port == *port);
            *interface = known.map(WatchedPort::known_name);
        }
        notice
    }

    /// Returns the ports that only routes in the kernel use.
    pub(super) fn in_kernel(&self) -> impl Iterator<Item = ReadyPort> {
        let there = self.0.iter().filter(|watched| watched.in_kernel);
        there.map(|watched| ReadyPort {
            name: watched.port.clone(),
            words: format!("Linux interface {}, in the kernel", watched.interface),
            interface: Some(watched.interface.clone()),
            in_kernel: true,
        })
    }

    /// Returns the names of the ports that only routes in the kernel use and whose interfaces let
    /// no frames pass, as last reported.
    pub(super) fn in_kernel_down(&self) -> impl Iterator<Item = &str> {
        let down = self
            .0
            .iter()
            .filter(|it| it.in_kernel && !it.reported.passes());
        down.map(|watched| watched.port.as_str())
    }

    /// Returns the rows from the kernel's report at a moment and the ports' counters of a little
    /// later.
    pub(super) fn rows(&self, reading: &Reading, counted: &CounterSnapshot) -> Vec<InterfaceRow> {
        let row = |watched: &WatchedPort| watched.row(reading, counted.port(&watched.port));
        self.0.iter().map(row).collect()
    }
}

impl WatchedPort {
    /// Returns the present name of the interface. One that was chosen by its device may have
    /// another name by now, and another interface its former name.
    fn name(&self) -> Option<String> {
        match &self.finder {
            Some(finder) => finder.find(),
            None => Some(self.interface.clone()),
        }
    }

    /// Returns the same, or the last known name.
    fn known_name(&self) -> String {
        self.name().unwrap_or_else(|| self.interface.clone())
    }

    fn link<'l>(&self, links: &'l NetLinks) -> Option<&'l NetLink> {
        links.get(&self.name()?)
    }

    fn row(&self, reading: &Reading, port: Option<&PortCount>) -> InterfaceRow {
        // The search reads the kernel's lists, so it is made once.
        let name = self.name();
        let mut row = InterfaceRow {
            port: self.port.clone(),
            interface: name.clone().unwrap_or_else(|| self.interface.clone()),
            in_kernel: self.in_kernel,
            ..InterfaceRow::default()
        };
        let links = match reading {
            Ok(links) => links,
            Err(why) => {
                row.not_asked_for_unknown = self.filtered.then(|| why.clone());
                return row;
            }
        };
        let link = name.and_then(|name| links.get(&name));
        row.state = Some(state(link));
        let rate = link.and_then(|link| link.bit_rate);
        row.bitrate = rate.map(BitRate::nominal).filter(|rate| *rate > 0);
        row.data_bitrate = rate.and_then(BitRate::data);
        let counted = match (link, &self.base) {
            (Some(link), Some(base)) if link.index == base.index => Ok((link, base)),
            (_, Some(_)) => Err(REPLACED),
            (_, None) => Err(NOT_THERE),
        };
        if let Ok((link, base)) = counted {
            let since = link.counters.since(&base.counters);
            row.received = Some(since.received);
            row.sent = Some(since.sent);
            row.receive_dropped = Some(since.receive_dropped);
            row.send_dropped = Some(since.send_dropped);
            row.received_bytes = Some(since.received_bytes);
            row.sent_bytes = Some(since.sent_bytes);
            row.receive_errors = Some(since.receive_errors);
            row.send_errors = Some(since.send_errors);
            row.controller = controller(link, base);
        }
        if self.in_kernel || !self.filtered {
            return row;
        }
        match (self.unknown, counted) {
            (Some(why), _) | (None, Err(why)) => row.not_asked_for_unknown = Some(why.to_owned()),
            (None, Ok((link, base))) => {
                row.not_asked_for = Some(not_asked_for(
                    link,
                    base,
                    &port.copied().unwrap_or_default(),
                ));
            }
        }
        row
    }
}

/// Returns the number of frames that the interface received and that the socket did not get, though
/// it did not lose them: its filters kept them out. If some counters are not known, the number is a
/// lower bound.
///
/// * A vcan counts as received the frames that programs on this machine send on it, this gateway's
///   frames among them; a socket does not get its own.
/// * On other interfaces, frames of programs on this machine come to the socket as an echo, and the
///   interface does not count these as received.
/// * Frames for which the kernel had no space came to no socket. Frames for which the controller
///   had no space did not even come to the interface; they are among the overruns, so that the
///   result is lower by their number.
fn not_asked_for(link: &NetLink, base: &CounterBase, port: &PortCount) -> u64 {
    let interface = link.counters.since(&base.counters);
    let since = |now: u64, then: u64| now.saturating_sub(then);
    let (now, then) = (&port.rx, &base.port.rx);
    let got = since(port.received, base.port.received)
        + since(now.overrun, then.overrun)
        + since(now.malformed, then.malformed)
        + since(now.faults.dropped, then.faults.dropped);
    let got = got.saturating_sub(since(now.faults.duplicated, then.faults.duplicated));
    let (own, local) = if link.kind == "vcan" {
        (since(port.tx.sent, base.port.tx.sent), 0)
    } else {
        (0, since(now.local, then.local))
    };
    interface
        .received
        .saturating_sub(interface.receive_dropped)
        .saturating_sub(own)
        .saturating_sub(got.saturating_sub(local))
}

/// Returns the driver's report on the controller, if there is one.
fn controller(link: &NetLink, base: &CounterBase) -> Option<ControllerRow> {
    let counted = link.controller?.since(&base.controller);
    let errors = link.errors.unwrap_or_default();
    Some(ControllerRow {
        transmit_errors: errors.transmit.into(),
        receive_errors: errors.receive.into(),
        bus_errors: counted.bus_errors.into(),
        error_passive: counted.error_passive.into(),
        bus_off: counted.bus_off.into(),
        arbitration_lost: counted.arbitration_lost.into(),
        restarts: counted.restarts.into(),
    })
}

/// Returns the state of an interface on its bus.
fn state(link: Option<&NetLink>) -> LinkState {
    match link {
        None => LinkState::Gone,
        Some(link) if !link.up => LinkState::Down,
        Some(link) => match link.state {
            Some(ControllerState::Started(ErrorState::BusOff)) => LinkState::BusOff,
            _ if !link.running => LinkState::Down,
            Some(ControllerState::Started(state)) => state.into(),
            _ => LinkState::Up,
        },
    }
}

#[cfg(test)]
mod tests;
