//! The load on the gateway's machine (gateway-2011 §2.2).

use super::error::MeasureError;
use crate::choices::MachineLoad;
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::BackgroundProgram;
use std::time::Duration;

/// Time for a load to start, of the guest's time. A loaded guest costs the host twenty times its
/// time, so this is not much longer than hackbench needs to start all its tasks.
const GET_GOING: Duration = Duration::from_millis(300);

/// Starts the load; it ends when the returned value is dropped.
pub(super) fn start(load: MachineLoad) -> Result<Option<BackgroundProgram>, MeasureError> {
    let (namespace, line): (_, &[&str]) = match load {
        MachineLoad::None => return Ok(None),
        // hackbench's own number of tasks (400); enough loops to outlast every experiment.
        MachineLoad::Cpu => (Some(GATEWAY), &["hackbench", "-l", "1000000000"]),
        MachineLoad::EthRx => (None, &["ping", "-f", "-q", "-s", "60000", "192.0.2.2"]),
        MachineLoad::EthTx => (
            Some(GATEWAY),
            &["ping", "-f", "-q", "-s", "60000", "192.0.2.1"],
        ),
    };
    let mut running = BackgroundProgram::start(namespace, line, "/tmp/load")?;
    std::thread::sleep(GET_GOING);
    match running.ended() {
        Some(ended) => Err(MeasureError::LoadEnded(ended)),
        None => Ok(Some(running)),
    }
}
