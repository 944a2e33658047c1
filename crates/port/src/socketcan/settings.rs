//! `kind = "socketcan"`: a Linux CAN interface.

use super::choose::{ChoiceFacts, OptimiseFor, WayChoice, choose};
use super::config::{ReceiveBy, SocketCanConfig, TransmitBy};
use super::open::open_own;
use super::own::OwnSetups;
use crate::kind::{FramePassage, PortKind, PortSettings, queue, queue_key, rate_keys, thousandths};
use crate::{Halves, PortError, PortOpener, QueueSettings, QueueSize};
use config::{Diagnostic, Diagnostics, KeyMisnomer, KeySpec, TomlTable, ValueShape};
use frame::wire::BitRate;
use frame::{Kind, dlc};
use linux::link::{LinkSetup, NetLink, RestartDelay};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The kind of Linux CAN interfaces.
#[derive(Clone, Copy, Debug)]
pub struct SocketCan;

impl PortKind for SocketCan {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn keys(&self) -> Option<Vec<KeySpec>> {
        Some(keys())
    }

    fn parse(
        &self,
        port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        Arc::new(SocketCanSettings::parse(port, table, found))
    }
}

const KEYWORD: &str = "socketcan";

/// Default time from bus-off to the restart, if the port sets the interface up, ms: the same as for
/// other kinds of port.
const RESTART_MS: u32 = 100;

/// Range of the size of the receive buffer, bytes.
const RECEIVE_BUFFERS: RangeInclusive<i64> = 4096..=1 << 30;

/// Maximum length of a Linux interface's name, in bytes (`IFNAMSIZ` of `uapi/linux/if.h` less the
/// final zero).
const LONGEST_INTERFACE: usize = 15;

/// Names of these settings in SocketCAN's tools and python-can.
const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of(
        "interface",
        &[
            "channel", "device", "dev", "iface", "ifname", "netdev", "link", "can",
        ],
    ),
    KeyMisnomer::of(
        "bitrate",
        &["rate", "speed", "baud", "baudrate", "bit_rate"],
    ),
    KeyMisnomer::of("data_bitrate", &["dbitrate", "data_rate", "data_bit_rate"]),
    KeyMisnomer::of("sample_point", &["sample-point", "samplepoint", "sp"]),
    KeyMisnomer::of(
        "data_sample_point",
        &["dsample-point", "dsample_point", "dsp"],
    ),
    KeyMisnomer::of("restart", &["restart_ms", "restart-ms", "recovery"]),
    KeyMisnomer::elsewhere(
        &["can_filters", "filter", "filters"],
        "a route says which frames it takes: `id` or `filter` under [[routes]]",
    ),
    KeyMisnomer::of(
        "queue",
        &["txqueuelen", "tx_queue_len", "queue_length", "queue_size"],
    ),
    KeyMisnomer::of(
        "receive_buffer",
        &["rcvbuf", "so_rcvbuf", "rx_buffer", "buffer"],
    ),
    KeyMisnomer::elsewhere(
        &["io"],
        "the ways to receive and to transmit are two keys: for \"read-write\" write \
         `receive = \"read\"` and `transmit = \"write\"`; for \"mmsg\", the default, \
         `receive = \"recvmmsg\"` and `transmit = \"sendmmsg\"`",
    ),
    KeyMisnomer::of("optimise", &["optimize", "optimise_for", "prefer", "mode"]),
    KeyMisnomer::of("receive", &["rx", "receive_by", "input"]),
    KeyMisnomer::of("transmit", &["tx", "send", "transmit_by", "output"]),
    KeyMisnomer::of("qdisc_bypass", &["packet_qdisc_bypass", "bypass"]),
    KeyMisnomer::of("fd", &["canfd", "can_fd", "fd_frames", "flexible_datarate"]),
    KeyMisnomer::of("xl", &["canxl", "can_xl", "xl_frames"]),
];

