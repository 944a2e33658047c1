//! S3: a frame every 120 µs.

use super::ways::{every_120, word};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::{loss, lost};
use experiment::{GatewayChoice, PAPER_NAMES, ReceiveChoice, TransmitChoice, WayPair};

pub(super) const CLAIMS: &[Claim] = &[S3];

const S3: Claim = Claim {
    id: "S3",
    origin: ClaimOrigin::Papers(&[(Paper::Syscalls2014, "§4.2, Figure 4.3")]),
    claim: "With a frame every 120 µs, gateways that transmit by write() lose frames, and those that \
        transmit by a ring or by sendmmsg lose none",
    figure: "up to 1/3 lost; 0",
    criterion: "on a processor that read-write saturates at the paper's period: lost > 0 for each of \
        the paper's pairs with write(), lost = 0 for each other one",
    needs: |extent, _| {
        let all = papers(extent).map(|ways| every_120(extent, GatewayChoice::User(ways)));
        all.collect()
    },
    judge,
    ..Claim::BLANK
};

/// Returns the pairs of Table 3.1; a quick run has one of each kind.
pub(super) fn papers(extent: Extent) -> impl Iterator<Item = WayPair> {
    let quick = |ways: &WayPair| {
        matches!(
            (ways.receive, ways.transmit),
            (
                ReceiveChoice::Read | ReceiveChoice::ReadNonblock | ReceiveChoice::Ring,
                TransmitChoice::Write
            ) | (
                ReceiveChoice::ReadNonblock | ReceiveChoice::Ring,
                TransmitChoice::Ring
            ) | (ReceiveChoice::Recvmmsg, _)
        )
    };
    let all = PAPER_NAMES.into_iter().map(|(_, ways)| ways);
    all.filter(move |ways| extent == Extent::Full || quick(ways))
}

/// Compares the frames that each of these gateways loses with the expected loss: some with write(),
/// otherwise none.
pub(super) fn held(
    evidence: &ClaimEvidence,
    extent: Extent,
    all: impl Iterator<Item = WayPair>,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for ways in all {
        let gateway = GatewayChoice::User(ways);
        let name = word(&gateway);
        let experiment = every_120(extent, gateway);
        evidence.profile(&experiment)?;
        let results = evidence.results(&experiment)?;
        let (lost, share) = (lost(results), 100.0 * loss(results));
        let (holds, wanted) = match ways.transmit {
            TransmitChoice::Write => (lost > 0, "some"),
            _ => (lost == 0, "none"),
        };
        let text = format!("{name} {share:.1} %");
        conditions.add(holds, format!("{name} loses {lost} ({wanted} expected)"));
        measured.push(text);
    }
    Ok(conditions.judge(format!("lost: {}", measured.join(", ")), ""))
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    held(evidence, extent, papers(extent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn s3_wants_losses_by_write_only() {
        let with = |extent: Extent, write: u64, other: u64| {
            verdict(&S3, extent, move |e| {
                let lost = match e.gateway {
                    GatewayChoice::User(ways) if ways.transmit == TransmitChoice::Write => write,
                    _ => other,
                };
                fake::losing(fake::records(100, 9), |n| n < lost)
            })
        };
        for extent in [Extent::Quick, Extent::Full] {
            assert_eq!(with(extent, 30, 0), Reproduced);
            assert_eq!(with(extent, 0, 0), Differs);
            assert_eq!(with(extent, 30, 1), Differs);
        }
    }
}
