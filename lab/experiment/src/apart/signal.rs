//! The signals between the machines of an experiment.

use frame::CanId;

/// A step that a machine has done, or asks another one to do. Each is sent once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepSignal {
    /// The Ethernet load is to begin.
    LoadBegins,
    /// The Ethernet load is there.
    LoadRuns,
    /// The gateway is ready: the tester sends the frames that do not count.
    WarmUp,
    /// They are back.
    Warm,
    /// The gateway has counted: the tester sends the frames that count.
    Measure,
    /// They are back or given up.
    Sent,
    /// The Ethernet load is to end.
    LoadEnds,
}

impl StepSignal {
    /// Returns the CAN ID of the frame that is the signal.
    #[must_use]
    pub const fn id(self) -> CanId {
        CanId::from_raw(match self {
            Self::LoadBegins => 1,
            Self::LoadRuns => 2,
            Self::WarmUp => 3,
            Self::Warm => 4,
            Self::Measure => 5,
            Self::Sent => 6,
            Self::LoadEnds => 7,
        })
    }
}
