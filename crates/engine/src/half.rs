//! The two halves of a port.

use crate::error::PortError;
use crate::link::LinkState;
use crate::passing::{OutgoingFrame, ReceivedFrame};
use crate::report::{Accepted, FlushReport, RxCounters, RxReport, TransmitRefusal, TxCounters};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use frame::Nanos;
use route::FrameInterest;

/// The receiving half of a port.
pub trait Receive {
    /// Hands up to `budget` frames to `take`, oldest first, without blocking. `now` is the
    /// gateway's time.
    ///
    /// # Errors
    /// [`PortError`] if the port cannot go on.
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError>;

    /// Returns the latest time for the next call, in the time that is passed in; `None` if only
    /// external events bring frames.
    fn deadline(&self) -> Option<Nanos>;

    /// Returns the counters.
    fn counters(&self) -> RxCounters;

    /// Sets which frames are of use from now on, so that a port may leave the others out (kernel
    /// filters). It may still hand over more than those; it loses no frame that is in both the old
    /// and the new interest. Called at the start and after a reload.
    ///
    /// # Errors
    /// [`PortError`] if the port cannot go on.
    fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        let _ = interest;
        Ok(())
    }

    /// Returns whether frames can come in at the moment. False while an interface is down or gone.
    fn is_up(&self) -> bool {
        true
    }

    /// Returns whether its frames can wait where they are (in a file, in a pipe) until the
    /// destinations have room. Such a half is asked for no more frames than [`Transmit::room`] of
    /// its destinations allows. All other halves are always asked, and frames without room are
    /// refused and counted. The result never changes.
    fn can_wait(&self) -> bool {
        false
    }

    /// Returns the state of the port's interface on its bus. A change is announced by
    /// [`RxReport::news`]; the engine only asks then.
    fn link(&self) -> LinkState {
        LinkState::Up
    }

    /// Returns a message that a user should get immediately, each once: for example why a peer was
    /// refused. Announced by [`RxReport::news`].
    fn take_alarm(&mut self) -> Option<String> {
        None
    }

    /// Returns information for a user in addition to the counters, in sentences: the first bad
    /// lines of a log, why an interface was lost. Bounded; not called for every batch.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The transmitting half of a port.
pub trait Transmit {
    /// Takes a frame for transmission, or refuses it; never blocks, never allocates. A frame that
    /// was taken may wait until [`Transmit::flush`].
    ///
    /// # Errors
    /// [`TransmitRefusal`] is the reason; the frame is untouched.
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal>;

    /// Sends the waiting frames, as far as the other side has room.
    ///
    /// # Errors
    /// [`PortError`] if the port cannot go on.
    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError>;

    /// Returns the latest time for the next flush while frames are held, in the time that is passed
    /// in; `None` if only external events make room.
    fn deadline(&self) -> Option<Nanos>;

    /// Returns the counters.
    fn counters(&self) -> TxCounters;

    /// Returns the number of frames that it takes for certain before it returns
    /// [`TransmitRefusal::Full`]. A port that refuses for another reason, such as an interface that
    /// is down, has room: the engine does not wait for it.
    ///
    /// While it has no room, [`Transmit::flush`] reports held frames, or another half of the
    /// gateway has the deadline at which there may be room again.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Returns the reason why it would refuse this frame now, if it is another one than
    /// [`TransmitRefusal::Full`], so that a queue in front of it
    /// ([`wrap::Queued`](crate::wrap::QueuedTransmitter)) can refuse it immediately. A half that
    /// does not know returns `None`; if it refuses the frame later, that frame is lost.
    fn refuses(&mut self, now: Nanos, outgoing: &OutgoingFrame<'_>) -> Option<TransmitRefusal> {
        let _ = (now, outgoing);
        None
    }

    /// Gives back the only frame that it holds, as if it had never taken it, if no other process
    /// has seen it yet; returns whether it did. So a queue in front of it can send a better one
    /// first. A half that cannot do so, or that holds none or several, returns `false`, and nothing
    /// changes.
    fn recall(&mut self) -> bool {
        false
    }

    /// Returns whether no frames may be taken from the ports that route to this one, while
    /// [`Transmit::room`] is 0. The result never changes. Such a half reports held frames as long
    /// as it has no room, and wakes the engine by its own deadline or descriptor: the receiving
    /// halves may all be waiting for it.
    fn makes_wait(&self) -> bool {
        false
    }

