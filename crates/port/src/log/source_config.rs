//! Configuration of a log's replay.

use super::due::ReplaySpeed;
use logs::{FileFormat, InterfaceName};

/// The treatment of frames that are due while a destination has no room for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnFull {
    /// They wait, and those behind them wait too: none is lost, and the log's timing is not kept.
    #[default]
    Wait,
    /// They are refused and counted: the timing is kept.
    Refuse,
}

/// The configuration of a log's replay.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SourceConfig {
    /// The format; `None`: it is recognised from the beginning of the log.
    pub format: Option<FileFormat>,
    /// Interface whose lines are replayed; `None`: all.
    pub interface: Option<InterfaceName>,
    /// Speed of the replay.
    pub replay: ReplaySpeed,
    /// Whether to stop at the first bad line instead of leaving it out.
    pub strict: bool,
    /// Treatment of due frames while a destination has no room.
    pub on_full: OnFull,
}
