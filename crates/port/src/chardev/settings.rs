//! `kind = "chardev"`: a controller as a character device.

use super::line::DeviceLine;
use super::shared::Open;
use super::transmit::TransmitRules;
use crate::keys::{SLOW_DATA_PHASE, restart, restart_ms, sample_point};
use crate::kind::{ExclusiveResource, FramePassage, PortSettings, port_kind};
use crate::{Halves, NodeStandIn, PortError, PortOpener, SimulatedPlace, StandIn};
use config::read;
use config::{Diagnostics, TomlTable, TomlValue, ValueShape};
use frame::wire::BitRate;
use frame::{Kind, Nanos};
use linux::Errno;
use linux::chardev::{CharControl, CharDevice, CharInfo};
use std::sync::Arc;

port_kind! {
    /// The kind of CAN controllers as character devices.
    CharDev = "chardev", CharDevKeys::key_specs(), CharDevSettings::parse;
}

/// Values of `order`, each with whether frames leave by priority.
const ORDERS: [(&str, bool); 2] = [("fifo", false), ("priority", true)];

/// Number of frames that the driver's queue holds (`CANCHAR_SLOTS` of kmod/canchar).
const QUEUE: u32 = 64;

/// Default time from bus-off to the restart, ns.
const RESTART: Nanos = 100_000_000;

config::settings! {
    /// The keys of a port on a character device.
    struct CharDevKeys(port: &str) {
        /// The character device.
        device: String = format!("/dev/{port}") => read::by(|| ValueShape::Text, device),
            value "path", default "`/dev/` and the port's name",
            not "interface" "path" "file" "iface" "dev";
        /// The port starts the controller at this bit rate. If the controller already runs, its
        /// settings must be the same, or the start fails. Without `bitrate`, another program must
        /// have started it.
        bitrate: Option<u32> = None => read::bitrate(), not "rate" "speed" "baud" "baudrate";
        /// The sample point as a part of the bit.
        sample_point: Option<u32> = None => sample_point(), default "the driver's",
            not "samplepoint" "sp";
        /// The bit rate of the data phase. With it, the port receives and sends FD frames.
        data_bitrate: Option<u32> = None => read::bitrate(),
            not "dbitrate" "fd_bitrate" "data_rate" "data_speed";
        /// The same as `sample_point`, for the data phase.
        data_sample_point: Option<u32> = None => sample_point(), default "the driver's";
        /// The order in which the controller gets waiting frames: in the order of arrival, or by
        /// priority (the lowest ID first). The frame that is already in the controller's transmit
        /// buffer stays there.
        order: bool = false => read::words(&ORDERS), default "`\"fifo\"`",
            not "queue_order" "priority" "sort";
        /// The controller sends nothing, not even acknowledgements. Frames for this port are
        /// refused as unsupported.
        listen_only: bool = false => read::boolean(), not "silent" "passive";
        /// The controller tries each frame once. A frame that loses arbitration or meets an error
        /// counts as lost.
        one_shot: bool = false => read::boolean(), not "oneshot" "single_shot";
        /// The time from bus-off to the restart.
        restart: Option<Nanos> = Some(RESTART) => restart(), default "`\"100ms\"`",
            not "restart_ms" "recovery";
        /// Error frames also report each error on the bus, if a route asks for them.
        bus_errors: bool = false => read::boolean(), not "berr_reporting";
    }
}

/// Reads the path of a device.
fn device(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let path = value.string(found)?.value;
    if !path.starts_with("/dev/") {
        let hint =
            "write a path such as \"/dev/can0\"; a Linux interface is `kind = \"socketcan\"`";
        value.wrong("`device` is the path of a character device", hint, found);
        return None;
    }
    Some(path.to_owned())
}

/// The settings of a controller as a character device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CharDevSettings {
    /// Path of the device; by default `/dev/` and the port's name.
    pub device: String,
    /// Settings with which the port starts it; `None`: it runs already.
    pub control: Option<CharControl>,
}

impl CharDevSettings {
    /// Returns the settings of the device at this path, which another program starts.
    #[must_use]
    pub fn new(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            control: None,
        }
    }

    fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = CharDevKeys::read(table, port, found);
        if let (Some(bitrate), Some(data)) = (keys.bitrate, keys.data_bitrate)
            && data < bitrate
        {
            table.wrong("data_bitrate", SLOW_DATA_PHASE, "", found);
        }
        let mut control = CharControl {
            bitrate: keys.bitrate.unwrap_or(0),
            data_bitrate: keys.data_bitrate,
            sample_point: keys.sample_point.unwrap_or(0),
            data_sample_point: keys.data_sample_point.unwrap_or(0),
            restart_ms: restart_ms(keys.restart),
            listen_only: keys.listen_only,
            one_shot: keys.one_shot,
            bus_errors: keys.bus_errors,
            by_priority: keys.order,
        };
        if keys.bitrate.is_none() {
            control.restart_ms = 0;
            if control != CharControl::default() {
                let hint = "add `bitrate`, such as \"500k\"; without it, the controller runs already \
                    and keeps its settings";
                table.missing("bitrate", hint, found);
            }
        }
        Self {
            device: keys.device,
            control: keys.bitrate.is_some().then_some(control),
        }
    }
}

