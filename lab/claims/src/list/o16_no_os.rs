//! O16 and O17: no operating system at all.

use super::o9_direct::DIRECT;
use super::ways::{KERNEL, one_at_a_time};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::own_share::own;
use crate::papers::ClaimOrigin;
use crate::stats::{ratio, us};
use experiment::{Experiment, GatewayChoice};

pub(super) const CLAIMS: &[Claim] = &[O16, O17];

/// An image that polls its controllers.
pub(super) const NO_OS: GatewayChoice = GatewayChoice::Baremetal { irq: false };

/// Data bytes at which O17 compares: a frame meets a polling loop at one point of its rounds, and
/// with another length at another point. With one length alone, less than a third of a round
/// decided O17.
const LENGTHS: [u8; 4] = [2, 4, 6, 8];

const O16: Claim = Claim {
    id: "O16",
    origin: ClaimOrigin::Bound("bound of the image without an operating system"),
    claim: "Without an operating system a gateway takes at most 0.25 of can-gw's time",
    figure: "≤ 0.25",
    criterion: "own share (p50 less the floor of its own bench) of baremetal / that of can-gw ≤ 0.25",
    needs: |extent, _| needs(extent, NO_OS, KERNEL, &LENGTHS[1..2]),
    judge: |evidence, extent, _| judge(evidence, extent, [&NO_OS, &KERNEL], &LENGTHS[1..2], 0.25),
    ..Claim::BLANK
};

const O17: Claim = Claim {
    id: "O17",
    claim: "Linux gives away nothing: a process that drives the controllers itself and polls them takes at most \
        1.2 times as long as the same gateway without an operating system",
    figure: "≤ 1.2",
    criterion: "own share of direct / that of baremetal, each less the floor of its own bench, the mean of frames \
        with 2, 4, 6 and 8 bytes, ≤ 1.2",
    needs: |extent, _| needs(extent, DIRECT, NO_OS, &LENGTHS),
    judge: |evidence, extent, _| judge(evidence, extent, [&DIRECT, &NO_OS], &LENGTHS, 1.2),
    ..O16
};

fn with_length(extent: Extent, gateway: &GatewayChoice, payload: u8) -> Experiment {
    Experiment {
        payload,
        ..one_at_a_time(extent, gateway.clone())
    }
}

fn needs(
    extent: Extent,
    one: GatewayChoice,
    other: GatewayChoice,
    lengths: &[u8],
) -> Vec<Experiment> {
    [one, other]
        .iter()
        .flat_map(|gateway| lengths.iter().map(|n| with_length(extent, gateway, *n)))
        .collect()
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    [one, other]: [&GatewayChoice; 2],
    lengths: &[u8],
    most: f64,
) -> Result<ClaimJudgement, MissingEvidence> {
    let of = |gateway: &GatewayChoice| -> Result<i64, MissingEvidence> {
        let mut sum = 0;
        for payload in lengths {
            sum += own(evidence, &with_length(extent, gateway, *payload))?;
        }
        Ok(sum / lengths.len() as i64)
    };
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
                GatewayChoice::Baremetal { .. } => 5_000 + image,
                GatewayChoice::Direct { .. } => 5_000 + direct,
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

    #[test]
    fn one_length_alone_decides_nothing() {
        let direct_takes = |at_four: u64, elsewhere: u64| {
            verdict_with_floor(&O17, Extent::Quick, 5_000, move |e| {
                let ns = match e.gateway {
                    GatewayChoice::Direct { .. } if e.payload == 4 => 5_000 + at_four,
                    GatewayChoice::Direct { .. } => 5_000 + elsewhere,
                    _ => 9_000,
                };
                fake::records(9, ns)
            })
        };
        assert_eq!(direct_takes(4_900, 4_700), Reproduced);
        assert_eq!(direct_takes(4_700, 4_900), Differs);
    }
}
