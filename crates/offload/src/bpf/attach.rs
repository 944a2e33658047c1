//! The program at the ingress of an interface: a tcx link where the kernel supports it (since 6.6),
//! or else a filter of clsact.
//!
//! Objects of other programs are not touched: a tcx link belongs to cangate alone, and cangate's
//! filter has a priority and handle of its own.

use super::error::whole;
use super::generation::{FdRoom, ROOM, TableGeneration};
use super::leftovers::{LeftTables, ProgramOwner, is_called};
use super::{BpfOptions, Error, MissingFeature, pin, tc};
use crate::instance::{GatewayInstance, InstanceHeld, InstanceHold};
use aya::programs::links::FdLink;
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions};
use aya::programs::{LinkOrder, ProgramError, ProgramInfo, SchedClassifier, TcAttachType};
use linux::link::{NetLink, NetLinks};
use linux::netlink::{KernelRefusal, NetlinkSocket};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

/// The way in which the program is attached.
enum EntranceHook {
    /// It is not attached.
    None,
    Tcx(SchedClassifierLink),
    Filter,
}

/// The ingress of one interface, claimed. Dropping it releases the claim and does nothing else; see
/// [`leave`](Self::leave).
pub(super) struct InterfaceEntrance {
    pub(super) interface: NetLink,
    hook: EntranceHook,
    /// The file where the link is pinned.
    pin: Option<PathBuf>,
    /// The interface had no clsact before cangate.
    pub(super) clsact: bool,
    /// Cangate has added clsact.
    pub(super) made_clsact: bool,
    /// A table of this process has been attached.
    entered: bool,
    /// Cangate's XDP program that makes headroom is attached.
    pub(super) room: bool,
    /// The kernel's number of the XDP program.
    room_number: u32,
    /// The owner of the program that was found there.
    pub(super) owner: ProgramOwner,
    /// While this is held, no other cangate routes here.
    _claim: InstanceHold,
}

impl InterfaceEntrance {
    /// Claims an interface and finds out what is attached already; changes nothing.
    pub(super) fn claim(
        netlink: &mut NetlinkSocket,
        interface: &NetLink,
        instance: &GatewayInstance,
        leftovers: &mut LeftTables,
    ) -> Result<Self, Error> {
        let name = || interface.name.clone();
        let claim = InstanceHold::new(&format!("cangate/bpf-interface/{}", interface.index));
        let claim = claim.map_err(|held| match held {
            InstanceHeld::By(pid) => Error::Taken {
                interface: name(),
                pid,
            },
            InstanceHeld::Foreign(holder) => Error::Foreign(holder),
            InstanceHeld::Failed(source) => Error::Socket {
                doing: "claiming an interface",
                source: source.into(),
            },
        })?;
        let mut entrance = Self {
            interface: interface.clone(),
            hook: EntranceHook::None,
            pin: None,
            clsact: !tc::has_clsact(netlink, interface.index)?,
            made_clsact: false,
            entered: false,
            room: is_called(interface.xdp, ROOM),
            room_number: interface.xdp,
            owner: ProgramOwner::Nobody,
            _claim: claim,
        };
        let mut known = None;
        let path = pin::path(interface.index);
        if let Some((link, program)) = pin::open(&path) {
            entrance.pin = Some(path);
            entrance.hook = EntranceHook::Tcx(link);
            known = Some(program);
        }
        let filters = tc::filters(netlink, interface.index, tc::INGRESS)?;
        if let Some(filter) = filters.iter().find(|filter| filter.in_our_place()) {
            if !filter.is_ours() {
                return Err(Error::Attach {
                    interface: name(),
                    why: format!(
                        "a filter of another program ({} {}) has cangate's priority 3238: give it \
                         another one (`tc filter`)",
                        filter.kind, filter.name
                    ),
                });
            }
            if known.is_none() {
                entrance.hook = EntranceHook::Filter;
                known = Some(filter.program);
            }
        }
        if let Some(program) = known {
            entrance.owner = leftovers.owner(program, instance);
            let about = leftovers.about(program);
            entrance.clsact = about.is_some_and(|about| about.clsact.contains(&interface.index));
            entrance.made_clsact = entrance.clsact;
        }
        if let ProgramOwner::Other(other) = &entrance.owner {
            return Err(Error::Persisted {
                interface: name(),
                instance: other.clone(),
            });
        }
        Ok(entrance)
    }

