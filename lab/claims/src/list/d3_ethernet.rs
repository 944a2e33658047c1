//! D3, D4: round trips during Ethernet traffic.

use super::round_trips::{DEVICE, RT, SOCKETS, idle, loaded, overhead, shown};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::us;
use experiment::{Experiment, GatewayChoice, MachineLoad, Tuning};

pub(super) const CLAIMS: &[Claim] = &[D3, D4];

/// The interrupt threads of the CAN controllers take precedence over all others.
const BOOSTED: Tuning = Tuning {
    irq_thread: Some(95),
    threaded_napi: false,
    netdev_budget: None,
    softirq_thread: None,
};
const BUDGET: Tuning = Tuning {
    irq_thread: None,
    threaded_napi: false,
    netdev_budget: Some(1),
    softirq_thread: None,
};
const USUAL: Tuning = Tuning {
    irq_thread: None,
    threaded_napi: false,
    netdev_budget: None,
    softirq_thread: None,
};

fn receiving(extent: Extent, gateway: GatewayChoice, tuning: Tuning) -> Experiment {
    loaded(extent, RT, gateway, MachineLoad::EthRx, tuning)
}

const D3: Claim = Claim {
    id: "D3",
    origin: ClaimOrigin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 4")]),
    claim: "Received Ethernet traffic adds to the round trips of both kinds of driver; a higher priority of the CAN \
        interrupt thread on rt cures character devices only; netdev_budget changes nothing",
    figure: "≈ +300 for both; boosted: as without load for character devices, unchanged for sockets",
    criterion: "on 6.1-rt, of the worst cases: eth-rx adds at least 100 µs to both; with irq-thread:95 character \
        devices lose at least three quarters of that, and sockets less than half; with netdev-budget:1 sockets \
        stay within 10 %",
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => {
            let each = |gateway: GatewayChoice| {
                [
                    idle(extent, RT, gateway.clone()),
                    receiving(extent, gateway.clone(), USUAL),
                    receiving(extent, gateway, BOOSTED),
                ]
            };
            let mut all: Vec<_> = [DEVICE, SOCKETS].into_iter().flat_map(each).collect();
            all.push(receiving(extent, SOCKETS, BUDGET));
            all
        }
    },
    judge: receive,
    ..Claim::BLANK
};

fn receive(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for (name, gateway, cured) in [
        ("character devices", DEVICE, true),
        ("sockets", SOCKETS, false),
    ] {
        let quiet = overhead(evidence, &idle(extent, RT, gateway.clone()))?;
        let loaded = overhead(evidence, &receiving(extent, gateway.clone(), USUAL))?;
        let boosted = overhead(evidence, &receiving(extent, gateway, BOOSTED))?;
        let added = loaded.max - quiet.max;
        let left = boosted.max - quiet.max;
        measured.push(format!(
            "{name}: worst {} → {}, boosted {}",
            us(quiet.max),
            us(loaded.max),
            us(boosted.max)
        ));
        conditions.add(
            added >= 100_000,
            format!("the load adds {} to {name}", us(added)),
        );
        let (holds, what) = if cured {
            (left * 4 <= added, "at most a quarter is to be left")
        } else {
            (left * 2 > added, "more than half is to be left")
        };
        conditions.add(
            holds,
            format!(
                "with a higher priority {} of it is left to {name} ({what})",
                us(left)
            ),
        );
    }
    let usual = overhead(evidence, &receiving(extent, SOCKETS, USUAL))?;
    let budget = overhead(evidence, &receiving(extent, SOCKETS, BUDGET))?;
    measured.push(format!("netdev_budget 1: {}", shown(&budget)));
    conditions.add(
        (budget.max - usual.max).abs() * 10 <= usual.max,
        format!(
            "netdev_budget changes sockets' worst case by {}",
            us(budget.max - usual.max)
        ),
    );
    Ok(conditions.judge(measured.join("; "), ""))
}

const D4: Claim = Claim {
    id: "D4",
    origin: ClaimOrigin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 5")]),
    claim: "Sent Ethernet traffic has almost no influence on round trips",
    figure: "Figure 5: the same profiles",
    criterion: "on 6.1-rt, eth-tx changes the overhead's median by at most 10 % and its p99 by at most 50 %, for \
        sockets and for character devices",
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => {
            let each = |gateway: GatewayChoice| {
                [
                    idle(extent, RT, gateway.clone()),
                    loaded(extent, RT, gateway, MachineLoad::EthTx, USUAL),
                ]
            };
            [DEVICE, SOCKETS].into_iter().flat_map(each).collect()
        }
    },
    judge: |evidence, extent, _| little_influence(evidence, extent, MachineLoad::EthTx),
    ..Claim::BLANK
};

/// Judges whether a load has little influence.
pub(super) fn little_influence(
    evidence: &ClaimEvidence,
    extent: Extent,
    load: MachineLoad,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for (name, gateway) in [("character devices", DEVICE), ("sockets", SOCKETS)] {
        let quiet = overhead(evidence, &idle(extent, RT, gateway.clone()))?;
        let beside = overhead(evidence, &loaded(extent, RT, gateway, load, USUAL))?;
        measured.push(format!("{name}: {} → {}", shown(&quiet), shown(&beside)));
        let change = |a: i64, b: i64| 100.0 * (b - a) as f64 / a as f64;
        let (median, tail) = (change(quiet.p50, beside.p50), change(quiet.p99, beside.p99));
        conditions.add(
            median.abs() <= 10.0 && tail.abs() <= 50.0,
            format!("{name}: median {median:+.0} %, p99 {tail:+.0} %"),
        );
    }
    Ok(conditions.judge(measured.join("; "), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};
    use crate::list::round_trips::tests::verdict;

    /// Worst cases with the load: device, sockets, device boosted, sockets boosted, sockets with a
    /// budget.
    fn with([device, sockets, cured, boosted, budget]: [u64; 5]) -> Verdict {
        verdict(&D3, Extent::Full, move |e| {
            let worst = match (e.load, e.tuning, &e.gateway) {
                (MachineLoad::None, ..) => 200_000,
                (_, USUAL, GatewayChoice::Chardev) => device,
                (_, USUAL, _) => sockets,
                (_, BOOSTED, GatewayChoice::Chardev) => cured,
                (_, BOOSTED, _) => boosted,
                _ => budget,
            };
            vec![50_000, 50_000, worst]
        })
    }

    #[test]
    fn d3_wants_a_cure_for_devices_only() {
        let paper = [500_000, 600_000, 210_000, 590_000, 600_000];
        assert_eq!(with(paper), Reproduced);
        for (place, value) in [(0, 290_000), (2, 280_000), (3, 390_000), (4, 700_000)] {
            let mut other = paper;
            other[place] = value;
            assert_eq!(with(other), Differs, "{place}");
        }
        assert_eq!(verdict(&D3, Extent::Quick, |_| vec![]), NotTestable);
    }

    #[test]
    fn d4_wants_the_same_profile() {
        let with = |ns: u64| {
            verdict(&D4, Extent::Full, move |e| match e.load {
                MachineLoad::None => vec![50_000; 9],
                _ => vec![ns; 9],
            })
        };
        assert_eq!(with(54_000), Reproduced);
        assert_eq!(with(56_000), Differs);
    }
}
