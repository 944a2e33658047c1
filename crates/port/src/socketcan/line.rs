//! The sockets of a port, behind a trait so that tests can replace them.

use super::matched::MatchedInterface;
use super::own::OwnSetup;
use super::packet_filter::{not_own, program};
use crate::RawFilter;
use frame::ErrorState;
use linux::can::{CanFilter, CanSocket, InterfaceState};
use linux::link::{ControllerState, LinkSetup, NetLink, NetLinks, PreviousState};
use linux::packet::{self, FrameProtocol};
use linux::socket::take_error;
use linux::{Errno, classic_bpf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The sockets of a port, attached to one interface.
pub(super) trait SocketLine: Send + Sync {
    /// Returns the state of the interface; `NODEV` if there is none of this name.
    fn query_state(&self) -> Result<InterfaceState, Errno>;
    /// Returns whether the controller of this interface is bus-off; `None` if its driver does not
    /// report it.
    fn is_bus_off(&self, interface: &str) -> Option<bool> {
        let _ = interface;
        None
    }
    /// Attaches every socket to the interface of this number.
    fn attach(&self, index: u32) -> Result<(), Errno>;
    /// Sets up an interface that has just appeared. Returns a sentence with the reason if that is
    /// not possible, or with the settings that were left out.
    fn set_up(&self) -> Option<String> {
        None
    }
    /// Returns whether frames reach other sockets only by the kernel's loopback, even if the driver
    /// reports an echo. This is true of a vcan, loaded with `echo=1` or not: it has no other end.
    fn is_local(&self, interface: &str) -> bool {
        let _ = interface;
        false
    }
    /// Returns a sentence with the difference, if the interface is not set up as the port's
    /// settings specify.
    fn differs(&self) -> Option<String> {
        None
    }
    /// Replaces the kernel's filters of the socket that receives.
    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno>;
    /// Returns the present name of an interface that was chosen by its device; `None` for one that
    /// was chosen by its name.
    fn name(&self) -> Option<String> {
        None
    }
    /// Returns a sentence if several interfaces fit, so that none is used.
    fn ambiguity(&self) -> Option<String> {
        None
    }
    /// Notes that the interface is in use again.
    fn reset(&self) {}
    /// Returns whether a socket may lose its interface and report only that it is down.
    fn may_forget(&self) -> bool {
        false
    }
}

/// The sockets that a port receives from and sends to. A raw CAN socket that is used for both
/// directions does not receive the frames that are sent on it; with packet sockets, a mark
/// identifies them.
pub(super) struct PortSockets {
    /// The raw socket, which checks the interface in any case.
    pub(super) raw: Arc<CanSocket>,
    /// Whether the raw socket receives. It is attached if it receives or sends.
    pub(super) raw_receives: bool,
    pub(super) raw_sends: bool,
    pub(super) inlet: Option<PacketInlet>,
    pub(super) outlet: Option<Arc<PacketOutlet>>,
    /// The mark of the frames that the port sends.
    pub(super) mark: Option<u32>,
    /// The interface, where it was chosen by its device.
    pub(super) matched: Option<MatchedInterface>,
    /// Settings with which an interface that appears is set up.
    pub(super) setup: Option<SetUp>,
    /// Number of the interface that was checked and is suitable for packet sockets.
    pub(super) fit: AtomicU32,
}

/// Settings with which an interface that appears is set up.
pub(super) struct SetUp {
    pub(super) setup: LinkSetup,
    pub(super) interface: String,
    pub(super) own: OwnSetup,
}

/// A packet socket that receives.
pub(super) struct PacketInlet {
    pub(super) socket: Arc<packet::PacketSocket>,
    pub(super) protocol: FrameProtocol,
    pub(super) xl: bool,
}

/// A packet socket that sends.
pub(super) struct PacketOutlet {
    pub(super) socket: packet::PacketSocket,
    index: AtomicU32,
}

impl PacketOutlet {
    pub(super) const fn new(socket: packet::PacketSocket) -> Self {
        Self {
            socket,
            index: AtomicU32::new(0),
        }
    }

    /// Returns the interface's number.
    pub(super) fn index(&self) -> u32 {
        self.index.load(Relaxed)
    }
}

impl PortSockets {
    /// Checks an interface, once for each. Packet sockets do not check whether an interface is a
    /// CAN interface, nor whether the frames that they send reach a receiver: a vcan that does not
    /// echo drops them silently.
    fn check(&self, index: u32) -> Result<(), Errno> {
        if self.inlet.is_none() && self.outlet.is_none() || self.fit.load(Relaxed) == index {
            return Ok(());
        }
        let links = NetLinks::now().map_err(|_| Errno::NODEV)?;
        let link = links.into_iter().find(|link| link.index == index);
        let link = link.filter(|link| link.can).ok_or(Errno::NODEV)?;
        if self.outlet.is_some() && drops_packets(&link.kind, link.echo) {
            return Err(Errno::OPNOTSUPP);
        }
        self.fit.store(index, Relaxed);
        Ok(())
    }
}

/// Returns whether an interface of this kind drops frames that are sent on packet sockets: a vcan
/// has no other end, and leaves it to the CAN protocol to show frames to local listeners (`vcan_tx`
/// in drivers/net/can/vcan.c) if it was not loaded with `echo=1`.
pub(super) fn drops_packets(kind: &str, echo: bool) -> bool {
    kind == "vcan" && !echo
}

impl SocketLine for PortSockets {
    fn query_state(&self) -> Result<InterfaceState, Errno> {
        match &self.matched {
            None => self.raw.query_state(),
            Some(matched) => {
                let name = matched.look_up().map_err(|_| Errno::NODEV)?;
                self.raw.query_state_of(&name)
            }
        }
    }

    fn name(&self) -> Option<String> {
        self.matched.as_ref().map(MatchedInterface::name)
    }

    fn ambiguity(&self) -> Option<String> {
        self.matched.as_ref()?.ambiguity()
    }

    fn is_bus_off(&self, interface: &str) -> Option<bool> {
        let link = NetLink::find(interface).ok()?;
        if link.is_virtual() {
            return Some(false);
        }
        // The driver records bus-off before it makes the error frame, and turns the carrier off.
        let state = link.state?;
        Some(state == ControllerState::Started(ErrorState::BusOff) || !link.running)
    }

    fn attach(&self, index: u32) -> Result<(), Errno> {
        self.check(index)?;
        if let Some(outlet) = &self.outlet {
            outlet.index.store(index, Relaxed);
        }
        if self.raw_receives || self.raw_sends {
            self.raw.attach(index)?;
            self.reset();
        }
        match &self.inlet {
            Some(inlet) => inlet.socket.attach(index, inlet.protocol),
            None => Ok(()),
        }
    }

    fn set_up(&self) -> Option<String> {
        let SetUp {
            setup,
            interface,
            own,
        } = self.setup.as_ref()?;
        let interface = self.name().unwrap_or_else(|| interface.clone());
        match setup.apply(&interface, false) {
            Ok(applied) => {
                if applied.before == PreviousState::Down
                    && let Ok(there) = self.query_state()
                {
                    own.note(there.index);
                }
                (!applied.notes.is_empty()).then(|| applied.notes.join("; "))
            }
            Err(error) => Some(error.to_string()),
        }
    }

    fn is_local(&self, interface: &str) -> bool {
        NetLink::find(interface).is_ok_and(|link| link.kind == "vcan")
    }

    fn differs(&self) -> Option<String> {
        let set_up = self.setup.as_ref()?;
        let name = self.name().unwrap_or_else(|| set_up.interface.clone());
        let there = NetLink::find(&name).ok()?;
        let difference = set_up.setup.differs(&there)?;
        let cure = if set_up.own.is(there.index) {
            format!("`cangate reload` sets {name} as the file specifies")
        } else {
            format!("`ip link set {name} down`, and `cangate reload` sets it as the file specifies")
        };
        Some(format!("{difference}; {cure}"))
    }

    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno> {
        if let Some(inlet) = &self.inlet {
            let program = program(filters, self.mark, inlet.xl);
            inlet.socket.set_filter(&program)?;
        }
        if !self.raw_receives {
            return self.raw.set_filters(&[]);
        }
        if self.outlet.is_some()
            && let Some(mark) = self.mark
        {
            classic_bpf::attach(&self.raw, &not_own(mark))?;
        }
        let filter = |f: &RawFilter| CanFilter {
            id: f.id,
            mask: f.mask,
        };
        let filters: Vec<CanFilter> = filters.iter().map(filter).collect();
        self.raw.set_filters(&filters)
    }

    fn reset(&self) {
        if !self.raw_receives {
            // The next call on the socket would report that the interface was down, and no half
            // receives on this one.
            let _ = take_error(&self.raw);
        }
    }

    fn may_forget(&self) -> bool {
        self.inlet.is_some() || self.outlet.is_some()
    }
}
