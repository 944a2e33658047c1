//! An experiment, inside the guest: gateway and load are started, the tester is called, and its
//! observations are compared with the gateway's own counts.

pub(crate) mod apart;
mod balance;
mod beside;
mod counts;
mod error;
mod gateway;
mod incident;
mod kernel_counts;
mod load;
mod nested;
mod receiving;
mod round_trip;
mod sharing;
mod tuning;

use counts::GatewayCounts;

pub use counts::CountsError;
pub use error::MeasureError;

use crate::choices::{GatewayChoice, MachineLoad};
use crate::describe::describe;
use crate::measurement::{Measurement, ProgramTask};
use crate::plan::{bit_rate, plan};
use crate::settings::Experiment;
use crate::trial::RESULTS;
use crate::under_test::{self, INCOMING, OUTGOING};
use guest::agent::JobOutputs;
use guest::machine::BenchKind;
use nested::NestedProgram;
use probe::RunDescription;
use probe::traffic::TrafficPattern;
use receiving::SharingPeer;
use round_trip::RoundTrip;
use std::time::Duration;
use tester::{BusTimes, LatencyMeasure, TestSetup, TesterInterfaces, TesterOutcome, TimedBench};

/// A frame that is not back after this time is lost, ns (gateway-2011 §2.1).
const TIMEOUT: u64 = 1_000_000_000;
/// Frames before those that count: the kernel's work for a first frame only is done after these.
const WARM_UP: u32 = 20;
/// The tester's real-time priority. On one processor it must be below the gateway's (90), or the
/// tester's work after sending is added to the gateway's latency.
const PRIORITY: u8 = 10;
/// Time given to the gateway to send waiting frames, and to count them.
const PAUSE: Duration = Duration::from_millis(500);
/// The maximum number of these pauses.
const PAUSES: u32 = 20;
/// Pause after counting, so that the kernel's remaining cleanup does not load the measurement.
const SETTLE: Duration = Duration::from_millis(100);

/// Starts the gateway, or prepares both ends of a round trip.
///
/// # Errors
/// [`MeasureError`]: it does not start.
pub fn prepare(experiment: &Experiment) -> Result<PreparedGuest, MeasureError> {
    let ready = match experiment.measurement()? {
        Measurement::Gateway(gateway) => {
            let under_test = gateway::UnderTest::start(experiment, gateway)?;
            tuning::apply(experiment)?;
            ReadyBench::Gateway(under_test)
        }
        Measurement::Image(_) => {
            let why = "an image runs in place of a guest, not in one";
            return Err(MeasureError::Run(why.to_owned()));
        }
        Measurement::RoundTrip(ends) => ReadyBench::Ends(RoundTrip::prepare(experiment, ends)?),
        Measurement::Program(program) => match program.task {
            ProgramTask::RoundTrip | ProgramTask::Loop => {
                ReadyBench::Nested(Box::new(NestedProgram::prepare(experiment, program)?))
            }
            ProgramTask::Receive => {
                ReadyBench::Receiver(Box::new(SharingPeer::prepare(experiment, program.way)?))
            }
        },
    };
    Ok(PreparedGuest(ready))
}

/// A guest in which a measurement can begin.
pub struct PreparedGuest(ReadyBench);

enum ReadyBench {
    Gateway(gateway::UnderTest),
    Ends(RoundTrip),
    Nested(Box<NestedProgram>),
    Receiver(Box<SharingPeer>),
}

/// Measures in a prepared guest, and passes the results to the host.
///
/// # Errors
/// [`MeasureError`]: a missing resource, or counts that do not agree.
pub fn measure(
    PreparedGuest(ready): PreparedGuest,
    experiment: &Experiment,
    outputs: &mut JobOutputs,
) -> Result<(), MeasureError> {
    match ready {
        ReadyBench::Gateway(under_test) => latencies(under_test, experiment, outputs),
        ReadyBench::Ends(ends) => ends.measure(experiment, outputs),
        ReadyBench::Nested(nested) => nested.measure(experiment, outputs),
        ReadyBench::Receiver(receiver) => receiver.measure(experiment, outputs),
    }
}

fn latencies(
    under_test: gateway::UnderTest,
    experiment: &Experiment,
    outputs: &mut JobOutputs,
) -> Result<(), MeasureError> {
    let setup = setup(experiment)?;
    let load = load::start(experiment)?;
    if load.is_some() {
        // Reading counters and observing must not wait behind the load's 400 tasks; a failure to
        // set the priority is reported by the tester, which requests the same.
        let _ = tester::prepare(Some(PRIORITY));
    }
    std::thread::sleep(SETTLE);
    warm_up(experiment, &setup)?;
    let before = under_test.counts()?;
    std::thread::sleep(SETTLE);
    let mut outcome = send(experiment, &setup)?;
    // Every frame is back or given up by now; a frame that is still on its way needs a node that
    // acknowledges it.
    let listening = (experiment.bench == BenchKind::Timed).then(tester::ListeningTester::begin);
    let listening = listening.transpose()?;
    drop(load);
    // A frame that was given up can still be on its way, behind all the work that the load left.
    let mut balance = Ok(vec![]);
    for _ in 0..PAUSES {
        std::thread::sleep(PAUSE);
        let counts = under_test.counts()?.since(&before);
        balance = balance::check(experiment, &outcome, &counts);
        if balance.is_ok() || outcome.failure.is_some() {
            break;
        }
    }
    drop(listening);
    under_test.stop();
    for warning in &outcome.warnings {
        outputs.log(warning);
    }
    if let Some(failure) = &outcome.failure {
        return Err(MeasureError::Run(failure.clone()));
    }
    let bytes = finished(experiment, &mut outcome, balance?)?;
    outputs.put(RESULTS, &bytes).map_err(MeasureError::Host)
}

