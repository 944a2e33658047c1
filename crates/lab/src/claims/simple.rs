//! The simple gateway: what one frame takes, and what batches save.

use super::stats::{arc, median, most_within, us, waited, widest_gap};
use super::{Claim, Conditions, Evidence, Extent, Judgement, Missing, board};
use crate::experiment::{Boot, Experiment, TrafficKind};
use probe::Record;

/// The period of the timer interrupt of Debian's kernels (`CONFIG_HZ=250`), ns.
const TICK: u64 = 4_000_000;

/// The first experiment of all: one frame at a time, no load.
pub(super) fn simple(extent: Extent) -> Experiment {
    board(extent.pick(1000, 10_000))
}

/// The same with a timer that goes on while the processor idles, as the papers' kernels' did or
/// not: they do not say.
fn ticking(extent: Extent) -> Experiment {
    Experiment {
        boot: Boot(vec!["nohz=off".to_owned()]),
        ..simple(extent)
    }
}

/// The same with a flood.
pub(super) fn flood(extent: Extent) -> Experiment {
    Experiment {
        traffic: TrafficKind::Flood,
        ..simple(extent)
    }
}

pub(super) const G1: Claim = Claim {
    id: "G1",
    paper: "gateway-2011 §3.1",
    claim: "Simple kernel gateway, one frame at a time: latencies fall into two groups, split by timer interrupts",
    figure: "best 35, gap at 50, worst 140; a timer interrupt costs ≈20",
    criterion: "an empty stretch of at least 5 µs (a quarter of the paper's timer interrupt) with at least half as \
        many frames above it as a timer interrupt every 4 ms meets, and these came in within a \
        tenth of its period",
    needs: |extent| match extent {
        Extent::Quick => vec![simple(extent)],
        Extent::Full => vec![simple(extent), ticking(extent)],
    },
    bursts: |_| None,
    rates: |_| vec![],
    judge: judge_g1,
};

fn judge_g1(evidence: &Evidence, extent: Extent) -> Result<Judgement, Missing> {
    let e = simple(extent);
    let profile = evidence.profile(&e)?;
    let s = evidence.summary(&e)?;
    let mut measured = format!("best {}, worst {}", us(s.min), us(s.max));
    let mut conditions = Conditions::default();
    // What a latency meets of an interrupt that comes every so often.
    let met = s.p50 as f64 / TICK as f64;
    let besides = format!(
        "Debian's kernels stop that interrupt while the processor idles (CONFIG_NO_HZ_IDLE), which \
         every 4 ms would meet {:.2} % of the frames; {}",
        100.0 * met,
        with_ticks(evidence, extent, met)?
    );
    let Some((below, above)) = widest_gap(profile.values(), met / 2.0) else {
        conditions.add(false, "there is no gap with enough frames above it");
        return Ok(conditions.judge(measured, &besides));
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
    let slow = |r: &Record| r.latency().is_some_and(|l| l >= above);
    let times = came_in(records, slow);
    let arc = arc(&times, TICK).unwrap_or(1.0);
    conditions.add(
        arc <= 0.1,
        format!(
            "the frames above it came in within {:.0} % of the timer's period",
            100.0 * arc
        ),
    );
    let besides = if conditions.hold() { "" } else { &besides };
    Ok(conditions.judge(measured, besides))
}

/// When the frames of a kind came in, ns.
fn came_in(records: &[Record], kind: impl Fn(&Record) -> bool) -> Vec<u64> {
    let of_kind = records.iter().filter(|r| kind(r));
    of_kind.filter_map(|r| Some(r.incoming?.end)).collect()
}

/// What is found where the timer never stops, of which a latency meets the share `met`.
fn with_ticks(evidence: &Evidence, extent: Extent, met: f64) -> Result<String, Missing> {
    if extent == Extent::Quick {
        return Ok("the full run measures where it goes on (nohz=off)".to_owned());
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

/// Nearly a flood, with a pause after each frame in which the outgoing bus can catch up, as the
/// papers' sender with its one transmit buffer leaves.
fn nearly(extent: Extent) -> Experiment {
    Experiment {
        traffic: TrafficKind::Percent(90),
        ..simple(extent)
    }
}

pub(super) const G2: Claim = Claim {
    id: "G2",
    paper: "gateway-2011 §3.2",
    claim: "A flood has a lower best case than one frame at a time, because frames are handled in batches; the worst case is equal",
    figure: "best →0 against 35, worst about equal",
    criterion: "the flood's least latency is at most half of the other's; the greatest are within a factor of 2",
    needs: |extent| vec![simple(extent), flood(extent), nearly(extent)],
    bursts: |_| None,
    rates: |_| vec![],
    judge: judge_g2,
};

fn judge_g2(evidence: &Evidence, extent: Extent) -> Result<Judgement, Missing> {
    let one = evidence.summary(&simple(extent))?;
    let records = &evidence.results(&flood(extent))?.records;
    let waited = waited(records);
    let frame = records.iter().filter_map(|r| Some(r.outgoing?.duration));
    let frame = i64::try_from(median(&frame.collect::<Vec<_>>()).unwrap_or(0)).unwrap_or(0);
    let flood = evidence.summary(&flood(extent))?;
    let nearly = evidence.summary(&nearly(extent))?;
    let measured = format!(
        "best {} against {}, worst {} against {}",
        us(flood.min),
        us(one.min),
        us(flood.max),
        us(one.max)
    );
    let mut conditions = Conditions::default();
    conditions.add(
        flood.min * 2 <= one.min,
        format!(
            "the flood's best case is {:.2} of the other's",
            ratio(flood.min, one.min)
        ),
    );
    let worst = ratio(flood.max, one.max);
    conditions.add(
        (0.5..=2.0).contains(&worst),
        format!("its worst case is {worst:.2} of the other's"),
    );
    let besides = format!(
        "{:.0} % of the flood's frames waited for the outgoing bus, which is as full as the incoming \
         one (at 90 % load: best {}, worst {}); one takes the gateway {} µs and the bus {}, {}",
        100.0 * waited,
        us(nearly.min),
        us(nearly.max),
        us(one.p50),
        us(frame),
        if one.p50 < frame {
            "so that it is done before the next one comes and no batch forms"
        } else {
            "so that batches can form"
        }
    );
    Ok(conditions.judge(measured, &besides))
}

/// `a / b`; infinite for nothing.
pub(super) fn ratio(a: i64, b: i64) -> f64 {
    a as f64 / b as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{Differs, Reproduced};
    use crate::claims::testing::{judge, verdict};
    use crate::fake;

    /// Frames of 35 µs, of which every tenth is hit by the timer and takes 20 µs longer.
    fn two_groups(offset: u64) -> Vec<Record> {
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
    fn g1_says_what_a_timer_that_never_stops_does() {
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

    #[test]
    fn g2_wants_a_lower_best_case_and_no_higher_worst_case() {
        let with = |flood: [u64; 2]| {
            verdict(&G2, Extent::Quick, move |e| match e.traffic {
                TrafficKind::Flood => fake::with_latencies(flood),
                _ => fake::with_latencies([35_000, 140_000]),
            })
        };
        assert_eq!(with([5_000, 150_000]), Reproduced);
        assert_eq!(with([25_000, 150_000]), Differs);
        assert_eq!(with([5_000, 400_000]), Differs);
    }
}
