//! The guest's agent in the form that experiments need: its tasks are experiments.

use crate::experiment::Experiment;
use crate::measure::{self, MeasureError, Prepared};
use guest::agent::{Outputs, Tasks};
use serde::Deserialize;
use serde_json::Value;

/// Runs experiments in a guest: for [`guest::agent::run`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Agent;

impl Tasks for Agent {
    type Prepared = Prepared;
    type Error = MeasureError;

    fn prepare(&self, task: &Value) -> Result<Prepared, MeasureError> {
        measure::prepare(&Experiment::deserialize(task)?)
    }

    fn run(
        &self,
        task: &Value,
        prepared: Option<Prepared>,
        outputs: &mut Outputs,
    ) -> Result<(), MeasureError> {
        let experiment = Experiment::deserialize(task)?;
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => measure::prepare(&experiment)?,
        };
        measure::measure(prepared, &experiment, outputs)
    }
}
