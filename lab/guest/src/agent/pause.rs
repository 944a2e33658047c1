//! Stopping the machine at an exact instruction, so that the host can save it.

use super::error::AgentError;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Stops the machine for the host to save it; goes on in every machine that is restored from
/// what was saved.
pub(super) fn pause() -> Result<(), AgentError> {
    // What drivers put off until later (a link that is watched, a clock that is measured) is done
    // by then; in virtual time waiting costs nothing.
    std::thread::sleep(Duration::from_secs(3));
    let ports = OpenOptions::new()
        .write(true)
        .open("/dev/port")
        .map_err(AgentError::Pause)?;
    let write = |what: u8| {
        let written = ports.write_all_at(&[what], PANIC_PORT);
        written.map_err(AgentError::Pause)
    };
    // How long a write takes that has no effect; the first one takes longer.
    write(0)?;
    let start = Instant::now();
    write(0)?;
    let plain = start.elapsed();
    let start = Instant::now();
    write(PANICKED)?;
    let stopped = start.elapsed();
    // While the processor stops, QEMU's main loop may see it idle and move virtual time on to the
    // next timer, or see that it stops and not do so: which of the two comes first is the host's
    // doing. The first is the usual one, and the only one that is kept.
    let moved = stopped > plain * 4 || plain * 4 > LONGEST_PLAIN;
    write(if moved { CRASH_LOADED } else { PANICKED })
}

/// The only port of QEMU's pvpanic device (docs/specs/pvpanic.rst in its source).
const PANIC_PORT: u64 = 0x505;
/// The guest panicked: the machine stops.
const PANICKED: u8 = 1;
/// The guest panicked and sees to it itself: the host is told, and the machine goes on.
const CRASH_LOADED: u8 = 2;
/// Timer interrupts come every 4 ms at the latest. On a guest's processor so slow that a few
/// writes take that long (shift 9 and 10) it cannot be told whether time was moved.
const LONGEST_PLAIN: Duration = Duration::from_millis(3);
