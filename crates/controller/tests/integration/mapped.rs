//! The driver of the mapped controller against a model of the module's registers
//! (`kmod/bitcan/mapped.c`): no frame is lost or duplicated without an event that reports it.

use controller::mapped::{BusJoin, DeviceTrap, MappedController, MappedDevice};
use controller::timing::usual_sample_point;
use controller::{
    AcceptanceRule, BitTiming, Controller, ControllerEvent, ControllerRefusal, ErrorState,
    StartError, StartMode,
};
use frame::{CanId, Frame, Kind, flags};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Size of `struct bitcan_registers`, bytes.
const SIZE: usize = 768;
const TX: usize = 128;
const RX: usize = 416;

type Joined = (u32, Option<u32>, bool, bool, Vec<(u32, u32)>);

/// The module's accesses to its page, in the terms of bitcan.h.
#[derive(Default)]
struct Module {
    page: Vec<u8>,
    on: bool,
    pending: VecDeque<usize>,
    changes: u32,
    head: u32,
    overruns: u32,
    joined: Option<Joined>,
    refuse: Option<DeviceTrap>,
}

impl Module {
    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.page[at..at + 4].try_into().unwrap())
    }

    fn write(&mut self, at: usize, value: u32) {
        self.page[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    fn change(&mut self) {
        self.changes = self.changes.wrapping_add(1);
        self.write(4, self.changes);
    }

    /// Ends a frame on the bus.
    fn receive(&mut self, frame: &Frame, end: u64) {
        if self.head.wrapping_sub(self.word(64)) >= 4 {
            self.overruns += 1;
            self.write(12, self.overruns);
        } else {
            let at = RX + 88 * (self.head % 4) as usize;
            self.page[at..at + 8].copy_from_slice(&end.to_ne_bytes());
            self.write(at + 8, u32::from(frame.kind() == Kind::Fd));
            self.write(at + 16, frame.id().raw());
            self.page[at + 20] = u8::try_from(frame.len()).unwrap();
            self.page[at + 21] = frame.header().flags();
            self.page[at + 24..at + 24 + frame.data().len()].copy_from_slice(frame.data());
            self.head = self.head.wrapping_add(1);
            self.write(8, self.head);
        }
        self.change();
    }

    /// Sets the fate of the oldest frame in a transmit buffer.
    fn finish(&mut self, state: u32) -> Option<(u32, Vec<u8>)> {
        let at = TX + 96 * self.pending.pop_front()?;
        self.write(at + 80, state);
        self.change();
        let len = usize::from(self.page[at + 12]);
        Some((
            self.word(at + 8),
            self.page[at + 16..at + 16 + len].to_vec(),
        ))
    }

    fn state(&mut self, state: u32, tec: u32, rec: u32) {
        self.write(16, state);
        self.write(20, tec);
        self.write(24, rec);
        self.change();
    }
}

struct Shared(Rc<RefCell<Module>>);

impl MappedDevice for Shared {
    fn get(&self, at: usize) -> u64 {
        let module = self.0.borrow();
        let bytes = module.page.get(at..at + 8);
        bytes.map_or(u64::MAX, |b| u64::from_ne_bytes(b.try_into().unwrap()))
    }

    fn set(&mut self, at: usize, word: u64) {
        if let Some(bytes) = self.0.borrow_mut().page.get_mut(at..at + 8) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
    }

    fn fence(&mut self) {}

    fn ring(&mut self, buffers: u32) -> Result<(), DeviceTrap> {
        let mut module = self.0.borrow_mut();
        if !module.on || module.word(16) == 3 {
            return Err(DeviceTrap::Down);
        }
        for slot in (0..3).filter(|slot| buffers & 1 << slot != 0) {
            assert!(
                !module.pending.contains(&slot),
                "a buffer in use is written"
            );
            module.write(TX + 96 * slot + 80, 1);
            module.pending.push_back(slot);
        }
        Ok(())
    }

    fn join(&mut self, join: &BusJoin<'_>) -> Result<(), DeviceTrap> {
        let mut module = self.0.borrow_mut();
        if let Some(trap) = module.refuse {
            return Err(trap);
        }
        *module = Module {
            page: vec![0; SIZE],
            on: true,
            joined: Some((
                join.bitrate,
                join.data_bitrate,
                join.listen_only,
                join.one_shot,
                join.filters.to_vec(),
            )),
            ..Module::default()
        };
        module.write(0, join.version);
        Ok(())
    }

    fn leave(&mut self) {
        let mut module = self.0.borrow_mut();
        module.on = false;
        while let Some(slot) = module.pending.pop_front() {
            module.write(TX + 96 * slot + 80, 4);
        }
    }

    fn abort(&mut self, buffers: u32) {
        let mut module = self.0.borrow_mut();
        // The first one is on the wire.
        let on_wire = 1.min(module.pending.len());
        for slot in module.pending.split_off(on_wire) {
            assert_ne!(buffers & 1 << slot, 0);
            module.write(TX + 96 * slot + 80, 4);
            module.change();
        }
    }

    fn recover(&mut self) -> Result<(), DeviceTrap> {
        self.0.borrow_mut().state(0, 0, 0);
        Ok(())
    }
}

fn timing(rate: u32) -> BitTiming {
    let limits = MappedController::new(Shared(Rc::default()))
        .properties()
        .nominal;
    BitTiming::compute(80_000_000, &limits, rate, usual_sample_point(rate)).unwrap()
}

fn started(mode: &StartMode<'_>) -> (MappedController<Shared>, Rc<RefCell<Module>>) {
    let module = Rc::new(RefCell::new(Module::default()));
    let mut driver = MappedController::new(Shared(Rc::clone(&module)));
    driver.start(mode).unwrap();
    (driver, module)
}

fn classic(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::from_raw(id), data).unwrap()
}

