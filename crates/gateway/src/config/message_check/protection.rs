//! The end-to-end protection of messages: by `[e2e.NAME]`, or by the names of their signals.

use super::flow::{FlowSet, MessageFlow};
use crate::config::stated_protection::stated_protection;
use e2e::{CounterField, Protection};
use frame::CanId;
use signals::{MessageDefinition, SignalDefinition, SignalKind};
use std::collections::BTreeMap;

/// The protections by which routes with `verify` check the messages that they take.
pub(super) struct KnownProtections<'c>(BTreeMap<(&'c str, u32), KnownProtection<'c>>);

/// The protection of a message.
#[derive(Clone, Copy)]
pub(super) struct KnownProtection<'c> {
    /// The name in the gateway file; that of the message if only the database has it.
    pub(super) name: &'c str,
    /// The greatest distance of the counters of two frames.
    pub(super) max_delta: u32,
    pub(super) protection: Protection,
    place: ProtectionPlace<'c>,
}

/// The place that states a protection.
#[derive(Clone, Copy)]
enum ProtectionPlace<'c> {
    /// The route of the flow checks it.
    Own,
    /// The route of this name checks it.
    Route(&'c str),
    /// The attributes of the message in the database, from this line.
    Database(usize),
}

impl KnownProtection<'_> {
    /// Returns the counter.
    pub(super) fn counter(&self) -> Option<CounterField> {
        self.protection.counter_field()
    }

    /// Returns whether it is certain that receivers behind the route check it: the route itself
    /// does, or the database states it.
    pub(super) fn is_certain(&self) -> bool {
        !matches!(self.place, ProtectionPlace::Route(_))
    }

    /// Returns the name, and the place that states it if it is not the route.
    pub(super) fn words(&self) -> String {
        let name = self.name;
        match self.place {
            ProtectionPlace::Own => format!("protection `{name}`"),
            ProtectionPlace::Route(route) => {
                format!("protection `{name}`, by which route `{route}` checks it")
            }
            ProtectionPlace::Database(line) => {
                format!("the protection that line {line} of the database states")
            }
        }
    }
}

impl<'c> KnownProtections<'c> {
    pub(super) fn new(flows: &FlowSet<'c>) -> Self {
        let mut all = BTreeMap::new();
        for flow in flows.taken() {
            let place = ProtectionPlace::Route(flow.route.name.as_str());
            if let Some(one) = of_route(flow, place) {
                let key = (flow.database.name.as_str(), flow.message.id.raw());
                all.entry(key).or_insert(one);
            }
        }
        Self(all)
    }

    /// Returns the protection of a message: that of the route, that of the database, or that by
    /// which another route checks it.
    pub(super) fn find(&self, flow: &MessageFlow<'c>) -> Option<KnownProtection<'c>> {
        let key = (flow.database.name.as_str(), flow.message.id.raw());
        of_route(flow, ProtectionPlace::Own)
            .or_else(|| of_database(flow.message))
            .or_else(|| self.0.get(&key).copied())
    }
}

fn of_route<'c>(flow: &MessageFlow<'c>, place: ProtectionPlace<'c>) -> Option<KnownProtection<'c>> {
    let verify = flow.route.verify.as_ref()?;
    Some(KnownProtection {
        name: verify.name.as_str(),
        max_delta: verify.max_delta,
        protection: Protection::new(verify.settings).ok()?,
        place,
    })
}

/// Returns the protection that the attributes of a message state; `None` if they do not make one.
fn of_database(message: &MessageDefinition) -> Option<KnownProtection<'_>> {
    let protection = stated_protection(message)?.ok()?;
    Some(KnownProtection {
        name: message.name.as_str(),
        max_delta: 1,
        protection,
        place: ProtectionPlace::Database(message.e2e.as_ref()?.line),
    })
}

/// Returns the words of a name, in capitals: `MsgCRC_2` has MSG, CRC and 2.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let is_break = !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && was_lower);
        if is_break {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.push(c.to_ascii_uppercase());
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words
}

/// Returns the signal that is a checksum by its name: CHECKSUM and CRC, which opendbc's files and
/// those of many makes have.
pub(super) fn checksum_of(message: &MessageDefinition) -> Option<&SignalDefinition> {
    let is_sum = |word: &String| {
        word.contains("CHECKSUM") || matches!(word.as_str(), "CRC" | "CRC8" | "CRC16" | "CRC32")
    };
    let all = message.signals.iter();
    let mut found = all.filter(|signal| {
        matches!(signal.kind, SignalKind::Unsigned) && words(&signal.name).iter().any(is_sum)
    });
    let first = found.next();
    // Two checksums are of two protections, and what each of them covers is not known.
    first.filter(|signal| signal.layout.bits > 1 && found.next().is_none())
}

/// Returns the signal that is a sequence counter by its name, of a message that has a checksum by
/// its name.
pub(super) fn counter_of(message: &MessageDefinition) -> Option<&SignalDefinition> {
    checksum_of(message)?;
    let is_counter =
        |word: &String| word.contains("COUNTER") || word == "ALIVE" || word == "ROLLING";
    let all = message.signals.iter();
    let mut found = all.filter(|signal| {
        (2..=8).contains(&signal.layout.bits)
            && matches!(signal.kind, SignalKind::Unsigned)
            && words(&signal.name).iter().any(is_counter)
    });
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// Returns the bits of each byte of a payload that a signal has.
pub(super) fn bits_of(signal: &SignalDefinition, len: usize) -> Vec<u8> {
    // The signal with all bits set, in a payload of zeros.
    let mut payload = vec![0; len];
    let write = signals::FieldWrite {
        to: signal.field,
        source: signals::FieldSource::Constant(signal.field.mask()),
    };
    // A signal behind the end of the payload has no bits in it.
    let _ = signals::write_fields(&[write], &mut payload);
    payload
}

/// Returns the names of the signals that have a bit in common with these bytes.
pub(super) fn signals_in<'c>(message: &'c MessageDefinition, bits: &[u8]) -> Vec<&'c str> {
    let all = message.signals.iter();
    let shared = all.filter(|signal| {
        let own = bits_of(signal, bits.len());
        own.iter().zip(bits).any(|(a, b)| a & b != 0)
    });
    shared.map(|signal| signal.name.as_str()).collect()
}

/// Returns an ID without the flags that are not part of it.
pub(super) fn plain(id: CanId) -> u32 {
    id.raw() & (CanId::EFF_FLAG | CanId::EFF_MASK)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn names_have_words() {
        assert_eq!(words("MsgCRC_2"), ["MSG", "CRC", "2"]);
        assert_eq!(words("ALIVE_COUNTER"), ["ALIVE", "COUNTER"]);
        assert_eq!(words("EngCrc8"), ["ENG", "CRC8"]);
        assert_eq!(words("Ecrcomp"), ["ECRCOMP"]);
    }
}
