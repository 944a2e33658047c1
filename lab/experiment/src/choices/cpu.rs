//! The speed of the guest's processor, and the gateway's controllers.

use super::word::{WordError, number};
use guest::machine::BitcanController;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The guest's processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cpu {
    /// Shift 1 (2 ns per instruction), sja1000 controllers.
    Pc,
    /// Shift 2 (4 ns per instruction), mscan controllers: the papers' MPC5200 board.
    Board,
    /// This shift, other than 2, mscan controllers: a board whose processor is slower or faster.
    BoardAt(u8),
    /// This shift, sja1000 controllers.
    Shift(u8),
}

impl Cpu {
    /// Returns the shift: an instruction takes 2^shift ns.
    #[must_use]
    pub const fn shift(self) -> u8 {
        match self {
            Self::Pc => 1,
            Self::Board => 2,
            Self::BoardAt(shift) | Self::Shift(shift) => shift,
        }
    }

    /// Returns the gateway's controllers on the timed bench.
    #[must_use]
    pub const fn controller(self) -> BitcanController {
        match self {
            Self::Board | Self::BoardAt(_) => BitcanController::Mscan,
            Self::Pc | Self::Shift(_) => BitcanController::Sja1000,
        }
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pc => f.write_str("pc"),
            Self::Board => f.write_str("board"),
            Self::BoardAt(shift) => write!(f, "board:{shift}"),
            Self::Shift(shift) => write!(f, "shift:{shift}"),
        }
    }
}

impl FromStr for Cpu {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        const KINDS: &str = "pc, board, board:0 to board:10, shift:0 to shift:10";
        let unknown = || WordError::unknown(text, "processor", KINDS);
        let shift = |digits| number(digits, 0, 10, "shift").map_err(|_| unknown());
        match text.split_once(':') {
            None if text == "pc" => Ok(Self::Pc),
            None if text == "board" => Ok(Self::Board),
            Some(("shift", digits)) => Ok(Self::Shift(shift(digits)?)),
            Some(("board", digits)) => Ok(match shift(digits)? {
                // Each experiment has exactly one name.
                2 => Self::Board,
                shift => Self::BoardAt(shift),
            }),
            _ => Err(unknown()),
        }
    }
}
