//! D5, D6: other tasks, and kernels without PREEMPT_RT.

use super::d3_ethernet::little_influence;
use super::round_trips::{DEVICE, RT, SOCKETS, idle, loaded, overhead};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::kernels;
use crate::stats::{ratio, us};
use experiment::{GatewayChoice, Kernel, MachineLoad, Tuning};

pub(super) const CLAIMS: &[Claim] = &[D5, D6];

const D5: Claim = Claim {
    id: "D5",
    origin: ClaimOrigin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 6")]),
    claim: "hackbench has almost no influence on the round trips of real-time tasks",
    figure: "Figure 6: the same profiles",
    criterion: "on 6.1-rt, hackbench changes the overhead's median by at most 10 % and its p99 by at most 50 %, for \
        sockets and for character devices (1000 round trips beside hackbench: each takes the host 0.1 s)",
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => {
            let each = |gateway: GatewayChoice| {
                [
                    idle(extent, RT, gateway.clone()),
                    loaded(extent, RT, gateway, MachineLoad::Cpu, Tuning::default()),
                ]
            };
            [DEVICE, SOCKETS].into_iter().flat_map(each).collect()
        }
    },
    judge: |evidence, _, _| little_influence(evidence, Extent::Full, MachineLoad::Cpu),
    ..Claim::BLANK
};

const D6: Claim = Claim {
    id: "D6",
    origin: ClaimOrigin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 7")]),
    claim: "Kernels without PREEMPT_RT have rare, very high worst cases",
    figure: "one 22 ms in 10 000, elsewhere below 1 ms",
    criterion: "on an idle machine, on one of the kernels 5.10 to 7.3 and with one of the two kinds of driver, the \
        worst overhead of 10 000 is at least 10 times its p99; on 6.1-rt it is less",
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => {
            let mut all = kernels(false);
            all.push(RT);
            let each = |kernel: Kernel| [DEVICE, SOCKETS].map(|g| idle(extent, kernel, g));
            all.into_iter().flat_map(each).collect()
        }
    },
    judge: rare,
    ..Claim::BLANK
};

/// Returns the worst case as a multiple of the p99, the greater one of both kinds of driver.
fn tail(
    evidence: &ClaimEvidence,
    extent: Extent,
    kernel: Kernel,
) -> Result<(f64, String), MissingEvidence> {
    let (mut most, mut shown) = (0.0_f64, Vec::new());
    for gateway in [DEVICE, SOCKETS] {
        let found = overhead(evidence, &idle(extent, kernel, gateway))?;
        shown.push(us(found.max));
        most = most.max(ratio(found.max, found.p99));
    }
    Ok((most, format!("{kernel} {}", shown.join(" and "))))
}

fn rare(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut measured = Vec::new();
    let mut most = (0.0_f64, String::new());
    for kernel in kernels(false) {
        let (times, shown) = tail(evidence, extent, kernel)?;
        measured.push(shown);
        if times > most.0 {
            most = (times, kernel.to_string());
        }
    }
    let (rt, shown) = tail(evidence, extent, RT)?;
    measured.push(shown);
    let mut conditions = Conditions::default();
    conditions.add(
        most.0 >= 10.0,
        format!(
            "on {} the worst case is {:.0} times the p99",
            most.1, most.0
        ),
    );
    conditions.add(rt < 10.0, format!("on {RT} it is {rt:.0} times"));
    let worst = measured.join(", ");
    Ok(conditions.judge(format!("worst, by devices and by sockets: {worst}"), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::list::round_trips::tests::verdict;

    #[test]
    fn one_in_many_on_one_plain_kernel_is_enough_for_d6() {
        let with = |worst: u64, rt: u64| {
            verdict(&D6, Extent::Full, move |e| {
                let mut all = vec![50_000; 999];
                all.push(match (e.kernel, &e.gateway) {
                    (Kernel::V6_12, GatewayChoice::User(_)) => worst,
                    (RT, _) => rt,
                    _ => 60_000,
                });
                all
            })
        };
        assert_eq!(with(22_000_000, 300_000), Reproduced);
        assert_eq!(with(400_000, 300_000), Differs);
        assert_eq!(with(22_000_000, 600_000), Differs);
    }

    #[test]
    fn d5_wants_the_same_profile() {
        let with = |ns: u64| {
            verdict(&D5, Extent::Full, move |e| match e.load {
                MachineLoad::None => vec![50_000; 9],
                _ => vec![ns; 9],
            })
        };
        assert_eq!(with(51_000), Reproduced);
        assert_eq!(with(90_000), Differs);
    }
}
