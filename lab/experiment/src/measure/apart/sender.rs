//! The machine of the tester.

use super::signals::SignalLink;
use crate::apart::StepSignal;
use crate::measure::error::MeasureError;
use crate::measure::{send, setup, warm_up};
use crate::settings::Experiment;
use frame::Nanos;
use frame::wire::BitRate;
use guest::agent::JobOutputs;
use probe::traffic::TrafficPattern;
use tester::{PlanError, PlanSource, TestPlan};

/// How long before the bus has room for it each frame of a flood is handed to the card, ns: the
/// bus stays full while the tester receives other frames.
const AHEAD: Nanos = 5_000_000;

pub(super) fn run(experiment: &Experiment, outputs: &mut JobOutputs) -> Result<(), MeasureError> {
    let mut signals = SignalLink::open()?;
    let setup = setup(experiment)?;
    signals.wait(StepSignal::WarmUp)?;
    warm_up(experiment, &setup)?;
    signals.send(StepSignal::Warm)?;
    signals.wait(StepSignal::Measure)?;
    // The stamps that count are those of the buses; the tester's own pace its frames.
    let outcome = send(experiment, &setup)?;
    for warning in &outcome.warnings {
        outputs.log(warning);
    }
    if let Some(failure) = outcome.failure {
        return Err(MeasureError::Run(failure));
    }
    signals.send(StepSignal::Sent)?;
    Ok(())
}

/// Returns the frames of a flood with their times. The card takes each frame at once, however full
/// the bus is, and so does not pace the tester.
///
/// # Errors
/// [`PlanError`].
pub(in crate::measure) fn flood(
    plan: &TestPlan,
    rate: Option<BitRate>,
) -> Result<PlanSource, PlanError> {
    let full = TestPlan {
        traffic: TrafficPattern::Load(100).into(),
        ..plan.clone()
    };
    let frames = full.frames(rate)?.into_iter();
    let frames = frames.map(|planned| (planned.at.saturating_sub(AHEAD), planned.frame));
    Ok(PlanSource::Log(frames.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::wire;

    #[test]
    fn a_flood_has_the_plans_frames_ahead_of_the_bus() {
        let plan = TestPlan {
            traffic: TrafficPattern::Flood.into(),
            frames: 300,
            ..TestPlan::default()
        };
        let rate = BitRate::new(1_000_000, None).unwrap();
        let paced = TestPlan {
            traffic: flood(&plan, Some(rate)).unwrap(),
            ..plan.clone()
        };
        let (same, paced) = (
            plan.frames(Some(rate)).unwrap(),
            paced.frames(None).unwrap(),
        );
        assert_eq!(paced.len(), same.len());
        let mut free = 0;
        for (paced, same) in paced.iter().zip(&same) {
            assert_eq!(paced.frame, same.frame);
            assert_eq!(paced.at, u64::saturating_sub(free, AHEAD));
            free += wire::length(same.frame.view())
                .unwrap()
                .duration(rate, true);
        }
        assert!(free > 2 * AHEAD, "{free}");
        assert_eq!(flood(&plan, None), Err(PlanError::NoRate));
    }
}
