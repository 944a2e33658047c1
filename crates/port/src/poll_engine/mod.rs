//! The engine with halves that a worker can wait for.

mod wait;

pub use wait::EngineWait;

use crate::{PollReceive, PollTransmit};
use engine::{Engine, StepResult};
use frame::Nanos;
use std::ops::{Deref, DerefMut};

/// A receiving half of any kind.
pub type BoxedReceiver = Box<dyn PollReceive>;
/// A transmitting half of any kind.
pub type BoxedTransmitter = Box<dyn PollTransmit>;

/// The engine of a gateway at run time. All methods of [`Engine`] can be called.
///
/// Those through which each frame passes are here once more, and the compiler generates their code
/// in this crate, with all optimizations: a generic function is compiled in the crate that calls
/// it, and the gateway's crate, which mostly reads configuration and answers clients, is optimized
/// for a short build.
pub struct PollEngine(Engine<BoxedReceiver, BoxedTransmitter>);

impl PollEngine {
    /// As [`Engine::step`].
    pub fn step(&mut self, now: Nanos) -> StepResult {
        self.0.step(now)
    }

    /// As [`Engine::flush`].
    pub fn flush(&mut self, now: Nanos) -> StepResult {
        self.0.flush(now)
    }

    /// Returns whether a half cannot exclude that it has news ([`PollReceive::is_quiet`]). It has
    /// the first turn in the next step.
    pub fn has_news(&mut self) -> bool {
        self.0.look_for(|half| !half.is_quiet())
    }

    /// Returns whether the worker must not wait for one of the halves from which frames may come
    /// ([`PollReceive::is_busy`]).
    pub fn is_busy(&self) -> bool {
        self.0.receiving().any(PollReceive::is_busy)
    }
}

impl From<Engine<BoxedReceiver, BoxedTransmitter>> for PollEngine {
    fn from(engine: Engine<BoxedReceiver, BoxedTransmitter>) -> Self {
        Self(engine)
    }
}

impl Deref for PollEngine {
    type Target = Engine<BoxedReceiver, BoxedTransmitter>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for PollEngine {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
