//! What interfaces there are, from rtnetlink (`RTM_GETLINK`): of this network name space, as
//! sysfs need not be.

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST_DUMP: u16 = 1 | 0x300;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const ARPHRD_CAN: u16 = 280;
const IFF_UP: u32 = 1;
const IFF_ECHO: u32 = 1 << 18;

/// A CAN interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number; never that of another interface while the machine runs, mostly.
    pub ifindex: u32,
    /// The size of the largest frame structure that it takes: 16 classic, 72 FD, more XL.
    pub mtu: u32,
    /// Up?
    pub up: bool,
    /// Its driver shows sent frames to local programs itself (`IFF_ECHO`).
    pub echo: bool,
    /// What rtnetlink calls its kind: `vcan`, `vxcan`, `can`, or nothing.
    pub kind: String,
}

impl Interface {
    pub(crate) fn carries_fd(&self) -> bool {
        self.mtu >= 72
    }

    #[must_use]
    pub fn carries_xl(&self) -> bool {
        self.mtu > 72
    }

    /// Frames in it come from local programs, not from a bus.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        matches!(self.kind.as_str(), "vcan" | "vxcan")
    }

    /// Frames that BPF puts into it vanish: vcan gives back only what it is told to echo, and a
    /// frame that BPF redirects is no frame to echo. With `modprobe vcan echo=1` it can be.
    pub(crate) fn swallows(&self) -> bool {
        self.kind == "vcan" && !self.echo
    }
}

/// All CAN interfaces of this network name space.
///
/// # Errors
/// What the kernel says.
pub fn interfaces() -> Result<Vec<Interface>, Errno> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // NETLINK_ROUTE is 0
    )?;
    let mut request = Vec::new();
    request.extend_from_slice(&32_u32.to_ne_bytes());
    request.extend_from_slice(&RTM_GETLINK.to_ne_bytes());
    request.extend_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    request.resize(32, 0); // sequence number, sender, struct ifinfomsg: all zero
    rustix::net::sendto(
        &socket,
        &request,
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut found = Vec::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let (read, _) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = buffer.get(..read).unwrap_or(&[]);
        while let Some((kind, body, after)) = message(rest) {
            match kind {
                NLMSG_DONE => return Ok(found),
                NLMSG_ERROR => {
                    let error = body
                        .first_chunk()
                        .map_or(0, |code| i32::from_ne_bytes(*code));
                    return Err(Errno::from_raw_os_error(error.saturating_neg()));
                }
                RTM_NEWLINK => found.extend(link(body)),
                _ => {}
            }
            rest = after;
        }
    }
}

/// The next message: its type, its body, and what follows.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    let body = bytes.get(16..len)?;
    let next = bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]);
    Some((kind, body, next))
}

/// The next attribute: its type, its value, and what follows.
fn attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let kind = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?) & 0x3FFF;
    let value = bytes.get(4..len)?;
    let next = bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]);
    Some((kind, value, next))
}

fn text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(value.get(..end.unwrap_or(value.len())).unwrap_or(&[])).into_owned()
}

/// `struct ifinfomsg` and its attributes; `None` for what is no CAN interface.
fn link(body: &[u8]) -> Option<Interface> {
    let number = |at: usize| Some(u32::from_ne_bytes(*body.get(at..)?.first_chunk()?));
    if u16::from_ne_bytes(*body.get(2..)?.first_chunk()?) != ARPHRD_CAN {
        return None;
    }
    let flags = number(8)?;
    let mut interface = Interface {
        name: String::new(),
        ifindex: number(4)?,
        mtu: 0,
        up: flags & IFF_UP != 0,
        echo: flags & IFF_ECHO != 0,
        kind: String::new(),
    };
    let mut rest = body.get(16..)?;
    while let Some((kind, value, after)) = attribute(rest) {
        match kind {
            IFLA_IFNAME => interface.name = text(value),
            IFLA_MTU => {
                interface.mtu = value
                    .first_chunk()
                    .map_or(0, |mtu| u32::from_ne_bytes(*mtu));
            }
            IFLA_LINKINFO => {
                let mut inner = value;
                while let Some((kind, value, after)) = attribute(inner) {
                    if kind == IFLA_INFO_KIND {
                        interface.kind = text(value);
                    }
                    inner = after;
                }
            }
            _ => {}
        }
        rest = after;
    }
    Some(interface)
}
