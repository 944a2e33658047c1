//! Interfaces that go down, are unplugged, go bus-off, and come back.

use super::super::words::words;
use super::bench::{UP, bench, bench_by, bench_of, bench_with, classic};
use crate::socketcan::config::{ReceiveBy, TransmitBy};
use crate::{FrameInterest, InterestIds, LinkState, OutgoingFrame, RawFilter, TransmitRefusal};
use frame::{CanId, Frame};
use linux::Errno;
use linux::can::layout::CLASSIC_SIZE;
use linux::can::{InterfaceState, OpenError, SocketObstacle, error_class};

#[test]
fn the_mtu_defines_the_kinds_of_frame() {
    let link = InterfaceState {
        mtu: CLASSIC_SIZE,
        ..UP
    };
    let mut bench = bench_with(8, link);
    let fd = Frame::fd(CanId::from_raw(5), 0, &[]).unwrap();
    let refused = bench.tx.transmit(0, OutgoingFrame::new(fd.view(), 0));
    assert_eq!(refused, Err(TransmitRefusal::Unsupported));
    let error = Frame::classic(CanId::from_raw(0x2000_0004), &[0; 8]).unwrap();
    let refused = bench.tx.transmit(0, OutgoingFrame::new(error.view(), 0));
    assert_eq!(refused, Err(TransmitRefusal::Unsupported));
    assert!(bench.offer(0, 1).is_ok());
}

#[test]
fn down_and_up_again() {
    let mut bench = bench();
    bench.offer(0, 1).unwrap();
    bench.set_link(Ok(InterfaceState { up: false, ..UP }));
    bench
        .line()
        .receive_errors
        .lock()
        .unwrap()
        .push_back(Errno::NETDOWN);
    assert!(bench.take(0).is_empty());
    assert!(!bench.rx.is_up());
    assert_eq!(bench.tx.flush(0).unwrap().held, 0);
    assert_eq!(bench.tx.counters().lost, 1, "what waited is stale");
    assert_eq!(bench.offer(0, 2), Err(TransmitRefusal::Down));
    assert!(bench.rx.wait().fd.is_some());
    // It stays down, then comes up.
    let later = bench.rx.deadline().unwrap();
    assert_eq!(bench.offer(later, 2), Err(TransmitRefusal::Down));
    bench.set_link(Ok(UP));
    bench.calls();
    let later = bench.rx.deadline().unwrap();
    assert!(bench.offer(later, 2).is_ok());
    assert!(bench.rx.is_up());
    assert_eq!(bench.rx.counters().reopened, 1);
    assert_eq!(bench.calls(), [""; 0], "the socket was bound all the time");
    assert!(bench.rx.remarks()[0].contains("can7 is down"));
}

#[test]
fn absent_at_the_start() {
    let ways = (ReceiveBy::Recvmmsg, TransmitBy::Sendmmsg);
    let mut bench = bench_of(ways, 8, Err(Errno::NODEV));
    assert_eq!(bench.calls(), ["0 filters"], "attached to nothing");
    assert_eq!(bench.rx.link(), LinkState::Gone);
    assert!(bench.rx.wait().fd.is_none());
    assert_eq!(bench.offer(0, 1), Err(TransmitRefusal::Down));
    let later = bench.rx.deadline().unwrap();
    assert_eq!(bench.offer(later, 1), Err(TransmitRefusal::Down));
    bench.set_link(Ok(UP));
    let later = bench.rx.deadline().unwrap();
    assert!(bench.offer(later, 1).is_ok());
    assert_eq!(bench.calls(), ["0 filters", "attach 4"]);
    assert_eq!(bench.rx.link(), LinkState::Up);
    assert_eq!(bench.rx.take_alarm(), None);
    bench.come(&classic(5));
    assert_eq!(bench.take(later).len(), 1);
}

