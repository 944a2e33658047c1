//! Presentation times: bytes of libopen1722, the whole time from its low bits, and the times of a
//! datagram's frames.

use crate::common::{frame, hex};
use frame::Nanos;
use net::ieee1722::{AcfReader, AcfWriter, LONGEST_SPAN, MessageVersion};
use net::{
    DatagramFrame, DatagramReader, DatagramWriter, LateRule, PlayOut, PlayOutCounters,
    PlayOutRules, PlayOutStep, PresentationTime, StampClock,
};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

const STREAM: u64 = 0x0011_2233_4455_0001;
const MS: Nanos = 1_000_000;

/// A TSCF datagram with a presentation time, by libopen1722.
const TIMED: &str = "00000007 05810700 0011223344550001 89abcdef 00000000 00140000 \
                     02052003 0102030405060708 00000123 11223344";

/// Returns the presentation times of a datagram's frames.
fn times(datagram: &[u8]) -> Vec<Option<PresentationTime>> {
    let mut reader = AcfReader::new(STREAM, None);
    reader.check(datagram).unwrap();
    let (mut at, mut times) = (0, Vec::new());
    while let Some(found) = reader.next(datagram, &mut at) {
        times.push(found.presentation);
    }
    times
}

const fn time(low: u32) -> Option<PresentationTime> {
    Some(PresentationTime {
        low,
        is_uncertain: false,
    })
}

#[test]
fn the_time_of_libopen1722_is_read_and_written() {
    let bytes = hex(TIMED);
    assert_eq!(times(&bytes), [time(0x89AB_CDEF)]);
    let mut writer = AcfWriter::new(STREAM, MessageVersion::V1, 3, false)
        .numbered_by(Arc::new(AtomicU32::new(7)))
        .with_presentation();
    let mut out = Vec::new();
    let frame = frame("123#11223344");
    writer
        .push(&frame.view(), 0x0102_0304_0506_0708, &mut out)
        .unwrap();
    writer.finish(&mut out);
    // Without a time, only the bit and the time are missing.
    let mut untimed = bytes.clone();
    untimed[5] = 0x80;
    untimed[16..20].fill(0);
    assert_eq!(out, untimed);
    assert_eq!(times(&out), [None]);
    writer.present(PresentationTime::at(0x5_89AB_CDEF), &mut out);
    assert_eq!(out, bytes);
    // A datagram that could not be sent is completed again, with another number or time.
    writer.take_back();
    writer.finish(&mut out);
    assert_eq!(out, untimed);
    let uncertain = PresentationTime {
        low: 9,
        is_uncertain: true,
    };
    writer.present(uncertain, &mut out);
    assert_eq!((out[5], out[7]), (0x81, 1));
    assert_eq!(times(&out), [Some(uncertain)]);
}

/// NTSCF has no presentation time, also where its length has the bit that marks one in TSCF.
#[test]
fn ntscf_has_no_time() {
    let mut writer = AcfWriter::new(STREAM, MessageVersion::V1, 3, false);
    let mut out = Vec::new();
    for _ in 0..14 {
        let frame = frame("123#11223344");
        writer.push(&frame.view(), 0, &mut out).unwrap();
    }
    writer.finish(&mut out);
    let before = out.clone();
    writer.present(PresentationTime::at(5), &mut out);
    assert_eq!(out, before);
    assert_eq!(out[5], 0x81, "14 messages of 20 bytes");
    assert_eq!(times(&out), [None; 14]);
}

/// Returns a datagram of frames with these stamps; `None`: a message without one.
fn stamped(stamps: &[Option<Nanos>], low: u32) -> Vec<u8> {
    let mut bytes = hex("00000000 05810000 0011223344550001 00000000 00000000 00000000");
    for stamp in stamps {
        match stamp {
            Some(stamp) => {
                bytes.extend([0x02, 0x04, 0x20, 0x00]);
                bytes.extend(stamp.to_be_bytes());
            }
            None => bytes.extend([0x04, 0x02, 0x00, 0x00]),
        }
        bytes.extend([0, 0, 1, 0x23]);
    }
    let len = (bytes.len() - 28) as u16;
    bytes[24..26].copy_from_slice(&len.to_be_bytes());
    bytes[16..20].copy_from_slice(&low.to_be_bytes());
    bytes
}

