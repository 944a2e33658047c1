//! The balance of all frames: those that the tester saw compared with those that the gateway
//! counted.

use super::counts::GatewayCounts;
use crate::choices::{GatewayChoice, MachineLoad};
use crate::settings::Experiment;
use guest::machine::BenchKind;
use probe::Status;
use tester::TesterOutcome;

/// Counts that do not agree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not every frame is accounted for: {what} ({left} against {right}); the tester saw \
     {:?}, the gateway counted {:?}",
    sides.0,
    sides.1
)]
pub struct CountImbalance {
    /// The names of the two counts.
    what: &'static str,
    left: u64,
    right: u64,
    /// All counts of both sides.
    sides: Box<(ObservedFrames, GatewayCounts)>,
}

/// Compares the frames that the tester saw with the counts; returns where frames were lost, for the
/// results.
///
/// # Errors
/// [`CountImbalance`]: which counts do not agree.
pub(super) fn check(
    experiment: &Experiment,
    outcome: &TesterOutcome,
    counts: &GatewayCounts,
) -> Result<Vec<(String, String)>, CountImbalance> {
    let records = &outcome.results.records;
    // A frame that was given up has no outgoing stamp, whether it came out later or not.
    let in_time = records.iter().filter(|r| r.outgoing.is_some()).count() as u64;
    let late = late(experiment, outcome.counts.late, counts.sent, in_time);
    let observed = ObservedFrames {
        went_in: records.iter().filter(|r| r.incoming.is_some()).count() as u64,
        came_out: in_time + late,
        late,
        lost: records.iter().filter(|r| r.status == Status::Lost).count() as u64,
        fifo: outcome.overruns.unwrap_or(0),
    };
    // On the kvaser bench an ideal gateway is one more receiver: nothing else has counters.
    let counts_nothing = match experiment.gateway {
        GatewayChoice::None | GatewayChoice::BaremetalIdeal => true,
        GatewayChoice::Ideal => experiment.bench != BenchKind::Timed,
        _ => false,
    };
    if counts_nothing || experiment.stamp_every > 1 {
        return Ok(vec![]);
    }
    agree(experiment, &observed, counts)?;
    let mut lost = Vec::new();
    for (what, number) in [
        ("lost in the receive FIFO", observed.fifo),
        ("lost in the processor's backlog", counts.backlog),
        (
            "lost in the gateway's socket",
            lost_in_socket(experiment, counts),
        ),
        ("lost at the transmit queue", counts.dropped),
        ("lost because later than 1 s", observed.late),
    ] {
        if number > 0 {
            lost.push((what.to_owned(), number.to_string()));
        }
    }
    Ok(lost)
}

/// Returns the number of frames that came out after they were given up: those that the tester saw,
/// and those that waited behind a load until the tester had ended. The latter are included only
/// where the place of all lost frames is known (timed bench), against which [`agree`] checks the
/// sum.
fn late(experiment: &Experiment, observed: u64, sent: u64, in_time: u64) -> u64 {
    if experiment.bench == BenchKind::Timed && experiment.load != MachineLoad::None {
        observed.max(sent.saturating_sub(in_time))
    } else {
        observed
    }
}

/// Returns the number of frames that found the gateway's socket full. The gateway's overruns
/// include error frames, of which the driver sends one each time that the FIFO is full: the kernel
/// counts those that the socket had no room for (`SO_RXQ_OVFL`), the port those that arrived.
fn lost_in_socket(experiment: &Experiment, counts: &GatewayCounts) -> u64 {
    let exact = matches!(experiment.gateway, GatewayChoice::User(_))
        && counts.backlog == 0
        && experiment.hops.count == 0;
    let frames = counts.received.saturating_sub(counts.handled);
    let errors = counts.overrun.checked_sub(frames);
    match errors {
        Some(errors) if exact && errors <= counts.receive_errors => frames,
        _ => counts.overrun,
    }
}

/// The tester's observations, frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObservedFrames {
    went_in: u64,
    came_out: u64,
    /// Of those that came out, the number that counted as lost by then.
    late: u64,
    lost: u64,
    /// Lost in the gateway's receive FIFO.
    fifo: u64,
}

