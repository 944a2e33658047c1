//! V1 to V4: virtual machines that share a controller (virtualization-2015), and the bounds of the
//! same measurements.
//!
//! The paper: a program asks on one CAN node of a board, another answers on a second node of the
//! same bus, and the round trip is divided by two (Fig. 3 and 4). Here only the end that asks is in
//! a machine; the end that answers is a node next to the hypervisor, the same for every way. Thus
//! half of the native round trip is one sending and one receiving, and the time that a way adds for
//! one sending and one receiving is its whole round trip less the native one. The paper's driver VM
//! is `vm:driver`, its virtual functions are `vm:vf`; `vm:host` is a way that the paper does not
//! have.

use super::round_trips::overhead;
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, FigureValue, StatedValue, axis, micros, number, one};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::{ratio, us};
use experiment::nested::{exits, exits_a_frame};
use experiment::{
    BenchKind, Experiment, ExperimentTask, GatewayChoice, Kernel, Nesting, round_trip,
};

pub(super) const CLAIMS: &[Claim] = &[V1, V2, V3, V4, O18, O19, O20, O21, O25];

const V1: Claim = Claim {
    id: "V1",
    origin: ClaimOrigin::Papers(&[(Paper::Virtualization2015, "§5.1, Figure 4")]),
    claim: "Natively, sending and receiving cost little compared with the frame's time on the bus",
    figure: "send 8, receive 11.5",
    criterion: "half of the native round trip, less the frame's time on the bus (8 bytes, median), is at most half of that time",
    needs: |extent, _| vec![over(extent, PLAIN, Nesting::Native, LONGEST)],
    judge: native,
    ..Claim::BLANK
};

const V2: Claim = Claim {
    id: "V2",
    origin: ClaimOrigin::Papers(&[(Paper::Virtualization2015, "§5.1, Figure 4")]),
    claim: "Sharing a controller through a driver VM adds a constant, whatever the payload",
    figure: "≈35",
    criterion: "what vm:driver adds to the native round trip (median) differs over 0 to 8 bytes by at most a fifth of its \
        mean; in the full run also on 7.3",
    needs: |extent, _| over_payloads(extent, &[Nesting::Native, Nesting::Driver]),
    judge: |evidence, extent, _| constant(evidence, extent, Nesting::Driver),
    picture: Some(figure_of_v2),
    ..Claim::BLANK
};

const V3: Claim = Claim {
    id: "V3",
    origin: ClaimOrigin::Papers(&[(Paper::Virtualization2015, "§5.3")]),
    claim: "A controller that shares itself (virtual functions) adds a fifth of what a driver VM adds",
    figure: "7 against 35",
    criterion: "what vm:vf adds to the native round trip (8 bytes, median) is at most 0.2 of what vm:driver adds",
    needs: |extent, _| {
        of(
            extent,
            &[Nesting::Native, Nesting::Driver, Nesting::Function],
        )
    },
    judge: |evidence, extent, _| share(evidence, extent, Nesting::Function, 0.2),
    ..Claim::BLANK
};

const V4: Claim = Claim {
    id: "V4",
    origin: ClaimOrigin::Papers(&[(Paper::Virtualization2015, "§5.3")]),
    claim: "What sharing adds stays under a frame's time on the bus, so that line rate is possible",
    figure: "35 and 7, under every frame's time",
    criterion: "what vm:driver and vm:vf add to the native round trip (8 bytes, median) is less than the frame's time on the \
        bus",
    needs: |extent, _| {
        of(
            extent,
            &[Nesting::Native, Nesting::Driver, Nesting::Function],
        )
    },
    judge: under_a_frame,
    ..Claim::BLANK
};

pub(super) const O18: Claim = Claim {
    id: "O18",
    origin: ClaimOrigin::Bound("bound of virtual machines"),
    claim: "A machine with a virtio port leaves for the hypervisor at most 3 times a frame",
    figure: "≤ 3",
    criterion: "KVM's exits in a round trip by vm:host on 6.1 (8 bytes), divided by its two frames: ≤ 3",
    needs: |extent, _| of(extent, &[Nesting::Host]),
    judge: few_exits,
    ..Claim::BLANK
};

