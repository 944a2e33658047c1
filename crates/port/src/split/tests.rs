//! Frames through the halves of a port: split, carried, joined, and what is lost on the way.

use crate::{Halves, OutgoingFrame, ReceivedFrame, SplitIds, TransmitRefusal};
use frame::{CanId, Frame, FrameBuf, Header, Kind, dlc, flags};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn port() -> Halves {
    let id = |number| CanId::sff(number).unwrap();
    let pair = |whole, parts| SplitIds {
        whole: id(whole),
        parts: id(parts),
    };
    let pairs = [pair(0x300, 0x700), pair(0x301, 0x701)];
    super::halves::halves(&pairs, 10 * MS, 40)
}

fn whole(id: u32, payload: &[u8], flags: u8) -> Frame {
    Frame::fd(CanId::sff(id).unwrap(), flags, payload).unwrap()
}

fn put(port: &mut Halves, now: u64, frame: &Frame) -> Result<(), TransmitRefusal> {
    let outgoing = OutgoingFrame::new(frame.view(), 0);
    port.1.transmit(now, outgoing).map(|_| ())
}

fn made(port: &mut Halves, now: u64) -> Vec<Frame> {
    let mut all = Vec::new();
    let mut take = |received: ReceivedFrame<'_>| all.extend(Frame::from_view(received.frame));
    while port.0.receive(now, 64, &mut take).unwrap().more {}
    all
}

/// Returns the parts of a frame by a port that has split `before` frames.
fn parts(frame: &Frame, before: usize) -> Vec<Frame> {
    let mut port = port();
    for _ in 0..before {
        put(&mut port, 0, frame).unwrap();
        made(&mut port, 0);
    }
    put(&mut port, 0, frame).unwrap();
    made(&mut port, 0)
}

fn check_sums(port: &Halves) {
    let counters = port.1.counters();
    assert_eq!(
        counters.taken,
        counters.sent + counters.lost + counters.held
    );
}

/// The bytes are worked out by hand from the documented layout.
#[test]
fn parts_have_the_documented_layout() {
    let payload: Vec<u8> = (1..=12).collect();
    let frames = parts(&whole(0x300, &payload, flags::BRS), 2);
    let bytes: Vec<_> = frames.iter().map(|frame| frame.data().to_vec()).collect();
    // The third frame; 12 bytes are DLC 9; BRS.
    assert_eq!(
        bytes,
        [
            vec![0x20, 0x19, 1, 2, 3, 4, 5, 6],
            vec![0x21, 7, 8, 9, 10, 11, 12],
        ]
    );
    assert!(
        frames
            .iter()
            .all(|frame| frame.view().kind() == Kind::Classic)
    );
    assert!(
        frames
            .iter()
            .all(|frame| frame.view().id().number() == 0x700)
    );
    let empty = parts(&whole(0x300, &[], flags::ESI), 0);
    assert_eq!(empty[0].data(), [0x00, 0x20]);
    assert_eq!(parts(&whole(0x300, &[0; 64], 0), 0).len(), 10);
}

#[test]
fn the_lengths_of_parts_are_known_before() {
    for len in 0..=64 {
        let made = parts(&whole(0x300, &vec![0xA5; len], 0), 0);
        let lens: Vec<usize> = made.iter().map(|part| part.data().len()).collect();
        assert_eq!(super::part_lens(len).collect::<Vec<_>>(), lens, "{len}");
    }
}

#[test]
fn a_missing_part_drops_the_whole_frame() {
    let payload: Vec<u8> = (0..24).collect();
    for missing in 0..4 {
        let mut port = port();
        let all = parts(&whole(0x300, &payload, 0), 0);
        assert_eq!(all.len(), 4);
        for (number, part) in all.iter().enumerate() {
            if number != missing {
                put(&mut port, 0, part).unwrap();
            }
        }
        assert_eq!(made(&mut port, 0), []);
        // The next frame is not affected.
        for part in parts(&whole(0x300, &payload, 0), 1) {
            put(&mut port, MS, &part).unwrap();
        }
        assert_eq!(made(&mut port, MS), [whole(0x300, &payload, 0)]);
        let counters = port.1.counters();
        assert_eq!((counters.taken, counters.sent, counters.lost), (7, 4, 3));
        check_sums(&port);
    }
}

#[test]
fn parts_of_two_frames_are_never_mixed() {
    let mut port = port();
    let (first, second) = (whole(0x300, &[1; 24], 0), whole(0x300, &[2; 24], 0));
    // The end of the first frame and the beginning of the second one are missing.
    for part in &parts(&first, 0)[..2] {
        put(&mut port, 0, part).unwrap();
    }
    for part in &parts(&second, 1)[2..] {
        put(&mut port, 0, part).unwrap();
    }
    assert_eq!(made(&mut port, 0), []);
    assert_eq!(port.1.counters().lost, 4);
    check_sums(&port);
}

