//! The kind of port, and its keys.

use super::halves;
use crate::kind::{FramePassage, PortSettings, SplitIds, port_kind};
use crate::{Halves, PortError, PortOpener, SimulatedPlace, StandIn};
use config::read::{self, by, later};
use config::{Diagnostic, Diagnostics, SpannedValue, TomlTable, TomlValue, ValueShape};
use frame::{CanId, Kind, Nanos};

port_kind! {
    /// The kind of ports that split and join frames.
    SplitPorts = "split", SplitKeys::key_specs(),
        |_, table, found| SplitSettings::parse(table, found);
}

/// The time in which the parts of a frame come: ten of them take 2.7 ms at 500 kbit/s without other
/// traffic.
const TIMEOUT: Nanos = 100_000_000;

/// The most pairs of identifiers.
const MOST_PAIRS: usize = 1024;

config::settings! {
    /// The keys of a port that splits and joins frames.
    struct SplitKeys<'t> {
        /// The ID of each FD frame that is split, and the ID of its parts; parts with that ID are
        /// joined to the FD frame: `{ "300" = "700" }`. Three digits are SFF, eight EFF.
        parts: Option<TomlValue<'t>> = None
            => later(|| ValueShape::Named(Box::new(ValueShape::Text))),
            value "table of IDs", default "required",
            needed "add `parts = { \"300\" = \"700\" }`: the FD frame's ID, and its parts' ID",
            not "ids" "split" "frames" "segments" "map";
        /// The longest time from the first part of a frame to the last one. After it, the parts
        /// that came are dropped.
        timeout: Nanos = TIMEOUT => by(|| ValueShape::Duration, timeout),
            value "duration", default "`\"100ms\"`", not "max_age" "join_timeout" "reassembly_timeout";
        /// Number of made frames that wait for the routes. A frame whose parts have no room is
        /// refused as a whole.
        queue: u32 = 1024 => read::integer(16..=crate::LONGEST_QUEUE), not "buffer" "backlog";
    }
}

fn timeout(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Nanos> {
    let time = value.duration(found)?.value;
    if time == 0 {
        value.wrong("a timeout of 0 joins nothing", "write \"100ms\"", found);
    }
    (time > 0).then_some(time)
}

/// The settings of a port that splits and joins frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitSettings {
    /// The frames. No identifier is in it twice.
    pub pairs: Vec<SplitIds>,
    /// The longest time from the first part of a frame to the last one, ns.
    pub timeout: Nanos,
    /// Number of made frames that wait.
    pub queue: u32,
}

impl SplitSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = SplitKeys::read(table, found);
        let pairs = keys.parts.map(|value| pairs(&value, found));
        Self {
            pairs: pairs.unwrap_or_default(),
            timeout: keys.timeout,
            queue: keys.queue,
        }
    }
}

fn pairs(value: &TomlValue<'_>, found: &mut Diagnostics) -> Vec<SplitIds> {
    let Some(table) = value.table("`parts`", found) else {
        return Vec::new();
    };
    let all = table.all();
    if all.is_empty() || all.len() > MOST_PAIRS {
        let message = format!("`parts` has {} pairs of IDs", all.len());
        value.wrong(message, format!("it needs 1 to {MOST_PAIRS}"), found);
        return Vec::new();
    }
    let mut known: Vec<CanId> = Vec::new();
    let mut pairs = Vec::new();
    for (whole, parts) in all {
        let whole = id(&whole, found).map(|id| (id, whole.span.clone()));
        let parts = parts.string(found);
        let parts = parts.and_then(|text| Some((id(&text, found)?, text.span)));
        let (Some(whole), Some(parts)) = (whole, parts) else {
            continue;
        };
        for (id, span) in [&whole, &parts] {
            if known.contains(id) {
                let message = format!("ID {id} is in `parts` twice");
                let hint = "each FD frame and its parts need IDs of their own";
                found.push(Diagnostic::error(span.clone(), message).hint(hint));
            }
            known.push(*id);
        }
        pairs.push(SplitIds {
            whole: whole.0,
            parts: parts.0,
        });
    }
    pairs
}

/// Reads an identifier in hex: up to three digits are 11 bits, eight are 29.
fn id(text: &SpannedValue<&str>, found: &mut Diagnostics) -> Option<CanId> {
    let digits = text.value;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex);
    let id = match (number, digits.len()) {
        (Some(number), 1..=3) => CanId::sff(number).ok(),
        (Some(number), 8) => CanId::eff(number).ok(),
        _ => None,
    };
    if id.is_none() {
        let message = format!("`{digits}` is not an ID");
        let hint = "write \"123\" or \"18FEF100\" (29 bits: 8 digits), in hex";
        found.push(Diagnostic::error(text.span.clone(), message).hint(hint));
    }
    id
}

impl PortSettings for SplitSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let pairs = self.pairs.iter();
        let pairs = pairs.map(|pair| format!("\n  FD {} and its parts {}", pair.whole, pair.parts));
        format!(
            "FD frames as classic parts, and back; all parts within {} ms{}",
            self.timeout as f64 / 1e6,
            pairs.collect::<String>()
        )
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        FramePassage::by_data_phase(kind, true)
    }

    fn made_ids(&self) -> Option<Vec<CanId>> {
        let pairs = self.pairs.iter();
        Some(pairs.flat_map(|pair| [pair.whole, pair.parts]).collect())
    }

    fn stand_in(&self, _: SimulatedPlace<'_>) -> StandIn {
        StandIn::Itself
    }

    fn split_ids(&self) -> Vec<SplitIds> {
        self.pairs.clone()
    }

    fn open(&self, _port: &str, _opener: &mut PortOpener) -> Result<Halves, PortError> {
        Ok(halves::halves(
            &self.pairs,
            self.timeout,
            self.queue as usize,
        ))
    }
}
