//! The settings of a Linux CAN interface: `[ports.NAME]` with `kind = "socketcan"`.

use super::choose::{ChoiceFacts, OptimiseFor, WayChoice, choose};
use super::config::{ReceiveBy, TransmitBy};
use super::matched::{InterfaceMatch, MatchProblem, interface_match};
use crate::keys::{SLOW_DATA_PHASE, queue, restart, restart_ms, sample_point};
use config::read::{self, by};
use config::{Diagnostic, Diagnostics, KeySpec, TomlTable, TomlValue, ValueShape};
use frame::Nanos;
use frame::wire::BitRate;
use linux::link::{ControlMode, ControllerSettings, DelayCompensation, LinkSetup, RestartDelay};

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
        /// Chooses the interface by its device, whatever its name is: a table with `usb`, `serial`,
        /// `altname`, `device`, `driver` or `channel`, all of which must fit exactly one
        /// interface; see below.
        pub r#match: Option<InterfaceMatch> = None => interface_match(), value "table",
            default "none", not "by" "where" "find" "select";
        /// Receive and send FD frames, if the interface supports them.
        pub fd: bool = true => read::boolean(),
            not "canfd" "can_fd" "fd_frames" "flexible_datarate";
        /// Receive and send XL frames, if the kernel (6.1 and later) and the interface support
        /// them, with any `receive` and `transmit`.
        pub xl: bool = false => read::boolean(), not "canxl" "can_xl" "xl_frames";
        /// The number of frames that the port keeps while the interface's own queue is full.
        /// Further frames are refused and counted.
        pub queue: u32 = 128 => queue(),
            not "queue_length" "queue_size";
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
        /// The synchronisation jump width, in time quanta: by how much a bit can be made longer or
        /// shorter.
        sjw: Option<u32> = None => read::integer(1..=1024u32), default "the kernel's";
        /// The same as `sjw`, for the data phase.
        data_sjw: Option<u32> = None => read::integer(1..=1024u32), default "the kernel's",
            not "dsjw";
        /// The controller only listens: it sends nothing, not even acknowledgements, and frames for
        /// this port are refused as unsupported.
        listen_only: Option<bool> = None => read::boolean(), default "as it is",
            not "listen-only" "silent" "passive";
        /// The controller tries each frame once. A frame that loses arbitration or meets an error
        /// is lost.
        one_shot: Option<bool> = None => read::boolean(), default "as it is",
            not "one-shot" "oneshot" "single_shot";
        /// The controller receives what it sends, and needs no other node: for tests.
        loopback: Option<bool> = None => read::boolean(), default "as it is";
        /// The controller samples each bit three times.
        triple_sampling: Option<bool> = None => read::boolean(), default "as it is",
            not "triple-sampling" "3_samples" "triple";
        /// The controller reports each error on the bus, by error frames if a route asks for them.
        bus_errors: Option<bool> = None => read::boolean(), default "as it is",
            not "berr_reporting" "berr-reporting";
        /// The controller does not need an acknowledgement for its frames.
        presume_ack: Option<bool> = None => read::boolean(), default "as it is",
            not "presume-ack" "self_test";
        /// FD frames have the format from before ISO 11898-1:2015. All nodes on the bus must agree.
        non_iso: Option<bool> = None => read::boolean(), default "as it is",
            not "fd-non-iso" "fd_non_iso" "non-iso";
        /// Classic frames keep DLCs 9 to 15, which also mean 8 bytes.
        len8_dlc: Option<bool> = None => read::boolean(), default "as it is",
            not "cc-len8-dlc" "cc_len8_dlc" "len8-dlc";
        /// The termination of the bus, for controllers that can switch it: 0 is off.
        ///
        /// In ohms.
        termination: Option<u16> = None => read::integer(0..=65_535u16), value "ohms, 0–65535",
            default "as it is";
        /// The compensation of the transmitter's delay in the data phase: `"off"`, or a table with
        /// its times in periods of the controller's clock: `offset`, and if needed `filter` and
        /// `value`. Without `value`, the controller measures the delay.
        tdc: Option<DelayCompensation> = None => by(tdc_shape, tdc),
            value "`\"off\"`, table", default "the kernel's";
        /// The number of frames that the interface's own queue holds, after those of `queue`. A
        /// short one suits `order = "priority"`.
        txqueuelen: Option<u32> = None => read::integer(1..=1_000_000u32), default "as it is",
            not "tx_queue_len" "qlen";
    }
}

