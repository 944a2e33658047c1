//! S2: one frame at a time through each of the paper's gateways.

use super::o16_no_os::NO_OS;
use super::ways::{KERNEL, SOURCE, one_at_a_time, word};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, LATENCY, StatedValue, axis, latency, name};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::{ratio, us};
use experiment::{GatewayChoice, PAPER_NAMES, ReceiveChoice, WayPair};

pub(super) const CLAIMS: &[Claim] = &[S2];

const S2: Claim = Claim {
    id: "S2",
    origin: ClaimOrigin::Papers(&[(Paper::Syscalls2014, "§4.2, Figure 4.2")]),
    claim: "One frame at a time, a user-space gateway that blocks takes about 3.7 times as long as \
        the kernel gateway, and one that waits busily about twice as long",
    figure: "kernel 49; blocking ≈180; busy ≈100 (no OS: 15)",
    criterion: "2.5 ≤ p50 / p50(can-gw) ≤ 5 for the blocking ones, 1.4 ≤ p50 / p50(can-gw) ≤ 3 for the \
        busy ones, and each busy one is faster than each blocking one",
    needs: |extent, _| {
        let users = papers().map(|ways| one_at_a_time(extent, GatewayChoice::User(ways)));
        users
            .chain([KERNEL, NO_OS].map(|gateway| one_at_a_time(extent, gateway)))
            .collect()
    },
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

/// Returns the pairs of Table 3.1. The one for which the paper changed drivers belongs to S5.
fn papers() -> impl Iterator<Item = WayPair> {
    let all = PAPER_NAMES.into_iter().map(|(_, ways)| ways);
    all.filter(|ways| ways.receive != ReceiveChoice::BusypollNoIrq)
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let p50 = |gateway| Ok(evidence.summary(&one_at_a_time(extent, gateway))?.p50);
    let kernel = p50(KERNEL)?;
    let mut conditions = Conditions::default();
    let (mut blocking, mut busy) = (Vec::new(), Vec::new());
    for ways in papers() {
        let gateway = GatewayChoice::User(ways);
        let name = word(&gateway);
        let all = if ways.receive.is_busy() {
            &mut busy
        } else {
            &mut blocking
        };
        all.push((p50(gateway)?, name));
    }
    blocking.sort();
    busy.sort();
    let mut measured = format!("no OS {}; kernel {}", us(p50(NO_OS)?), us(kernel));
    for (what, all, range) in [
        ("blocking", &blocking, 2.5..=5.0),
        ("busy", &busy, 1.4..=3.0),
    ] {
        let list: Vec<_> = all
            .iter()
            .map(|(ns, name)| format!("{name} {}", us(*ns)))
            .collect();
        measured.push_str(&format!("; {what}: {}", list.join(", ")));
        let times = |end: Option<&(i64, String)>| ratio(end.map_or(0, |e| e.0), kernel);
        let (least, most) = (times(all.first()), times(all.last()));
        conditions.add(
            range.contains(&least) && range.contains(&most),
            format!("the {what} ones take {least:.2} to {most:.2} times the kernel gateway's"),
        );
    }
    if let (Some(slowest), Some(fastest)) = (busy.last(), blocking.first()) {
        conditions.add(
            slowest.0 < fastest.0,
            format!(
                "the slowest busy one ({}) takes {} and the fastest blocking one ({}) {}",
                slowest.1,
                us(slowest.0),
                fastest.1,
                us(fastest.0)
            ),
        );
    }
    Ok(conditions.judge(measured, ""))
}

/// Returns a gateway's name in a column.
fn way(gateway: &GatewayChoice) -> String {
    match gateway {
        GatewayChoice::Baremetal { .. } => "no OS".to_owned(),
        GatewayChoice::OwnRules | GatewayChoice::Cangw => "kernel (can-gw)".to_owned(),
        other => word(other),
    }
}

fn figure() -> FigurePlan {
    let mut paper = vec![
        StatedValue::beside("no OS", 15.0, FigureKind::Median, SOURCE),
        StatedValue::beside("kernel (can-gw)", 49.0, FigureKind::Median, SOURCE),
    ];
    for (_, ways) in PAPER_NAMES {
        if ways.receive == ReceiveChoice::BusypollNoIrq {
            continue;
        }
        let y = if ways.receive.is_busy() { 100.0 } else { 180.0 };
        let column = way(&GatewayChoice::User(ways));
        paper.push(StatedValue::beside(
            &column,
            y,
            FigureKind::Median,
            SOURCE,
        ));
    }
    FigurePlan {
        title: "Latency of ways to receive and to send",
        form: FigureForm::Bars,
        x: axis("gateway", ""),
        y: LATENCY,
        of: |evidence, e| latency(evidence, e, "", name(way(&e.gateway))),
        paper,
        note: "the paper states ≈180 for all ways that block and ≈100 for all that wait busily",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::AxisPlace;
    use crate::figure::tests::figure;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn s2_wants_both_groups_and_a_gap() {
        let with = |blocking: u64, busy: u64| {
            verdict(&S2, Extent::Quick, move |e| {
                let ns = match e.gateway {
                    GatewayChoice::User(ways) if ways.receive.is_busy() => busy,
                    GatewayChoice::User(_) => blocking,
                    GatewayChoice::Baremetal { .. } => 15_000,
                    _ => 49_000,
                };
                fake::records(9, ns)
            })
        };
        assert_eq!(with(180_000, 100_000), Reproduced);
        assert_eq!(with(300_000, 100_000), Differs);
        assert_eq!(with(180_000, 50_000), Differs);
        assert_eq!(with(130_000, 140_000), Differs);
    }

    #[test]
    fn every_way_of_the_paper_has_its_column() {
        let ways = figure("S2", Extent::Full, |_| 50_000);
        let columns: Vec<&AxisPlace> = ways
            .series
            .iter()
            .flat_map(|s| &s.points)
            .map(|p| &p.x)
            .collect();
        for stated in &ways.paper {
            assert!(columns.contains(&&stated.x), "{:?}", stated.x);
        }
        assert_eq!(columns.len(), ways.paper.len());
    }
}
