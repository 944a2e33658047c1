//! Opens the sockets of a configuration and makes both halves.

use super::choose::{RAW_MARKS_SINCE, WayChoice};
use super::config::{ReceiveBy, TransmitBy};
use super::filter::filters;
use super::line::{PacketInlet, PacketOutlet, PortSockets, SetUp, drops_packets};
use super::matched::MatchedInterface;
use super::own::OwnSetup;
use super::receive::RawReceive;
use super::receive::mmsg::ByRecvmmsg;
use super::receive::read::ByRead;
use super::receive::ring::ByRing;
use super::receive::uring::ByUring as ReceiveByUring;
use super::settings::SocketCanSettings;
use super::shared::SharedSockets;
use super::transmit::ring::{FromRing, IN_THE_KERNEL};
use super::transmit::slots::FromSlots;
use super::transmit::uring::ByUring as TransmitByUring;
use super::transmit::{EchoMode, RawTransmit};
use super::way::{ReceiveWay, TransmitWay};
use super::words::PortProblem;
use crate::{FrameInterest, Halves, PollReceive, PollTransmit, PortError};
use linux::can::layout::{CLASSIC_SIZE, FD_SIZE, XL_SIZE};
use linux::can::{CanOptions, CanSocket, OpenError, StampOptions};
use linux::link::{NetLink, NetLinks, PreviousState};
use linux::packet::{self, FrameProtocol, RxRing, TxRing};
use linux::{Errno, kernel, socket};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Default size of a receiving ring in bytes, without `receive_buffer`: 2048 FD frames.
const RING: u32 = 512 * 1024;
/// Approximate number of bytes of a ring's slot in addition to its frame.
const SLOT_HEADER: usize = 80;
/// Time for which a call polls the controller itself, µs, with `read-busypoll`. More than a frame's
/// latency in the kernel is of no use: the worker calls again at once.
const BUSY_POLL: u32 = 50;

/// Opens an interface. It may be down; it must exist, unless the settings permit that it is absent.
///
/// # Errors
/// [`PortError`] that names what is missing (CAN in the kernel, the interface, a way to receive or
/// to transmit) and the remedy.
pub fn open(port: &str, config: &SocketCanSettings) -> Result<Halves, PortError> {
    open_own(port, config, OwnSetup::default())
}

/// Opens an interface as [`open`] does; `own` records whether the caller has set the interface up
/// before.
pub(super) fn open_own(
    port: &str,
    config: &SocketCanSettings,
    own: OwnSetup,
) -> Result<Halves, PortError> {
    let opening = OpeningPort::begin(config, own).map_err(|p| p.into_error(port))?;
    opening.finish(port).map_err(|p| p.into_error(port))
}

/// The sockets of a port that is being opened.
struct OpeningPort<'a> {
    config: &'a SocketCanSettings,
    ways: WayChoice,
    own: OwnSetup,
    raw: Arc<CanSocket>,
    inlet: Option<(Arc<packet::PacketSocket>, RxRing)>,
    outlet: Option<(Arc<PacketOutlet>, TxRing)>,
    mark: Option<u32>,
    echo: EchoMode,
    remarks: Vec<String>,
}

impl<'a> OpeningPort<'a> {
    /// Opens the sockets and makes the rings.
    fn begin(config: &'a SocketCanSettings, own: OwnSetup) -> Result<Self, PortProblem> {
        let name = &config.interface;
        let raw = CanSocket::open(name).map_err(PortProblem::Raw)?;
        let mut opening = Self {
            config,
            ways: config.ways(),
            own,
            raw: Arc::new(raw),
            inlet: None,
            outlet: None,
            mark: None,
            echo: EchoMode::AsAsked,
            remarks: Vec::new(),
        };
        match opening.raw.query_state() {
            Err(Errno::NODEV) if config.may_be_absent => opening.warn_absent(),
            Ok(there) => opening.set_up_interface(there.index)?,
            // The error is reported when the socket is attached.
            Err(_) => {}
        }
        opening.warn_without_bit_rate();
        opening.set_up_raw()?;
        let ring = |errno| PortProblem::Ring(errno, name.clone());
        if matches!(opening.ways.receive, ReceiveBy::Ring | ReceiveBy::RingBusy) {
            opening.inlet = Some(opening.inlet().map_err(ring)?);
        }
        if opening.ways.transmit == TransmitBy::Ring {
            opening.outlet = Some(opening.outlet().map_err(ring)?);
        }
        opening.tell_own_frames()?;
        Ok(opening)
    }

    /// Sets up the interface of this number as the settings specify.
    fn set_up_interface(&mut self, index: u32) -> Result<(), PortProblem> {
        let Some(setup) = &self.config.setup else {
            return Ok(());
        };
        let applied = setup.apply(&self.config.interface, self.own.is(index));
        let applied = applied.map_err(PortProblem::Setup)?;
        if applied.before != PreviousState::Up {
            self.own.note(index);
        }
        self.remarks.extend(applied.notes);
        Ok(())
    }

