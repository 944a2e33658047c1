//! D5, D6: other tasks, and kernels without PREEMPT_RT.

use super::d3_ethernet::little_influence;
use super::round_trips::{DEVICE, PLAIN, RT, SOCKETS, idle, loaded, overhead};
use crate::claim::{Claim, Judgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{Evidence, Missing};
use crate::extent::Extent;
use crate::papers::{Origin, Paper};
use crate::stats::{ratio, us};
use experiment::{Gateway, Load, Tuning};

pub(super) const CLAIMS: &[Claim] = &[D5, D6];

const D5: Claim = Claim {
    id: "D5",
    origin: Origin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 6")]),
    claim: "hackbench has almost no influence on the round trips of real-time tasks",
    figure: "Figure 6: the same profiles",
    criterion: "on 6.1-rt, hackbench changes the overhead's median by at most 10 % and its p99 by at most 50 %, for \
        sockets and for character devices (1000 round trips beside hackbench: each takes the host 0.1 s)",
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => {
            let each = |gateway: Gateway| {
                [
                    idle(extent, RT, gateway.clone()),
                    loaded(extent, RT, gateway, Load::Cpu, Tuning::default()),
                ]
            };
            [DEVICE, SOCKETS].into_iter().flat_map(each).collect()
        }
    },
    judge: |evidence, _, _| little_influence(evidence, Extent::Full, Load::Cpu),
    ..Claim::BLANK
};

const D6: Claim = Claim {
    id: "D6",
    origin: Origin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 7")]),
    claim: "Kernels without PREEMPT_RT have rare, very high worst cases",
    figure: "one 22 ms in 10 000, elsewhere below 1 ms",
    criterion: "on 6.1, on an idle machine, the worst overhead of 10 000 is at least 10 times its p99, for one of \
        the two kinds of driver",
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => [DEVICE, SOCKETS].map(|g| idle(extent, PLAIN, g)).to_vec(),
    },
    judge: rare,
    ..Claim::BLANK
};

fn rare(evidence: &Evidence, extent: Extent, _: DataPath) -> Result<Judgement, Missing> {
    let mut measured = Vec::new();
    let mut most = 0.0_f64;
    for (name, gateway) in [("character devices", DEVICE), ("sockets", SOCKETS)] {
        let found = overhead(evidence, &idle(extent, PLAIN, gateway))?;
        measured.push(format!(
            "{name}: p99 {}, worst {}",
            us(found.p99),
            us(found.max)
        ));
        most = most.max(ratio(found.max, found.p99));
    }
    let mut conditions = Conditions::default();
    conditions.add(
        most >= 10.0,
        format!("the worst case is up to {most:.1} times the p99"),
    );
    let remark = "the paper names a wireless card's driver as the likely cause, which no guest has";
    Ok(conditions.judge(measured.join("; "), remark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::list::round_trips::tests::verdict;

    #[test]
    fn one_in_many_is_enough_for_d6() {
        let with = |worst: u64| {
            verdict(&D6, Extent::Full, move |e| {
                let mut all = vec![50_000; 999];
                all.push(if e.gateway == Gateway::Chardev {
                    60_000
                } else {
                    worst
                });
                all
            })
        };
        assert_eq!(with(22_000_000), Reproduced);
        assert_eq!(with(400_000), Differs);
    }

    #[test]
    fn d5_wants_the_same_profile() {
        let with = |ns: u64| {
            verdict(&D5, Extent::Full, move |e| match e.load {
                Load::None => vec![50_000; 9],
                _ => vec![ns; 9],
            })
        };
        assert_eq!(with(51_000), Reproduced);
        assert_eq!(with(90_000), Differs);
    }
}