/// A vcan that was loaded with `echo=1` reports that its driver echoes, and yet drops frames that
/// are not looped back.
#[test]
fn a_vcan_gets_what_is_sent_by_loopback() {
    for vcan in [false, true] {
        let ways = (ReceiveBy::Recvmmsg, TransmitBy::Sendmmsg);
        let mut bench = bench_of(ways, 8, Err(Errno::NODEV));
        *bench.line().vcan.lock().unwrap() = vcan;
        bench.set_link(Ok(UP));
        let later = bench.rx.deadline().unwrap();
        bench.offer(later, 1).unwrap();
        bench.tx.flush(later).unwrap();
        let calls = bench.calls();
        assert!(calls.contains(&format!("loopback {vcan}")), "{calls:?}");
    }
}

#[test]
fn an_interface_that_comes_and_cannot_be_used_is_reported_once() {
    let ways = (ReceiveBy::Recvmmsg, TransmitBy::Sendmmsg);
    let mut bench = bench_of(ways, 8, Err(Errno::NODEV));
    *bench.line().unfit.lock().unwrap() = Some(Errno::PERM);
    bench.set_link(Ok(UP));
    for _ in 0..3 {
        let later = bench.rx.deadline().unwrap();
        assert!(bench.take(later).is_empty());
    }
    let output = bench.rx.take_alarm().unwrap();
    assert!(output.starts_with("cannot attach to can7"), "{output}");
    assert_eq!(bench.rx.take_alarm(), None);
    assert_eq!(bench.rx.link(), LinkState::Gone);
}

/// Holds for either half that finds the interface up again.
#[test]
fn a_foreign_bit_rate_is_reported_when_the_interface_is_back() {
    for by_frame in [false, true] {
        let mut bench = bench();
        let down = || bench.line().receive_errors.lock().unwrap();
        down().push_back(Errno::NETDOWN);
        bench.set_link(Ok(InterfaceState { up: false, ..UP }));
        assert!(bench.take(0).is_empty());
        assert_eq!(bench.rx.take_alarm(), None);
        let output = "can7 runs at 125000 bit/s".to_owned();
        *bench.line().differs.lock().unwrap() = Some(output.clone());
        if by_frame {
            bench.come(&classic(5));
            bench.take(1);
        } else {
            bench.set_link(Ok(UP));
            let later = bench.rx.deadline().unwrap();
            bench.offer(later, 2).unwrap();
            assert!(bench.rx.receive(later, 9, &mut |_| {}).unwrap().news);
        }
        assert_eq!(bench.rx.take_alarm(), Some(output));
        assert_eq!(bench.rx.take_alarm(), None);
    }
}

#[test]
fn a_frame_from_it_shows_that_it_is_up() {
    let mut bench = bench();
    bench
        .line()
        .receive_errors
        .lock()
        .unwrap()
        .push_back(Errno::NETDOWN);
    bench.take(0);
    assert!(!bench.rx.is_up());
    bench.come(&classic(1));
    assert_eq!(bench.take(1).len(), 1);
    assert!(bench.rx.is_up());
}

#[test]
fn unplugged_and_plugged_in_again() {
    let mut bench = bench();
    assert_eq!(bench.calls(), ["0 filters", "attach 4"]);
    bench.offer(0, 1).unwrap();
    bench.set_link(Err(Errno::NODEV));
    bench
        .line()
        .send_errors
        .lock()
        .unwrap()
        .push_back(Some(Errno::NODEV));
    bench.tx.flush(0).unwrap();
    assert_eq!(bench.tx.counters().lost, 1);
    assert!(bench.rx.wait().fd.is_none(), "nothing to poll");
    // New filters that are set meanwhile are kept for later.
    let filter = RawFilter { id: 1, mask: 0x7FF };
    let interest = FrameInterest {
        ids: InterestIds::Filters(vec![filter; 1]),
        ..FrameInterest::default()
    };
    bench.rx.set_interest(&interest).unwrap();
    let mut now = 0;
    for _ in 0..20 {
        now = bench.rx.deadline().unwrap().max(now);
        assert!(bench.take(now).is_empty());
    }
    assert_eq!(bench.calls(), ["loopback false"]);
    bench.set_link(Ok(InterfaceState { index: 9, ..UP }));
    let longest = bench.rx.deadline().unwrap() - now;
    assert!(longest <= 500_000_000, "{longest}");
    now += longest;
    bench.come(&classic(1));
    assert_eq!(bench.take(now).len(), 1);
    // Filters first: no frame must pass between the two.
    assert_eq!(bench.calls(), ["1 filters", "attach 9"]);
    assert_eq!(bench.rx.counters().reopened, 1);
    assert!(bench.offer(now, 1).is_ok());
}

