//! `order`, `max_age` and `when_full` of `[ports.NAME]`: the rules of the transmit queue.

use crate::{Halves, PortSettings};
use config::{Diagnostics, KeyMisnomer, KeySpec, TomlTable, TomlValue, ValueShape};
use engine::wrap::{QueueOrder, QueueRules, QueuedTransmitter, WhenFull, Witness};
use frame::Nanos;
use std::time::Duration;

/// The size of a port kind's transmit queue, so that another queue can replace it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSize {
    /// Maximum number of frames that wait; at least 1.
    pub frames: usize,
    /// Length of the longest possible payload, bytes.
    pub longest: usize,
}

/// The rules of a transmit queue, where the configuration of a port gives them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSettings {
    /// Order in which frames leave.
    pub order: QueueOrder,
    /// Maximum time that a frame waits, ns.
    pub max_age: Option<Nanos>,
    /// Rule for when the queue is full.
    pub when_full: WhenFull,
}

const ORDERS: [(&str, QueueOrder); 2] = [
    ("fifo", QueueOrder::Fifo),
    ("priority", QueueOrder::Priority),
];
const WHEN_FULL: [(&str, WhenFull); 3] = [
    ("refuse", WhenFull::Refuse),
    ("drop-oldest", WhenFull::DropOldest),
    ("wait", WhenFull::Wait),
];

/// Names of these keys in other tools.
pub(crate) const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of("order", &["queue_order", "discipline", "qdisc", "sort"]),
    KeyMisnomer::of("max_age", &["ttl", "max_delay", "lifetime", "expiry"]),
    KeyMisnomer::of("when_full", &["if_full", "overflow"]),
];

impl QueueSettings {
    /// Returns the keys with the rules of the queue, of kinds with a transmit queue.
    #[must_use]
    pub fn all_keys() -> Vec<KeySpec> {
        vec![
            KeySpec::new(
                "order",
                ValueShape::words(&ORDERS),
                "In which order frames leave: as they came, or the lowest ID first.",
            ),
            KeySpec::new(
                "max_age",
                ValueShape::Duration,
                "A frame that has waited so long is dropped and counted as expired.",
            ),
            KeySpec::new(
                "when_full",
                ValueShape::words(&WHEN_FULL),
                "What happens when a frame comes and the queue is full.",
            ),
        ]
    }

    /// Reads the keys. Returns `None` if they ask for nothing but the behaviour of the port's own
    /// queue.
    pub(crate) fn parse(
        table: &mut TomlTable<'_>,
        settings: &dyn PortSettings,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let keys = ["order", "max_age", "when_full"];
        if settings.transmit_queue().is_none() {
            // A kind may have such a key of its own.
            let not_its_own = keys.iter().filter(|key| !table.is_known(key));
            let not_its_own: Vec<&'static str> = not_its_own.copied().collect();
            for key in not_its_own {
                let Some(value) = table.get(key) else {
                    continue;
                };
                let message = format!("ports of kind \"{}\" have no `{key}`", settings.kind());
                let hint = "kinds that have it are \"socketcan\" and \"bus\": only there the frames \
                            that are to be sent wait in a queue of this process";
                value.wrong(message, hint, found);
            }
            return None;
        }
        let [order, max_age, when_full] = keys.map(|key| table.get(key));
        let order = order.and_then(|value| value.one_of(&ORDERS, found));
        let when_full = when_full.and_then(|value| value.one_of(&WHEN_FULL, found));
        let queueing = Self {
            order: order.map_or(QueueOrder::Fifo, |order| order.value),
            max_age: max_age.and_then(|value| age(&value, found)),
            when_full: when_full.map_or(WhenFull::Refuse, |rule| rule.value),
        };
        (!queueing.keys().is_empty()).then_some(queueing)
    }

    /// Returns the keys that differ from the behaviour of the port's own queue, as written in the
    /// file.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        if self.order != QueueOrder::Fifo {
            keys.push(key("order", word(&ORDERS, self.order)));
        }
        if let Some(age) = self.max_age {
            keys.push(key("max_age", &words(age)));
        }
        if self.when_full != WhenFull::Refuse {
            keys.push(key("when_full", word(&WHEN_FULL, self.when_full)));
        }
        keys
    }

    /// Returns a line for `cangate check`.
    pub(crate) fn describe(&self) -> String {
        let order = match self.order {
            QueueOrder::Fifo => "as they came",
            QueueOrder::Priority => "the highest priority first",
        };
        let age = self.max_age.map_or_else(String::new, |age| {
            format!("; one that has waited {} is dropped", words(age))
        });
        let full = match self.when_full {
            WhenFull::Refuse => "refuses new ones",
            WhenFull::DropOldest => match self.order {
                QueueOrder::Fifo => "drops the oldest",
                QueueOrder::Priority => "drops the oldest of the lowest priority",
            },
            WhenFull::Wait => "makes the ports wait from which routes lead here",
        };
        format!("\n  frames leave {order}{age}; a full queue {full}")
    }

    /// Returns the halves, with this queue in front of the transmitting one.
    #[must_use]
    pub fn in_front_of(&self, (rx, tx): Halves, size: QueueSize) -> Halves {
        (rx, Box::new(QueuedTransmitter::new(tx, self.rules(size))))
    }

    /// Returns the same, with `witness` notified of each frame that the queue gives up.
    #[must_use]
    pub fn in_front_of_watched(
        &self,
        (rx, tx): Halves,
        size: QueueSize,
        witness: Witness,
    ) -> Halves {
        let queued = QueuedTransmitter::new(tx, self.rules(size)).with_witness(witness);
        (rx, Box::new(queued))
    }

    /// Returns the rules of a queue of this size.
    #[must_use]
    pub const fn rules(&self, size: QueueSize) -> QueueRules {
        QueueRules {
            order: self.order,
            max_age: self.max_age,
            when_full: self.when_full,
            frames: size.frames,
            longest: size.longest,
        }
    }
}

fn key(key: &str, value: &str) -> String {
    format!("{key} = \"{value}\"")
}

fn word<T: Copy + PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    let mut names = names.iter();
    names
        .find(|(_, v)| *v == value)
        .map_or("", |(name, _)| name)
}

/// Formats a time as written in the file.
fn words(age: Nanos) -> String {
    format!("{:?}", Duration::from_nanos(age)).replace('µ', "u")
}

fn age(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Nanos> {
    let age = value.duration(found)?.value;
    if age == 0 {
        let hint =
            "no frame would ever be sent; leave `max_age` out, and frames wait as long as it takes";
        value.wrong("`max_age` must be above 0", hint, found);
        return None;
    }
    Some(age)
}
