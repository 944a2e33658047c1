//! D1: round trips on an idle machine, and the bound of the same measurement.

use super::round_trips::{DEVICE, OVERHEAD, PLAIN, RT, SOCKETS, SOURCE, drivers, idle, overhead, shown};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, StatedValue, axis, name};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::ratio;
use experiment::{Experiment, GatewayChoice, Kernel};

pub(super) const CLAIMS: &[Claim] = &[D1, O15];

const D1: Claim = Claim {
    id: "D1",
    origin: ClaimOrigin::Papers(&[(Paper::Drivers2009, "§3.2, Figure 2")]),
    claim: "On an idle machine, a driver that presents controllers as character devices costs less than SocketCAN",
    figure: "worst 209 against 284, in addition to 241 on the bus",
    criterion: "median and worst case of the overhead (round trip less both frames' time on the bus) are \
        smaller for character devices; in the full run on 6.1 and on 6.1-rt",
    needs: |extent, _| both(extent),
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

const O15: Claim = Claim {
    id: "O15",
    origin: ClaimOrigin::Bound("bound of character devices"),
    claim: "A round trip over character devices has at most 0.70 of the overhead that it has over sockets",
    figure: "≤ 0.70",
    criterion: "p50 less both frames' time on the bus, on 6.1: character devices / sockets ≤ 0.70",
    needs: |extent, _| [DEVICE, SOCKETS].map(|g| idle(extent, PLAIN, g)).to_vec(),
    judge: bound,
    ..Claim::BLANK
};

fn kernels(extent: Extent) -> &'static [Kernel] {
    extent.pick(&[PLAIN], &[PLAIN, RT])
}

fn both(extent: Extent) -> Vec<Experiment> {
    let each = |kernel: &Kernel| [DEVICE, SOCKETS].map(|g: GatewayChoice| idle(extent, *kernel, g));
    kernels(extent).iter().flat_map(each).collect()
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for &kernel in kernels(extent) {
        let device = overhead(evidence, &idle(extent, kernel, DEVICE))?;
        let sockets = overhead(evidence, &idle(extent, kernel, SOCKETS))?;
        measured.push(format!(
            "{kernel}: {} against {}",
            shown(&device),
            shown(&sockets)
        ));
        conditions.add(
            device.p50 < sockets.p50 && device.max < sockets.max,
            format!(
                "on {kernel} character devices take {:.2} of sockets' overhead, in the worst case {:.2}",
                ratio(device.p50, sockets.p50),
                ratio(device.max, sockets.max)
            ),
        );
    }
    Ok(conditions.judge(measured.join("; "), ""))
}

fn bound(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let device = overhead(evidence, &idle(extent, PLAIN, DEVICE))?;
    let sockets = overhead(evidence, &idle(extent, PLAIN, SOCKETS))?;
    let times = ratio(device.p50, sockets.p50);
    let mut conditions = Conditions::default();
    conditions.add(
        times <= 0.70,
        format!("character devices take {times:.3} of it (at most 0.70)"),
    );
    let measured = format!(
        "{times:.3} ({} against {})",
        shown(&device),
        shown(&sockets)
    );
    Ok(conditions.judge(measured, ""))
}

fn figure() -> FigurePlan {
    FigurePlan {
        title: "Overhead of a round trip, idle machine",
        form: FigureForm::Bars,
        x: axis("kernel", ""),
        y: OVERHEAD,
        of: |evidence, e| drivers(evidence, e, String::new(), name(e.kernel.to_string())),
        paper: vec![
            StatedValue {
                name: "character devices",
                ..StatedValue::beside("2.6 (the paper's)", 209.0, FigureKind::Worst, SOURCE)
            },
            StatedValue {
                name: "sockets",
                ..StatedValue::beside("2.6 (the paper's)", 284.0, FigureKind::Worst, SOURCE)
            },
        ],
        note: "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::{at, figure};
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::list::round_trips::tests::verdict;

    #[test]
    fn overheads_are_compared_without_the_bus() {
        let with = |claim: &Claim, device: u64, worst: u64| {
            verdict(claim, Extent::Quick, move |e| match e.gateway {
                GatewayChoice::Chardev => vec![device, device, device, worst],
                _ => vec![100_000, 100_000, 100_000, 300_000],
            })
        };
        assert_eq!(with(&D1, 99_000, 299_000), Reproduced);
        assert_eq!(with(&D1, 101_000, 299_000), Differs);
        assert_eq!(with(&D1, 99_000, 301_000), Differs);
        assert_eq!(with(&O15, 70_000, 400_000), Reproduced);
        assert_eq!(with(&O15, 70_200, 70_200), Differs);
    }

    #[test]
    fn overheads_are_without_the_bus() {
        let round_trips = figure("D1", Extent::Full, |e| {
            if e.gateway == DEVICE {
                309_000
            } else {
                384_000
            }
        });
        for kernel in [PLAIN, RT] {
            assert_eq!(
                at(&round_trips, ("chardev", ""), &name(kernel.to_string())),
                209.0
            );
            let sockets = SOCKETS.to_string();
            assert_eq!(
                at(&round_trips, (&sockets, ""), &name(kernel.to_string())),
                284.0
            );
        }
    }
}
