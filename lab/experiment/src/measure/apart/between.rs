//! The machine of the gateway, between two cards: what a guest does with both, without the tester.

use super::signals::SignalLink;
use crate::apart::{COUNTS, StepSignal};
use crate::measure::counts::GatewayCounts;
use crate::measure::error::MeasureError;
use crate::measure::gateway::UnderTest;
use crate::measure::{PAUSE, PAUSES, PRIORITY, SETTLE, load, tuning};
use crate::measurement::Measurement;
use crate::settings::Experiment;
use crate::under_test::{INCOMING, OUTGOING};
use guest::agent::JobOutputs;
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::output;

pub(super) fn run(experiment: &Experiment, outputs: &mut JobOutputs) -> Result<(), MeasureError> {
    let Measurement::Gateway(gateway) = experiment.measurement()? else {
        let why = "only a gateway is between two cards of machines in step";
        return Err(MeasureError::Run(why.to_owned()));
    };
    let mut signals = SignalLink::open()?;
    namespace()?;
    let under_test = UnderTest::start(experiment, gateway)?;
    tuning::apply(experiment)?;
    let load = load::start(experiment)?;
    if load.is_some() {
        // As in a guest with the tester: counting must not wait behind the load's 400 tasks.
        let _ = tester::prepare(Some(PRIORITY));
    }
    std::thread::sleep(SETTLE);
    signals.send(StepSignal::WarmUp)?;
    signals.wait(StepSignal::Warm)?;
    let before = under_test.counts()?;
    std::thread::sleep(SETTLE);
    signals.send(StepSignal::Measure)?;
    signals.wait(StepSignal::Sent)?;
    drop(load);
    let counts = at_rest(&under_test)?.since(&before);
    under_test.stop();
    let text = serde_json::to_vec(&counts).map_err(MeasureError::PartCounts)?;
    outputs.put(COUNTS, &text).map_err(MeasureError::Host)
}

/// Puts the gateway's interfaces into its namespace, as on the benches.
fn namespace() -> Result<(), MeasureError> {
    output(None, &["ip", "netns", "add", GATEWAY])?;
    output(None, &["ip", "-n", GATEWAY, "link", "set", "lo", "up"])?;
    for name in [INCOMING, OUTGOING] {
        output(None, &["ip", "link", "set", "dev", name, "netns", GATEWAY])?;
        output(
            None,
            &["ip", "-n", GATEWAY, "link", "set", "dev", name, "up"],
        )?;
    }
    Ok(())
}

/// Returns the counts when they do not change any more: a frame that was given up can still be on
/// its way, behind all the work that the load left.
fn at_rest(under_test: &UnderTest) -> Result<GatewayCounts, MeasureError> {
    let mut counts = under_test.counts()?;
    for _ in 0..PAUSES {
        std::thread::sleep(PAUSE);
        let before = std::mem::replace(&mut counts, under_test.counts()?);
        if before == counts {
            break;
        }
    }
    Ok(counts)
}
