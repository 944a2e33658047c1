//! The two halves of a port.

use crate::error::PortError;
use crate::link::LinkState;
use crate::passing::{Outgoing, Received};
use crate::report::{Accepted, FlushReport, Refused, RxCounters, RxReport, TxCounters};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use frame::Nanos;
use route::Interest;

/// The receiving half of a port.
pub trait Receive {
    /// Hands up to `budget` frames to `take`, oldest first, without blocking. `now` is the
    /// gateway's time.
    ///
    /// # Errors
    /// [`PortError`] where the port cannot go on.
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError>;

    /// Call again at this time at the latest, in the time that is passed in; `None` where only
    /// something from outside brings frames.
    fn deadline(&self) -> Option<Nanos>;

    /// What was counted so far.
    fn counters(&self) -> RxCounters;

    /// Says which frames can be of use from now on, so that a port may leave the others out
    /// (kernel filters). It may still hand over more than that; it loses no frame that both
    /// the old and the new interest name. Called at the start and after a reload.
    ///
    /// # Errors
    /// [`PortError`] where the port cannot go on.
    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        let _ = interest;
        Ok(())
    }

    /// Can frames come in at the moment? False while an interface is down or gone.
    fn is_up(&self) -> bool {
        true
    }

    /// Can its frames wait where they are (in a file, in a pipe) until the destinations have room?
    /// Such a half is asked for no more frames than [`Transmit::room`] of its destinations says.
    /// All others are asked always, and what finds no room is refused and counted. It never
    /// changes.
    fn can_wait(&self) -> bool {
        false
    }

    /// How the port's interface takes part in its bus. A change is announced by
    /// [`RxReport::news`]; the engine asks only then.
    fn link(&self) -> LinkState {
        LinkState::Up
    }

    /// A sentence that a user should be told now, each once: why a peer was sent away. Announced by
    /// [`RxReport::news`].
    fn take_alarm(&mut self) -> Option<String> {
        None
    }

    /// What a user should be told besides the counters, in sentences: the first bad lines of a
    /// log, why an interface was lost. Bounded; not for every batch.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The transmitting half of a port.
pub trait Transmit {
    /// Takes a frame for transmission, or refuses it; never blocks, never allocates. What was
    /// taken may wait until [`Transmit::flush`].
    ///
    /// # Errors
    /// [`Refused`] says why not; the frame is untouched.
    fn transmit(&mut self, now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused>;

    /// Sends what waits, as far as the other side has room.
    ///
    /// # Errors
    /// [`PortError`] where the port cannot go on.
    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError>;

    /// While frames are held: flush again at this time at the latest, in the time that is passed
    /// in; `None` where only something from outside makes room.
    fn deadline(&self) -> Option<Nanos>;

    /// What was counted so far.
    fn counters(&self) -> TxCounters;

    /// How many frames it takes for certain before it says [`Refused::Full`]. A port that refuses
    /// for another reason, such as an interface that is down, has room: nobody waits for it.
    ///
    /// While it has none, it says frames are held by [`Transmit::flush`], or another half of the
    /// gateway has the deadline at which there may be room again.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Would it refuse this frame now, for another reason than [`Refused::Full`]? So a queue in
    /// front of it ([`wrap::Queued`](crate::wrap::Queued)) can tell at once. A half that does not
    /// know says `None`; what it refuses later is lost then.
    fn refuses(&mut self, now: Nanos, outgoing: &Outgoing<'_>) -> Option<Refused> {
        let _ = (now, outgoing);
        None
    }

    /// Gives back the only frame that it holds, as if it had never taken it, if nobody outside of
    /// this process has seen it yet. Did it? So a queue in front of it can send a better one first.
    /// A half that cannot, or holds none or several, says `false`, and all is as before.
    fn recall(&mut self) -> bool {
        false
    }

    /// Is nothing to be taken from the ports from which frames may come here, until
    /// [`Transmit::room`] says that there is some? It never changes. Such a half says that frames
    /// are held as long as it has no room, and wakes the engine by its own deadline or descriptor:
    /// the receiving halves may all be waiting for it.
    fn makes_wait(&self) -> bool {
        false
    }

    /// After an error: when it can be tried again, in the time that is passed in. From then on it
    /// takes frames as before, and what it lost stays counted as lost. `None`: only a new port can
    /// go on.
    fn retry_at(&self) -> Option<Nanos> {
        None
    }

    /// What a user should be told besides the counters, as in [`Receive::remarks`].
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<H: Receive + ?Sized> Receive for Box<H> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError> {
        (**self).receive(now, budget, take)
    }

    fn deadline(&self) -> Option<Nanos> {
        (**self).deadline()
    }

    fn counters(&self) -> RxCounters {
        (**self).counters()
    }

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        (**self).set_interest(interest)
    }

    fn is_up(&self) -> bool {
        (**self).is_up()
    }

    fn can_wait(&self) -> bool {
        (**self).can_wait()
    }

    fn link(&self) -> LinkState {
        (**self).link()
    }

    fn take_alarm(&mut self) -> Option<String> {
        (**self).take_alarm()
    }

    fn remarks(&self) -> Vec<String> {
        (**self).remarks()
    }
}

impl<H: Transmit + ?Sized> Transmit for Box<H> {
    fn transmit(&mut self, now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
        (**self).transmit(now, outgoing)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        (**self).flush(now)
    }

    fn deadline(&self) -> Option<Nanos> {
        (**self).deadline()
    }

    fn counters(&self) -> TxCounters {
        (**self).counters()
    }

    fn room(&self) -> usize {
        (**self).room()
    }

    fn refuses(&mut self, now: Nanos, outgoing: &Outgoing<'_>) -> Option<Refused> {
        (**self).refuses(now, outgoing)
    }

    fn recall(&mut self) -> bool {
        (**self).recall()
    }

    fn makes_wait(&self) -> bool {
        (**self).makes_wait()
    }

    fn retry_at(&self) -> Option<Nanos> {
        (**self).retry_at()
    }

    fn remarks(&self) -> Vec<String> {
        (**self).remarks()
    }
}
