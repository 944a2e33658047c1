//! Checks the pcapng files with tshark, Wireshark's program for the command line.
//!
//! XL frames are not included: tshark 4.0 of Debian 12 does not support them. Their bytes are
//! compared with the link type's description (`pcapng::tests::frames_as_the_link_type_has_them`).

use capture::{
    CaptureOutput, Chunk, FileRecorder, FrameGap, InterfaceNames, LossPlace, RecordedFrame,
    RotationRule,
};
use frame::text::Direction;
use frame::{CanId, Frame, FrameBuf, Kind, Nanos, flags};
use linux::can::layout::encode;
use std::path::Path;
use std::process::Command;

const NAMES: [&str; 3] = ["can0", "vcan1", "a-longer-name"];

/// The fields that are requested for each frame, in this order.
const FIELDS: [&str; 25] = [
    "frame.time_epoch",
    "frame.interface_name",
    "frame.packet_flags_direction",
    "frame.comment",
    "frame.drop_count",
    "can.id",
    "can.flags.xtd",
    "can.flags.rtr",
    "can.flags.err",
    "can.len",
    "canfd.flags.brs",
    "canfd.flags.esi",
    "data.data",
    // The classes of error frames, from bit 0 of the ID (`uapi/linux/can/error.h`).
    "can.err.tx_timeout",
    "can.err.lostarb",
    "can.err.ctrl",
    "can.err.prot",
    "can.err.trx",
    "can.err.ack",
    "can.err.busoff",
    "can.err.buserror",
    "can.err.restarted",
    "can.err.ctrl.tx_passive",
    "can.err.prot.location",
    "_ws.malformed",
];

struct Recorded {
    stamp: Nanos,
    interface: usize,
    direction: Option<Direction>,
    frame: FrameBuf,
    /// Frames of any interface that were lost in the ring.
    lost_before: u64,
    /// Frames of its own interface that were lost in the queue.
    lost_here: u64,
}

/// Every kind of frame with every length, and some error frames.
fn frames() -> Vec<Recorded> {
    let mut all = Vec::new();
    let mut add = |frame: FrameBuf| {
        let n = all.len();
        all.push(Recorded {
            // Not in steps of a microsecond, and with more than 32 bits.
            stamp: 1_700_000_000_000_000_000 + n as u64 * 987_654_321,
            interface: n % 3,
            direction: [None, Some(Direction::Sent), Some(Direction::Received), None][n % 4],
            frame,
            lost_before: u64::from(n % 50 == 7) * n as u64,
            lost_here: u64::from(n % 40 == 9) * n as u64,
        });
    };
    let data: Vec<u8> = (0..64).map(|n: u8| n.wrapping_mul(37) ^ 0xA5).collect();
    let eff = CanId::EFF_FLAG;
    let ids = [0, 0x123, 0x7FF, eff, eff | 0x123, eff | 0x1FFF_FFFF];
    for id in ids.map(CanId::from_raw) {
        for len in 0..=8 {
            add(buf(&Frame::classic(id, &data[..len]).unwrap()));
            let hex = format!("{id}#R{len}");
            add(parsed(&hex));
        }
        for len in (0..=8).chain([12, 16, 20, 24, 32, 48, 64]) {
            for extra in [0, flags::BRS, flags::ESI, flags::BRS | flags::ESI] {
                add(buf(&Frame::fd(id, extra, &data[..len]).unwrap()));
            }
        }
    }
    for class in 0..9 {
        add(parsed(&format!(
            "{:08X}#0000000000000000",
            0x2000_0000 | 1 << class
        )));
    }
    // Error-passive in transmitting, with its counters; a stuff error in the data.
    add(parsed("20000004#0020000000008010"));
    add(parsed("20000008#0000040A00000000"));
    // With a DLC above 8.
    add(parsed("123#0011223344556677_F"));
    all
}

fn buf(frame: &Frame) -> FrameBuf {
    parsed(&frame.to_string())
}

fn parsed(text: &str) -> FrameBuf {
    let mut buf = FrameBuf::new();
    frame::text::parse_frame(text.as_bytes(), &mut buf).unwrap();
    buf
}

