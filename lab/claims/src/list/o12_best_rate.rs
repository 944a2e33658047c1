//! O12: the fastest pair of ways, at its highest rate.

use super::ways::{FASTEST, READ_WRITE, saturated, word};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use experiment::rate::RateLimitedBy;

pub(super) const CLAIMS: &[Claim] = &[O12];

const O12: Claim = Claim {
    id: "O12",
    origin: ClaimOrigin::Bound("bound of ways to receive and to transmit"),
    claim: "The highest rate without loss of the best pair of ways is at least 1.5 times that of read and \
        write",
    figure: "≥ 1.50",
    criterion: "rate(ring-busy-sendmmsg) / rate(read-write) ≥ 1.50, on a processor that read-write \
        saturates; a pair that the bus bounds is not slower than shown",
    rates: |extent| {
        [FASTEST, READ_WRITE]
            .map(|gateway| saturated(extent, gateway))
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
    let of = |gateway| evidence.rate(&saturated(extent, gateway));
    let (best, simple) = (of(FASTEST)?, of(READ_WRITE)?);
    let times = best.frames_per_s / simple.frames_per_s;
    let by = match best.bound {
        RateLimitedBy::Bus => " (the bus)",
        RateLimitedBy::Gateway | RateLimitedBy::None => "",
    };
    let mut conditions = Conditions::default();
    conditions.add(
        best.frames_per_s > 0.0 && simple.bound == RateLimitedBy::Gateway && times >= 1.5,
        format!("{} carries {times:.2} times as many frames", word(&FASTEST)),
    );
    let measured = format!(
        "{times:.2} ({:.0}/s{by} against {:.0}/s)",
        best.frames_per_s, simple.frames_per_s
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};
    use experiment::rate::SearchedRate;

    fn with(best: f64, simple: RateLimitedBy) -> Verdict {
        let mut evidence = ClaimEvidence::default();
        for e in O12.rates(Extent::Quick) {
            let is_best = e.gateway == FASTEST;
            let rate = SearchedRate {
                frames_per_s: if is_best { best } else { 1000.0 },
                bound: if is_best {
                    RateLimitedBy::Gateway
                } else {
                    simple
                },
                passed: None,
                failed: None,
                tries: 9,
            };
            evidence.add_rate(e, Ok(rate));
        }
        O12.judge(&evidence, Extent::Quick).verdict
    }

    #[test]
    fn o12_wants_half_as_many_more() {
        assert_eq!(with(1500.0, RateLimitedBy::Gateway), Reproduced);
        assert_eq!(with(1499.0, RateLimitedBy::Gateway), Differs);
        // A rate that is limited by the bus is not a figure of read-write.
        assert_eq!(with(1500.0, RateLimitedBy::Bus), Differs);
        assert_eq!(
            O12.judge(&ClaimEvidence::default(), Extent::Quick).verdict,
            NotTestable
        );
    }
}
