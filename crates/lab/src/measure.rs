//! An experiment, inside the guest: gateway and load are started, the tester is called, and what
//! it saw is held against what the gateway itself counted.

mod account;
mod command;
mod gateway;
mod load;

use crate::agent::Outputs;
use crate::experiment::{Experiment, Gateway, Load, TrafficKind};
use crate::gateway::sent_id;
use crate::machine::Bench;
use crate::trial::{self, BITRATE, DATA_BITRATE, RESULTS};
use frame::flags;
use frame::wire::BitRate;
use probe::Description;
use std::time::Duration;
use tester::{Bitcan, Buses, Interfaces, Measure, Outcome, Plan, Setup, Traffic};

/// A frame that is not back so long after it went in is lost, ns (gateway-2011 §2.1).
const TIMEOUT: u64 = 1_000_000_000;
/// Frames before those that count: what the kernel does for a first frame only is over then.
const WARM_UP: u32 = 20;
/// The tester's real-time priority. On one processor it must be below the gateway's (90), or
/// what the tester does after sending is added to the gateway's latency.
const PRIORITY: u8 = 10;
/// How long the gateway has to send what waits, and to count it.
const PAUSE: Duration = Duration::from_millis(500);
/// How many times as long at most.
const PAUSES: u32 = 20;
/// Routes in a file that takes cangate longer than saving a guest does.
const MANY: u32 = 4096;
/// What counting has left to be cleared away shall be no load of the measurement.
const SETTLE: Duration = Duration::from_millis(100);

/// Makes the experiment and hands out its results.
///
/// # Errors
/// Words for people: what could not be had, or which counts do not agree.
pub fn in_guest(experiment: &Experiment, outputs: &mut Outputs) -> Result<(), String> {
    let prepared = prepare(experiment)?;
    measure(prepared, experiment, outputs)
}

/// What makes a guest one that has been through [`prepare`], where that takes so long that a
/// guest in this state is worth keeping: many rules or routes. Experiments with the same text can start
/// from the same prepared guest.
#[must_use]
pub fn preparation(experiment: &Experiment) -> Option<String> {
    // Debian's cangw is started for each rule; cangate reads a file.
    let many = match experiment.gateway {
        Gateway::Cangw => 64,
        _ => MANY,
    };
    if experiment.filters.count()? < many {
        return None;
    }
    gateway::config(experiment).ok()
}

/// Starts the gateway.
///
/// # Errors
/// Words for people.
pub fn prepare(experiment: &Experiment) -> Result<Prepared, String> {
    gateway::UnderTest::start(experiment).map(Prepared)
}

/// A guest whose gateway runs.
pub struct Prepared(gateway::UnderTest);

/// Measures in a prepared guest, and hands out the results.
///
/// # Errors
/// Words for people: what could not be had, or which counts do not agree.
pub fn measure(
    Prepared(under_test): Prepared,
    experiment: &Experiment,
    outputs: &mut Outputs,
) -> Result<(), String> {
    let setup = setup(experiment)?;
    let load = load::start(experiment.load)?;
    if load.is_some() {
        // What counts and looks on must not wait behind the load's 400 tasks; what comes of the
        // priority is told by the tester, which asks for the same.
        let _ = tester::prepare(Some(PRIORITY));
    }
    std::thread::sleep(SETTLE);
    warm_up(experiment, &setup)?;
    let before = under_test.counts()?;
    std::thread::sleep(SETTLE);
    let mut outcome = send(experiment, &setup)?;
    // Every frame is back or given up by now; what is still on its way wants an acknowledgement.
    let listening = (experiment.bench == Bench::Timed).then(tester::Listening::begin);
    let listening = listening
        .transpose()
        .map_err(|e| format!("the tester: {e}"))?;
    drop(load);
    // A frame that was given up can still be on its way, behind all that the load left.
    let mut found = Err(String::new());
    for _ in 0..PAUSES {
        std::thread::sleep(PAUSE);
        let counts = under_test.counts()?.since(&before);
        found = account::check(experiment, &outcome, &counts);
        if found.is_ok() || outcome.failure.is_some() {
            break;
        }
    }
    drop(listening);
    under_test.stop();
    for warning in &outcome.warnings {
        outputs.log(warning);
    }
    if let Some(failure) = &outcome.failure {
        return Err(failure.clone());
    }
    let description = &mut outcome.results.description;
    description.more.extend(found?);
    for (n, warning) in (1..).zip(&outcome.warnings) {
        description
            .more
            .push((format!("remark {n}"), warning.clone()));
    }
    description.blind_spots.push_str("; ");
    description.blind_spots.push_str(blind_spots(experiment));
    let mut bytes = Vec::new();
    probe::results::write_to(&mut bytes, &outcome.results).map_err(|e| e.to_string())?;
    outputs
        .put(RESULTS, &bytes)
        .map_err(|e| format!("the host does not take the results: {e}"))
}

