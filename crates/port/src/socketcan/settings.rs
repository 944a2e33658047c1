//! The settings of a Linux CAN interface: `[ports.NAME]` with `kind = "socketcan"`.

use super::choose::{ChoiceFacts, OptimiseFor, WayChoice, choose};
use super::config::{ReceiveBy, TransmitBy};
use crate::keys::{SLOW_DATA_PHASE, queue, restart, restart_ms, sample_point};
use config::read::{self, by};
use config::{Diagnostics, KeySpec, TomlTable, TomlValue, ValueShape};
use frame::Nanos;
use frame::wire::BitRate;
use linux::link::{LinkSetup, RestartDelay};

/// Default time from bus-off to the restart, if the port sets the interface up, ms: the same as for
/// other kinds of port.
const RESTART_MS: u32 = 100;

/// Maximum length of a Linux interface's name, in bytes (`IFNAMSIZ` of `uapi/linux/if.h` less the
/// final zero).
const LONGEST_INTERFACE: usize = 15;

config::settings! {
    /// The settings of a Linux CAN interface.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct SocketCanSettings(port: &str) {
        /// The interface. It can be absent or down, at the start or later: the gateway reports
        /// that, and frames for it are undeliverable until it is up.
        pub interface: String = port.to_owned() => by(|| ValueShape::Text, interface),
            value "up to 15 bytes", default "the port's name",
            not "channel" "device" "dev" "iface" "ifname" "netdev" "link" "can";
        /// Receive and send FD frames, if the interface supports them.
        pub fd: bool = true => read::boolean(),
            not "canfd" "can_fd" "fd_frames" "flexible_datarate";
        /// Receive and send XL frames, if the kernel (6.1 and later) and the interface support
        /// them, with any `receive` and `transmit`.
        pub xl: bool = false => read::boolean(), not "canxl" "can_xl" "xl_frames";
        /// The number of frames that the port keeps while the interface's own queue is full.
        /// Further frames are refused and counted.
        pub queue: u32 = 128 => queue(),
            not "txqueuelen" "tx_queue_len" "queue_length" "queue_size";
        /// Size of the kernel's receive buffer for the gateway, in bytes (`SO_RCVBUF`), or of the
        /// ring.
        pub receive_buffer: Option<u32> = None => read::integer(4096..=1 << 30),
            default "the kernel's; 524288 for a ring",
            not "rcvbuf" "so_rcvbuf" "rx_buffer" "buffer";
        /// Chooses `receive` and `transmit`, unless they are given, to suit this machine. `cangate
        /// check` shows the choice and the reason.
        pub optimise: Option<OptimiseFor> = None => read::words(&OptimiseFor::ALL), default "none",
            not "optimize" "optimise_for" "prefer" "mode";
        /// How the gateway receives frames; [Ways](ways.md#which-way-to-receive-and-transmit)
        /// explains when to use which. With the three `read` ways, frames have no kernel time
        /// stamp. `"io_uring"` needs Linux 6.0.
        pub receive: Option<ReceiveBy> = None => read::words(&ReceiveBy::ALL),
            default "`\"recvmmsg\"`", not "rx" "receive_by" "input";
        /// How the gateway sends frames. Any `receive` and `transmit` can be combined. `"io_uring"`
        /// needs Linux 6.0.
        pub transmit: Option<TransmitBy> = None => read::words(&TransmitBy::ALL),
            default "`\"sendmmsg\"`", not "tx" "send" "transmit_by" "output";
        /// With `transmit = "ring"`: frames bypass the interface's queue (`PACKET_QDISC_BYPASS`).
        pub qdisc_bypass: bool = false => read::boolean(), check " past the interface's own queue",
            not "packet_qdisc_bypass" "bypass";
    }
    and {
        /// Settings with which the port sets its interface up; `None`: it is used as it is.
        pub setup: Option<LinkSetup> = None;
        /// Whether the interface can be absent; the port then waits for it.
        pub may_be_absent: bool = false;
        /// Whether to use the controller's stamps instead of the kernel's, if the driver has them.
        /// Their epoch is the controller's.
        pub hardware_stamps: bool = false;
        /// Whether to receive the frames that this port itself sends with
        /// [`Outgoing::echo`](crate::OutgoingFrame::echo), when the driver echoes them: at the end
        /// of frame, if the driver waits for that. Not by rings, which do not get them.
        pub own: bool = false;
    }
    elsewhere {
        "can_filters" "filter" "filters" =>
            "a route selects frames: `id` or `filter` under [[routes]]";
        "io" => "the ways to receive and to transmit are two keys: for \"read-write\" write \
            `receive = \"read\"` and `transmit = \"write\"`; for \"mmsg\", the default, \
            `receive = \"recvmmsg\"` and `transmit = \"sendmmsg\"`";
    }
}

