//! `kind = "direct"`: a controller driven from user space.

use super::backend::{BackendError, BackendOptions, FoundBackend};
use super::find::find;
use super::halves::{DirectReceive, DirectTransmit, Interrupt};
use crate::kind::{
    FramePassage, PlacedPort, PortKind, PortSettings, controller_keys, queue, queue_key, rate_keys,
    thousandths,
};
use crate::{AtStart, Halves, PortError, PortOpener};
use config::{Diagnostic, Diagnostics, KeyMisnomer, KeySpec, TomlTable, ValueShape};
use controller::driven::{DrivenPort, DrivenRules};
use controller::timing::usual_sample_point;
use controller::{BitTiming, StartMode, TimingLimits};
use frame::{Kind, Nanos};
use std::collections::HashMap;
use std::sync::Arc;

/// The kind of controllers that are driven from user space.
#[derive(Clone, Copy, Debug)]
pub struct DirectPorts;

const KEYWORD: &str = "direct";

impl PortKind for DirectPorts {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn keys(&self) -> Option<Vec<KeySpec>> {
        let own = vec![
            KeySpec::new(
                "device",
                ValueShape::Text,
                "A network interface of the card, its PCI address, or /dev/bitcan-NAME; by default the port's name.",
            ),
            KeySpec::new(
                "channel",
                ValueShape::Integer(0..=CHANNELS),
                "Which controller of a card that has several.",
            ),
            KeySpec::new(
                "mode",
                ValueShape::words(&DRIVES),
                "How the controller is watched. Default \"poll\".",
            ),
            queue_key("Frames that wait while all transmit buffers are in use. Default 128."),
        ];
        Some([own, rate_keys(), controller_keys()].concat())
    }

    fn parse(
        &self,
        port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        Arc::new(DirectSettings::parse(port, table, found))
    }

    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let mut taken: HashMap<(&str, Option<u8>), &str> = HashMap::new();
        for port in ports {
            let Some(settings) = port.settings.downcast_ref::<DirectSettings>() else {
                continue;
            };
            let controller = (settings.device.as_str(), settings.channel);
            if let Some(other) = taken.insert(controller, port.name) {
                let message = format!("ports `{other}` and `{}` are one controller", port.name);
                let hint =
                    "a port receives and transmits; give this one another `device` or `channel`";
                found.push(Diagnostic::error(port.span.clone(), message).hint(hint));
            }
        }
    }
}

/// The way in which the controller is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DriveMode {
    /// The worker polls it continuously, without a pause.
    #[default]
    Poll,
    /// It interrupts, and the worker waits for that.
    Interrupt,
}

const DRIVES: [(&str, DriveMode); 2] = [
    ("poll", DriveMode::Poll),
    ("interrupt", DriveMode::Interrupt),
];

/// Default time from bus-off to the restart, ns.
const RESTART: Nanos = 100_000_000;

/// Highest channel number of a card.
const CHANNELS: i64 = 7;

const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of(
        "device",
        &["interface", "card", "address", "iface", "dev", "pci"],
    ),
    KeyMisnomer::of("bitrate", &["rate", "speed", "baud", "baudrate"]),
    KeyMisnomer::of(
        "data_bitrate",
        &["dbitrate", "fd_bitrate", "data_rate", "data_speed"],
    ),
    KeyMisnomer::of("sample_point", &["sample-point", "samplepoint", "sp"]),
    KeyMisnomer::of("listen_only", &["listen-only", "silent", "passive"]),
    KeyMisnomer::of("one_shot", &["one-shot", "oneshot", "single_shot"]),
    KeyMisnomer::of("restart", &["restart_ms", "restart-ms", "recovery"]),
    KeyMisnomer::of("bus_errors", &["berr_reporting", "berr-reporting"]),
    KeyMisnomer::of("queue", &["txqueuelen", "queue_length", "queue_size"]),
];