/// Returns the events of a service, as text.
fn take_events(driver: &mut MappedController<Shared>) -> Vec<String> {
    let mut all = Vec::new();
    let result = driver.service(8, &mut |event| {
        all.push(match event {
            ControllerEvent::Received { frame, stamp } => {
                format!(
                    "received {:x} {:?} {stamp:?}",
                    frame.id().raw(),
                    frame.data()
                )
            }
            ControllerEvent::Status(status) => {
                let state = status.state.unwrap();
                format!("{state:?} {} {}", status.tec, status.rec)
            }
            other => format!("{other:?}"),
        });
    });
    assert_eq!(result, Ok(false));
    all
}

#[test]
fn it_starts_with_the_requested_settings() {
    let filters = [AcceptanceRule {
        id: 0x123,
        mask: 0x7FF,
    }];
    let mode = StartMode {
        data: Some(timing(4_000_000)),
        one_shot: true,
        filters: &filters,
        ..StartMode::classic(timing(500_000))
    };
    let (driver, module) = started(&mode);
    let expected = (500_000, Some(4_000_000), false, true, vec![(0x123, 0x7FF)]);
    assert_eq!(module.borrow().joined, Some(expected));
    assert_eq!(driver.status().state, Some(ErrorState::Active));
    // More filters than there is room for: all frames pass.
    let many = [AcceptanceRule { id: 1, mask: 1 }; 17];
    let (_, module) = started(&StartMode {
        filters: &many,
        ..StartMode::classic(timing(500_000))
    });
    assert_eq!(module.borrow().joined.as_ref().unwrap().4, []);
}

#[test]
fn what_is_refused_is_reported() {
    let (mut driver, module) = started(&StartMode::classic(timing(500_000)));
    module.borrow_mut().refuse = Some(DeviceTrap::Invalid);
    let error = driver
        .start(&StartMode::classic(timing(250_000)))
        .unwrap_err();
    assert!(matches!(error, StartError::Unsupported { .. }), "{error}");
    let down = driver.transmit(classic(1, &[]).view(), 1);
    assert_eq!(down, Err(ControllerRefusal::Down));
}

