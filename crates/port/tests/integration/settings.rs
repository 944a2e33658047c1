//! The settings of a port in `gateway.toml`, for every kind.

use crate::port_text::read;
use config::{Diagnostics, SourceText, TomlDocument};
use frame::wire::BitRate;
use linux::link::LinkSetup;
use port::direct::{DirectSettings, DriveMode};
use port::embedded::BusSettings;
use port::log::{LogOrigin, LogSettings, OnFull, ReplaySpeed, RotationRule};
use port::socketcan::{OptimiseFor, ReceiveBy, SocketCanSettings, TransmitBy};
use port::{FileOrStream, PortKinds, PortSettings, PortSpec};
use std::sync::Arc;

fn good(text: &str) -> Arc<dyn PortSettings> {
    let (spec, messages) = read(text);
    assert_eq!(messages, [""; 0]);
    spec.unwrap().settings
}

fn settings(settings: impl PortSettings + 'static) -> Arc<dyn PortSettings> {
    Arc::new(settings)
}

fn bad(text: &str) -> Vec<String> {
    read(text).1
}

#[test]
fn defaults() {
    assert_eq!(
        &*good("[ports.can0]\nkind = 'socketcan'"),
        &*settings(SocketCanSettings {
            interface: "can0".into(),
            r#match: None,
            fd: true,
            xl: false,
            queue: 128,
            receive_buffer: None,
            optimise: None,
            receive: None,
            transmit: None,
            qdisc_bypass: false,
            setup: None,
            may_be_absent: false,
            hardware_stamps: false,
            own: false,
        })
    );
    assert_eq!(
        &*good("[ports.body]\nkind = 'bus'"),
        &*settings(BusSettings {
            bus: "body".into(),
            bitrate: 500_000,
            data_bitrate: None,
            queue: 10,
            mailboxes: 3,
            ..BusSettings::defaults("")
        })
    );
    assert_eq!(
        &*good("[ports.l]\nkind = 'log'\nread = '-'"),
        &*settings(LogSettings {
            read: Some(FileOrStream::Standard),
            write: None,
            interface: None,
            pace: ReplaySpeed::Original,
            ..LogSettings::default()
        })
    );
}

#[test]
fn a_controller_that_is_driven_directly() {
    assert_eq!(
        &*good("[ports.can0]\nkind = 'direct'"),
        &*settings(DirectSettings {
            device: "can0".into(),
            channel: None,
            bitrate: 500_000,
            sample_point: None,
            data_bitrate: None,
            data_sample_point: None,
            mode: DriveMode::Poll,
            listen_only: false,
            one_shot: false,
            bus_errors: false,
            restart: Some(100_000_000),
            queue: 128,
        })
    );
    assert_eq!(
        &*good(
            "[ports.p]\nkind = 'direct'\ndevice = '0000:03:00.0'\nchannel = 1\nbitrate = '250k'\n\
             sample_point = 0.8\ndata_bitrate = '2M'\ndata_sample_point = 0.75\nmode = 'interrupt'\n\
             listen_only = true\none_shot = true\nbus_errors = true\nrestart = 'never'\nqueue = 7"
        ),
        &*settings(DirectSettings {
            device: "0000:03:00.0".into(),
            channel: Some(1),
            bitrate: 250_000,
            sample_point: Some(800),
            data_bitrate: Some(2_000_000),
            data_sample_point: Some(750),
            mode: DriveMode::Interrupt,
            listen_only: true,
            one_shot: true,
            bus_errors: true,
            restart: None,
            queue: 7,
        })
    );
}

