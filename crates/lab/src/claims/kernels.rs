//! What kernels make of it: newer ones, and those that preempt everything.

use super::simple::simple;
use super::stats::us;
use super::{Claim, Conditions, Evidence, Extent, Judgement, Missing, Way};
use crate::experiment::{Boot, Cpu, Experiment, Filters};
use crate::words::{KERNELS, is_rt};
use probe::Record;

fn on(extent: Extent, way: Way, kernel: &str) -> Experiment {
    way.of(Experiment {
        kernel: kernel.to_owned(),
        ..simple(extent)
    })
}

/// On all ways.
pub(super) const ALL: [Claim; 6] = [G7, G7_USER, G7_BPF, G8, G8_USER, G8_BPF];

const G7: Claim = Claim {
    id: "G7",
    paper: "gateway-2011 §3.6",
    claim: "Newer kernels are slower; rt-preempt kernels are slower than their plain twins when the gateway is in the kernel",
    figure: "+10 (2.6.33→36), +2 (→3.0); rt +20 to +100",
    criterion: "the plain kernels' medians rise with every newer kernel; every rt kernel's median is above its \
        twin's",
    needs: |extent| needs_g7(extent, Way::Cangw),
    bursts: |_| None,
    rates: |_| vec![],
    judge: |evidence, extent| judge_g7(evidence, extent, Way::Cangw),
};

const G7_USER: Claim = Claim {
    id: "G7/user",
    needs: |extent| needs_g7(extent, Way::User),
    judge: |evidence, extent| judge_g7(evidence, extent, Way::User),
    ..G7
};

const G7_BPF: Claim = Claim {
    id: "G7/bpf",
    needs: |extent| needs_g7(extent, Way::Bpf),
    judge: |evidence, extent| judge_g7(evidence, extent, Way::Bpf),
    ..G7
};

fn needs_g7(extent: Extent, way: Way) -> Vec<Experiment> {
    match extent {
        Extent::Quick => vec![],
        Extent::Full => way.beside(extent, |way| {
            KERNELS.iter().map(|k| on(extent, way, k)).collect()
        }),
    }
}

