//! The protocols of networks, whatever arrives: no panic, only valid frames, and what is written
//! again reads the same. A stream gives the same frames in one part and in several.

use crate::Target;
use crate::bytes::ByteSource;
use frame::FrameBuf;
use net::cannelloni::{CannelloniReader, CannelloniSession, CannelloniWriter};
use net::ieee1722::{AcfReader, AcfWriter, MessageVersion, PeerReport};
use net::multicast::{MulticastReader, MulticastWriter};
use net::slcan::{SlcanClient, SlcanServer};
use net::socketcand::{SocketcandClient, SocketcandServer};
use net::{
    DatagramNumber, DatagramReader, DatagramWriter, PresentationTime, SequenceWindow,
    StreamSession, StreamStep,
};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "network",
    run,
    words: &[
        "CANNELLONIv1",
        "\u{2}\u{0}\u{0}\u{0}\u{1}\u{0}\u{0}\u{1}\u{23}\u{1}\u{55}",
        "t12321122\r",
        "T1ABCDEF080102030405060708\r",
        "d1239112233445566778899AABBCC\r",
        "b1F00\r",
        "R000001230\r",
        "O\r",
        "L\r",
        "Z1\r",
        "< hi >",
        "< ok >",
        "< open can0 >",
        "< rawmode >",
        "< send 123 2 1 ff >",
        "< frame 123 1795624011.371622 AABB >",
        "< frame 7FF 1.5  >",
        "< error 040 1.5 >",
        "< echo >",
        "< list >",
        "arbitration_id",
        "is_extended_id",
        "is_remote_frame",
        "is_error_frame",
        "bitrate_switch",
        "error_state_indicator",
        "timestamp",
        "channel",
        "is_fd",
        "data",
        "dlc",
    ],
};

/// The stream of the seeds.
const STREAM: u64 = 0xAABB_CCDD_EEFF_0001;

fn run(input: &[u8]) {
    let bytes = &mut ByteSource::new(input);
    match bytes.byte() % 9 {
        0 => datagram(
            &mut CannelloniReader,
            &mut CannelloniWriter::default(),
            bytes.rest(),
        ),
        1 => datagram(
            &mut MulticastReader::default(),
            &mut MulticastWriter,
            bytes.rest(),
        ),
        2 => stream(CannelloniSession::default, bytes),
        3 => stream(SlcanServer::default, bytes),
        4 => stream(|| SlcanClient::new(Some(500_000)), bytes),
        5 => stream(SocketcandServer::default, bytes),
        6 => stream(|| SocketcandClient::new("can0"), bytes),
        7 => sequence(bytes),
        _ => {
            let bits = bytes.byte();
            let mut writer = AcfWriter::new(STREAM, MessageVersion::V2, 5, bits & 1 != 0);
            if bits & 2 != 0 {
                writer = writer.with_presentation();
            }
            let input = bytes.rest();
            if let Some(report) = PeerReport::read(input, STREAM) {
                assert_eq!(
                    PeerReport::read(&report.write(STREAM, 1), STREAM),
                    Some(report)
                );
            }
            datagram(&mut AcfReader::new(STREAM, None), &mut writer, input);
        }
    }
}

/// A frame of a datagram, and its presentation time.
type TimedFrame = (FrameBuf, Option<PresentationTime>);

/// Returns the frames of a datagram; `None` if it is not valid.
fn frames(reader: &mut dyn DatagramReader, datagram: &[u8]) -> Option<Vec<TimedFrame>> {
    if let Err(fault) = reader.check(datagram) {
        assert!(fault.at <= datagram.len() && !fault.to_string().is_empty());
        return None;
    }
    let (mut at, mut frames) = (0, Vec::new());
    while let Some(frame) = reader.next(datagram, &mut at) {
        let trail = frame.trail;
        assert!(
            trail.stations().count() == trail.len() && trail.len() <= net::FrameTrail::MAX_STATIONS
        );
        let mut kept = FrameBuf::new();
        kept.set(frame.frame);
        let presentation = frame.presentation;
        let now = frame.stamp.unwrap_or(1_500_000_000);
        let whole = presentation.map_or(now, |time| time.resolve(now));
        assert!(
            whole.saturating_sub(now) <= PresentationTime::FARTHEST_AHEAD
                && now.saturating_sub(whole) < 1 << 32
        );
        frames.push((kept, presentation));
    }
    Some(frames)
}

