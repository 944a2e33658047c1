//! Streams by IEEE 1722 directly on Ethernet.

use super::socket::{DatagramSocket, SendMark};
use super::tunnel::pack_words;
use crate::network::mac::MacAddress;
use frame::Nanos;
use linux::Errno;
use linux::packet::{FrameProtocol, PacketSocket};
use net::ieee1722::{ENCAPSULATION, unpadded_len};
use rustix::net::{SendFlags, netdevice, sockopt};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Length of a header: two addresses and the EtherType.
const HEADER: usize = 14;

/// The EtherType of a priority tag (IEEE 802.1Q).
const TAG: u16 = 0x8100;

/// Greatest length of a frame with a tag, bytes: an XL frame needs an interface with long frames.
const LONGEST: usize = HEADER + 4 + 2304;

/// Room for frames that the kernel has not passed to the interface, as of tunnels over UDP.
const SEND_BUFFER: usize = 4096;

/// The priority of urgent frames in the queues of this machine (`TC_PRIO_INTERACTIVE`).
const URGENT_PRIORITY: u32 = 6;

/// The ends of a connection on Ethernet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EthernetEnds {
    pub(crate) interface: String,
    pub(crate) peer: MacAddress,
    /// The priority (PCP) in a tag of urgent frames; others have 0. `None`: frames have no tag.
    pub(crate) priority: Option<u8>,
}

impl EthernetEnds {
    /// Returns the words of `cangate check`.
    pub(crate) fn words(&self, pack: Nanos) -> String {
        let (interface, peer) = (&self.interface, self.peer);
        let tag = self
            .priority
            .map(|priority| format!(", urgent frames with priority {priority}"));
        let tag = tag.unwrap_or_default();
        format!(
            "on Ethernet {interface}, to {peer}{tag}{}",
            pack_words(pack)
        )
    }
}

/// A packet socket for one port.
pub(crate) struct EthernetSocket {
    packet: PacketSocket,
    index: u32,
    own: MacAddress,
    ends: EthernetEnds,
    /// The priority of the next frame in this machine.
    queue: AtomicU8,
    dropped: AtomicU64,
}

/// A step that failed, in words, with the system's error.
pub(crate) type OpenFailure = (String, io::Error);

impl EthernetSocket {
    /// Opens the socket.
    ///
    /// # Errors
    /// There is no such interface, or the process lacks CAP_NET_RAW.
    pub(crate) fn open(ends: EthernetEnds) -> Result<Self, OpenFailure> {
        let name = &ends.interface;
        let fail = |what: String| move |error: Errno| (what, io::Error::from(error));
        let privilege = "cannot open a packet socket, which needs the capability CAP_NET_RAW (`setcap \
                         cap_net_raw+ep`, or `AmbientCapabilities=CAP_NET_RAW` in a service)";
        let packet = PacketSocket::open().map_err(fail(privilege.to_owned()))?;
        let absent = || format!("there is no interface {name} (`ip link` lists them)");
        let index = netdevice::name_to_index(&packet, name).map_err(fail(absent()))?;
        let cannot = || format!("cannot use the interface {name}");
        packet.ignore_outgoing().map_err(fail(cannot()))?;
        packet
            .attach(index, FrameProtocol::Avtp)
            .map_err(fail(cannot()))?;
        let no_address =
            || format!("the interface {name} has no hardware address: it is not Ethernet");
        let own = packet.hardware_address().map_err(fail(no_address()))?;
        sockopt::set_socket_send_buffer_size(&packet, SEND_BUFFER).map_err(fail(cannot()))?;
        Ok(Self {
            packet,
            index,
            own: MacAddress(own),
            ends,
            queue: AtomicU8::new(0),
            dropped: AtomicU64::new(0),
        })
    }

    /// Returns the address by which the other side is known.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.ends.peer.as_link_local(self.index)
    }

    /// Returns the frame around a datagram, without the datagram's first 4 bytes.
    fn frame(&self, datagram: &[u8], mark: SendMark) -> Vec<u8> {
        let mut frame = Vec::with_capacity(LONGEST);
        frame.extend(self.ends.peer.0);
        frame.extend(self.own.0);
        if let Some(priority) = self.ends.priority {
            let priority = if mark.urgent { priority } else { 0 };
            // No VLAN: only the priority counts.
            frame.extend(TAG.to_be_bytes());
            frame.extend((u16::from(priority) << 13).to_be_bytes());
        }
        frame.extend((FrameProtocol::Avtp as u16).to_be_bytes());
        frame.extend_from_slice(datagram.get(ENCAPSULATION..).unwrap_or_default());
        frame
    }
}

impl AsRawFd for EthernetSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.packet.as_raw_fd()
    }
}

impl DatagramSocket for Arc<EthernetSocket> {
    /// The datagram gets 4 bytes of zeros in place of the sequence number that it has over UDP.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let len = linux::socket::read(&self.packet, buffer)?;
        let Some(from) = buffer.get(6..12).and_then(<[u8]>::first_chunk) else {
            return Err(ErrorKind::InvalidData.into());
        };
        let from = MacAddress(*from).as_link_local(self.index);
        if len < HEADER {
            return Err(ErrorKind::InvalidData.into());
        }
        let len = unpadded_len(&buffer[HEADER..len]);
        buffer.copy_within(HEADER..HEADER + len, ENCAPSULATION);
        buffer[..ENCAPSULATION].fill(0);
        Ok((ENCAPSULATION + len, from))
    }

    fn send(&self, datagram: &[u8], _to: SocketAddr, mark: SendMark) -> io::Result<()> {
        let queue = u8::from(mark.urgent);
        if self.queue.load(Relaxed) != queue {
            let priority = if mark.urgent { URGENT_PRIORITY } else { 0 };
            linux::socket::set_priority(&self.packet, priority)?;
            self.queue.store(queue, Relaxed);
        }
        let frame = self.frame(datagram, mark);
        rustix::net::send(&self.packet, &frame, SendFlags::empty())?;
        Ok(())
    }

    fn dropped(&self) -> u64 {
        let new = self.packet.take_statistics().map_or(0, |new| new.dropped);
        self.dropped.fetch_add(new.into(), Relaxed) + u64::from(new)
    }
}
