//! What whoever has the controller adds to its registers.

use crate::Controller;
use alloc::boxed::Box;

/// Why a controller is lost, in its owner's words.
pub type Lost = Box<dyn core::error::Error + Send + Sync>;

/// A controller, and how its interrupt is waited for.
///
/// Dropped, it stops its controller and lets go of what it holds.
pub trait Backend: Send {
    /// The controller.
    fn controller(&mut self) -> &mut dyn Controller;

    /// Was it opened with an interrupt?
    fn waits(&self) -> bool;

    /// Takes note of interrupts; false where there was none since the last call.
    ///
    /// # Errors
    /// What the system says; the controller is lost then.
    fn take_interrupt(&mut self) -> Result<bool, Lost>;

    /// The next interrupt is let through. One that is already there comes at once.
    ///
    /// # Errors
    /// As [`Backend::take_interrupt`].
    fn arm(&mut self) -> Result<(), Lost>;

    /// Where it can be seen at a glance that nothing has happened.
    fn watch(&self) -> Option<Box<dyn Watch>> {
        None
    }
}

/// Looks at a controller without asking it: cheap, and beside everything else.
pub trait Watch: Send + Sync {
    /// Is it certain that nothing has happened since the last [`Controller::service`]?
    fn is_quiet(&self) -> bool;
}
