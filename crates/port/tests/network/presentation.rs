//! Presentation times over sockets: another program as the talker, and as the listener.

use crate::common::{MS, TestPort, frame, free_udp, udp};
use frame::Nanos;
use net::ieee1722::{AcfReader, DEFAULT_STREAM};
use net::{DatagramReader as _, PresentationTime};
use std::net::SocketAddr;

/// The Unix time at which the clock of the tests is 0.
const EPOCH: Nanos = 1_700_000_000_000_000_000;

fn port(listen: SocketAddr, connect: SocketAddr, more: &str) -> TestPort {
    TestPort::open(&format!(
        "[ports.p]\nkind = 'ieee1722'\nlisten = '{listen}'\nconnect = '{connect}'\n{more}"
    ))
}

/// A datagram with the layout of libopen1722's, with one frame: its number, and the time and the
/// bits of the header.
fn datagram(number: u8, time: Nanos, is_valid: bool, is_uncertain: bool) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, number];
    bytes.extend([5, 0x80 | u8::from(is_valid), number, u8::from(is_uncertain)]);
    bytes.extend(DEFAULT_STREAM.to_be_bytes());
    bytes.extend((time as u32).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 0, 20, 0, 0]);
    // A stamp that no clock of the receiver knows: only the header counts.
    bytes.extend([0x02, 0x05, 0x20, 0x00, 0, 0, 0, 0, 0, 0, 0, number]);
    bytes.extend([0, 0, 1, 0x23, number, 0, 0, 0]);
    bytes
}

/// A talker that sets presentation times: its frames are handed on then, and not before. A late one
/// is late, one without a valid or certain time does not wait, and each has one fate.
#[test]
fn frames_of_a_talker_are_handed_on_at_their_times() {
    let (talker, address) = udp();
    let there = free_udp();
    let mut far = port(
        there,
        address,
        "delay = 'presentation'\ntimescale = 'utc'\nmax_age = '50ms'",
    );
    let now = 4000 * MS;
    let at = |ms: Nanos| EPOCH + ms * MS;
    for (number, time, is_valid, is_uncertain) in [
        (1, at(4020), true, false),
        (2, at(4010), true, false),
        (3, at(3960), true, false),
        (4, at(3949), true, false),
        (5, at(4020), false, false),
        (6, at(4020), true, true),
        // More than a second ahead is long ago.
        (7, at(5001), true, false),
        (8, at(5000), true, false),
    ] {
        let bytes = datagram(number, time, is_valid, is_uncertain);
        talker.send_to(&bytes, there).unwrap();
    }
    far.until(now, |far| far.rx().datagrams == 8);
    let frames = |far: &mut TestPort| -> Vec<u8> {
        let all = std::mem::take(&mut far.received);
        all.iter().map(|frame| frame.data()[0]).collect()
    };
    let rx = far.rx();
    // The frames have one ID: those before 6 that are due later are behind it.
    assert_eq!(frames(&mut far), [5, 6]);
    assert_eq!((rx.unstamped, rx.expired, rx.behind), (2, 2, 1));
    assert_eq!(rx.waiting, 3);
    assert_eq!(far.deadline(), Some(4010 * MS));
    far.step(4020 * MS);
    assert_eq!(frames(&mut far), [0; 0]);
    assert_eq!(far.deadline(), Some(5000 * MS));
    far.step(5000 * MS);
    assert_eq!(frames(&mut far), [8]);
    let rx = far.rx();
    assert_eq!((rx.behind, rx.late, rx.waiting), (3, 0, 0));
    let sentence = "2 frames had no presentation time, or an uncertain one (1)";
    assert!(far.remarks().contains(sentence), "{}", far.remarks());
}

/// The times of TAI are those of Unix and the kernel's offset; whether they are certain is what the
/// kernel says of its clock.
#[test]
fn a_listener_gets_times_by_the_clock_of_the_kernel() {
    let state = linux::clock::state();
    let is_synchronised = state.is_synchronised == Some(true);
    for (scale, offset) in [("tai", state.tai_offset), ("utc", 0)] {
        let (listener, address) = udp();
        let more = format!("max_transit = '7ms'\ntimescale = '{scale}'");
        let mut near = port(free_udp(), address, &more);
        assert!(near.send(&frame("123#01"), 5 * MS));
        near.flush(5 * MS);
        let mut buffer = [0; 2048];
        let len = listener.recv(&mut buffer).unwrap();
        let mut reader = AcfReader::new(DEFAULT_STREAM, None);
        reader.check(&buffer[..len]).unwrap();
        let found = reader.next(&buffer[..len], &mut 0).unwrap();
        let time = (EPOCH + 12 * MS).saturating_add_signed(offset * 1_000_000_000);
        let expected = PresentationTime {
            is_uncertain: !is_synchronised,
            ..PresentationTime::at(time)
        };
        assert_eq!(found.presentation, Some(expected), "{scale}");
        assert_eq!(found.stamp, Some(EPOCH + 5 * MS));
        let marked = "presentation times leave marked as uncertain";
        assert_eq!(near.tx_remarks().contains(marked), !is_synchronised);
    }
}

/// A port with a fixed `delay` goes by the stamps of TSCF, as before.
#[test]
fn a_fixed_delay_goes_by_the_stamps() {
    let (talker, address) = udp();
    let there = free_udp();
    let mut far = port(there, address, "delay = '20ms'");
    let now = 4000 * MS;
    let bytes = datagram(1, EPOCH + 4900 * MS, true, false);
    talker.send_to(&bytes, there).unwrap();
    far.until(now, |far| far.rx().waiting == 1);
    assert_eq!(far.deadline(), Some(4020 * MS));
    far.step(4020 * MS);
    assert_eq!(far.received, [frame("123#01000000")]);
}
