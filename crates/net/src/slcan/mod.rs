//! slcan: text lines, each ended by a carriage return.
//!
//! The lines are those of Lawicel's CAN232 (manual of 2010), with the FD lines `d D b B` of CANable
//! and of python-can. A frame is a letter, the identifier in 3 or 8 hex digits, the DLC in one, and
//! the payload in hex. There is no ESI.
//!
//! | letter | frame |
//! |---|---|
//! | `t`, `T` | classic, 11 and 29 bits |
//! | `r`, `R` | remote |
//! | `d`, `D` | FD without BRS |
//! | `b`, `B` | FD with BRS |

mod client;
mod line;
mod server;

use crate::{StreamEnd, StreamStep};

pub use crate::bus_frame::is_bus_frame as carries;
pub use client::SlcanClient;
pub use server::SlcanServer;

/// Greatest length of a line, bytes: an FD frame with a stamp of 4 digits, and some blanks.
const LONGEST: usize = 1 + 8 + 1 + 128 + 4 + 8;

/// Returns the place of a line's end. `Err`: more bytes are needed, or the line is too long,
/// however it was divided.
fn find_end(input: &[u8], is_end: impl Fn(u8) -> bool) -> Result<usize, StreamStep> {
    let line = &input[..input.len().min(LONGEST)];
    match line.iter().position(|byte| is_end(*byte)) {
        Some(end) => Ok(end),
        None if input.len() < LONGEST => Err(StreamStep::More),
        None => Err(StreamStep::End(StreamEnd::Foreign(
            "a line that is too long",
        ))),
    }
}

/// The end of a line.
const END: u8 = b'\r';

/// The answer to a line that is refused.
const BELL: u8 = 7;

/// The codes of bit rates: `S0` to `S8`.
pub const BIT_RATES: [u32; 9] = [
    10_000, 20_000, 50_000, 100_000, 125_000, 250_000, 500_000, 800_000, 1_000_000,
];
