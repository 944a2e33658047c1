//! The interface that every driver implements.

use crate::{ControllerEvent, ErrorStatus, StartMode, TimingLimits, Token};
use core::fmt;
use frame::FrameRef;

/// A CAN controller.
///
/// None of its methods waits for the bus. Methods that wait for the controller itself (a change of
/// its mode) read a register a bounded number of times.
pub trait Controller {
    /// Returns the controller's properties.
    fn properties(&self) -> &Properties;

    /// Sets the controller up and lets it take part in its bus. It may have been in operation
    /// before, also under another driver: nothing of its earlier state is left. The next
    /// [`Controller::service`] reports the frames that this driver had in flight.
    ///
    /// # Errors
    /// [`StartError`] names what the controller cannot do; the controller is stopped then.
    fn start(&mut self, mode: &StartMode<'_>) -> Result<(), StartError>;

    /// Takes the controller off the bus, and leaves no interrupt pending. The next
    /// [`Controller::service`] reports the frames that were in flight and not yet reported.
    fn stop(&mut self);

    /// Returns the number of frames that [`Controller::transmit`] takes at the moment. Only
    /// [`Controller::service`] increases it.
    fn room(&self) -> usize;

    /// Writes a frame to a transmit buffer and requests its transmission. Frames leave in the order
    /// in which they were taken.
    ///
    /// # Errors
    /// [`ControllerRefusal`] is the reason; nothing has changed then.
    fn transmit(&mut self, frame: FrameRef<'_>, token: Token) -> Result<(), ControllerRefusal>;

    /// Reports what has happened since the last call, in the order in which it happened as far as
    /// the controller reveals that order, and takes up to `budget` received frames. Returns true if
    /// more may be available immediately. It acknowledges the controller's interrupt: after a call
    /// that returned false, only a new event raises the interrupt line.
    ///
    /// # Errors
    /// [`ControllerGone`]: the registers read all ones. The frames in flight have been reported as
    /// failed.
    fn service(
        &mut self,
        budget: usize,
        report: &mut dyn FnMut(ControllerEvent<'_>),
    ) -> Result<bool, ControllerGone>;

    /// Aborts all frames in flight that are not on the bus yet. [`Controller::service`] reports for
    /// each whether it was sent after all.
    fn abort(&mut self);

    /// Enables or disables the interrupt line. It is disabled after [`Controller::start`].
    fn interrupts(&mut self, on: bool);

    /// Starts the recovery from bus-off: the controller takes part again after 128 times 11
    /// recessive bits (ISO 11898-1, *Bus-off recovery*), which an [`ControllerEvent::Status`]
    /// reports. In any other state, it does nothing.
    ///
    /// # Errors
    /// The same as those of [`Controller::start`].
    fn restart(&mut self) -> Result<(), StartError>;

    /// Returns the error state as [`Controller::service`] last found it, with its counters.
    fn status(&self) -> ErrorStatus;
}

/// Type and capabilities of a controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Properties {
    /// The controller's name, such as `SJA1000`.
    pub name: &'static str,
    /// The clock from which bit times are derived, Hz.
    pub clock: u32,
    /// Limits of the nominal bit timing.
    pub nominal: TimingLimits,
    /// Limits of the data phase's bit timing; `None` if the controller does not support FD.
    pub data: Option<TimingLimits>,
    /// Number of transmit buffers.
    pub buffers: usize,
    /// Whether it stamps received frames.
    pub stamps: bool,
    /// Whether it has a listen-only mode, in which it transmits nothing.
    pub listen_only: bool,
    /// Whether it can try each frame only once.
    pub one_shot: bool,
}

/// Reason why a controller did not take a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ControllerRefusal {
    /// No transmit buffer is free.
    Full,
    /// The controller is stopped or bus-off.
    Down,
    /// The controller cannot send such a frame: FD in a classic mode, XL, an error frame, or any
    /// frame in listen-only mode.
    Unsupported,
}

/// The error of a controller that is not present any more: unplugged, or without power.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ControllerGone;

impl fmt::Display for ControllerGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the controller does not answer: it was unplugged or has no power")
    }
}

impl core::error::Error for ControllerGone {}

/// Reason why a controller cannot start.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StartError {
    /// The controller does not react as expected: it is of another type, or broken.
    NoAnswer {
        /// The controller's name.
        name: &'static str,
        /// The action that it did not perform.
        what: &'static str,
    },
    /// A bit timing that its registers cannot represent.
    Timing {
        /// The controller's name.
        name: &'static str,
        /// Whether it is the data phase's timing. (Otherwise, it is the nominal one.)
        data: bool,
    },
    /// The controller does not support what the mode requires.
    Unsupported {
        /// The controller's name.
        name: &'static str,
        /// The unsupported feature.
        what: &'static str,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer { name, what } => write!(
                f,
                "the {name} does not execute a command ({what}): is it another controller, or has \
                 it no power?"
            ),
            Self::Timing { name, data } => write!(
                f,
                "the {name} cannot do this {} bit timing: compute it for this controller's clock and \
                 limits",
                if *data { "data" } else { "nominal" }
            ),
            Self::Unsupported { name, what } => write!(f, "the {name} cannot do {what}"),
        }
    }
}

impl core::error::Error for StartError {}
