//! S1: the cost of the system calls that move frames.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::line;
use experiment::bursts::{BurstMeasurement, BurstPoint};
use experiment::{Cpu, Kernel};

pub(super) const CLAIMS: &[Claim] = &[S1];

fn bursts(extent: Extent) -> Option<BurstMeasurement> {
    Some(BurstMeasurement {
        kernel: Kernel::V6_1,
        cpu: Cpu::Pc,
        most: extent.pick(1000, 50_000),
    })
}

const S1: Claim = Claim {
    id: "S1",
    origin: ClaimOrigin::Papers(&[(Paper::Syscalls2014, "§4.1")]),
    claim: "On a virtual interface recvmmsg beats read and sendmmsg beats write, and is never \
        worse even for one frame; times are linear in the number of frames; write costs 3 to 6 \
        times read",
    figure: "−7 % / −12 % on a PC, −19 % / −35 % on MPC5200; 50 000 frames: 15 / 14 / 40 / 35 ms",
    criterion: "t(recvmmsg) ≤ t(read) and t(sendmmsg) ≤ t(write) for each number of frames; the \
        greatest number lies within 10 % of the straight line through the others; 2.5 ≤ \
        t(write) / t(read) ≤ 6 (the paper's PC: 2.7)",
    bursts,
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    _: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let points = evidence.points()?;
    let Some((last, before)) = points.split_last() else {
        return Err(MissingEvidence {
            experiment: "system calls".to_owned(),
            why: "no number of frames was measured".to_owned(),
        });
    };
    let change = |new: u64, old: u64| 100.0 * (new as f64 / old.max(1) as f64 - 1.0);
    let (receive, send) = (
        change(last.recvmmsg_ns, last.read_ns),
        change(last.sendmmsg_ns, last.write_ns),
    );
    let times = [
        last.read_ns,
        last.recvmmsg_ns,
        last.write_ns,
        last.sendmmsg_ns,
    ];
    let times = times.map(|ns| format!("{:.2}", ns as f64 / 1e6));
    let measured = format!(
        "{receive:+.0} % / {send:+.0} %; {} frames: {} ms",
        last.frames,
        times.join(" / ")
    );
    let mut conditions = Conditions::default();
    let worse: Vec<String> = points
        .iter()
        .filter(|p| p.recvmmsg_ns > p.read_ns || p.sendmmsg_ns > p.write_ns)
        .map(|p| p.frames.to_string())
        .collect();
    conditions.add(
        worse.is_empty(),
        if worse.is_empty() {
            "the many-frame calls never take longer".to_owned()
        } else {
            format!(
                "a many-frame call takes longer for {} frames",
                worse.join(", ")
            )
        },
    );
    let off = [
        |p: &BurstPoint| p.read_ns,
        |p: &BurstPoint| p.recvmmsg_ns,
        |p: &BurstPoint| p.write_ns,
        |p: &BurstPoint| p.sendmmsg_ns,
    ]
    .into_iter()
    .map(|pick| beside(before, last, pick))
    .fold(0.0, f64::max);
    conditions.add(
        off <= 10.0,
        format!(
            "{} frames take within {off:.1} % of a straight line",
            last.frames
        ),
    );
    let ratio = last.write_ns as f64 / last.read_ns.max(1) as f64;
    conditions.add(
        (2.5..=6.0).contains(&ratio),
        format!("write takes {ratio:.1} times read"),
    );
    Ok(conditions.judge(measured, ""))
}

/// Returns the distance of the last point from the line through the others, per cent.
fn beside(before: &[BurstPoint], last: &BurstPoint, pick: fn(&BurstPoint) -> u64) -> f64 {
    let points: Vec<_> = before
        .iter()
        .map(|p| (f64::from(p.frames), pick(p) as f64))
        .collect();
    let Some((slope, at, _)) = line(&points) else {
        return f64::INFINITY;
    };
    let expected = slope * f64::from(last.frames) + at;
    100.0 * (pick(last) as f64 / expected - 1.0).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};

    fn with(of: impl Fn(u64) -> [u64; 4]) -> Verdict {
        let point = |frames: u32| {
            let [read_ns, recvmmsg_ns, write_ns, sendmmsg_ns] = of(u64::from(frames));
            BurstPoint {
                frames,
                read_ns,
                recvmmsg_ns,
                write_ns,
                sendmmsg_ns,
            }
        };
        let mut evidence = ClaimEvidence::default();
        evidence.add_points(Ok([1, 10, 100, 1000].map(point).to_vec()));
        S1.judge(&evidence, Extent::Quick).verdict
    }

    #[test]
    fn s1_wants_savings_and_a_line() {
        let papers = |n: u64| [300 * n + 100, 280 * n + 100, 800 * n + 100, 700 * n + 100];
        assert_eq!(with(papers), Reproduced);
        assert_eq!(
            with(|n| {
                let mut t = papers(n);
                if n == 1 {
                    t[1] = t[0] + 1;
                }
                t
            }),
            Differs
        );
        assert_eq!(with(|n| papers(n).map(|t| t + n * n)), Differs);
        assert_eq!(with(|n| [300 * n, 280 * n, 500 * n, 400 * n]), Differs);
        assert_eq!(
            S1.judge(&ClaimEvidence::default(), Extent::Quick).verdict,
            NotTestable
        );
    }
}