/// Opens the device and starts it.
///
/// # Errors
/// A sentence that describes what is wrong.
fn open(settings: &CharDevSettings) -> Result<(CharDevice, CharInfo), String> {
    let name = &settings.device;
    let device = CharDevice::open(name).map_err(|error| match error {
        linux::chardev::OpenError::System { path, what, source } => {
            format!("{path} {what}: {source}")
        }
        other => other.to_string(),
    })?;
    let info = |device: &CharDevice| {
        device
            .info()
            .map_err(|error| format!("{name} does not answer: {error}"))
    };
    let found = info(&device)?;
    let Some(control) = &settings.control else {
        if found.control.is_none() {
            return Err(format!(
                "{name} was never started: add `bitrate`, and the port starts it"
            ));
        }
        return Ok((device, found));
    };
    let controller = &found.controller;
    for (wanted, can, what) in [
        (
            control.data_bitrate.is_some(),
            found.fd,
            "FD: leave `data_bitrate` out",
        ),
        (control.listen_only, found.listen_only, "`listen_only`"),
        (control.one_shot, found.one_shot, "`one_shot`"),
    ] {
        if wanted && !can {
            return Err(format!("the {controller} of {name} cannot do {what}"));
        }
    }
    match device.start(control) {
        Ok(()) => {}
        Err(Errno::BUSY) => {
            let now = found.control.map_or(0, |control| control.bitrate);
            return Err(format!(
                "{name} runs with other settings, at {now} bit/s: give the same, or leave \
                 `bitrate` out to use the present ones"
            ));
        }
        Err(Errno::INVAL) => {
            return Err(format!(
                "the {controller} of {name} cannot do {} bit/s, or its bus has another bit rate; the \
                 kernel's log may give the reason",
                control.bitrate
            ));
        }
        Err(error) => return Err(format!("{name} cannot be started: {error}")),
    }
    let started = info(&device)?;
    Ok((device, started))
}

impl PortSettings for CharDevSettings {
    fn passes(&self, kind: Kind) -> FramePassage {
        match (&self.control, kind) {
            // Another program has set it up.
            (None, Kind::Fd) => FramePassage::Open,
            (None, _) => FramePassage::by_data_phase(kind, false),
            (Some(control), _) => FramePassage::by_data_phase(kind, control.data_bitrate.is_some()),
        }
    }

    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn stand_in(&self, _: SimulatedPlace<'_>) -> StandIn {
        let node = NodeStandIn::new(&self.device, QUEUE);
        let Some(control) = &self.control else {
            return StandIn::Node(node);
        };
        StandIn::Node(NodeStandIn {
            rate: BitRate::new(control.bitrate, control.data_bitrate).ok(),
            listen_only: control.listen_only,
            one_shot: control.one_shot,
            restart: (control.restart_ms > 0).then(|| u64::from(control.restart_ms) * 1_000_000),
            ..node
        })
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let hint = "use one port: a port both receives and sends";
        Some(ExclusiveResource::new(&self.device, hint))
    }

    fn describe(&self) -> String {
        let mut words = format!("character device {}", self.device);
        let Some(control) = &self.control else {
            words.push_str(", as it was started");
            return words;
        };
        words.push_str(&format!(" at {} bit/s", control.bitrate));
        if let Some(data) = control.data_bitrate {
            words.push_str(&format!(", FD at {data} bit/s"));
        }
        for (set, text) in [
            (control.listen_only, ", listens only"),
            (control.one_shot, ", tries each frame once"),
            (
                control.by_priority,
                ", waiting frames leave by CAN priority",
            ),
        ] {
            if set {
                words.push_str(text);
            }
        }
        words
    }

    fn open(&self, port: &str, _: &mut PortOpener) -> Result<Halves, PortError> {
        let fail = |what: String| PortError {
            port: port.to_owned(),
            what,
            source: None,
        };
        let (device, info) = open(self).map_err(fail)?;
        let settings = self.clone();
        let again: Open = Box::new(move || {
            let (device, _) = open(&settings)?;
            Ok(Arc::new(device) as Arc<dyn DeviceLine>)
        });
        let control = info.control.unwrap_or_default();
        let rules = TransmitRules {
            fd: control.data_bitrate.is_some(),
            listen_only: control.listen_only,
        };
        super::halves(port, &self.device, Arc::new(device), again, rules)
            .map_err(|error| fail(format!("{} does not support filters: {error}", self.device)))
    }
}
