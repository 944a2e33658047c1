//! O8: can-gw's rules, added by two programs.

use super::bounds::{LIST, filtered};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use crate::stats::ratio;
use experiment::FilterChoice;

pub(super) const CLAIMS: &[Claim] = &[O8];

/// Returns the rules that are added by two programs.
fn same(extent: Extent) -> &'static [FilterChoice] {
    extent.pick(
        &[FilterChoice::None, LIST],
        &[FilterChoice::None, LIST, FilterChoice::Sff(2048)],
    )
}

const O8: Claim = Claim {
    id: "O8",
    origin: ClaimOrigin::Bound("bound of routing in the kernel"),
    claim: "can-gw takes as long with the rules that cangate puts in as with those of cangw",
    figure: "≤ 1.01",
    criterion: "|p50(can-gw) / p50(cangw) − 1| ≤ 0.01 for no filter and list:2048, in the full \
        run for sff:2048 too",
    needs: |extent, _| {
        let both = [DataPath::OwnRules, DataPath::Cangw];
        let of = |path| same(extent).iter().map(move |&f| filtered(extent, path, f));
        both.into_iter().flat_map(of).collect()
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for &filters in same(extent) {
        let p50 = |path| Ok(evidence.summary(&filtered(extent, path, filters))?.p50);
        let times = ratio(p50(DataPath::OwnRules)?, p50(DataPath::Cangw)?);
        measured.push(format!("{filters} {times:.4}"));
        let apart = (times - 1.0).abs() <= 0.01;
        conditions.add(apart, format!("filters {filters} {times:.4}"));
    }
    Ok(conditions.judge(measured.join(", "), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::{GatewayChoice, fake};

    #[test]
    fn o8_wants_the_same_of_both() {
        let with = |own: u64| {
            verdict(&O8, Extent::Quick, move |e| {
                let own_rules = e.gateway == GatewayChoice::OwnRules;
                fake::records(9, if own_rules { own } else { 18_000 })
            })
        };
        assert_eq!(with(18_020), Reproduced);
        assert_eq!(with(18_200), Differs);
        assert_eq!(with(17_800), Differs);
    }
}
