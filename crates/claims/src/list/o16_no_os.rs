//! O16 and O17: no operating system at all.

use super::o9_direct::DIRECT;
use super::ways::{KERNEL, one_at_a_time};
use crate::claim::{Claim, Judgement};
use crate::conditions::Conditions;
use crate::evidence::{Evidence, Missing};
use crate::extent::Extent;
use crate::own_share::own;
use crate::papers::Origin;
use crate::stats::{ratio, us};
use experiment::{Experiment, Gateway};

pub(super) const CLAIMS: &[Claim] = &[O16, O17];

/// An image that polls its controllers.
pub(super) const NO_OS: Gateway = Gateway::Baremetal { irq: false };

const O16: Claim = Claim {
    id: "O16",
    origin: Origin::Bound("bound of the image without an operating system"),
    claim: "Without an operating system a gateway takes at most 0.25 of can-gw's time",
    figure: "≤ 0.25",
    criterion: "own share (p50 less the floor of its own bench) of baremetal / that of can-gw ≤ 0.25",
    needs: |extent, _| needs(extent, NO_OS, KERNEL),
    judge: |evidence, extent, _| judge(evidence, extent, &NO_OS, &KERNEL, 0.25),
    ..Claim::BLANK
};

const O17: Claim = Claim {
    id: "O17",
    claim: "Linux gives away nothing: a process that drives the controllers itself and polls them takes at most \
        1.2 times as long as the same gateway without an operating system",
    figure: "≤ 1.2",
    criterion: "own share of direct / that of baremetal, each less the floor of its own bench, ≤ 1.2",
    needs: |extent, _| needs(extent, DIRECT, NO_OS),
    judge: |evidence, extent, _| judge(evidence, extent, &DIRECT, &NO_OS, 1.2),
    ..O16
};

fn needs(extent: Extent, one: Gateway, other: Gateway) -> Vec<Experiment> {
    [one, other]
        .map(|gateway| one_at_a_time(extent, gateway))
        .to_vec()
}

fn judge(
    evidence: &Evidence,
    extent: Extent,
    one: &Gateway,
    other: &Gateway,
    most: f64,
) -> Result<Judgement, Missing> {
    let of = |gateway: &Gateway| own(evidence, &one_at_a_time(extent, gateway.clone()));
    let (least, reference) = (of(one)?, of(other)?);
    let times = ratio(least, reference);
    let mut conditions = Conditions::default();
    conditions.add(
        times <= most,
        format!("{one} takes {times:.3} of the time of {other} (at most {most:.2})"),
    );
    let measured = format!("{times:.3} ({} against {})", us(least), us(reference));
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, Reproduced};
    use crate::testing::verdict_with_floor;
    use experiment::fake;

    /// can-gw's own share is 16 µs.
    fn with(claim: &Claim, image: u64, direct: u64) -> Verdict {
        verdict_with_floor(claim, Extent::Quick, 5_000, move |e| {
            let ns = match e.gateway {
                Gateway::Baremetal { .. } => 5_000 + image,
                Gateway::Direct { .. } => 5_000 + direct,
                _ => 21_000,
            };
            fake::records(9, ns)
        })
    }

    #[test]
    fn own_shares_are_compared() {
        assert_eq!(with(&O16, 4_000, 0), Reproduced);
        assert_eq!(with(&O16, 4_100, 0), Differs);
        assert_eq!(with(&O17, 4_000, 4_800), Reproduced);
        assert_eq!(with(&O17, 4_000, 4_900), Differs);
    }
}
