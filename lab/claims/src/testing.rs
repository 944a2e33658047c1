//! Generated evidence.

use crate::claim::{Claim, Judgement, Verdict};
use crate::evidence::Evidence;
use crate::extent::Extent;
use experiment::{Experiment, Gateway, fake};
use probe::Record;

/// Judges evidence in which each needed experiment has the records that `make` returns for it.
pub(crate) fn judge(
    claim: &Claim,
    extent: Extent,
    make: impl Fn(&Experiment) -> Vec<Record>,
) -> Judgement {
    let mut evidence = Evidence::default();
    for e in claim.needs(extent) {
        let records = make(&e);
        evidence.add(e, Ok(fake::results(records)));
    }
    claim.judge(&evidence, extent)
}

pub(crate) fn verdict(
    claim: &Claim,
    extent: Extent,
    make: impl Fn(&Experiment) -> Vec<Record>,
) -> Verdict {
    judge(claim, extent, make).verdict
}

/// Returns the verdict where the benches cost `floor` ns.
pub(crate) fn verdict_with_floor(
    claim: &Claim,
    extent: Extent,
    floor: u64,
    make: impl Fn(&Experiment) -> Vec<Record>,
) -> Verdict {
    let mut evidence = Evidence::default();
    for e in experiment::with_floors(claim.needs(extent)) {
        let records = match e.gateway {
            Gateway::Ideal | Gateway::BaremetalIdeal => fake::records(9, floor),
            _ => make(&e),
        };
        evidence.add(e, Ok(fake::results(records)));
    }
    claim.judge(&evidence, extent).verdict
}
