//! A frame from a message of a database and values of its signals.

use console::Failure;
use e2e::{CounterSource, Protection, SendingCounter};
use frame::{FrameBuf, Header, Kind, flags};
use gateway::config::stated_protection;
use signals::{
    Decimal, MessageDatabase, MessageDefinition, SignalDefinition, SignalKind, SignalPresence,
};

/// The most names that a remark lists.
const MAX_NAMED: usize = 8;

/// A message with the values of its signals. Signals without a given value have the start value of
/// the database (`GenSigStartValue`), or raw 0; bits that no signal has are 0.
pub(crate) struct MadeMessage {
    header: Header,
    payload: Vec<u8>,
    protection: Option<(Protection, SendingCounter)>,
    remarks: Vec<String>,
}

impl MadeMessage {
    /// Makes the message of this name; each of `values` is `SIGNAL=VALUE`, where the value is a
    /// number, with or without the unit of the signal, or the name of a value.
    ///
    /// # Errors
    /// The database has no such message, signal or value, or the frame cannot have it.
    pub(crate) fn new(
        database: &MessageDatabase,
        name: &str,
        values: &[String],
    ) -> Result<Self, Failure> {
        let message = database.messages.iter().find(|known| known.name == name);
        let message = message.ok_or_else(|| {
            let names = database.messages.iter().map(|known| known.name.as_str());
            unknown(
                &format!("the database has no message `{name}`"),
                name,
                names,
            )
        })?;
        let mut remarks = Vec::new();
        let protection = match stated_protection(message) {
            None => None,
            Some(Ok(protection)) => Some((protection, SendingCounter::new(&protection))),
            Some(Err(why)) => {
                remarks.push(format!(
                    "{name} is sent without its end-to-end protection: {why}; set its signals by --signal"
                ));
                None
            }
        };
        let mut payload = vec![0; message.len];
        let set = write_values(message, values, protection.is_some(), &mut payload)?;
        let unset = write_start_values(message, &set, &mut payload);
        let is_zero = |name: &&str| protection.is_none() || !is_computed(message, name);
        let zero: Vec<&str> = unset.into_iter().filter(is_zero).collect();
        if !zero.is_empty() {
            remarks.push(format!(
                "signals of {name} that are not set are sent as raw 0: {}",
                list(&zero)
            ));
        }
        let (kind, flags) = match message.fd {
            None => (Kind::Classic, 0),
            Some(fd) if fd.brs == Some(false) => (Kind::Fd, 0),
            Some(_) => (Kind::Fd, flags::BRS),
        };
        let header = Header::new(kind, message.id, message.len).map_err(Failure::input)?;
        let mut made = Self {
            header: header.with_flags(flags),
            payload,
            protection,
            remarks,
        };
        made.check()?;
        Ok(made)
    }

    /// Returns what the user should know of the frame.
    pub(crate) fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Makes the next frame: the counter of its protection advances with each.
    pub(crate) fn make(&mut self, frame: &mut FrameBuf) {
        frame.reset(self.header);
        if let Some((protection, counter)) = &mut self.protection {
            // `check` has made sure that it can.
            let _ = protection.protect(
                self.header.id(),
                &mut self.payload,
                CounterSource::Own(counter),
            );
        }
        for (to, from) in frame.buffer_mut().iter_mut().zip(&self.payload) {
            *to = *from;
        }
    }

    /// Checks that the protection can be written into the payload.
    fn check(&mut self) -> Result<(), Failure> {
        let Some((protection, _)) = &self.protection else {
            return Ok(());
        };
        let mut counter = SendingCounter::new(protection);
        let mut payload = self.payload.clone();
        let counter = CounterSource::Own(&mut counter);
        let written = protection.protect(self.header.id(), &mut payload, counter);
        written.map(drop).map_err(|why| {
            Failure::Input(format!(
                "the end-to-end protection of the message cannot be written: {why}"
            ))
        })
    }
}

/// Returns whether the protection of a message computes this signal.
fn is_computed(message: &MessageDefinition, signal: &str) -> bool {
    let e2e = message.e2e.as_ref();
    let own = e2e.map(|e2e| [&e2e.crc_signal, &e2e.counter_signal]);
    own.into_iter().flatten().flatten().any(|own| own == signal)
}

/// Writes the given values; returns the indices of their signals.
fn write_values(
    message: &MessageDefinition,
    values: &[String],
    is_protected: bool,
    payload: &mut [u8],
) -> Result<Vec<usize>, Failure> {
    let mut set: Vec<usize> = Vec::new();
    for text in values {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Failure::Input(format!(
                "--signal {text}: write SIGNAL=VALUE, such as EngineSpeed=1500"
            ))
        })?;
        let (name, value) = (name.trim(), value.trim());
        let index = message.signals.iter().position(|known| known.name == name);
        let found = index.and_then(|index| Some((index, message.signals.get(index)?)));
        let (index, signal) = found.ok_or_else(|| {
            let names = message.signals.iter().map(|known| known.name.as_str());
            unknown(
                &format!("message {} has no signal `{name}`", message.name),
                name,
                names,
            )
        })?;
        if is_protected && is_computed(message, name) {
            return Err(Failure::Input(format!(
                "signal {name} is computed by the end-to-end protection of {}: leave it out",
                message.name
            )));
        }
        if let Some(other) = overlapping(message, &set, index) {
            return Err(Failure::Input(match other == name {
                true => format!("signal {name} is set twice"),
                false => format!("signals {other} and {name} share bits: set one of them"),
            }));
        }
        let bits = bits_of(signal, value)?;
        signal.field.write(payload, bits);
        set.push(index);
    }
    check_switches(message, &set, payload)?;
    Ok(set)
}

