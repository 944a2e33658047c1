//! O11: the best pair of ways, one frame at a time.

use super::ways::{BEST, READ_WRITE, one_at_a_time, word};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::own_share::own;
use crate::papers::ClaimOrigin;
use crate::stats::{ratio, us};

pub(super) const CLAIMS: &[Claim] = &[O11];

const O11: Claim = Claim {
    id: "O11",
    origin: ClaimOrigin::Bound("bound of ways to receive and to transmit"),
    claim: "The best pair of ways over the kernel's interfaces takes at most 0.80 of what read and write \
        take, one frame at a time",
    figure: "≤ 0.80",
    criterion: "own share (p50 less the bench's floor) of ring-busy-ring-bypass / that of read-write \
        ≤ 0.80",
    needs: |extent, _| {
        [BEST, READ_WRITE]
            .map(|gateway| one_at_a_time(extent, gateway))
            .to_vec()
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let of = |gateway| own(evidence, &one_at_a_time(extent, gateway));
    let (best, simple) = (of(BEST)?, of(READ_WRITE)?);
    let times = ratio(best, simple);
    let mut conditions = Conditions::default();
    let name = word(&BEST);
    conditions.add(
        times <= 0.80,
        format!("{name} takes {times:.3} of it (at most 0.80)"),
    );
    let measured = format!("{times:.3} ({} against {})", us(best), us(simple));
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict_with_floor;
    use experiment::fake;

    #[test]
    fn o11_is_about_own_shares() {
        let with = |best: u64| {
            verdict_with_floor(&O11, Extent::Quick, 10_000, move |e| {
                fake::records(9, if e.gateway == BEST { best } else { 60_000 })
            })
        };
        // 40 of 50, with the floor of 10.
        assert_eq!(with(50_000), Reproduced);
        assert_eq!(with(50_100), Differs);
    }
}
