//! The part of a controller's port that depends on the operating system, for each kind of device.

use controller::driven::ControllerBackend;
use std::os::fd::RawFd;

/// A controller that this process has taken.
pub(super) struct TakenController {
    pub(super) backend: Box<dyn ControllerBackend>,
    /// Descriptor to poll for reading, to wait for the controller's interrupt; `None` if it was
    /// opened without interrupts.
    pub(super) interrupt: Option<RawFd>,
}

/// The requirements of a port on its backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackendOptions<'a> {
    /// `device` of the gateway file.
    pub device: &'a str,
    /// `channel` of the gateway file.
    pub channel: Option<u8>,
    /// Whether it should wait for interrupts.
    pub interrupts: bool,
}

/// The reason why there is no backend: a sentence for the user, and the cause.
#[derive(Debug)]
pub struct BackendError {
    /// The problem and its remedy.
    pub what: String,
    /// The underlying error, if there is one.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl<E: std::error::Error> From<E> for BackendError {
    fn from(error: E) -> Self {
        Self {
            what: error.to_string(),
            source: None,
        }
    }
}

/// A controller that was found and is not taken yet: nothing has changed so far.
pub(super) trait FoundBackend: Send {
    /// Returns the properties of the controller, which are known before it is taken: its clock and
    /// limits are those of its [`controller::Properties`].
    fn properties(&self) -> controller::Properties;

    /// Takes the controller.
    fn take(self: Box<Self>) -> Result<TakenController, BackendError>;
}