    /// Adds a remark that the interface is absent: a misspelt name looks the same as the name of an
    /// interface that comes later.
    fn warn_absent(&mut self) {
        let absent = match &self.config.r#match {
            Some(wanted) => match wanted.find() {
                Ok(_) => return,
                Err(problem) => wanted.explain(&problem),
            },
            None => OpenError::attach(&self.config.interface, Errno::NODEV).to_string(),
        };
        self.remarks.push(format!(
            "{absent}; frames for it are refused until it comes"
        ));
    }

    /// Adds a remark if the controller has no bit rate yet: it can be opened, and stays down.
    fn warn_without_bit_rate(&mut self) {
        let name = &self.config.interface;
        let Ok(link) = NetLink::find(name) else {
            return;
        };
        if link.kind == "can" && !link.up && link.bit_rate.is_none_or(|rate| rate.nominal() == 0) {
            self.remarks.push(format!(
                "{name} has no bit rate yet: `ip link set {name} up type can bitrate 500000`, or \
                 `bitrate = \"500k\"` in the file"
            ));
        }
    }

    const fn raw_receives(&self) -> bool {
        self.inlet.is_none()
    }

    const fn raw_sends(&self) -> bool {
        self.outlet.is_none()
    }

    /// Returns the size of the largest datagram.
    const fn size(&self) -> usize {
        match (self.config.fd, self.config.xl) {
            (_, true) => XL_SIZE,
            (true, false) => FD_SIZE,
            (false, false) => CLASSIC_SIZE,
        }
    }

    fn queue(&self) -> usize {
        (self.config.queue as usize).max(1)
    }

    fn set_up_raw(&mut self) -> Result<(), PortProblem> {
        let config = self.config;
        let stamps = match self.ways.receive {
            ReceiveBy::Recvmmsg | ReceiveBy::IoUring if config.hardware_stamps => {
                StampOptions::Hardware
            }
            ReceiveBy::Recvmmsg | ReceiveBy::IoUring => StampOptions::Kernel,
            _ => StampOptions::None,
        };
        let options = CanOptions {
            fd: config.fd,
            xl: config.xl,
            stamps,
            receive_buffer: config.receive_buffer,
        };
        self.raw.configure(&options).map_err(PortProblem::Raw)?;
        if config.own {
            let own = self.raw.set_own(true);
            own.map_err(|errno| PortProblem::Raw(OpenError::set_up(&config.interface, errno)))?;
        }
        if self.ways.receive == ReceiveBy::ReadBusypoll {
            self.set_up_busy_polling()?;
        }
        Ok(())
    }

    fn set_up_busy_polling(&mut self) -> Result<(), PortProblem> {
        let name = &self.config.interface;
        socket::set_busy_poll(&self.raw, BUSY_POLL)
            .map_err(|errno| PortProblem::BusyPoll(errno, name.clone()))?;
        // Best effort: before Linux 5.11 there is no such option.
        let _ = socket::prefer_busy_poll(&self.raw);
        if linux::bitcan::set_napi(&self.raw, name).is_err() {
            self.remarks.push(format!(
                "{name}: the kernel does not report to raw CAN sockets which controller to poll, so that \
                 `receive = \"read-busypoll\"` does the same as \"read-nonblock\" here"
            ));
        }
        Ok(())
    }

    fn inlet(&self) -> Result<(Arc<packet::PacketSocket>, RxRing), Errno> {
        let socket = packet::PacketSocket::open()?;
        let bytes = self.config.receive_buffer.unwrap_or(RING) as usize;
        let slot = (self.size() + SLOT_HEADER).next_power_of_two();
        let ring = RxRing::new(&socket, bytes.div_ceil(slot).max(8), self.size())?;
        if self.config.hardware_stamps {
            socket.ask_for_hardware_stamps()?;
        }
        socket.ignore_outgoing()?;
        Ok((Arc::new(socket), ring))
    }

    fn outlet(&self) -> Result<(Arc<PacketOutlet>, TxRing), Errno> {
        let socket = packet::PacketSocket::open()?;
        let ring = TxRing::new(&socket, self.queue() + IN_THE_KERNEL, self.size())?;
        if self.config.qdisc_bypass {
            socket.bypass_queue()?;
        }
        Ok((Arc::new(PacketOutlet::new(socket)), ring))
    }

    /// Makes sure that the port does not receive the frames that it sends.
    fn tell_own_frames(&mut self) -> Result<(), PortProblem> {
        if self.inlet.is_none() && self.outlet.is_none() {
            return Ok(());
        }
        let name = &self.config.interface;
        // No two ports of the machine should have the same mark, and 0 is the mark of all other
        // sockets.
        let mark = RandomState::new().hash_one(name) as u32 | 1;
        let marked = match &self.outlet {
            Some((outlet, _)) => socket::set_mark(&outlet.socket, mark),
            None if kernel::is_at_least(RAW_MARKS_SINCE) => socket::set_mark(&self.raw, mark),
            // Without a mark there must be no echo.
            None => {
                self.echo = EchoMode::Never;
                return Ok(());
            }
        };
        marked.map_err(|errno| PortProblem::Mark(errno, name.clone()))?;
        self.mark = Some(mark);
        if self.outlet.is_some() {
            self.echo = EchoMode::ByDriver;
        }
        Ok(())
    }

    /// Checks that packet sockets, or sockets without a mark, can work on this interface.
    fn check_interface(&self) -> Result<(), PortProblem> {
        if self.outlet.is_none() && self.echo != EchoMode::Never {
            return Ok(());
        }
        let name = &self.config.interface;
        let links = NetLinks::now().unwrap_or_default();
        match links.get(name) {
            Some(link) if !drops_packets(&link.kind, link.echo) => Ok(()),
            Some(_) if self.outlet.is_some() => Err(PortProblem::NoEcho(name.clone())),
            Some(_) => Err(PortProblem::OwnFrames(name.clone())),
            None => Ok(()),
        }
    }

    /// Attaches the sockets and makes the halves.
    fn finish(mut self, port: &str) -> Result<Halves, PortProblem> {
        self.check_interface()?;
        let config = self.config;
        let name = &config.interface;
        if !self.raw_receives() {
            let ignore = self.raw.ignore_error_frames();
            ignore.map_err(|errno| PortProblem::Raw(OpenError::set_up(name, errno)))?;
        }
        let all_kinds = config.fd || config.xl;
        let sockets = PortSockets {
            raw: Arc::clone(&self.raw),
            raw_receives: self.raw_receives(),
            raw_sends: self.raw_sends(),
            inlet: self.inlet.as_ref().map(|(socket, _)| PacketInlet {
                socket: Arc::clone(socket),
                protocol: if all_kinds {
                    FrameProtocol::All
                } else {
                    FrameProtocol::Can
                },
                xl: config.xl,
            }),
            outlet: self.outlet.as_ref().map(|(outlet, _)| Arc::clone(outlet)),
            mark: self.mark,
            matched: config
                .r#match
                .clone()
                .map(|wanted| MatchedInterface::new(wanted, name.clone())),
            setup: config.setup.map(|setup| SetUp {
                setup,
                interface: name.clone(),
                own: self.own.clone(),
            }),
            fit: AtomicU32::new(0),
        };
        let filters = filters(&FrameInterest::default());
        let shared = SharedSockets::attach(sockets, port, name, filters, config.may_be_absent)
            .map_err(|errno| PortProblem::Raw(OpenError::attach(name, errno)))?;
        for remark in self.remarks.drain(..) {
            shared.remark(remark);
        }
        let shared = Arc::new(shared);
        Ok((self.receive(&shared)?, self.transmit(&shared)?))
    }

    fn receive(
        &mut self,
        shared: &Arc<SharedSockets>,
    ) -> Result<Box<dyn PollReceive>, PortProblem> {
        let by = self.ways.receive;
        if let Some((socket, ring)) = self.inlet.take() {
            let way = ByRing::new(socket, ring, by == ReceiveBy::RingBusy);
            return Ok(self.receiving(shared, way));
        }
        let raw = Arc::clone(&self.raw);
        Ok(match by {
            ReceiveBy::Recvmmsg => self.receiving(shared, ByRecvmmsg::new(raw, self.size())),
            ReceiveBy::IoUring => {
                let way = ReceiveByUring::new(raw, self.size());
                self.receiving(shared, way.map_err(PortProblem::no_uring_to_receive)?)
            }
            _ => {
                let busy = by != ReceiveBy::Read;
                self.receiving(shared, ByRead::new(raw, self.size(), busy))
            }
        })
    }

    fn receiving(
        &self,
        shared: &Arc<SharedSockets>,
        way: impl ReceiveWay + 'static,
    ) -> Box<dyn PollReceive> {
        let stamps = self.config.hardware_stamps;
        Box::new(RawReceive::new(Arc::clone(shared), way, stamps))
    }

    fn transmit(
        &mut self,
        shared: &Arc<SharedSockets>,
    ) -> Result<Box<dyn PollTransmit>, PortProblem> {
        let by = self.ways.transmit;
        if let Some((outlet, ring)) = self.outlet.take() {
            return Ok(self.sending(shared, FromRing::new(outlet, ring)));
        }
        let raw = Arc::clone(&self.raw);
        let (queue, size) = (self.queue(), self.size());
        if by == TransmitBy::IoUring {
            let way = TransmitByUring::new(raw, queue, size);
            return Ok(self.sending(shared, way.map_err(PortProblem::no_uring_to_transmit)?));
        }
        let one_by_one = by == TransmitBy::Write;
        Ok(self.sending(shared, FromSlots::new(raw, queue, size, one_by_one)))
    }

    fn sending(
        &self,
        shared: &Arc<SharedSockets>,
        way: impl TransmitWay + 'static,
    ) -> Box<dyn PollTransmit> {
        let config = self.config;
        let half = RawTransmit::new(
            Arc::clone(shared),
            way,
            self.queue(),
            (config.fd, config.xl),
        );
        Box::new(half.with_echo(self.echo))
    }
}
