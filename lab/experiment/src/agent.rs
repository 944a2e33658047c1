//! The guest's agent in the form that experiments need: its tasks are experiments.

use crate::apart::PartTask;
use crate::measure::{self, MeasureError, PreparedGuest};
use crate::settings::Experiment;
use guest::agent::{AgentTasks, JobOutputs};
use serde::Deserialize;
use serde_json::Value;

/// Runs experiments in a guest: for [`guest::agent::run`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ExperimentAgent;

impl AgentTasks for ExperimentAgent {
    type Prepared = PreparedGuest;
    type Error = MeasureError;

    fn prepare(&self, task: &Value) -> Result<PreparedGuest, MeasureError> {
        measure::prepare(&Experiment::deserialize(task)?)
    }

    fn run(
        &self,
        task: &Value,
        prepared: Option<PreparedGuest>,
        outputs: &mut JobOutputs,
    ) -> Result<(), MeasureError> {
        if PartTask::is_here(task) {
            return measure::apart::run(&PartTask::deserialize(task)?, outputs);
        }
        let experiment = Experiment::deserialize(task)?;
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => measure::prepare(&experiment)?,
        };
        measure::measure(prepared, &experiment, outputs)
    }
}