/// Returns the name of a signal that is set and shares bits with this one.
fn overlapping<'m>(message: &'m MessageDefinition, set: &[usize], index: usize) -> Option<&'m str> {
    let signal = message.signals.get(index)?;
    let mut others = set.iter().filter_map(|other| message.signals.get(*other));
    let other = others.find(|other| other.field.shares_bits(&signal.field))?;
    Some(&other.name)
}

/// Checks that each multiplexed signal that is set has its switch set to a value that selects it.
fn check_switches(
    message: &MessageDefinition,
    set: &[usize],
    payload: &[u8],
) -> Result<(), Failure> {
    for index in set {
        let Some(signal) = message.signals.get(*index) else {
            continue;
        };
        for switch in message.switches(*index) {
            let Some(definition) = message.signals.get(switch.index) else {
                continue;
            };
            let value = definition.field.read(payload);
            if !set.contains(&switch.index) || !value.is_some_and(|value| switch.has(value)) {
                let first = switch.values.first().map_or(0, |range| *range.start());
                let value = definition.physical(definition.raw_of(first));
                return Err(Failure::Input(format!(
                    "signal {} is in frames with certain values of {} only: add --signal {}={value}",
                    signal.name, definition.name, definition.name
                )));
            }
        }
    }
    Ok(())
}

/// Writes the start values of signals that are not set; returns the names of those that have none.
fn write_start_values<'m>(
    message: &'m MessageDefinition,
    set: &[usize],
    payload: &mut [u8],
) -> Vec<&'m str> {
    let mut zero = Vec::new();
    for (index, signal) in message.signals.iter().enumerate() {
        // What a multiplexed signal's bits mean depends on its switch, which is then set.
        let is_free = signal.presence == SignalPresence::Always
            && !set.contains(&index)
            && overlapping(message, set, index).is_none();
        if !is_free {
            continue;
        }
        let start = signal.substitutes.start;
        let bits = start.and_then(|start| match signal.kind {
            SignalKind::Unsigned | SignalKind::Signed => signal.bits_of_raw(start.to_i128()?),
            // The raw value of a float is the number itself.
            SignalKind::Float32 | SignalKind::Float64 => {
                let is_plain = signal.factor == Decimal::ONE && signal.offset.is_zero();
                is_plain.then(|| signal.bits_of(start).ok()).flatten()
            }
        });
        match bits {
            Some(bits) => {
                signal.field.write(payload, bits);
            }
            None => zero.push(signal.name.as_str()),
        }
    }
    zero
}

/// Returns the bits of a value as text.
fn bits_of(signal: &SignalDefinition, text: &str) -> Result<u64, Failure> {
    let name = &signal.name;
    let named = signal.value_names.iter().find(|named| named.name == text);
    if let Some(bits) = named.and_then(|named| signal.bits_of_raw(named.raw)) {
        return Ok(bits);
    }
    let Some((number, unit)) = number_and_unit(text) else {
        let names: Vec<&str> = signal
            .value_names
            .iter()
            .map(|named| named.name.as_str())
            .collect();
        let values = match names.is_empty() {
            true => String::new(),
            false => format!(", or one of {}", list(&names)),
        };
        return Err(Failure::Input(format!(
            "signal {name}: `{text}` is not a value: give a number{values}"
        )));
    };
    let own = signal.unit.trim();
    if !unit.is_empty() && unit != own {
        return Err(Failure::Input(match own {
            "" => format!("signal {name} has no unit: write {name}={number}"),
            own => format!(
                "signal {name} has the unit {own}, and not {unit}: convert the number, or leave the unit out"
            ),
        }));
    }
    let wrong =
        |why: &dyn std::fmt::Display| Failure::Input(format!("signal {name}={text}: {why}"));
    let (low, high) = signal.range;
    let is_stated = !(low.is_zero() && high.is_zero());
    let is_outside = |bound: Decimal, order| number.checked_cmp(bound) == Some(order);
    if is_stated
        && (is_outside(low, std::cmp::Ordering::Less)
            || is_outside(high, std::cmp::Ordering::Greater))
    {
        return Err(wrong(&format_args!(
            "the database allows {low} to {high}{}{own}",
            if own.is_empty() { "" } else { " " }
        )));
    }
    signal.bits_of(number).map_err(|why| wrong(&why))
}

/// Splits a text into the longest number at its start, and the rest; `None` if it does not begin
/// with a number.
fn number_and_unit(text: &str) -> Option<(Decimal, &str)> {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let ends: Vec<usize> = ends.collect();
    ends.into_iter().rev().find_map(|end| {
        let (number, unit) = text.split_at_checked(end)?;
        Some((number.parse().ok()?, unit.trim()))
    })
}

/// Returns the failure for a name that does not exist, with the most similar one that does.
fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> Failure {
    let hint = config::did_you_mean(name, known);
    match hint.is_empty() {
        true => Failure::input(what),
        false => Failure::Input(format!("{what}: {hint}")),
    }
}

fn list(names: &[&str]) -> String {
    let shown = names.iter().take(MAX_NAMED).copied();
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
