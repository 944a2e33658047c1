//! `[gateway]`.

use config::{Diagnostics, Table, Value};
use route::Mode;
use std::fmt;

/// can-gw's highest `max_hops` (`CGW_MAX_HOPS` of `net/can/gw.c`).
const MOST_HOPS: i64 = 6;

/// The real-time priority where the file says nothing: above threaded interrupts' usual 50 there
/// is nothing to win, since the gateway waits for them.
const PRIORITY: u8 = 50;

/// Where the routes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Offload {
    /// In this process.
    #[default]
    None,
    /// In the kernel, as rules of can-gw.
    CanGw,
    /// In the kernel, by BPF.
    Bpf,
    /// Each where it is fastest and means the same ([`offload::choose`]).
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

/// What concerns the process as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The control socket as written; `None` for the default place.
    pub control: Option<String>,
    /// SCHED_FIFO priority to ask for, 1 to 99; `None` for ordinary scheduling. Default 50.
    pub realtime: Option<u8>,
    /// Keep all memory from being paged out, where allowed. Default true.
    pub lock_memory: bool,
    /// Where the routes run. Default: in this process.
    pub offload: Offload,
    /// Local programs see frames that BPF routes, too. Default false: it costs a copy of each.
    pub tap: bool,
    /// BPF counts copies that an outgoing interface refuses. Default false: it costs a copy of
    /// each; without it, the interface alone counts them.
    pub exact: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            control: None,
            realtime: Some(PRIORITY),
            lock_memory: true,
            offload: Offload::None,
            tap: false,
            exact: false,
        }
    }
}

/// The table `[gateway]`, with what it says about routes.
pub(super) struct Gateway {
    pub(super) options: Options,
    pub(super) mode: Mode,
    pub(super) max_hops: u8,
}

pub(super) fn parse(root: &mut Table<'_>, found: &mut Diagnostics) -> Gateway {
    let mut gateway = Gateway {
        options: Options::default(),
        mode: Mode::default(),
        max_hops: 1,
    };
    let Some(mut table) = root.table("gateway", "[gateway]", found) else {
        return gateway;
    };
    if let Some(mode) = table.one_of(
        "match",
        &[("all", Mode::All), ("first", Mode::First)],
        found,
    ) {
        gateway.mode = mode.value;
    }
    if let Some(hops) = table.integer("max_hops", 1..=MOST_HOPS, found) {
        gateway.max_hops = hops.value as u8;
    }
    let options = &mut gateway.options;
    options.control = table.get("control").and_then(|v| control(&v, found));
    if let Some(value) = table.get("realtime") {
        options.realtime = realtime(&value, found);
    }
    let places = [
        ("none", Offload::None),
        ("can-gw", Offload::CanGw),
        ("bpf", Offload::Bpf),
        ("auto", Offload::Auto),
    ];
    if let Some(place) = table.one_of("offload", &places, found) {
        options.offload = place.value;
    }
    options.tap = table.flag("tap", false, found);
    options.exact = table.flag("exact", false, found);
    options.lock_memory = table.flag("lock_memory", true, found);
    table.finish(found);
    gateway
}

/// The kernel's limit for a socket's path, `sun_path` of `struct sockaddr_un`, less the final
/// zero.
const LONGEST_PATH: usize = 107;

fn control(value: &Value<'_>, found: &mut Diagnostics) -> Option<String> {
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

fn realtime(value: &Value<'_>, found: &mut Diagnostics) -> Option<u8> {
    match (value.as_bool(), value.as_integer()) {
        (Some(wanted), _) => wanted.then_some(PRIORITY),
        (_, Some(_)) => value.integer(1..=99, found).map(|n| n.value as u8),
        _ => {
            value.expected("a priority from 1 to 99, or false", found);
            None
        }
    }
}
