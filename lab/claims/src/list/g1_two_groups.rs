//! G1: one frame at a time, and the timer interrupt.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::figure::{FigureKind, FigurePlan, StatedValue, latency, number, profile};
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::simple;
use crate::stats::{arc, most_within, us, widest_gap};
use experiment::{Boot, Experiment};
use probe::FrameRecord;

pub(super) const CLAIMS: &[Claim] = &[G1];

/// The period of the timer interrupt of Debian's kernels (`CONFIG_HZ=250`), ns.
const TICK: u64 = 4_000_000;

/// Returns the same experiment with a timer that continues while the processor idles. The papers do
/// not state whether their kernels' timers did.
fn ticking(extent: Extent) -> Experiment {
    Experiment {
        boot: Boot(vec!["nohz=off".to_owned()]),
        ..simple(extent)
    }
}

const G1: Claim = Claim {
    id: "G1",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2011, "§3.1")]),
    claim: "In the simple kernel gateway with one frame at a time, latencies fall into two \
        groups, which timer interrupts separate",
    figure: "best 35, gap at 50, worst 140; a timer interrupt costs ≈20",
    criterion: "gap ≥ 5 µs (a quarter of the paper's timer interrupt), where the gap is the \
        widest empty stretch of latencies with at least a share of p50 / 8 ms of the frames \
        above it; the arrival times of those frames, modulo 4 ms, lie within 0.4 ms",
    needs: |extent, _| match extent {
        Extent::Quick => vec![simple(extent)],
        Extent::Full => vec![simple(extent), ticking(extent)],
    },
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let e = simple(extent);
    let profile = evidence.profile(&e)?;
    let s = evidence.summary(&e)?;
    let mut measured = format!("best {}, worst {}", us(s.min), us(s.max));
    let mut conditions = Conditions::default();
    // The share of frames that a periodic interrupt would hit.
    let met = s.p50 as f64 / TICK as f64;
    let remark = format!(
        "Debian's kernels stop that interrupt while the processor idles (CONFIG_NO_HZ_IDLE); every \
         4 ms it would meet {:.2} % of the frames; {}",
        100.0 * met,
        with_ticks(evidence, extent, met)?
    );
    let Some((below, above)) = widest_gap(profile.values(), met / 2.0) else {
        conditions.add(false, "there is no gap with enough frames above it");
        return Ok(conditions.judge(measured, &remark));
    };
    measured.push_str(&format!(", gap {}–{}", us(below), us(above)));
    let over = profile.at_least(above);
    let share = 100.0 * over as f64 / profile.count() as f64;
    conditions.add(
        above - below >= 5_000,
        format!(
            "the widest gap is {} µs, with {share:.2} % of the frames above it",
            us(above - below)
        ),
    );
    let records = &evidence.results(&e)?.records;
    let slow = |r: &FrameRecord| r.latency().is_some_and(|l| l >= above);
    let times = came_in(records, slow);
    let arc = arc(&times, TICK).unwrap_or(1.0);
    conditions.add(
        arc <= 0.1,
        format!(
            "the frames above it came in within {:.0} % of the timer's period",
            100.0 * arc
        ),
    );
    let remark = if conditions.hold() { "" } else { &remark };
    Ok(conditions.judge(measured, remark))
}

/// Returns the times at which the frames of a kind came in, ns.
fn came_in(records: &[FrameRecord], kind: impl Fn(&FrameRecord) -> bool) -> Vec<u64> {
    let of_kind = records.iter().filter(|r| kind(r));
    of_kind.filter_map(|r| Some(r.incoming?.end)).collect()
}

/// Describes the result where the timer never stops and hits the share `met` of the frames.
fn with_ticks(
    evidence: &ClaimEvidence,
    extent: Extent,
    met: f64,
) -> Result<String, MissingEvidence> {
    if extent == Extent::Quick {
        return Ok("the full run measures with a timer that never stops (nohz=off)".to_owned());
    }
    let e = ticking(extent);
    let profile = evidence.profile(&e)?;
    let Some((below, above)) = widest_gap(profile.values(), met / 2.0) else {
        return Ok("with nohz=off there is no gap either".to_owned());
    };
    let records = &evidence.results(&e)?.records;
    let times = came_in(records, |r| r.latency().is_some_and(|l| l >= above));
    Ok(format!(
        "with nohz=off, where it goes on, the gap is {}–{} and {} of the {} frames above it came \
         in within a tenth of the timer's period",
        us(below),
        us(above),
        most_within(&times, TICK, TICK / 10),
        times.len()
    ))
}

/// The section of the values that the paper states.
const SOURCE: &str = "gateway-2011 §3.1";

fn figure() -> FigurePlan {
    profile(
        "One frame at a time: latency profile",
        |evidence, e| {
            let boot = match e.boot == Boot::default() {
                true => "as it is".to_owned(),
                false => e.boot.to_string(),
            };
            latency(evidence, e, boot, number(0))
        },
        vec![
            StatedValue::mark("best", 35.0, FigureKind::Best, SOURCE),
            StatedValue::mark("gap", 50.0, FigureKind::Value, SOURCE),
            StatedValue::mark("worst", 140.0, FigureKind::Worst, SOURCE),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::{judge, verdict};
    use experiment::fake;

    /// Frames of 35 µs, of which every tenth is hit by the timer and takes 20 µs longer.
    fn two_groups(offset: u64) -> Vec<FrameRecord> {
        let mut records = fake::with_latencies(
            (0..1000).map(|n| if n % 10 == 0 { 60_000 } else { 35_000 + n % 50 }),
        );
        for record in &mut records {
            // The timer comes every 4 ms; `offset` lets it hit anywhere.
            let n = record.tag;
            let shift = if n % 10 == 0 {
                4_000_000 - (n % 4) * 1_000_000 + n * offset
            } else {
                0
            };
            record.incoming.as_mut().unwrap().end += shift;
            record.outgoing.as_mut().unwrap().end += shift;
        }
        records
    }

    #[test]
    fn g1_wants_two_groups_and_the_timer() {
        let good = judge(&G1, Extent::Quick, |_| two_groups(0));
        assert_eq!(good.verdict, Reproduced, "{good:?}");
        assert_eq!(good.measured, "best 35.0, worst 60.0, gap 35.0–60.0");
        let not_the_timer = judge(&G1, Extent::Quick, |_| two_groups(7_919));
        assert_eq!(not_the_timer.verdict, Differs);
        assert!(
            not_the_timer.why.contains("timer's period"),
            "{}",
            not_the_timer.why
        );
        let smooth = |_: &Experiment| fake::with_latencies((0..1000).map(|n| 35_000 + 100 * n));
        assert_eq!(verdict(&G1, Extent::Quick, smooth), Differs);
        assert_eq!(
            verdict(&G1, Extent::Quick, |_| fake::records(100, 35_000)),
            Differs
        );
    }

    #[test]
    fn g1_reports_the_effect_of_a_timer_that_never_stops() {
        let judged = judge(&G1, Extent::Full, |e| {
            if e.boot == Boot::default() {
                fake::records(1000, 35_000)
            } else {
                two_groups(0)
            }
        });
        assert_eq!(judged.verdict, Differs);
        let found =
            "the gap is 35.0–60.0 and 100 of the 100 frames above it came in within a tenth";
        assert!(judged.why.contains(found), "{}", judged.why);
    }
}