#[test]
fn every_key() {
    assert_eq!(
        &*good(
            "[ports.p]\nkind = 'socketcan'\ninterface = 'can1'\nfd = false\nxl = true\nqueue = 5\n\
             receive_buffer = 65536\nreceive = 'read'\ntransmit = 'ring'\n\
             optimise = 'cpu'\nqdisc_bypass = true\nbitrate = '500k'\nsample_point = 0.8\n\
             data_bitrate = '2M'\ndata_sample_point = 0.75\nrestart = '50ms'"
        ),
        &*settings(SocketCanSettings {
            setup: Some(LinkSetup {
                settings: Default::default(),
                rate: BitRate::new(500_000, Some(2_000_000)).unwrap(),
                sample_point: 800,
                data_sample_point: 750,
                restart: linux::link::RestartDelay::Asked(50),
            }),
            fd: false,
            xl: true,
            queue: 5,
            receive_buffer: Some(65_536),
            optimise: Some(OptimiseFor::Cpu),
            receive: Some(ReceiveBy::Read),
            transmit: Some(TransmitBy::Ring),
            qdisc_bypass: true,
            ..SocketCanSettings::new("can1")
        })
    );
    assert_eq!(
        &*good(
            "[ports.p]\nkind = 'bus'\nbus = 'b'\nbitrate = '125k'\ndata_bitrate = '2M'\nqueue = 1\n\
             mailboxes = 32"
        ),
        &*settings(BusSettings {
            bus: "b".into(),
            bitrate: 125_000,
            data_bitrate: Some(2_000_000),
            queue: 1,
            mailboxes: 32,
            ..BusSettings::defaults("")
        })
    );
    assert_eq!(
        &*good(
            "[ports.p]\nkind = 'log'\nread = 'a.log'\nwrite = '-'\ninterface = 'can0'\npace = 2"
        ),
        &*settings(LogSettings {
            read: Some(FileOrStream::File("a.log".into())),
            write: Some(FileOrStream::Standard),
            interface: Some("can0".into()),
            pace: ReplaySpeed::Scaled(2.0),
            ..LogSettings::default()
        })
    );
    assert_eq!(
        &*good(
            "[ports.p]\nkind = 'log'\nread = 'a'\non_full = 'refuse'\nwrite = 'b'\nappend = true\n\
             rotate = { size = '100M', every = '1.5min', keep = 10 }"
        ),
        &*settings(LogSettings {
            read: Some(FileOrStream::File("a".into())),
            write: Some(FileOrStream::File("b".into())),
            on_full: OnFull::Refuse,
            append: true,
            rotate: Some(RotationRule {
                size: Some(100_000_000),
                every: Some(90_000_000_000),
                keep: Some(10),
            }),
            ..LogSettings::default()
        })
    );
    assert_eq!(
        &*good("[ports.p]\nkind = 'log'\nread = 'a'\norigin = 'own'"),
        &*settings(LogSettings {
            read: Some(FileOrStream::File("a".into())),
            origin: LogOrigin::Own,
            ..LogSettings::default()
        })
    );
    assert_eq!(
        &*good("[ports.p]\nkind = 'log'\nread = 'a'\npace = 'fast'"),
        &*settings(LogSettings {
            read: Some(FileOrStream::File("a".into())),
            write: None,
            interface: None,
            pace: ReplaySpeed::Fast,
            ..LogSettings::default()
        })
    );
}

#[test]
fn settings_of_a_controller() {
    let text = |keys: &str| format!("[ports.can0]\nkind = 'socketcan'\nbitrate = '500k'\n{keys}");
    let all = good(&text(
        "data_bitrate = '2M'\nlisten_only = false\none_shot = true\nloopback = false\n\
         triple_sampling = true\nbus_errors = true\npresume_ack = true\nnon_iso = true\n\
         len8_dlc = true\nsjw = 4\ndata_sjw = 2\ntermination = 120\ntxqueuelen = 1\n\
         tdc = { offset = 30, filter = 2 }",
    ));
    let words = ", no loopback, no listen-only, triple-sampling, one-shot, berr-reporting, presume-ack, \
                 fd-non-iso, cc-len8-dlc, sjw 4, dsjw 2, termination 120, txqueuelen 1, tdco 30";
    assert!(all.describe().contains(words), "{}", all.describe());
    assert_ne!(*all, *good(&text("data_bitrate = '2M'")));
    for (keys, message) in [
        (
            "tdc = 'off'",
            "`tdc` is for a bus with CAN FD, and there is no `data_bitrate`",
        ),
        (
            "data_sjw = 1",
            "`data_sjw` is for a bus with CAN FD, and there is no `data_bitrate`",
        ),
        (
            "non_iso = true",
            "`non_iso` is for a bus with CAN FD, and there is no `data_bitrate`",
        ),
        (
            "listen_only = true\none_shot = true",
            "with `listen_only`, the controller sends nothing, and `one_shot` is about what it sends",
        ),
        (
            "berr_reporting = true",
            "port `can0` has no key `berr_reporting`",
        ),
    ] {
        assert_eq!(bad(&text(keys)), [message], "{keys}");
    }
    let alone = "[ports.can0]\nkind = 'socketcan'\none_shot = true";
    assert_eq!(bad(alone), ["port `can0` needs `bitrate`"]);
    let table = bad(&text("data_bitrate = '2M'\ntdc = { filter = 2 }"));
    assert_eq!(table, ["`tdc` needs `offset`"]);
}

