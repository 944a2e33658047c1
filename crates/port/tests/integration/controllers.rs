//! Machines that share a controller on an embedded bus. The tests pass the time in.

use crate::sharing::machine::wait;
use crate::sharing::{Lab, everything};
use bus::vcontroller::{BudgetUnit, SendBudget};
use bus::{ErrorKind, FaultTime, FrameFault};
use frame::{Frame, Nanos, wire};
use port::LinkState;
use port::controllers::{ControllerSettings, RightsText, rules};
use port::embedded::BusSettings;

const BITRATE: u32 = 500_000;
/// A bit, ns.
const BIT: Nanos = 2_000;
const MS: Nanos = 1_000_000;

fn on_bus(all: Vec<(RightsText, Option<SendBudget>)>) -> Lab {
    let bus = BusSettings {
        bus: "body".to_owned(),
        bitrate: BITRATE,
        data_bitrate: None,
        queue: 10,
        mailboxes: 3,
        ..BusSettings::defaults("")
    };
    Lab::new(&ControllerSettings::Bus(bus), all)
}

/// Returns the time from the start to the end of a frame, without the intermission.
fn duration(text: &str) -> Nanos {
    let frame: Frame = text.parse().unwrap();
    Nanos::from(wire::length(frame.view()).unwrap().bits() - 3) * BIT
}

#[test]
fn a_frame_is_acknowledged_at_its_end_on_the_bus_and_the_others_hear_it() {
    let mut lab = on_bus(vec![everything(), everything()]);
    lab.send(0, "123#0102");
    assert_eq!(lab.work(), []);
    let end = duration("123#0102");
    assert_eq!(lab.until(end - 1), []);
    assert_eq!(lab.results(0), [], "it is on the wire");
    assert_eq!(lab.until(end), [("123#0102".to_owned(), end)]);
    assert_eq!(lab.results(0), [0]);
    assert_eq!((lab.received(0), lab.received(1)), (vec![], vec![0x123]));
    // The host's own node receives it, too.
    assert_eq!(lab.host.0.counters().overrun, 0);
}

#[test]
fn the_frame_with_the_highest_priority_of_all_machines_goes_first() {
    let mut lab = on_bus(vec![everything(), everything()]);
    for id in [0x303, 0x302, 0x301] {
        lab.send(0, &format!("{id:03X}#"));
    }
    lab.work();
    // The first is on the wire now.
    lab.now = 10 * BIT;
    lab.send(1, "100#");
    let came = lab.until(5 * MS);
    let order: Vec<&str> = came.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(order, ["301#", "100#", "302#", "303#"]);
    // Only the intermission is between them.
    for two in came.windows(2) {
        assert_eq!(two[1].1 - two[0].1, duration(&two[1].0) + 3 * BIT);
    }
    assert_eq!(lab.results(0), [0, 0, 0]);
}

#[test]
fn rights_limit_what_a_machine_sends_and_receives() {
    let rights = RightsText {
        receive: rules("200-2FF"),
        send: rules("100:7F0"),
    };
    let mut lab = on_bus(vec![(rights, None), everything()]);
    lab.send(0, "10F#");
    lab.send(0, "110#");
    lab.send(1, "2FF#");
    lab.send(1, "300#");
    let came = lab.until(5 * MS);
    let came: Vec<&str> = came.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(came, ["10F#", "2FF#", "300#"]);
    let mut results = lab.results(0);
    results.sort_unstable();
    assert_eq!(results, [0, 1], "one was refused");
    assert_eq!(
        (lab.received(0), lab.received(1)),
        (vec![0x2FF], vec![0x10F])
    );
    let remarks = lab.sides[0].halves.0.remarks();
    let words = "2 frames requested = 1 sent, 1 refused by its rights";
    assert!(remarks.iter().any(|r| r.contains(words)), "{remarks:?}");
}

#[test]
fn a_budget_keeps_a_machine_that_babbles_from_the_bus() {
    let budget = SendBudget {
        unit: BudgetUnit::Frames,
        amount: 100,
        per: 1000 * MS,
        burst: 1,
    };
    let mut lab = on_bus(vec![(RightsText::default(), Some(budget)), everything()]);
    for _ in 0..4 {
        lab.send(0, "000#");
    }
    for _ in 0..6 {
        lab.send(1, "7FF#");
    }
    let came = lab.until(50 * MS);
    let babble: Vec<Nanos> = came
        .iter()
        .filter(|(t, _)| t == "000#")
        .map(|(_, at)| *at)
        .collect();
    assert_eq!(babble.len(), 4);
    // One every 10 ms; the other machine waits for one frame of it at most.
    for two in babble.windows(2) {
        assert!(two[1] - two[0] >= 10 * MS - duration("7FF#"), "{babble:?}");
    }
    let last = came
        .iter()
        .filter(|(t, _)| t == "7FF#")
        .map(|(_, at)| *at)
        .max();
    let frames = 6 * (duration("7FF#") + 3 * BIT) + duration("000#") + 3 * BIT;
    assert!(last.unwrap() <= frames, "{last:?}");
}

#[test]
fn a_machine_that_goes_takes_its_frames_with_it_and_no_others() {
    let mut lab = on_bus(vec![everything(), everything()]);
    for _ in 0..5 {
        lab.send(0, "010#");
    }
    for _ in 0..5 {
        lab.send(1, "020#");
    }
    // The time is in the middle of the first frame now.
    lab.until(20 * BIT);
    lab.sides[0].monitor = None;
    wait("it is noticed", || {
        lab.work();
        lab.sides[0].halves.0.link() == LinkState::Gone
    });
    let came = lab.until(10 * MS);
    let count = |text: &str| came.iter().filter(|(t, _)| t == text).count();
    // The one on the wire stays there, and no machine gets its completion.
    assert_eq!((count("010#"), count("020#")), (0, 5));
    assert_eq!(lab.results(1), [0; 5]);
    assert_eq!(lab.received(1), [0x010]);
    let remarks = lab.sides[0].halves.0.remarks();
    let words = "5 frames requested = 0 sent, 0 refused by its rights, 0 refused while it was down or for their kind, 5 given up";
    assert!(remarks.iter().any(|r| r.contains(words)), "{remarks:?}");
}

#[test]
fn bus_off_is_the_controllers_and_all_machines_are_notified() {
    let mut lab = on_bus(vec![everything(), everything()]);
    let bus = lab.world.find("body").unwrap();
    for start in 0..40 {
        let fault = FrameFault::new(ErrorKind::Bit);
        lab.world
            .inject(bus, FaultTime::Start(start), fault)
            .unwrap();
    }
    lab.send(0, "100#");
    lab.send(1, "200#");
    lab.until(50 * MS);
    for side in 0..2 {
        let link = lab.sides[side].halves.0.link();
        assert_eq!(link, LinkState::BusOff, "machine {side}");
        assert_eq!(lab.results(side), [1], "what waited has failed");
    }
    // A frame that is sent while the controller is bus-off fails, too.
    lab.send(0, "101#");
    lab.work();
    assert_eq!(lab.results(0), [1]);
    // The controller comes back on its own after 100 ms, and by the rules of the bus: 128 runs of
    // 11 bits.
    let came = lab.until(200 * MS);
    assert_eq!(came, []);
    lab.send(0, "102#");
    lab.send(1, "202#");
    let came = lab.until(210 * MS);
    let came: Vec<&str> = came.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(came, ["102#", "202#"]);
    assert_eq!(lab.sides[1].halves.0.link(), LinkState::Up);
}
