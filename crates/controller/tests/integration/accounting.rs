//! Both drivers against models of their controllers: no frame is lost or duplicated without an
//! event that reports it, for any events in any order.

use crate::model::ctucanfd::CtuCanFdChip;
use crate::model::sja1000::Sja1000Chip;
use crate::model::{Arrival, Chip, Outcome, Shared};
use controller::ctucanfd::CtuCanFd;
use controller::sja1000::{ChipWiring, Sja1000};
use controller::{
    BitTiming, Controller, ControllerEvent, ControllerRefusal, StartMode, TransmitFailure, timing,
};
use frame::{CanId, Frame, Kind, flags};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

#[derive(Clone, Debug)]
enum Step {
    Arrive(Frame),
    Transmit(Frame),
    Finish(Outcome),
    Errors(u16, u16),
    Recover,
    Service(usize),
    Abort,
    Restart,
    Stop,
    Start,
    Interrupts(bool),
}

#[derive(Clone, Copy, Debug)]
struct Options {
    fd: bool,
    one_shot: bool,
    diagnose: bool,
}

fn id() -> impl Strategy<Value = CanId> {
    prop_oneof![
        (0..=CanId::SFF_MASK).prop_map(|n| CanId::sff(n).unwrap()),
        (0..=CanId::EFF_MASK).prop_map(|n| CanId::eff(n).unwrap()),
    ]
}

fn frames(fd: bool) -> impl Strategy<Value = Frame> {
    let data = prop::collection::vec(any::<u8>(), 0..=8);
    let classic = (id(), data, 0..16_u8)
        .prop_map(|(id, data, dlc)| Frame::classic(id, &data).unwrap().with_len8_dlc(dlc));
    let remote = (id(), 0..=8_usize).prop_map(|(id, len)| Frame::remote(id, len).unwrap());
    let bytes = prop::collection::vec(any::<u8>(), 0..=64);
    let long = (id(), 0..4_u8, bytes).prop_map(|(id, bits, data)| {
        Frame::fd(id, bits & (flags::BRS | flags::ESI), &data).unwrap()
    });
    prop_oneof![4 => classic, 1 => remote, if fd { 4 } else { 0 } => long]
}

fn steps(fd: bool) -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![
        6 => Just(Outcome::Acknowledged),
        1 => Just(Outcome::ArbitrationLost),
        1 => Just(Outcome::Error),
    ];
    let step = prop_oneof![
        12 => frames(fd).prop_map(Step::Arrive),
        12 => frames(fd).prop_map(Step::Transmit),
        12 => outcome.prop_map(Step::Finish),
        1 => (0..300_u16, 0..200_u16).prop_map(|(tec, rec)| Step::Errors(tec, rec)),
        2 => Just(Step::Recover),
        8 => (0..5_usize).prop_map(Step::Service),
        1 => Just(Step::Abort),
        1 => Just(Step::Restart),
        1 => Just(Step::Stop),
        1 => Just(Step::Start),
        1 => any::<bool>().prop_map(Step::Interrupts),
    ];
    prop::collection::vec(step, 1..120)
}

/// The test's own accounts.
#[derive(Default)]
struct Books {
    /// Frames in the FIFO, as far as the bus knows.
    stored: VecDeque<Frame>,
    /// Frames were lost since the last reported overrun.
    lost: bool,
    /// By token: the frame that was taken; and whether the bus acknowledged it.
    taken: HashMap<u64, (Frame, bool)>,
    order: VecDeque<u64>,
    next: u64,
    line: bool,
}

struct Bench<C: Chip, D> {
    chip: Shared<C>,
    driver: D,
    books: Books,
    options: Options,
}

fn mode(driver: &dyn Controller, options: Options) -> StartMode<'static> {
    let properties = driver.properties();
    let compute = |limits, rate| BitTiming::compute(properties.clock, limits, rate, 750).unwrap();
    let data = properties.data.as_ref().filter(|_| options.fd);
    StartMode {
        nominal: compute(&properties.nominal, 500_000),
        data: data.map(|limits| compute(limits, 2_000_000)),
        one_shot: options.one_shot,
        diagnose: options.diagnose,
        ..StartMode::classic(compute(&properties.nominal, 500_000))
    }
}

