//! G8: a spike once a second.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::{kernels, on_kernel};
use crate::stats::us;
use experiment::{Boot, Cpu, Experiment, FilterChoice, Kernel};
use probe::FrameRecord;

pub(super) const CLAIMS: &[Claim] = &[
    G8,
    G8.on("G8/user", DataPath::User),
    G8.on("G8/bpf", DataPath::Bpf),
];

/// The least latency that counts as a spike, ns: a fifth of the paper's.
const SPIKE: i64 = 10_000_000;

fn spiky(path: DataPath, kernel: Kernel) -> Experiment {
    Experiment {
        filters: FilterChoice::List(2048),
        payload: 2,
        ..on_kernel(Extent::Full, path, kernel)
    }
}

/// Returns the same experiment on a processor so slow that the gateway is busy more than 95 % of
/// the time: a kernel then stops real-time threads for `1 s - sched_rt_runtime_us` in every second
/// (Documentation/scheduler/sched-rt-group.rst). The paper found the spikes, but not their cause.
fn throttled(path: DataPath, boot: Boot) -> Experiment {
    Experiment {
        cpu: Cpu::BoardAt(6),
        frames: 2000,
        boot,
        ..spiky(path, Kernel::V6_1_RT)
    }
}

/// Returns boot settings with a stop of 10 ms instead of 50.
fn shorter() -> Boot {
    Boot(vec!["sysctl.kernel.sched_rt_runtime_us=990000".to_owned()])
}

const G8: Claim = Claim {
    id: "G8",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2011, "§3.6")]),
    claim: "An rt-preempt kernel with 2048 list filters has a latency spike once a second",
    figure: "≈50 ms, every 1 s",
    criterion: "on some rt kernel at least 2 latencies ≥ 10 ms, each 0.9 to 1.1 s after the one \
        before",
    needs,
    judge,
    ..Claim::BLANK
};

fn needs(extent: Extent, path: DataPath) -> Vec<Experiment> {
    let all = |path| {
        let slow = [Boot::default(), shorter()].map(|boot| throttled(path, boot));
        let rt = kernels(true);
        let rt = rt.into_iter().map(|kernel| spiky(path, kernel));
        rt.chain(slow).collect()
    };
    match extent {
        Extent::Quick => vec![],
        Extent::Full => path.beside(extent, all),
    }
}

fn judge(
    evidence: &ClaimEvidence,
    _: Extent,
    path: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let (mut measured, mut regular) = (Vec::new(), Vec::new());
    let mut look = |name: String, e: Experiment| {
        let worst = evidence.summary(&e)?.max;
        let records = &evidence.results(&e)?.records;
        let times = spikes(records);
        measured.push(format!(
            "{name}: {} spikes, worst {}",
            times.len(),
            us(worst)
        ));
        let apart =
            |w: &[u64]| matches!(w, [a, b] if (900_000_000..=1_100_000_000).contains(&(b - a)));
        if times.len() >= 2 && times.windows(2).all(apart) {
            regular.push(name);
        }
        Ok(100.0 * busy(records))
    };
    let mut busiest = 0.0f64;
    for kernel in kernels(true) {
        busiest = busiest.max(look(kernel.to_string(), spiky(path, kernel))?);
    }
    let slow = throttled(path, Boot::default());
    let slow_busy = look(format!("6.1-rt at {}", slow.cpu), slow.clone())?;
    let relaxed = evidence.summary(&throttled(path, shorter()))?;
    let text = if regular.is_empty() {
        "no rt kernel has such spikes".to_owned()
    } else {
        format!("a spike once a second on {}", regular.join(", "))
    };
    conditions.add(!regular.is_empty(), text);
    let remark = format!(
        "a kernel stops real-time threads for 50 ms in every second once they are busy more than 95 % \
         of the time (sched_rt_runtime_us): frames are in the gateway at most {busiest:.0} % of the \
         time, and {slow_busy:.0} % at {}, where the ends of transmissions are to be handled too; with \
         10 ms in place of 50 ms the worst case there is {}",
        slow.cpu,
        us(relaxed.max)
    );
    let beside = path.against(|| {
        let worst = evidence
            .summary(&throttled(DataPath::Cangw, Boot::default()))?
            .max;
        Ok(format!("worst {} at {}", us(worst), slow.cpu))
    })?;
    Ok(conditions.judge(measured.join("; ") + &beside, &remark))
}

/// Returns the times at which the spikes came in; spikes that follow one another within 100 ms
/// count as one.
fn spikes(records: &[FrameRecord]) -> Vec<u64> {
    let slow = records
        .iter()
        .filter(|r| r.latency().is_some_and(|l| l >= SPIKE));
    let mut times: Vec<u64> = slow.filter_map(|r| Some(r.incoming?.end)).collect();
    times.sort_unstable();
    times.dedup_by(|later, first| *later - *first < 100_000_000);
    times
}

/// Returns the share of the whole time that the frames spent in the gateway.
fn busy(records: &[FrameRecord]) -> f64 {
    let inside: i64 = records.iter().filter_map(FrameRecord::latency).sum();
    let first = records.iter().filter_map(|r| Some(r.incoming?.end)).min();
    let last = records.iter().filter_map(|r| Some(r.outgoing?.end)).max();
    match (first, last) {
        (Some(first), Some(last)) if last > first => inside as f64 / (last - first) as f64,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::judge;
    use experiment::fake;

    #[test]
    fn g8_wants_spikes_once_a_second() {
        let with = |distance: u64, size: u64| {
            judge(&G8, Extent::Full, move |e| {
                let some = e.kernel == Kernel::V6_1_RT;
                // A frame a millisecond.
                fake::with_latencies((0..3500).map(move |n| {
                    if some && n > 0 && n % distance == 0 {
                        size
                    } else {
                        400_000
                    }
                }))
            })
        };
        let good = with(1000, 50_000_000);
        assert_eq!(good.verdict, Reproduced, "{good:?}");
        assert!(
            good.measured.contains("6.1-rt: 3 spikes, worst 50.0 ms"),
            "{}",
            good.measured
        );
        assert_eq!(with(500, 50_000_000).verdict, Differs);
        let small = with(1000, 5_000_000);
        assert_eq!(small.verdict, Differs);
        assert!(
            small.why.contains("at most 40 % of the time"),
            "{}",
            small.why
        );
    }
}
