//! The socket itself: options, filters, interface.
#![allow(
    unsafe_code,
    reason = "socket options and requests that rustix does not have"
)]

use super::error::{OpenError, SocketObstacle};
use super::layout::FD_SIZE;
use crate::Errno;
use crate::errno::last_errno;
use crate::option::{self, Plain};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// `CAN_RAW_XL_VCID_OPTS` (`uapi/linux/can/raw.h`, Linux 6.9).
const CAN_RAW_XL_VCID_OPTS: libc::c_int = 8;
/// Send with the frame's own VCID, and receive every VCID: `CAN_RAW_XL_VCID_TX_PASS` and
/// `CAN_RAW_XL_VCID_RX_FILTER` with value and mask 0.
const ANY_VCID: [u8; 4] = [0x02 | 0x04, 0, 0, 0];
/// `SO_MEMINFO` (`uapi/asm-generic/socket.h`): counters of a socket's memory.
const SO_MEMINFO: libc::c_int = 55;
/// The number of these counters, and the index of the one for lost datagrams
/// (`uapi/linux/sock_diag.h`).
const SK_MEMINFO_VARS: usize = 9;
const SK_MEMINFO_DROPS: usize = 8;

/// The largest number of filters that a socket takes (`CAN_RAW_FILTER_MAX`).
pub const MOST_FILTERS: usize = 512;

/// A raw socket's filter (`struct can_filter`): a frame passes where `(its SocketCAN ID & mask) ==
/// (id & mask)`, flags included; with `CAN_INV_FILTER` (0x2000_0000) in `id`, a frame passes where
/// this does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct CanFilter {
    /// `can_id` with flag bits.
    pub id: u32,
    /// Mask with flag bits.
    pub mask: u32,
}

impl CanFilter {
    /// Lets every frame through.
    pub const EVERYTHING: Self = Self { id: 0, mask: 0 };
}

// SAFETY: two integers of 32 bits, laid out one after the other (`repr(C)`), without a gap.
unsafe impl Plain for CanFilter {}

const _: () = assert!(size_of::<CanFilter>() == size_of::<libc::can_filter>());

/// The ancillary data that comes with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StampOptions {
    /// None: read(2) has no place for it.
    None,
    /// The kernel's stamp, and the number of frames that the socket has lost.
    #[default]
    Kernel,
    /// The controller's stamp as well, where the driver has one.
    Hardware,
}

/// The settings of a socket for its whole life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CanOptions {
    /// Carry FD frames.
    pub fd: bool,
    /// Carry XL frames, with their VCIDs.
    pub xl: bool,
    /// The ancillary data that comes with a frame.
    pub stamps: StampOptions,
    /// The size of the receive buffer in bytes; the kernel's default where absent.
    pub receive_buffer: Option<u32>,
}

/// The state of an interface at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InterfaceState {
    /// The interface's index, a different one each time it is plugged in.
    pub index: u32,
    /// The size of its largest frame in bytes, which determines the kinds of frames that it
    /// carries.
    pub mtu: usize,
    /// Whether the interface is switched on (`IFF_UP`).
    pub up: bool,
    /// Whether the interface has a carrier (`IFF_RUNNING`): it is not bus-off. The kernel may
    /// report this up to a second late (linkwatch), when an interface was just switched on.
    pub running: bool,
    /// Whether the driver echoes sent frames to local listeners when their transmission was
    /// complete; where it does not (vcan), the kernel echoes them when they are sent.
    pub echo: bool,
}

impl InterfaceState {
    /// Returns whether frames can pass: the interface is switched on and has a carrier.
    #[must_use]
    pub const fn is_usable(&self) -> bool {
        self.up && self.running
    }

    /// Returns whether the interface carries FD frames.
    #[must_use]
    pub const fn carries_fd(&self) -> bool {
        self.mtu >= FD_SIZE
    }
}

/// Returns whether the kernel has CAN (AF_CAN). The check makes the kernel load its module, if it
/// may. Returns true where the kernel cannot be asked, for example when no descriptor is left.
#[must_use]
pub fn is_in_kernel() -> bool {
    let refused = CanSocket::open("").err();
    refused.is_none_or(|error| !matches!(error.obstacle, SocketObstacle::NoCan))
}