#[test]
fn frames_leave_by_three_buffers_and_each_has_one_fate() {
    let (mut driver, module) = started(&StartMode::classic(timing(500_000)));
    for token in 0..3 {
        let frame = classic(token as u32 + 1, &[token as u8; 3]);
        driver.transmit(frame.view(), token).unwrap();
    }
    assert_eq!(driver.room(), 0);
    let full = driver.transmit(classic(9, &[]).view(), 3);
    assert_eq!(full, Err(ControllerRefusal::Full));
    let sent = module.borrow_mut().finish(2).unwrap();
    assert_eq!(sent, (1, vec![0; 3]));
    module.borrow_mut().finish(3).unwrap();
    let expected = [
        "Sent { token: 0, stamp: Some(0) }",
        "Failed { token: 1, why: Error }",
    ];
    assert_eq!(take_events(&mut driver), expected);
    assert_eq!(driver.room(), 2);
    // Stopped with one frame in flight: its fate is reported later.
    driver.stop();
    assert_eq!(
        take_events(&mut driver),
        ["Failed { token: 2, why: Aborted }"]
    );
    assert_eq!(take_events(&mut driver), [""; 0]);
}

#[test]
fn what_it_cannot_send_it_refuses() {
    let (mut driver, _) = started(&StartMode::classic(timing(500_000)));
    let fd = Frame::fd(CanId::from_raw(1), flags::BRS, &[0; 12]).unwrap();
    let no = Err(ControllerRefusal::Unsupported);
    assert_eq!(driver.transmit(fd.view(), 1), no);
    let error = classic(CanId::ERR_FLAG | 4, &[0; 8]);
    assert_eq!(driver.transmit(error.view(), 1), no);
    let (mut driver, _) = started(&StartMode {
        listen_only: true,
        ..StartMode::classic(timing(500_000))
    });
    assert_eq!(driver.transmit(classic(1, &[]).view(), 1), no);
}

#[test]
fn states_and_bus_off_and_back() {
    let (mut driver, module) = started(&StartMode::classic(timing(500_000)));
    assert_eq!(take_events(&mut driver), [""; 0]);
    module.borrow_mut().state(1, 100, 3);
    assert_eq!(take_events(&mut driver), ["Warning 100 3"]);
    module.borrow_mut().state(3, 255, 3);
    assert_eq!(take_events(&mut driver), ["BusOff 256 3"]);
    let down = driver.transmit(classic(1, &[]).view(), 1);
    assert_eq!(down, Err(ControllerRefusal::Down));
    driver.restart().unwrap();
    assert_eq!(take_events(&mut driver), ["Active 0 0"]);
}

/// The driver acknowledges the changes that it has seen; with interrupts on, it enables them.
#[test]
fn what_was_seen_is_acknowledged() {
    let (mut driver, module) = started(&StartMode::classic(timing(500_000)));
    driver.interrupts(true);
    assert_eq!(module.borrow().word(68), 7);
    module.borrow_mut().receive(&classic(5, &[1]), 77);
    assert_eq!(take_events(&mut driver), ["received 5 [1] Some(77)"]);
    let module = module.borrow();
    assert_eq!((module.word(72), module.word(64)), (module.word(4), 1));
}

/// With invalid values in the page, the controller is gone, and frames in flight are answered.
#[test]
fn nonsense_in_the_page_is_no_frame() {
    let head = 8;
    let first_id = 128 + 3 * 96 + 16;
    for (what, id, frames) in [("far ahead", 5, 9), ("an error frame", 0x2000_0004, 1)] {
        let (mut driver, module) = started(&StartMode::classic(timing(500_000)));
        driver.transmit(classic(1, &[0; 8]).view(), 7).unwrap();
        module.borrow_mut().receive(&classic(5, &[1]), 77);
        module.borrow_mut().write(first_id, id);
        module.borrow_mut().write(head, frames);
        let mut output = Vec::new();
        let answer = driver.service(9, &mut |event| output.push(format!("{event:?}")));
        assert!(answer.is_err(), "{what}");
        assert_eq!(output, ["Failed { token: 7, why: Gone }"], "{what}");
    }
}