config::settings! {
    /// The times of the compensation of the transmitter's delay, in periods of the controller's
    /// clock.
    struct DelayKeys {
        /// The offset of the second sample point.
        offset: Option<u32> = None => read::integer(0..=1_000_000u32), needed "",
            not "tdco";
        /// The delay of the transmitter; without it, the controller measures it.
        value: Option<u32> = None => read::integer(0..=1_000_000u32), default "measured",
            not "tdcv";
        /// The width of the filter that ignores dominant glitches.
        filter: Option<u32> = None => read::integer(0..=1_000_000u32), not "tdcf";
    }
}

const TDC_OFF: [(&str, DelayCompensation); 1] = [("off", DelayCompensation::Off)];

fn tdc_shape() -> ValueShape {
    ValueShape::Any(vec![
        ValueShape::words(&TDC_OFF),
        ValueShape::Table(DelayKeys::key_specs()),
    ])
}

/// Reads the compensation of the transmitter's delay.
fn tdc(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<DelayCompensation> {
    if !value.is_table() {
        return value.one_of(&TDC_OFF, found).map(|word| word.value);
    }
    let mut table = value.table("`tdc`", found)?;
    let keys = DelayKeys::read(&mut table, found);
    table.finish(found);
    Some(DelayCompensation::On {
        offset: keys.offset?,
        value: keys.value,
        filter: keys.filter,
    })
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
        if let Some(wanted) = &settings.r#match {
            settings.interface = look_up(wanted, table, found);
        } else if !table.has("interface")
            && !table.has("match")
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
        self.check(table, found);
        Some(LinkSetup {
            settings: self.controller(),
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

impl SetupKeys {
    fn controller(&self) -> ControllerSettings {
        let mut settings = ControllerSettings::default();
        settings.sjw = self.sjw;
        settings.data_sjw = self.data_sjw;
        settings.termination = self.termination;
        settings.delay = self.tdc;
        settings.queue = self.txqueuelen;
        settings
            .with_mode(ControlMode::ListenOnly, self.listen_only)
            .with_mode(ControlMode::OneShot, self.one_shot)
            .with_mode(ControlMode::Loopback, self.loopback)
            .with_mode(ControlMode::TripleSampling, self.triple_sampling)
            .with_mode(ControlMode::BusErrors, self.bus_errors)
            .with_mode(ControlMode::PresumeAck, self.presume_ack)
            .with_mode(ControlMode::NonIso, self.non_iso)
            .with_mode(ControlMode::Len8Dlc, self.len8_dlc)
    }

    /// Reports settings that contradict one another.
    fn check(&self, table: &TomlTable<'_>, found: &mut Diagnostics) {
        for key in ["data_sample_point", "data_sjw", "non_iso", "tdc"] {
            if self.data_bitrate.is_none() && table.has(key) {
                let message =
                    format!("`{key}` is for a bus with CAN FD, and there is no `data_bitrate`");
                table.wrong(
                    key,
                    message,
                    "add `data_bitrate`, such as \"2M\", or leave it out",
                    found,
                );
            }
        }
        for (key, on) in [
            ("one_shot", self.one_shot),
            ("presume_ack", self.presume_ack),
        ] {
            if self.listen_only == Some(true) && on == Some(true) {
                let message = format!(
                    "with `listen_only`, the controller sends nothing, and `{key}` is \
                                       about what it sends"
                );
                table.wrong(key, message, "leave one of the two out", found);
            }
        }
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

/// Returns the present name of the interface that fits; empty where none does.
fn look_up(wanted: &InterfaceMatch, table: &TomlTable<'_>, found: &mut Diagnostics) -> String {
    if table.has("interface") {
        let message = "`interface` and `match` both choose the interface";
        table.wrong("match", message, "leave one of the two out", found);
        return String::new();
    }
    if *wanted == InterfaceMatch::defaults() {
        // It has no valid key, which is reported already.
        return String::new();
    }
    wanted.find().unwrap_or_else(|problem| {
        let words = wanted.explain(&problem);
        if let MatchProblem::Several(_) = problem {
            table.wrong("match", words, "", found);
        } else {
            let hint = "the port waits until there is one";
            found.push(Diagnostic::warning(table.value_span("match"), words).hint(hint));
        }
        String::new()
    })
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