    /// Makes headroom in frames that come from local programs (`cangate_room` in gateway.bpf.c).
    pub(super) fn make_room(
        &mut self,
        netlink: &mut NetlinkSocket,
        room: &mut Option<FdRoom>,
    ) -> Result<(), Error> {
        if self.room {
            return Ok(());
        }
        let room = match room {
            Some(room) => room,
            none => none.insert(FdRoom::load()?),
        };
        let Some(refusal) = tc::set_xdp(netlink, self.interface.index, room.fd())? else {
            (self.room, self.room_number) = (true, room.number());
            return Ok(());
        };
        let why = match refusal.errno {
            Errno::NODEV => return Ok(()), // it has just gone
            Errno::BUSY | Errno::EXIST => format!(
                "another XDP program is attached ({refusal}), and cangate needs one of its own on \
                 virtual CAN interfaces of kernels before 7.0: remove it (`ip link set dev … \
                 xdp off`)"
            ),
            Errno::PERM => return Err(Error::Kernel(MissingFeature::Permission)),
            _ => format!("no XDP program in generic mode: {refusal}"),
        };
        Err(Error::Attach {
            interface: self.interface.name.clone(),
            why,
        })
    }

    /// Attaches a table, in one step if it replaces another. Returns false if the interface has
    /// just disappeared.
    pub(super) fn enter(
        &mut self,
        netlink: &mut NetlinkSocket,
        generation: &mut TableGeneration,
        options: &BpfOptions,
    ) -> Result<bool, Error> {
        let entered = self.put(netlink, generation, options)?;
        self.entered |= entered;
        Ok(entered)
    }

    fn put(
        &mut self,
        netlink: &mut NetlinkSocket,
        generation: &mut TableGeneration,
        options: &BpfOptions,
    ) -> Result<bool, Error> {
        let index = self.interface.index;
        let program = generation.program()?;
        match std::mem::replace(&mut self.hook, EntranceHook::None) {
            EntranceHook::Tcx(link) => match program.attach_to_link(link) {
                Ok(id) => {
                    self.hook =
                        EntranceHook::Tcx(program.take_link(id).map_err(|e| self.wrong(&e))?);
                    return Ok(true);
                }
                // The link's interface was removed, and perhaps exists again.
                Err(error) if errno(&error) == Some(Errno::NOLINK) => self.forget_pin(),
                Err(error) => return Err(self.wrong(&error)),
            },
            EntranceHook::Filter => {
                let fd = program.fd().map_err(|e| self.wrong(&e))?.as_fd();
                let Some(refusal) = tc::put_filter(netlink, index, fd, false)? else {
                    self.hook = EntranceHook::Filter;
                    return Ok(true);
                };
                match refusal.errno {
                    Errno::NODEV => return Ok(false),
                    // Another program removed it, perhaps together with clsact.
                    Errno::NOENT | Errno::INVAL => {}
                    _ => return Err(self.refused(&refusal)),
                }
            }
            EntranceHook::None => {}
        }
        self.put_anew(netlink, generation, options)
    }

    /// Attaches a table where cangate has none.
    fn put_anew(
        &mut self,
        netlink: &mut NetlinkSocket,
        generation: &mut TableGeneration,
        options: &BpfOptions,
    ) -> Result<bool, Error> {
        let index = self.interface.index;
        let program = generation.program()?;
        let name = &self.interface.name;
        if !options.test.clsact {
            let tcx = TcAttachOptions::TcxOrder(LinkOrder::last());
            match program.attach_with_options(name, TcAttachType::Ingress, tcx) {
                Ok(id) => {
                    self.hook =
                        EntranceHook::Tcx(program.take_link(id).map_err(|e| self.wrong(&e))?);
                    return Ok(true);
                }
                // Kernels before 6.6 do not have such links.
                Err(error) if errno(&error) == Some(Errno::INVAL) => {}
                Err(error) if errno(&error) == Some(Errno::NODEV) => return Ok(false),
                Err(error) if errno(&error) == Some(Errno::PERM) => {
                    return Err(Error::Kernel(MissingFeature::Permission));
                }
                Err(error) => return Err(self.wrong(&error)),
            }
        }
        match tc::add_clsact(netlink, index)? {
            None => (self.clsact, self.made_clsact) = (true, true),
            Some(refusal) => match refusal.errno {
                Errno::EXIST => {}
                Errno::NODEV => return Ok(false),
                Errno::PERM => return Err(Error::Kernel(MissingFeature::Permission)),
                _ => {
                    let what = format!("{name}: no clsact: {refusal}");
                    return Err(Error::Kernel(MissingFeature::Entrance(what)));
                }
            },
        }
        let fd = program.fd().map_err(|e| self.wrong(&e))?.as_fd();
        match tc::put_filter(netlink, index, fd, true)? {
            None => self.hook = EntranceHook::Filter,
            Some(refusal) => match refusal.errno {
                Errno::NODEV => return Ok(false),
                Errno::NOENT => {
                    let what = format!("{name}: no filter of kind bpf: {refusal}");
                    return Err(Error::Kernel(MissingFeature::Entrance(what)));
                }
                _ => return Err(self.refused(&refusal)),
            },
        }
        Ok(true)
    }

