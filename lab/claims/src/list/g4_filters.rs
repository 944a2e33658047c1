//! G4: the cost of filters.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::figure::{
    FigureForm, FigureKind, FigurePlan, LATENCY, StatedValue, axis, latency, number,
};
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::simple;
use crate::stats::{line, ratio, us};
use experiment::{Experiment, FilterChoice};

pub(super) const CLAIMS: &[Claim] = &[
    G4,
    G4.on("G4/user", DataPath::User),
    G4.on("G4/bpf", DataPath::Bpf),
];

fn filtered(extent: Extent, path: DataPath, filters: FilterChoice) -> Experiment {
    path.quickly(extent).apply_to(Experiment {
        filters,
        frames: extent.pick(200, 2000),
        ..simple(extent)
    })
}

/// Returns the lengths of the list.
fn lists(extent: Extent) -> &'static [u32] {
    extent.pick(
        &[1, 512, 2048],
        &[
            1, 20, 40, 60, 80, 100, 120, 160, 240, 320, 512, 1024, 1536, 2048,
        ],
    )
}

/// Returns the sizes of the table, with which the matching identifier is the first, one in the
/// middle, or the last.
fn tables(extent: Extent) -> &'static [u32] {
    extent.pick(&[1, 2048], &[1, 1024, 2048])
}

