//! `kind = "direct"`: a controller driven from user space.

use super::backend::{BackendError, BackendOptions, FoundBackend};
use super::find::find;
use super::halves::{DirectReceive, DirectTransmit, Interrupt};
use crate::keys::{SLOW_DATA_PHASE, queue, restart, sample_point};
use crate::kind::{ExclusiveResource, FramePassage, PortSettings, port_kind};
use crate::{AtStart, Halves, NodeStandIn, PortError, PortOpener, SimulatedPlace, StandIn};
use config::{CheckText, Diagnostics, TomlTable, read};
use controller::driven::{DrivenPort, DrivenRules};
use controller::timing::usual_sample_point;
use controller::{BitTiming, StartMode, TimingLimits};
use frame::wire::BitRate;
use frame::{Kind, Nanos};
use std::sync::Arc;

port_kind! {
    /// The kind of controllers that are driven from user space.
    DirectPorts = "direct", DirectSettings::key_specs(), DirectSettings::parse;
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

impl CheckText for DriveMode {
    fn words(&self, words: &str) -> String {
        words.replace(
            "{}",
            match self {
                Self::Poll => "polled",
                Self::Interrupt => "by interrupt",
            },
        )
    }
}

config::settings! {
    /// The settings of a controller driven from user space.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct DirectSettings(port: &str) {
        /// The card: the name of one of its network interfaces (in this network namespace), or its
        /// address (`lspci -D`). `/dev/bitcan-NAME` is a mapped controller of
        /// [kmod/bitcan](../kmod/bitcan/README.md#mapped-controllers).
        pub device: String = port.to_owned() => read::text(),
            value "interface, PCI address, `/dev/bitcan-NAME`", default "the port's name",
            check "controller {}",
            not "interface" "card" "address" "iface" "dev" "pci";
        /// The number of the controller, for a card that has several.
        pub channel: Option<u8> = None => read::integer(0..=7u8), default "the interface's, else 0",
            check ", channel {}";
        /// The nominal bit rate. If the controller cannot have exactly this bit rate, the start
        /// fails and the error lists the nearest possible ones.
        ///
        /// In bit/s.
        pub bitrate: u32 = 500_000 => read::bitrate(), default "`\"500k\"`",
            check ", driven directly at {} bit/s",
            not "rate" "speed" "baud" "baudrate";
        /// The sample point as a part of the bit; the controller uses the nearest possible one.
        /// Default: 0.875 up to 500 kbit/s, 0.8 up to 800 kbit/s, 0.75 above.
        ///
        /// In thousandths of a bit.
        pub sample_point: Option<u32> = None => sample_point(), default "by bit rate",
            not "samplepoint" "sp";
        /// The bit rate of the data phase. With it, the port receives and sends FD frames; without
        /// it, only classic frames.
        ///
        /// In bit/s.
        pub data_bitrate: Option<u32> = None => read::bitrate(), check ", FD at {} bit/s",
            not "dbitrate" "fd_bitrate" "data_rate" "data_speed";
        /// The same as `sample_point`, for the data phase.
        pub data_sample_point: Option<u32> = None => sample_point(), default "by bit rate";
        /// `"poll"`: the gateway polls the controller without a pause, which has the lowest latency
        /// and occupies a whole processor. `"interrupt"`: the gateway sleeps until the card raises
        /// an interrupt.
        pub mode: DriveMode = DriveMode::Poll => read::words(&DRIVES), default "`\"poll\"`",
            check ", {}";
        /// The controller sends nothing, not even acknowledgements. Frames for this port are
        /// refused as unsupported.
        pub listen_only: bool = false => read::boolean(), check ", listens only",
            not "silent" "passive";
        /// The controller tries each frame once. A frame that loses arbitration or meets an error
        /// counts as lost.
        pub one_shot: bool = false => read::boolean(), check ", tries each frame once",
            not "oneshot" "single_shot";
        /// The time from bus-off to the restart. The controller then waits for 128 times 11
        /// recessive bits, as ISO 11898-1 requires.
        ///
        /// In ns; `None`: never.
        pub restart: Option<Nanos> = Some(RESTART) => restart(), default "`\"100ms\"`",
            not "restart_ms" "recovery";
        /// Error frames also report each error on the bus and each lost arbitration, if a route
        /// asks for them.
        pub bus_errors: bool = false => read::boolean(), not "berr_reporting";
        /// Number of frames that wait while all transmit buffers are in use. Further frames are
        /// refused.
        pub queue: u32 = 128 => queue(), check "; up to {} frames wait",
            not "txqueuelen" "queue_length" "queue_size";
    }
}

impl DirectSettings {
    fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let settings = Self::read(table, port, found);
        if settings
            .data_bitrate
            .is_some_and(|data| data < settings.bitrate)
        {
            table.wrong("data_bitrate", SLOW_DATA_PHASE, "", found);
        }
        settings
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

    fn stand_in(&self, _: SimulatedPlace<'_>) -> StandIn {
        let channel = self.channel.map(|channel| format!("-{channel}"));
        let bus = format!("{}{}", self.device, channel.unwrap_or_default());
        StandIn::Node(NodeStandIn {
            rate: BitRate::new(self.bitrate, self.data_bitrate).ok(),
            listen_only: self.listen_only,
            one_shot: self.one_shot,
            restart: self.restart,
            ..NodeStandIn::new(bus, self.queue)
        })
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let channel = self
            .channel
            .map_or_else(String::new, |channel| format!("{channel} "));
        let name = format!("controller {channel}of {}", self.device);
        let hint = "a port receives and transmits; give this one another `device` or `channel`";
        Some(ExclusiveResource::new(name, hint))
    }

    fn describe(&self) -> String {
        self.check_words()
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
