//! The table `[gateway]`.

use config::read::{self, by};
use config::{Diagnostics, KeyMisnomer, KeySpec, TomlTable, TomlValue, ValueShape, word_of};
use route::RouteMode;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

/// can-gw's highest `max_hops` (`CGW_MAX_HOPS` of `net/can/gw.c`).
const MOST_HOPS: u8 = 6;

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

impl Offload {
    /// All places, each with its word in `gateway.toml`.
    const ALL: [(&'static str, Self); 4] = [
        ("none", Self::None),
        ("can-gw", Self::CanGw),
        ("bpf", Self::Bpf),
        ("auto", Self::Auto),
    ];
}

impl fmt::Display for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word_of(&Self::ALL, self))
    }
}

config::settings! {
    /// The options that concern the process as a whole.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct ProcessOptions {
        /// The Unix socket for `cangate stats` and `cangate reload`. A relative path starts at
        /// `$XDG_RUNTIME_DIR/cangate`, or at `/run/cangate`.
        ///
        /// The path as written; `None` for the default path.
        pub control: Option<String> = None => by(|| ValueShape::Text, control),
            value "path", default "from the file's name",
            not "socket" "control_socket" "path" "unix_socket" "listen";
        /// Serves the counters by HTTP for Prometheus: `http://127.0.0.1:PORT/metrics`. A port
        /// without an address listens on the loopback interface. A program that can connect can
        /// read the counters, but change nothing. See [metrics](guide.md#metrics).
        pub metrics: Option<SocketAddr> = None => by(addresses, metrics),
            value "port, or `\"ADDRESS:PORT\"`", default "none",
            not "prometheus" "openmetrics" "http" "exporter" "metrics_address"
                => "It is a port, or an address and a port";
        /// Priority under SCHED_FIFO. Without the permission for it, the gateway warns and runs
        /// with ordinary scheduling.
        ///
        /// `None` for ordinary scheduling.
        pub realtime: Option<u8> = Some(PRIORITY) => by(priorities, realtime),
            value "1–99, `false`",
            not "priority" "prio" "rt" "rt_priority" "sched_fifo" "real_time";
        /// Locks the gateway's data and the code of the frame path in memory, so that the kernel
        /// does not page them out. Without the permission, the gateway warns and runs without it.
        pub lock_memory: bool = true => read::boolean(), not "mlock" "mlockall" "lock";
        /// Lets clients of the control socket send frames by every port of this process (`cangate
        /// send --to PORT`). A port has the same key for itself.
        pub inject: bool = false => read::boolean(), not "injection" "allow_inject" "allow_send";
        /// The data path: this process (`"none"`), can-gw or BPF in the kernel, or for each route
        /// the fastest one that can run it (`"auto"`). See [below](#offload-in-the-kernel).
        pub offload: Offload = Offload::None => read::words(&Offload::ALL), default "`\"none\"`",
            not "kernel" "can_gw" "bpf" "data_path" "accelerate"
                => "It is \"none\", \"can-gw\", \"bpf\" or \"auto\"";
        /// Local programs (candump) also see frames that BPF routes. Costs one copy of each frame.
        pub tap: bool = false => read::boolean();
        /// BPF counts copies that an outgoing interface refuses (`failed`). Costs one copy of each
        /// frame. Without it, only the interface's own counters have them.
        pub exact: bool = false => read::boolean();
    }
}

impl Default for ProcessOptions {
    fn default() -> Self {
        Self::defaults()
    }
}