#[test]
fn an_interface_is_chosen_by_its_name_or_its_device() {
    let text =
        |keys: &str| format!("[ports.engine-bus-with-a-long-name]\nkind = 'socketcan'\n{keys}");
    // This machine may have CAN interfaces, but none of these.
    let (spec, messages) = read(&text("match = { serial = 'no such device' }"));
    assert!(
        messages[0].starts_with("no interface has serial no such device"),
        "{messages:?}"
    );
    let spec = spec.unwrap();
    assert_eq!(spec.interface(), None);
    assert!(
        spec.describe()
            .contains("Linux interface with serial no such device")
    );
    let both = bad(&text("interface = 'can0'\nmatch = { usb = '1-1' }"));
    assert_eq!(both, ["`interface` and `match` both choose the interface"]);
    assert_eq!(
        bad(&text("match = {}")),
        ["`match` of port `engine-bus-with-a-long-name` needs `usb` or `serial`"]
    );
}

#[test]
fn settings_are_equal_within_their_kind_only() {
    let bus = |text: &str| good(&format!("[ports.p]\nkind = 'bus'\n{text}"));
    assert_eq!(&*bus(""), &*bus("bitrate = '500k'"));
    assert_ne!(&*bus(""), &*bus("bitrate = '250k'"));
    assert_ne!(&*bus(""), &*good("[ports.p]\nkind = 'socketcan'"));
}

#[test]
fn faults_make_another_port_and_keep_it_out_of_the_kernel() {
    let text = "[ports.can0]\nkind = 'socketcan'";
    let (plain, _) = read(text);
    let with_faults = format!("{text}\nfaults = {{ transmit = {{ drop = 0.5 }} }}");
    let (faulty, messages) = read(&with_faults);
    assert_eq!(messages, ["port `can0` injects faults"]);
    let (plain, faulty) = (plain.unwrap(), faulty.unwrap());
    assert_eq!(&*plain.settings, &*faulty.settings);
    assert_ne!(plain, faulty);
    assert_eq!(plain.interface(), Some("can0"));
    assert_eq!(faulty.interface(), None);
    let words = faulty.describe();
    assert!(words.starts_with(&plain.describe()), "{words}");
    assert!(words.contains("50 % dropped"), "{words}");
}