impl<C: Chip, D: Controller> Bench<C, D> {
    fn new(chip: Shared<C>, mut driver: D, options: Options) -> Self {
        let mode = mode(&driver, options);
        driver.start(&mode).unwrap();
        Self {
            chip,
            driver,
            books: Books::default(),
            options,
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Arrive(frame) => {
                let frame = frame.padded();
                match self.chip.chip().arrive(&frame) {
                    Arrival::Stored => self.books.stored.push_back(frame),
                    Arrival::Lost => self.books.lost = true,
                    Arrival::Filtered => prop_assert!(false, "no filter was asked for"),
                    Arrival::Off => {}
                }
            }
            Step::Transmit(frame) => self.transmit(frame)?,
            Step::Finish(outcome) => self.finish(*outcome)?,
            Step::Errors(tec, rec) => {
                self.chip.chip().count_errors(*tec, *rec);
                if *tec > 255 {
                    // The SJA1000 discards the frames that it has received.
                    self.look_after_reset();
                }
            }
            Step::Recover => self.chip.chip().recover(),
            Step::Service(budget) => {
                self.service(*budget)?;
            }
            Step::Abort => self.driver.abort(),
            Step::Restart => self.driver.restart().unwrap(),
            Step::Stop => {
                self.driver.stop();
                self.books.stored.clear();
                self.books.lost = false;
                prop_assert!(!self.chip.chip().line());
            }
            Step::Start => {
                let mode = mode(&self.driver, self.options);
                self.driver.start(&mode).unwrap();
                self.books.stored.clear();
                self.books.lost = false;
                self.books.line = false;
            }
            Step::Interrupts(on) => {
                self.driver.interrupts(*on);
                self.books.line = *on && self.driver.status().state.is_some();
            }
        }
        Ok(())
    }

    fn look_after_reset(&mut self) {
        // Only by a register of the SJA1000: the other model keeps its FIFO.
        if self.driver.properties().name == "SJA1000" {
            self.books.stored.clear();
            self.books.lost = false;
        }
    }

    fn transmit(&mut self, frame: &Frame) -> Result<(), TestCaseError> {
        let room = self.driver.room();
        let token = self.books.next;
        match self.driver.transmit(frame.view(), token) {
            Ok(()) => {
                prop_assert!(room > 0);
                prop_assert_eq!(self.driver.room(), room - 1);
                self.books.next += 1;
                self.books.taken.insert(token, (frame.padded(), false));
                self.books.order.push_back(token);
            }
            // It can have gone bus-off since the last check.
            Err(ControllerRefusal::Down) => {}
            Err(ControllerRefusal::Full) => prop_assert_eq!(room, 0),
            Err(ControllerRefusal::Unsupported) => {
                let fd = self.options.fd && self.driver.properties().data.is_some();
                prop_assert!(frame.kind() == Kind::Fd && !fd);
            }
        }
        Ok(())
    }

    fn finish(&mut self, outcome: Outcome) -> Result<(), TestCaseError> {
        let Some(on_bus) = self.chip.chip().sending() else {
            return Ok(());
        };
        // The oldest frame that was taken and neither sent nor given up.
        let books = &mut self.books;
        let token = books.order.iter().copied().find(|token| {
            let (frame, sent) = &books.taken[token];
            !sent && *frame == on_bus
        });
        prop_assert!(
            token.is_some(),
            "{:?} was never taken, or is sent twice",
            on_bus
        );
        if outcome == Outcome::Acknowledged {
            let token = token.unwrap();
            books.taken.get_mut(&token).unwrap().1 = true;
        }
        self.chip.chip().finish(outcome);
        Ok(())
    }

