//! Round trips: `cangate ping` over two controllers of one bus, both in the gateway's namespace
//! (drivers-2009 §3.1, Fig. 1).

use super::error::MeasureError;
use super::gateway::{chardev_model, other_controllers, write};
use super::{TIMEOUT, blind_spots, load, tuning};
use crate::choices::Priority;
use crate::describe::describe;
use crate::measurement::TripEnds;
use crate::settings::Experiment;
use crate::spec::{BITRATE, DATA_BITRATE};
use crate::trial::RESULTS;
use crate::under_test::{self, INCOMING, OUTGOING};
use guest::agent::JobOutputs;
use guest::machine::{BenchKind, GATEWAY_NAMESPACE as GATEWAY};
use guest::program::{ProgramError, output};
use probe::RunResults;
use probe::traffic::TrafficPattern;
use std::path::Path;
use std::time::Duration;

const TOML: &str = "/tmp/ports.toml";
pub(super) const TRIPS: &str = "/tmp/trips.parquet";

/// Round trips before those that count: the kernel's work for a first frame only is done after
/// these.
pub(super) const WARM_UP: u32 = 20;
/// The papers' priority of a program (gateway-2011 §3.7); drivers-2009 states no number.
pub(super) const PRIORITY: &str = "90";
/// The exit status of `cangate ping` where answers were missing.
pub(super) const LOSS: i32 = 3;
/// Pause after the set-up, so that the kernel's remaining cleanup does not load the measurement.
pub(super) const SETTLE: Duration = Duration::from_millis(100);

/// Two ends that can be started.
pub(super) struct RoundTrip(TripEnds);

impl RoundTrip {
    /// Puts both controllers on the first bus, and writes the ports' file.
    pub(super) fn prepare(experiment: &Experiment, ends: TripEnds) -> Result<Self, MeasureError> {
        match (experiment.bench, ends) {
            (BenchKind::Timed, TripEnds::Mapped) => {
                other_controllers("mapped", [0, 0])?;
            }
            (BenchKind::Timed, TripEnds::Chardev) => {
                other_controllers(&chardev_model(experiment), [0, 0])?;
            }
            (BenchKind::Timed, TripEnds::Sockets(_)) => on_one_bus(experiment)?,
            (BenchKind::Kvaser | BenchKind::Ctucan, _) => neighbour(experiment)?,
            (BenchKind::Vm | BenchKind::Vcan | BenchKind::None, _) => {}
        }
        write(TOML, &under_test::config(experiment)?)?;
        Ok(Self(ends))
    }

    /// Makes the round trips, and passes the results to the host.
    pub(super) fn measure(
        self,
        experiment: &Experiment,
        outputs: &mut JobOutputs,
    ) -> Result<(), MeasureError> {
        std::thread::sleep(SETTLE);
        ping(experiment, self.0, WARM_UP)?;
        // A character device has its interrupt, and the interrupt its thread, from the first start
        // on.
        tuning::apply(experiment)?;
        let load = load::start(experiment)?;
        std::thread::sleep(SETTLE);
        let mut results = ping(experiment, self.0, experiment.frames)?;
        drop(load);
        let made = results.records.len();
        if made != experiment.frames as usize {
            return Err(MeasureError::RoundTrips {
                asked: experiment.frames,
                made,
            });
        }
        let description = &mut results.description;
        description.config = under_test::abridged(&under_test::config(experiment)?);
        describe(description, experiment, &[]);
        if !experiment.is_real_time() {
            description.time_base = "virtual time (CLOCK_MONOTONIC of the guest)".to_owned();
        }
        description.blind_spots.push_str("; ");
        description.blind_spots.push_str(blind_spots(experiment));
        let mut bytes = Vec::new();
        probe::results::write_to(&mut bytes, &results)?;
        outputs.put(RESULTS, &bytes).map_err(MeasureError::Host)
    }
}

/// Makes `count` round trips. Unanswered ones are in the results.
fn ping(experiment: &Experiment, ends: TripEnds, count: u32) -> Result<RunResults, MeasureError> {
    let period = match experiment.traffic {
        TrafficPattern::Period(ns) => ns / 1000,
        _ => 0,
    };
    let timeout = TIMEOUT / 1_000_000;
    let priority = match experiment.priority {
        Priority::Gateway => PRIORITY,
        Priority::Ordinary | Priority::Softirq => "0",
    };
    let (count, period, timeout, payload) = (
        count.to_string(),
        period.to_string(),
        timeout.to_string(),
        experiment.payload.to_string(),
    );
    let (bitrate, data_bitrate) = (BITRATE.to_string(), DATA_BITRATE.to_string());
    let mut line = vec!["cangate", "ping", "-q"];
    let namespace = match (experiment.bench, ends) {
        // Both ends are on one virtual interface, which two ports of a file cannot share.
        (BenchKind::Vcan, TripEnds::Sockets(ways)) => {
            line.extend(["vcan0", "vcan0", "--receive", ways.receive.key()]);
            line.extend(["--transmit", ways.transmit.key()]);
            None
        }
        _ => {
            line.extend(["--config", TOML, INCOMING, OUTGOING]);
            Some(GATEWAY)
        }
    };
    line.extend(["--count", &count, "--period", &period]);
    line.extend(["--timeout", &timeout, "--payload", &payload]);
    line.extend(["--priority", priority, "--out", TRIPS]);
    if experiment.bench == BenchKind::Timed {
        line.extend(["--bitrate", &bitrate]);
    }
    if experiment.is_fd() {
        line.extend(["--fd", "--brs", "--data-bitrate", &data_bitrate]);
    }
    match output(namespace, &line) {
        Ok(_) => {}
        Err(ProgramError::Failed { status, .. }) if status.code() == Some(LOSS) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(probe::results::read(Path::new(TRIPS))?)
}

/// Moves the second controller of the timed bench to the first one's bus.
fn on_one_bus(experiment: &Experiment) -> Result<(), MeasureError> {
    let model = experiment.cpu.controller().name();
    for order in [
        format!("del {OUTGOING}"),
        format!("add {OUTGOING} bus=0 model={model}"),
    ] {
        let order = format!("echo {order} > /dev/bitcan");
        output(Some(GATEWAY), &["sh", "-c", &order])?;
    }
    start(OUTGOING, experiment)
}

/// Replaces the outgoing card by a card of the tester that is on the gateway's incoming bus.
fn neighbour(experiment: &Experiment) -> Result<(), MeasureError> {
    const CARD: &str = "can1";
    let within = ["ip", "-n", GATEWAY, "link", "set", "dev"];
    output(None, &[&within[..], &[OUTGOING, "down"]].concat())?;
    output(None, &[&within[..], &[OUTGOING, "name", "unused"]].concat())?;
    let here = ["ip", "link", "set", "dev", CARD];
    output(None, &[&here[..], &["down"]].concat())?;
    output(
        None,
        &[&here[..], &["netns", GATEWAY, "name", OUTGOING]].concat(),
    )?;
    start(OUTGOING, experiment)
}

fn start(name: &str, experiment: &Experiment) -> Result<(), MeasureError> {
    let within = ["ip", "-n", GATEWAY, "link", "set", "dev", name];
    let (rate, data_rate) = (BITRATE.to_string(), DATA_BITRATE.to_string());
    let mut how = vec!["type", "can", "bitrate", &rate];
    if experiment.is_fd() {
        how.extend(["dbitrate", &data_rate, "fd", "on"]);
    }
    output(None, &[&within[..], &how].concat())?;
    output(None, &[&within[..], &["up"]].concat())?;
    Ok(())
}
