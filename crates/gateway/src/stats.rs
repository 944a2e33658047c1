//! The counters of a gateway, wherever its routes run.

use engine::{CounterSnapshot, LinkState, Stops};
use serde::{Deserialize, Serialize};

/// The counters of a gateway: the answer to
/// [`Request::GatewayStats`](crate::control::ControlRequest::Stats).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GatewayStats {
    /// The counters of the ports and routes that ran in this process.
    #[serde(flatten)]
    pub process: CounterSnapshot,
    /// Time since the gateway started, in ns. `at_ns` is a time of day where the gateway runs in
    /// real time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uptime_ns: u64,
    /// The routes that run in the kernel; their frames are in no port's counters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelPart>,
    /// The Linux interfaces of ports, as the kernel reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceRow>,
    /// The messages of the routes that select IDs, by the databases of the gateway file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<RouteMessages>,
}

/// The messages that a route carries.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RouteMessages {
    /// The route.
    pub route: String,
    /// The first of its messages with their IDs, and the number of the others.
    pub messages: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The Linux interface of a port, as the kernel reports it. Its counters start when the port is
/// opened, or when its routes are put into the kernel; they count the frames of all programs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InterfaceRow {
    /// The port.
    pub port: String,
    /// Its interface.
    pub interface: String,
    /// Whether only routes in the kernel use it: this process has not opened it.
    pub in_kernel: bool,
    /// The state of the interface on its bus; `None` where the kernel could not be asked.
    pub state: Option<LinkState>,
    /// Frames that the interface received. This and the next three counters are `None` if there is
    /// no such interface, or if it is no longer the same interface as at first.
    pub received: Option<u64>,
    /// Frames that the interface sent.
    pub sent: Option<u64>,
    /// Frames received for which the kernel had no space.
    pub receive_dropped: Option<u64>,
    /// Frames that the interface did not accept.
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
    /// The nominal bit rate of its controller, bit/s, if the driver reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitrate: Option<u32>,
    /// The bit rate of the controller's data phase, bit/s, if it is set up for FD frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_bitrate: Option<u32>,
    /// The controller, where the interface has one whose driver reports on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerRow>,
    /// Frames received that no route can take, and that the kernel's filters therefore kept from
    /// this process: [`NOT_ASKED_FOR`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_asked_for: Option<u64>,
    /// The reason why the number of frames that such filters kept back is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_asked_for_unknown: Option<String>,
}

/// The driver's report on a CAN controller. The counters start when the port is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ControllerRow {
    /// The transmit error counter (TEC) at the moment.
    pub transmit_errors: u64,
    /// The receive error counter (REC) at the moment.
    pub receive_errors: u64,
    /// Errors on the bus, where the driver reports each of them.
    pub bus_errors: u64,
    /// Number of times that the controller became error-passive.
    pub error_passive: u64,
    /// Number of times that the controller went bus-off.
    pub bus_off: u64,
    /// Arbitrations lost, where the driver reports each of them.
    pub arbitration_lost: u64,
    /// Number of times that the controller was restarted after bus-off.
    pub restarts: u64,
}

/// The reason for which frames never came to this process: no route can take them. It is not a
/// [`Fate`](engine::Fate), because these frames were not received.
pub const NOT_ASKED_FOR: UncountedReason = UncountedReason {
    key: "not_asked_for",
    words: "not asked for (filtered by the kernel)",
    explanation: "No route can take it, so the kernel was not asked for it.",
};

/// A reason for which frames are not among those received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncountedReason {
    /// Its key in JSON. It never changes: programs read it.
    pub key: &'static str,
    /// A short phrase for people.
    pub words: &'static str,
    /// The meaning, in one sentence.
    pub explanation: &'static str,
}

/// Routes that run in the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KernelPart {
    /// The mechanism: `bpf` or `can-gw`.
    pub how: String,
    /// Rules or programs that another process removed and that the gateway put back. Frames that
    /// passed in between were neither routed nor counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restored: u64,
    /// The routes, in the order of the file.
    pub routes: Vec<KernelRow>,
}

/// The counters of a route in the kernel, since the gateway was started.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct KernelRow {
    /// The name of the route.
    pub name: String,
    /// Frames that the route took; `None` where the kernel does not count all of them (can-gw).
    pub taken: Option<u64>,
    /// Copies that the outgoing interfaces accepted.
    pub sent: u64,
    /// Frames that the route did not send, by reason.
    #[serde(flatten)]
    pub stopped: Stops,
    /// Copies that an outgoing interface did not accept.
    pub failed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected text is the one that cangate wrote when these counters were part of the
    /// engine's snapshot.
    #[test]
    fn the_kernels_part_stands_last_and_keeps_its_keys() {
        let row = KernelRow {
            name: "r".into(),
            taken: None,
            sent: 7,
            stopped: Stops::from([1, 2, 3, 4, 5, 7, 8, 9]),
            failed: 6,
        };
        let stats = GatewayStats {
            process: CounterSnapshot::default(),
            uptime_ns: 0,
            kernel: vec![KernelPart {
                how: "bpf".into(),
                restored: 0,
                routes: vec![row],
            }],
            interfaces: Vec::new(),
            messages: Vec::new(),
        };
        let text = serde_json::to_string(&stats).unwrap();
        assert!(
            text.ends_with(
                r#","kernel":[{"how":"bpf","routes":[{"name":"r","taken":null,"sent":7,"dropped_by_rule":1,"rate_limited":2,"hop_limit":3,"too_long":4,"id_range":5,"signal_absent":7,"out_of_range":8,"e2e_wrong":9,"failed":6}]}]}"#
            ),
            "{text}"
        );
        let process = serde_json::to_string(&CounterSnapshot::default()).unwrap();
        let (start, _) = text.split_once(",\"kernel\"").unwrap();
        assert_eq!(format!("{start}}}"), process);
        assert_eq!(serde_json::from_str::<GatewayStats>(&text).unwrap(), stats);
        let without = GatewayStats::default();
        assert_eq!(serde_json::to_string(&without).unwrap(), process);
        assert_eq!(
            serde_json::from_str::<GatewayStats>(&process).unwrap(),
            without
        );
    }
}