fn agree(
    experiment: &Experiment,
    observed: &ObservedFrames,
    counts: &GatewayCounts,
) -> Result<(), CountImbalance> {
    let wrong = |what, left: u64, right: u64| {
        Err(CountImbalance {
            what,
            left,
            right,
            sides: Box::new((*observed, *counts)),
        })
    };
    // On these buses each frame is seen that goes into the gateway or comes out of it.
    let timed = experiment.bench == BenchKind::Timed || experiment.is_between_cards();
    // The real driver counts one error for several frames that its FIFO lost.
    if timed && observed.went_in != counts.received + observed.fifo {
        let got = counts.received + observed.fifo;
        return wrong(
            "frames on the incoming bus, and received or lost in the FIFO",
            observed.went_in,
            got,
        );
    }
    if experiment.is_between_cards() && observed.fifo > 0 && counts.receive_errors == 0 {
        return wrong(
            "frames that the driver did not receive, and overruns that it reports",
            observed.fifo,
            counts.receive_errors,
        );
    }
    // The backlog also counts Ethernet packets: it is an upper limit for the frames lost there.
    let passes = u64::from(experiment.hops.count) + 1;
    let (least, most) = (
        counts
            .received
            .saturating_sub(counts.backlog + counts.overrun)
            * passes,
        counts.received * passes,
    );
    let taken = match experiment.gateway {
        GatewayChoice::Cangw | GatewayChoice::OwnRules => counts.handled + counts.dropped,
        // Frames that were taken and not sent are already included.
        GatewayChoice::User(_)
        | GatewayChoice::Bpf
        | GatewayChoice::None
        | GatewayChoice::Direct { .. }
        | GatewayChoice::Chardev
        | GatewayChoice::Vm(_)
        | GatewayChoice::Baremetal { .. } => counts.handled,
        // A frame received is in the other controller immediately.
        GatewayChoice::Ideal | GatewayChoice::BaremetalIdeal => counts.received,
    };
    // Frames dropped on the way make no further passes.
    let least = least.saturating_sub(counts.dropped * (passes - 1));
    if !(least..=most).contains(&taken) {
        return wrong(
            "frames received, and taken by the gateway",
            counts.received * passes,
            taken,
        );
    }
    // On the kvaser bench the tester's own frames pass the same processor's backlog.
    let unseen = if timed { 0 } else { counts.backlog };
    if !(observed.came_out..=observed.came_out + unseen).contains(&counts.sent) {
        return wrong(
            "frames sent by the gateway, and seen on the outgoing bus",
            counts.sent,
            observed.came_out,
        );
    }
    if timed {
        let socket = lost_in_socket(experiment, counts);
        let certain = observed.fifo + counts.dropped + socket + observed.late;
        if !(certain..=certain + counts.backlog).contains(&observed.lost) {
            return wrong(
                "frames lost, and lost at a known place",
                observed.lost,
                certain,
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{HopChoice, MachinePlacement};

    fn timed() -> Experiment {
        Experiment {
            bench: BenchKind::Timed,
            ..Experiment::default()
        }
    }

    const OBSERVED: ObservedFrames = ObservedFrames {
        went_in: 100,
        came_out: 90,
        late: 0,
        lost: 10,
        fifo: 6,
    };
    const COUNTED: GatewayCounts = GatewayCounts {
        received: 94,
        receive_errors: 6,
        sent: 90,
        backlog: 0,
        handled: 90,
        dropped: 4,
        overrun: 0,
    };

    #[test]
    fn sums_that_add_up_are_taken_and_no_others() {
        agree(&timed(), &OBSERVED, &COUNTED).unwrap();
        for wrong in [
            GatewayCounts {
                received: 93,
                ..COUNTED
            },
            GatewayCounts {
                handled: 89,
                ..COUNTED
            },
            GatewayCounts {
                sent: 91,
                ..COUNTED
            },
            GatewayCounts {
                dropped: 3,
                handled: 91,
                ..COUNTED
            },
        ] {
            let error = agree(&timed(), &OBSERVED, &wrong).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("not every frame is accounted for"),
                "{error}"
            );
        }
        // BPF counts the frames it took, including those that found the queue full.
        let bpf = Experiment {
            gateway: GatewayChoice::Bpf,
            ..timed()
        };
        let took = GatewayCounts {
            handled: 94,
            ..COUNTED
        };
        agree(&bpf, &OBSERVED, &took).unwrap();
        agree(&bpf, &OBSERVED, &COUNTED).unwrap_err();
        let own = Experiment {
            gateway: GatewayChoice::OwnRules,
            ..timed()
        };
        agree(&own, &OBSERVED, &COUNTED).unwrap();
        agree(&own, &OBSERVED, &took).unwrap_err();
        // One frame that the backlog may have lost.
        let backlog = GatewayCounts {
            handled: 89,
            backlog: 5,
            sent: 89,
            ..COUNTED
        };
        let seen = ObservedFrames {
            came_out: 89,
            lost: 11,
            ..OBSERVED
        };
        agree(&timed(), &seen, &backlog).unwrap();
        agree(
            &timed(),
            &seen,
            &GatewayCounts {
                backlog: 0,
                ..backlog
            },
        )
        .unwrap_err();
    }

    /// Four error frames of a full FIFO; the socket was too full for two of them, and for 328 other
    /// frames.
    #[test]
    fn error_frames_that_find_the_socket_full_are_no_frames() {
        let user = Experiment {
            gateway: "user:read-nonblock-sendmmsg".parse().unwrap(),
            ..timed()
        };
        let observed = ObservedFrames {
            went_in: 1000,
            came_out: 668,
            late: 0,
            lost: 332,
            fifo: 4,
        };
        let counts = GatewayCounts {
            received: 996,
            receive_errors: 4,
            sent: 668,
            backlog: 0,
            handled: 668,
            dropped: 0,
            overrun: 330,
        };
        agree(&user, &observed, &counts).unwrap();
        assert_eq!(lost_in_socket(&user, &counts), 328);
        // More than there were error frames, or fewer than frames are missing.
        for overrun in [327, 333] {
            let wrong = GatewayCounts { overrun, ..counts };
            agree(&user, &observed, &wrong).unwrap_err();
        }
        let one = ObservedFrames {
            lost: 331,
            ..observed
        };
        agree(&user, &one, &counts).unwrap_err();
    }

    #[test]
    fn the_backlog_can_take_what_the_tester_of_the_kvaser_bench_was_to_see() {
        let kvaser = Experiment {
            bench: BenchKind::Kvaser,
            ..timed()
        };
        let counts = GatewayCounts {
            received: 94,
            sent: 90,
            handled: 90,
            dropped: 4,
            ..GatewayCounts::default()
        };
        let unseen = ObservedFrames {
            came_out: 85,
            lost: 15,
            ..OBSERVED
        };
        agree(&kvaser, &OBSERVED, &counts).unwrap();
        agree(&kvaser, &unseen, &counts).unwrap_err();
        let full = |backlog| GatewayCounts { backlog, ..counts };
        agree(&kvaser, &unseen, &full(5)).unwrap();
        agree(&kvaser, &unseen, &full(4)).unwrap_err();
        agree(&timed(), &unseen, &full(5)).unwrap_err();
        // More frames are seen than were sent.
        let more = ObservedFrames {
            came_out: 91,
            ..OBSERVED
        };
        agree(&kvaser, &more, &full(5)).unwrap_err();
    }

    /// Between two cards in step, the buses show each frame, and the driver reports losses of the
    /// FIFO at least once.
    #[test]
    fn between_two_cards_each_frame_is_accounted_for() {
        let apart = Experiment {
            apart: MachinePlacement::Apart,
            ..Experiment::default()
        };
        let counts = GatewayCounts {
            receive_errors: 1,
            ..COUNTED
        };
        agree(&apart, &OBSERVED, &counts).unwrap();
        let together = Experiment::default();
        for (wrong, kvaser_agrees) in [
            (
                GatewayCounts {
                    receive_errors: 0,
                    ..counts
                },
                true,
            ),
            (
                GatewayCounts {
                    received: 93,
                    ..counts
                },
                false,
            ),
            (
                GatewayCounts {
                    dropped: 3,
                    handled: 91,
                    ..counts
                },
                true,
            ),
            (GatewayCounts { sent: 91, ..counts }, false),
        ] {
            let error = agree(&apart, &OBSERVED, &wrong).unwrap_err();
            assert!(error.to_string().contains("accounted for"), "{error}");
            let kvaser = agree(&together, &OBSERVED, &wrong);
            assert_eq!(kvaser.is_ok(), kvaser_agrees, "{wrong:?}: {kvaser:?}");
        }
    }

    #[test]
    fn only_behind_a_load_can_a_frame_come_unseen() {
        let loaded = Experiment {
            load: MachineLoad::Cpu,
            ..timed()
        };
        assert_eq!(late(&loaded, 1, 100, 98), 2);
        assert_eq!(late(&loaded, 1, 98, 98), 1);
        assert_eq!(late(&timed(), 1, 100, 98), 1);
        let kvaser = Experiment {
            bench: BenchKind::Kvaser,
            ..loaded
        };
        assert_eq!(late(&kvaser, 0, 100, 98), 0);
    }

    #[test]
    fn a_frame_that_comes_after_it_was_given_up_is_lost_and_seen() {
        let late = ObservedFrames {
            went_in: 100,
            came_out: 100,
            late: 2,
            lost: 2,
            fifo: 0,
        };
        let counts = GatewayCounts {
            received: 100,
            sent: 100,
            handled: 100,
            ..GatewayCounts::default()
        };
        agree(&timed(), &late, &counts).unwrap();
        agree(&timed(), &ObservedFrames { late: 1, ..late }, &counts).unwrap_err();
    }

    #[test]
    fn each_pass_is_counted() {
        let e = Experiment {
            hops: HopChoice {
                count: 2,
                ..HopChoice::NONE
            },
            ..timed()
        };
        let seen = ObservedFrames {
            went_in: 100,
            came_out: 100,
            late: 0,
            lost: 0,
            fifo: 0,
        };
        let counts = GatewayCounts {
            received: 100,
            sent: 100,
            handled: 300,
            ..GatewayCounts::default()
        };
        agree(&e, &seen, &counts).unwrap();
        agree(
            &e,
            &seen,
            &GatewayCounts {
                handled: 299,
                ..counts
            },
        )
        .unwrap_err();
    }
}
