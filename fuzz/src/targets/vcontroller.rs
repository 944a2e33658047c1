//! The controller that shares itself, with functions and a bus that do anything in any order: it
//! must not panic, its sums must add up after each operation, each accepted frame must be answered
//! once, and no function may get a frame for which it has no right.

use crate::Target;
use crate::bytes::ByteSource;
use bus::vcontroller::{
    BudgetUnit, ControllerConfig, ErrorState, FunctionRights, IdRule, NextFrame, RequestOutcome,
    SendBudget, VfNumber, VirtualController,
};
use frame::{CanId, Frame};
use std::collections::BTreeSet;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "vcontroller",
    run,
    words: &[],
};

const FUNCTIONS: u8 = 3;
const OPERATIONS: usize = 400;

fn frame(bytes: &mut ByteSource<'_>) -> Option<Frame> {
    let id = CanId::from_raw(bytes.word());
    let len = usize::from(bytes.byte()) % 9;
    let fill = bytes.byte();
    match fill % 3 {
        0 => Frame::fd(id, fill & 3, &[fill; 8][..len]).ok(),
        1 => Frame::remote(CanId::from_raw(id.raw() | CanId::RTR_FLAG), len).ok(),
        _ => Frame::classic(
            CanId::from_raw(id.raw() & !CanId::RTR_FLAG),
            &[fill; 8][..len],
        )
        .ok(),
    }
}

fn rules(bytes: &mut ByteSource<'_>) -> Vec<IdRule> {
    let count = bytes.byte() % 3;
    (0..count)
        .map(|_| {
            let (id, mask) = (bytes.word(), bytes.word());
            // A mask that occasionally lets some frames through.
            let mask = if mask & 1 == 0 { mask & 0xF } else { mask };
            IdRule { id, mask }
        })
        .collect()
}

fn run(input: &[u8]) {
    let bytes = &mut ByteSource::new(input);
    let mut controller = VirtualController::new(ControllerConfig {
        functions: FUNCTIONS,
        queue: usize::from(bytes.byte() % 8),
        fifo: usize::from(bytes.byte() % 8),
        fd: bytes.byte() & 1 != 0,
    });
    let mut now = 0;
    let mut wire: Option<NextFrame> = None;
    let mut open = [const { BTreeSet::new() }; FUNCTIONS as usize];
    let mut receives = [const { Vec::new() }; FUNCTIONS as usize];
    // The rights at the time of reception: frames in a FIFO were received under them.
    let mut was: [Vec<IdRule>; FUNCTIONS as usize] = [const { Vec::new() }; FUNCTIONS as usize];
    for ticket in 0..OPERATIONS as u64 {
        if bytes.is_empty() {
            return;
        }
        let what = bytes.byte();
        now += u64::from(bytes.byte()) * 1_000;
        let number = usize::from(what >> 4) % usize::from(FUNCTIONS);
        let vf = VfNumber(number as u8);
        match what & 0xF {
            0..=3 => {
                if let Some(frame) = frame(bytes)
                    && controller.request(vf, &frame, ticket).is_ok()
                {
                    assert!(open[number].insert(ticket));
                }
            }
            4 => {
                let (receive, send) = (rules(bytes), rules(bytes));
                let unit = if bytes.byte() & 1 == 0 {
                    BudgetUnit::Frames
                } else {
                    BudgetUnit::Bits
                };
                let budget = SendBudget {
                    unit,
                    amount: bytes.word() % 1000,
                    per: u64::from(bytes.word()),
                    burst: bytes.word() % 1000,
                };
                was[number].extend(&receive);
                receives[number].clone_from(&receive);
                let budget = (what & 0x80 != 0).then_some(budget);
                let rights = FunctionRights {
                    receive,
                    send,
                    budget,
                };
                controller
                    .set_rights(vf, rights, now)
                    .expect("there is such a function");
            }
            5 => controller
                .start(vf, bytes.byte() & 1 != 0)
                .expect("there is such a function"),
            6 => {
                controller.reset(vf).expect("there is such a function");
                open[number].clear();
                was[number].clone_from(&receives[number]);
            }
            7 => {
                let ticket = ticket.saturating_sub(u64::from(bytes.byte()));
                let _ = controller
                    .abort(vf, ticket, now)
                    .expect("there is such a function");
            }
            8 | 9 => {
                if let Some(received) = controller.receive(vf).expect("there is such a function") {
                    let id = received.frame.id();
                    assert!(
                        was[number].iter().any(|rule| rule.matches(id)),
                        "{received:?}"
                    );
                }
            }
            10 | 11 => {
                if let Some(done) = controller.completion(vf).expect("there is such a function") {
                    assert!(open[number].remove(&done.ticket), "{done:?}");
                    assert!(done.at <= now || done.outcome == RequestOutcome::Sent);
                }
            }
            12 => {
                if let (None, Some(best)) = (wire, controller.best(now)) {
                    controller.on_wire(&best, now);
                    wire = Some(best);
                    assert_eq!(controller.best(now), None, "one at a time");
                }
            }
            13 => {
                if let Some(done) = wire.take() {
                    if bytes.byte() & 1 == 0 {
                        controller.sent(&done, now);
                    } else {
                        controller.off_wire(&done, now);
                    }
                }
            }
            14 => {
                if let Some(frame) = frame(bytes) {
                    controller.deliver(&frame, now);
                }
            }
            _ => {
                let states = [
                    None,
                    Some(ErrorState::Active),
                    Some(ErrorState::Warning),
                    Some(ErrorState::Passive),
                    Some(ErrorState::BusOff),
                ];
                let state = states[usize::from(bytes.byte()) % states.len()];
                controller.set_state(state, now);
                if !state.is_some_and(ErrorState::is_on_bus) {
                    wire = None;
                }
            }
        }
        if let Err(wrong) = controller.check() {
            panic!("{wrong}");
        }
        if let Some(at) = controller.deadline(now) {
            assert!(at > now);
        }
    }
}