const O19: Claim = Claim {
    id: "O19",
    claim: "A virtual function adds at most 0.2 of what a driver VM adds, whatever the payload",
    figure: "≤ 0.2",
    criterion: "what vm:vf adds to the native round trip / what vm:driver adds (medians) ≤ 0.2, for each of 0 to 8 bytes; in the \
        full run also on 7.3",
    needs: |extent, _| {
        over_payloads(
            extent,
            &[Nesting::Native, Nesting::Driver, Nesting::Function],
        )
    },
    judge: fifth,
    picture: Some(figure_of_v3),
    ..O18
};

const O20: Claim = Claim {
    id: "O20",
    claim: "No frame of a virtual function makes its machine leave for the hypervisor, but to wait",
    figure: "0",
    criterion: "KVM's exits in a round trip by vm:vf on 6.1 (8 bytes), without those to wait (HLT) and those for the \
        hypervisor's own interrupts: 0.00",
    needs: |extent, _| of(extent, &[Nesting::Function]),
    judge: no_exits,
    ..O18
};

const O21: Claim = Claim {
    id: "O21",
    claim: "Virtio CAN by the host's process adds at most half of what a driver VM adds",
    figure: "≤ 0.5",
    criterion: "what vm:host adds to the native round trip / what vm:driver adds (8 bytes, medians) ≤ 0.5",
    needs: |extent, _| of(extent, &[Nesting::Native, Nesting::Driver, Nesting::Host]),
    judge: |evidence, extent, _| share(evidence, extent, Nesting::Host, 0.5),
    ..O18
};

const O25: Claim = Claim {
    id: "O25",
    claim: "The same with a monitor of our own: at most half of what a driver VM adds, and at most 3 exits a frame",
    figure: "≤ 0.5; ≤ 3",
    criterion: "what vm:own adds to the native round trip / what vm:driver adds (8 bytes, medians) ≤ 0.5, and KVM's exits in a \
        round trip by vm:own, divided by its two frames, ≤ 3",
    needs: |extent, _| of(extent, &[Nesting::Native, Nesting::Driver, Nesting::Own]),
    judge: own_monitor,
    ..O18
};

pub(super) const PLAIN: Kernel = Kernel::V6_1;
/// Payload bytes of the longest classic frame.
pub(super) const LONGEST: u8 = 8;

fn kernels(extent: Extent) -> &'static [Kernel] {
    extent.pick(&[PLAIN], &[PLAIN, Kernel::V7_3])
}

fn payloads(extent: Extent) -> &'static [u8] {
    extent.pick(&[0, LONGEST], &[0, 1, 2, 3, 4, 5, 6, 7, LONGEST])
}

pub(super) fn over(extent: Extent, kernel: Kernel, nesting: Nesting, payload: u8) -> Experiment {
    Experiment {
        kernel,
        bench: BenchKind::Vm,
        task: ExperimentTask::RoundTrip,
        gateway: GatewayChoice::Vm(nesting),
        payload,
        frames: extent.pick(300, 1000),
        ..Experiment::default()
    }
}

/// Returns the experiments of each way with the longest frame.
fn of(extent: Extent, ways: &[Nesting]) -> Vec<Experiment> {
    let one = |way: &Nesting| over(extent, PLAIN, *way, LONGEST);
    ways.iter().map(one).collect()
}

/// Returns the experiments of each way with all payloads, on all kernels.
fn over_payloads(extent: Extent, ways: &[Nesting]) -> Vec<Experiment> {
    let mut all = Vec::new();
    for &kernel in kernels(extent) {
        for payload in payloads(extent) {
            let one = |way: &Nesting| over(extent, kernel, *way, *payload);
            all.extend(ways.iter().map(one));
        }
    }
    all
}

/// Returns the time of a frame on the bus, ns: half the time of both frames of a round trip.
fn frame(evidence: &ClaimEvidence, experiment: &Experiment) -> Result<i64, MissingEvidence> {
    let both = round_trip::bus_time(evidence.results(experiment)?);
    both.map(|ns| ns / 2).ok_or_else(|| MissingEvidence {
        experiment: experiment.name(),
        why: "its results do not contain the frames' time on the bus".to_owned(),
    })
}

/// Returns the time that a way adds to a native round trip, ns.
fn added(
    evidence: &ClaimEvidence,
    extent: Extent,
    kernel: Kernel,
    way: Nesting,
    payload: u8,
) -> Result<i64, MissingEvidence> {
    let of = |way| overhead(evidence, &over(extent, kernel, way, payload));
    Ok(of(way)?.p50 - of(Nesting::Native)?.p50)
}

