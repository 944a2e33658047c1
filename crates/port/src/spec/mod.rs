//! What `gateway.toml` says about ports: `[ports.NAME]`.
//!
//! One file per kind. A new kind is a new file, a variant of [`PortKind`] and a row in `KINDS`.

mod bus;
mod log;
mod socketcan;

pub use bus::BusSpec;
pub use log::{LogSpec, Pace, Place};
pub use socketcan::SocketCanSpec;

use config::{At, Diagnostic, Diagnostics, Table};

/// The longest name of a port, in bytes.
pub const LONGEST_NAME: usize = 32;

/// The most frames that a port's queue may hold.
pub const LONGEST_QUEUE: u32 = 65_536;

/// A port as the configuration describes it. Two equal specs need no new port after a reload.
#[derive(Clone, PartialEq, Debug)]
pub struct PortSpec {
    /// Its name: letters, digits, `_`, `-` and `.`, at most [`LONGEST_NAME`].
    pub name: String,
    /// What it is attached to.
    pub kind: PortKind,
}

/// What a port is attached to.
#[derive(Clone, PartialEq, Debug)]
pub enum PortKind {
    /// A Linux CAN interface, by a raw socket.
    SocketCan(SocketCanSpec),
    /// A bus of the embedded bus model.
    Bus(BusSpec),
    /// A candump log as source, sink or both.
    Log(LogSpec),
}

#[derive(Clone, Copy)]
enum Kind {
    SocketCan,
    Bus,
    Log,
}

const KINDS: [(&str, Kind); 3] = [
    ("socketcan", Kind::SocketCan),
    ("bus", Kind::Bus),
    ("log", Kind::Log),
];

impl PortKind {
    /// The kind as the configuration names it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SocketCan(_) => "socketcan",
            Self::Bus(_) => "bus",
            Self::Log(_) => "log",
        }
    }
}

impl PortSpec {
    /// Reads the table `[ports.NAME]`. What is wrong is added to `found`; where the kind or the
    /// name is wrong there is no port.
    #[must_use]
    pub fn parse(name: &At<&str>, mut table: Table<'_>, found: &mut Diagnostics) -> Option<Self> {
        table.rename(format!("port `{}`", name.value));
        let named = check_name(name, found);
        let Some(value) = table.get("kind") else {
            let names = KINDS.map(|(name, _)| format!("\"{name}\"")).join(", ");
            table.missing("kind", &format!("add `kind = …`, one of {names}"), found);
            return None;
        };
        // Without a kind nobody knows which keys belong here: say nothing about them.
        let kind = value.one_of(&KINDS, found)?.value;
        let kind = match kind {
            Kind::SocketCan => {
                PortKind::SocketCan(SocketCanSpec::parse(name.value, &mut table, found))
            }
            Kind::Bus => PortKind::Bus(BusSpec::parse(name.value, &mut table, found)),
            Kind::Log => PortKind::Log(LogSpec::parse(&mut table, found)),
        };
        table.finish(found);
        named.then(|| Self {
            name: name.value.to_owned(),
            kind,
        })
    }

    /// One line in words, for `cangate check`.
    #[must_use]
    pub fn describe(&self) -> String {
        let what = match &self.kind {
            PortKind::SocketCan(spec) => spec.describe(),
            PortKind::Bus(spec) => spec.describe(),
            PortKind::Log(spec) => spec.describe(),
        };
        format!("{}: {what}", self.name)
    }
}

fn check_name(name: &At<&str>, found: &mut Diagnostics) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let bad = if name.value.is_empty() {
        "a port's name cannot be empty".to_owned()
    } else if name.value.len() > LONGEST_NAME {
        format!("a port's name has at most {LONGEST_NAME} characters")
    } else if let Some(c) = name.value.chars().find(|&c| !allowed(c)) {
        format!("a port's name cannot hold {c:?}")
    } else {
        return true;
    };
    let hint = "use letters, digits, `_`, `-` and `.`";
    found.push(Diagnostic::error(name.span.clone(), bad).hint(hint));
    false
}

/// `queue`: how many frames wait where the other side has no room.
fn queue(table: &mut Table<'_>, default: u32, found: &mut Diagnostics) -> u32 {
    table
        .integer("queue", 1..=i64::from(LONGEST_QUEUE), found)
        .map_or(default, |n| n.value as u32)
}

#[cfg(test)]
mod tests;
