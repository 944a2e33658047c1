//! The parts of a port that depend on its environment: access to the controller and its interrupt.

use crate::Controller;
use alloc::boxed::Box;

/// Reason why a controller is lost, as reported by the backend.
pub type Lost = Box<dyn core::error::Error + Send + Sync>;

/// A controller, and a way to wait for its interrupt.
///
/// Dropping it stops the controller and releases its resources.
pub trait ControllerBackend: Send {
    /// Returns the controller.
    fn controller(&mut self) -> &mut dyn Controller;

    /// Returns whether it was opened with an interrupt.
    fn waits(&self) -> bool;

    /// Consumes pending interrupts; returns false if there was none since the last call.
    ///
    /// # Errors
    /// The system's error; the controller is lost then.
    fn take_interrupt(&mut self) -> Result<bool, Lost>;

    /// Enables the next interrupt. One that is already pending is delivered immediately.
    ///
    /// # Errors
    /// The same as those of [`ControllerBackend::take_interrupt`].
    fn arm(&mut self) -> Result<(), Lost>;

    /// Returns an object that can detect cheaply that nothing has happened, if the backend has one.
    fn watch(&self) -> Option<Box<dyn ControllerWatch>> {
        None
    }
}

/// A cheap check of a controller's state, without calling its driver and concurrently with all
/// other operations.
pub trait ControllerWatch: Send + Sync {
    /// Returns whether it is certain that nothing has happened since the last
    /// [`Controller::service`].
    fn is_quiet(&self) -> bool;
}