fn native(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let experiment = over(extent, PLAIN, Nesting::Native, LONGEST);
    let both_ways = overhead(evidence, &experiment)?.p50 / 2;
    let frame = frame(evidence, &experiment)?;
    let mut conditions = Conditions::default();
    conditions.add(
        both_ways * 2 <= frame,
        format!(
            "sending and receiving take {} in addition to {} on the bus",
            us(both_ways),
            us(frame)
        ),
    );
    Ok(conditions.judge(format!("{} for both", us(both_ways)), ""))
}

fn constant(
    evidence: &ClaimEvidence,
    extent: Extent,
    way: Nesting,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for &kernel in kernels(extent) {
        let all: Result<Vec<i64>, MissingEvidence> = payloads(extent)
            .iter()
            .map(|payload| added(evidence, extent, kernel, way, *payload))
            .collect();
        let all = all?;
        let (Some(least), Some(most)) = (all.iter().min(), all.iter().max()) else {
            continue;
        };
        let mean = all.iter().sum::<i64>() as f64 / all.len() as f64;
        let spread = (most - least) as f64 / mean;
        measured.push(format!("{kernel}: {} to {}", us(*least), us(*most)));
        conditions.add(
            mean > 0.0 && spread <= 0.2,
            format!("on {kernel} what is added differs over payloads by {spread:.2} of its mean (at most 0.20)"),
        );
    }
    Ok(conditions.judge(measured.join("; "), ""))
}

/// Judges the time that a way adds, as a part of the time that a driver VM adds, with the longest
/// frame.
fn share(
    evidence: &ClaimEvidence,
    extent: Extent,
    way: Nesting,
    most: f64,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let measured = part(evidence, extent, way, most, &mut conditions)?;
    Ok(conditions.judge(measured, ""))
}

/// Adds the condition that this part is at most `most`, and returns the part in words.
fn part(
    evidence: &ClaimEvidence,
    extent: Extent,
    way: Nesting,
    most: f64,
    conditions: &mut Conditions,
) -> Result<String, MissingEvidence> {
    let of = |way| added(evidence, extent, PLAIN, way, LONGEST);
    let (one, driver) = (of(way)?, of(Nesting::Driver)?);
    let times = ratio(one, driver);
    conditions.add(
        driver > 0 && times <= most,
        format!("what vm:{way} adds is {times:.3} of what vm:driver adds (at most {most:.2})"),
    );
    Ok(format!("{times:.3} ({} against {})", us(one), us(driver)))
}

fn fifth(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for &kernel in kernels(extent) {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for payload in payloads(extent) {
            let of = |way| added(evidence, extent, kernel, way, *payload);
            let (function, driver) = (of(Nesting::Function)?, of(Nesting::Driver)?);
            // Where a driver VM adds nothing, the part cannot be calculated.
            let times = if driver > 0 {
                ratio(function, driver)
            } else {
                f64::INFINITY
            };
            (least, most) = (least.min(times), most.max(times));
        }
        conditions.add(
            most <= 0.2,
            format!("on {kernel} it is {most:.3} of it with some payload (at most 0.20)"),
        );
        measured.push(format!("{kernel}: {least:.3} to {most:.3}"));
    }
    Ok(conditions.judge(measured.join("; "), ""))
}

fn under_a_frame(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let frame = frame(evidence, &over(extent, PLAIN, Nesting::Native, LONGEST))?;
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for way in [Nesting::Driver, Nesting::Function] {
        let added = added(evidence, extent, PLAIN, way, LONGEST)?;
        measured.push(format!("vm:{way} {}", us(added)));
        conditions.add(
            added < frame,
            format!(
                "vm:{way} adds {} to a frame's {} on the bus",
                us(added),
                us(frame)
            ),
        );
    }
    Ok(conditions.judge(measured.join("; "), "O24 and O27 measure the rate itself"))
}

fn no_exits(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let experiment = over(extent, PLAIN, Nesting::Function, LONGEST);
    let counts: Vec<(&str, f64)> = exits(evidence.results(&experiment)?).collect();
    let count = |name: &str| counts.iter().find(|(kind, _)| *kind == name).map(|c| c.1);
    let all = count("exits").ok_or_else(|| uncounted(&experiment))?;
    let others = ["halt_exits", "irq_exits"].map(|name| count(name).unwrap_or(0.0));
    let left = all - others.iter().sum::<f64>();
    let mut conditions = Conditions::default();
    // KVM's counts are stored with two digits.
    conditions.add(
        left < 0.005,
        format!("{left:.2} exits a round trip are for its two frames (0.00 at most)"),
    );
    Ok(conditions.judge(
        format!("{left:.2}"),
        "a frame that finds its bus idle rings the doorbell; one that finds it busy does not",
    ))
}