/// Returns an `ifreq` for the interface of this name.
fn request(name: &str) -> Result<libc::ifreq, Errno> {
    // SAFETY: `ifreq` is plain C data (integers, arrays, and a union of such and a pointer); all
    // zero bytes are a value of it.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let name = name.as_bytes();
    if name.len() >= request.ifr_name.len() {
        return Err(Errno::NAMETOOLONG);
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    Ok(request)
}

/// A raw socket for one interface. It never waits.
pub struct CanSocket {
    fd: OwnedFd,
    name: String,
}

impl CanSocket {
    /// Opens a socket for an interface. It is attached to nothing yet.
    ///
    /// # Errors
    /// [`OpenError`] that states what is missing and what to do.
    pub fn open(interface: &str) -> Result<Self, OpenError> {
        let family = AddressFamily::from_raw(libc::AF_CAN as u16);
        let protocol = u32::try_from(libc::CAN_RAW).ok();
        let protocol = protocol.and_then(|p| Some(Protocol::from_raw(p.try_into().ok()?)));
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::RAW, flags, protocol)
            .map_err(|errno| OpenError::socket(interface, errno))?;
        Ok(Self {
            fd,
            name: interface.to_owned(),
        })
    }

    /// Sets the options that stay for the socket's life. Subscribes to all error frames: they
    /// report when the controller goes bus-off and comes back.
    ///
    /// # Errors
    /// [`OpenError`] that states what the kernel lacks.
    pub fn configure(&self, options: &CanOptions) -> Result<(), OpenError> {
        self.set_all(options)
            .map_err(|errno| OpenError::option(&self.name, options.xl, errno))
    }

    fn set_all(&self, options: &CanOptions) -> Result<(), Errno> {
        let on: libc::c_int = 1;
        let raw = libc::SOL_CAN_RAW;
        if options.fd {
            self.set(raw, libc::CAN_RAW_FD_FRAMES, &on)?;
        }
        if options.xl {
            self.set(raw, libc::CAN_RAW_XL_FRAMES, &on)?;
            // Unknown before Linux 6.9, which has no VCIDs to lose either.
            let _ = self.set(raw, CAN_RAW_XL_VCID_OPTS, &ANY_VCID);
        }
        self.set(raw, libc::CAN_RAW_ERR_FILTER, &libc::CAN_ERR_MASK)?;
        self.ask_for_stamps(options.stamps)?;
        match options.receive_buffer {
            Some(bytes) => self.set_receive_buffer(bytes),
            None => Ok(()),
        }
    }

    /// Unsubscribes from error frames: for a socket that only sends and has no filters.
    ///
    /// # Errors
    /// The error of setsockopt(2).
    pub fn ignore_error_frames(&self) -> Result<(), Errno> {
        self.set(libc::SOL_CAN_RAW, libc::CAN_RAW_ERR_FILTER, &0u32)
    }

    /// Sets how many bytes may wait to be received; the kernel doubles the value. It can exceed
    /// net.core.rmem_max only with CAP_NET_ADMIN; without, the kernel silently reduces it.
    ///
    /// # Errors
    /// The error of setsockopt(2).
    pub fn set_receive_buffer(&self, bytes: u32) -> Result<(), Errno> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
            .or_else(|_| self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes))
    }

    fn ask_for_stamps(&self, stamps: StampOptions) -> Result<(), Errno> {
        let on: libc::c_int = 1;
        let mut flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        match stamps {
            StampOptions::None => return Ok(()),
            StampOptions::Kernel => {}
            StampOptions::Hardware => {
                flags |= libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
            }
        }
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)?;
        self.set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &on)
    }

    /// Sets how many bytes may wait to be sent; the kernel doubles the value and has a minimum, of
    /// about six frames. With a small one, poll(2) and the kernel's errors indicate correctly when
    /// there is room, instead of ENOBUFS.
    ///
    /// # Errors
    /// The error of setsockopt(2).
    pub fn set_send_buffer(&self, bytes: u32) -> Result<(), Errno> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)
            .or_else(|_| self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes))
    }

    /// Returns the size of the receive buffer in bytes, as the kernel counts.
    ///
    /// # Errors
    /// The error of getsockopt(2).
    pub fn receive_buffer(&self) -> Result<u32, Errno> {
        rustix::net::sockopt::socket_recv_buffer_size(&self.fd)
            .map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// Returns the number of frames that this socket lost since it was opened because its receive
    /// buffer was full (`SO_MEMINFO`, modulo 2^32); `None` where the kernel does not report it
    /// (before Linux 4.12).
    #[must_use]
    pub fn lost(&self) -> Option<u32> {
        let mut info = [0u32; SK_MEMINFO_VARS];
        let len = option::get(&self.fd, libc::SOL_SOCKET, SO_MEMINFO, &mut info).ok()?;
        (len / size_of::<u32>() > SK_MEMINFO_DROPS).then(|| info[SK_MEMINFO_DROPS])
    }

    /// Reads one datagram by read(2), without waiting.
    ///
    /// # Errors
    /// The error of read(2).
    pub fn read(&self, into: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::read(&self.fd, into)
    }

    /// Writes one datagram by write(2), without waiting.
    ///
    /// # Errors
    /// The error of write(2).
    pub fn write(&self, datagram: &[u8]) -> Result<usize, Errno> {
        rustix::io::write(&self.fd, datagram)
    }

    fn set<T: Plain>(&self, level: i32, option: i32, value: &T) -> Result<(), Errno> {
        option::set(&self.fd, level, option, value)
    }

    fn ask(&self, name: &str, command: libc::c_ulong) -> Result<libc::ifreq, Errno> {
        let mut request = request(name)?;
        // SAFETY: `command` is one of SIOCGIFMTU and SIOCGIFFLAGS (the callers below), which
        // read `ifr_name`, zero-terminated as `request` made it, and write into the union of
        // this live `ifreq`.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), command as _, &mut request) };
        if result < 0 {
            Err(last_errno())
        } else {
            Ok(request)
        }
    }

    /// Returns the state of the interface. Uses ioctl(2) and not netlink, which can make the caller
    /// wait as long as the kernel switches any interface on or off (`rtnl_lock`).
    ///
    /// # Errors
    /// ENODEV where no interface has this name.
    pub fn query_state(&self) -> Result<InterfaceState, Errno> {
        self.query_state_of(&self.name)
    }

    /// Returns the state of the interface of this name, to which the socket may be attached later.
    ///
    /// # Errors
    /// ENODEV where no interface has this name.
    pub fn query_state_of(&self, name: &str) -> Result<InterfaceState, Errno> {
        let index = rustix::net::netdevice::name_to_index(self.fd.as_fd(), name)?;
        let mtu = self.ask(name, libc::SIOCGIFMTU)?;
        let flags = self.ask(name, libc::SIOCGIFFLAGS)?;
        // SAFETY: SIOCGIFMTU wrote `ifru_mtu`, SIOCGIFFLAGS `ifru_flags` (netdevice(7)); both are
        // integers, for which any bytes are valid.
        let (mtu, flags) = unsafe { (mtu.ifr_ifru.ifru_mtu, flags.ifr_ifru.ifru_flags) };
        let flags = libc::c_int::from(flags);
        Ok(InterfaceState {
            index,
            mtu: usize::try_from(mtu).unwrap_or(0),
            up: flags & libc::IFF_UP != 0,
            running: flags & libc::IFF_RUNNING != 0,
            echo: has_echo(name),
        })
    }

    /// Attaches the socket to the interface with this index.
    ///
    /// # Errors
    /// The error of bind(2).
    pub fn attach(&self, index: u32) -> Result<(), Errno> {
        // SAFETY: as for `ifreq`: integers and a union of integers, valid when all zero.
        let mut address: libc::sockaddr_can = unsafe { zeroed() };
        address.can_family = libc::AF_CAN as libc::sa_family_t;
        address.can_ifindex = libc::c_int::try_from(index).map_err(|_| Errno::NODEV)?;
        // SAFETY: pointer and length are those of one live `sockaddr_can`, which the kernel reads
        // during the call.
        let result = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_can>() as libc::socklen_t,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(last_errno())
        }
    }

    /// Replaces the filters, in one step. An empty list lets only error frames through.
    ///
    /// # Errors
    /// The error of setsockopt(2); EINVAL for more than [`MOST_FILTERS`].
    pub fn set_filters(&self, filters: &[CanFilter]) -> Result<(), Errno> {
        option::set_slice(&self.fd, libc::SOL_CAN_RAW, libc::CAN_RAW_FILTER, filters)
    }

    /// Sets whether local listeners receive the frames that are sent from now on.
    ///
    /// # Errors
    /// The error of setsockopt(2).
    pub fn set_loopback(&self, on: bool) -> Result<(), Errno> {
        let on = libc::c_int::from(on);
        self.set(libc::SOL_CAN_RAW, libc::CAN_RAW_LOOPBACK, &on)
    }

    /// Sets whether this socket receives the frames that it sends.
    ///
    /// # Errors
    /// The error of setsockopt(2).
    pub fn set_own(&self, on: bool) -> Result<(), Errno> {
        let on = libc::c_int::from(on);
        self.set(libc::SOL_CAN_RAW, libc::CAN_RAW_RECV_OWN_MSGS, &on)
    }
}

impl AsFd for CanSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for CanSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Returns whether the driver echoes sent frames to local listeners (`IFF_ECHO`, which does not fit
/// into `ifr_flags`).
fn has_echo(name: &str) -> bool {
    const IFF_ECHO: u32 = 1 << 18;
    std::fs::read_to_string(format!("/sys/class/net/{name}/flags"))
        .ok()
        .and_then(|text| u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok())
        .is_some_and(|flags| flags & IFF_ECHO != 0)
}