    /// Returns the time at which it can be tried again after an error, in the time that is passed
    /// in. From then on it takes frames as before, and its lost frames stay counted as lost.
    /// `None`: only a new port can go on.
    fn retry_at(&self) -> Option<Nanos> {
        None
    }

    /// Returns information for a user in addition to the counters, as [`Receive::remarks`] does.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Defines methods of [`Receive`] or [`Transmit`] for a half around another one: each asks the half
/// inside. A wrapper lists what it forwards and implements the others. Its implementation denies
/// `clippy::missing_trait_methods`, so that none falls back to the trait's default.
macro_rules! forward {
    ($self:ident => $half:expr; $($method:ident)+) => {
        $($crate::half::forward!(@$method $self $half);)+
    };
    (@receive $self:ident $half:expr) => {
        fn receive(
            &mut $self,
            now: Nanos,
            budget: usize,
            take: &mut dyn FnMut(ReceivedFrame<'_>),
        ) -> Result<RxReport, PortError> {
            $half.receive(now, budget, take)
        }
    };
    (@rx_counters $self:ident $half:expr) => {
        fn counters(&$self) -> RxCounters {
            $half.counters()
        }
    };
    (@set_interest $self:ident $half:expr) => {
        fn set_interest(&mut $self, interest: &FrameInterest) -> Result<(), PortError> {
            $half.set_interest(interest)
        }
    };
    (@is_up $self:ident $half:expr) => {
        fn is_up(&$self) -> bool {
            $half.is_up()
        }
    };
    (@can_wait $self:ident $half:expr) => {
        fn can_wait(&$self) -> bool {
            $half.can_wait()
        }
    };
    (@link $self:ident $half:expr) => {
        fn link(&$self) -> LinkState {
            $half.link()
        }
    };
    (@take_alarm $self:ident $half:expr) => {
        fn take_alarm(&mut $self) -> Option<String> {
            $half.take_alarm()
        }
    };
    (@transmit $self:ident $half:expr) => {
        fn transmit(
            &mut $self,
            now: Nanos,
            outgoing: OutgoingFrame<'_>,
        ) -> Result<Accepted, TransmitRefusal> {
            $half.transmit(now, outgoing)
        }
    };
    (@flush $self:ident $half:expr) => {
        fn flush(&mut $self, now: Nanos) -> Result<FlushReport, PortError> {
            $half.flush(now)
        }
    };
    (@tx_counters $self:ident $half:expr) => {
        fn counters(&$self) -> TxCounters {
            $half.counters()
        }
    };
    (@room $self:ident $half:expr) => {
        fn room(&$self) -> usize {
            $half.room()
        }
    };
    (@refuses $self:ident $half:expr) => {
        fn refuses(
            &mut $self,
            now: Nanos,
            outgoing: &OutgoingFrame<'_>,
        ) -> Option<TransmitRefusal> {
            $half.refuses(now, outgoing)
        }
    };
    (@recall $self:ident $half:expr) => {
        fn recall(&mut $self) -> bool {
            $half.recall()
        }
    };
    (@makes_wait $self:ident $half:expr) => {
        fn makes_wait(&$self) -> bool {
            $half.makes_wait()
        }
    };
    (@retry_at $self:ident $half:expr) => {
        fn retry_at(&$self) -> Option<Nanos> {
            $half.retry_at()
        }
    };
    // In both traits.
    (@deadline $self:ident $half:expr) => {
        fn deadline(&$self) -> Option<Nanos> {
            $half.deadline()
        }
    };
    (@remarks $self:ident $half:expr) => {
        fn remarks(&$self) -> Vec<String> {
            $half.remarks()
        }
    };
}
pub(crate) use forward;

#[deny(clippy::missing_trait_methods)]
impl<H: Receive + ?Sized> Receive for Box<H> {
    forward! { self => (**self);
        receive deadline rx_counters set_interest is_up can_wait link take_alarm remarks
    }
}

#[deny(clippy::missing_trait_methods)]
impl<H: Transmit + ?Sized> Transmit for Box<H> {
    forward! { self => (**self);
        transmit flush deadline tx_counters room refuses recall makes_wait retry_at remarks
    }
}