fn judge_g7(evidence: &Evidence, extent: Extent, way: Way) -> Result<Judgement, Missing> {
    let p50_of = |way, kernel: &str| Ok(evidence.summary(&on(extent, way, kernel))?.p50);
    let p50 = |kernel: &str| p50_of(way, kernel);
    let (mut plain, mut steps, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for kernel in KERNELS.iter().filter(|k| !is_rt(k)) {
        plain.push((*kernel, p50(kernel)?));
        costs.push((*kernel, p50(&format!("{kernel}-rt"))? - p50(kernel)?));
    }
    for pair in plain.windows(2) {
        if let [(_, before), (newer, after)] = pair {
            steps.push((*newer, after - before));
        }
    }
    let signed = |all: &[(&str, i64)]| {
        let each = |(kernel, ns): &(&str, i64)| {
            let sign = if *ns < 0 { "" } else { "+" };
            format!("{sign}{} ({kernel})", us(*ns))
        };
        all.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    let first = plain.first().map_or(0, |p| p.1);
    let beside = way.against(|| {
        let plain = KERNELS.iter().filter(|k| !is_rt(k));
        let each = plain.map(|k| Ok(us(p50_of(Way::Cangw, k)?)));
        Ok(each.collect::<Result<Vec<_>, Missing>>()?.join(", "))
    })?;
    let measured = format!(
        "{} (5.10), {}; rt {}{beside}",
        us(first),
        signed(&steps),
        signed(&costs)
    );
    let mut conditions = Conditions::default();
    let faster: Vec<_> = steps.iter().filter(|s| s.1 <= 0).map(|s| s.0).collect();
    conditions.add(
        faster.is_empty(),
        if faster.is_empty() {
            "each newer kernel is slower".to_owned()
        } else {
            format!("not slower than the one before: {}", faster.join(", "))
        },
    );
    let cheap: Vec<_> = costs.iter().filter(|s| s.1 <= 0).map(|s| s.0).collect();
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

/// A latency of this and more is a spike, ns: a fifth of the paper's.
const SPIKE: i64 = 10_000_000;

fn spiky(way: Way, kernel: &str) -> Experiment {
    Experiment {
        filters: Filters::List(2048),
        payload: 2,
        ..on(Extent::Full, way, kernel)
    }
}

/// The same on a processor so slow that the gateway is busy more than 95 % of the time: a kernel
/// holds back real-time threads then, for `1 s - sched_rt_runtime_us` in every second
/// (Documentation/scheduler/sched-rt-group.rst). The paper found the spikes and not their cause.
fn held_back(way: Way, boot: Boot) -> Experiment {
    Experiment {
        cpu: Cpu::BoardAt(6),
        frames: 2000,
        boot,
        ..spiky(way, "6.1-rt")
    }
}

/// Held back for 10 ms in place of 50.
fn less() -> Boot {
    Boot(vec!["sysctl.kernel.sched_rt_runtime_us=990000".to_owned()])
}

const G8: Claim = Claim {
    id: "G8",
    paper: "gateway-2011 §3.6",
    claim: "An rt-preempt kernel with 2048 list filters has a spike once a second",
    figure: "≈50 ms, every 1 s",
    criterion: "on some rt kernel at least two latencies of 10 ms and more, each 0.9 to 1.1 s after the one before",
    needs: |extent| needs_g8(extent, Way::Cangw),
    bursts: |_| None,
    rates: |_| vec![],
    judge: |evidence, _| judge_g8(evidence, Way::Cangw),
};

const G8_USER: Claim = Claim {
    id: "G8/user",
    needs: |extent| needs_g8(extent, Way::User),
    judge: |evidence, _| judge_g8(evidence, Way::User),
    ..G8
};

const G8_BPF: Claim = Claim {
    id: "G8/bpf",
    needs: |extent| needs_g8(extent, Way::Bpf),
    judge: |evidence, _| judge_g8(evidence, Way::Bpf),
    ..G8
};

fn needs_g8(extent: Extent, way: Way) -> Vec<Experiment> {
    let all = |way| {
        let slow = [Boot::default(), less()].map(|boot| held_back(way, boot));
        let rt = KERNELS.iter().filter(|k| is_rt(k)).map(|k| spiky(way, k));
        rt.chain(slow).collect()
    };
    match extent {
        Extent::Quick => vec![],
        Extent::Full => way.beside(extent, all),
    }
}

fn judge_g8(evidence: &Evidence, way: Way) -> Result<Judgement, Missing> {
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
    for kernel in KERNELS.iter().filter(|k| is_rt(k)) {
        busiest = busiest.max(look((*kernel).to_owned(), spiky(way, kernel))?);
    }
    let slow = held_back(way, Boot::default());
    let slow_busy = look(format!("6.1-rt at {}", slow.cpu), slow.clone())?;
    let relaxed = evidence.summary(&held_back(way, less()))?;
    let text = if regular.is_empty() {
        "no rt kernel has such spikes".to_owned()
    } else {
        format!("a spike once a second on {}", regular.join(", "))
    };
    conditions.add(!regular.is_empty(), text);
    let besides = format!(
        "a kernel holds real-time threads back, 50 ms in every second, once they are busy more than \
         95 % of the time (sched_rt_runtime_us): frames are in the gateway {busiest:.0} % of it at most, and \
         {slow_busy:.0} % at {}, where it has the ends of sending to do besides; with 10 ms in place of \
         the 50 the worst is {} there",
        slow.cpu,
        us(relaxed.max)
    );
    let beside = way.against(|| {
        let worst = evidence
            .summary(&held_back(Way::Cangw, Boot::default()))?
            .max;
        Ok(format!("worst {} at {}", us(worst), slow.cpu))
    })?;
    Ok(conditions.judge(measured.join("; ") + &beside, &besides))
}

/// When the spikes came in; those that follow one another within 100 ms are one.
fn spikes(records: &[Record]) -> Vec<u64> {
    let slow = records
        .iter()
        .filter(|r| r.latency().is_some_and(|l| l >= SPIKE));
    let mut times: Vec<u64> = slow.filter_map(|r| Some(r.incoming?.end)).collect();
    times.sort_unstable();
    times.dedup_by(|later, first| *later - *first < 100_000_000);
    times
}

/// The share of the whole time that the frames spent in the gateway.
fn busy(records: &[Record]) -> f64 {
    let inside: i64 = records.iter().filter_map(Record::latency).sum();
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
    use crate::claims::Verdict::{Differs, NotTestable, Reproduced};
    use crate::claims::testing::{judge, verdict};
    use crate::fake;

    #[test]
    fn g7_wants_newer_and_rt_to_be_slower() {
        let with = |of: fn(&str) -> u64| {
            verdict(&G7, Extent::Full, move |e| fake::records(10, of(&e.kernel)))
        };
        let papers = |kernel: &str| {
            let plain = match kernel.trim_end_matches("-rt") {
                "5.10" => 35_000,
                "6.1" => 45_000,
                "6.12" => 47_000,
                _ => 48_000,
            };
            if kernel.ends_with("-rt") {
                plain + 20_000
            } else {
                plain
            }
        };
        assert_eq!(with(papers), Reproduced);
        assert_eq!(
            with(|kernel| if kernel == "6.12" { 30_000 } else { 50_000 }),
            Differs
        );
        assert_eq!(with(|_| 40_000), Differs);
        assert_eq!(verdict(&G7, Extent::Quick, |_| vec![]), NotTestable);
    }

    #[test]
    fn g8_wants_spikes_once_a_second() {
        let with = |distance: u64, size: u64| {
            judge(&G8, Extent::Full, move |e| {
                let some = e.kernel == "6.1-rt";
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
        assert!(small.why.contains("40 % of it at most"), "{}", small.why);
    }
}
