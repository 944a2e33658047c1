//! Models of controllers at the level of their registers, with an interface for the bus.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod ctucanfd;
pub(crate) mod sja1000;

use controller::Registers;
use frame::Frame;
use std::cell::RefCell;
use std::rc::Rc;

/// The outcome of a frame on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Acknowledged,
    ArbitrationLost,
    Error,
}

/// The outcome of a frame from the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    Stored,
    Filtered,
    /// The FIFO was full.
    Lost,
    /// The controller does not take part in the bus.
    Off,
}

/// A controller, as seen from the bus.
pub(crate) trait Chip: Registers {
    fn new() -> Self;
    fn arrive(&mut self, frame: &Frame) -> Arrival;
    /// Returns the frame that it would send now.
    fn sending(&self) -> Option<Frame>;
    /// Ends that frame's transmission on the bus.
    fn finish(&mut self, outcome: Outcome);
    /// Sets TEC and REC, with the consequences: above 255, bus-off.
    fn count_errors(&mut self, tec: u16, rec: u16);
    /// Notifies the controller of 128 times 11 recessive bits.
    fn recover(&mut self);
    /// Returns whether the interrupt line is raised.
    fn line(&self) -> bool;
    fn unplug(&mut self);
}

/// A chip that the driver and the test share.
pub(crate) struct Shared<C>(pub(crate) Rc<RefCell<C>>);

impl<C> Clone for Shared<C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<C: Chip> Shared<C> {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(C::new())))
    }

    pub(crate) fn chip(&self) -> std::cell::RefMut<'_, C> {
        self.0.borrow_mut()
    }
}

impl<C: Chip> Registers for Shared<C> {
    fn read8(&mut self, offset: u32) -> u8 {
        self.chip().read8(offset)
    }
    fn write8(&mut self, offset: u32, value: u8) {
        self.chip().write8(offset, value);
    }
    fn read32(&mut self, offset: u32) -> u32 {
        self.chip().read32(offset)
    }
    fn write32(&mut self, offset: u32, value: u32) {
        self.chip().write32(offset, value);
    }
}
