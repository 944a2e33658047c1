//! The socket itself: options, interface, counters.
#![allow(unsafe_code, reason = "an address that rustix does not have")]

use crate::Errno;
use crate::classic_bpf::{self, ClassicInstruction};
use crate::errno::last_errno;
use crate::option::{get, set};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

const PACKET: libc::c_int = libc::SOL_PACKET;
/// `PACKET_IGNORE_OUTGOING` (`uapi/linux/if_packet.h`, Linux 4.20).
const IGNORE_OUTGOING: libc::c_int = 23;

/// The frames of an interface that a socket receives or sends (`ETH_P_…` of
/// `uapi/linux/if_ether.h`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum FrameProtocol {
    /// None, for a socket that only sends.
    Nothing = 0,
    /// Classic CAN frames, with error frames.
    Can = 0x000C,
    /// CAN FD frames.
    CanFd = 0x000D,
    /// CAN XL frames (Linux 6.1).
    CanXl = 0x000E,
    /// Streams by IEEE 1722 on Ethernet (`ETH_P_TSN`).
    Avtp = 0x22F0,
    /// Every kind, including the frames that the machine sends unless these are excluded
    /// ([`PacketSocket::ignore_outgoing`]).
    All = libc::ETH_P_ALL as u16,
}

/// The layout of a socket's rings (`enum tpacket_versions`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum RingVersion {
    /// A slot for each frame, which the kernel hands over at once.
    V2 = 1,
    /// Blocks of frames, which the kernel hands over when they are full or a time has passed.
    V3 = 2,
}

/// The counts since the last query (`struct tpacket_stats`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketStatistics {
    /// Frames that passed the filter, including those that were dropped.
    pub seen: u32,
    /// Frames among these that were dropped for lack of room.
    pub dropped: u32,
}

/// A non-blocking packet socket.
pub struct PacketSocket {
    fd: OwnedFd,
}

