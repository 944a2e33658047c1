//! O2: the cost of changing a frame in BPF.

use super::bounds::one_at_a_time;
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use crate::stats::ratio;
use experiment::{Experiment, ModifyChoice};

pub(super) const CLAIMS: &[Claim] = &[O2];

fn changing(extent: Extent, path: DataPath, modify: ModifyChoice) -> Experiment {
    Experiment {
        modify,
        payload: 8,
        ..one_at_a_time(extent, path)
    }
}

/// Returns the changes that are examined.
fn changes(extent: Extent) -> &'static [ModifyChoice] {
    extent.pick(
        &[ModifyChoice::Id, ModifyChoice::Crc8],
        &[
            ModifyChoice::Copy,
            ModifyChoice::Id,
            ModifyChoice::And,
            ModifyChoice::Or,
            ModifyChoice::Xor,
            ModifyChoice::Set,
            ModifyChoice::Crc8,
            ModifyChoice::Xorsum,
        ],
    )
}

const O2: Claim = Claim {
    id: "O2",
    origin: ClaimOrigin::Bound("bound of routing in the kernel"),
    claim: "Changing a frame adds at most 1 % to what BPF takes for it",
    figure: "≤ 1.01",
    criterion: "p50(bpf, change) / p50(bpf, none) ≤ 1.01 for each change, 8 bytes",
    needs: |extent, _| {
        let both = [DataPath::Bpf, DataPath::Cangw];
        let all = both.map(|path| {
            let changes = changes(extent).iter().copied();
            let all = [ModifyChoice::None].into_iter().chain(changes);
            all.map(move |m| changing(extent, path, m))
        });
        all.into_iter().flatten().collect()
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let p50 = |path, m| Ok(evidence.summary(&changing(extent, path, m))?.p50);
    let mut conditions = Conditions::default();
    let (mut measured, mut cangw) = (Vec::new(), 0.0f64);
    for &m in changes(extent) {
        let times = ratio(
            p50(DataPath::Bpf, m)?,
            p50(DataPath::Bpf, ModifyChoice::None)?,
        );
        measured.push(format!("{m} {times:.4}"));
        conditions.add(times <= 1.01, format!("with {m} {times:.4}"));
        cangw = cangw.max(ratio(
            p50(DataPath::Cangw, m)?,
            p50(DataPath::Cangw, ModifyChoice::None)?,
        ));
    }
    let remark = format!("the most expensive change of can-gw: {cangw:.4}");
    Ok(conditions.judge(measured.join(", "), &remark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn o2_wants_every_change_to_be_cheap() {
        let with = |crc: u64| {
            verdict(&O2, Extent::Full, move |e| {
                let cost = if e.modify == ModifyChoice::Crc8 {
                    crc
                } else {
                    100
                };
                fake::records(
                    9,
                    18_000
                        + if e.modify == ModifyChoice::None {
                            0
                        } else {
                            cost
                        },
                )
            })
        };
        assert_eq!(with(180), Reproduced);
        assert_eq!(with(190), Differs);
    }
}
