//! `kind = "virtio"`: a virtual machine.

use super::function::FunctionState;
use super::halves::halves;
use crate::controllers::{RightsText, registry};
use crate::kind::{FramePassage, PlacedPort, PortKind, PortSettings, queue, queue_key};
use crate::{Halves, PortError, PortOpener};
use ::virtio::{DeviceOptions, VirtioDevice};
use config::{Diagnostic, Diagnostics, KeyMisnomer, KeySpec, TomlTable, ValueShape};
use frame::{Kind, Nanos};
use linux::EventSet;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use vcontroller::{BudgetUnit, FunctionRights, IdRule, SendBudget};

/// The kind of virtual machines, by the virtio CAN device.
#[derive(Clone, Copy, Debug)]
pub struct VirtioPorts;

const KEYWORD: &str = "virtio";

/// Default number of frames that can wait for a machine's buffers.
const QUEUE: u32 = 256;

const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of("socket", &["path", "chardev", "socket_path", "interface"]),
    KeyMisnomer::of("connect", &["client", "mode"]),
    KeyMisnomer::of("controller", &["shares", "bus"]),
    KeyMisnomer::of("receive", &["rx", "receives", "hear"]),
    KeyMisnomer::of("send", &["tx", "sends", "transmit"]),
    KeyMisnomer::of("fd", &["can_fd", "canfd"]),
    KeyMisnomer::of("brs", &["bitrate_switch", "bit_rate_switch"]),
    KeyMisnomer::of("coalesce", &["moderation", "tx_usecs_irq", "tx-usecs-irq"]),
];

impl PortKind for VirtioPorts {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn keys(&self) -> Option<Vec<KeySpec>> {
        let ids = || ValueShape::OneOrList(Box::new(ValueShape::Text));
        Some(vec![
            KeySpec::new(
                "socket",
                ValueShape::Text,
                "The Unix socket between the gateway and the machine's monitor.",
            )
            .needed(),
            KeySpec::new(
                "connect",
                ValueShape::Flag,
                "The monitor listens, and the port connects. Default false.",
            ),
            KeySpec::new(
                "fd",
                ValueShape::Flag,
                "The machine is offered CAN FD. Default true.",
            ),
            KeySpec::new(
                "brs",
                ValueShape::Flag,
                "FD frames of the machine leave with BRS. Default true.",
            ),
            KeySpec::new(
                "unsealed",
                ValueShape::Flag,
                "The machine's memory may be a file, which its monitor can shrink: that ends the gateway. Default false.",
            ),
            queue_key("Frames that wait while the machine has no buffer for them. Default 256."),
            KeySpec::new(
                "controller",
                ValueShape::Text,
                "The [controllers.NAME] of which the machine is a virtual function.",
            ),
            KeySpec::new(
                "receive",
                ids(),
                "Identifiers that the machine receives. Default: everything.",
            ),
            KeySpec::new(
                "send",
                ids(),
                "Identifiers that it may send. Default: everything.",
            ),
            KeySpec::new(
                "budget",
                ValueShape::Rate,
                "Frames that it may send: \"200/s\".",
            ),
            KeySpec::new(
                "bit_budget",
                ValueShape::Rate,
                "Bits on the wire that it may send: \"50000/s\".",
            ),
            KeySpec::new(
                "burst",
                ValueShape::Integer(1..=i64::from(u32::MAX)),
                "What it may send at once after a pause.",
            ),
            KeySpec::new(
                "coalesce",
                ValueShape::Duration,
                "How much later it may hear that a frame was sent, while others of its frames wait. Default \"5ms\"; \"0ms\": at once.",
            ),
        ])
    }