impl PacketSocket {
    /// Opens a socket that is attached to nothing and receives nothing.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW, EAFNOSUPPORT where the kernel has no packet sockets
    /// (`modprobe af_packet`).
    pub fn open() -> Result<Self, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        Ok(Self { fd })
    }

    /// Attaches the socket to the interface with this index, or to all interfaces where it is 0:
    /// from now on it receives frames of this protocol, and of no other interface. Can be repeated.
    /// Set up rings, filters and options first, so that no frame passes without them.
    ///
    /// # Errors
    /// The error of bind(2): ENODEV where there is no such interface. An interface that is down
    /// causes no error (the socket reports ENETDOWN once, and frames arrive when the interface is
    /// up).
    pub fn attach(&self, index: u32, protocol: FrameProtocol) -> Result<(), Errno> {
        let address = address(index, protocol)?;
        // SAFETY: pointer and length are those of one live `sockaddr_ll`, which the kernel reads
        // during the call; the descriptor is open: `self.fd` owns it.
        let result = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(last_errno())
        }
    }

    /// Returns the hardware address of the interface to which the socket is attached.
    ///
    /// # Errors
    /// The error of getsockname(2); EADDRNOTAVAIL where the interface has no address of 6 bytes.
    pub fn hardware_address(&self) -> Result<[u8; 6], Errno> {
        let mut address = address(0, FrameProtocol::Nothing)?;
        let mut len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: pointer and length are those of one live `sockaddr_ll`, into which the kernel
        // writes at most `len` bytes during the call; its integers are valid with any bytes. The
        // descriptor is open: `self.fd` owns it.
        let result = unsafe {
            libc::getsockname(self.fd.as_raw_fd(), (&raw mut address).cast(), &raw mut len)
        };
        if result != 0 {
            return Err(last_errno());
        }
        match (address.sll_halen, address.sll_addr) {
            (6, [a, b, c, d, e, f, ..]) => Ok([a, b, c, d, e, f]),
            _ => Err(Errno::ADDRNOTAVAIL),
        }
    }

    /// Excludes the frames that this machine sends, as seen on their way out. An echo that a CAN
    /// driver makes when the transmission was complete arrives like any other frame, and is
    /// received.
    ///
    /// # Errors
    /// The error of setsockopt(2): ENOPROTOOPT before Linux 4.20.
    pub fn ignore_outgoing(&self) -> Result<(), Errno> {
        set(&self.fd, PACKET, IGNORE_OUTGOING, &1)
    }

    /// Sets the layout of the rings that are created later.
    ///
    /// # Errors
    /// The error of setsockopt(2): EBUSY where there is a ring.
    pub fn set_version(&self, version: RingVersion) -> Result<(), Errno> {
        set(&self.fd, PACKET, libc::PACKET_VERSION, &(version as i32))
    }

    /// Requests the controller's stamps in the rings, where the driver has them, instead of the
    /// kernel's. Their epoch is the controller's.
    ///
    /// # Errors
    /// The error of setsockopt(2).
    pub fn ask_for_hardware_stamps(&self) -> Result<(), Errno> {
        let flags = libc::SOF_TIMESTAMPING_RAW_HARDWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        let flags = libc::c_int::try_from(flags).map_err(|_| Errno::INVAL)?;
        set(&self.fd, PACKET, libc::PACKET_TIMESTAMP, &flags)
    }

    /// Makes sent frames bypass the interface's queue discipline and go straight to the driver. A
    /// frame for which the driver has no room is refused (ENOBUFS) instead of queued.
    ///
    /// # Errors
    /// The error of setsockopt(2): ENOPROTOOPT before Linux 3.14.
    pub fn bypass_queue(&self) -> Result<(), Errno> {
        set(&self.fd, PACKET, libc::PACKET_QDISC_BYPASS, &1)
    }

    /// Attaches a program to the socket, in front of its queue or ring; see
    /// [`classic_bpf::attach`].
    ///
    /// # Errors
    /// Those of [`classic_bpf::attach`].
    pub fn set_filter(&self, program: &[ClassicInstruction]) -> Result<(), Errno> {
        classic_bpf::attach(&self.fd, program)
    }

    /// Returns the counts of frames that passed the filter and of those that found no room since
    /// the last call of this function: the kernel restarts at 0 (`PACKET_STATISTICS`).
    ///
    /// # Errors
    /// The error of getsockopt(2).
    pub fn take_statistics(&self) -> Result<PacketStatistics, Errno> {
        // With blocks the kernel has one more counter, which is not requested.
        let mut words = [0u32; 2];
        get(&self.fd, PACKET, libc::PACKET_STATISTICS, &mut words)?;
        let [seen, dropped] = words;
        Ok(PacketStatistics { seen, dropped })
    }
}

/// Returns an address of a packet socket.
pub(super) fn address(index: u32, protocol: FrameProtocol) -> Result<libc::sockaddr_ll, Errno> {
    // SAFETY: `sockaddr_ll` is integers and an array of such, for which zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as libc::sa_family_t;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = libc::c_int::try_from(index).map_err(|_| Errno::NODEV)?;
    Ok(address)
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::netdevice::name_to_index;

    /// Returns a socket, or the reason why there is none on this machine.
    fn socket() -> Option<PacketSocket> {
        match PacketSocket::open() {
            Ok(socket) => Some(socket),
            Err(why) => {
                eprintln!("SKIPPED because there is no packet socket here: {why}");
                None
            }
        }
    }

    #[test]
    fn options_are_taken_and_wrong_interfaces_are_not() {
        let Some(socket) = socket() else { return };
        socket.ignore_outgoing().unwrap();
        socket.set_version(RingVersion::V2).unwrap();
        socket.ask_for_hardware_stamps().unwrap();
        socket.bypass_queue().unwrap();
        socket.set_filter(&[ClassicInstruction::keep(0)]).unwrap();
        assert_eq!(
            socket.attach(i32::MAX as u32, FrameProtocol::All),
            Err(Errno::NODEV)
        );
        assert_eq!(
            socket.attach(u32::MAX, FrameProtocol::All),
            Err(Errno::NODEV)
        );
        let lo = name_to_index(&socket, "lo").unwrap();
        socket.attach(lo, FrameProtocol::CanFd).unwrap();
        assert_eq!(
            socket.take_statistics().unwrap(),
            PacketStatistics::default()
        );
    }
}
