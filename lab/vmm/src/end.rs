//! The end of a machine.

use crate::error::VmmError;
use std::sync::mpsc::Sender;

/// The way in which a machine ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineEnd {
    /// It reset itself.
    Reset,
    /// Its processor could not go on (a triple fault).
    Shutdown,
}

/// A sender that notifies the main thread of the machine's end.
#[derive(Clone)]
pub(crate) struct EndNotice(Sender<Result<MachineEnd, VmmError>>);

impl EndNotice {
    pub(crate) const fn new(to: Sender<Result<MachineEnd, VmmError>>) -> Self {
        Self(to)
    }

    pub(crate) fn ended(&self, how: Result<MachineEnd, VmmError>) {
        // If the machine has ended already, there is no receiver any more.
        let _ = self.0.send(how);
    }
}
