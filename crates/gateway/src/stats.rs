//! What a gateway has counted, wherever its routes run.

use engine::{LinkState, Snapshot, Stops};
use serde::{Deserialize, Serialize};

/// What a gateway has counted: the answer to [`Request::Stats`](crate::control::Request::Stats).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    /// What ran in this process.
    #[serde(flatten)]
    pub process: Snapshot,
    /// How long the gateway runs, ns. `at_ns` is a time of day where the gateway runs in real time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uptime_ns: u64,
    /// What runs in the kernel; its frames are in no port's numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelPart>,
    /// The Linux interfaces of ports, as the kernel sees them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceRow>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The Linux interface of a port, as the kernel sees it. Its counters began when the port was
/// opened, or when its routes were put into the kernel; they count all programs' frames.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InterfaceRow {
    /// The port.
    pub port: String,
    /// Its interface.
    pub interface: String,
    /// Only routes in the kernel use it: this process has not opened it.
    pub in_kernel: bool,
    /// How it takes part in its bus; none where the kernel could not be asked.
    pub state: Option<LinkState>,
    /// Frames that the interface received; none of the four where there is no such interface, or
    /// where it is another one than at first.
    pub received: Option<u64>,
    /// Frames that the interface sent.
    pub sent: Option<u64>,
    /// Frames received for which the kernel had no room.
    pub receive_dropped: Option<u64>,
    /// Frames that the interface did not take.
    pub send_dropped: Option<u64>,
    /// Payload bytes of the frames received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
    /// Payload bytes of the frames sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Errors that the driver counted on receiving.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_errors: Option<u64>,
    /// Errors that the driver counted on sending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_errors: Option<u64>,
    /// The controller, where the interface has one whose driver tells of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerRow>,
    /// [`NOT_ASKED_FOR`]: frames received that no route can take, and that the kernel's filters
    /// therefore kept from this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_asked_for: Option<u64>,
    /// There are such filters, and this is why it is not known how many frames they kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_asked_for_unknown: Option<String>,
}

/// What the driver tells of a CAN controller. Counters began when the port was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ControllerRow {
    /// TEC, at the moment.
    pub transmit_errors: u64,
    /// REC, at the moment.
    pub receive_errors: u64,
    /// Errors on the bus, where the driver reports each.
    pub bus_errors: u64,
    /// Times that it became error-passive.
    pub error_passive: u64,
    /// Times that it went bus-off.
    pub bus_off: u64,
    /// Arbitrations lost, where the driver reports each.
    pub arbitration_lost: u64,
    /// Times that it was restarted after bus-off.
    pub restarts: u64,
}

/// What became of frames that never came to this process because no route can take them. It is no
/// [`Fate`](engine::Fate): these frames were not received.
pub const NOT_ASKED_FOR: Uncounted = Uncounted {
    key: "not_asked_for",
    words: "not asked for (filtered by the kernel)",
    explanation: "No route can take it, so the kernel was not asked for it.",
};

/// A reason for which frames are not among those received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uncounted {
    /// Its key in JSON. It never changes: programs read it.
    pub key: &'static str,
    /// A short phrase for people.
    pub words: &'static str,
    /// What it means, in one sentence.
    pub explanation: &'static str,
}

/// Routes that run in the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KernelPart {
    /// How: `bpf` or `can-gw`.
    pub how: String,
    /// Rules or programs that somebody else took away, and that the gateway put back. What passed
    /// in between was not routed, and nobody has counted it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restored: u64,
    /// In the order of the file.
    pub routes: Vec<KernelRow>,
}

/// The numbers of a route in the kernel, since the gateway was started.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KernelRow {
    /// The route.
    pub name: String,
    /// Frames that it took; none where the kernel does not count all of them (can-gw).
    pub taken: Option<u64>,
    /// Copies that outgoing interfaces took.
    pub sent: u64,
    /// Frames that it did not send, by reason.
    #[serde(flatten)]
    pub stopped: Stops,
    /// Copies that an outgoing interface did not take.
    pub failed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text is what cangate wrote when these numbers were part of the engine's snapshot.
    #[test]
    fn the_kernels_part_stands_last_and_keeps_its_keys() {
        let row = KernelRow {
            name: "r".into(),
            taken: None,
            sent: 7,
            stopped: Stops::from([1, 2, 3, 4, 5]),
            failed: 6,
        };
        let stats = Stats {
            process: Snapshot::default(),
            uptime_ns: 0,
            kernel: vec![KernelPart {
                how: "bpf".into(),
                restored: 0,
                routes: vec![row],
            }],
            interfaces: Vec::new(),
        };
        let text = serde_json::to_string(&stats).unwrap();
        assert!(
            text.ends_with(
                r#","kernel":[{"how":"bpf","routes":[{"name":"r","taken":null,"sent":7,"dropped_by_rule":1,"rate_limited":2,"hop_limit":3,"too_long":4,"id_range":5,"failed":6}]}]}"#
            ),
            "{text}"
        );
        let process = serde_json::to_string(&Snapshot::default()).unwrap();
        let (start, _) = text.split_once(",\"kernel\"").unwrap();
        assert_eq!(format!("{start}}}"), process);
        assert_eq!(serde_json::from_str::<Stats>(&text).unwrap(), stats);
        let without = Stats::default();
        assert_eq!(serde_json::to_string(&without).unwrap(), process);
        assert_eq!(serde_json::from_str::<Stats>(&process).unwrap(), without);
    }
}
