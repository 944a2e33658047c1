//! S6 and S7: a comparison with no operating system at all, and the paper's future work.

use super::o9_direct::DIRECT;
use super::o16_no_os::NO_OS;
use super::ways::{KERNEL, READ_WRITE, one_at_a_time};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::own_share::own;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::{ratio, us};
use experiment::{Experiment, GatewayChoice};

pub(super) const CLAIMS: &[Claim] = &[S6, S7];

const S6: Claim = Claim {
    id: "S6",
    origin: ClaimOrigin::Papers(&[(Paper::Syscalls2014, "§5")]),
    claim: "Against no operating system at all, the kernel gateway is about 3 times and a user-space \
        gateway up to 13 times slower",
    figure: "×3; ×13",
    criterion: "2 ≤ own share of can-gw / of a gateway without an operating system ≤ 4.5, and 6 ≤ that of \
        read-write ≤ 20",
    needs: |extent, _| needs(extent, NO_OS),
    judge: |evidence, extent, _| {
        let (least, kernel, user) = shares(evidence, extent, NO_OS)?;
        let (kernel, user) = (ratio(kernel, least), ratio(user, least));
        let mut conditions = Conditions::default();
        conditions.add(
            (2.0..=4.5).contains(&kernel),
            format!("the kernel gateway takes {kernel:.1} times as long (2 to 4.5)"),
        );
        conditions.add(
            (6.0..=20.0).contains(&user),
            format!("read-write takes {user:.1} times as long (6 to 20)"),
        );
        let measured = format!("×{kernel:.1}; ×{user:.1} (no OS {})", us(least));
        Ok(conditions.judge(measured, ""))
    },
    ..Claim::BLANK
};

const S7: Claim = Claim {
    id: "S7",
    origin: ClaimOrigin::Papers(&[(Paper::Syscalls2014, "§5, future work")]),
    claim: "Polling the controller from the task itself, with frames in mapped memory, would bypass the \
        network stack and perform very well",
    figure: "not built",
    criterion: "own share of direct, polling, below that of can-gw and below half of read-write's",
    needs: |extent, _| needs(extent, DIRECT),
    judge,
    ..Claim::BLANK
};

fn needs(extent: Extent, least: GatewayChoice) -> Vec<Experiment> {
    [least, KERNEL, READ_WRITE]
        .map(|gateway| one_at_a_time(extent, gateway))
        .to_vec()
}

/// Returns the own shares of the gateway with the least software, of can-gw and of read-write.
fn shares(
    evidence: &ClaimEvidence,
    extent: Extent,
    least: GatewayChoice,
) -> Result<(i64, i64, i64), MissingEvidence> {
    let of = |gateway| own(evidence, &one_at_a_time(extent, gateway));
    Ok((of(least)?, of(KERNEL)?, of(READ_WRITE)?))
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let (direct, kernel, user) = shares(evidence, extent, DIRECT)?;
    let mut conditions = Conditions::default();
    conditions.add(
        direct < kernel && 2 * direct < user,
        format!(
            "it takes {:.3} of can-gw's time and {:.3} of read-write's",
            ratio(direct, kernel),
            ratio(direct, user)
        ),
    );
    let measured = format!(
        "{} (can-gw {}, read-write {})",
        us(direct),
        us(kernel),
        us(user)
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, Reproduced};
    use crate::testing::verdict_with_floor;
    use experiment::fake;

    fn with(claim: &Claim, direct: u64) -> Verdict {
        verdict_with_floor(claim, Extent::Quick, 5_000, move |e| {
            let ns = match e.gateway {
                GatewayChoice::Direct { .. } | GatewayChoice::Baremetal { .. } => direct,
                GatewayChoice::User(_) => 60_000,
                _ => 21_000,
            };
            fake::records(9, ns)
        })
    }

    #[test]
    fn s7_wants_it_to_be_faster_than_the_kernel() {
        assert_eq!(with(&S7, 7_000), Reproduced);
        assert_eq!(with(&S7, 22_000), Differs);
    }

    #[test]
    fn s6_wants_both_factors() {
        // The kernel's own share is 16 µs, read-write's 55 µs.
        assert_eq!(with(&S6, 10_000), Reproduced);
        assert_eq!(with(&S6, 8_000), Differs);
        assert_eq!(with(&S6, 15_000), Differs);
    }
}