config::settings! {
    /// The options that concern the search of routes.
    struct SearchOptions {
        /// How many routes take a frame. `"all"`: every route that matches, each with its own copy,
        /// until one with `drop = true`; can-gw does the same. `"first"`: only the first route that
        /// matches. See [below](#routes-that-get-in-each-others-way).
        r#match: RouteMode = RouteMode::All => read::words(&MATCHES), default "`\"all\"`",
            not "mode" "match_mode" "matching" => "It is \"all\" or \"first\"";
        /// A frame that has passed this many gateways in the kernel is dropped, which ends loops
        /// between gateways. This process cannot see how many gateways a frame has passed and
        /// starts to count at 0. can-gw's module parameter has the same name.
        max_hops: u8 = 1 => read::integer(1..=MOST_HOPS), not "hops" "hop_limit" "ttl" "limit_hops";
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

const IN_GATEWAY: &str = "it is a key of [gateway]: write that header above it";

/// Keys of `[gateway]` and of other tables that were written at the top level of the file.
pub(super) const TOP: &[KeyMisnomer] = &[
    KeyMisnomer::elsewhere(ProcessOptions::NAMES, IN_GATEWAY),
    KeyMisnomer::elsewhere(SearchOptions::NAMES, IN_GATEWAY),
    KeyMisnomer::elsewhere(
        &["limit", "limits", "rate", "rate_limit"],
        "a limit is a key of a route: `limit = \"100/s\"` under [[routes]]",
    ),
    KeyMisnomer::elsewhere(
        &["filter", "filters", "id", "ids"],
        "a route selects frames: `id` or `filter` under [[routes]]",
    ),
    KeyMisnomer::elsewhere(
        &["faults", "fault"],
        "faults are a port's: [ports.NAME.faults]",
    ),
];

const MATCHES: [(&str, RouteMode); 2] = [("all", RouteMode::All), ("first", RouteMode::First)];

/// Returns the keys of `[gateway]`.
pub(super) fn keys() -> Vec<KeySpec> {
    [SearchOptions::key_specs(), ProcessOptions::key_specs()].concat()
}

pub(super) fn parse(root: &mut TomlTable<'_>, found: &mut Diagnostics) -> GatewayTable {
    let mut table = root.table("gateway", "[gateway]", found);
    for word in FOR_GATEWAY {
        let hint = |_: &TomlValue<'_>| "did you mean [gateway]?".to_owned();
        let misnamed = root.misnamed(word, hint, found);
        let misnamed = misnamed.filter(TomlValue::is_table);
        table = table.or_else(|| misnamed?.table("[gateway]", found));
    }
    let (mut options, mut search) = (ProcessOptions::defaults(), SearchOptions::defaults());
    if let Some(mut table) = table {
        options = ProcessOptions::read(&mut table, found);
        search = SearchOptions::read(&mut table, found);
        if options.offload == Offload::Bpf
            && let Some(why) = offload::bpf::left_out()
        {
            let message = "`offload = \"bpf\"` is not in this build";
            let hint = format!("{why}; \"auto\" chooses between can-gw and this process");
            table.wrong("offload", message, hint, found);
        }
        table.finish(found);
    }
    GatewayTable {
        options,
        mode: search.r#match,
        max_hops: search.max_hops,
    }
}

/// The kernel's limit for the path of a socket: the size of `sun_path` in `struct sockaddr_un`,
/// less the final zero.
const LONGEST_PATH: usize = 107;

fn control(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let path = value.string(found)?.value;
    if path.is_empty() || path.contains('\0') {
        let hint = "name a socket, such as \"cangate.sock\", or leave it out";
        value.wrong("`control` is not the path of a socket", hint, found);
        return None;
    }
    if path.len() > LONGEST_PATH {
        let message = format!("the socket's path has {} bytes", path.len());
        value.wrong(message, format!("Linux allows {LONGEST_PATH}"), found);
        return None;
    }
    Some(path.to_owned())
}

fn addresses() -> ValueShape {
    ValueShape::Any(vec![ValueShape::Integer(1..=65535), ValueShape::Text])
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
        value.wrong(format!("`{text}` is not a valid ADDRESS:PORT"), hint, found);
    }
    address
}

fn priorities() -> ValueShape {
    ValueShape::Any(vec![ValueShape::Flag, ValueShape::Integer(1..=99)])
}

fn realtime(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Option<u8>> {
    match (value.as_bool(), value.as_integer()) {
        (Some(wanted), _) => Some(wanted.then_some(PRIORITY)),
        (_, Some(_)) => Some(Some(value.integer(1..=99, found)?.value as u8)),
        _ => {
            value.expected("a priority from 1 to 99, or false", found);
            None
        }
    }
}