/// The settings of a Linux CAN interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketCanSettings {
    /// Name of the interface; by default the port's.
    pub interface: String,
    /// Settings with which the port sets its interface up; default: it is used as it is.
    pub setup: Option<LinkSetup>,
    /// Whether to receive and send FD frames, if the interface carries them; default true.
    pub fd: bool,
    /// Whether to receive and send XL frames, if the kernel and the interface carry them; default
    /// false.
    pub xl: bool,
    /// Number of frames that are kept while the interface's own queue is full; 1 to 65536, default
    /// 128.
    pub queue: u32,
    /// Size of the socket's receive buffer in bytes (`SO_RCVBUF`); the kernel's default where
    /// absent.
    pub receive_buffer: Option<u32>,
    /// Goal for which the ways below are chosen, if they are not given.
    pub optimise: Option<OptimiseFor>,
    /// The way in which frames are received; by default as `optimise` chooses, else `"recvmmsg"`.
    pub receive: Option<ReceiveBy>,
    /// The way in which frames are transmitted; by default as `optimise` chooses, else
    /// `"sendmmsg"`.
    pub transmit: Option<TransmitBy>,
    /// Whether frames go past the interface's queue, with `transmit = "ring"`; default false.
    pub qdisc_bypass: bool,
}

/// Returns the keys that [`SocketCanSettings::parse`] reads, and those of the transmit queue.
pub(crate) fn keys() -> Vec<KeySpec> {
    let own = vec![
        KeySpec::new(
            "interface",
            ValueShape::Text,
            "The Linux interface; by default it has the port's name.",
        ),
        KeySpec::new(
            "fd",
            ValueShape::Flag,
            "Take and send FD frames, if the interface can. Default true.",
        ),
        KeySpec::new(
            "xl",
            ValueShape::Flag,
            "Take and send XL frames, if the interface can. Default false.",
        ),
        queue_key("Frames that are kept while the interface's own queue is full. Default 128."),
        KeySpec::new(
            "receive_buffer",
            ValueShape::Integer(RECEIVE_BUFFERS),
            "Size of the kernel's receive buffer or of the ring, bytes.",
        ),
        KeySpec::new(
            "optimise",
            ValueShape::words(&OptimiseFor::ALL),
            "What the ways to receive and to transmit are chosen for.",
        ),
        KeySpec::new(
            "receive",
            ValueShape::words(&ReceiveBy::ALL),
            "How frames come in. Default \"recvmmsg\".",
        ),
        KeySpec::new(
            "transmit",
            ValueShape::words(&TransmitBy::ALL),
            "How frames go out. Default \"sendmmsg\".",
        ),
        KeySpec::new(
            "qdisc_bypass",
            ValueShape::Flag,
            "With transmit = \"ring\": frames go past the interface's queue.",
        ),
    ];
    [own, rate_keys(), QueueSettings::all_keys()].concat()
}

impl SocketCanSettings {
    /// Returns the settings of an interface, with the defaults of everything else.
    #[must_use]
    pub fn new(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            setup: None,
            fd: true,
            xl: false,
            queue: 128,
            receive_buffer: None,
            optimise: None,
            receive: None,
            transmit: None,
            qdisc_bypass: false,
        }
    }

    pub(crate) fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        table.misnomers(MISNOMERS);
        let interface = match table.get("interface") {
            Some(value) => value.string(found),
            None if table.is_misnamed("interface") => None,
            None => {
                if let Err(why) = check_interface(port) {
                    let hint = format!("the port's name is no name of an interface: {why}");
                    table.missing("interface", &hint, found);
                }
                None
            }
        };
        if let Some(name) = &interface
            && let Err(why) = check_interface(name.value)
        {
            let d = Diagnostic::error(name.span.clone(), "this is no name of an interface");
            found.push(d.hint(why));
        }
        let setup = setup(table, found);
        let fd = table.flag("fd", true, found);
        let xl = table.flag("xl", false, found);
        let queue = queue(table, 128, found);
        let receive_buffer = table
            .integer("receive_buffer", RECEIVE_BUFFERS, found)
            .map(|n| n.value as u32);
        let receive = table.one_of("receive", &ReceiveBy::ALL, found);
        let receive = receive.map(|by| by.value);
        let transmit = table.one_of("transmit", &TransmitBy::ALL, found);
        let transmit = transmit.map(|by| by.value);
        if let Some(why) = linux::uring::left_out() {
            refuse_uring(&why, (receive, transmit), table, found);
        }
        let optimise = table.one_of("optimise", &OptimiseFor::ALL, found);
        let optimise = optimise.map(|what| what.value);
        let qdisc_bypass = qdisc_bypass(transmit, table, found);
        Self {
            interface: interface.map_or(port, |i| i.value).to_owned(),
            setup,
            fd,
            xl,
            queue,
            receive_buffer,
            optimise,
            receive,
            transmit,
            qdisc_bypass,
        }
    }

    /// Returns the ways, and the reasons if a way was chosen. The facts that decide are read from
    /// the kernel each time.
    fn ways(&self) -> WayChoice {
        match self.optimise {
            Some(what) => {
                let facts = ChoiceFacts::of(&self.interface, self.transmit);
                choose(what, self.receive, self.transmit, &facts)
            }
            None => WayChoice {
                receive: self.receive.unwrap_or_default(),
                transmit: self.transmit.unwrap_or_default(),
                why: String::new(),
            },
        }
    }
}

