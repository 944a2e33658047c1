//! D7, D8: virtual interfaces, and what has changed since the paper.

use super::round_trips::{DEVICE, SOCKETS, idle, overhead, shown};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::kernels;
use crate::stats::{ratio, us};
use experiment::{BenchKind, Experiment, Kernel};

pub(super) const CLAIMS: &[Claim] = &[D7, D8];

const D7: Claim = Claim {
    id: "D7",
    origin: ClaimOrigin::Papers(&[(Paper::Drivers2009, "§3.2, Figures 9 and 10")]),
    claim: "Virtual CAN interfaces behave oddly on some kernels",
    figure: "550 ms on one kernel, some hundred µs on the others",
    criterion: "the worst round trip over vcan on one of the kernels (5.10 to 7.3) is at least 10 times the worst on \
        another",
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => kernels(false)
            .into_iter()
            .map(|k| over_vcan(extent, k))
            .collect(),
    },
    judge: odd,
    ..Claim::BLANK
};

const D8: Claim = Claim {
    id: "D8",
    origin: ClaimOrigin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 11")]),
    claim: "On the newest kernel the two kinds of driver are close",
    figure: "Figure 11: sockets slightly worse (2.6.31)",
    criterion: "on the newest kernel (7.3) the median overhead over sockets is at most 1.2 times that over character \
        devices",
    needs: |extent, _| match extent {
        Extent::Quick => vec![],
        Extent::Full => {
            let each = |kernel: Kernel| [DEVICE, SOCKETS].map(|g| idle(extent, kernel, g));
            kernels(false).into_iter().flat_map(each).collect()
        }
    },
    judge: close,
    ..Claim::BLANK
};

fn over_vcan(extent: Extent, kernel: Kernel) -> Experiment {
    Experiment {
        bench: BenchKind::Vcan,
        ..idle(extent, kernel, SOCKETS)
    }
}

fn odd(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut worst = Vec::new();
    for kernel in kernels(false) {
        let max = evidence.summary(&over_vcan(extent, kernel))?.max;
        worst.push((max, kernel));
    }
    let list: Vec<_> = worst
        .iter()
        .map(|(ns, k)| format!("{} ({k})", us(*ns)))
        .collect();
    worst.sort();
    let times = match (worst.first(), worst.last()) {
        (Some(least), Some(most)) => ratio(most.0, least.0),
        _ => 0.0,
    };
    let mut conditions = Conditions::default();
    conditions.add(
        times >= 10.0,
        format!("the worst kernel's worst case is {times:.1} times the best one's"),
    );
    Ok(conditions.judge(format!("worst {}", list.join(", ")), ""))
}

fn close(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut measured = Vec::new();
    let mut newest = f64::INFINITY;
    for kernel in kernels(false) {
        let device = overhead(evidence, &idle(extent, kernel, DEVICE))?;
        let sockets = overhead(evidence, &idle(extent, kernel, SOCKETS))?;
        newest = ratio(sockets.p50, device.p50);
        measured.push(format!(
            "{kernel}: {} against {}",
            shown(&sockets),
            shown(&device)
        ));
    }
    let mut conditions = Conditions::default();
    conditions.add(
        newest <= 1.2,
        format!("on the newest, sockets take {newest:.2} times the overhead of character devices"),
    );
    Ok(conditions.judge(measured.join("; "), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::list::round_trips::tests::verdict;
    use experiment::GatewayChoice;

    #[test]
    fn d7_wants_one_odd_kernel() {
        let with = |odd: u64| {
            verdict(&D7, Extent::Full, move |e| match e.kernel {
                Kernel::V6_12 => vec![odd; 3],
                _ => vec![50_000; 3],
            })
        };
        assert_eq!(with(550_000_000), Reproduced);
        assert_eq!(with(60_000), Differs);
    }

    #[test]
    fn d8_looks_at_the_newest() {
        let with = |newest: u64| {
            verdict(&D8, Extent::Full, move |e| match (e.kernel, &e.gateway) {
                (_, GatewayChoice::Chardev) => vec![50_000; 3],
                (Kernel::V7_3, _) => vec![newest; 3],
                _ => vec![100_000; 3],
            })
        };
        assert_eq!(with(60_000), Reproduced);
        assert_eq!(with(61_000), Differs);
    }
}
