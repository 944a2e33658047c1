//! A program at the entrance of an interface: a tcx link where the kernel has it (6.6), a filter
//! of clsact before.
//!
//! Nothing of others is touched: a tcx link is ours alone, and a filter has our priority and
//! handle. An interface that had no clsact keeps it, because others may use it from then on.

use super::error::whole;
use super::generation::Generation;
use super::interfaces::Interface;
use super::{Error, Missing};
use aya::programs::tc::{self, NlOptions, SchedClassifierLink, TcAttachOptions, TcHandle};
use aya::programs::xdp::XdpLink;
use aya::programs::{LinkOrder, ProgramError, TcAttachType, XdpMode};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Where among the filters of clsact we stand; lower is earlier. tc's own choice starts at 49152.
const PRIORITY: u16 = 0x0CA6;
const HANDLE: TcHandle = TcHandle::new(0, 1);
/// The program's name, by which what a cangate that crashed left behind is found.
const NAME: &str = "cangate";

/// Our program at the entrance of one interface; gone when this is dropped.
pub(crate) struct Entrance {
    pub(crate) interface: Interface,
    link: Option<SchedClassifierLink>,
    /// Makes room in frames of local programs.
    _room: Option<XdpLink>,
    /// Nobody else routes here while this is held.
    _claim: UnixListener,
}

impl Entrance {
    /// Claims an interface; our program is not there yet. What a cangate that ended without
    /// cleaning up left there is removed.
    pub(crate) fn claim(interface: Interface) -> Result<Self, Error> {
        let wrong = |error: io::Error| Error::Attach {
            interface: interface.name.clone(),
            why: error.to_string(),
        };
        // An abstract address is of one network name space, as interfaces are, and ends with
        // its process however that ends.
        let name = format!("cangate/bpf/{}", interface.ifindex);
        let address = SocketAddr::from_abstract_name(name).map_err(wrong)?;
        let claim = match UnixListener::bind_addr(&address) {
            Ok(claim) => claim,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                return Err(Error::Taken {
                    interface: interface.name,
                });
            }
            Err(error) => return Err(wrong(error)),
        };
        // Where there is no clsact there is nothing to find.
        let _ = tc::qdisc_detach_program(&interface.name, TcAttachType::Ingress, NAME);
        Ok(Self {
            interface,
            link: None,
            _room: None,
            _claim: claim,
        })
    }

    /// Makes room in frames that come from local programs (`cangate_room` in gateway.bpf.c).
    /// Without it they are left to the kernel.
    pub(crate) fn make_room(&mut self, generation: &mut Generation) -> Result<(), Error> {
        let program = generation.room()?;
        match program.attach(&self.interface.name, XdpMode::Skb) {
            Ok(id) => self._room = program.take_link(id).ok(),
            // Another's XDP program makes room as well.
            Err(error) if errno(&error) == Some(rustix::io::Errno::BUSY) => {}
            Err(error) => {
                return Err(Error::Attach {
                    interface: self.interface.name.clone(),
                    why: format!("no XDP program in generic mode: {}", whole(&error)),
                });
            }
        }
        Ok(())
    }

    /// Puts a table at the entrance, in one step in place of the one before.
    pub(crate) fn enter(&mut self, generation: &mut Generation) -> Result<(), Error> {
        let name = self.interface.name.clone();
        let wrong = |error: ProgramError| Error::Attach {
            interface: name.clone(),
            why: whole(&error),
        };
        let program = generation.program()?;
        let id = match self.link.take() {
            Some(link) => program.attach_to_link(link).map_err(wrong)?,
            None => {
                let tcx = TcAttachOptions::TcxOrder(LinkOrder::last());
                match program.attach_with_options(&name, TcAttachType::Ingress, tcx) {
                    Ok(id) => id,
                    // Before 6.6 there is no such link.
                    Err(error) if errno(&error) == Some(rustix::io::Errno::INVAL) => {
                        add_clsact(&name)?;
                        let filter = TcAttachOptions::Netlink(NlOptions {
                            priority: PRIORITY,
                            handle: HANDLE,
                            classid: None,
                        });
                        program
                            .attach_with_options(&name, TcAttachType::Ingress, filter)
                            .map_err(wrong)?
                    }
                    Err(error) => return Err(wrong(error)),
                }
            }
        };
        self.link = Some(program.take_link(id).map_err(wrong)?);
        Ok(())
    }
}

fn add_clsact(name: &str) -> Result<(), Error> {
    match tc::qdisc_add_clsact(name) {
        Ok(()) => Ok(()),
        Err(error) => {
            let text = whole(&error);
            if text.contains("os error 17") {
                return Ok(()); // it has one
            }
            Err(Error::Kernel(Missing::Entrance(format!("{name}: {text}"))))
        }
    }
}

/// What the kernel said in the end.
fn errno(error: &(dyn std::error::Error + 'static)) -> Option<rustix::io::Errno> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            return rustix::io::Errno::from_io_error(io);
        }
        next = cause.source();
    }
    None
}
