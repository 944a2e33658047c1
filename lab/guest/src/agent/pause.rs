//! Stopping the machine at an exact instruction, so that the host can save it.

use super::error::AgentError;
use crate::program;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Stops the machine for the host to save it. Continues in every machine that is restored from the
/// saved state.
pub(super) fn pause() -> Result<(), AgentError> {
    // In virtual time, waiting costs nothing.
    std::thread::sleep(SETTLING_TIME);
    let ports = open_ports()?;
    let write = |what: u8| write_port(&ports, what);
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
    // first case is the usual one, and the only one that is kept.
    let moved = stopped > plain * 4 || plain * 4 > LONGEST_PLAIN;
    write(if moved { CRASH_LOADED } else { PANICKED })
}

/// Stops the machine for the host to save it, in the host's time. Every machine that is restored
/// from the saved state takes the current time from its clock chip, which follows the host's clock.
pub(super) fn pause_at_any_time() -> Result<(), AgentError> {
    std::thread::sleep(SETTLING_TIME);
    write_port(&open_ports()?, PANICKED)?;
    program::output(None, &["hwclock", "--hctosys", "--utc"])?;
    Ok(())
}

fn open_ports() -> Result<File, AgentError> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .open("/dev/port")
        .map_err(AgentError::Pause)
}

fn write_port(ports: &File, what: u8) -> Result<(), AgentError> {
    ports
        .write_all_at(&[what], PANIC_PORT)
        .map_err(AgentError::Pause)
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