const G4: Claim = Claim {
    id: "G4",
    origin: ClaimOrigin::Papers(&[
        (Paper::Gateway2011, "§3.4"),
        (Paper::Gateway2010Draft, "§IV-C1"),
    ]),
    claim: "Filters kept in a list cost linearly in their number; single-ID SFF filters cost \
        the same for all 2048 IDs",
    figure: "knee near 80 filters; 2048 list filters: 400 against 100",
    criterion: "p50(list:N) lies within 5 % of its range from a straight line over N; max \
        p50(sff:N) / min p50(sff:N) ≤ 1.05; p50(list:2048) / max p50(sff:N) ≥ 2 (paper: 4)",
    needs,
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

fn needs(extent: Extent, path: DataPath) -> Vec<Experiment> {
    let filters = || {
        let lists = lists(extent).iter().map(|&n| FilterChoice::List(n));
        let tables = tables(extent).iter().map(|&n| FilterChoice::Sff(n));
        lists.chain(tables)
    };
    path.beside(extent, |path| {
        filters().map(|f| filtered(extent, path, f)).collect()
    })
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    path: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let p50_of = |path, f| Ok(evidence.summary(&filtered(extent, path, f))?.p50);
    let p50 = |f| p50_of(path, f);
    let mut points = Vec::new();
    for &n in lists(extent) {
        points.push((n, p50(FilterChoice::List(n))?));
    }
    let table: Vec<i64> = tables(extent)
        .iter()
        .map(|&n| p50(FilterChoice::Sff(n)))
        .collect::<Result<_, _>>()?;
    let (least, most) = (
        table.iter().min().copied().unwrap_or(0),
        table.iter().max().copied().unwrap_or(0),
    );
    let (short, long) = (
        points.first().map_or(0, |p| p.1),
        points.last().map_or(0, |p| p.1),
    );
    let as_line: Vec<_> = points
        .iter()
        .map(|p| (f64::from(p.0), p.1 as f64))
        .collect();
    let (slope, _, off) = line(&as_line).unwrap_or((0.0, 0.0, f64::INFINITY));
    let beside = path.against(|| {
        let [list, table] =
            [FilterChoice::List(2048), FilterChoice::Sff(2048)].map(|f| p50_of(DataPath::Cangw, f));
        Ok(format!("{} against {}", us(list?), us(table?)))
    })?;
    let measured = format!(
        "{slope:.0} ns a filter; 2048 list filters: {} against {}{beside}",
        us(long),
        us(most)
    );
    let mut conditions = Conditions::default();
    let off = 100.0 * off / (long - short).max(1) as f64;
    conditions.add(
        off <= 5.0,
        format!("the list's medians are within {off:.1} % of a straight line"),
    );
    let spread = 100.0 * (ratio(most, least) - 1.0);
    conditions.add(
        spread <= 5.0,
        format!("single-ID filters differ by {spread:.1} %"),
    );
    let times = ratio(long, most);
    conditions.add(
        times >= 2.0,
        format!("2048 in a list cost {times:.1} times what they cost in the table"),
    );
    let remark = match path {
        DataPath::Cangw => knee(&points),
        _ => String::new(),
    };
    Ok(conditions.judge(measured, &remark))
}

/// Describes whether the paper's knee appears. It came from the CPU's cache.
fn knee(points: &[(u32, i64)]) -> String {
    let slope = |of: &[(u32, i64)]| {
        let of: Vec<_> = of.iter().map(|p| (f64::from(p.0), p.1 as f64)).collect();
        line(&of).map(|l| l.0)
    };
    let below: Vec<_> = points.iter().copied().filter(|p| p.0 <= 80).collect();
    let above: Vec<_> = points.iter().copied().filter(|p| p.0 >= 80).collect();
    match (slope(&below), slope(&above)) {
        (Some(below), Some(above)) if above > 1.2 * below => {
            format!("the slope grows from {below:.0} to {above:.0} ns a filter above 80")
        }
        (Some(below), Some(above)) => format!(
            "no knee ({below:.0} ns a filter up to 80, {above:.0} above): it came from the data cache, \
             which instruction counting does not have"
        ),
        _ => "too few lengths to look for a knee".to_owned(),
    }
}

/// The section of the values that the paper states.
const SOURCE: &str = "gateway-2010-draft §IV-C1";

fn figure() -> FigurePlan {
    FigurePlan {
        title: "Latency over the number of filters",
        form: FigureForm::Line,
        x: axis("filters, of which the last one matches", ""),
        y: LATENCY,
        of: |evidence, e| match e.filters {
            FilterChoice::List(n) => latency(evidence, e, "list", number(n)),
            FilterChoice::Sff(n) => latency(evidence, e, "single-ID SFF", number(n)),
            FilterChoice::None | FilterChoice::Eff(_) => Ok(vec![]),
        },
        paper: vec![
            StatedValue::at("list", 2048.0, 400.0, FigureKind::Best, SOURCE),
            StatedValue::at("single-ID SFF", 2048.0, 100.0, FigureKind::Best, SOURCE),
        ],
        note: "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::judge;
    use experiment::{GatewayChoice, fake};

    fn with(list: impl Fn(u64) -> u64, table: impl Fn(u64) -> u64) -> ClaimJudgement {
        judge(&G4, Extent::Full, |e| {
            let latency = match e.filters {
                FilterChoice::List(n) => list(u64::from(n)),
                FilterChoice::Sff(n) => table(u64::from(n)),
                _ => 0,
            };
            fake::records(10, latency)
        })
    }

    #[test]
    fn g4_wants_a_line_and_a_constant() {
        let straight = |n: u64| 35_000 + n * 50;
        let good = with(straight, |_| 36_000);
        assert_eq!(good.verdict, Reproduced, "{good:?}");
        assert!(
            good.measured.starts_with("50 ns a filter"),
            "{}",
            good.measured
        );
        assert!(good.why.contains("no knee"), "{}", good.why);
        let knee = |n: u64| straight(n) + n.saturating_sub(80) * 20;
        assert!(with(knee, |_| 36_000).why.contains("the slope grows"));
        assert_eq!(with(|n| 35_000 + n * n / 40, |_| 36_000).verdict, Differs);
        assert_eq!(with(straight, |n| 36_000 + 10 * n).verdict, Differs);
        assert_eq!(with(|n| 35_000 + n, |_| 36_000).verdict, Differs);
    }

    #[test]
    fn the_same_is_asked_of_the_other_data_paths_with_can_gw_beside_them() {
        let judged = judge(&CLAIMS[2], Extent::Full, |e| {
            let list = match (&e.gateway, e.filters) {
                (GatewayChoice::Cangw, FilterChoice::List(n)) => u64::from(n) * 50,
                _ => 0,
            };
            fake::records(10, 35_000 + list)
        });
        assert_eq!(judged.verdict, Differs);
        assert_eq!(
            judged.measured,
            "0 ns a filter; 2048 list filters: 35.0 against 35.0 (can-gw: 137.4 against 35.0)"
        );
    }
}
