//! O4: 2048 routes against one.

use super::bounds::{LIST, compare, filtered};
use crate::claim::Claim;
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::papers::ClaimOrigin;
use experiment::FilterChoice;

pub(super) const CLAIMS: &[Claim] = &[O4];

const O4: Claim = Claim {
    id: "O4",
    origin: ClaimOrigin::Bound("bound of routing in the kernel"),
    claim: "2048 routes that can-gw would keep in a list cost BPF what one costs",
    figure: "≤ 1.02",
    criterion: "p50(bpf, list:2048) / p50(bpf, list:1) ≤ 1.02",
    needs: |extent, _| {
        [LIST, FilterChoice::List(1)]
            .map(|filters| filtered(extent, DataPath::Bpf, filters))
            .to_vec()
    },
    judge: |evidence, extent, _| {
        let mut conditions = Conditions::default();
        let [first, second] =
            [LIST, FilterChoice::List(1)].map(|filters| filtered(extent, DataPath::Bpf, filters));
        let measured = compare(
            evidence,
            &mut conditions,
            "2048 / one",
            &first,
            &second,
            1.02,
        )?;
        Ok(conditions.judge(measured, ""))
    },
    ..Claim::BLANK
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::extent::Extent;
    use crate::testing::verdict;
    use experiment::{Experiment, fake};

    #[test]
    fn o4_wants_routes_to_cost_nothing() {
        let with = |of: fn(&Experiment) -> u64| {
            verdict(&O4, Extent::Quick, move |e| fake::records(9, of(e)))
        };
        let grows = |e: &Experiment| 18_000 + u64::from(e.filters.count().unwrap_or(0));
        assert_eq!(with(|_| 18_000), Reproduced);
        assert_eq!(with(grows), Differs);
    }
}
