//! `kind = "virtio"`: a virtual machine.

use super::function::FunctionState;
use super::halves::halves;
use crate::controllers::{RightsText, identifiers, registry};
use crate::keys::queue;
use crate::kind::{ExclusiveResource, FramePassage, PortSettings, port_kind};
use crate::{Halves, PortError, PortOpener};
use ::virtio::{DeviceOptions, VirtioDevice};
use bus::vcontroller::{BudgetUnit, FunctionRights, IdRule, SendBudget};
use config::{Diagnostics, TomlTable, read};
use frame::{Kind, Nanos};
use linux::EventSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

port_kind! {
    /// The kind of virtual machines, by the virtio CAN device.
    VirtioPorts = "virtio", [VirtioKeys::key_specs(), ShareKeys::key_specs()].concat(), |_, table, found| VirtioSettings::parse(table, found);
}

config::settings! {
    /// The keys of a port to a virtual machine.
    struct VirtioKeys {
        /// The Unix socket between the gateway and the machine's monitor. A relative path starts at
        /// the working directory.
        socket: String = String::new() => read::text(), value "path", default "required",
            needed "add `socket = \"/run/cangate/vm1.sock\"`, to which the machine's monitor connects",
            not "path" "chardev" "socket_path" "interface";
        /// `true`: the monitor listens at the socket (QEMU: `server=on,wait=on`), and the port
        /// tries to connect until it succeeds, so both can start in any order. `false`: the port
        /// listens.
        connect: bool = false => read::boolean(),
            not "client" "mode";
        /// The device offers CAN FD to the machine.
        fd: bool = true => read::boolean(), not "can_fd" "canfd";
        /// FD frames from the machine are sent with BRS. virtio CAN has no bit for BRS and ESI, so
        /// the machine does not see them either.
        brs: bool = true => read::boolean(), not "bitrate_switch" "bit_rate_switch";
        /// Number of frames that wait while the machine has no buffer for them.
        queue: u32 = 256 => queue();
        /// The port accepts memory that the monitor can shrink: a file (`memory-backend-file`), or
        /// a memory file without `F_SEAL_SHRINK`. If the monitor shrinks it, SIGBUS ends the
        /// gateway. By default, the port refuses such memory and reports the reason.
        unsealed: bool = false => read::boolean();
    }
}

config::settings! {
    /// The keys of a machine that shares a controller.
    struct ShareKeys {
        /// The machine is a virtual function of `[controllers.NAME]`.
        controller: Option<String> = None => read::text(), value "name",
            not "shares" "bus";
        /// Identifiers that the machine receives, in hex: `"123"`, `"100-1FF"`, `"120:7F0"`
        /// (ID:MASK), `"18FEF100"` (8 digits: 29 bits). With an empty list, it receives nothing.
        receive: Option<Vec<IdRule>> = None => identifiers(), value "list", default "everything",
            not "rx" "receives" "hear";
        /// Identifiers that the machine may send. Other frames fail and are counted.
        send: Option<Vec<IdRule>> = None => identifiers(), value "list", default "everything",
            not "tx" "sends" "transmit";
        /// The rate of frames that the machine may send: `"200/s"`. Frames above it wait. Failed
        /// attempts count, too.
        budget: Option<(u32, Nanos)> = None => read::rate(), default "none";
        /// The same in bits on the wire: `"50000/s"`. A machine can have `budget` or `bit_budget`.
        bit_budget: Option<(u32, Nanos)> = None => read::rate(), default "none";
        /// The frames or bits that the machine may send at once after a pause.
        burst: Option<u32> = None => read::integer(1..=u32::MAX),
            value "number", default "1 frame, or 700 bits";
        /// The longest delay of the notification that a frame was sent, while other frames of the
        /// machine wait for the bus. `"0ms"`: no delay.
        coalesce: Nanos = COALESCE => read::duration(), default "`\"5ms\"`",
            not "moderation" "tx_usecs_irq";
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
        let keys = ShareKeys::read(table, found);
        if keys.budget.is_some() && keys.bit_budget.is_some() {
            let message =
                "`budget` counts frames, and `bit_budget` bits: one machine has one of them";
            table.wrong("bit_budget", message, "", found);
        }
        let Some(controller) = keys.controller else {
            if ShareKeys::NAMES.iter().any(|key| table.has(key)) {
                let hint = "add `controller = \"NAME\"`: rights, budgets and `coalesce` need a \
                            controller";
                table.missing("controller", hint, found);
            }
            return None;
        };
        let (unit, burst) = match keys.bit_budget {
            Some(_) => (BudgetUnit::Bits, LONGEST_FRAME),
            None => (BudgetUnit::Frames, ONE_FRAME),
        };
        let budget = keys
            .budget
            .or(keys.bit_budget)
            .map(|(amount, per)| SendBudget {
                unit,
                amount,
                per,
                burst: keys.burst.unwrap_or(burst),
            });
        Some(Self {
            controller,
            rights: RightsText {
                receive: keys.receive,
                send: keys.send,
            },
            budget,
            coalesce: keys.coalesce,
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
            words.push_str(&format!(", learns of its sent frames within {ms} ms"));
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
        let keys = VirtioKeys::read(table, found);
        let shares = ControllerShare::parse(table, found);
        Self {
            socket: PathBuf::from(keys.socket),
            connect: keys.connect,
            options: DeviceOptions {
                fd: keys.fd,
                brs: keys.brs,
                late_ack: shares.is_some(),
                coalesce: shares.as_ref().map_or(0, |shares| shares.coalesce),
                unsealed: keys.unsealed,
            },
            shares,
            queue: keys.queue,
        }
    }
}

impl PortSettings for VirtioSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let name = self.socket.display().to_string();
        Some(ExclusiveResource::new(name, "one machine has one socket"))
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
