//! `order`, `max_age` and `when_full` of `[ports.NAME]`: the rules of the transmit queue.

use crate::{Halves, PortSettings};
use config::read::{self, by};
use config::{Diagnostics, TomlTable, TomlValue, ValueShape, word_of};
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

config::settings! {
    /// The rules of a transmit queue, where the configuration of a port gives them.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct QueueSettings {
        /// The order in which frames leave: in the order of arrival, or by priority as in
        /// arbitration (the lowest ID first; frames with the same ID in the order of arrival).
        pub order: QueueOrder = QueueOrder::Fifo => read::words(&ORDERS), default "`\"fifo\"`",
            not "queue_order" "discipline" "qdisc" "sort";
        /// A frame that has waited for this time is dropped and counted as *expired*, so that a bus
        /// that comes back gets no burst of old frames.
        ///
        /// In ns.
        pub max_age: Option<Nanos> = None => by(|| ValueShape::Duration, age),
            not "ttl" "max_delay" "lifetime" "expiry";
        /// What happens to a frame that meets a full queue.
        pub when_full: WhenFull = WhenFull::Refuse => read::words(&WHEN_FULL),
            value "see below", default "`\"refuse\"`", not "if_full" "overflow";
    }
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

impl QueueSettings {
    /// Reads the keys. Returns `None` if they ask for nothing but the behaviour of the port's own
    /// queue.
    pub(crate) fn parse(
        table: &mut TomlTable<'_>,
        settings: &dyn PortSettings,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        if settings.transmit_queue().is_some() {
            let queueing = Self::read(table, found);
            return (!queueing.keys().is_empty()).then_some(queueing);
        }
        table.misnomers(Self::MISNOMERS);
        for key in Self::NAMES {
            // A kind may have such a key of its own.
            if table.is_known(key) || table.get(key).is_none() {
                continue;
            }
            let message = format!("ports of kind \"{}\" have no `{key}`", settings.kind());
            let hint = "kinds that have it are \"socketcan\" and \"bus\": only there, frames to send \
                        wait in a queue of this process";
            table.wrong(key, message, hint, found);
        }
        None
    }

    /// Returns the keys that differ from the behaviour of the port's own queue, as written in the
    /// file.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        if self.order != QueueOrder::Fifo {
            keys.push(key("order", word_of(&ORDERS, &self.order)));
        }
        if let Some(age) = self.max_age {
            keys.push(key("max_age", &words(age)));
        }
        if self.when_full != WhenFull::Refuse {
            keys.push(key("when_full", word_of(&WHEN_FULL, &self.when_full)));
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
            WhenFull::Wait => "makes the source ports of its routes wait",
        };
        format!("\n  frames leave {order}{age}; a full queue {full}")
    }

    /// Returns the halves, with this queue in front of the transmitting one.
    #[must_use]
    pub fn wrap(&self, (rx, tx): Halves, size: QueueSize) -> Halves {
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
