//! `kind = "chardev"`: a controller as a character device.

use super::line::DeviceLine;
use super::shared::Open;
use super::transmit::TransmitRules;
use crate::kind::{
    FramePassage, PlacedPort, PortKind, PortSettings, controller_keys, rate_keys, thousandths,
};
use crate::{Halves, PortError, PortOpener};
use config::{Diagnostic, Diagnostics, KeyMisnomer, KeySpec, TomlTable, ValueShape};
use frame::{Kind, Nanos};
use linux::Errno;
use linux::chardev::{CharControl, CharDevice, CharInfo};
use std::collections::HashMap;
use std::sync::Arc;

/// The kind of CAN controllers as character devices.
#[derive(Clone, Copy, Debug)]
pub struct CharDev;

const KEYWORD: &str = "chardev";

/// Values of `order`, each with whether frames leave by priority.
const ORDERS: [(&str, bool); 2] = [("fifo", false), ("priority", true)];

/// Default time from bus-off to the restart, ns.
const RESTART: Nanos = 100_000_000;
const MS: Nanos = 1_000_000;

const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of("device", &["interface", "path", "file", "iface", "dev"]),
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
    KeyMisnomer::of("order", &["queue_order", "priority", "sort"]),
];

impl PortKind for CharDev {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn keys(&self) -> Option<Vec<KeySpec>> {
        let own = vec![
            KeySpec::new(
                "device",
                ValueShape::Text,
                "The character device; by default /dev/ and the port's name.",
            ),
            KeySpec::new(
                "order",
                ValueShape::words(&ORDERS),
                "In which order frames leave that wait for the controller.",
            ),
        ];
        Some([own, rate_keys(), controller_keys()].concat())
    }

    fn parse(
        &self,
        port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        Arc::new(CharDevSettings::parse(port, table, found))
    }

    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let mut taken: HashMap<&str, &str> = HashMap::new();
        for port in ports {
            let Some(settings) = port.settings.downcast_ref::<CharDevSettings>() else {
                continue;
            };
            if let Some(other) = taken.insert(&settings.device, port.name) {
                let message = format!(
                    "ports `{other}` and `{}` are both {}",
                    port.name, settings.device
                );
                let hint = "use one port: a port both receives and sends";
                found.push(Diagnostic::error(port.span.clone(), message).hint(hint));
            }
        }
    }
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
        table.misnomers(MISNOMERS);
        let device = table.string("device", found);
        if let Some(path) = &device
            && !path.value.starts_with("/dev/")
        {
            let message = "`device` is the path of a character device";
            let hint =
                "write a path such as \"/dev/can0\"; a Linux interface is `kind = \"socketcan\"`";
            found.push(Diagnostic::error(path.span.clone(), message).hint(hint));
        }
        let bitrate = table.bitrate("bitrate", found);
        let data = table.bitrate("data_bitrate", found);
        if let (Some(bitrate), Some(data)) = (&bitrate, &data)
            && data.value < bitrate.value
        {
            let message = "the data phase cannot be slower than the arbitration phase";
            found.push(Diagnostic::error(data.span.clone(), message));
        }
        let sample_point = table.get("sample_point");
        let sample_point = sample_point.and_then(|value| thousandths(&value, found));
        let data_sample_point = table.get("data_sample_point");
        let data_sample_point = data_sample_point.and_then(|value| thousandths(&value, found));
        let restart = match table.get("restart") {
            None => Some(RESTART),
            Some(value) if value.as_str() == Some("never") => None,
            Some(value) => value.duration(found).map(|time| time.value),
        };
        let mut control = CharControl {
            bitrate: bitrate.as_ref().map_or(0, |rate| rate.value),
            data_bitrate: data.as_ref().map(|rate| rate.value),
            sample_point: sample_point.unwrap_or(0),
            data_sample_point: data_sample_point.unwrap_or(0),
            restart_ms: restart.map_or(0, |ns| u32::try_from(ns.div_ceil(MS)).unwrap_or(u32::MAX)),
            listen_only: table.flag("listen_only", false, found),
            one_shot: table.flag("one_shot", false, found),
            bus_errors: table.flag("bus_errors", false, found),
            by_priority: false,
        };
        control.by_priority = table
            .one_of("order", &ORDERS, found)
            .is_some_and(|order| order.value);
        let unstarted = CharControl {
            restart_ms: control.restart_ms,
            ..CharControl::default()
        };
        if bitrate.is_none() && control != unstarted {
            let hint = "add `bitrate`, such as \"500k\"; without it, the controller runs already and keeps \
                its settings";
            table.missing("bitrate", hint, found);
        }
        Self {
            device: device.map_or_else(|| format!("/dev/{port}"), |path| path.value.to_owned()),
            control: bitrate.is_some().then_some(control),
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
                "{name} runs with other settings, at {now} bit/s: give the same, or leave `bitrate` out \
                 and take it as it is"
            ));
        }
        Err(Errno::INVAL) => {
            return Err(format!(
                "the {controller} of {name} cannot do {} bit/s, or its bus has another bit rate; the \
                 kernel's log may say more",
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
            .map_err(|error| fail(format!("{} takes no filters: {error}", self.device)))
    }
}
