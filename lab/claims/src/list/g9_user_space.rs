//! G9: the gateway in user space.

use crate::claim::{Claim, ClaimJudgement, Verdict};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::simple;
use crate::stats::{lost, ratio, us};
use experiment::{Experiment, GatewayChoice, Kernel, TrafficPattern, WayPair};

pub(super) const CLAIMS: &[Claim] = &[G9];

fn routed(extent: Extent, kernel: Kernel, user: bool, traffic: TrafficPattern) -> Experiment {
    let gateway = if user {
        GatewayChoice::User(WayPair::READ_WRITE)
    } else {
        GatewayChoice::Cangw
    };
    Experiment {
        kernel,
        gateway,
        traffic,
        payload: 2,
        ..simple(extent)
    }
}

const ONE: TrafficPattern = TrafficPattern::OneAtATime;
const FLOOD: TrafficPattern = TrafficPattern::Flood;

const G9: Claim = Claim {
    id: "G9",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2011, "§3.7")]),
    claim: "The user-space gateway takes about three times as long as the kernel gateway; under \
        flood a plain kernel drops and delays frames, a tuned rt kernel does not",
    figure: "×3; 100 ms against 2 ms",
    criterion: "2 ≤ p50(user) / p50(can-gw) ≤ 4; under flood lost(6.1) > 0, lost(6.1-rt) = 0, \
        and max(6.1) / max(6.1-rt) ≥ 10 (paper: 50)",
    needs: |extent, _| {
        let mut all = vec![
            routed(extent, Kernel::V6_1, false, ONE),
            routed(extent, Kernel::V6_1, true, ONE),
            routed(extent, Kernel::V6_1, true, FLOOD),
        ];
        if extent == Extent::Full {
            all.push(routed(extent, Kernel::V6_1_RT, true, FLOOD));
        }
        all
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let kernel = evidence.summary(&routed(extent, Kernel::V6_1, false, ONE))?;
    let user = evidence.summary(&routed(extent, Kernel::V6_1, true, ONE))?;
    let mut conditions = Conditions::default();
    let times = ratio(user.p50, kernel.p50);
    conditions.add(
        (2.0..=4.0).contains(&times),
        format!("user space takes {times:.1} times the kernel gateway's median"),
    );
    let flood = |kernel| {
        let e = routed(extent, kernel, true, FLOOD);
        Ok((evidence.summary(&e)?.max, lost(evidence.results(&e)?)))
    };
    let (plain, plain_lost) = flood(Kernel::V6_1)?;
    let mut measured = format!("×{times:.1} ({} against {})", us(user.p50), us(kernel.p50));
    conditions.add(
        plain_lost > 0,
        format!("under flood the plain kernel loses {plain_lost} frames"),
    );
    if extent == Extent::Quick {
        measured.push_str(&format!("; flood: worst {}, lost {plain_lost}", us(plain)));
        let mut judgement = conditions.judge(measured, "the rt kernel needs the full run");
        // Half of the claim is not sufficient for a verdict, unless that half already fails.
        if judgement.verdict == Verdict::Reproduced {
            judgement.verdict = Verdict::NotTestable;
        }
        return Ok(judgement);
    }
    let (rt, rt_lost) = flood(Kernel::V6_1_RT)?;
    measured.push_str(&format!(
        "; flood: {} (lost {plain_lost}) against {} (lost {rt_lost})",
        us(plain),
        us(rt)
    ));
    conditions.add(
        rt_lost == 0 && plain >= 10 * rt,
        format!(
            "its worst case is {:.1} times the rt kernel's, which loses {rt_lost}",
            ratio(plain, rt)
        ),
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, NotTestable, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    fn with(user: u64, plain: (u64, u64), rt: (u64, u64)) -> Verdict {
        judged(Extent::Full, user, plain, rt)
    }

    fn judged(extent: Extent, user: u64, plain: (u64, u64), rt: (u64, u64)) -> Verdict {
        verdict(&G9, extent, move |e| {
            let (latency, lost) = match (&e.gateway, e.traffic, e.kernel) {
                (GatewayChoice::Cangw, ..) => (35_000, 0),
                (_, TrafficPattern::Flood, Kernel::V6_1) => plain,
                (_, TrafficPattern::Flood, _) => rt,
                _ => (user, 0),
            };
            fake::losing(fake::records(100, latency), |n| n < lost)
        })
    }

    #[test]
    fn g9_wants_the_ratio_and_the_flood() {
        let (plain, rt) = ((100_000_000, 30), (2_000_000, 0));
        assert_eq!(with(105_000, plain, rt), Reproduced);
        assert_eq!(with(60_000, plain, rt), Differs);
        assert_eq!(with(105_000, (100_000_000, 0), rt), Differs);
        assert_eq!(with(105_000, plain, (2_000_000, 1)), Differs);
        assert_eq!(with(105_000, plain, (50_000_000, 0)), Differs);
        assert_eq!(judged(Extent::Quick, 105_000, plain, rt), NotTestable);
        assert_eq!(judged(Extent::Quick, 60_000, plain, rt), Differs);
    }
}
