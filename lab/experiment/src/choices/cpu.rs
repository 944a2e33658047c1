//! The speed of the guest's processor, and the gateway's controllers.

use super::word::{WordError, WordKind, WordMeaning, number};
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

impl WordKind for Cpu {
    const KIND: &'static str = "processor";
    const WORDS: &'static [WordMeaning] = &[
        (
            "pc",
            &[
                "A fast processor: 2 ns for each instruction; SJA1000 controllers. Example: --cpu pc",
            ],
        ),
        (
            "board",
            &[
                "The papers' board: 4 ns for each instruction; MSCAN controllers. Example: --cpu board",
            ],
        ),
        (
            "board:N",
            &[
                "A board of another speed: 2^N ns for each instruction, N from 0 to 10; MSCAN controllers. \
                Example with 16 ns: --cpu board:4",
            ],
        ),
        (
            "shift:N",
            &[
                "A processor of another speed: 2^N ns for each instruction, N from 0 to 10; SJA1000 \
                controllers. Example with 8 ns: --cpu shift:3",
            ],
        ),
    ];
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
        let shift = |digits| number(digits, 0..=10, "shift");
        match text.split_once(':') {
            None if text == "pc" => Ok(Self::Pc),
            None if text == "board" => Ok(Self::Board),
            Some(("shift", digits)) => Ok(Self::Shift(shift(digits)?)),
            Some(("board", digits)) => Ok(match shift(digits)? {
                // Each experiment has exactly one name.
                2 => Self::Board,
                shift => Self::BoardAt(shift),
            }),
            _ => Err(WordError::unknown::<Self>(text)),
        }
    }
}
