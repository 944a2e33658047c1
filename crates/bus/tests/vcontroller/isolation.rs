//! For any actions of a hostile function, the others lose only what arbitration and budgets allow.

use crate::common;
use crate::common::{AttachedController, ControllerEvent, run};
use cangate_bus::vcontroller::{
    BudgetUnit, ControllerConfig, FunctionRights, IdRule, SendBudget, VfNumber, VirtualController,
};
use cangate_bus::{Bus, BusConfig, NodeConfig};
use frame::{CanId, Frame, Nanos};
use proptest::prelude::*;

const HOSTILE: VfNumber = VfNumber(0);
const HONEST: VfNumber = VfNumber(1);
const BITRATE: u32 = 500_000;
/// The longest classic frame with intermission: 160 bits (EFF, 8 bytes, all stuff bits).
const LONGEST: Nanos = 160 * 2_000;
const PERIOD: Nanos = 5_000_000;
const COUNT: u64 = 30;

/// An action that a function can try.
#[derive(Clone, Debug)]
enum Try {
    Request(u32, u8, u64),
    Abort(u64),
    Reset,
    Start(bool),
    Receive,
    Completion,
}

fn tries() -> impl Strategy<Value = Vec<(Nanos, Try)>> {
    let one = prop_oneof![
        12 => (any::<u32>(), 0..=8u8, 0..8u64).prop_map(|(id, len, ticket)| Try::Request(id, len, ticket)),
        4 => (0..0x10u32, 0..=8u8, 0..8u64).prop_map(|(id, len, ticket)| Try::Request(0x100 | id, len, ticket)),
        2 => (0..8u64).prop_map(Try::Abort),
        1 => Just(Try::Reset),
        2 => any::<bool>().prop_map(Try::Start),
        2 => Just(Try::Receive),
        4 => Just(Try::Completion),
    ];
    let times = 0..COUNT * PERIOD;
    prop::collection::vec((times, one), 0..400).prop_map(|mut all| {
        all.sort_by_key(|(at, _)| *at);
        all
    })
}

/// Returns the time of each frame of the honest function from its request to its end of frame, and
/// the frames that the hostile one has received.
fn played(
    tries: &[(Nanos, Try)],
    rights: FunctionRights,
) -> (Vec<Nanos>, Vec<CanId>, VirtualController) {
    let mut bus = Bus::new(BusConfig::classic(BITRATE)).unwrap();
    let mut controller = VirtualController::new(ControllerConfig {
        functions: 2,
        queue: 16,
        fifo: 8,
        fd: false,
    });
    controller.set_rights(HOSTILE, rights, 0).unwrap();
    controller
        .set_rights(HONEST, FunctionRights::all(), 0)
        .unwrap();
    controller.start(HOSTILE, false).unwrap();
    controller.start(HONEST, false).unwrap();
    let mut one = common::attach(&mut bus, controller);
    let listener = bus.attach(NodeConfig::new("")).unwrap();
    // Another node of the bus, whose frames no function receives.
    for n in 0..COUNT {
        let foreign = Frame::classic(CanId::from_raw(0x7FF), &[1]).unwrap();
        bus.send(listener, n * PERIOD + 100_000, &foreign, 0)
            .unwrap();
    }
    let mut all: Vec<(Nanos, Option<&Try>)> =
        tries.iter().map(|(at, what)| (*at, Some(what))).collect();
    all.extend((0..COUNT).map(|n| (n * PERIOD, None)));
    all.sort_by_key(|(at, _)| *at);
    let times: Vec<_> = all.iter().map(|(at, _)| *at).collect();
    let mut requested = Vec::new();
    let mut received = Vec::new();
    let (mut took, mut left) = (Vec::new(), 0);
    let act = |_: &mut Bus, one: &mut AttachedController, n: usize| {
        let c = &mut one.controller;
        let (now, what) = all[n];
        match what {
            None => {
                let frame = Frame::classic(CanId::from_raw(0x050), &[7; 8]).unwrap();
                while c.completion(HONEST).unwrap().is_some() {}
                while c.receive(HONEST).unwrap().is_some() {}
                c.request(HONEST, &frame, now).unwrap();
                requested.push(now);
            }
            Some(Try::Request(id, len, ticket)) => {
                let id = CanId::from_raw(*id);
                let frame = if id.is_rtr() {
                    Frame::remote(id, usize::from(*len)).unwrap()
                } else {
                    Frame::classic(id, &[0xFF; 8][..usize::from(*len)]).unwrap()
                };
                let _ = c.request(HOSTILE, &frame, *ticket);
            }
            Some(Try::Abort(ticket)) => _ = c.abort(HOSTILE, *ticket, now),
            Some(Try::Reset) => c.reset(HOSTILE).unwrap(),
            Some(Try::Start(listen)) => c.start(HOSTILE, *listen).unwrap(),
            Some(Try::Receive) => {
                received.extend(c.receive(HOSTILE).unwrap().map(|r| r.frame.id()));
            }
            Some(Try::Completion) => _ = c.completion(HOSTILE).unwrap(),
        }
        c.check().unwrap();
    };
    run(
        &mut bus,
        &mut one,
        2 * COUNT * PERIOD,
        &times,
        act,
        |what| {
            if let ControllerEvent::Sent { at, frame, .. } = what
                && frame.id().raw() == 0x050
            {
                took.push((left, *at));
                left += 1;
            }
        },
    );
    let took = took
        .iter()
        .map(|&(n, at): &(usize, Nanos)| at - requested[n])
        .collect();
    (took, received, one.controller)
}

