//! The kinds of port, and their keys.

/// A kind of port of gateway files.
pub(super) struct PortKeys {
    /// The value of `kind`.
    pub(super) kind: &'static str,
    /// The keys that also mean something for a node of a bus, all but `kind`.
    pub(super) used: &'static [&'static str],
    /// The keys that tell how a port reaches its hardware, its peer or its file.
    pub(super) ignored: &'static [&'static str],
}

impl PortKeys {
    /// Returns the kind of this name.
    pub(super) fn find(kind: &str) -> Option<&'static Self> {
        ALL.iter().find(|keys| keys.kind == kind)
    }

    /// Returns whether ports of this kind have this key, and it is used.
    pub(super) fn uses(&self, key: &str) -> bool {
        self.used.contains(&key)
    }
}

/// All kinds. `python/tests/test_gateway.py` compares them with docs/gateway.schema.json.
pub(super) const ALL: &[PortKeys] = &[
    PortKeys {
        kind: "socketcan",
        used: &[
            "bitrate",
            "data_bitrate",
            "database",
            "faults",
            "listen_only",
            "max_age",
            "nodes",
            "one_shot",
            "order",
            "queue",
            "restart",
            "when_full",
        ],
        ignored: &[
            "bus_errors",
            "data_sample_point",
            "data_sjw",
            "fd",
            "inject",
            "interface",
            "len8_dlc",
            "loopback",
            "match",
            "non_iso",
            "optimise",
            "presume_ack",
            "qdisc_bypass",
            "receive",
            "receive_buffer",
            "sample_point",
            "sjw",
            "tdc",
            "termination",
            "transmit",
            "triple_sampling",
            "txqueuelen",
            "xl",
        ],
    },
    PortKeys {
        kind: "bus",
        used: &[
            "bitrate",
            "bus",
            "data_bitrate",
            "database",
            "faults",
            "mailboxes",
            "max_age",
            "nodes",
            "order",
            "queue",
            "when_full",
        ],
        ignored: &["inject"],
    },
    PortKeys {
        kind: "log",
        used: &["database", "faults", "nodes"],
        ignored: &[
            "append",
            "format",
            "inject",
            "interface",
            "on_full",
            "origin",
            "pace",
            "pause",
            "read",
            "repeat",
            "rotate",
            "write",
        ],
    },
    PortKeys {
        kind: "direct",
        used: &[
            "bitrate",
            "data_bitrate",
            "database",
            "faults",
            "listen_only",
            "nodes",
            "one_shot",
            "queue",
            "restart",
        ],
        ignored: &[
            "bus_errors",
            "channel",
            "data_sample_point",
            "device",
            "inject",
            "mode",
            "sample_point",
        ],
    },
    PortKeys {
        kind: "chardev",
        used: &[
            "bitrate",
            "data_bitrate",
            "database",
            "faults",
            "listen_only",
            "nodes",
            "one_shot",
            "order",
            "restart",
        ],
        ignored: &[
            "bus_errors",
            "data_sample_point",
            "device",
            "inject",
            "sample_point",
        ],
    },
    PortKeys {
        kind: "virtio",
        used: &["database", "faults", "nodes", "queue"],
        ignored: &[
            "bit_budget",
            "brs",
            "budget",
            "burst",
            "coalesce",
            "connect",
            "controller",
            "fd",
            "inject",
            "receive",
            "send",
            "socket",
            "unsealed",
        ],
    },
    PortKeys {
        kind: "shm",
        used: &["database", "faults", "nodes"],
        ignored: &["device", "inject", "poll", "socket"],
    },
    PortKeys {
        kind: "cannelloni",
        used: &["database", "faults", "nodes", "queue"],
        ignored: &[
            "allow",
            "clients",
            "connect",
            "dscp",
            "inject",
            "listen",
            "pack",
            "transport",
            "urgent",
        ],
    },
    PortKeys {
        kind: "socketcand",
        used: &["database", "faults", "nodes", "queue"],
        ignored: &[
            "allow", "beacon", "clients", "connect", "inject", "listen", "name",
        ],
    },
    PortKeys {
        kind: "slcan",
        used: &["bitrate", "database", "faults", "nodes", "queue"],
        ignored: &[
            "allow",
            "clients",
            "connect",
            "device",
            "inject",
            "listen",
            "serial_speed",
        ],
    },
    PortKeys {
        kind: "multicast",
        used: &["database", "faults", "nodes"],
        ignored: &["allow", "group", "hops", "inject", "interface", "port"],
    },
    PortKeys {
        kind: "ieee1722",
        used: &["database", "faults", "nodes"],
        ignored: &[
            "allow",
            "brief",
            "bus",
            "clock",
            "connect",
            "delay",
            "dscp",
            "inject",
            "interface",
            "late",
            "listen",
            "max_age",
            "max_transit",
            "pack",
            "peer",
            "queue",
            "reports",
            "returned",
            "stream",
            "timescale",
            "urgent",
            "version",
            "vlan_priority",
        ],
    },
];
