//! O5: 100 000 routes against one.

use super::bounds::{compare, filtered};
use crate::claim::Claim;
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use experiment::FilterChoice;

pub(super) const CLAIMS: &[Claim] = &[O5];

/// Exact EFF identifiers, each a route.
const MANY: u32 = 100_000;

const O5: Claim = Claim {
    id: "O5",
    origin: ClaimOrigin::Bound("bound of routing in the kernel"),
    claim: "100 000 routes for one EFF identifier each cost BPF what one costs",
    figure: "≤ 1.05",
    criterion: "p50(bpf, eff:100000) / p50(bpf, eff:1) ≤ 1.05; the last route matches",
    // Loading 100 000 routes into a guest's kernel takes as long as a whole quick run.
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => [MANY, 1]
            .map(|n| filtered(extent, DataPath::Bpf, FilterChoice::Eff(n)))
            .to_vec(),
    },
    judge: |evidence, extent, _| {
        let mut conditions = Conditions::default();
        let [first, second] =
            [MANY, 1].map(|n| filtered(extent, DataPath::Bpf, FilterChoice::Eff(n)));
        let measured = compare(
            evidence,
            &mut conditions,
            "100 000 / one",
            &first,
            &second,
            1.05,
        )?;
        Ok(conditions.judge(measured, ""))
    },
    ..Claim::BLANK
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, NotTestable, Reproduced};
    use crate::testing::verdict;
    use experiment::{Experiment, fake};

    #[test]
    fn o5_wants_routes_to_cost_nothing() {
        let with = |of: fn(&Experiment) -> u64| {
            verdict(&O5, Extent::Full, move |e| fake::records(9, of(e)))
        };
        let grows = |e: &Experiment| 18_000 + u64::from(e.filters.count().unwrap_or(0));
        assert_eq!(with(|_| 18_000), Reproduced);
        assert_eq!(with(grows), Differs);
        let quick = verdict(&O5, Extent::Quick, |_| fake::records(9, 18_000));
        assert_eq!(quick, NotTestable, "too long for a quick run");
    }
}
