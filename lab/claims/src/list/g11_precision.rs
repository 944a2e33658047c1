//! G11: the precision of the measurement.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::simple;
use crate::stats::us;
use experiment::{BenchKind, Experiment, GatewayChoice, MachineLoad};

pub(super) const CLAIMS: &[Claim] = &[G11];

/// Returns the experiment with the tester on its own, on the bench whose tester is a task on the
/// gateway's machine.
fn alone(extent: Extent, load: MachineLoad) -> Experiment {
    Experiment {
        gateway: GatewayChoice::None,
        load,
        frames: extent.pick(1000, 10_000),
        bench: BenchKind::Kvaser,
        ..Experiment::default()
    }
}

/// Returns the experiment of the simple gateway with few stamps.
fn rarely(extent: Extent) -> Experiment {
    Experiment {
        stamp_every: 20,
        ..simple(extent)
    }
}

const G11: Claim = Claim {
    id: "G11",
    origin: ClaimOrigin::Papers(&[
        (Paper::Gateway2011, "§2.4"),
        (Paper::Gateway2010Draft, "§IV"),
    ]),
    claim: "The measurement's own error is far below what it measures",
    figure: "99.9 % < 10; under Ethernet load < 100–200",
    criterion: "kvaser bench, no gateway: p99.9 − min < 10 µs, under Ethernet load < 200 µs; \
        timed bench: |p50(every frame stamped) / p50(every 20th stamped) − 1| ≤ 0.01",
    needs: |extent, _| {
        vec![
            alone(extent, MachineLoad::None),
            alone(extent, MachineLoad::EthRx),
            simple(extent),
            rarely(extent),
        ]
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let spread = |load| {
        let profile = evidence.profile(&alone(extent, load))?;
        let least = profile.values().first().copied().unwrap_or(0);
        Ok(profile.quantile(999).unwrap_or(i64::MAX) - least)
    };
    let (none, eth) = (spread(MachineLoad::None)?, spread(MachineLoad::EthRx)?);
    let all = evidence.summary(&simple(extent))?.p50;
    let few = evidence.summary(&rarely(extent))?.p50;
    let change = 100.0 * (all as f64 / few as f64 - 1.0);
    let measured = format!(
        "99.9 % within {}; under Ethernet load within {}; stamps change the median by {change:+.2} %",
        us(none),
        us(eth)
    );
    let mut conditions = Conditions::default();
    conditions.add(
        none < 10_000,
        format!("99.9 % of the frames are within {} µs", us(none)),
    );
    conditions.add(
        eth < 200_000,
        format!("under Ethernet load within {}", us(eth)),
    );
    conditions.add(
        change.abs() <= 1.0,
        format!("on the timed bench stamping changes the gateway's median by {change:+.2} %"),
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn g11_wants_a_small_error_everywhere() {
        let with = |none: u64, eth: u64, stamped: u64| {
            verdict(&G11, Extent::Quick, move |e| match (&e.gateway, e.load) {
                (GatewayChoice::None, MachineLoad::None) => {
                    fake::with_latencies((0..1000).map(|n| 31_000 + n % 10 * none))
                }
                (GatewayChoice::None, _) => {
                    fake::with_latencies((0..1000).map(|n| 31_000 + n % 10 * eth))
                }
                _ if e.stamp_every == 1 => fake::records(1000, stamped),
                _ => fake::records(50, 35_000),
            })
        };
        assert_eq!(with(500, 15_000, 35_100), Reproduced);
        assert_eq!(with(2_000, 15_000, 35_100), Differs);
        assert_eq!(with(500, 25_000, 35_100), Differs);
        assert_eq!(with(500, 15_000, 36_000), Differs);
    }
}