/// Messages about a kind come from the list of kinds.
#[test]
fn an_empty_list_knows_no_kind() {
    let source = SourceText::new("t", "[p]\nkind = 'bus'");
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(&source, &mut found);
    let (name, value) = document.root().all().remove(0);
    let table = value.table("p", &mut found).unwrap();
    let spec = PortSpec::parse(&name, table, &PortKinds::none(), &mut found);
    assert_eq!(spec, None);
    assert_eq!(found.list()[0].message, "`kind` cannot be `bus`");
    let standard: Vec<_> = PortKinds::standard().keywords().collect();
    let all = [
        "socketcan",
        "bus",
        "log",
        "direct",
        "chardev",
        "virtio",
        "shm",
        "messages",
        "split",
        "cannelloni",
        "socketcand",
        "slcan",
        "multicast",
        "ieee1722",
        "controller",
    ];
    assert_eq!(standard, all);
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("[ports.p]\nkind = 'virtio'", "port `p` needs `socket`"),
        (
            "[ports.p]\nkind = 'virtio'\nsocket = 's'\nbudget = '1/s'",
            "port `p` needs `controller`",
        ),
        (
            "[ports.p]\nkind = 'virtio'\nsocket = 's'\ncontroller = 'c'\nbudget = '1/s'\nbit_budget = '1/s'",
            "`budget` counts frames, and `bit_budget` bits: one machine has one of them",
        ),
        (
            "[ports.p]\nkind = 'virtio'\nsocket = 's'\ncontroller = 'c'\nsend = ['800']",
            "`800` names no identifiers",
        ),
        ("[ports.p]\nkind = 'shm'", "port `p` needs `socket`"),
        (
            "[ports.p]\nkind = 'shm'\nsocket = 's'\npoll = '1ms'",
            "`poll` is for a `device`",
        ),
        (
            "[ports.p]\nkind = 'shm'\nsocket = 's'\ndevice = '0000:00:05.0'",
            "`socket` is for processes and `device` for virtual machines: leave one of them out",
        ),
        (
            "[ports.p]\nkind = 'shm'\ndevice = '0000:00:05.0'\npoll = '100ns'",
            "this interval is too short",
        ),
        (
            "[ports.can0]\nkind = 'socketcan'\nrestart = '1s'",
            "port `can0` needs `bitrate`",
        ),
        (
            "[ports.can0]\nkind = 'socketcan'\nbitrate = '500k'\ndata_bitrate = '250k'",
            "the data phase cannot be slower than the arbitration phase",
        ),
        ("[ports.p]\nqueue = 1", "port `p` needs `kind`"),
        ("[ports.p]\nkind = 'busses'", "`kind` cannot be `busses`"),
        (
            "[ports.p]\nkind = 'log'",
            "port `p` needs `read` or `write`",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\nwrite = 'x'",
            "this is the log that is read",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\npace = 0",
            "a pace is from 0.000001 to 1000000",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\npace = nan",
            "`pace` must be a number",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\non_full = 'wait'",
            "`on_full` is for a log that is read, and nothing is read here",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\norigin = 'own'",
            "`origin` is for a log that is read, and nothing is read here",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\norigin = 'file'",
            "`origin` cannot be `file`",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\non_full = 'drop'",
            "`on_full` cannot be `drop`",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = '-'\nappend = true",
            "this is for a file, and standard output is not a file",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\nrotate = { size = '1M' }",
            "this is for a log that is written, and this port writes none",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\nrotate = { keep = 3 }",
            "`rotate` of port `p` needs `size` or `every`",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\nrotate = { size = 4095 }",
            "`size` must be from 4096 bytes to 1024 GiB",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\nrotate = { size = '2000GiB' }",
            "`size` must be from 4096 bytes to 1024 GiB",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\nrotate = { every = '999ms' }",
            "`every` must be from 1s to 8784h (366 days)",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\nrotate = { every = '1h', keep = 0 }",
            "`keep` must be from 1 to 999999",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\nrotate = { size = '1M', kep = 3 }",
            "`rotate` of port `p` has no key `kep`",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\npace = 'fast'",
            "`pace` is the speed at which a log is read, and nothing is read here",
        ),
        (
            "[ports.p]\nkind = 'socketcan'\ninterface = '1234567890123456'",
            "this is not a valid interface name",
        ),
        (
            "[ports.p]\nkind = 'socketcan'\ninterface = 'a b'",
            "this is not a valid interface name",
        ),
        (
            "[ports.a234567890123456]\nkind = 'socketcan'",
            "port `a234567890123456` needs `interface`",
        ),
        (
            "[ports.p]\nkind = 'bus'\nbitrate = 4999",
            "`bitrate` must be from 5 kbit/s to 1 Mbit/s",
        ),
        (
            "[ports.p]\nkind = 'bus'\nbitrate = '1.1M'",
            "`bitrate` must be from 5 kbit/s to 1 Mbit/s",
        ),
        (
            "[ports.p]\nkind = 'bus'\ndata_bitrate = '250k'",
            "the data phase cannot be slower than the arbitration phase",
        ),
        (
            "[ports.p]\nkind = 'bus'\nmailboxes = 0",
            "`mailboxes` must be from 1 to 32",
        ),
        (
            "[ports.p]\nkind = 'bus'\nqueue = 65537",
            "`queue` must be from 1 to 65536",
        ),
        (
            "[ports.p]\nkind = 'bus'\nfd = true",
            "port `p` has no key `fd`",
        ),
        (
            "[ports.p]\nkind = 'direct'\nsample_point = 87.5",
            "this is not a valid sample point",
        ),
        (
            "[ports.p]\nkind = 'direct'\nbitrate = '1M'\ndata_bitrate = '500k'",
            "the data phase cannot be slower than the arbitration phase",
        ),
        (
            "[ports.p]\nkind = 'direct'\nmode = 'irq'",
            "`mode` cannot be `irq`",
        ),
        (
            "[ports.p]\nkind = 'direct'\nchannel = 8",
            "`channel` must be from 0 to 7",
        ),
        (
            "[ports.'a b']\nkind = 'bus'",
            "a port's name cannot contain ' '",
        ),
        ("[ports.'']\nkind = 'bus'", "a port's name cannot be empty"),
    ];
    for (text, message) in cases {
        assert_eq!(bad(text), [message], "{text}");
    }
}
