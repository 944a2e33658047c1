//! G2: a flood, and the batches in which it is handled.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureKind, FigurePlan, StatedValue, latency, number, profile};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::simple;
use crate::stats::{median, ratio, us, waited};
use experiment::{Experiment, TrafficPattern};

pub(super) const CLAIMS: &[Claim] = &[G2];

/// Returns the experiment of the simple gateway with a flood.
fn flood(extent: Extent) -> Experiment {
    Experiment {
        traffic: TrafficPattern::Flood,
        ..simple(extent)
    }
}

/// Returns the experiment with nearly a flood: after each frame there is a pause in which the
/// outgoing bus can catch up, as the papers' sender, with its single transmit buffer, leaves one.
fn nearly(extent: Extent) -> Experiment {
    Experiment {
        traffic: TrafficPattern::Load(90),
        ..simple(extent)
    }
}

const G2: Claim = Claim {
    id: "G2",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2011, "§3.2")]),
    claim: "A flood has a lower best case than one frame at a time, because frames are handled \
        in batches; the worst case is equal",
    figure: "best →0 against 35, worst about equal",
    criterion: "min(flood) / min(one at a time) ≤ 0.5; 0.5 ≤ max(flood) / max(one at a time) ≤ 2",
    needs: |extent, _| vec![simple(extent), flood(extent), nearly(extent)],
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
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
    let remark = format!(
        "{:.0} % of the flood's frames waited for the outgoing bus, which is as full as the incoming \
         one (at 90 % load: best {}, worst {}); one takes the gateway {} µs and the bus {}, {}",
        100.0 * waited,
        us(nearly.min),
        us(nearly.max),
        us(one.p50),
        us(frame),
        if one.p50 < frame {
            "so that it is done before the next frame comes, and no batch forms"
        } else {
            "so that batches can form"
        }
    );
    Ok(conditions.judge(measured, &remark))
}

/// The section of the values that the paper states.
const SOURCE: &str = "gateway-2011 §3.2";

fn figure() -> FigurePlan {
    profile(
        "One frame at a time and a flood: latency profiles",
        |evidence, e| latency(evidence, e, e.traffic.to_string(), number(0)),
        vec![
            StatedValue::mark("best of a flood", 0.0, FigureKind::Best, SOURCE),
            StatedValue::mark("best, one at a time", 35.0, FigureKind::Best, SOURCE),
            StatedValue::mark("worst of both", 140.0, FigureKind::Worst, SOURCE),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn g2_wants_a_lower_best_case_and_no_higher_worst_case() {
        let with = |flood: [u64; 2]| {
            verdict(&G2, Extent::Quick, move |e| match e.traffic {
                TrafficPattern::Flood => fake::with_latencies(flood),
                _ => fake::with_latencies([35_000, 140_000]),
            })
        };
        assert_eq!(with([5_000, 150_000]), Reproduced);
        assert_eq!(with([25_000, 150_000]), Differs);
        assert_eq!(with([5_000, 400_000]), Differs);
    }
}
