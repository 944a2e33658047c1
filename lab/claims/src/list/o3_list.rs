//! O3: 2048 routes that can-gw keeps in a list.

use super::bounds::{LIST, compare, filtered};
use crate::claim::Claim;
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::papers::ClaimOrigin;

pub(super) const CLAIMS: &[Claim] = &[O3];

const O3: Claim = Claim {
    id: "O3",
    origin: ClaimOrigin::Bound("bound of routing in the kernel"),
    claim: "With 2048 routes that can-gw keeps in a list, a frame takes BPF a fraction of \
        can-gw's time",
    figure: "≤ 0.40",
    criterion: "p50(bpf, list:2048) / p50(cangw, list:2048) ≤ 0.40; the last filter of the list \
        matches",
    needs: |extent, _| {
        [DataPath::Bpf, DataPath::Cangw]
            .map(|path| filtered(extent, path, LIST))
            .to_vec()
    },
    judge: |evidence, extent, _| {
        let mut conditions = Conditions::default();
        let [first, second] =
            [DataPath::Bpf, DataPath::Cangw].map(|path| filtered(extent, path, LIST));
        let measured = compare(
            evidence,
            &mut conditions,
            "BPF / cangw",
            &first,
            &second,
            0.40,
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
    use experiment::{GatewayChoice, fake};

    #[test]
    fn o3_wants_a_fraction_of_can_gws_time() {
        let with = |bpf: u64| {
            verdict(&O3, Extent::Quick, move |e| {
                let bpf_s = e.gateway == GatewayChoice::Bpf;
                fake::records(9, if bpf_s { bpf } else { 46_000 })
            })
        };
        assert_eq!(with(18_000), Reproduced);
        assert_eq!(with(18_500), Differs);
    }
}