/// Compares the observations of an image's tester with the image's own counts, and returns the
/// results' file.
///
/// # Errors
/// [`MeasureError`]: the counts that do not agree.
pub(crate) fn accounted(
    experiment: &Experiment,
    mut outcome: TesterOutcome,
    counters: Option<&str>,
) -> Result<Vec<u8>, MeasureError> {
    if let Some(failure) = &outcome.failure {
        return Err(MeasureError::Run(failure.clone()));
    }
    let mut counts = GatewayCounts::default();
    counts.image(counters.unwrap_or_default())?;
    let more = balance::check(experiment, &outcome, &counts)?;
    finished(experiment, &mut outcome, more)
}

/// Returns the results' file, with all entries known by now.
fn finished(
    experiment: &Experiment,
    outcome: &mut TesterOutcome,
    more: Vec<(String, String)>,
) -> Result<Vec<u8>, MeasureError> {
    let description = &mut outcome.results.description;
    description.more.extend(more);
    for (n, warning) in (1..).zip(&outcome.warnings) {
        description
            .more
            .push((format!("remark {n}"), warning.clone()));
    }
    description.blind_spots.push_str("; ");
    description.blind_spots.push_str(blind_spots(experiment));
    let mut bytes = Vec::new();
    probe::results::write_to(&mut bytes, &outcome.results)?;
    Ok(bytes)
}

/// Returns the effects that the lab cannot see, in addition to those that the tester states.
fn blind_spots(experiment: &Experiment) -> &'static str {
    if experiment.gateway.is_bare() {
        return "virtual time counts instructions: no cache misses, no waiting for memory or peripherals; \
                the bus stands still while the bench inside the image computes";
    }
    match (experiment.is_real_time(), experiment.load) {
        (true, _) => "real time of an emulated machine: nothing but itself to compare it with",
        (false, MachineLoad::EthRx | MachineLoad::EthTx) if !experiment.is_apart() => {
            "virtual time counts instructions: no cache misses, no waiting for memory or \
             peripherals; both ends of the Ethernet load share the gateway's processor"
        }
        (false, _) => {
            "virtual time counts instructions: no cache misses, no waiting for memory or peripherals"
        }
    }
}

pub(crate) fn setup(experiment: &Experiment) -> Result<TestSetup, MeasureError> {
    let mut description = RunDescription {
        version: format!("cangate {}", env!("CARGO_PKG_VERSION")),
        config: under_test::abridged(&under_test::config(experiment)?),
        ..RunDescription::default()
    };
    describe(&mut description, experiment, &[]);
    Ok(TestSetup {
        plan: plan(experiment),
        timeout: TIMEOUT,
        priority: Some(PRIORITY),
        virtual_time: !experiment.is_real_time(),
        measure: match experiment.gateway {
            GatewayChoice::None => LatencyMeasure::Sending,
            _ => LatencyMeasure::Gateway,
        },
        description,
        ..TestSetup::default()
    })
}

fn warm_up(experiment: &Experiment, setup: &TestSetup) -> Result<(), MeasureError> {
    let mut first = setup.clone();
    first.plan.traffic = TrafficPattern::OneAtATime.into();
    first.plan.beside.clear();
    first.plan.frames = WARM_UP;
    let outcome = send(
        &Experiment {
            stamp_every: 1,
            ..experiment.clone()
        },
        &first,
    )?;
    match outcome.failure {
        Some(failure) => Err(MeasureError::WarmUp(failure)),
        None => Ok(()),
    }
}

fn send(experiment: &Experiment, setup: &TestSetup) -> Result<TesterOutcome, MeasureError> {
    let fd = experiment.is_fd();
    if experiment.is_between_cards() {
        return send_on_cards(experiment, setup);
    }
    let outcome = match experiment.bench {
        BenchKind::Timed | BenchKind::Vm => {
            let bench = TimedBench {
                send_bus: 0,
                receive_bus: 1,
                stamp_every: experiment.stamp_every,
                rate: bit_rate(experiment)?,
            };
            tester::over_bitcan(setup, &bench)
        }
        BenchKind::Kvaser | BenchKind::Ctucan | BenchKind::Vcan | BenchKind::None => {
            let (reference, receive) = match experiment.gateway {
                GatewayChoice::None => (None, "can1"),
                // Also on the incoming bus.
                GatewayChoice::Ideal => (Some("can1"), INCOMING),
                _ => (Some("can1"), "can2"),
            };
            let names = TesterInterfaces {
                send: "can0".to_owned(),
                reference: reference.map(str::to_owned),
                receive: receive.to_owned(),
                fd,
                hardware_stamps: false,
                rate: None,
            };
            tester::over_sockets(setup, names, BusTimes::TIMELESS)
        }
    };
    Ok(outcome?)
}

/// Sends from a machine with a card on each of the gateway's buses, which take time.
fn send_on_cards(
    experiment: &Experiment,
    setup: &TestSetup,
) -> Result<TesterOutcome, MeasureError> {
    let rate = bit_rate(experiment)?;
    let mut setup = setup.clone();
    if setup.plan.traffic == TrafficPattern::Flood.into() {
        setup.plan.traffic = apart::flood(&setup.plan, rate).map_err(tester::Error::from)?;
    }
    let names = TesterInterfaces {
        send: INCOMING.to_owned(),
        reference: None,
        receive: OUTGOING.to_owned(),
        fd: experiment.is_fd(),
        hardware_stamps: false,
        rate: None,
    };
    let buses = BusTimes {
        incoming: rate,
        outgoing: rate,
    };
    Ok(tester::over_sockets(&setup, names, buses)?)
}