/// The settings of a controller driven from user space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirectSettings {
    /// A network interface or a PCI address; by default the port's name.
    pub device: String,
    /// Number of the controller on a card; by default the interface's, or 0.
    pub channel: Option<u8>,
    /// Nominal bit rate, bit/s; default 500000.
    pub bitrate: u32,
    /// Sample point in thousandths of a bit; by default the usual one of the bit rate.
    pub sample_point: Option<u32>,
    /// Bit rate of the data phase, bit/s; with it, FD frames are received and sent.
    pub data_bitrate: Option<u32>,
    /// Sample point of the data phase, in thousandths of a bit.
    pub data_sample_point: Option<u32>,
    /// The way in which it is watched; default poll.
    pub mode: DriveMode,
    /// Whether it sends nothing, not even acknowledgements; default false.
    pub listen_only: bool,
    /// Whether it tries each frame once only; default false.
    pub one_shot: bool,
    /// Whether error frames report every error on the bus and every lost arbitration; default
    /// false.
    pub bus_errors: bool,
    /// Time from bus-off to the restart, ns; `None`: never. Default 100 ms.
    pub restart: Option<Nanos>,
    /// Number of frames that can wait in front of the transmit buffers; default 128.
    pub queue: u32,
}

impl DirectSettings {
    fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        table.misnomers(MISNOMERS);
        let device = table.string("device", found).map(|name| name.value);
        let channel = table.integer("channel", 0..=CHANNELS, found);
        let bitrate = table.bitrate("bitrate", found).map_or(500_000, |r| r.value);
        let data = table.bitrate("data_bitrate", found);
        if let Some(data) = &data
            && data.value < bitrate
        {
            let message = "the data phase cannot be slower than the arbitration phase";
            found.push(Diagnostic::error(data.span.clone(), message));
        }
        let sample_point = table.get("sample_point");
        let data_sample_point = table.get("data_sample_point");
        Self {
            device: device.unwrap_or(port).to_owned(),
            channel: channel.map(|n| n.value as u8),
            bitrate,
            sample_point: sample_point.and_then(|value| thousandths(&value, found)),
            data_bitrate: data.map(|rate| rate.value),
            data_sample_point: data_sample_point.and_then(|value| thousandths(&value, found)),
            mode: table
                .one_of("mode", &DRIVES, found)
                .map_or(DriveMode::Poll, |mode| mode.value),
            listen_only: table.flag("listen_only", false, found),
            one_shot: table.flag("one_shot", false, found),
            bus_errors: table.flag("bus_errors", false, found),
            restart: match table.get("restart") {
                None => Some(RESTART),
                Some(value) if value.as_str() == Some("never") => None,
                Some(value) => value.duration(found).map(|time| time.value),
            },
            queue: queue(table, 128, found),
        }
    }

    fn timing(
        &self,
        clock: u32,
        limits: &TimingLimits,
        rate: u32,
        point: Option<u32>,
    ) -> Result<BitTiming, BackendError> {
        let point = point.unwrap_or(usual_sample_point(rate));
        Ok(BitTiming::compute(clock, limits, rate, point)?)
    }

    /// Returns the plan for the controller, if the controller supports these settings.
    fn plan(&self, found: &dyn FoundBackend) -> Result<StartPlan, BackendError> {
        let properties = found.properties();
        let name = properties.name;
        let clock = properties.clock;
        let no = |what: &str| {
            Err(BackendError {
                what: format!("the {name} of {} cannot do {what}", self.device),
                source: None,
            })
        };
        let data = match (self.data_bitrate, &properties.data) {
            (None, _) => None,
            (Some(_), None) => return no("FD: leave `data_bitrate` out"),
            (Some(rate), Some(limits)) => {
                Some(self.timing(clock, limits, rate, self.data_sample_point)?)
            }
        };
        if self.listen_only && !properties.listen_only {
            return no("`listen_only`");
        }
        if self.one_shot && !properties.one_shot {
            return no("`one_shot`");
        }
        Ok(StartPlan {
            nominal: self.timing(clock, &properties.nominal, self.bitrate, self.sample_point)?,
            data,
            listen_only: self.listen_only,
            one_shot: self.one_shot,
            diagnose: self.bus_errors,
            interrupts: self.mode == DriveMode::Interrupt,
        })
    }
}