fn write(path: &Path, frames: &[Recorded]) {
    let names = InterfaceNames::default();
    for (place, name) in NAMES.iter().enumerate() {
        assert_eq!(usize::from(names.place(name)), place);
    }
    let output = CaptureOutput::from_path(path, None).unwrap();
    let mut recorder =
        FileRecorder::new(&output, RotationRule::default(), &names, 0, false).unwrap();
    let mut chunk = Chunk::with_room();
    for one in frames {
        let interface = Some(one.interface as u16);
        for (frames, interface, at) in [
            (one.lost_before, None, LossPlace::Ring),
            (one.lost_here, interface, LossPlace::Queue),
        ] {
            if frames > 0 {
                chunk.push_gap(&FrameGap {
                    stamp: one.stamp,
                    interface,
                    frames,
                    at,
                });
            }
        }
        let mut bytes = [0; 80];
        let len = encode(one.frame.view(), &mut bytes).unwrap();
        chunk.push(&RecordedFrame {
            stamp: one.stamp,
            interface: one.interface as u16,
            direction: one.direction,
            bytes: &bytes[..len],
        });
    }
    recorder.take(&chunk, 0);
    recorder.end();
    assert_eq!(recorder.done().frames, frames.len() as u64);
}

/// Returns the expected fields of tshark.
fn expected(one: &Recorded) -> Vec<String> {
    let frame = one.frame.view();
    let (header, id) = (frame.header(), frame.header().id());
    let bit = |set: bool| u8::from(set).to_string();
    let fd = header.kind() == Kind::Fd;
    let error = id.is_err();
    let when = |holds: bool, text: String| if holds { text } else { String::new() };
    let hex: String = frame.data().iter().map(|b| format!("{b:02x}")).collect();
    let lost = one.lost_before;
    let missing = format!("{lost} frames of any interface are missing: the kernel's ring was full");
    let class = |n: u32| when(error, bit(id.raw() >> n & 1 != 0));
    let mut row = vec![
        format!(
            "{}.{:09}",
            one.stamp / 1_000_000_000,
            one.stamp % 1_000_000_000
        ),
        NAMES[one.interface].to_owned(),
        match one.direction {
            None => String::new(),
            Some(Direction::Received) => "0x00000001".to_owned(),
            Some(Direction::Sent) => "0x00000002".to_owned(),
        },
        when(lost > 0, missing),
        when(one.lost_here > 0, one.lost_here.to_string()),
        when(!error, id.number().to_string()),
        // tshark does not decode these bits of an error frame.
        when(!error, bit(id.is_eff())),
        when(!error && !fd, bit(header.is_rtr())),
        when(!fd, bit(error)),
        header.len().to_string(),
        when(fd, bit(header.flags() & flags::BRS != 0)),
        when(fd, bit(header.flags() & flags::ESI != 0)),
        when(!error, hex),
    ];
    row.extend((0..9).map(class));
    let ctrl = id.raw() & 4 != 0;
    row.push(when(error && ctrl, bit(frame.data().get(1) == Some(&0x20))));
    let location = frame.data().get(3).copied().unwrap_or_default();
    row.push(when(error && id.raw() & 8 != 0, location.to_string()));
    // Nothing is malformed.
    row.push(String::new());
    row
}

#[test]
fn wireshark_reads_what_is_written() {
    let there = Command::new("tshark").arg("--version").output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED because there is no tshark on the path: `apt-get install tshark`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.pcapng");
    let frames = frames();
    write(&path, &frames);
    let mut tshark = Command::new("tshark");
    // AUTOSAR's dissector would claim any short frame.
    tshark.args(["-n", "--disable-protocol", "autosar-nm"]);
    tshark.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]);
    tshark.env("LC_ALL", "C").env("HOME", folder.path());
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.arg("-r").arg(&path).output().unwrap();
    let message = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(lines.len(), frames.len(), "{errors}");
    for (one, line) in frames.iter().zip(lines) {
        let row: Vec<_> = line.split('|').collect();
        for ((field, found), expected) in FIELDS.iter().zip(&row).zip(expected(one)) {
            assert_eq!(*found, expected, "{field} of {}: {line}", one.frame.view());
        }
        assert_eq!(row.len(), FIELDS.len(), "{line}");
    }
}