fn below(number: u32) -> Vec<IdRule> {
    // SFF numbers with these upper bits, and no EFF frames.
    Vec::from([IdRule {
        id: number,
        mask: CanId::EFF_FLAG | 0x700,
    }])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_frame_waits_no_longer_than_arbitration_allows(tries in tries()) {
        // All frames that it may send have a lower priority.
        let rights = FunctionRights { receive: below(0x700), send: below(0x100), budget: None };
        let (took, received, controller) = played(&tries, rights);
        prop_assert_eq!(took.len() as u64, COUNT);
        // One frame that has already begun, and its own.
        for waited in took {
            prop_assert!(waited <= 2 * LONGEST, "{}", waited);
        }
        prop_assert!(received.iter().all(|id| id.raw() & 0x700 == 0x700 && !id.is_eff()));
        let counters = controller.counters(HOSTILE).unwrap();
        prop_assert!(counters.not_permitted + counters.unsupported + counters.accepted + counters.full + counters.down
            == counters.requested);
    }

    #[test]
    fn a_budget_holds_a_babbler_whose_frames_have_the_highest_priority(tries in tries()) {
        let budget = SendBudget { unit: BudgetUnit::Frames, amount: 1, per: 20_000_000, burst: 2 };
        let send = Vec::from([IdRule { id: 0, mask: CanId::EFF_FLAG | 0x7F0 }, below(0x100)[0]]);
        let rights = FunctionRights { receive: Vec::new(), send, budget: Some(budget) };
        // Numbers below 16, all of a higher priority.
        let tries: Vec<_> = tries
            .into_iter()
            .map(|(at, what)| match what {
                Try::Request(id, len, ticket) => (at, Try::Request(id & 0xF, len, ticket)),
                other => (at, other),
            })
            .collect();
        let (took, received, controller) = played(&tries, rights);
        prop_assert_eq!(took.len() as u64, COUNT);
        // A frame that has already begun, a burst of two, one that becomes due meanwhile, and its
        // own.
        for waited in took {
            prop_assert!(waited <= 5 * LONGEST, "{}", waited);
        }
        prop_assert!(received.is_empty());
        let sent = controller.counters(HOSTILE).unwrap().attempts;
        prop_assert!(sent <= 2 + 2 * COUNT * PERIOD / 20_000_000 + 1);
    }
}
