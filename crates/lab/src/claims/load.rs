//! What load does: to a frame at a time, and to a flood.

use super::simple::{ratio, simple};
use super::stats::{loss, lost, median, us, waited};
use super::{Claim, Conditions, Evidence, Extent, Judgement, Missing, board};
use crate::experiment::{Experiment, Load, TrafficKind};

fn loaded(extent: Extent, load: Load) -> Experiment {
    Experiment {
        load,
        ..simple(extent)
    }
}

pub(super) const G3: Claim = Claim {
    id: "G3",
    paper: "gateway-2011 §3.3",
    claim: "CPU load about doubles the worst case; Ethernet receive load is far worse, because CAN and Ethernet share the receive soft-irq",
    figure: "140 → 250; → ≈3 ms",
    criterion: "the greatest latency under CPU load is 1.3 to 3 times that without (paper: 1.8), and under \
        Ethernet load at least 3 times that under CPU load (paper: 12)",
    needs: |extent| {
        [Load::None, Load::Cpu, Load::EthRx]
            .map(|load| loaded(extent, load))
            .to_vec()
    },
    bursts: |_| None,
    rates: |_| vec![],
    judge: judge_g3,
};

fn judge_g3(evidence: &Evidence, extent: Extent) -> Result<Judgement, Missing> {
    let of = |load| evidence.summary(&loaded(extent, load));
    let (none, cpu, eth) = (of(Load::None)?, of(Load::Cpu)?, of(Load::EthRx)?);
    let measured = format!(
        "{} → {} (CPU); → {} (Ethernet)",
        us(none.max),
        us(cpu.max),
        us(eth.max)
    );
    let mut conditions = Conditions::default();
    let by_cpu = ratio(cpu.max, none.max);
    conditions.add(
        (1.3..=3.0).contains(&by_cpu),
        format!("CPU load multiplies the worst case by {by_cpu:.1}"),
    );
    let by_eth = ratio(eth.max, cpu.max);
    conditions.add(
        by_eth >= 3.0,
        format!("under Ethernet load it is {by_eth:.1} times that under CPU load"),
    );
    Ok(conditions.judge(measured, ""))
}

/// Payloads of the draft's Figure 4.
fn payloads(extent: Extent) -> Vec<u8> {
    extent.pick(vec![2, 8], (2..=8).collect())
}

fn flooded(extent: Extent, payload: u8, load: Load) -> Experiment {
    Experiment {
        traffic: TrafficKind::Flood,
        payload,
        load,
        ..board(extent.pick(1000, 10_000))
    }
}

pub(super) const G12: Claim = Claim {
    id: "G12",
    paper: "gateway-2010-draft §IV-A, §IV-F",
    claim: "Simple gateway under flood, 2 to 8 bytes: the total latency is about the frame's transmission time; frames are lost under load only",
    figure: "60–110 in total for 60–108 on the bus; lost 0 / 2 of 10000 (CPU) / ≈20 % (Ethernet)",
    criterion: "the median total latency is at most 1.25 of the frame's duration; none lost without load, \
        at most 1 % under CPU load, 5 to 50 % under Ethernet load",
    needs: |extent| {
        let none = payloads(extent)
            .into_iter()
            .map(|n| flooded(extent, n, Load::None));
        let loads = [Load::Cpu, Load::EthRx].map(|load| flooded(extent, 8, load));
        none.chain(loads).collect()
    },
    bursts: |_| None,
    rates: |_| vec![],
    judge: judge_g12,
};

fn judge_g12(evidence: &Evidence, extent: Extent) -> Result<Judgement, Missing> {
    let mut conditions = Conditions::default();
    let (mut totals, mut worst, mut lost_plain, mut waiting) = (Vec::new(), 0.0f64, 0, 0.0f64);
    for payload in payloads(extent) {
        let e = flooded(extent, payload, Load::None);
        let results = evidence.results(&e)?;
        evidence.profile(&e)?;
        lost_plain += lost(results);
        waiting = waiting.max(waited(&results.records));
        let both = results.records.iter().filter_map(|r| {
            let duration = i64::try_from(r.outgoing?.duration).ok()?;
            Some((r.latency()? + duration, duration))
        });
        let (total, duration): (Vec<_>, Vec<_>) = both.unzip();
        let (total, duration) = (median(&total).unwrap_or(0), median(&duration).unwrap_or(1));
        totals.push(total);
        worst = worst.max(ratio(total, duration));
    }
    let share = |load| evidence.results(&flooded(extent, 8, load)).map(loss);
    let (cpu, eth) = (share(Load::Cpu)?, share(Load::EthRx)?);
    let (first, last) = (
        totals.first().copied().unwrap_or(0),
        totals.last().copied().unwrap_or(0),
    );
    let measured = format!(
        "{}–{} in total; lost {lost_plain} / {:.2} % (CPU) / {:.1} % (Ethernet)",
        us(first),
        us(last),
        100.0 * cpu,
        100.0 * eth
    );
    conditions.add(
        worst <= 1.25,
        format!("the median total latency is at most {worst:.2} of the frame's duration"),
    );
    conditions.add(
        lost_plain == 0,
        format!("{lost_plain} frames were lost without load"),
    );
    conditions.add(
        cpu <= 0.01,
        format!("{:.2} % were lost under CPU load", 100.0 * cpu),
    );
    conditions.add(
        (0.05..=0.5).contains(&eth),
        format!("{:.1} % were lost under Ethernet load", 100.0 * eth),
    );
    let besides = format!(
        "{:.0} % of the frames waited for the outgoing bus, which is as full as the incoming one",
        100.0 * waiting
    );
    Ok(conditions.judge(measured, &besides))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{Differs, Reproduced};
    use crate::claims::testing::verdict;
    use crate::fake;

    #[test]
    fn g3_wants_the_papers_order() {
        let with = |cpu: u64, eth: u64| {
            verdict(&G3, Extent::Quick, move |e| {
                let worst = match e.load {
                    Load::None => 140_000,
                    Load::Cpu => cpu,
                    _ => eth,
                };
                fake::with_latencies([35_000, worst])
            })
        };
        assert_eq!(with(250_000, 3_000_000), Reproduced);
        assert_eq!(with(145_000, 3_000_000), Differs);
        assert_eq!(with(900_000, 3_000_000), Differs);
        assert_eq!(with(250_000, 260_000), Differs);
    }

    #[test]
    fn g12_wants_short_totals_and_losses_under_load_only() {
        let with = |latency: u64, none: u64, cpu: u64, eth: u64| {
            verdict(&G12, Extent::Full, move |e| {
                let every = match e.load {
                    Load::None => none,
                    Load::Cpu => cpu,
                    _ => eth,
                };
                fake::losing(fake::records(1000, latency), |n| {
                    every != 0 && n % every == 0
                })
            })
        };
        // The made-up frames last 60 µs.
        assert_eq!(with(10_000, 0, 500, 5), Reproduced);
        assert_eq!(with(20_000, 0, 500, 5), Differs);
        assert_eq!(with(10_000, 999, 500, 5), Differs);
        assert_eq!(with(10_000, 0, 50, 5), Differs);
        assert_eq!(with(10_000, 0, 500, 100), Differs);
    }
}
