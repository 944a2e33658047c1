//! The definition of made messages, and of the messages that they are made from.

use frame::{Header, Nanos};
use signals::{FieldTest, LinearMap, RangePolicy, SignalField};

/// A message that is read.
#[derive(Clone, PartialEq, Debug)]
pub struct InputMessage {
    /// Its name, for error messages.
    pub name: String,
    /// SocketCAN's 32 bits of its ID, with the EFF flag; no other flag.
    pub id: u32,
    /// The bits of `id` that a frame must have, EFF and RTR flag included. Parameter groups of
    /// J1939 leave out priority and source address.
    pub mask: u32,
    /// The signals that are read.
    pub signals: Vec<InputSignal>,
}

/// A signal that is read.
#[derive(Clone, PartialEq, Debug)]
pub struct InputSignal {
    /// Its place.
    pub field: SignalField,
    /// Whether its raw value is signed.
    pub is_signed: bool,
    /// The tests of its multiplexer switches; all must pass. Empty for a signal of all frames.
    pub presence: Vec<FieldTest>,
}

/// A signal of a message that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceIndex {
    /// Index of the [`InputMessage`].
    pub message: usize,
    /// Index in [`InputMessage::signals`].
    pub signal: usize,
}

/// A message that is made.
#[derive(Clone, PartialEq, Debug)]
pub struct ComposedMessage {
    /// Its name, for error messages.
    pub name: String,
    /// ID, kind, flags and length of its frames.
    pub header: Header,
    /// The payload before any source has a value: start values and constants. Has the header's
    /// length.
    pub initial: Vec<u8>,
    /// When frames are made.
    pub timing: SendTiming,
    /// The signals that have a source.
    pub assignments: Vec<SignalAssignment>,
    /// The counter in it.
    pub counter: Option<AliveCounter>,
}

/// When frames of a message are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendTiming {
    /// The cycle time, ns. The first frame is due one cycle after the start, and then one at each
    /// multiple: a late frame does not move the next one.
    pub cycle: Option<Nanos>,
    /// A frame is due when a signal has another value than in the last frame. The counter is not
    /// compared.
    pub on_change: bool,
    /// The least time between two frames, ns. A frame that is due earlier waits.
    pub min_distance: Nanos,
    /// A remote frame with the message's ID gets the present values.
    pub answers_remote: bool,
}

/// A signal with a source.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SignalAssignment {
    /// The source.
    pub source: SourceIndex,
    /// The signal.
    pub to: SignalField,
    /// The map from the source's raw value to the signal's.
    pub map: LinearMap,
    /// The values that the signal can have. A value that [`signals::OutOfRange::Drop`] applies to
    /// is not taken: the signal keeps the former one, and the value is counted.
    pub range: RangePolicy,
    /// The rule for a silent source; `None`: the last value stays.
    pub silence: Option<SilenceRule>,
}

/// The rule for a source without a new value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SilenceRule {
    /// The source is silent if its last value, or the start, is longer ago than this; ns.
    pub timeout: Nanos,
    /// The signal's value meanwhile.
    pub value: SilentValue,
    /// A signal of the message that is 1 meanwhile, and otherwise 0.
    pub status: Option<SignalField>,
}

/// The value of a signal while its source is silent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SilentValue {
    /// The last value.
    Hold,
    /// These bits.
    Substitute(u64),
    /// The message is not sent.
    Stop,
}

/// A counter that each frame of the message increments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AliveCounter {
    /// Its place.
    pub field: SignalField,
    /// The number of its values: it counts from 0 to one less.
    pub values: u64,
}

/// The reason why definitions make no composer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompositionError {
    /// The payload does not have the header's length.
    InitialLength {
        /// The message.
        message: String,
    },
    /// A signal, a counter or a status is not in the payload.
    OutsidePayload {
        /// The message.
        message: String,
    },
    /// A source does not exist.
    NoSource {
        /// The message.
        message: String,
    },
    /// The message is never due: it has neither a cycle, nor changes, nor answers.
    NeverDue {
        /// The message.
        message: String,
    },
    /// The cycle time is 0, or shorter than the least distance.
    Cycle {
        /// The message.
        message: String,
    },
}

impl core::fmt::Display for CompositionError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (message, problem) = match self {
            Self::InitialLength { message } => (message, "its start values have another length"),
            Self::OutsidePayload { message } => (message, "a signal is not in its payload"),
            Self::NoSource { message } => (message, "a signal has a source that does not exist"),
            Self::NeverDue { message } => (
                message,
                "it is never sent: it has no cycle, follows no change and answers no request",
            ),
            Self::Cycle { message } => (
                message,
                "its cycle is 0, or shorter than its least distance",
            ),
        };
        write!(f, "message {message}: {problem}")
    }
}

impl core::error::Error for CompositionError {}

impl ComposedMessage {
    /// Checks the definition against the messages that are read.
    pub(crate) fn check(&self, inputs: &[InputMessage]) -> Result<(), CompositionError> {
        let message = || self.name.clone();
        if self.initial.len() != self.header.len() {
            return Err(CompositionError::InitialLength { message: message() });
        }
        let len = self.initial.len();
        let statuses = self.assignments.iter().filter_map(|to| to.silence?.status);
        let fields = self.assignments.iter().map(|to| to.to);
        let counter = self.counter.map(|counter| counter.field);
        let mut all = fields.chain(statuses).chain(counter);
        if all.any(|field| field.end() > len) {
            return Err(CompositionError::OutsidePayload { message: message() });
        }
        let exists = |source: &SourceIndex| {
            let input = inputs.get(source.message);
            input.is_some_and(|input| source.signal < input.signals.len())
        };
        if !self.assignments.iter().all(|to| exists(&to.source)) {
            return Err(CompositionError::NoSource { message: message() });
        }
        let timing = &self.timing;
        match timing.cycle {
            None if !timing.on_change && !timing.answers_remote => {
                Err(CompositionError::NeverDue { message: message() })
            }
            Some(cycle) if cycle == 0 || cycle < timing.min_distance => {
                Err(CompositionError::Cycle { message: message() })
            }
            _ => Ok(()),
        }
    }
}