#[test]
fn bus_off_is_noticed_and_its_end_too() {
    let error =
        |class: u32| Frame::classic(CanId::from_raw(CanId::ERR_FLAG | class), &[0; 8]).unwrap();
    let mut bench = bench();
    bench.set_link(Ok(InterfaceState {
        running: false,
        ..UP
    }));
    bench.come(&error(error_class::BUS_OFF));
    assert!(bench.take(0).is_empty());
    assert_eq!(bench.offer(0, 1), Err(TransmitRefusal::Down));
    assert!(bench.rx.remarks()[0].contains("bus-off"));
    bench.set_link(Ok(UP));
    bench.come(&error(error_class::RESTARTED));
    bench.take(1);
    assert!(bench.offer(2, 1).is_ok());
    assert_eq!(bench.rx.counters().error_frames, 2);
    bench
        .rx
        .set_interest(&FrameInterest {
            error_frames: true,
            ..FrameInterest::default()
        })
        .unwrap();
    bench.come(&error(error_class::CONTROLLER));
    assert_eq!(bench.take(3).len(), 1);
    assert_eq!(bench.rx.counters().error_frames, 2);
}

/// Any process may send frames that look like a controller's error frames. A port that believed
/// them would refuse frames.
#[test]
fn error_frames_of_local_processes_are_not_the_controllers() {
    let error = |class: u32| {
        let id = CanId::from_raw(CanId::ERR_FLAG | class);
        Frame::classic(id, &[0, 0x20, 0, 0, 0, 0, 0, 0]).unwrap()
    };
    let mut bench = bench();
    *bench.fake.local.lock().unwrap() = true;
    bench.come(&error(error_class::BUS_OFF));
    bench.come(&error(error_class::CONTROLLER));
    bench.take(0);
    assert_eq!(bench.rx.link(), LinkState::Up);
    assert!(bench.offer(0, 1).is_ok());
    // If the sender of the frame is unknown, the driver's state decides.
    *bench.fake.local.lock().unwrap() = false;
    *bench.fake.bus_off.lock().unwrap() = Some(false);
    bench.come(&error(error_class::BUS_OFF));
    bench.take(0);
    assert_eq!(bench.rx.link(), LinkState::Up);
    *bench.fake.bus_off.lock().unwrap() = Some(true);
    bench.come(&error(error_class::BUS_OFF));
    bench.take(0);
    assert_eq!(bench.rx.link(), LinkState::BusOff);
    assert_eq!(bench.offer(0, 2), Err(TransmitRefusal::Down));
}

/// A controller with a full FIFO loses frames that neither the driver nor the socket has seen.
#[test]
fn an_overflow_of_the_controller_is_an_overrun() {
    let error = |trouble: u8| {
        let id = CanId::from_raw(CanId::ERR_FLAG | error_class::CONTROLLER);
        Frame::classic(id, &[0, trouble, 0, 0, 0, 0, 0, 0]).unwrap()
    };
    let mut bench = bench();
    // RX_OVERFLOW, TX_OVERFLOW, RX_OVERFLOW with RX_WARNING.
    for (trouble, overruns) in [(0x01, 1), (0x02, 1), (0x05, 2)] {
        bench.come(&error(trouble));
        bench.take(0);
        assert_eq!(bench.rx.counters().overrun, overruns, "{trouble:#04x}");
    }
    // A program on this machine can send such a frame, and no frame is lost then.
    *bench.fake.local.lock().unwrap() = true;
    bench.come(&error(0x01));
    bench.take(0);
    assert_eq!(bench.rx.counters().overrun, 2);
}

