//! O9: a process that drives the controllers itself, and polls them.

use super::ways::{KERNEL, one_at_a_time};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::own_share::own;
use crate::papers::ClaimOrigin;
use crate::stats::{ratio, us};
use experiment::GatewayChoice;

pub(super) const CLAIMS: &[Claim] = &[O9, O10];

/// The gateway that polls.
pub(super) const DIRECT: GatewayChoice = GatewayChoice::Direct { irq: false };
/// The gateway that uses interrupts.
pub(super) const BY_INTERRUPT: GatewayChoice = GatewayChoice::Direct { irq: true };

const O9: Claim = Claim {
    id: "O9",
    origin: ClaimOrigin::Bound("bound of controllers driven from user space"),
    claim: "A process that drives the controllers itself and polls them takes at most 0.15 of can-gw's time",
    figure: "≤ 0.15",
    criterion: "own share (p50 less the bench's floor) of direct / that of can-gw ≤ 0.15",
    needs: |extent, _| needs(extent, DIRECT),
    judge: |evidence, extent, _| judge(evidence, extent, &DIRECT, 0.15),
    ..Claim::BLANK
};

const O10: Claim = Claim {
    id: "O10",
    claim: "A process that drives the controllers itself and waits for their interrupts takes at most 0.60 of \
        can-gw's time",
    figure: "≤ 0.60",
    criterion: "own share (p50 less the bench's floor) of direct:irq / that of can-gw ≤ 0.60",
    needs: |extent, _| needs(extent, BY_INTERRUPT),
    judge: |evidence, extent, _: DataPath| judge(evidence, extent, &BY_INTERRUPT, 0.60),
    ..O9
};

fn needs(extent: Extent, gateway: GatewayChoice) -> Vec<experiment::Experiment> {
    [gateway, KERNEL]
        .map(|gateway| one_at_a_time(extent, gateway))
        .to_vec()
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    gateway: &GatewayChoice,
    most: f64,
) -> Result<ClaimJudgement, MissingEvidence> {
    let of = |gateway: &GatewayChoice| own(evidence, &one_at_a_time(extent, gateway.clone()));
    let (direct, kernel) = (of(gateway)?, of(&KERNEL)?);
    let times = ratio(direct, kernel);
    let mut conditions = Conditions::default();
    conditions.add(
        times <= most,
        format!("{gateway} takes {times:.3} of it (at most {most:.2})"),
    );
    let measured = format!("{times:.3} ({} against {})", us(direct), us(kernel));
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict_with_floor;
    use experiment::fake;

    #[test]
    fn own_shares_are_compared() {
        let with = |claim: &Claim, direct: u64| {
            verdict_with_floor(claim, Extent::Quick, 5_000, move |e| {
                let ns = match e.gateway {
                    GatewayChoice::Direct { .. } => direct,
                    _ => 21_000,
                };
                fake::records(9, ns)
            })
        };
        // 0.15 and 0.60 of 16 µs.
        assert_eq!(with(&O9, 7_400), Reproduced);
        assert_eq!(with(&O9, 7_500), Differs);
        assert_eq!(with(&O10, 14_600), Reproduced);
        assert_eq!(with(&O10, 14_700), Differs);
    }
}