    /// Returns whether nothing else is attached here than what this process has attached, or
    /// leftovers without an owner.
    pub(super) fn is_ours_alone(&self) -> bool {
        self.owner == ProgramOwner::Nobody || self.entered
    }

    /// Returns whether no table is attached; the program for headroom may be left.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.hook, EntranceHook::None)
    }

    /// Returns whether cangate's program is still attached. Other programs may have removed a
    /// filter; both kinds are removed when the interface moves to another network namespace and
    /// back.
    pub(super) fn is_there(&self, netlink: &mut NetlinkSocket) -> Result<bool, Error> {
        let index = self.interface.index;
        match self.hook {
            EntranceHook::None => Ok(false),
            EntranceHook::Tcx(_) => {
                let name = &self.interface.name;
                let there = SchedClassifier::query_tcx(name, TcAttachType::Ingress);
                let ours = |info: &ProgramInfo| info.name_as_str() == Some(tc::NAME);
                // The kernel answers only with CAP_SYS_ADMIN.
                Ok(there.map_or(true, |(_, programs)| programs.iter().any(ours)))
            }
            EntranceHook::Filter => {
                let filters = tc::filters(netlink, index, tc::INGRESS)?;
                Ok(filters.iter().any(tc::TcFilter::is_ours))
            }
        }
    }

    /// Removes everything that belongs to cangate. Errors are ignored: what cannot be removed, or
    /// is gone already, is left.
    pub(super) fn leave(mut self, netlink: &mut NetlinkSocket) {
        let _ = self.take_away(netlink);
    }

    fn take_away(&mut self, netlink: &mut NetlinkSocket) -> Result<(), Error> {
        let index = self.interface.index;
        self.forget_pin();
        match std::mem::replace(&mut self.hook, EntranceHook::None) {
            EntranceHook::None => {}
            EntranceHook::Tcx(link) => drop(link),
            EntranceHook::Filter => {
                let filters = tc::filters(netlink, index, tc::INGRESS)?;
                if filters.iter().any(tc::TcFilter::is_ours) {
                    tc::remove_filter(netlink, index)?;
                }
            }
        }
        if self.room {
            let there = NetLinks::read(netlink)?
                .at(index)
                .map_or(0, |link| link.xdp);
            // A check of its name would need CAP_SYS_ADMIN.
            if there == self.room_number {
                tc::set_xdp(netlink, index, None)?;
            }
            self.room = false;
        }
        Ok(())
    }

    /// Keeps the table in place after the end of this process.
    pub(super) fn persist(&mut self) -> Result<(), Error> {
        if let EntranceHook::Tcx(link) = std::mem::replace(&mut self.hook, EntranceHook::None) {
            let link = FdLink::try_from(link).map_err(|e| self.wrong(&e))?;
            let path = pin::path(self.interface.index);
            pin::put(link, &path)?;
            self.pin = Some(path);
        }
        Ok(())
    }

    /// Removes the pin, so that the link ends with this process.
    pub(super) fn forget_pin(&mut self) {
        if let Some(path) = self.pin.take() {
            // If it cannot be removed, the next start finds it.
            let _ = std::fs::remove_file(path);
        }
    }

    fn wrong(&self, error: &(dyn std::error::Error + 'static)) -> Error {
        Error::Attach {
            interface: self.interface.name.clone(),
            why: whole(error),
        }
    }

    fn refused(&self, refusal: &KernelRefusal) -> Error {
        Error::Attach {
            interface: self.interface.name.clone(),
            why: refusal.to_string(),
        }
    }
}

/// Removes the clsact that cangate has added, unless other programs use it by now.
///
/// While clsact is added or removed, the kernel takes the interface's transmit queues out of
/// service for a moment (`qdisc_graft`), and frames that are sent at that moment are lost.
/// Therefore it stays as long as the process.
pub(super) fn remove_clsact(netlink: &mut NetlinkSocket, index: u32) -> Result<(), Error> {
    if tc::has_clsact(netlink, index)?
        && tc::filters(netlink, index, tc::INGRESS)?.is_empty()
        && tc::filters(netlink, index, tc::EGRESS)?.is_empty()
    {
        tc::remove_clsact(netlink, index)?;
    }
    Ok(())
}

/// Returns the kernel's error code at the end of a chain of causes.
pub(super) fn errno(error: &ProgramError) -> Option<Errno> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = next {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            return Errno::from_io_error(io);
        }
        next = cause.source();
    }
    None
}