/// Each change is reported once, with any other frames in between.
#[test]
fn the_error_state_is_reported_when_it_changes() {
    let mut bench = bench();
    let mut link_after = |class: u32, trouble: u8| {
        let data = [0, trouble, 0, 0, 0, 0, 0, 0];
        let id = CanId::from_raw(CanId::ERR_FLAG | class);
        bench.come(&Frame::classic(id, &data).unwrap());
        let report = bench.rx.receive(0, 64, &mut |_| ()).unwrap();
        (report.news, bench.rx.link())
    };
    let crtl = error_class::CONTROLLER;
    // The first report is always worth a look: the interface may be down from the start.
    assert_eq!(link_after(crtl, 0x01), (true, LinkState::Up), "an overflow");
    assert_eq!(link_after(crtl, 0x08), (true, LinkState::ErrorWarning));
    assert_eq!(link_after(crtl, 0x04), (false, LinkState::ErrorWarning));
    assert_eq!(link_after(crtl, 0x20), (true, LinkState::ErrorPassive));
    assert_eq!(
        link_after(0x80, 0),
        (false, LinkState::ErrorPassive),
        "a bus error"
    );
    let off = error_class::BUS_OFF;
    assert_eq!(link_after(off, 0), (true, LinkState::BusOff));
    // The bench's interface can be used, so that the next look finds it up: error-active.
    let again = error_class::RESTARTED;
    assert_eq!(link_after(again, 0), (false, LinkState::BusOff));
    assert_eq!(link_after(crtl, 0), (true, LinkState::Up));
    assert_eq!(link_after(crtl, 0x10), (true, LinkState::ErrorPassive));
    assert_eq!(link_after(crtl, 0x40), (true, LinkState::Up));
}

#[test]
fn what_is_missing_is_reported() {
    let no_can = OpenError {
        interface: "can7".to_owned(),
        obstacle: SocketObstacle::NoCan,
        source: Errno::AFNOSUPPORT,
    };
    assert!(words(&no_can).contains("modprobe can`"));
    assert!(words(&no_can).contains("kind = \"bus\""));
    let gone = OpenError {
        obstacle: SocketObstacle::NoInterface(vec!["can0".to_owned()]),
        source: Errno::NODEV,
        ..no_can
    };
    assert_eq!(
        words(&gone),
        "there is no interface can7; CAN interfaces here: can0"
    );
}

/// The worker would call it before each frame of the ports from which routes do take frames.
#[test]
fn a_port_that_no_route_takes_frames_from_is_seldom_looked_at() {
    let mut bench = bench_by((ReceiveBy::ReadNonblock, TransmitBy::Write), 8, UP);
    let interest = |ids| FrameInterest {
        ids,
        ..FrameInterest::default()
    };
    bench
        .rx
        .set_interest(&interest(InterestIds::Nothing))
        .unwrap();
    let start = 1_000_000;
    assert_eq!(bench.take(start).len(), 0);
    bench.come(&classic(1));
    assert_eq!(bench.take(start + 999_999).len(), 0);
    assert_eq!(bench.take(start + 1_000_000).len(), 1);
    bench.come(&classic(2));
    assert_eq!(bench.take(start + 1_000_001).len(), 0);
    bench
        .rx
        .set_interest(&interest(InterestIds::Everything))
        .unwrap();
    assert_eq!(bench.take(start + 1_000_001).len(), 1);
}
