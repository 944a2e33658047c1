//! The tester's plan for an experiment.

use crate::choices::LogSide;
use crate::settings::Experiment;
use crate::spec::{BITRATE, DATA_BITRATE};
use crate::under_test::sent_id;
use frame::flags;
use frame::wire::{BitRate, RateError};
use guest::machine::BenchKind;
use tester::{PlanSource, TestPlan};

/// Returns the tester's plan.
pub(crate) fn plan(experiment: &Experiment) -> TestPlan {
    let id = sent_id(experiment);
    let len = usize::from(experiment.payload);
    TestPlan {
        traffic: experiment
            .played(LogSide::Incoming)
            .map_or_else(|| experiment.traffic.into(), PlanSource::Log),
        beside: experiment.played(LogSide::Outgoing).unwrap_or_default(),
        frames: experiment.frames,
        ids: (id, id),
        lens: len..=len,
        fd: experiment.is_fd().then_some(flags::BRS),
        seed: experiment.seed,
    }
}

/// Returns the bit rates of the buses; none for buses on which frames take no time.
///
/// # Errors
/// [`RateError`] where there are no such rates.
pub(crate) fn bit_rate(experiment: &Experiment) -> Result<Option<BitRate>, RateError> {
    let timed = matches!(experiment.bench, BenchKind::Timed | BenchKind::Vm);
    if !timed && !experiment.is_between_cards() {
        return Ok(None);
    }
    let data = experiment.is_fd().then_some(DATA_BITRATE);
    BitRate::new(BITRATE, data).map(Some)
}
