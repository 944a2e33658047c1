//! From the words of the configuration to halves: the one place that knows all kinds of port.

use crate::embedded::{BusIndex, World, WorldError};
use crate::log::{InterfaceName, LogSink, LogSource, Replay, SinkConfig, SourceConfig};
use crate::socketcan::{self, SocketCanConfig};
use crate::spec::{self, BusSpec, LogSpec, Place, PortKind, PortSpec, SocketCanSpec};
use crate::{Halves, Nothing, Nowhere, Pace, PollReceive, PollTransmit, PortError};
use bus::{BusConfig, NodeConfig};
use frame::Nanos;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Opens ports. It lives as long as the gateway, because ports that are opened later (after a
/// reload) share buses with earlier ones.
pub struct Opener {
    world: World,
    epoch: Nanos,
    strict: bool,
    /// Logs that were begun: opened again after a reload, they are continued.
    begun: HashSet<PathBuf>,
}

impl Opener {
    /// The gateway's clock shows `now` when it is `unix`, both ns: logs are written in Unix
    /// time. Embedded buses begin at time 0 now and keep pace with the clock.
    #[must_use]
    pub fn new(now: Nanos, unix: Nanos) -> Self {
        let world = World::new();
        world.pace(Pace::real_time(now, 0));
        Self {
            world,
            epoch: unix.saturating_sub(now),
            strict: false,
            begun: HashSet::new(),
        }
    }

    /// A bad line of a log stops its port, instead of being left out.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// The embedded buses.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// Opens a port.
    ///
    /// # Errors
    /// [`PortError`] says what is wrong or missing and what to do.
    pub fn open(&mut self, spec: &PortSpec) -> Result<Halves, PortError> {
        match &spec.kind {
            PortKind::SocketCan(can) => socketcan::open(&spec.name, &raw_socket(can)),
            PortKind::Bus(bus) => self.bus(&spec.name, bus),
            PortKind::Log(log) => self.log(&spec.name, log),
        }
    }

    fn bus(&self, port: &str, spec: &BusSpec) -> Result<Halves, PortError> {
        let wrong = |what: String| PortError {
            port: port.to_owned(),
            what,
            source: None,
        };
        let refused = |e: WorldError| wrong(e.to_string());
        let bus = match self.world.find(&spec.bus) {
            Some(bus) => {
                self.agrees(bus, spec).map_err(refused)?.map_err(wrong)?;
                bus
            }
            None => self.new_bus(spec).map_err(refused)?,
        };
        let node = NodeConfig {
            mailboxes: spec.mailboxes,
            queue: spec.queue as usize,
            fd: spec.data_bitrate.is_some(),
            restart: Some(RESTART),
            ..NodeConfig::new(port)
        };
        let (rx, tx) = self.world.attach(bus, node).map_err(refused)?;
        Ok((Box::new(rx), Box::new(tx)))
    }

    /// A new bus, with a node that acknowledges: a port may be alone on its bus, and would
    /// repeat its first frame for ever.
    fn new_bus(&self, spec: &BusSpec) -> Result<BusIndex, WorldError> {
        let config = match spec.data_bitrate {
            Some(data) => BusConfig::fd(spec.bitrate, data),
            None => BusConfig::classic(spec.bitrate),
        };
        let bus = self.world.bus(&spec.bus, config)?;
        self.world.tester(bus, NodeConfig::new("acknowledger"))?;
        Ok(bus)
    }

    fn agrees(&self, bus: BusIndex, spec: &BusSpec) -> Result<Result<(), String>, WorldError> {
        let rates = |b: &bus::Bus| (b.config().nominal, b.config().data);
        let (nominal, data) = self.world.with_bus(bus, rates)?;
        if (nominal, data) == (spec.bitrate, spec.data_bitrate) {
            return Ok(Ok(()));
        }
        let words = |nominal: u32, data: Option<u32>| match data {
            Some(data) => format!("{nominal} and {data} bit/s"),
            None => format!("{nominal} bit/s"),
        };
        Ok(Err(format!(
            "bus \"{}\" runs at {} already, not {}: give it another name, or the same bit rates \
             and a restart",
            spec.bus,
            words(nominal, data),
            words(spec.bitrate, spec.data_bitrate)
        )))
    }

    fn log(&mut self, port: &str, spec: &LogSpec) -> Result<Halves, PortError> {
        let name = |text: &str| {
            InterfaceName::new(text).ok_or_else(|| PortError {
                port: port.to_owned(),
                what: format!(
                    "\"{text}\" is too long for an interface in a log: at most {} bytes; give \
                     another name with `interface`",
                    InterfaceName::MAX
                ),
                source: None,
            })
        };
        let rx: Box<dyn PollReceive> = match &spec.read {
            None => Box::new(Nothing),
            Some(place) => {
                let config = SourceConfig {
                    interface: spec.interface.as_deref().map(name).transpose()?,
                    replay: match spec.pace {
                        spec::Pace::Original => Replay::Original,
                        spec::Pace::Fast => Replay::Fast,
                        spec::Pace::Factor(factor) => Replay::Scaled(factor),
                    },
                    strict: self.strict,
                };
                Box::new(LogSource::open(port, path(place), config)?)
            }
        };
        let tx: Box<dyn PollTransmit> = match &spec.write {
            None => Box::new(Nowhere),
            Some(place) => {
                let config = SinkConfig {
                    interface: name(spec.interface.as_deref().unwrap_or(port))?,
                    epoch: self.epoch,
                };
                let path = path(place);
                let sink = if self.begun.contains(path) {
                    LogSink::append(port, path, config)?
                } else {
                    LogSink::create(port, path, config)?
                };
                self.begun.insert(path.to_owned());
                Box::new(sink)
            }
        };
        Ok((rx, tx))
    }
}

/// A node of an embedded bus comes back so long after bus-off, ns: as `restart-ms 100` of
/// `ip link`, which most set-ups of CAN interfaces use.
const RESTART: Nanos = 100_000_000;

fn path(place: &Place) -> &Path {
    match place {
        Place::Standard => Path::new("-"),
        Place::File(path) => path,
    }
}

fn raw_socket(spec: &SocketCanSpec) -> SocketCanConfig {
    SocketCanConfig {
        interface: spec.interface.clone(),
        fd: spec.fd,
        xl: spec.xl,
        queue: spec.queue as usize,
        receive_buffer: spec.receive_buffer,
        hardware_stamps: false,
        io: spec.io,
    }
}