impl PortSettings for SocketCanSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let mut kinds = String::from("classic");
        if self.fd {
            kinds.push_str(", FD");
        }
        if self.xl {
            kinds.push_str(", XL");
        }
        let ways = self.ways();
        let by = match (ways.receive, ways.transmit, &*ways.why) {
            (ReceiveBy::Recvmmsg, TransmitBy::Sendmmsg, "") => String::new(),
            (receive, transmit, "") => format!(", by {} and {}", receive.word(), transmit.word()),
            (receive, transmit, why) => {
                format!(", by {} and {} ({why})", receive.word(), transmit.word())
            }
        };
        let bypass = if self.qdisc_bypass {
            " past the interface's own queue"
        } else {
            ""
        };
        format!(
            "Linux interface {}{}, {kinds}{by}{bypass}; up to {} frames wait",
            self.interface,
            self.setup.map_or_else(String::new, |setup| format!(
                " set to {}",
                rates(setup.rate)
            )),
            self.queue
        )
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let ways = self.ways();
        let config = SocketCanConfig {
            interface: self.interface.clone(),
            setup: self.setup,
            may_be_absent: opener.awaits_interfaces(),
            fd: self.fd,
            xl: self.xl,
            queue: self.queue as usize,
            receive_buffer: self.receive_buffer,
            hardware_stamps: false,
            receive: ways.receive,
            transmit: ways.transmit,
            qdisc_bypass: self.qdisc_bypass,
            own: false,
        };
        let own = opener.shared(OwnSetups::default).of(&self.interface);
        open_own(port, &config, own)
    }

    fn is_in_force(&self) -> bool {
        self.setup.as_ref().is_none_or(|setup| {
            let there = NetLink::find(&self.interface);
            there.map_or(true, |link| setup.is_in_force(&link))
        })
    }

    fn transmit_queue(&self) -> Option<QueueSize> {
        Some(QueueSize {
            frames: self.queue as usize,
            longest: if self.xl { dlc::XL_MAX } else { dlc::FD_MAX },
        })
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        match (kind, self.setup) {
            (Kind::Classic, _) => FramePassage::Yes,
            (Kind::Fd, _) if !self.fd => FramePassage::No,
            (Kind::Fd, Some(setup)) => {
                FramePassage::by_data_phase(kind, setup.rate.data().is_some())
            }
            (Kind::Xl, _) if !self.xl => FramePassage::No,
            (Kind::Fd | Kind::Xl, _) => FramePassage::Open,
        }
    }
}

fn rates(rate: BitRate) -> String {
    match rate.data() {
        Some(data) => format!("{} bit/s, data phase {data} bit/s", rate.nominal()),
        None => format!("{} bit/s", rate.nominal()),
    }
}