    fn parse(
        &self,
        _port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        Arc::new(VirtioSettings::parse(table, found))
    }

    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let mut taken: HashMap<&PathBuf, &str> = HashMap::new();
        for port in ports {
            let Some(settings) = port.settings.downcast_ref::<VirtioSettings>() else {
                continue;
            };
            if let Some(other) = taken.insert(&settings.socket, port.name) {
                let socket = settings.socket.display();
                let message = format!("ports `{other}` and `{}` both have {socket}", port.name);
                let hint = "one machine has one socket";
                found.push(Diagnostic::error(port.span.clone(), message).hint(hint));
            }
        }
    }
}

/// The settings of a virtual machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VirtioSettings {
    /// Socket to which its monitor connects; a relative path starts at the working directory.
    pub socket: PathBuf,
    /// Whether the monitor listens there instead, and the port connects.
    pub connect: bool,
    /// The controller that it shares with other machines, and its rights there.
    pub shares: Option<ControllerShare>,
    /// The options of the device that the machine is offered.
    pub options: DeviceOptions,
    /// Number of frames that can wait for the machine's buffers.
    pub queue: u32,
}

/// The settings of a machine that shares a controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControllerShare {
    /// The controller: `[controllers.NAME]`.
    pub controller: String,
    /// Identifiers that the machine receives and may send.
    pub rights: RightsText,
    /// Share of the bus that the machine may use.
    pub budget: Option<SendBudget>,
    /// Maximum delay of the notification that a frame was sent, ns ([`DeviceOptions::coalesce`]).
    pub coalesce: Nanos,
}

/// Default of `coalesce`, ns: about 40 of the longest classic frames at 1 Mbit/s.
pub(super) const COALESCE: Nanos = 5_000_000;

/// Default burst, frames: one frame at once after a pause.
const ONE_FRAME: u32 = 1;
/// Default burst, bits: about the longest FD frame.
const LONGEST_FRAME: u32 = 700;

impl ControllerShare {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Option<Self> {
        let controller = table.string("controller", found);
        let rights = RightsText::parse(table, found);
        let frames = table.get("budget").and_then(|value| value.rate(found));
        let bits = table.get("bit_budget").and_then(|value| value.rate(found));
        let burst = table.integer("burst", 1..=i64::from(u32::MAX), found);
        let coalesce = table.get("coalesce");
        if let (Some(_), Some(bits)) = (&frames, &bits) {
            let message =
                "`budget` counts frames, and `bit_budget` bits: one machine has one of them";
            found.push(Diagnostic::error(bits.span.clone(), message));
        }
        let Some(controller) = controller else {
            if rights != RightsText::default()
                || frames.is_some()
                || bits.is_some()
                || burst.is_some()
                || coalesce.is_some()
            {
                let hint = "add `controller = \"NAME\"`: rights, budgets and `coalesce` are those of a machine at a controller";
                table.missing("controller", hint, found);
            }
            return None;
        };
        let unit = if bits.is_some() {
            BudgetUnit::Bits
        } else {
            BudgetUnit::Frames
        };
        let usual = if bits.is_some() {
            LONGEST_FRAME
        } else {
            ONE_FRAME
        };
        let budget = frames.or(bits).map(|rate| SendBudget {
            unit,
            amount: rate.value.0,
            per: rate.value.1,
            burst: burst.map_or(usual, |burst| burst.value as u32),
        });
        Some(Self {
            controller: controller.value.to_owned(),
            rights,
            budget,
            coalesce: coalesce
                .and_then(|value| value.duration(found))
                .map_or(COALESCE, |time| time.value),
        })
    }

    fn rights(&self) -> FunctionRights {
        let all = || vec![IdRule::ALL];
        FunctionRights {
            receive: self.rights.receive.clone().unwrap_or_else(all),
            send: self.rights.send.clone().unwrap_or_else(all),
            budget: self.budget,
        }
    }