/// A buffer stays taken until the fate of its frame has been reported, so that two successive
/// starts forget none.
#[test]
fn frames_from_before_several_starts_are_answered() {
    let mode = StartMode::classic(timing(500_000));
    let (mut driver, _module) = started(&mode);
    driver.transmit(classic(1, &[]).view(), 7).unwrap();
    driver.start(&mode).unwrap();
    assert_eq!(driver.room(), 2);
    driver.transmit(classic(1, &[]).view(), 8).unwrap();
    driver.start(&mode).unwrap();
    driver.stop();
    let mut output = Vec::new();
    let _ = driver.service(9, &mut |event| match event {
        ControllerEvent::Failed { token, .. } => output.push(token),
        other => panic!("{other:?}"),
    });
    assert_eq!((output, driver.room()), (vec![7, 8], 3));
}

/// Frames that went in and have not come out again.
#[derive(Default)]
struct Open {
    received: VecDeque<u32>,
    lost: u32,
    in_flight: Vec<u64>,
    wrong: Vec<String>,
}

impl Open {
    fn service(&mut self, driver: &mut MappedController<Shared>, budget: usize) -> bool {
        let mut frames = 0;
        let more = driver.service(budget, &mut |event| match event {
            ControllerEvent::Received { frame, .. } => {
                frames += 1;
                if self.received.pop_front() != Some(frame.id().raw()) {
                    self.wrong.push(format!("{frame:?}"));
                }
            }
            ControllerEvent::Overrun {
                frames,
                exact: true,
            } => self.lost -= frames,
            ControllerEvent::Sent { token, .. } | ControllerEvent::Failed { token, .. } => {
                match self.in_flight.iter().position(|t| *t == token) {
                    Some(at) => drop(self.in_flight.remove(at)),
                    None => self.wrong.push(format!("token {token}")),
                }
            }
            other => self.wrong.push(format!("{other:?}")),
        });
        assert!(frames <= budget);
        more.unwrap()
    }
}

proptest! {
    /// For any events in any order: each received frame is handed over once, or an overrun reports
    /// that it was not; each frame taken has one fate.
    #[test]
    fn every_frame_has_one_fate(
        steps in prop::collection::vec((0..5u8, 0..9usize, any::<bool>()), 1..200),
    ) {
        let (mut driver, module) = started(&StartMode {
            data: Some(timing(4_000_000)),
            ..StartMode::classic(timing(500_000))
        });
        let mut open = Open::default();
        let (mut put, mut token) = (0, 0);
        for (what, number, fd) in steps {
            match what {
                0 => {
                    put += 1;
                    let before = module.borrow().overruns;
                    let frame = if fd {
                        Frame::fd(CanId::from_raw(put), 0, &[7; 12]).unwrap()
                    } else {
                        classic(put, &[7; 8][..number.min(8)])
                    };
                    module.borrow_mut().receive(&frame, 1);
                    if module.borrow().overruns > before {
                        open.lost += 1;
                    } else {
                        open.received.push_back(put);
                    }
                }
                1 => {
                    token += 1;
                    let room = driver.room();
                    let taken = driver.transmit(classic(1, &[0; 8]).view(), token);
                    prop_assert_eq!(taken.is_ok(), room > 0);
                    if taken.is_ok() {
                        open.in_flight.push(token);
                    }
                }
                2 => drop(module.borrow_mut().finish(2)),
                3 => driver.abort(),
                _ => drop(open.service(&mut driver, number)),
            }
        }
        while open.service(&mut driver, 3) {}
        driver.stop();
        open.service(&mut driver, 3);
        prop_assert_eq!(open.wrong, [""; 0]);
        prop_assert_eq!((open.received.len(), open.lost, open.in_flight.len()), (0, 0, 0));
    }
}
