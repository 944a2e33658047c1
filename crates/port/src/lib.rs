//! Ports, through which frames enter and leave: Linux interfaces, the embedded bus, log files.
//!
//! The `engine` crate defines a port: a receiving half and a transmitting half, which work in
//! batches and never block. This crate has the kinds of port. In addition, their halves report what
//! to wait for on an operating system: [`PollReceive::wait`], [`PollTransmit::wait`].
//!
//! # Kinds of port
//!
//! Each kind is a folder with its halves and its settings, and a cargo feature: the dependencies of
//! one kind do not burden builds without it. [`PortKinds::left_out`] lists the kinds that a build
//! lacks, and why.
//!
//! | folder | feature and keyword | content |
//! |---|---|---|
//! | [`socketcan`] | `socketcan` | Linux CAN interfaces, by raw sockets |
//! | [`embedded`] | `bus` | nodes on buses inside the process, in virtual or real time |
//! | [`log`] | `log` | candump logs, standard input and output |
//! | [`direct`] | `direct` | CAN controllers driven from user space |
//! | [`chardev`] | `chardev` | CAN controllers as character devices, by the driver `kmod/canchar` |
//! | [`virtio`] | `virtio` | virtual machines, by the virtio CAN device over vhost-user |
//! | [`shm`] | `shm` | memory that is shared with another machine or process |
//! | [`composed`] | `messages` | messages that the gateway makes from signals |
//! | [`split`] | `split` | FD frames as numbered classic frames, and back |
//! | [`cannelloni`] | `cannelloni` | tunnels to cannelloni, over UDP or TCP |
//! | [`socketcand`] | `socketcand` | socketcand's protocol: a server for its clients, or a client |
//! | [`slcan`] | `slcan` | slcan: an adapter at a serial device or over TCP, or a server |
//! | [`ieee1722`] | `ieee1722` | streams of IEEE 1722 (AVTP) over UDP |
//! | [`multicast`] | `multicast` | the multicast groups of python-can |
//! | [`controllers`] | `virtio`; keyword `controller` | a controller that machines share |
//!
//! A kind is a [`PortKind`]: its keyword, and the parser of its [`PortSettings`] in `gateway.toml`.
//! The settings open the port, and answer the gateway's questions before that. The list of kinds,
//! [`PortKinds`], is a value: a dependent crate adds a kind of its own to it, without a change here
//! or in `gateway`.
//!
//! Faults can be injected on any port: [`PortFaults`] wraps the halves of the kind. Where the kind
//! has a transmit queue, [`QueueSettings`] puts another one in front of it.
//!
//! For a simulation of a gateway file, each kind names the stand-in of its ports ([`StandIn`]).
//!
//! The caller passes the time in.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod clients;
mod faults;
mod keys;
mod kind;
mod kinds;
mod messages;
#[cfg(any(
    feature = "cannelloni",
    feature = "ieee1722",
    feature = "multicast",
    feature = "slcan",
    feature = "socketcand"
))]
mod network;
mod network_link;
mod opener;
mod pace;
mod queueing;
mod spec;
mod stand_in;
mod tunnel_end;
mod wait;

kinds::kinds! {
    "socketcan" by "socketcan" => socketcan::SocketCan,
        not "can" "vcan" "vxcan" "pcan" "kvaser" "ixxat" "vector" "canalystii" "gs_usb"
            "socket" "raw" "linux" "native" "interface" "socketcan_native";
    "bus" by "bus" => embedded::EmbeddedBus,
        not "virtual" "simulated" "sim" "embedded" "memory";
    "log" by "log" => log::LogPorts, not "file" "candump" "trace" "replay" "logfile";
    "direct" by "direct" => direct::DirectPorts;
    "chardev" by "chardev" => chardev::CharDev;
    // vm-memory, the library for a machine's memory, is for 64-bit processors only.
    "virtio" by "virtio" where target_pointer_width = "64", "64-bit" => virtio::VirtioPorts,
        not "vm" "qemu" "vhost" "vhost-user" "virtio-can" "virtio_can";
    "shm" by "shm" => shm::ShmPorts, not "ivshmem" "shared_memory" "shared-memory" "ring";
    "messages" by "messages" => composed::ComposedPorts,
        not "signals" "composed" "rest_bus" "restbus" "simulation";
    "split" by "split" => split::SplitPorts,
        not "join" "fragment" "segment" "segmentation" "multiplex" "mux";
    "cannelloni" by "cannelloni" => cannelloni::CannelloniPorts, not "udp" "tunnel";
    "socketcand" by "socketcand" => socketcand::SocketcandPorts, not "socketcan_daemon";
    "slcan" by "slcan" => slcan::SlcanPorts, not "lawicel" "tcp";
    "multicast" by "multicast" => multicast::MulticastPorts, not "udp_multicast";
    "ieee1722" by "ieee1722" => ieee1722::AvtpPorts, not "1722" "avtp" "acf" "acf-can" "tsn";
    "controller" by "virtio" where target_pointer_width = "64", "64-bit"
        => controllers::SharedControllers;
}

pub use clients::ClientSettings;
pub use engine::{
    Accepted, FlushReport, FrameInterest, InterestIds, LinkState, NullReceiver, NullTransmitter,
    OutgoingFrame, PortError, RawFilter, Receive, ReceiveStamp, ReceivedFrame, RxCounters,
    RxReport, StampSource, Token, Transmit, TransmitRefusal, TxCounters,
};
pub use faults::PortFaults;
pub use keys::queue;
pub use kind::{
    ComparableSettings, DatabasesByName, ExclusiveResource, FileOrStream, FramePassage,
    InterfaceFinder, LONGEST_NAME, LONGEST_QUEUE, PeerLimits, PlacedPort, PortKind, PortSettings,
    SplitIds,
};
pub use kinds::{KnownKind, PortKinds};
pub use messages::MessageSettings;
pub use network_link::NetworkLink;
pub use opener::{AtStart, PortOpener};
pub use pace::SourcePace;
pub use queueing::{QueueSettings, QueueSize};
pub use spec::PortSpec;
pub use stand_in::{NodeStandIn, SimulatedPlace, StandIn};
pub use tunnel_end::{ETHERNET_BYTES, PlayOutTimes, SHORTEST_ETHERNET, TUNNEL_BACKLOG, TunnelEnd};
pub use wait::{Halves, PollReceive, PollTransmit, PortWait};
