//! D2: a slower processor.

use super::round_trips::{DEVICE, OVERHEAD, PLAIN, SOCKETS, SOURCE, drivers, idle, overhead, shown};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, StatedValue, axis, name};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::ratio;
use experiment::{Cpu, Experiment, GatewayChoice};

pub(super) const CLAIMS: &[Claim] = &[D2];

/// An eighth of `pc`'s speed: 16 ns per instruction against 2, as 300 MHz against 2.4 GHz.
const SLOW: Cpu = Cpu::Shift(4);

const D2: Claim = Claim {
    id: "D2",
    origin: ClaimOrigin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 3")]),
    claim: "On a processor of an eighth of the speed the overhead of both kinds of driver is much larger",
    figure: "Figure 3 (300 MHz for 2.4 GHz)",
    criterion: "overhead(slow) / overhead(fast) ≥ 4, of the medians, for sockets and for character devices",
    needs: |extent, _| {
        let each =
            |gateway: GatewayChoice| [Cpu::Pc, SLOW].map(|cpu| at(extent, cpu, gateway.clone()));
        [DEVICE, SOCKETS].into_iter().flat_map(each).collect()
    },
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

fn at(extent: Extent, cpu: Cpu, gateway: GatewayChoice) -> Experiment {
    Experiment {
        cpu,
        ..idle(extent, PLAIN, gateway)
    }
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for (name, gateway) in [("sockets", SOCKETS), ("character devices", DEVICE)] {
        let fast = overhead(evidence, &at(extent, Cpu::Pc, gateway.clone()))?;
        let slow = overhead(evidence, &at(extent, SLOW, gateway))?;
        let times = ratio(slow.p50, fast.p50);
        measured.push(format!("{name} {} for {}", shown(&slow), shown(&fast)));
        conditions.add(
            times >= 4.0,
            format!("{name} take {times:.1} times as long"),
        );
    }
    Ok(conditions.judge(measured.join("; "), ""))
}

fn figure() -> FigurePlan {
    let fast = "2 ns an instruction (paper: 2.4 GHz)";
    FigurePlan {
        title: "Overhead of a round trip on a slower processor",
        form: FigureForm::Bars,
        x: axis("processor", ""),
        y: OVERHEAD,
        of: |evidence, e| {
            let processor = match e.cpu {
                Cpu::Pc => "2 ns an instruction (paper: 2.4 GHz)",
                _ => "16 ns an instruction (paper: 300 MHz)",
            };
            drivers(evidence, e, String::new(), name(processor))
        },
        paper: vec![
            StatedValue {
                name: "character devices",
                ..StatedValue::beside(fast, 209.0, FigureKind::Worst, SOURCE)
            },
            StatedValue {
                name: "sockets",
                ..StatedValue::beside(fast, 284.0, FigureKind::Worst, SOURCE)
            },
        ],
        note: "of the slower processor the paper has a picture and no number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::list::round_trips::tests::verdict;

    #[test]
    fn both_must_become_slower() {
        let with = |device: u64| {
            verdict(&D2, Extent::Quick, move |e| match (e.cpu, &e.gateway) {
                (Cpu::Pc, _) => vec![10_000; 3],
                (_, GatewayChoice::Chardev) => vec![device; 3],
                _ => vec![80_000; 3],
            })
        };
        assert_eq!(with(40_000), Reproduced);
        assert_eq!(with(39_000), Differs);
    }
}
