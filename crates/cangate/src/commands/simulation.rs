//! `cangate run --simulate`: embedded buses in place of interfaces, and a log as their traffic.

use crate::cli::Run;
use crate::cli::simulate::simulation;
use crate::kinds::kinds;
use crate::log::ErrorLog;
use console::{Failure, output};
use demo::{Error, LiveReplay, ReplaySums};
use gateway::config::GatewayConfig;
use gateway::notice::{Listener, NoticeLevel};
use gateway::run::{RunError, RunOptions, RunSummary, run_simulated};
use gateway::simulate::SimulationOptions;
use offload::with_causes;
use port::embedded::BusTraffic;
use serde_json::{Value, json};

/// A simulation that is ready to run.
pub(crate) struct SimulatedRun {
    options: SimulationOptions,
    traffic: Option<Box<dyn BusTraffic>>,
    replay: LiveReplay,
}

impl SimulatedRun {
    /// Opens the log to replay and the logs of the buses, and reports the differences from the
    /// file; `None` where no simulation was requested.
    pub(crate) fn open(
        args: &Run,
        config: &GatewayConfig,
        log: &ErrorLog,
    ) -> Result<Option<Self>, Failure> {
        let wanted = &args.simulation;
        if !wanted.simulate {
            return Ok(None);
        }
        let options = SimulationOptions {
            replayed: wanted.log.is_some(),
            ..simulation(&wanted.as_bus, wanted.out.as_ref())
        };
        let simulated = config.simulated(&options);
        let simulated = simulated.map_err(|wrong| Failure::Input(wrong.to_string()))?;
        if let Some(out) = &wanted.out {
            output::folder(out)?;
        }
        let input = wanted.log.as_ref();
        let input = input.map(|path| wanted.replay.input(path, args.strict, true));
        let opened = LiveReplay::open(input.as_ref(), &simulated.config, wanted.out.as_deref());
        let (traffic, replay) = opened.map_err(failure)?;
        let lines = simulated.differences.iter();
        let text: String = lines.map(|words| format!("simulated: {words}\n")).collect();
        let fields = json!({ "differences": simulated.differences });
        log.block(NoticeLevel::Info, "simulated", &text, &fields);
        Ok(Some(Self {
            options,
            traffic: Some(traffic),
            replay,
        }))
    }

    /// Runs the gateway.
    pub(crate) fn run(
        &mut self,
        config: GatewayConfig,
        options: &RunOptions,
        listener: &Listener<'_>,
    ) -> Result<RunSummary, RunError> {
        let (simulation, traffic) = (self.options.clone(), self.traffic.take());
        run_simulated(config, &kinds(), options, simulation, traffic, listener)
    }

    /// Reports what became of the frames of the log.
    pub(crate) fn finish(self, log: &ErrorLog) -> Result<(), Failure> {
        let Some(sums) = self.replay.finish().map_err(failure)? else {
            return Ok(());
        };
        let fields = serde_json::to_value(&sums).unwrap_or(Value::Null);
        log.block(NoticeLevel::Info, "replay", &words(&sums), &fields);
        if sums.log.frames == 0 {
            return Err(failure(Error::EmptyLog));
        }
        Ok(())
    }
}

/// Returns sentences for people.
fn words(sums: &ReplaySums) -> String {
    let log = &sums.log;
    let mut text = format!(
        "replay: {} frames in the log, {} sent on the buses\n",
        log.frames, sums.on_the_bus
    );
    if log.answers > 0 {
        text.push_str(&format!("replay: {} answers came in time\n", log.answers));
    }
    let unsent = sums.not_sent + sums.waiting;
    if unsent > 0 {
        text.push_str(&format!(
            "replay: {unsent} frames were not sent: their sender's queue was full, or they still \
             waited at the end\n"
        ));
    }
    for (why, frames) in &log.left_out {
        text.push_str(&format!(
            "replay: {frames} frames were not replayed: {why}\n"
        ));
    }
    if log.bad_lines > 0 {
        let first = log.first_bad.first().map_or("", String::as_str);
        text.push_str(&format!(
            "replay: {} bad lines, such as {first}\n",
            log.bad_lines
        ));
    }
    for sentence in log.absent() {
        text.push_str(&format!("replay: {sentence}\n"));
    }
    text
}

/// Returns the failure of a replay.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::ReadLog { path, source } => Failure::file("read", &path, &source),
        Error::Write { path, source } => Failure::file("write", &path, &source),
        error if error.is_input() => Failure::Input(with_causes(&error)),
        error => Failure::run(error),
    }
}
