//! G12: a flood of each payload, and the effect of load on it.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, FigureValue, StatedValue, axis, micros, number};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::{board, placement};
use crate::stats::{loss, lost, median, ratio, us, waited};
use experiment::{Experiment, MachineLoad, TrafficPattern};

pub(super) const CLAIMS: &[Claim] = &[G12];

/// Returns the payloads of the draft's Figure 4.
fn payloads(extent: Extent) -> Vec<u8> {
    extent.pick(vec![2, 8], (2..=8).collect())
}

fn flooded(extent: Extent, payload: u8, load: MachineLoad) -> Experiment {
    Experiment {
        traffic: TrafficPattern::Flood,
        payload,
        load,
        apart: placement(load),
        ..board(extent.pick(1000, 10_000))
    }
}

const G12: Claim = Claim {
    id: "G12",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2010Draft, "§IV-A, §IV-F")]),
    claim: "In the simple gateway under flood, 2 to 8 bytes, the total latency is about the \
        frame's transmission time; frames are lost under load only",
    figure: "60–110 in total for 60–108 on the bus; lost 0 / 2 of 10000 (CPU) / ≈20 % (Ethernet)",
    criterion: "p50(latency + duration) / p50(duration) ≤ 1.25 for each payload; lost / sent = \
        0 without load, ≤ 0.01 under CPU load, 0.05 to 0.5 under Ethernet load",
    needs: |extent, _| {
        let none = payloads(extent)
            .into_iter()
            .map(|n| flooded(extent, n, MachineLoad::None));
        let loads = [MachineLoad::Cpu, MachineLoad::EthRx].map(|load| flooded(extent, 8, load));
        none.chain(loads).collect()
    },
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let (mut totals, mut worst, mut lost_plain, mut waiting) = (Vec::new(), 0.0f64, 0, 0.0f64);
    for payload in payloads(extent) {
        let e = flooded(extent, payload, MachineLoad::None);
        let results = evidence.results(&e)?;
        evidence.profile(&e)?;
        lost_plain += lost(results);
        waiting = waiting.max(waited(&results.records));
        let both = results.records.iter().filter_map(|r| {
            let duration = i64::try_from(r.outgoing?.duration).ok()?;
            Some((r.latency()? + duration, duration))
        });
        let (total, duration): (Vec<_>, Vec<_>) = both.unzip();
        let (total, duration) = (median(&total).unwrap_or(0), median(&duration).unwrap_or(1));
        totals.push(total);
        worst = worst.max(ratio(total, duration));
    }
    let share = |load| evidence.results(&flooded(extent, 8, load)).map(loss);
    let (cpu, eth) = (share(MachineLoad::Cpu)?, share(MachineLoad::EthRx)?);
    let (first, last) = (
        totals.first().copied().unwrap_or(0),
        totals.last().copied().unwrap_or(0),
    );
    let measured = format!(
        "{}–{} in total; lost {lost_plain} / {:.2} % (CPU) / {:.1} % (Ethernet)",
        us(first),
        us(last),
        100.0 * cpu,
        100.0 * eth
    );
    conditions.add(
        worst <= 1.25,
        format!("the median total latency is at most {worst:.2} of the frame's duration"),
    );
    conditions.add(
        lost_plain == 0,
        format!("{lost_plain} frames were lost without load"),
    );
    conditions.add(
        cpu <= 0.01,
        format!("{:.2} % were lost under CPU load", 100.0 * cpu),
    );
    conditions.add(
        (0.05..=0.5).contains(&eth),
        format!("{:.1} % were lost under Ethernet load", 100.0 * eth),
    );
    let remark = format!(
        "{:.0} % of the frames waited for the outgoing bus, which is as full as the incoming one",
        100.0 * waiting
    );
    Ok(conditions.judge(measured, &remark))
}

/// The section of the values that the paper states.
const SOURCE: &str = "gateway-2010-draft §IV-A";

fn figure() -> FigurePlan {
    FigurePlan {
        title: "Total latency under flood over the payload",
        form: FigureForm::Line,
        x: axis("payload", "bytes"),
        y: axis("latency and the frame's duration", "µs"),
        of: |evidence, e| {
            if e.load != MachineLoad::None {
                return Ok(vec![]);
            }
            let records = &evidence.results(e)?.records;
            let both = records.iter().filter_map(|r| {
                let duration = i64::try_from(r.outgoing?.duration).ok()?;
                Some((r.latency()? + duration, duration))
            });
            let (total, duration): (Vec<i64>, Vec<i64>) = both.unzip();
            let worst = total.iter().max().copied();
            let (Some(total), Some(duration)) = (median(&total), median(&duration)) else {
                return Ok(vec![]);
            };
            let x = number(e.payload);
            Ok(vec![
                FigureValue {
                    setting: "in total".to_owned(),
                    x: x.clone(),
                    median: micros(total),
                    worst: worst.map(micros),
                },
                FigureValue {
                    setting: "of it on the bus".to_owned(),
                    x,
                    median: micros(duration),
                    worst: None,
                },
            ])
        },
        paper: vec![
            StatedValue::at("in total", 2.0, 60.0, FigureKind::Value, SOURCE),
            StatedValue::at("in total", 8.0, 110.0, FigureKind::Value, SOURCE),
        ],
        note: "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::{at, figure};
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn g12_wants_short_totals_and_losses_under_load_only() {
        let with = |latency: u64, none: u64, cpu: u64, eth: u64| {
            verdict(&G12, Extent::Full, move |e| {
                let every = match e.load {
                    MachineLoad::None => none,
                    MachineLoad::Cpu => cpu,
                    _ => eth,
                };
                fake::losing(fake::records(1000, latency), |n| {
                    every != 0 && n % every == 0
                })
            })
        };
        // The generated frames last 60 µs.
        assert_eq!(with(10_000, 0, 500, 5), Reproduced);
        assert_eq!(with(20_000, 0, 500, 5), Differs);
        assert_eq!(with(10_000, 999, 500, 5), Differs);
        assert_eq!(with(10_000, 0, 50, 5), Differs);
        assert_eq!(with(10_000, 0, 500, 100), Differs);
    }

    #[test]
    fn totals_have_the_frames_duration_in_them_and_loads_are_left_out() {
        let totals = figure("G12", Extent::Full, |_| 5_000);
        let total = at(&totals, ("cangw", "in total"), &number(8));
        let on_the_bus = at(&totals, ("cangw", "of it on the bus"), &number(8));
        assert_eq!(total, on_the_bus + 5.0);
        let points: usize = totals.series.iter().map(|s| s.points.len()).sum();
        assert_eq!(points, 2 * 7, "2 to 8 bytes");
    }
}