/// What the lab cannot see, beside what the tester says.
fn blind_spots(experiment: &Experiment) -> &'static str {
    match (experiment.real_time, experiment.load) {
        (true, _) => "real time of an emulated machine: nothing but itself to compare it with",
        (false, Load::EthRx | Load::EthTx) => {
            "virtual time counts instructions: no cache misses, no waiting for memory or \
             peripherals; both ends of the Ethernet load share the gateway's processor"
        }
        (false, _) => {
            "virtual time counts instructions: no cache misses, no waiting for memory or peripherals"
        }
    }
}

/// What is to be sent.
pub(crate) fn plan(experiment: &Experiment) -> Plan {
    let id = sent_id(experiment);
    let len = usize::from(experiment.payload);
    Plan {
        traffic: match experiment.traffic {
            TrafficKind::OneAtATime => Traffic::OneAtATime,
            TrafficKind::Percent(percent) => Traffic::Load(percent),
            TrafficKind::Flood => Traffic::Flood,
            TrafficKind::Period(ns) => Traffic::Period(ns),
        },
        frames: experiment.frames,
        ids: (id, id),
        lens: len..=len,
        fd: (len > 8).then_some(flags::BRS),
        seed: experiment.seed,
    }
}

/// The bit rates of the buses; none on buses that take no time.
///
/// # Errors
/// Words for people, where there are no such rates.
pub(crate) fn bit_rate(experiment: &Experiment) -> Result<Option<BitRate>, String> {
    if experiment.bench != Bench::Timed {
        return Ok(None);
    }
    let data = (experiment.payload > 8).then_some(DATA_BITRATE);
    let rate = BitRate::new(BITRATE, data).map_err(|e| e.to_string())?;
    Ok(Some(rate))
}

fn setup(experiment: &Experiment) -> Result<Setup, String> {
    let mut description = Description {
        version: format!("cangate {}", env!("CARGO_PKG_VERSION")),
        config: crate::gateway::shown(&gateway::config(experiment)?),
        ..Description::default()
    };
    trial::describe(&mut description, experiment, &[]);
    Ok(Setup {
        plan: plan(experiment),
        timeout: TIMEOUT,
        priority: Some(PRIORITY),
        virtual_time: !experiment.real_time,
        measure: match experiment.gateway {
            Gateway::None => Measure::Sending,
            Gateway::Cangw | Gateway::User(_) | Gateway::OwnRules | Gateway::Bpf => {
                Measure::Gateway
            }
        },
        description,
        ..Setup::default()
    })
}

fn warm_up(experiment: &Experiment, setup: &Setup) -> Result<(), String> {
    let mut first = setup.clone();
    first.plan.traffic = Traffic::OneAtATime;
    first.plan.frames = WARM_UP;
    let outcome = send(
        &Experiment {
            stamp_every: 1,
            ..experiment.clone()
        },
        &first,
    )?;
    match outcome.failure {
        Some(failure) => Err(format!("while warming up: {failure}")),
        None => Ok(()),
    }
}

fn send(experiment: &Experiment, setup: &Setup) -> Result<Outcome, String> {
    let fd = experiment.payload > 8;
    let outcome = match experiment.bench {
        Bench::Timed => {
            let bench = Bitcan {
                send_bus: 0,
                receive_bus: 1,
                stamp_every: experiment.stamp_every,
                rate: bit_rate(experiment)?,
            };
            tester::over_bitcan(setup, &bench)
        }
        Bench::Kvaser | Bench::Vcan | Bench::None => {
            let gateway = experiment.gateway != Gateway::None;
            let names = Interfaces {
                send: "can0".to_owned(),
                reference: gateway.then(|| "can1".to_owned()),
                receive: if gateway { "can2" } else { "can1" }.to_owned(),
                fd,
                hardware_stamps: false,
            };
            tester::over_sockets(setup, names, Buses::TIMELESS)
        }
    };
    outcome.map_err(|e| format!("the tester: {e}"))
}
