//! What a gateway has counted, wherever its routes run.

use engine::{Snapshot, Stops};
use serde::{Deserialize, Serialize};

/// What a gateway has counted: the answer to [`Request::Stats`](crate::control::Request::Stats).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    /// What ran in this process.
    #[serde(flatten)]
    pub process: Snapshot,
    /// What runs in the kernel; its frames are in no port's numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelPart>,
}

/// Routes that run in the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KernelPart {
    /// How: `bpf` or `can-gw`.
    pub how: String,
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
            kernel: vec![KernelPart {
                how: "bpf".into(),
                routes: vec![row],
            }],
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
