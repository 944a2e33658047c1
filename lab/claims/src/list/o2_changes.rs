//! O2: the cost of changing a frame in BPF.

use super::bounds::one_at_a_time;
use crate::claim::{Claim, Judgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{Evidence, Missing};
use crate::extent::Extent;
use crate::papers::Origin;
use crate::stats::ratio;
use experiment::{Experiment, Modify};

pub(super) const CLAIMS: &[Claim] = &[O2];

fn changing(extent: Extent, path: DataPath, modify: Modify) -> Experiment {
    Experiment {
        modify,
        payload: 8,
        ..one_at_a_time(extent, path)
    }
}

/// Returns the changes that are examined.
fn changes(extent: Extent) -> &'static [Modify] {
    extent.pick(
        &[Modify::Id, Modify::Crc8],
        &[
            Modify::Copy,
            Modify::Id,
            Modify::And,
            Modify::Or,
            Modify::Xor,
            Modify::Set,
            Modify::Crc8,
            Modify::Xorsum,
        ],
    )
}

const O2: Claim = Claim {
    id: "O2",
    origin: Origin::Bound("bound of routing in the kernel"),
    claim: "Changing a frame adds at most 1 % to what BPF takes for it",
    figure: "≤ 1.01",
    criterion: "p50(bpf, change) / p50(bpf, none) ≤ 1.01 for each change, 8 bytes",
    needs: |extent, _| {
        let both = [DataPath::Bpf, DataPath::Cangw];
        let all = both.map(|path| {
            let changes = changes(extent).iter().copied();
            let all = [Modify::None].into_iter().chain(changes);
            all.map(move |m| changing(extent, path, m))
        });
        all.into_iter().flatten().collect()
    },
    judge,
    ..Claim::BLANK
};

fn judge(evidence: &Evidence, extent: Extent, _: DataPath) -> Result<Judgement, Missing> {
    let p50 = |path, m| Ok(evidence.summary(&changing(extent, path, m))?.p50);
    let mut conditions = Conditions::default();
    let (mut measured, mut cangw) = (Vec::new(), 0.0f64);
    for &m in changes(extent) {
        let times = ratio(p50(DataPath::Bpf, m)?, p50(DataPath::Bpf, Modify::None)?);
        measured.push(format!("{m} {times:.4}"));
        conditions.add(times <= 1.01, format!("with {m} {times:.4}"));
        cangw = cangw.max(ratio(
            p50(DataPath::Cangw, m)?,
            p50(DataPath::Cangw, Modify::None)?,
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
                let cost = if e.modify == Modify::Crc8 { crc } else { 100 };
                fake::records(9, 18_000 + if e.modify == Modify::None { 0 } else { cost })
            })
        };
        assert_eq!(with(180), Reproduced);
        assert_eq!(with(190), Differs);
    }
}
