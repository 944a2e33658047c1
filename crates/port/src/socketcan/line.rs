//! The sockets of a port, so that tests can put something else in their place.

use super::own::OwnSetup;
use super::packet_filter::{not_own, program};
use crate::RawFilter;
use linux::can::{Filter, InterfaceState, Socket};
use linux::link::{Before, ControllerState, Link, Links, Setup};
use linux::packet::{self, Protocol};
use linux::socket::take_error;
use linux::{Errno, classic_bpf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The sockets of a port, attached to one interface.
pub(super) trait Line: Send + Sync {
    /// How the interface is; `NODEV` where there is none of this name.
    fn look(&self) -> Result<InterfaceState, Errno>;
    /// Is the controller of this interface bus-off? `None` where its driver does not say.
    fn is_bus_off(&self, interface: &str) -> Option<bool> {
        let _ = interface;
        None
    }
    /// Attaches every socket to the interface of this number.
    fn attach(&self, index: u32) -> Result<(), Errno>;
    /// Sets an interface up that has just come. A sentence says why that is not possible, or what
    /// was left out.
    fn set_up(&self) -> Option<String> {
        None
    }
    /// Do frames get to somebody only by the kernel's loopback, whatever the driver says of its
    /// echo? So it is with a vcan, loaded with `echo=1` or not: nobody is at its other end.
    fn is_local(&self, interface: &str) -> bool {
        let _ = interface;
        false
    }
    /// Is the interface set up otherwise than the port is to have it? A sentence says how.
    fn differs(&self) -> Option<String> {
        None
    }
    /// Replaces the kernel's filters of the socket that receives.
    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno>;
    /// The interface is in use again.
    fn is_back(&self) {}
    /// A socket may lose its interface and say only that it is down.
    fn may_forget(&self) -> bool {
        false
    }
}

/// What a port receives from and sends to. One raw CAN socket for both directions alone does not
/// receive what is sent on it; with packet sockets, a mark tells it.
pub(super) struct Sockets {
    /// Looks at the interface in any case.
    pub(super) raw: Arc<Socket>,
    /// The raw socket is attached: it receives, or sends, or both.
    pub(super) raw_receives: bool,
    pub(super) raw_sends: bool,
    pub(super) inlet: Option<Inlet>,
    pub(super) outlet: Option<Arc<Outlet>>,
    /// What the port sends has this mark.
    pub(super) mark: Option<u32>,
    /// How an interface is set up that comes.
    pub(super) setup: Option<SetUp>,
    /// The interface that was found fit for packet sockets.
    pub(super) fit: AtomicU32,
}

/// How an interface is set up that comes.
pub(super) struct SetUp {
    pub(super) setup: Setup,
    pub(super) interface: String,
    pub(super) own: OwnSetup,
}

/// A packet socket that receives.
pub(super) struct Inlet {
    pub(super) socket: Arc<packet::Socket>,
    pub(super) protocol: Protocol,
    pub(super) xl: bool,
}

/// A packet socket that sends.
pub(super) struct Outlet {
    pub(super) socket: packet::Socket,
    index: AtomicU32,
}

impl Outlet {
    pub(super) const fn new(socket: packet::Socket) -> Self {
        Self {
            socket,
            index: AtomicU32::new(0),
        }
    }

    /// The interface's number.
    pub(super) fn index(&self) -> u32 {
        self.index.load(Relaxed)
    }
}

impl Sockets {
    /// Packet sockets do not ask whether an interface is one of CAN, nor whether anybody gets what
    /// they send: a vcan that does not echo drops it without a word. Asked once for each interface.
    fn check(&self, index: u32) -> Result<(), Errno> {
        if self.inlet.is_none() && self.outlet.is_none() || self.fit.load(Relaxed) == index {
            return Ok(());
        }
        let links = Links::now().map_err(|_| Errno::NODEV)?;
        let link = links.into_iter().find(|link| link.index == index);
        let link = link.filter(|link| link.can).ok_or(Errno::NODEV)?;
        if self.outlet.is_some() && drops_packets(&link.kind, link.echo) {
            return Err(Errno::OPNOTSUPP);
        }
        self.fit.store(index, Relaxed);
        Ok(())
    }
}

/// An interface of this kind drops what is sent on packet sockets: a vcan has nobody at its other
/// end, and leaves it to the CAN protocol to show frames to local listeners (`vcan_tx` in
/// drivers/net/can/vcan.c) if it was not loaded with `echo=1`.
pub(super) fn drops_packets(kind: &str, echo: bool) -> bool {
    kind == "vcan" && !echo
}

impl Line for Sockets {
    fn look(&self) -> Result<InterfaceState, Errno> {
        self.raw.look()
    }

    fn is_bus_off(&self, interface: &str) -> Option<bool> {
        let link = Link::find(interface).ok()?;
        if link.is_virtual() {
            return Some(false);
        }
        // The driver notes it before it makes the frame, and takes the carrier away.
        let state = link.state?;
        Some(state == ControllerState::BusOff || !link.running)
    }

    fn attach(&self, index: u32) -> Result<(), Errno> {
        self.check(index)?;
        if let Some(outlet) = &self.outlet {
            outlet.index.store(index, Relaxed);
        }
        if self.raw_receives || self.raw_sends {
            self.raw.attach(index)?;
            self.is_back();
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
        match setup.apply(interface, false) {
            Ok(applied) => {
                if applied.before == Before::Down
                    && let Ok(there) = self.raw.look()
                {
                    own.note(there.index);
                }
                applied.note
            }
            Err(error) => Some(error.to_string()),
        }
    }

    fn is_local(&self, interface: &str) -> bool {
        Link::find(interface).is_ok_and(|link| link.kind == "vcan")
    }

    fn differs(&self) -> Option<String> {
        let set_up = self.setup.as_ref()?;
        let there = Link::find(&set_up.interface).ok()?;
        let difference = set_up.setup.differs(&there)?;
        let cure = if set_up.own.is(there.index) {
            format!(
                "`cangate reload` sets {} as the file says",
                set_up.interface
            )
        } else {
            format!(
                "`ip link set {} down`, and `cangate reload` sets it as the file says",
                set_up.interface
            )
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
        let filter = |f: &RawFilter| Filter {
            id: f.id,
            mask: f.mask,
        };
        let filters: Vec<Filter> = filters.iter().map(filter).collect();
        self.raw.set_filters(&filters)
    }

    fn is_back(&self) {
        if !self.raw_receives {
            // That the interface was down is said by the next call on the socket, and nobody
            // receives on this one.
            let _ = take_error(&self.raw);
        }
    }

    fn may_forget(&self) -> bool {
        self.inlet.is_some() || self.outlet.is_some()
    }
}
