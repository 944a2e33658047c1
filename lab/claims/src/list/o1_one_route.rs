//! O1: one route in BPF against one rule of can-gw.

use super::bounds::{compare, one_at_a_time};
use crate::claim::Claim;
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::papers::ClaimOrigin;

pub(super) const CLAIMS: &[Claim] = &[O1];

const O1: Claim = Claim {
    id: "O1",
    origin: ClaimOrigin::Bound("bound of routing in the kernel"),
    claim: "Without filters a frame takes BPF no longer than can-gw",
    figure: "≤ 1.00",
    criterion: "p50(bpf) / p50(cangw) ≤ 1.00",
    needs: |extent, _| {
        [DataPath::Bpf, DataPath::Cangw]
            .map(|path| one_at_a_time(extent, path))
            .to_vec()
    },
    judge: |evidence, extent, _| {
        let mut conditions = Conditions::default();
        let [first, second] =
            [DataPath::Bpf, DataPath::Cangw].map(|path| one_at_a_time(extent, path));
        let measured = compare(
            evidence,
            &mut conditions,
            "BPF / cangw",
            &first,
            &second,
            1.0,
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
    use crate::testing::judge;
    use experiment::{Experiment, GatewayChoice, fake};

    fn is_bpf(e: &Experiment) -> bool {
        e.gateway == GatewayChoice::Bpf
    }

    #[test]
    fn o1_wants_bpf_to_be_no_slower() {
        let with = |bpf: u64| {
            judge(&O1, Extent::Quick, move |e| {
                fake::records(9, if is_bpf(e) { bpf } else { 18_000 })
            })
        };
        let good = with(17_640);
        assert_eq!(good.verdict, Reproduced);
        assert_eq!(good.measured, "0.9800 (17.6 against 18.0)");
        assert_eq!(with(18_000).verdict, Reproduced);
        assert_eq!(with(18_002).verdict, Differs);
    }
}
