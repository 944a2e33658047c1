//! V6: a message that is sent by a virtualized controller and received by the same controller
//! (virtualization-2015 §5.2, Fig. 5 and 6).
//!
//! The paper: a program sends; after the complete transmission the controller raises an interrupt,
//! and the program reads its message. Here (`--task loop`): a program sends on one interface and
//! waits in the same socket for its own frame, which the driver returns when the controller's
//! interrupt signals that it was on the bus. Thus there is one controller, one interrupt and one
//! frame, as in the paper's figure; two virtual functions of one controller would have two
//! interrupts at each end of frame. The paper's bus has 500 kbit/s, this one 1 Mbit/s: the time
//! that remains without the frame's time on the bus is compared.

use super::v1_virtual_machines::{LONGEST, PLAIN, over};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, FigureValue, StatedValue, axis, micros, number};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::{ratio, us};
use experiment::{GatewayChoice, Experiment, ExperimentTask, Kernel, Nesting, round_trip};

pub(super) const CLAIMS: &[Claim] = &[V6];

const V6: Claim = Claim {
    id: "V6",
    origin: ClaimOrigin::Papers(&[(Paper::Virtualization2015, "§5.2, Figures 5 and 6")]),
    claim: "From a machine, a controller that shares itself is nearly as fast as natively, whatever the payload",
    figure: "least 13 → 20 to 24; mean 11 above it → 25",
    criterion: "less the frame's time on the bus, the least latency of own frames by vm:vf is at most twice the native one with \
        each of 0 to 8 bytes, each of the two differs over the payloads by at most a fifth of its mean, and the mean latency \
        (8 bytes) is further above the least by vm:vf than natively; in the full run also on 7.3",
    needs: |extent, _| {
        let mut all = Vec::new();
        for &kernel in kernels(extent) {
            for payload in payloads(extent) {
                all.extend(WAYS.map(|way| looped(extent, kernel, way, *payload)));
            }
        }
        all
    },
    judge: near_native,
    picture: Some(figure),
    ..Claim::BLANK
};

const WAYS: [Nesting; 2] = [Nesting::Native, Nesting::Function];

fn kernels(extent: Extent) -> &'static [Kernel] {
    extent.pick(&[PLAIN], &[PLAIN, Kernel::V7_3])
}

fn payloads(extent: Extent) -> &'static [u8] {
    extent.pick(&[0, LONGEST], &[0, 1, 2, 3, 4, 5, 6, 7, LONGEST])
}

fn looped(extent: Extent, kernel: Kernel, way: Nesting, payload: u8) -> Experiment {
    Experiment {
        task: ExperimentTask::Loop,
        ..over(extent, kernel, way, payload)
    }
}

/// Latencies from sending a frame to receiving it, less the frame's time on the bus, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnTimes {
    pub(super) least: i64,
    pub(super) mean: i64,
    /// The first frame's time on the bus.
    pub(super) frame: i64,
}

pub(super) fn own(
    evidence: &ClaimEvidence,
    experiment: &Experiment,
) -> Result<OwnTimes, MissingEvidence> {
    let missing = |why: &str| MissingEvidence {
        experiment: experiment.name(),
        why: why.to_owned(),
    };
    let results = evidence.results(experiment)?;
    let frame = round_trip::own_frame(results)
        .ok_or_else(|| missing("its results do not contain the frame's time on the bus"))?;
    let all: Vec<i64> = results.latencies(None).collect();
    let least = all
        .iter()
        .min()
        .ok_or_else(|| missing("no frame came back"))?;
    let count = i128::try_from(all.len()).unwrap_or(1);
    let sum: i128 = all.iter().map(|ns| i128::from(*ns)).sum();
    Ok(OwnTimes {
        least: *least,
        mean: i64::try_from(sum / count).unwrap_or(i64::MAX),
        frame,
    })
}

fn near_native(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for &kernel in kernels(extent) {
        let of = |way, payload: &u8| own(evidence, &looped(extent, kernel, way, *payload));
        let all = |way| -> Result<Vec<OwnTimes>, MissingEvidence> {
            payloads(extent).iter().map(|p| of(way, p)).collect()
        };
        let (native, function) = (all(Nesting::Native)?, all(Nesting::Function)?);
        let times = native.iter().zip(&function);
        let most = times
            .map(|(native, function)| ratio(function.least, native.least))
            .fold(0.0, f64::max);
        conditions.add(
            most > 0.0 && most <= 2.0,
            format!("on {kernel} the least by vm:vf is up to {most:.2} times the native one (at most 2.00)"),
        );
        for (way, own) in WAYS.iter().zip([&native, &function]) {
            let spread = spread(own);
            conditions.add(
                spread <= 0.2,
                format!("on {kernel} the least by vm:{way} differs over payloads by {spread:.2} of its mean (at most 0.20)"),
            );
        }
        let above = |own: &[OwnTimes]| own.last().map_or(0, |own| own.mean - own.least);
        conditions.add(
            above(&function) > above(&native),
            format!(
                "on {kernel} the mean is {} above the least by vm:vf, and {} natively",
                us(above(&function)),
                us(above(&native))
            ),
        );
        measured.push(format!(
            "{kernel}: least {} → {}, mean {} above it → {}",
            range(&native),
            range(&function),
            us(above(&native)),
            us(above(&function))
        ));
    }
    Ok(conditions.judge(measured.join("; "), ""))
}