    fn service(&mut self, budget: usize) -> Result<bool, TestCaseError> {
        let books = &mut self.books;
        let mut wrong = None;
        let mut received = 0;
        let answer = self.driver.service(budget, &mut |event| match event {
            ControllerEvent::Received { frame, .. } => {
                received += 1;
                let expected = books.stored.pop_front();
                let frame = Frame::from_view(frame);
                if expected != frame {
                    wrong = Some(format!("received {frame:?}, not {expected:?}"));
                }
            }
            ControllerEvent::Sent { token, .. } => match books.taken.remove(&token) {
                Some((_, true)) => {
                    // Frames leave in the order in which they were taken.
                    let first = books.order.iter().position(|t| *t == token);
                    let earlier: Vec<u64> = books.order.drain(..=first.unwrap()).collect();
                    let skipped = earlier.iter().any(|t| books.taken.contains_key(t));
                    if skipped {
                        wrong = Some(format!("{token} was told before earlier ones"));
                    }
                }
                other => wrong = Some(format!("{token} told as sent: {other:?}")),
            },
            ControllerEvent::Failed { token, why } => match books.taken.remove(&token) {
                Some((_, false)) if why != TransmitFailure::Gone => {
                    books.order.retain(|t| *t != token);
                }
                other => wrong = Some(format!("{token} told as {why:?}: {other:?}")),
            },
            ControllerEvent::Overrun { frames, .. } => {
                if frames == 0 || !std::mem::take(&mut books.lost) {
                    wrong = Some("an overrun where nothing was lost".to_owned());
                }
            }
            ControllerEvent::Status(_)
            | ControllerEvent::ArbitrationLost { .. }
            | ControllerEvent::BusError(_) => {}
        });
        let more = answer.unwrap();
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap());
        prop_assert!(received <= budget);
        if self.books.line && !more && self.driver.status().state.is_some() {
            prop_assert!(
                !self.chip.chip().line(),
                "the interrupt is not acknowledged"
            );
        }
        Ok(more)
    }

    /// At the end, all known events are reported.
    fn close(&mut self) -> Result<(), TestCaseError> {
        while self.service(3)? {}
        if self.driver.status().is_on_bus() {
            prop_assert!(
                self.books.stored.is_empty(),
                "received and never handed over"
            );
            prop_assert!(!self.books.lost, "lost, and not reported");
        }
        self.driver.stop();
        self.service(0)?;
        prop_assert!(
            self.books.taken.is_empty(),
            "never answered: {:?}",
            self.books.taken
        );
        Ok(())
    }

    fn run(mut self, steps: &[Step]) -> Result<(), TestCaseError> {
        for step in steps {
            self.step(step)?;
        }
        self.close()
    }
}

fn sja1000(options: Options) -> Bench<Sja1000Chip, Sja1000<Shared<Sja1000Chip>>> {
    let chip = Shared::<Sja1000Chip>::new();
    let wiring = ChipWiring {
        clock: 8_000_000,
        output: 0xD8,
        clock_divider: 0x47,
    };
    let options = Options {
        fd: false,
        ..options
    };
    Bench::new(chip.clone(), Sja1000::new(chip, wiring), options)
}

fn ctucanfd(options: Options) -> Bench<CtuCanFdChip, CtuCanFd<Shared<CtuCanFdChip>>> {
    let chip = Shared::<CtuCanFdChip>::new();
    Bench::new(chip.clone(), CtuCanFd::new(chip, 100_000_000), options)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn sja1000_accounts_for_every_frame(steps in steps(false), one_shot: bool, diagnose: bool) {
        sja1000(Options { fd: false, one_shot, diagnose }).run(&steps)?;
    }

    #[test]
    fn ctucanfd_accounts_for_every_frame(
        steps in steps(true), fd: bool, one_shot: bool, diagnose: bool,
    ) {
        ctucanfd(Options { fd, one_shot, diagnose }).run(&steps)?;
    }
}

#[test]
fn a_controller_that_is_unplugged_reports_it_once() {
    let options = Options {
        fd: false,
        one_shot: false,
        diagnose: false,
    };
    fn unplug<C: Chip, D: Controller>(mut bench: Bench<C, D>) {
        let frame = Frame::classic(CanId::from_raw(1), &[1]).unwrap();
        bench.driver.transmit(frame.view(), 7).unwrap();
        bench.chip.chip().unplug();
        let mut events = Vec::new();
        let answer = bench
            .driver
            .service(9, &mut |event| events.push(format!("{event:?}")));
        assert!(answer.is_err());
        assert_eq!(events, ["Failed { token: 7, why: Gone }"]);
        assert_eq!(bench.driver.status().state, None);
        assert_eq!(bench.driver.room(), 0);
        let again = mode(&bench.driver, bench.options);
        let error = bench.driver.start(&again).unwrap_err();
        assert!(
            error.to_string().contains("does not execute a command"),
            "{error}"
        );
    }
    unplug(sja1000(options));
    unplug(ctucanfd(options));
}

#[test]
fn the_usual_sample_points_are_those_of_cia() {
    assert_eq!(timing::usual_sample_point(500_000), 875);
    assert_eq!(timing::usual_sample_point(800_000), 800);
    assert_eq!(timing::usual_sample_point(1_000_000), 750);
}