#[test]
fn a_frame_that_is_not_complete_in_time_is_dropped() {
    let mut port = port();
    let all = parts(&whole(0x301, &[7; 20], 0), 0);
    put(&mut port, 0, &all[0]).unwrap();
    put(&mut port, 9 * MS, &all[1]).unwrap();
    assert_eq!(port.1.counters().held, 2);
    assert_eq!(port.0.deadline(), Some(10 * MS + 1));
    assert_eq!(made(&mut port, 10 * MS), []);
    assert_eq!(port.1.counters().held, 2);
    assert_eq!(made(&mut port, 10 * MS + 1), []);
    assert_eq!((port.1.counters().held, port.1.counters().lost), (0, 2));
    assert_eq!(port.0.deadline(), None);
    // The last part alone is dropped, too.
    put(&mut port, 11 * MS, &all[2]).unwrap();
    assert_eq!(port.1.counters().lost, 3);
    assert_eq!(
        port.0.remarks(),
        [
            "1 FD frame dropped: a part did not come in time",
            "3 parts dropped, which the losses count"
        ]
    );
}

#[test]
fn a_part_that_comes_twice_is_left_out() {
    let mut port = port();
    for part in parts(&whole(0x300, &[5; 20], 0), 0) {
        put(&mut port, 0, &part).unwrap();
        put(&mut port, 1, &part).unwrap();
    }
    assert_eq!(made(&mut port, 1), [whole(0x300, &[5; 20], 0)]);
    let counters = port.1.counters();
    assert_eq!((counters.taken, counters.sent, counters.lost), (6, 6, 0));
}

#[test]
fn frames_that_the_port_does_not_know_are_refused() {
    let mut port = port();
    let classic = |id, data: &[u8]| Frame::classic(CanId::sff(id).unwrap(), data).unwrap();
    let remote = Frame::remote(CanId::sff(0x700).unwrap(), 2).unwrap();
    let refused = Err(TransmitRefusal::Unsupported);
    for frame in [
        whole(0x302, &[], 0),
        whole(0x700, &[0, 0], 0),
        classic(0x300, &[]),
        remote,
    ] {
        assert_eq!(put(&mut port, 0, &frame), refused);
    }
    // Frames with the ID of parts that are none count as lost.
    for data in [&[][..], &[0x00], &[0x00, 0x40], &[0x01], &[0x00, 0x09, 1]] {
        assert_eq!(put(&mut port, 0, &classic(0x700, data)), Ok(()));
    }
    assert_eq!(port.1.counters().lost, 5);
    assert_eq!(made(&mut port, 0), []);
    check_sums(&port);
}

#[test]
fn a_frame_whose_parts_have_no_room_is_refused_as_a_whole() {
    let mut port = port();
    let long = whole(0x300, &[1; 64], 0);
    for _ in 0..4 {
        assert!(port.1.room() > 0);
        assert_eq!(put(&mut port, 0, &long), Ok(()));
    }
    assert_eq!(port.1.room(), 0);
    assert_eq!(put(&mut port, 0, &long), Err(TransmitRefusal::Full));
    assert_eq!(made(&mut port, 0).len(), 40);
    assert_eq!(put(&mut port, 0, &long), Ok(()));
}

proptest! {
    /// Any frames, carried with losses: what comes out was put in, in order, and no part is without
    /// a count.
    #[test]
    fn what_is_joined_was_split(
        frames in prop::collection::vec(
            (0x300_u32..0x302, 0_usize..=64, any::<u8>(), 0_u8..4, any::<u16>()),
            1..20,
        ),
        has_losses: bool,
    ) {
        let (mut from, mut to) = (port(), port());
        let (mut sent, mut came, mut carried) = (Vec::new(), Vec::new(), 0);
        for (time, (id, len, fill, flags, losses)) in frames.into_iter().enumerate() {
            let payload: Vec<u8> = (0..len).map(|at| fill.wrapping_add(at as u8)).collect();
            let header = Header::new(Kind::Fd, CanId::sff(id).unwrap(), len).unwrap();
            let mut frame = FrameBuf::new();
            frame.reset(header.with_flags(flags));
            frame.buffer_mut()[..len].copy_from_slice(&payload);
            let frame = Frame::from_view(frame.view()).unwrap();
            put(&mut from, 0, &frame).unwrap();
            let mut is_whole = true;
            for (number, part) in made(&mut from, 0).iter().enumerate() {
                if has_losses && losses >> number & 1 == 1 {
                    is_whole = false;
                } else {
                    carried += 1;
                    put(&mut to, time as u64, part).unwrap();
                }
            }
            if is_whole {
                sent.push(frame.padded());
            }
            came.extend(made(&mut to, time as u64));
            check_sums(&to);
        }
        prop_assert_eq!(came, sent);
        prop_assert_eq!(to.1.counters().taken, carried);
        prop_assert!(dlc::FD_MAX == 64);
    }

    #[test]
    fn any_parts_are_counted(
        parts in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..=8), 0_u64..20),
            0..60,
        ),
    ) {
        let mut port = port();
        let (mut now, mut count) = (0, 0);
        for (data, wait) in parts {
            now += wait * MS;
            let part = Frame::classic(CanId::sff(0x700).unwrap(), &data).unwrap();
            put(&mut port, now, &part).unwrap();
            count += 1;
            for frame in made(&mut port, now) {
                prop_assert!(frame.view().len() <= 64);
            }
            prop_assert_eq!(port.1.counters().taken, count);
            check_sums(&port);
        }
    }
}