fn uncounted(experiment: &Experiment) -> MissingEvidence {
    MissingEvidence {
        experiment: experiment.name(),
        why: "its results do not contain the number of the machine's exits".to_owned(),
    }
}

fn few_exits(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let each = at_most_three(evidence, extent, Nesting::Host, &mut conditions)?;
    Ok(conditions.judge(format!("{each:.2}"), ""))
}

/// Adds the condition of at most three exits per frame, and returns their number.
fn at_most_three(
    evidence: &ClaimEvidence,
    extent: Extent,
    way: Nesting,
    conditions: &mut Conditions,
) -> Result<f64, MissingEvidence> {
    let experiment = over(extent, PLAIN, way, LONGEST);
    let each =
        exits_a_frame(evidence.results(&experiment)?).ok_or_else(|| uncounted(&experiment))?;
    conditions.add(each <= 3.0, format!("{each:.2} exits a frame (at most 3)"));
    Ok(each)
}

fn own_monitor(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let measured = part(evidence, extent, Nesting::Own, 0.5, &mut conditions)?;
    let each = at_most_three(evidence, extent, Nesting::Own, &mut conditions)?;
    Ok(conditions.judge(format!("{measured}; {each:.2} exits a frame"), ""))
}

/// The sections of the values that the paper states.
const V2_SOURCE: &str = "virtualization-2015 §5.1";
const V3_SOURCE: &str = "virtualization-2015 §5.3";

/// Returns the time that a way through a hypervisor adds to the native round trip, over the
/// payload.
fn added_points(evidence: &ClaimEvidence, e: &Experiment) -> Result<Vec<FigureValue>, MissingEvidence> {
    if e.gateway == GatewayChoice::Vm(Nesting::Native) {
        return Ok(vec![]);
    }
    let native = Experiment {
        gateway: GatewayChoice::Vm(Nesting::Native),
        ..e.clone()
    };
    let more = overhead(evidence, e)?.p50 - overhead(evidence, &native)?.p50;
    one(e.kernel.to_string(), number(e.payload), micros(more))
}

fn over_payload(paper: Vec<StatedValue>) -> FigurePlan {
    FigurePlan {
        title: "What sharing a controller adds, over the payload",
        form: FigureForm::Line,
        x: axis("payload", "bytes"),
        y: axis("median round trip, more than the native one", "µs"),
        of: added_points,
        paper,
        note: "the paper measures on two boards: a driver VM on one, virtual functions on the other",
    }
}

fn figure_of_v2() -> FigurePlan {
    over_payload(vec![
        StatedValue::at("driver VM", 0.0, 35.0, FigureKind::Value, V2_SOURCE),
        StatedValue::at("driver VM", 8.0, 35.0, FigureKind::Value, V2_SOURCE),
    ])
}

