//! G3: the effect of load on one frame at a time.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, LATENCY, StatedValue, axis, latency, name};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::{placement, simple};
use crate::stats::{ratio, us};
use experiment::{Experiment, MachineLoad};

pub(super) const CLAIMS: &[Claim] = &[G3];

fn loaded(extent: Extent, load: MachineLoad) -> Experiment {
    Experiment {
        load,
        apart: placement(load),
        ..simple(extent)
    }
}

const G3: Claim = Claim {
    id: "G3",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2011, "§3.3")]),
    claim: "CPU load about doubles the worst case; Ethernet receive load is far worse, because \
        CAN and Ethernet share the receive soft-irq",
    figure: "140 → 250; → ≈3 ms",
    criterion: "1.3 ≤ max(CPU load) / max(no load) ≤ 3 (paper: 1.8); max(Ethernet load) / \
        max(CPU load) ≥ 3 (paper: 12)",
    needs: |extent, _| {
        [MachineLoad::None, MachineLoad::Cpu, MachineLoad::EthRx]
            .map(|load| loaded(extent, load))
            .to_vec()
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
    let of = |load| evidence.summary(&loaded(extent, load));
    let (none, cpu, eth) = (
        of(MachineLoad::None)?,
        of(MachineLoad::Cpu)?,
        of(MachineLoad::EthRx)?,
    );
    let measured = format!(
        "{} → {} (CPU); → {} (Ethernet)",
        us(none.max),
        us(cpu.max),
        us(eth.max)
    );
    let mut conditions = Conditions::default();
    let by_cpu = ratio(cpu.max, none.max);
    conditions.add(
        (1.3..=3.0).contains(&by_cpu),
        format!("CPU load multiplies the worst case by {by_cpu:.1}"),
    );
    let by_eth = ratio(eth.max, cpu.max);
    conditions.add(
        by_eth >= 3.0,
        format!("under Ethernet load it is {by_eth:.1} times that under CPU load"),
    );
    Ok(conditions.judge(measured, ""))
}

/// The section of the values that the paper states.
const SOURCE: &str = "gateway-2011 §3.3";

fn figure() -> FigurePlan {
    let load = |load: MachineLoad| name(load_words(load));
    let stated = |of: MachineLoad, y| StatedValue {
        name: "",
        x: load(of),
        y: Some(y),
        of: FigureKind::Worst,
        source: SOURCE,
    };
    FigurePlan {
        title: "Latency under load",
        form: FigureForm::Bars,
        x: axis("load of the gateway", ""),
        y: LATENCY,
        of: |evidence, e| latency(evidence, e, "", name(load_words(e.load))),
        paper: vec![
            stated(MachineLoad::None, 140.0),
            stated(MachineLoad::Cpu, 250.0),
            stated(MachineLoad::EthRx, 3_000.0),
        ],
        note: "",
    }
}

fn load_words(load: MachineLoad) -> String {
    match load {
        MachineLoad::None => "no load".to_owned(),
        MachineLoad::Cpu => "CPU (hackbench)".to_owned(),
        MachineLoad::EthRx => "Ethernet receive".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn g3_wants_the_papers_order() {
        let with = |cpu: u64, eth: u64| {
            verdict(&G3, Extent::Quick, move |e| {
                let worst = match e.load {
                    MachineLoad::None => 140_000,
                    MachineLoad::Cpu => cpu,
                    _ => eth,
                };
                fake::with_latencies([35_000, worst])
            })
        };
        assert_eq!(with(250_000, 3_000_000), Reproduced);
        assert_eq!(with(145_000, 3_000_000), Differs);
        assert_eq!(with(900_000, 3_000_000), Differs);
        assert_eq!(with(250_000, 260_000), Differs);
    }
}
