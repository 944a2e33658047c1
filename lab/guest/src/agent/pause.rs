//! Stopping the machine, so that the host can save it.

use super::error::AgentError;
use super::orders::{BenchOrders, PauseOrder};
use crate::program;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Stops the machine as ordered for the host to save it. Continues in every machine that is
/// restored from the saved state.
pub(super) fn pause(orders: &BenchOrders) -> Result<(), AgentError> {
    let Some(order) = orders.pause else {
        return Ok(());
    };
    // In virtual time, waiting costs nothing.
    std::thread::sleep(SETTLING_TIME + Duration::from_millis(orders.settle.into()));
    let mut options = OpenOptions::new();
    let ports = options.write(true).open("/dev/port");
    let ports = ports.map_err(AgentError::Pause)?;
    let write = |what: u8| {
        let written = ports.write_all_at(&[what], PANIC_PORT);
        written.map_err(AgentError::Pause)
    };
    match order {
        PauseOrder::Exact => stop_exactly(write),
        PauseOrder::AnyTime => {
            write(PANICKED)?;
            // The clock chip follows the host's clock.
            program::output(None, &["hwclock", "--hctosys", "--utc"])?;
            Ok(())
        }
    }
}

/// Stops a machine in virtual time, and reports whether it stopped as it usually does. `write` is a
/// write to the panic device.
fn stop_exactly(write: impl Fn(u8) -> Result<(), AgentError>) -> Result<(), AgentError> {
    // Measures the time of a write that has no effect; the first write takes longer.
    write(0)?;
    let start = Instant::now();
    write(0)?;
    let plain = start.elapsed();
    let start = Instant::now();
    write(PANICKED)?;
    let stopped = start.elapsed();
    // While the processor stops, QEMU's main loop may see it idle and move virtual time on to the
    // next timer, or see that it is stopping and not do so: the order depends on the host. The
    // first case is the usual one, and the only one that is kept. Where the next timer is so near
    // that the two cannot be told apart, each try is refused, and the host tries a later time.
    let moved = stopped > plain * 4 || plain * 4 > LONGEST_PLAIN;
    write(if moved { CRASH_LOADED } else { PANICKED })
}

/// Deferred work of drivers (watching a link, measuring a clock) is done after this time.
const SETTLING_TIME: Duration = Duration::from_secs(3);

/// The only port of QEMU's pvpanic device (docs/specs/pvpanic.rst in its source).
const PANIC_PORT: u64 = 0x505;
/// The guest panicked: the machine stops.
const PANICKED: u8 = 1;
/// The guest panicked and handles this itself: QEMU notifies the host, and the machine continues.
const CRASH_LOADED: u8 = 2;
/// Timer interrupts come every 4 ms at the latest. On a guest's processor so slow that a few writes
/// take that long (shift 9 and 10), the agent cannot determine whether time was moved.
const LONGEST_PLAIN: Duration = Duration::from_millis(3);