    fn describe(&self) -> String {
        let mut words = format!("; shares controller {}", self.controller);
        for (list, verb) in [
            (&self.rights.receive, "receives"),
            (&self.rights.send, "sends"),
        ] {
            match list.as_deref() {
                None => {}
                Some([]) => words.push_str(&format!(", {verb} nothing")),
                Some(_) => words.push_str(&format!(", {verb} some identifiers only")),
            }
        }
        if let Some(budget) = self.budget {
            let what = if budget.unit == BudgetUnit::Bits {
                "bits"
            } else {
                "frames"
            };
            let (amount, ms) = (budget.amount, budget.per as f64 / 1e6);
            words.push_str(&format!(", at most {amount} {what} in {ms} ms"));
        }
        if self.coalesce != COALESCE {
            let ms = self.coalesce as f64 / 1e6;
            words.push_str(&format!(", hears of its frames within {ms} ms"));
        }
        words
    }
}

/// The event set that all machines of a gateway have in common.
#[derive(Default)]
struct CommonEvents(Option<Arc<EventSet>>);

impl CommonEvents {
    fn set(&mut self) -> io::Result<Arc<EventSet>> {
        let set = match self.0.take() {
            Some(set) => set,
            None => EventSet::new()?,
        };
        Ok(Arc::clone(self.0.insert(set)))
    }
}

impl VirtioSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        table.misnomers(MISNOMERS);
        let socket = table.string("socket", found);
        if socket.is_none() && !table.report_misnomers(found) {
            let hint =
                "add `socket = \"/run/cangate/vm1.sock\"`, to which the machine's monitor connects";
            table.missing("socket", hint, found);
        }
        let shares = ControllerShare::parse(table, found);
        let fd = table.flag("fd", true, found);
        Self {
            socket: socket
                .map(|path| PathBuf::from(path.value))
                .unwrap_or_default(),
            connect: table.flag("connect", false, found),
            options: DeviceOptions {
                fd,
                brs: table.flag("brs", true, found),
                late_ack: shares.is_some(),
                coalesce: shares.as_ref().map_or(0, |shares| shares.coalesce),
                unsealed: table.flag("unsealed", false, found),
            },
            shares,
            queue: queue(table, QUEUE, found),
        }
    }
}

impl PortSettings for VirtioSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let kinds = match (self.options.fd, self.options.brs) {
            (false, _) => "classic frames only",
            (true, true) => "its FD frames with BRS",
            (true, false) => "its FD frames without BRS",
        };
        let listens = if self.connect {
            ", where its monitor listens"
        } else {
            ""
        };
        let unsealed = if self.options.unsealed {
            ", whose memory may shrink"
        } else {
            ""
        };
        format!(
            "virtual machine at {}{listens}{unsealed}, {kinds}{}",
            self.socket.display(),
            self.shares
                .as_ref()
                .map(ControllerShare::describe)
                .unwrap_or_default()
        )
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        match kind {
            Kind::Classic => FramePassage::Yes,
            // The machine may accept the offer or not.
            Kind::Fd if self.options.fd => FramePassage::Open,
            Kind::Fd | Kind::Xl => FramePassage::No,
        }
    }

    fn needs(&self) -> Option<(&'static str, &str)> {
        let shares = self.shares.as_ref()?;
        Some(("controller", &shares.controller))
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let fail = |what: String, source: Option<&dyn std::error::Error>| PortError {
            port: port.to_owned(),
            what,
            source: source.map(|source| source.to_string().into()),
        };
        let set = opener.shared(CommonEvents::default).set();
        let set = set.map_err(|error| {
            fail(
                "the system has no more descriptors".to_owned(),
                Some(&error),
            )
        })?;
        let device = if self.connect {
            VirtioDevice::connect(&self.socket, self.options, &set)
        } else {
            VirtioDevice::bind(&self.socket, self.options, &set)
                .map_err(|error| fail(error.to_string(), std::error::Error::source(&error)))?
        };
        let function = match &self.shares {
            None => None,
            Some(shares) => {
                let function =
                    registry(opener).function(&shares.controller, port, device.events())?;
                Some(FunctionState::new(function, shares.rights()))
            }
        };
        Ok(halves(device, self.queue as usize, function))
    }
}