fn datagram(reader: &mut dyn DatagramReader, writer: &mut dyn DatagramWriter, input: &[u8]) {
    let Some(found) = frames(reader, input) else {
        return;
    };
    for (frame, presentation) in found {
        // An XL frame can be too long for a datagram with a time stamp.
        if !writer.carries(&frame.view()) {
            assert_eq!(frame.view().kind(), frame::Kind::Xl);
            continue;
        }
        let mut out = Vec::new();
        assert!(writer.room(&out) > 0);
        assert_eq!(writer.push(&frame.view(), 1_500_000_000, &mut out), Ok(()));
        writer.finish(&mut out);
        let untimed = out.clone();
        if let Some(time) = presentation {
            writer.present(time, &mut out);
        }
        let again = frames(reader, &out).unwrap_or_default();
        let views: Vec<_> = again.iter().map(|(frame, _)| frame.view()).collect();
        assert_eq!(views, [frame.view()]);
        // Only some datagrams have a place for the time.
        let expected = presentation.filter(|_| out != untimed);
        assert_eq!(again[0].1, expected);
    }
}

/// Result of a session for its input.
#[derive(PartialEq, Eq, Debug, Default)]
struct Taken {
    frames: Vec<frame::Frame>,
    answer: Vec<u8>,
    malformed: usize,
    ended: bool,
}

/// Takes all units at the beginning of the input; returns the number of bytes that are left.
fn take(session: &mut dyn StreamSession, mut input: &[u8], taken: &mut Taken) -> usize {
    while !taken.ended {
        let used = match session.take(input, &mut taken.answer) {
            StreamStep::More => break,
            StreamStep::End(_) => {
                taken.ended = true;
                break;
            }
            StreamStep::Used(used) => used,
            StreamStep::Malformed(used) | StreamStep::Rejected(used) => {
                taken.malformed += 1;
                used
            }
            StreamStep::Frame(used, frame) => {
                taken.frames.push(frame);
                used
            }
            StreamStep::Open(used, name) => {
                session.answer_open(!name.is_empty(), &mut taken.answer);
                used
            }
            StreamStep::List(used) => {
                session.answer_list(&["can0".to_owned()], &mut taken.answer);
                used
            }
        };
        assert!((1..=input.len()).contains(&used));
        input = &input[used..];
    }
    input.len()
}

fn stream<S: StreamSession>(new: impl Fn() -> S, bytes: &mut ByteSource<'_>) {
    let part = usize::from(bytes.byte()) + 1;
    let input = bytes.rest();
    let (mut whole, mut session) = (Taken::default(), new());
    session.begin(&mut whole.answer);
    let left = take(&mut session, input, &mut whole);
    // A session that waits for more has a limit.
    assert!(left <= 512 || whole.ended);
    let (mut parts, mut session) = (Taken::default(), new());
    session.begin(&mut parts.answer);
    let mut rest = Vec::new();
    for piece in input.chunks(part) {
        rest.extend_from_slice(piece);
        let left = take(&mut session, &rest, &mut parts);
        rest.drain(..rest.len() - left);
    }
    // Blanks and faults between elements may be divided.
    assert_eq!(parts.frames, whole.frames);
    assert_eq!(
        (parts.ended, parts.answer == whole.answer),
        (whole.ended, true)
    );
    for frame in whole.frames {
        let mut out = Vec::new();
        session.put(&frame.view(), 1_500_000_000, &mut out);
        assert!(out.len() <= 200);
    }
}

fn sequence(bytes: &mut ByteSource<'_>) {
    let mut window = SequenceWindow::default();
    let (mut now, mut before) = (0, window.counters());
    while !bytes.is_empty() {
        now += u64::from(bytes.byte()) * 10_000_000;
        let short = bytes.byte();
        // Numbers of 32 bits that grow as the short one does, or not.
        let high = u32::from(bytes.byte()) << 20;
        let long = (high & 1 << 20 != 0).then_some(high | u32::from(short));
        let number = DatagramNumber { short, long };
        window.arrive(number, &[bytes.byte()], now);
        if high & 2 << 20 != 0 {
            let place = window.announce(high | u32::from(bytes.byte()), now);
            assert!(place.is_none_or(|place| place > 0) && window.awaited() > 0);
        }
        let after = window.counters();
        assert!(after.missing >= before.missing && after.overtaken >= before.overtaken);
        assert!(after.duplicates >= before.duplicates && after.restarts >= before.restarts);
        assert!(after.late <= after.missing && after.taken >= before.taken);
        before = after;
    }
    window.settle(now + 1_000_000_000);
    assert_eq!(window.deadline(), None);
}
