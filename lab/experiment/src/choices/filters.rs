//! The filters of the gateway.

use super::word::{WordError, WordKind, WordMeaning, number};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The filters of the gateway. With a count, the last rule is the one that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterChoice {
    /// No filter: one rule for all frames.
    None,
    /// Rules for one SFF ID each (`ID:C00007FF`), which the kernel keeps in a table.
    Sff(u32),
    /// Rules for one ID in either format (`ID:7FF`), which the kernel keeps in a list.
    List(u32),
    /// Rules for one EFF ID each (`ID:DFFFFFFF`), which the kernel hashes.
    Eff(u32),
}

/// The maximum number of filters: the number of SFF identifiers.
pub const MOST_FILTERS: u32 = 2048;
/// The maximum number of rules for EFF identifiers; see [`Experiment::check`] for the gateways that
/// can have them.
///
/// [`Experiment::check`]: crate::Experiment::check
pub const MAX_EFF: u32 = 100_000;

impl FilterChoice {
    /// Returns the number of rules; `None` for [`FilterChoice::None`].
    #[must_use]
    pub const fn count(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Sff(n) | Self::List(n) | Self::Eff(n) => Some(n),
        }
    }
}

impl WordKind for FilterChoice {
    const KIND: &'static str = "set of filters";
    const WORDS: &'static [WordMeaning] = &[
        (
            "none",
            &["One rule that takes all frames. Example: --filters none"],
        ),
        (
            "sff:N",
            &[
                "N rules, each for one SFF ID; can-gw keeps them in a table. \
                Example with a rule for each SFF ID: --filters sff:2048",
            ],
        ),
        (
            "list:N",
            &[
                "N rules, each for one ID in SFF or EFF; can-gw searches them one after the other. \
                Example with a long list: --filters list:2048",
            ],
        ),
        (
            "eff:N",
            &["N rules, each for one EFF ID; can-gw hashes them. Example: --filters eff:512"],
        ),
    ];
}

impl fmt::Display for FilterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Sff(n) => write!(f, "sff:{n}"),
            Self::List(n) => write!(f, "list:{n}"),
            Self::Eff(n) => write!(f, "eff:{n}"),
        }
    }
}

impl FromStr for FilterChoice {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let up_to = |n, most| number(n, 1..=most, "number of filters");
        let count = |n| up_to(n, MOST_FILTERS);
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            Some(("sff", n)) => Ok(Self::Sff(count(n)?)),
            Some(("list", n)) => Ok(Self::List(count(n)?)),
            Some(("eff", n)) => Ok(Self::Eff(up_to(n, MAX_EFF)?)),
            _ => Err(WordError::unknown::<Self>(text)),
        }
    }
}
