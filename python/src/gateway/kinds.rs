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
            "max_age",
            "nodes",
            "order",
            "queue",
            "restart",
            "when_full",
        ],
        ignored: &[
            "data_sample_point",
            "fd",
            "interface",
            "optimise",
            "qdisc_bypass",
            "receive",
            "receive_buffer",
            "sample_point",
            "transmit",
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
        ignored: &[],
    },
    PortKeys {
        kind: "log",
        used: &["database", "faults", "nodes"],
        ignored: &[
            "append",
            "format",
            "interface",
            "on_full",
            "origin",
            "pace",
            "read",
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
        ignored: &["bus_errors", "data_sample_point", "device", "sample_point"],
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
            "receive",
            "send",
            "socket",
            "unsealed",
        ],
    },
    PortKeys {
        kind: "shm",
        used: &["database", "faults", "nodes"],
        ignored: &["device", "poll", "socket"],
    },
    PortKeys {
        kind: "cannelloni",
        used: &["database", "faults", "nodes", "queue"],
        ignored: &["allow", "clients", "connect", "listen", "pack", "transport"],
    },
    PortKeys {
        kind: "socketcand",
        used: &["database", "faults", "nodes", "queue"],
        ignored: &["allow", "beacon", "clients", "connect", "listen", "name"],
    },
    PortKeys {
        kind: "slcan",
        used: &["bitrate", "database", "faults", "nodes", "queue"],
        ignored: &["allow", "clients", "connect", "listen"],
    },
    PortKeys {
        kind: "multicast",
        used: &["database", "faults", "nodes"],
        ignored: &["allow", "group", "hops", "interface", "port"],
    },
    PortKeys {
        kind: "ieee1722",
        used: &["database", "faults", "nodes"],
        ignored: &[
            "allow", "brief", "bus", "clock", "connect", "delay", "late", "listen", "max_age",
            "pack", "queue", "reports", "stream", "urgent", "version",
        ],
    },
];
