//! G6: the cost of changing a frame.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::simple;
use crate::stats::us;
use experiment::{Experiment, ModifyChoice};

pub(super) const CLAIMS: &[Claim] = &[
    G6,
    G6.on("G6/user", DataPath::User),
    G6.on("G6/bpf", DataPath::Bpf),
];

fn changing(extent: Extent, path: DataPath, modify: ModifyChoice) -> Experiment {
    path.apply_to(Experiment {
        payload: 8,
        modify,
        frames: extent.pick(200, 10_000),
        ..simple(extent)
    })
}

const CHANGES: [ModifyChoice; 7] = [
    ModifyChoice::Id,
    ModifyChoice::And,
    ModifyChoice::Or,
    ModifyChoice::Xor,
    ModifyChoice::Set,
    ModifyChoice::Crc8,
    ModifyChoice::Xorsum,
];

const G6: Claim = Claim {
    id: "G6",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2011, "§3.5")]),
    claim: "The cost of modifying a frame is that of copying it; AND, OR, XOR, SET and \
        checksums cost about the same",
    figure: "—",
    criterion: "(p50(copy) − p50(none)) / (max p50(change) − p50(none)) ≥ 0.5, where copy \
        writes back what is there; max p50(change) / min p50(change) ≤ 1.05",
    needs,
    judge,
    ..Claim::BLANK
};

fn needs(extent: Extent, path: DataPath) -> Vec<Experiment> {
    let all = || {
        [ModifyChoice::None, ModifyChoice::Copy]
            .into_iter()
            .chain(CHANGES)
    };
    path.beside(extent, |path| {
        all().map(|m| changing(extent, path, m)).collect()
    })
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    path: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let p50_of = |path, m| Ok(evidence.summary(&changing(extent, path, m))?.p50);
    let p50 = |m| p50_of(path, m);
    let plain = p50(ModifyChoice::None)?;
    let copy = p50(ModifyChoice::Copy)? - plain;
    let mut costs = Vec::new();
    for m in CHANGES {
        costs.push((m, p50(m)? - plain));
    }
    let least = costs
        .iter()
        .copied()
        .min_by_key(|c| c.1)
        .unwrap_or((ModifyChoice::Id, 0));
    let most = costs
        .iter()
        .copied()
        .max_by_key(|c| c.1)
        .unwrap_or((ModifyChoice::Id, 0));
    let beside = path.against(|| {
        let [plain, id] =
            [ModifyChoice::None, ModifyChoice::Id].map(|m| p50_of(DataPath::Cangw, m));
        let (plain, id) = (plain?, id?);
        Ok(format!("{}, id +{}", us(plain), us(id - plain)))
    })?;
    let measured = format!(
        "{} without{beside}; copy +{}, changes +{} ({}) to +{} ({})",
        us(plain),
        us(copy),
        us(least.1),
        least.0,
        us(most.1),
        most.0
    );
    let mut conditions = Conditions::default();
    let share = 100.0 * copy as f64 / most.1.max(1) as f64;
    conditions.add(
        share >= 50.0,
        format!(
            "the copy is {share:.0} % of what the most expensive change ({}) costs",
            most.0
        ),
    );
    let spread = 100.0 * (most.1 - least.1) as f64 / (plain + least.1).max(1) as f64;
    conditions.add(
        spread <= 5.0,
        format!("the changes' medians differ by {spread:.1} %"),
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    fn with(copy: u64, crc: u64) -> Verdict {
        verdict(&G6, Extent::Quick, move |e| {
            let cost = match e.modify {
                ModifyChoice::None => 0,
                ModifyChoice::Crc8 => crc,
                _ => copy,
            };
            fake::records(10, 35_000 + cost)
        })
    }

    #[test]
    fn g6_wants_the_copy_to_be_most_of_it() {
        assert_eq!(with(2_000, 2_800), Reproduced);
        assert_eq!(with(2_000, 4_800), Differs);
        assert_eq!(with(1_000, 2_100), Differs);
    }
}