/// Reads the keys that set the interface up, all of which need `bitrate`.
fn setup(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Option<LinkSetup> {
    let bitrate = table.bitrate("bitrate", found);
    let data = table.bitrate("data_bitrate", found);
    let point = |table: &mut TomlTable<'_>, key, found: &mut Diagnostics| {
        table.get(key).and_then(|value| thousandths(&value, found))
    };
    let sample_point = point(table, "sample_point", found);
    let data_sample_point = point(table, "data_sample_point", found);
    let restart = match table.get("restart") {
        None => None,
        Some(value) if value.as_str() == Some("never") => Some(0),
        Some(value) => value.duration(found).map(|time| time.value),
    };
    let Some(bitrate) = bitrate else {
        let others = sample_point.is_some() || data_sample_point.is_some() || restart.is_some();
        if (data.is_some() || others) && !table.is_misnamed("bitrate") {
            let hint =
                "add `bitrate`, such as \"500k\"; without it, the interface is taken as it is";
            table.missing("bitrate", hint, found);
        }
        return None;
    };
    let fast = data.as_ref().map(|rate| rate.value);
    let Ok(rate) = BitRate::new(bitrate.value, fast) else {
        let message = "the data phase cannot be slower than the arbitration phase";
        let span = data.map_or(bitrate.span, |rate| rate.span);
        found.push(Diagnostic::error(span, message));
        return None;
    };
    Some(LinkSetup {
        rate,
        sample_point: sample_point.unwrap_or(0),
        data_sample_point: data_sample_point.unwrap_or(0),
        restart: restart.map_or(RestartDelay::Default(RESTART_MS), |ns| {
            RestartDelay::Asked(u32::try_from(ns.div_ceil(1_000_000)).unwrap_or(u32::MAX))
        }),
    })
}

/// Reports an error for each key with io_uring, in a build without it.
fn refuse_uring(
    why: &str,
    (receive, transmit): (Option<ReceiveBy>, Option<TransmitBy>),
    table: &mut TomlTable<'_>,
    found: &mut Diagnostics,
) {
    let asked = [
        (
            "receive",
            receive == Some(ReceiveBy::IoUring),
            ReceiveBy::default().word(),
        ),
        (
            "transmit",
            transmit == Some(TransmitBy::IoUring),
            TransmitBy::default().word(),
        ),
    ];
    for (key, asked, instead) in asked {
        if asked && let Some(value) = table.get(key) {
            let message = format!("`{key} = \"io_uring\"` is not in this build");
            let hint = format!("{why}; `{key} = \"{instead}\"` works everywhere");
            value.wrong(message, hint, found);
        }
    }
}

/// Reads `qdisc_bypass`, which only a ring supports.
fn qdisc_bypass(
    transmit: Option<TransmitBy>,
    table: &mut TomlTable<'_>,
    found: &mut Diagnostics,
) -> bool {
    let bypass = table.flag("qdisc_bypass", false, found);
    if bypass
        && transmit != Some(TransmitBy::Ring)
        && let Some(value) = table.get("qdisc_bypass")
    {
        let message = "only a ring can send past the interface's queue".to_owned();
        let hint = "add `transmit = \"ring\"`, or leave out `qdisc_bypass`".to_owned();
        value.wrong(message, hint, found);
    }
    bypass
}

/// Checks a name as `dev_valid_name` of Linux's `net/core/dev.c` does: not empty, not `.` or `..`,
/// no slash, colon or white space.
fn check_interface(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a name is needed, such as \"can0\"".to_owned());
    }
    if name.len() > LONGEST_INTERFACE {
        return Err(format!(
            "it has {} bytes, Linux allows {LONGEST_INTERFACE}",
            name.len()
        ));
    }
    let bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    if name == "." || name == ".." || name.contains(bad) {
        return Err("Linux allows no `/`, no `:` and no white space in it".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{SourceText, TomlDocument};

    #[test]
    fn io_uring_is_refused_where_it_is_not_built_in() {
        let text = "receive = \"io_uring\"\ntransmit = \"io_uring\"\n";
        let source = SourceText::new("t", text);
        let mut found = Diagnostics::new();
        let document = TomlDocument::parse(&source, &mut found);
        let (receive, transmit) = (Some(ReceiveBy::IoUring), Some(TransmitBy::IoUring));
        let mut table = document.root();
        refuse_uring("because", (receive, transmit), &mut table, &mut found);
        let seen: Vec<_> = found
            .list()
            .iter()
            .map(|d| (&text[d.span.clone()], d.hint.clone()))
            .collect();
        let hint = |key, by| format!("because; `{key} = \"{by}\"` works everywhere");
        assert_eq!(
            seen,
            [
                ("\"io_uring\"", hint("receive", "recvmmsg")),
                ("\"io_uring\"", hint("transmit", "sendmmsg")),
            ]
        );

        // The result in this build.
        let mut found = Diagnostics::new();
        let document = TomlDocument::parse(&source, &mut found);
        let _ = SocketCanSettings::parse("can0", &mut document.root(), &mut found);
        let refused = found.list().len();
        assert_eq!(refused, 2 * usize::from(linux::uring::left_out().is_some()));
    }
}