/// The frame with the earliest stamp has the datagram's time; others are as much later as their
/// stamps are. Without stamps, and where stamps are far apart, all have the datagram's time.
#[test]
fn frames_of_a_datagram_keep_their_gaps() {
    let epoch = 1_700_000_000_000_000_000;
    let at = |stamps: &[Option<Nanos>]| {
        let stamps: Vec<_> = stamps.iter().map(|s| s.map(|s| s + epoch)).collect();
        let times = times(&stamped(&stamps, u32::MAX - 1));
        let later = times.iter().map(|time| {
            let time = time.unwrap();
            assert!(!time.is_uncertain);
            time.low.wrapping_sub(u32::MAX - 1)
        });
        later.collect::<Vec<u32>>()
    };
    assert_eq!(at(&[Some(5)]), [0]);
    assert_eq!(at(&[Some(7), Some(5), Some(5 * MS)]), [2, 0, 4_999_995]);
    assert_eq!(at(&[None, Some(7), None, Some(5)]), [0, 2, 0, 0]);
    assert_eq!(at(&[None, None]), [0, 0]);
    let last = Some(LONGEST_SPAN);
    assert_eq!(at(&[Some(0), last, Some(1)]), [0, LONGEST_SPAN as u32, 1]);
    let beyond = last.map(|last| last + 1);
    assert_eq!(at(&[Some(0), beyond, Some(1)]), [0, 0, 0]);
    // The span of the datagram before has no effect.
    let mut reader = AcfReader::new(STREAM, None);
    for stamp in [0, u64::MAX] {
        let datagram = stamped(&[Some(stamp)], 1);
        reader.check(&datagram).unwrap();
        let found = reader.next(&datagram, &mut 0).unwrap();
        assert_eq!(found.presentation, time(1));
    }
}

/// Finds the whole time as one would by hand: all times with these low bits, of which one is in the
/// range.
fn slowly(low: u32, now: Nanos) -> Nanos {
    let period = 1_i128 << 32;
    let now = i128::from(now);
    let first = i128::from(low) + (now / period - 2) * period;
    let all = (0..5).map(|n| first + n * period);
    let mut fitting =
        all.filter(|time| (now + 1_000_000_000 - period + 1..=now + 1_000_000_000).contains(time));
    let one = fitting.next().unwrap();
    assert_eq!(fitting.next(), None);
    one.clamp(0, u64::MAX.into()) as u64
}

/// A second ahead is ahead; a nanosecond more is 3.29 s ago. No time is before the clock's
/// beginning.
#[test]
fn the_range_has_exact_ends() {
    let resolve = |time, now| PresentationTime::at(time).resolve(now);
    for now in [5_000_000_000, 1_700_000_000_123_456_789] {
        let last = now + PresentationTime::FARTHEST_AHEAD;
        assert_eq!(resolve(last, now), last);
        assert_eq!(resolve(last + 1, now), last + 1 - (1 << 32));
    }
    assert_eq!(resolve(1_000_000_001, 0), 0);
    assert_eq!(resolve(7, 9), 7);
}

proptest! {
    #[test]
    fn the_whole_time_is_the_nearest_one(low: u32, now: u64, near in -5_000_000_000..5_000_000_000_i64) {
        // Not beyond the clock's end, which is in the year 2554.
        let now = now >> 1;
        for low in [low, now.saturating_add_signed(near) as u32] {
            let time = PresentationTime { low, is_uncertain: false };
            prop_assert_eq!(time.resolve(now), slowly(low, now));
        }
        // What is written is read back, if it is near.
        let exact = now.saturating_add_signed(near);
        if (-3_294_967_295..=1_000_000_000).contains(&near) {
            prop_assert_eq!(PresentationTime::at(exact).resolve(now), exact);
        }
        let later = PresentationTime::at(exact).plus(near.unsigned_abs());
        prop_assert_eq!(later, PresentationTime::at(exact + near.unsigned_abs()));
    }

    /// Any time and clock, near the ends of both: a whole time that is not far ahead.
    #[test]
    fn any_time_is_resolved(low: u32, now: u64) {
        let found = PresentationTime { low, is_uncertain: false }.resolve(now);
        prop_assert!(found.saturating_sub(now) <= PresentationTime::FARTHEST_AHEAD);
        prop_assert!(now.saturating_sub(found) < 1 << 32);
    }
}

/// A sender whose times are uncertain for a while: a frame without one does not wait, and no frame
/// before it with its ID comes after it.
#[test]
fn a_frame_without_a_time_keeps_the_order_of_its_id() {
    let mut play_out = PlayOut::new(PlayOutRules {
        delay: Some(0),
        max_age: None,
        late: LateRule::Send,
        clock: StampClock::Common(0),
        frames: 8,
        orders_unstamped: true,
    });
    let all = ["123#01", "124#02", "123#03", "123#04"].map(frame);
    let take = |play_out: &mut PlayOut, number: usize, stamp| {
        let found = DatagramFrame {
            stamp,
            ..all[number].view().into()
        };
        play_out.take(&found, 0, number as u64, MS)
    };
    assert_eq!(take(&mut play_out, 0, Some(5 * MS)), PlayOutStep::Wait);
    assert_eq!(take(&mut play_out, 1, Some(6 * MS)), PlayOutStep::Wait);
    assert_eq!(take(&mut play_out, 3, None), PlayOutStep::Pass);
    assert_eq!(take(&mut play_out, 2, None), PlayOutStep::LeaveOut);
    let mut due = Vec::new();
    while let Some((frame, _)) = play_out.next(6 * MS) {
        due.push(frame.to_string());
    }
    assert_eq!(due, ["124#02"]);
    let expected = PlayOutCounters {
        taken: 4,
        passed: 2,
        unstamped: 1,
        behind: 2,
        ..PlayOutCounters::default()
    };
    assert_eq!(play_out.counters(), expected);
}
