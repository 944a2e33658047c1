//! The table `[gateway]`.

use config::{Diagnostic, Diagnostics, KeyMisnomer, KeySpec, TomlTable, TomlValue, ValueShape};
use route::RouteMode;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

/// can-gw's highest `max_hops` (`CGW_MAX_HOPS` of `net/can/gw.c`).
const MOST_HOPS: i64 = 6;

/// The real-time priority if the file sets none. A priority above 50, the usual one of threaded
/// interrupts, gains nothing, because the gateway waits for those interrupts.
const PRIORITY: u8 = 50;

/// The place where the routes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Offload {
    /// In this process.
    #[default]
    None,
    /// In the kernel, as rules of can-gw.
    CanGw,
    /// In the kernel, by BPF.
    Bpf,
    /// Each route where it is fastest and means the same ([`offload::choose`]).
    Auto,
}

impl fmt::Display for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::CanGw => "can-gw",
            Self::Bpf => "bpf",
            Self::Auto => "auto",
        })
    }
}

/// The options that concern the process as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessOptions {
    /// The path of the control socket as written; `None` for the default path.
    pub control: Option<String>,
    /// The address at which metrics are served by HTTP; `None` if they are not served.
    pub metrics: Option<SocketAddr>,
    /// The SCHED_FIFO priority to request, 1 to 99; `None` for ordinary scheduling. Default: 50.
    pub realtime: Option<u8>,
    /// Whether to lock the memory in use and the code of the frame path against being paged out,
    /// where that is allowed. Default: true.
    pub lock_memory: bool,
    /// The place where the routes run. Default: in this process.
    pub offload: Offload,
    /// Whether local programs, too, see frames that BPF routes. Default: false, because it costs a
    /// copy of each frame.
    pub tap: bool,
    /// Whether BPF counts the copies that an outgoing interface refuses. Default: false, because it
    /// costs a copy of each frame; without it, only the interface counts them.
    pub exact: bool,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        Self {
            control: None,
            metrics: None,
            realtime: Some(PRIORITY),
            lock_memory: true,
            offload: Offload::None,
            tap: false,
            exact: false,
        }
    }
}

/// The table `[gateway]`, with its settings for routes.
pub(super) struct GatewayTable {
    pub(super) options: ProcessOptions,
    pub(super) mode: RouteMode,
    pub(super) max_hops: u8,
}

/// Names of tables that are probably meant as `[gateway]`.
const FOR_GATEWAY: [&str; 8] = [
    "gateways", "options", "general", "global", "settings", "config", "daemon", "main",
];

/// Names that other programs use for the keys of `[gateway]`.
const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of("match", &["mode", "match_mode", "matching"])
        .hint("It is \"all\" or \"first\""),
    KeyMisnomer::of("max_hops", &["hops", "hop_limit", "ttl", "limit_hops"]),
    KeyMisnomer::of(
        "control",
        &["socket", "control_socket", "path", "unix_socket", "listen"],
    ),
    KeyMisnomer::of(
        "realtime",
        &[
            "priority",
            "prio",
            "rt",
            "rt_priority",
            "sched_fifo",
            "real_time",
        ],
    ),
    KeyMisnomer::of(
        "metrics",
        &[
            "prometheus",
            "openmetrics",
            "http",
            "exporter",
            "metrics_address",
        ],
    )
    .hint("It is a port, or an address and a port"),
    KeyMisnomer::of("lock_memory", &["mlock", "mlockall", "lock"]),
    KeyMisnomer::of(
        "offload",
        &["kernel", "can_gw", "bpf", "data_path", "accelerate"],
    )
    .hint("It is \"none\", \"can-gw\", \"bpf\" or \"auto\""),
];

/// Keys of `[gateway]` and of other tables that were written at the top level of the file.
pub(super) const TOP: &[KeyMisnomer] = &[
    KeyMisnomer::elsewhere(
        &[
            "match",
            "max_hops",
            "control",
            "metrics",
            "realtime",
            "offload",
            "tap",
            "exact",
            "lock_memory",
        ],
        "it is a key of [gateway]: write that header above it",
    ),
    KeyMisnomer::elsewhere(
        &["limit", "limits", "rate", "rate_limit"],
        "a limit is a key of a route: `limit = \"100/s\"` under [[routes]]",
    ),
    KeyMisnomer::elsewhere(
        &["filter", "filters", "id", "ids"],
        "a route says which frames it takes: `id` or `filter` under [[routes]]",
    ),
    KeyMisnomer::elsewhere(
        &["faults", "fault"],
        "faults are a port's: [ports.NAME.faults]",
    ),
];

const MATCHES: [(&str, RouteMode); 2] = [("all", RouteMode::All), ("first", RouteMode::First)];

const PLACES: [(&str, Offload); 4] = [
    ("none", Offload::None),
    ("can-gw", Offload::CanGw),
    ("bpf", Offload::Bpf),
    ("auto", Offload::Auto),
];

