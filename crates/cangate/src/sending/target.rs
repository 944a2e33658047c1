//! Where frames go.

use console::Failure;
use frame::{FrameRef, Nanos};
use linux::PollSet;

/// The answer to a frame that was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OfferAnswer {
    /// It was taken.
    Taken,
    /// There is no room for it at the moment.
    Full,
    /// The port is down, gone or bus-off at the moment.
    Down,
    /// The port can never carry such a frame.
    Unsupported,
}

impl OfferAnswer {
    /// Returns whether the frame, and those behind it, can be offered again.
    pub(crate) const fn is_waiting(self) -> bool {
        matches!(self, Self::Full | Self::Down)
    }
}

/// The further fates of the frames that were taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TargetTotals {
    /// Frames that left: to the kernel, onto the bus, into the file, or to the gateway.
    pub(crate) sent: u64,
    /// Frames that were taken and lost.
    pub(crate) lost: u64,
    /// Frames that still wait.
    pub(crate) held: u64,
}

/// A destination of frames.
pub(crate) trait FrameTarget {
    /// Offers frames in their order, and passes them on at once if possible. Adds the answers, of
    /// one frame at least: the last one is that of the first frame that found no room, because
    /// those behind it wait.
    ///
    /// # Errors
    /// The destination cannot go on.
    fn offer(
        &mut self,
        now: Nanos,
        frames: &[FrameRef<'_>],
        answers: &mut Vec<OfferAnswer>,
    ) -> Result<(), Failure>;

    /// Returns the most frames that it takes at once.
    fn most(&self) -> usize {
        1
    }

    /// Does the work of the destination that is due: it passes on what waits, and takes in what
    /// comes. Returns the time of the next call at the latest.
    ///
    /// # Errors
    /// The destination cannot go on.
    fn serve(&mut self, now: Nanos) -> Result<Option<Nanos>, Failure>;

    /// Adds the descriptors that make [`FrameTarget::serve`] worth a call.
    fn wait(&self, poll: &mut PollSet);

    /// Returns the time after which a frame that found no room is offered again, ns. Most ports
    /// have a descriptor that reports room earlier.
    fn again(&self) -> Nanos {
        200_000
    }

    /// Returns the further fates of the frames that were taken.
    fn totals(&self) -> TargetTotals;
}