fn figure_of_v3() -> FigurePlan {
    over_payload(vec![
        StatedValue::at("driver VM", 8.0, 35.0, FigureKind::Value, V3_SOURCE),
        StatedValue::at("virtual function", 8.0, 7.0, FigureKind::Value, V3_SOURCE),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::{at, figure};
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};
    use crate::list::round_trips::tests::{trips, verdict};
    use experiment::fake;

    /// Returns the verdict where round trips take these times in addition to the bus: natively, and
    /// with a payload by a driver VM and by a virtual function, ns.
    fn with(claim: &Claim, native: u64, driver: fn(u8) -> u64, function: u64) -> Verdict {
        verdict(claim, Extent::Quick, move |e| {
            let all = match e.gateway {
                GatewayChoice::Vm(Nesting::Driver) => driver(e.payload),
                GatewayChoice::Vm(Nesting::Function | Nesting::Host) => function,
                _ => native,
            };
            vec![all; 3]
        })
    }

    #[test]
    fn v1_is_about_half_a_round_trip() {
        // A frame of the generated results is 124.5 µs on the bus.
        assert_eq!(with(&V1, 124_000, |_| 0, 0), Reproduced);
        assert_eq!(with(&V1, 126_000, |_| 0, 0), Differs);
    }

    #[test]
    fn v2_is_about_what_is_added() {
        let slightly = |payload: u8| 250_000 + u64::from(payload) * 4_000;
        assert_eq!(with(&V2, 50_000, slightly, 0), Reproduced);
        let by_payload = |payload: u8| 250_000 + u64::from(payload) * 8_000;
        assert_eq!(with(&V2, 50_000, by_payload, 0), Differs);
        assert_eq!(with(&V2, 50_000, |_| 40_000, 0), Differs);
    }

    #[test]
    fn what_a_way_adds_is_held_against_the_driver_vm() {
        for (claim, least, most) in [(&V3, 90_000, 91_000), (&O21, 150_000, 151_000)] {
            assert_eq!(with(claim, 50_000, |_| 250_000, least), Reproduced);
            assert_eq!(with(claim, 50_000, |_| 250_000, most), Differs);
            assert_eq!(with(claim, 50_000, |_| 50_000, 50_000), Differs);
        }
        assert_eq!(with(&O19, 50_000, |_| 250_000, 90_000), Reproduced);
        let less = |payload: u8| 250_000 - u64::from(payload) * 1_000;
        assert_eq!(with(&O19, 50_000, less, 90_000), Differs);
    }

    #[test]
    fn v4_holds_what_is_added_against_a_frame() {
        assert_eq!(with(&V4, 50_000, |_| 174_000, 60_000), Reproduced);
        assert_eq!(with(&V4, 50_000, |_| 175_000, 60_000), Differs);
        assert_eq!(with(&V4, 50_000, |_| 174_000, 175_000), Differs);
    }

    /// Returns the verdict where results have these counts.
    fn counted(claim: &Claim, counts: &[(&str, &str)]) -> Verdict {
        let mut evidence = ClaimEvidence::default();
        for e in claim.needs(Extent::Quick) {
            let mut results = fake::results(fake::records(3, 1));
            let entry =
                |(name, n): &(&str, &str)| (format!("kvm a round trip, {name}"), (*n).to_owned());
            results.description.more.extend(counts.iter().map(entry));
            evidence.add(e, Ok(results));
        }
        claim.judge(&evidence, Extent::Quick).verdict
    }

    #[test]
    fn o18_counts_the_exits_of_a_frame() {
        assert_eq!(counted(&O18, &[("exits", "6.00")]), Reproduced);
        assert_eq!(counted(&O18, &[("exits", "6.10")]), Differs);
        assert_eq!(counted(&O18, &[]), NotTestable);
    }

    /// Returns the verdict on our own monitor where it adds `added` ns, with 200 000 added by a
    /// driver VM, and has these exits.
    fn own(added: u64, exits: &str) -> Verdict {
        let mut evidence = ClaimEvidence::default();
        for e in O25.needs(Extent::Quick) {
            let ns = match e.gateway {
                GatewayChoice::Vm(Nesting::Driver) => 250_000,
                GatewayChoice::Vm(Nesting::Own) => 50_000 + added,
                _ => 50_000,
            };
            let mut results = trips(vec![ns; 3]);
            let entry = ("kvm a round trip, exits".to_owned(), exits.to_owned());
            results.description.more.push(entry);
            evidence.add(e, Ok(results));
        }
        O25.judge(&evidence, Extent::Quick).verdict
    }

    #[test]
    fn o25_is_about_time_and_exits() {
        assert_eq!(own(100_000, "6.00"), Reproduced);
        assert_eq!(own(101_000, "6.00"), Differs);
        assert_eq!(own(100_000, "6.10"), Differs);
    }

    #[test]
    fn o20_counts_what_is_neither_to_wait_nor_the_hypervisors() {
        let others = [
            ("halt_exits", "2.08"),
            ("irq_exits", "0.01"),
            ("irq_injections", "2.00"),
        ];
        let with = |exits| counted(&O20, &[&others[..], &[("exits", exits)]].concat());
        assert_eq!(with("2.09"), Reproduced);
        assert_eq!(with("2.10"), Differs);
        assert_eq!(counted(&O20, &others), NotTestable);
    }

    #[test]
    fn the_figure_is_relative_to_the_native_way() {
        let shared = figure("V2", Extent::Full, |e| match e.gateway {
            GatewayChoice::Vm(Nesting::Native) => 120_000,
            _ => 155_000,
        });
        assert_eq!(at(&shared, ("vm:driver", "6.1"), &number(8)), 35.0);
    }
}