/// Returns the keys that [`parse`] reads.
pub(super) fn keys() -> Vec<KeySpec> {
    vec![
        KeySpec::new(
            "match",
            ValueShape::words(&MATCHES),
            "How many routes take a frame: every one that matches, or only the first.",
        ),
        KeySpec::new(
            "max_hops",
            ValueShape::Integer(1..=MOST_HOPS),
            "A frame that has passed this many gateways in the kernel is dropped. Default 1.",
        ),
        KeySpec::new(
            "control",
            ValueShape::Text,
            "The Unix socket for `cangate stats` and others; a relative path starts at $XDG_RUNTIME_DIR or /run/cangate.",
        ),
        KeySpec::new(
            "metrics",
            ValueShape::Any(vec![ValueShape::Integer(1..=65535), ValueShape::Text]),
            "Serves the counters for Prometheus: a port of the loopback interface, or \"ADDRESS:PORT\".",
        ),
        KeySpec::new(
            "realtime",
            ValueShape::Any(vec![ValueShape::Flag, ValueShape::Integer(1..=99)]),
            "Priority under SCHED_FIFO, or false. Default 50.",
        ),
        KeySpec::new(
            "offload",
            ValueShape::words(&PLACES),
            "Where routes run: in this process, by can-gw or BPF in the kernel, or each where it is fastest.",
        ),
        KeySpec::new(
            "tap",
            ValueShape::Flag,
            "Local programs also see frames that BPF routes. Default false.",
        ),
        KeySpec::new(
            "exact",
            ValueShape::Flag,
            "BPF counts copies that an outgoing interface refuses. Default false.",
        ),
        KeySpec::new(
            "lock_memory",
            ValueShape::Flag,
            "Locks the memory that is used, so that nothing is paged out. Default true.",
        ),
    ]
}

pub(super) fn parse(root: &mut TomlTable<'_>, found: &mut Diagnostics) -> GatewayTable {
    let mut gateway = GatewayTable {
        options: ProcessOptions::default(),
        mode: RouteMode::default(),
        max_hops: 1,
    };
    let mut table = root.table("gateway", "[gateway]", found);
    for word in FOR_GATEWAY {
        let hint = |_: &TomlValue<'_>| "did you mean [gateway]?".to_owned();
        let misnamed = root.misnamed(word, hint, found);
        let misnamed = misnamed.filter(TomlValue::is_table);
        table = table.or_else(|| misnamed?.table("[gateway]", found));
    }
    let Some(mut table) = table else {
        return gateway;
    };
    table.misnomers(MISNOMERS);
    if let Some(mode) = table.one_of("match", &MATCHES, found) {
        gateway.mode = mode.value;
    }
    if let Some(hops) = table.integer("max_hops", 1..=MOST_HOPS, found) {
        gateway.max_hops = hops.value as u8;
    }
    let options = &mut gateway.options;
    options.control = table.get("control").and_then(|v| control(&v, found));
    options.metrics = table.get("metrics").and_then(|v| metrics(&v, found));
    if let Some(value) = table.get("realtime") {
        options.realtime = realtime(&value, found);
    }
    if let Some(place) = table.one_of("offload", &PLACES, found) {
        options.offload = place.value;
        if place.value == Offload::Bpf
            && let Some(why) = offload::bpf::left_out()
        {
            let message = "`offload = \"bpf\"` is not in this build";
            let hint = format!("{why}; \"auto\" chooses between can-gw and this process");
            found.push(Diagnostic::error(place.span, message).hint(hint));
        }
    }
    options.tap = table.flag("tap", false, found);
    options.exact = table.flag("exact", false, found);
    options.lock_memory = table.flag("lock_memory", true, found);
    table.finish(found);
    gateway
}

/// The kernel's limit for the path of a socket: the size of `sun_path` in `struct sockaddr_un`,
/// less the final zero.
const LONGEST_PATH: usize = 107;

fn control(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let path = value.string(found)?.value;
    if path.is_empty() || path.contains('\0') {
        let hint = "name a socket, such as \"cangate.sock\", or leave it out";
        value.wrong("`control` names no socket", hint, found);
        return None;
    }
    if path.len() > LONGEST_PATH {
        let message = format!("the socket's path has {} bytes", path.len());
        value.wrong(message, format!("Linux allows {LONGEST_PATH}"), found);
        return None;
    }
    Some(path.to_owned())
}

/// Reads a port of the loopback interface, or an address and a port.
fn metrics(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<SocketAddr> {
    if value.as_integer().is_some() {
        let port = value.integer(1..=65535, found)?.value as u16;
        return Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let Some(text) = value.as_str() else {
        value.expected("a port, or an address and a port", found);
        return None;
    };
    let address = text.parse().ok();
    if address.is_none() {
        let hint = "write a port (9464: this machine only), or an address and a port, such as \"192.0.2.1:9464\" or \
                    \"[::1]:9464\"";
        value.wrong(format!("`{text}` is no address with a port"), hint, found);
    }
    address
}

fn realtime(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<u8> {
    match (value.as_bool(), value.as_integer()) {
        (Some(wanted), _) => wanted.then_some(PRIORITY),
        (_, Some(_)) => value.integer(1..=99, found).map(|n| n.value as u8),
        _ => {
            value.expected("a priority from 1 to 99, or false", found);
            None
        }
    }
}
