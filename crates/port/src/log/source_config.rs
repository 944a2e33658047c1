//! What to replay, and how.

use super::due::Replay;
use logs::{Format, InterfaceName};

/// What happens to frames that are due while a destination has no room for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnFull {
    /// They wait, and those behind them too: none is lost, and the log's timing is not kept.
    #[default]
    Wait,
    /// They are refused and counted: the timing is kept.
    Refuse,
}

/// What to replay, and how.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SourceConfig {
    /// The format; `None`: the one that the beginning of the log tells.
    pub format: Option<Format>,
    /// Only lines of this interface.
    pub interface: Option<InterfaceName>,
    /// How fast.
    pub replay: Replay,
    /// Stop at the first bad line instead of leaving it out.
    pub strict: bool,
    /// What to do while a destination has no room.
    pub on_full: OnFull,
}
