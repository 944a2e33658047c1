//! O13: a frame every 120 µs, including the ways that the paper did not have.

use super::s3_every_120::{held, papers};
use super::ways::{every_120, user};
use crate::claim::{Claim, ClaimJudgement};
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use experiment::{Experiment, GatewayChoice, ReceiveChoice, TransmitChoice, WayPair};

pub(super) const CLAIMS: &[Claim] = &[O13];

const O13: Claim = Claim {
    id: "O13",
    origin: ClaimOrigin::Bound("bound of ways to receive and to transmit"),
    claim: "With a frame every 120 µs, rings, mmsg calls and io_uring lose no frame where read and write \
        lose some",
    figure: "0",
    criterion: "on a processor that read-write saturates: lost > 0 for read-write, lost = 0 for each of the \
        paper's pairs without write(), for io_uring-io_uring and for ring-busy-ring-bypass",
    needs: |extent, _| {
        let all = every(extent).map(|ways| every_120(extent, GatewayChoice::User(ways)));
        all.collect::<Vec<Experiment>>()
    },
    judge,
    ..Claim::BLANK
};

fn every(extent: Extent) -> impl Iterator<Item = WayPair> {
    let ours = [
        user(ReceiveChoice::IoUring, TransmitChoice::IoUring),
        user(ReceiveChoice::RingBusy, TransmitChoice::RingBypass),
    ];
    let ours = ours.into_iter().filter_map(|gateway| match gateway {
        GatewayChoice::User(ways) => Some(ways),
        _ => None,
    });
    // Of the pairs with write(), only the one with which all are compared.
    papers(extent)
        .filter(|ways| ways.transmit != TransmitChoice::Write || *ways == WayPair::READ_WRITE)
        .chain(ours)
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    held(evidence, extent, every(extent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn o13_wants_io_uring_to_lose_nothing() {
        let with = |write: u64, uring: u64| {
            verdict(&O13, Extent::Quick, move |e| {
                let lost = match e.gateway {
                    GatewayChoice::User(ways) if ways.transmit == TransmitChoice::Write => write,
                    GatewayChoice::User(ways) if ways.transmit == TransmitChoice::IoUring => uring,
                    _ => 0,
                };
                fake::losing(fake::records(100, 9), |n| n < lost)
            })
        };
        assert_eq!(with(30, 0), Reproduced);
        assert_eq!(with(30, 1), Differs);
        assert_eq!(with(0, 0), Differs);
    }
}
