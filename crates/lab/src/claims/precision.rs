//! How exact the measurement is.

use super::simple::simple;
use super::stats::us;
use super::{Claim, Conditions, Evidence, Extent, Judgement, Missing};
use crate::experiment::{Experiment, Gateway, Load};
use crate::machine::Bench;

/// The tester by itself, on the bench whose tester is a task on the gateway's machine.
fn alone(extent: Extent, load: Load) -> Experiment {
    Experiment {
        gateway: Gateway::None,
        load,
        frames: extent.pick(1000, 10_000),
        bench: Bench::Kvaser,
        ..Experiment::default()
    }
}

/// The simple gateway with few stamps.
fn rarely(extent: Extent) -> Experiment {
    Experiment {
        stamp_every: 20,
        ..simple(extent)
    }
}

pub(super) const G11: Claim = Claim {
    id: "G11",
    paper: "gateway-2011 §2.4, gateway-2010-draft §IV",
    claim: "The measurement's own error is far below what it measures",
    figure: "99.9 % < 10; under Ethernet load < 100–200",
    criterion: "kvaser bench, no gateway, how far what the tester adds spreads: 99.9 % of the frames within \
        10 µs of the least, under Ethernet load within 200; timed bench: taking a stamp of every \
        20th frame only changes the gateway's median by at most 1 %",
    needs: |extent| {
        vec![
            alone(extent, Load::None),
            alone(extent, Load::EthRx),
            simple(extent),
            rarely(extent),
        ]
    },
    bursts: |_| None,
    rates: |_| vec![],
    judge: judge_g11,
};

fn judge_g11(evidence: &Evidence, extent: Extent) -> Result<Judgement, Missing> {
    let spread = |load| {
        let profile = evidence.profile(&alone(extent, load))?;
        let least = profile.values().first().copied().unwrap_or(0);
        Ok(profile.quantile(999).unwrap_or(i64::MAX) - least)
    };
    let (none, eth) = (spread(Load::None)?, spread(Load::EthRx)?);
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
    use crate::claims::Verdict::{Differs, Reproduced};
    use crate::claims::testing::verdict;
    use crate::fake;

    #[test]
    fn g11_wants_a_small_error_everywhere() {
        let with = |none: u64, eth: u64, stamped: u64| {
            verdict(&G11, Extent::Quick, move |e| match (&e.gateway, e.load) {
                (Gateway::None, Load::None) => {
                    fake::with_latencies((0..1000).map(|n| 31_000 + n % 10 * none))
                }
                (Gateway::None, _) => {
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
