//! G7: newer kernels, and fully preemptible ones.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, StatedValue, axis, micros, name, one};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::{kernels, on_kernel};
use crate::stats::us;
use experiment::{Experiment, Kernel};

pub(super) const CLAIMS: &[Claim] = &[
    G7,
    G7.on("G7/user", DataPath::User),
    G7.on("G7/bpf", DataPath::Bpf),
];

const G7: Claim = Claim {
    id: "G7",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2011, "§3.6")]),
    claim: "Newer kernels are slower; rt-preempt kernels are slower than their plain twins when \
        the gateway is in the kernel",
    figure: "+10 (2.6.33→36), +2 (→3.0); rt +20 to +100",
    criterion: "p50(5.10) < p50(6.1) < p50(6.12) < p50(7.3); p50(K-rt) > p50(K) for each kernel K",
    needs,
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

fn needs(extent: Extent, path: DataPath) -> Vec<Experiment> {
    match extent {
        Extent::Quick => vec![],
        Extent::Full => path.beside(extent, |path| {
            Kernel::all()
                .map(|kernel| on_kernel(extent, path, kernel))
                .collect()
        }),
    }
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    path: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let p50_of = |path, kernel: Kernel| Ok(evidence.summary(&on_kernel(extent, path, kernel))?.p50);
    let p50 = |kernel: Kernel| p50_of(path, kernel);
    let (mut plain, mut steps, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    let (names, rt) = (kernels(false), kernels(true));
    for (&kernel, &twin) in names.iter().zip(&rt) {
        plain.push((kernel, p50(kernel)?));
        costs.push((kernel, p50(twin)? - p50(kernel)?));
    }
    for pair in plain.windows(2) {
        if let [(_, before), (newer, after)] = pair {
            steps.push((*newer, after - before));
        }
    }
    let signed = |all: &[(Kernel, i64)]| {
        let each = |(kernel, ns): &(Kernel, i64)| {
            let sign = if *ns < 0 { "" } else { "+" };
            format!("{sign}{} ({kernel})", us(*ns))
        };
        all.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    let first = plain.first().map_or(0, |p| p.1);
    let beside = path.against(|| {
        let each = names.iter().map(|&k| Ok(us(p50_of(DataPath::Cangw, k)?)));
        Ok(each
            .collect::<Result<Vec<_>, MissingEvidence>>()?
            .join(", "))
    })?;
    let measured = format!(
        "{} (5.10), {}; rt {}{beside}",
        us(first),
        signed(&steps),
        signed(&costs)
    );
    let mut conditions = Conditions::default();
    let faster: Vec<_> = steps
        .iter()
        .filter(|s| s.1 <= 0)
        .map(|s| s.0.to_string())
        .collect();
    conditions.add(
        faster.is_empty(),
        if faster.is_empty() {
            "each newer kernel is slower".to_owned()
        } else {
            format!("not slower than the one before: {}", faster.join(", "))
        },
    );
    let cheap: Vec<_> = costs
        .iter()
        .filter(|s| s.1 <= 0)
        .map(|s| s.0.to_string())
        .collect();
    conditions.add(
        cheap.is_empty(),
        if cheap.is_empty() {
            "each rt kernel is slower than its twin".to_owned()
        } else {
            format!("rt costs nothing on {}", cheap.join(", "))
        },
    );
    Ok(conditions.judge(measured, ""))
}

/// The section of the values that the paper states.
const SOURCE: &str = "gateway-2011 §3.6";

fn figure() -> FigurePlan {
    let stated = |kernel: &str, y| StatedValue::beside(kernel, y, FigureKind::Value, SOURCE);
    FigurePlan {
        title: "Latency of kernels, more than the oldest plain one's",
        form: FigureForm::Bars,
        x: axis("kernel", ""),
        y: axis(
            "median latency, more than 5.10's (the paper: than 2.6.33's)",
            "µs",
        ),
        of: |evidence, e| {
            let Some(first) = kernels(false).into_iter().next() else {
                return Ok(vec![]);
            };
            let oldest = Experiment {
                kernel: first,
                ..e.clone()
            };
            let more = evidence.summary(e)?.p50 - evidence.summary(&oldest)?.p50;
            one("", name(e.kernel.to_string()), micros(more))
        },
        paper: vec![
            stated("2.6.33", 0.0),
            stated("2.6.36", 10.0),
            stated("3.0", 12.0),
            stated("2.6.33-rt", 100.0),
            stated("3.0-rt", 32.0),
        ],
        note: "the paper states differences only: +10 from 2.6.33 to 2.6.36, +2 to 3.0, rt +100 and +20",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::tests::{at, figure};
    use crate::claim::Verdict::{Differs, NotTestable, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn g7_wants_newer_and_rt_to_be_slower() {
        let with = |of: fn(Kernel) -> u64| {
            verdict(&G7, Extent::Full, move |e| fake::records(10, of(e.kernel)))
        };
        let papers = |kernel: Kernel| {
            let plain = match kernel.series() {
                "5.10" => 35_000,
                "6.1" => 45_000,
                "6.12" => 47_000,
                _ => 48_000,
            };
            if kernel.rt() { plain + 20_000 } else { plain }
        };
        assert_eq!(with(papers), Reproduced);
        assert_eq!(
            with(|kernel| if kernel == Kernel::V6_12 {
                30_000
            } else {
                50_000
            }),
            Differs
        );
        assert_eq!(with(|_| 40_000), Differs);
        assert_eq!(verdict(&G7, Extent::Quick, |_| vec![]), NotTestable);
    }

    #[test]
    fn the_figure_is_relative_to_the_oldest_kernel() {
        let kernels = figure("G7", Extent::Full, |e| match e.kernel {
            Kernel::V5_10 => 35_000,
            Kernel::V6_1 => 45_000,
            kernel if kernel.rt() => 60_000,
            _ => 48_000,
        });
        assert_eq!(at(&kernels, ("cangw", ""), &name("5.10")), 0.0);
        assert_eq!(at(&kernels, ("cangw", ""), &name("6.1")), 10.0);
        assert_eq!(at(&kernels, ("cangw", ""), &name("6.1-rt")), 25.0);
    }
}