/// The mode in which the controller will be started.
#[derive(Clone, Copy)]
struct StartPlan {
    nominal: BitTiming,
    data: Option<BitTiming>,
    listen_only: bool,
    one_shot: bool,
    diagnose: bool,
    interrupts: bool,
}

impl PortSettings for DirectSettings {
    fn passes(&self, kind: Kind) -> FramePassage {
        FramePassage::by_data_phase(kind, self.data_bitrate.is_some())
    }

    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let mut words = format!("controller {}", self.device);
        if let Some(channel) = self.channel {
            words.push_str(&format!(", channel {channel}"));
        }
        words.push_str(&format!(", driven directly at {} bit/s", self.bitrate));
        if let Some(data) = self.data_bitrate {
            words.push_str(&format!(", FD at {data} bit/s"));
        }
        words.push_str(match self.mode {
            DriveMode::Poll => ", polled",
            DriveMode::Interrupt => ", by interrupt",
        });
        if self.listen_only {
            words.push_str(", listens only");
        }
        if self.one_shot {
            words.push_str(", tries each frame once");
        }
        format!("{words}; up to {} frames wait", self.queue)
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let fail = |trouble: BackendError| PortError {
            port: port.to_owned(),
            what: trouble.what,
            source: trouble.source,
        };
        let wanted = BackendOptions {
            device: &self.device,
            channel: self.channel,
            interrupts: self.mode == DriveMode::Interrupt,
        };
        let found = find(&wanted, opener).map_err(fail)?;
        let plan = self.plan(&*found).map_err(fail)?;
        let rules = DrivenRules {
            queue: self.queue as usize,
            listen_only: self.listen_only,
            fd: plan.data.is_some(),
            restart: self.restart,
            interrupts: plan.interrupts,
        };
        let shared = Arc::new(DrivenPort::new(port, rules));
        let interrupt = Interrupt::default();
        opener.at_start(CardTaking {
            found: Some(found),
            plan,
            shared: Arc::clone(&shared),
            interrupt: Arc::clone(&interrupt),
        });
        Ok((
            Box::new(DirectReceive::new(
                Arc::clone(&shared),
                Arc::clone(&interrupt),
                plan.interrupts,
            )),
            Box::new(DirectTransmit::new(shared, interrupt)),
        ))
    }
}

/// The deferred action that takes the card when nothing else can fail.
struct CardTaking {
    found: Option<Box<dyn FoundBackend>>,
    plan: StartPlan,
    shared: Arc<DrivenPort>,
    interrupt: Interrupt,
}

impl CardTaking {
    fn take(&mut self) -> Result<(), BackendError> {
        let Some(found) = self.found.take() else {
            return Ok(());
        };
        let taken = found.take()?;
        let mut backend = taken.backend;
        backend.controller().start(&StartMode {
            nominal: self.plan.nominal,
            data: self.plan.data,
            listen_only: self.plan.listen_only,
            one_shot: self.plan.one_shot,
            diagnose: self.plan.diagnose,
            filters: &[],
        })?;
        if self.plan.interrupts {
            backend.controller().interrupts(true);
            backend.arm().map_err(|source| BackendError {
                what: "cannot let the controller's interrupt through".to_owned(),
                source: Some(source),
            })?;
        }
        if let Some(interrupt) = taken.interrupt {
            // It is empty before, because there is only one start.
            let _ = self.interrupt.set(interrupt);
        }
        self.shared.begin(backend);
        Ok(())
    }
}

impl AtStart for CardTaking {
    fn start(&mut self) -> Result<(), PortError> {
        self.take().map_err(|trouble| PortError {
            port: self.shared.name().to_owned(),
            what: trouble.what,
            source: trouble.source,
        })
    }
}
