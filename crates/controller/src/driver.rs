//! What every driver offers.

use crate::{Event, Limits, Mode, Status, Token};
use core::fmt;
use frame::FrameRef;

/// A CAN controller.
///
/// None of its methods waits for the bus. Those that wait for the controller itself (a change of
/// its mode) read a register a bounded number of times.
pub trait Controller {
    /// What it can do.
    fn properties(&self) -> &Properties;

    /// Sets it up and lets it take part in its bus. It may have been at work before, also under
    /// another driver: nothing of that is left. Frames that this driver had in flight are reported
    /// by the next [`Controller::service`].
    ///
    /// # Errors
    /// [`StartError`] says what it cannot do; it is stopped then.
    fn start(&mut self, mode: &Mode<'_>) -> Result<(), StartError>;

    /// Takes it off the bus, without an interrupt left over. What was in flight and not yet
    /// reported, the next [`Controller::service`] reports.
    fn stop(&mut self);

    /// How many frames [`Controller::transmit`] takes at the moment. Only
    /// [`Controller::service`] makes it more.
    fn room(&self) -> usize;

    /// Takes a frame into a transmit buffer and asks for its transmission. Frames leave in the
    /// order in which they were taken.
    ///
    /// # Errors
    /// [`Refused`] says why not; nothing has changed then.
    fn transmit(&mut self, frame: FrameRef<'_>, token: Token) -> Result<(), Refused>;

    /// Finds out what has happened since the last call, in the order in which it happened as far as
    /// the controller tells it, and takes up to `budget` received frames. Gives true where there
    /// may be more at once. It acknowledges the controller's interrupt: after a call that gave
    /// false, the interrupt line is only raised by something new.
    ///
    /// # Errors
    /// [`Gone`]: the registers read all ones. What was in flight has been reported as failed.
    fn service(&mut self, budget: usize, tell: &mut dyn FnMut(Event<'_>)) -> Result<bool, Gone>;

    /// Gives up all frames in flight that are not on the bus yet. [`Controller::service`] tells of
    /// each whether it was sent after all.
    fn abort(&mut self);

    /// May it raise its interrupt line? Off after [`Controller::start`].
    fn interrupts(&mut self, on: bool);

    /// Brings it back after bus-off: it takes part again after 128 times 11 recessive bits
    /// (ISO 11898-1, *Bus-off recovery*), which a [`Event::Status`] tells. Otherwise it does
    /// nothing.
    ///
    /// # Errors
    /// As [`Controller::start`].
    fn restart(&mut self) -> Result<(), StartError>;

    /// The error state as [`Controller::service`] last found it, with its counters.
    fn status(&self) -> Status;
}

/// What a controller is and can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Properties {
    /// Its name, such as `SJA1000`.
    pub name: &'static str,
    /// The clock that bit times are made of, Hz.
    pub clock: u32,
    /// Limits of the nominal bit timing.
    pub nominal: Limits,
    /// Limits of the data phase's bit timing; `None` where it cannot do FD.
    pub data: Option<Limits>,
    /// Transmit buffers.
    pub buffers: usize,
    /// Does it stamp received frames?
    pub stamps: bool,
    /// Can it be told to transmit nothing?
    pub listen_only: bool,
    /// Can it be told to try each frame once only?
    pub one_shot: bool,
}

/// Why a controller did not take a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Refused {
    /// No transmit buffer is free.
    Full,
    /// It is stopped or bus-off.
    Down,
    /// It cannot send such a frame: FD in a classic mode, XL, an error frame, or anything while it
    /// only listens.
    Unsupported,
}

/// A controller that is not there any more: unplugged, or without power.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the controller does not answer: it was unplugged or has no power")
    }
}

impl core::error::Error for Gone {}

/// Why a controller cannot start.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StartError {
    /// It does not do what it is told: it is no such controller, or broken.
    NoAnswer {
        /// The controller's name.
        name: &'static str,
        /// What it did not do.
        what: &'static str,
    },
    /// A bit timing that its registers cannot say.
    Timing {
        /// The controller's name.
        name: &'static str,
        /// Of the data phase? (Else, the nominal one.)
        data: bool,
    },
    /// It cannot do what the mode asks for.
    Unsupported {
        /// The controller's name.
        name: &'static str,
        /// What it cannot do.
        what: &'static str,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer { name, what } => write!(
                f,
                "the {name} does not do what it is told ({what}): is it another controller, or without \
                 power?"
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
