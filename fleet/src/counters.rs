//! The fates of frames, and their sums.

use serde::{Deserialize, Serialize};

console::counters! {
    /// From the gateway to Zenoh.
    PublishCounters {
        /// Datagrams of the gateway that were read.
        datagrams,
        /// Datagrams of the gateway that did not arrive, by their numbers.
        missing,
        /// Datagrams of other streams (the gateway's reports, too), and messages of other buses.
        others,
        /// Datagrams that are not valid, or came twice.
        malformed,
        /// Frames in the datagrams that were read.
        received,
        /// Frames that the messages cannot express (CAN XL needs `version = 2`).
        unsupported,
        /// Frames for which the queue had no room.
        dropped,
        /// Frames that waited longer than `max_age` before they could be published.
        expired,
        /// Frames that Zenoh refused to publish.
        refused,
        /// Frames that Zenoh took.
        published,
        /// Frames that wait.
        waiting,
        /// Samples that Zenoh took.
        samples,
    }
}

console::counters! {
    /// From Zenoh to the gateway.
    DeliverCounters {
        /// Samples and statements that arrived.
        samples,
        /// Samples that are not valid, or contradict those before.
        malformed,
        /// Streams: runs of publishers.
        streams,
        /// Frames that the streams had sent before their first sample arrived here.
        before,
        /// Frames that were published and did not arrive, by their numbers.
        lost,
        /// Frames in the samples that arrived.
        arrived,
        /// Frames in samples that came twice.
        duplicate,
        /// Frames in samples that came after newer ones: left out, to keep the order.
        overtaken,
        /// Frames with identifiers that `accept` does not have.
        denied,
        /// Frames older than `max_age`, or as far in the future.
        expired,
        /// Frames that the messages to the gateway cannot express.
        unsupported,
        /// Frames that the gateway's socket did not take.
        unsent,
        /// Frames that were sent to the gateway.
        delivered,
    }
}

impl PublishCounters {
    /// Returns whether each frame that was received has one fate.
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        self.received
            == self.unsupported
                + self.dropped
                + self.expired
                + self.refused
                + self.published
                + self.waiting
    }
}

impl DeliverCounters {
    /// Returns whether each frame that arrived has one fate.
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        self.arrived
            == self.duplicate
                + self.overtaken
                + self.denied
                + self.expired
                + self.unsupported
                + self.unsent
                + self.delivered
    }

    /// Returns the number of frames that the publishers have published, as far as the numbers that
    /// arrived show.
    #[must_use]
    pub const fn known_of(&self) -> u64 {
        let sent = self.arrived.saturating_sub(self.duplicate);
        self.before.saturating_add(self.lost).saturating_add(sent)
    }
}

/// The counters of one bus.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
pub struct BusCounters {
    /// The vehicle.
    pub vehicle: String,
    /// The bus.
    pub bus: String,
    /// From the gateway to Zenoh; `None` if the bus does not publish.
    pub publish: Option<PublishCounters>,
    /// From Zenoh to the gateway; `None` if the bus does not receive.
    pub deliver: Option<DeliverCounters>,
}

impl BusCounters {
    /// Returns the counters as text: a line for each direction, without those that are 0.
    #[must_use]
    pub fn text(&self) -> String {
        let line = |way: &str, list: Vec<(&'static str, u64)>| {
            let shown = list.iter().filter(|(_, count)| *count > 0);
            let words: Vec<String> = shown
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            let words = if words.is_empty() {
                "nothing".to_owned()
            } else {
                words.join(", ")
            };
            format!("{}/{} {way}: {words}\n", self.vehicle, self.bus)
        };
        let publish = self
            .publish
            .map(|counters| line("publish", counters.list()));
        let deliver = self
            .deliver
            .map(|counters| line("deliver", counters.list()));
        publish.unwrap_or_default() + &deliver.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_text_and_json() {
        let counters = BusCounters {
            vehicle: "v1".to_owned(),
            bus: "can0".to_owned(),
            publish: Some(PublishCounters {
                received: 3,
                published: 3,
                ..Default::default()
            }),
            deliver: Some(DeliverCounters::default()),
        };
        let text = "v1/can0 publish: received 3, published 3\nv1/can0 deliver: nothing\n";
        assert_eq!(counters.text(), text);
        let json = serde_json::to_value(&counters).unwrap();
        assert_eq!(json["publish"]["published"], 3);
        assert_eq!(json["deliver"]["lost"], 0);
    }

    /// docs/fleet.md has each counter with its meaning.
    #[test]
    fn the_document_has_the_counters() {
        let document = include_str!("../../docs/fleet.md");
        let all = PublishCounters::ABOUT.iter().chain(DeliverCounters::ABOUT);
        let row = |(name, about): &(&str, &str)| {
            format!("| `{name}` | {} |", about.trim().trim_end_matches('.'))
        };
        let missing: Vec<String> = all.map(row).filter(|row| !document.contains(row)).collect();
        assert!(
            missing.is_empty(),
            "docs/fleet.md has not these rows:\n{}",
            missing.join("\n")
        );
    }
}
