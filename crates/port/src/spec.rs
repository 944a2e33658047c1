//! The table of a port in `gateway.toml`: `[ports.NAME]`.

use crate::clients::ClientSettings;
use crate::faults::PortFaults;
use crate::kind::{LONGEST_NAME, PortKind, PortSettings};
use crate::kinds::PortKinds;
use crate::messages::MessageSettings;
use crate::opener::PortOpener;
use crate::queueing::QueueSettings;
use crate::{Halves, PortError};
use config::{Diagnostic, Diagnostics, KeyMisnomer, SpannedValue, TomlTable};
use std::sync::Arc;

/// Names of `kind` in python-can and other tools.
const MISNOMERS: &[KeyMisnomer] = &[KeyMisnomer::new(
    "kind",
    &["type", "bustype", "bus_type", "driver", "backend", "class"],
)];

/// A port as the configuration describes it. Two equal specs need no new port after a reload.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// The port's name: letters, digits, `_`, `-` and `.`, at most [`LONGEST_NAME`].
    pub name: String,
    /// The settings of its kind.
    pub settings: Arc<dyn PortSettings>,
    /// Faults to inject; none where absent.
    pub faults: Option<PortFaults>,
    /// Rules of the transmit queue; where absent, the kind's own queue is used.
    pub queueing: Option<QueueSettings>,
    /// The names of what passes it. They do not count when specs are compared: a port with other
    /// names stays open.
    pub messages: MessageSettings,
    /// The rights of clients of a running gateway. They do not count when specs are compared,
    /// either.
    pub clients: ClientSettings,
}

impl PartialEq for PortSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && *self.settings == *other.settings
            && self.faults == other.faults
            && self.queueing == other.queueing
    }
}

impl PortSpec {
    /// Returns a port with these settings, without injected faults.
    pub fn new(name: impl Into<String>, settings: impl PortSettings + 'static) -> Self {
        Self {
            name: name.into(),
            settings: Arc::new(settings),
            faults: None,
            queueing: None,
            messages: MessageSettings::default(),
            clients: ClientSettings::default(),
        }
    }

    /// Reads the table `[ports.NAME]`. Errors are added to `found`; if the kind or the name is
    /// wrong, there is no port.
    #[must_use]
    pub fn parse(
        name: &SpannedValue<&str>,
        mut table: TomlTable<'_>,
        kinds: &PortKinds,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        table.rename(format!("port `{}`", name.value));
        let named = check_name(name, found);
        table.misnomers(MISNOMERS);
        table.misnomers(QueueSettings::MISNOMERS);
        let Some(value) = table.get("kind") else {
            // Report only the errors that are certain without the kind.
            if table.report_misnomers(found) {
                return None;
            }
            // python-can: `interface` is the kind, and `channel` the interface.
            if let Some(word) = table.get("interface")
                && let Some(kind) = word.as_str().and_then(|word| kinds.keyword_like(word))
            {
                let message = format!("{} needs `kind`", table.place());
                let hint = format!(
                    "write `kind = \"{kind}\"`; `interface` is the name of a Linux interface, such as \
                     \"can0\""
                );
                word.wrong(message, hint, found);
                return None;
            }
            let hint = format!("add `kind = …`, one of {}", kinds.list());
            table.missing("kind", &hint, found);
            return None;
        };
        // Without a kind it is unknown which keys belong here: report nothing about them.
        let kind = kinds.named(&value, found)?;
        Self::of_kind(name, named, kind, table, found)
    }

    /// Reads the table of a port whose kind is known by the table's place, as [`PortSpec::parse`]
    /// does.
    #[must_use]
    pub fn parse_as(
        keyword: &str,
        name: &SpannedValue<&str>,
        mut table: TomlTable<'_>,
        kinds: &PortKinds,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        table.rename(format!("{keyword} `{}`", name.value));
        let named = check_name(name, found);
        let kind = kinds.placed(keyword, name, found)?;
        Self::of_kind(name, named, kind, table, found)
    }

    fn of_kind(
        name: &SpannedValue<&str>,
        named: bool,
        kind: &dyn PortKind,
        mut table: TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let settings = kind.parse(name.value, &mut table, found);
        let queueing = QueueSettings::parse(&mut table, &*settings, found);
        let messages = MessageSettings::read(&mut table, found);
        let clients = ClientSettings::read(&mut table, found);
        let faults = PortFaults::parse(name.value, &mut table, found);
        table.finish(found);
        named.then(|| Self {
            name: name.value.to_owned(),
            settings,
            faults,
            queueing,
            messages,
            clients,
        })
    }

    /// Opens the port, with its transmit queue and its faults.
    ///
    /// # Errors
    /// [`PortError`] names what is wrong or missing, and the remedy.
    pub fn open(&self, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let mut halves = self.settings.open(&self.name, opener)?;
        if let (Some(queueing), Some(size)) = (self.queueing, self.settings.transmit_queue()) {
            halves = queueing.wrap(halves, size);
        }
        match &self.faults {
            None => Ok(halves),
            Some(faults) => faults.inject(&self.name, halves),
        }
    }

    /// Returns the Linux CAN interface that the kernel can serve instead of this port. A port with
    /// [a feature](PortSpec::needs_process) that the kernel does not have is served by this process
    /// only.
    #[must_use]
    pub fn interface(&self) -> Option<&str> {
        match self.needs_process() {
            None => self.settings.interface(),
            Some(_) => None,
        }
    }

    /// Returns the feature of this port that the kernel does not have, as words that follow the
    /// port's name. `None` where there is none.
    #[must_use]
    pub fn needs_process(&self) -> Option<String> {
        if self.faults.is_some() {
            return Some(format!("injects faults ([ports.{}.faults])", self.name));
        }
        let keys = self.queueing?.keys().join("`, `");
        Some(format!("has `{keys}` for its transmit queue"))
    }

    /// Returns a description for `cangate check`: one line, and further lines for a transmit queue
    /// with rules and for each side with faults.
    #[must_use]
    pub fn describe(&self) -> String {
        let faults = self.faults.as_ref().map(PortFaults::describe);
        let queueing = self.queueing.as_ref().map(QueueSettings::describe);
        format!(
            "{}: {}{}{}{}",
            self.name,
            self.settings.describe(),
            queueing.unwrap_or_default(),
            faults.unwrap_or_default(),
            if self.clients.inject {
                "\n  clients of the control socket may send by it (cangate send --to)"
            } else {
                ""
            }
        )
    }
}

fn check_name(name: &SpannedValue<&str>, found: &mut Diagnostics) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let bad = if name.value.is_empty() {
        "a port's name cannot be empty".to_owned()
    } else if name.value.len() > LONGEST_NAME {
        format!("a port's name has at most {LONGEST_NAME} characters")
    } else if let Some(c) = name.value.chars().find(|&c| !allowed(c)) {
        format!("a port's name cannot contain {c:?}")
    } else {
        return true;
    };
    let hint = "use letters, digits, `_`, `-` and `.`";
    found.push(Diagnostic::error(name.span.clone(), bad).hint(hint));
    false
}