config::settings! {
    /// The keys with which the port sets its interface up.
    struct SetupKeys {
        /// The port sets this bit rate and switches the interface on (root, or CAP_NET_ADMIN). If
        /// the interface is already up, its bit rates must be the same within 1 %, or the start
        /// fails. Without `bitrate`, another program sets the interface up: `ip link set can0 up
        /// type can bitrate 500000`.
        bitrate: Option<u32> = None => read::bitrate(),
            not "rate" "speed" "baud" "baudrate" "bit_rate";
        /// The bit rate of the data phase. It switches FD on.
        data_bitrate: Option<u32> = None => read::bitrate(),
            not "dbitrate" "data_rate" "data_bit_rate";
        /// The sample point as a part of the bit.
        sample_point: Option<u32> = None => sample_point(), default "the kernel's",
            not "samplepoint" "sp";
        /// The same as `sample_point`, for the data phase.
        data_sample_point: Option<u32> = None => sample_point(), default "the kernel's",
            not "dsample_point" "dsp";
        /// The time from bus-off to the restart, if the port sets the interface up. Some drivers
        /// (slcan, gs_usb) cannot restart: then the start prints a note in place of the default,
        /// and refuses a `restart` in the file with the kernel's reason.
        restart: Option<Option<Nanos>> = None => restart(), default "`\"100ms\"`",
            not "restart_ms" "recovery";
    }
}

/// Returns the keys of a port on an interface.
pub(crate) fn keys() -> Vec<KeySpec> {
    [SocketCanSettings::key_specs(), SetupKeys::key_specs()].concat()
}

impl SocketCanSettings {
    /// Returns the settings of an interface, with the defaults of everything else.
    #[must_use]
    pub fn new(interface: &str) -> Self {
        Self::defaults(interface)
    }

    pub(crate) fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let mut settings = Self::read(table, port, found);
        if !table.has("interface")
            && let Err(why) = check_interface(port)
        {
            let hint = format!("the port's name is not a valid interface name: {why}");
            table.missing("interface", &hint, found);
        }
        settings.setup = SetupKeys::read(table, found).setup(table, found);
        if let Some(why) = linux::uring::left_out() {
            refuse_uring(&why, (settings.receive, settings.transmit), table, found);
        }
        if settings.qdisc_bypass && settings.transmit != Some(TransmitBy::Ring) {
            let message = "only a ring can send past the interface's queue";
            let hint = "add `transmit = \"ring\"`, or leave out `qdisc_bypass`";
            table.wrong("qdisc_bypass", message, hint, found);
        }
        settings
    }

    /// Returns the ways, and the reasons if a way was chosen. The facts that decide are read from
    /// the kernel each time.
    pub(super) fn ways(&self) -> WayChoice {
        match self.optimise {
            Some(what) => {
                let facts = ChoiceFacts::gather(&self.interface, self.transmit);
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

impl SetupKeys {
    /// Returns the settings of the interface; all other keys need `bitrate`.
    fn setup(self, table: &TomlTable<'_>, found: &mut Diagnostics) -> Option<LinkSetup> {
        let Some(bitrate) = self.bitrate else {
            let others = SetupKeys::NAMES.iter().any(|key| table.has(key));
            if others && !table.has("bitrate") {
                let hint = "add `bitrate`, such as \"500k\"; without it, the port uses the interface as it is";
                table.missing("bitrate", hint, found);
            }
            return None;
        };
        let Ok(rate) = BitRate::new(bitrate, self.data_bitrate) else {
            let key = if self.data_bitrate.is_some() {
                "data_bitrate"
            } else {
                "bitrate"
            };
            table.wrong(key, SLOW_DATA_PHASE, "", found);
            return None;
        };
        Some(LinkSetup {
            rate,
            sample_point: self.sample_point.unwrap_or(0),
            data_sample_point: self.data_sample_point.unwrap_or(0),
            restart: self
                .restart
                .map_or(RestartDelay::Default(RESTART_MS), |time| {
                    RestartDelay::Asked(restart_ms(time))
                }),
        })
    }
}

/// Reports an error for each key with io_uring, in a build without it.
fn refuse_uring(
    why: &str,
    (receive, transmit): (Option<ReceiveBy>, Option<TransmitBy>),
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) {
    let receive = (receive == Some(ReceiveBy::IoUring)).then_some(ReceiveBy::default().word());
    let transmit = (transmit == Some(TransmitBy::IoUring)).then_some(TransmitBy::default().word());
    for (key, instead) in [("receive", receive), ("transmit", transmit)] {
        if let Some(instead) = instead {
            let message = format!("`{key} = \"io_uring\"` is not in this build");
            let hint = format!("{why}; `{key} = \"{instead}\"` works everywhere");
            table.wrong(key, message, hint, found);
        }
    }
}

/// Reads the name of an interface.
fn interface(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let name = value.string(found)?.value;
    if let Err(why) = check_interface(name) {
        value.wrong("this is not a valid interface name", why, found);
        return None;
    }
    Some(name.to_owned())
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
        refuse_uring("because", (receive, transmit), &document.root(), &mut found);
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
