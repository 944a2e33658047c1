//! Generated evidence.

use crate::claim::{Claim, ClaimJudgement, Verdict};
use crate::evidence::ClaimEvidence;
use crate::extent::Extent;
use experiment::{Experiment, GatewayChoice, fake};
use probe::FrameRecord;

/// Judges evidence in which each needed experiment has the records that `make` returns for it.
pub(crate) fn judge(
    claim: &Claim,
    extent: Extent,
    make: impl Fn(&Experiment) -> Vec<FrameRecord>,
) -> ClaimJudgement {
    let mut evidence = ClaimEvidence::default();
    for e in claim.needs(extent) {
        let records = make(&e);
        evidence.add(e, Ok(fake::results(records)));
    }
    claim.judge(&evidence, extent)
}

pub(crate) fn verdict(
    claim: &Claim,
    extent: Extent,
    make: impl Fn(&Experiment) -> Vec<FrameRecord>,
) -> Verdict {
    judge(claim, extent, make).verdict
}

/// Returns the verdict where the benches cost `floor` ns.
pub(crate) fn verdict_with_floor(
    claim: &Claim,
    extent: Extent,
    floor: u64,
    make: impl Fn(&Experiment) -> Vec<FrameRecord>,
) -> Verdict {
    let mut evidence = ClaimEvidence::default();
    for e in experiment::with_floors(claim.needs(extent)) {
        let records = match e.gateway {
            GatewayChoice::Ideal | GatewayChoice::BaremetalIdeal => fake::records(9, floor),
            _ => make(&e),
        };
        evidence.add(e, Ok(fake::results(records)));
    }
    claim.judge(&evidence, extent).verdict
}