/// Returns the difference of the least latencies, as a part of their mean.
fn spread(own: &[OwnTimes]) -> f64 {
    let least = || own.iter().map(|own| own.least);
    let (Some(low), Some(high)) = (least().min(), least().max()) else {
        return f64::INFINITY;
    };
    let mean = least().sum::<i64>() as f64 / own.len() as f64;
    if mean > 0.0 {
        (high - low) as f64 / mean
    } else {
        f64::INFINITY
    }
}

/// Formats the range from the lowest to the highest of them.
fn range(own: &[OwnTimes]) -> String {
    let least = || own.iter().map(|own| own.least);
    match (least().min(), least().max()) {
        (Some(low), Some(high)) => format!("{} to {}", us(low), us(high)),
        _ => String::new(),
    }
}

/// The section of the values that the paper states.
const SOURCE: &str = "virtualization-2015 §5.2";

/// Returns the least and the mean latency of own frames and, for the native way, the frame's time
/// on the bus in addition, on one kernel.
fn own_frames(
    evidence: &ClaimEvidence,
    e: &Experiment,
) -> Result<Vec<FigureValue>, MissingEvidence> {
    if e.kernel != PLAIN {
        return Ok(vec![]);
    }
    let own = own(evidence, e)?;
    let value = |setting: &str, ns| FigureValue {
        setting: setting.to_owned(),
        x: number(e.payload),
        median: micros(ns),
        worst: None,
    };
    let mut all = vec![value("least", own.least), value("mean", own.mean)];
    if e.gateway == GatewayChoice::Vm(Nesting::Native) {
        all.push(value("frame on the bus (can-tx)", own.frame));
    }
    Ok(all)
}

fn figure() -> FigurePlan {
    let stated = |name, x, y| StatedValue::at(name, x, y, FigureKind::Value, SOURCE);
    FigurePlan {
        title: "Own frames on one controller, over the payload: what is left without the frame's time on the bus",
        form: FigureForm::Named,
        x: axis("payload", "bytes"),
        y: axis(
            "from the call that sends to the call that brings it, less the bus",
            "µs",
        ),
        of: own_frames,
        // Placed apart from one another, so that their labels can be read.
        paper: vec![
            stated("native, least", 8.0, 13.0),
            stated("VM, least, from", 0.0, 20.0),
            stated("VM, least, to; native, mean", 8.0, 24.0),
            stated("VM, mean, from", 0.0, 45.0),
            stated("VM, mean, to", 8.0, 49.0),
        ],
        note: "the paper states them of all payloads, the means as 11 and 25 more than the least; its bus has 500 kbit/s, this one \
               1 Mbit/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};
    use experiment::fake;

    /// Returns the verdict where the least and another latency of a way with a payload are these,
    /// ns.
    fn with(extent: Extent, of: impl Fn(Nesting, u8) -> [u64; 2]) -> Verdict {
        let mut evidence = ClaimEvidence::default();
        for e in V6.needs(extent) {
            let GatewayChoice::Vm(way) = e.gateway else {
                panic!("{}", e.name());
            };
            let mut results = fake::results(fake::with_latencies(of(way, e.payload)));
            let frame = (round_trip::OWN.to_owned(), "120000".to_owned());
            results.description.more.push(frame);
            evidence.add(e, Ok(results));
        }
        V6.judge(&evidence, extent).verdict
    }

    fn ways(native: [u64; 2], function: [u64; 2]) -> impl Fn(Nesting, u8) -> [u64; 2] {
        move |way, _| match way {
            Nesting::Native => native,
            _ => function,
        }
    }

    #[test]
    fn v6_is_about_the_least_and_the_mean() {
        for extent in [Extent::Quick, Extent::Full] {
            let verdict = |native, function| with(extent, ways(native, function));
            assert_eq!(verdict([13_000, 35_000], [26_000, 70_000]), Reproduced);
            assert_eq!(verdict([13_000, 35_000], [26_200, 70_000]), Differs);
            assert_eq!(verdict([13_000, 35_000], [24_000, 46_000]), Differs);
        }
    }

    #[test]
    fn v6_is_constant_over_the_payload() {
        let by_payload = |each: u64| {
            move |way: Nesting, payload: u8| match way {
                Nesting::Native => [20_000, 21_000],
                _ => [24_000 + each * u64::from(payload), 40_000],
            }
        };
        assert_eq!(with(Extent::Quick, by_payload(600)), Reproduced);
        assert_eq!(with(Extent::Quick, by_payload(700)), Differs);
    }

    #[test]
    fn without_the_frames_time_there_is_no_verdict() {
        let mut evidence = ClaimEvidence::default();
        for e in V6.needs(Extent::Quick) {
            evidence.add(e, Ok(fake::results(fake::records(3, 13_000))));
        }
        assert_eq!(V6.judge(&evidence, Extent::Quick).verdict, NotTestable);
    }
}
