//! The composer: frames in, made frames out.

use super::definition::{ComposedMessage, CompositionError, InputMessage};
use super::source::SourceValues;
use super::timing::MessageTimer;
use frame::{CanId, FrameRef, Kind, Nanos};

/// Makes messages from the signals of others.
#[derive(Clone, Debug)]
pub struct MessageComposer {
    inputs: Vec<InputMessage>,
    /// For each input, the messages that have a signal of it.
    readers: Vec<Vec<usize>>,
    sources: SourceValues,
    messages: Vec<MessageState>,
    counters: ComposerCounters,
}

/// The counters of a [`MessageComposer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ComposerCounters {
    /// Frames with a signal that a message needs.
    pub read: u64,
    /// Remote frames that a message answers.
    pub requests: u64,
    /// Signals that a frame was too short for.
    pub absent: u64,
    /// Values that a signal cannot have, and that were not taken.
    pub out_of_range: u64,
    /// Made frames.
    pub made: u64,
    /// Times of a cycle that passed because [`MessageComposer::make`] was called too late.
    pub skipped: u64,
    /// Frames that were due while a source was silent, and its rule stops the message.
    pub stopped: u64,
}

#[derive(Clone, Debug)]
struct MessageState {
    definition: ComposedMessage,
    timer: MessageTimer,
    /// The payload by the present values, without the counter.
    payload: Vec<u8>,
    /// The payload of the last frame, without the counter; before the first one the initial one.
    last: Vec<u8>,
    /// The value of the counter in the next frame.
    count: u64,
    /// Whether a rule for a silent source stops the message.
    is_stopped: bool,
    /// The next time at which a source becomes silent.
    silent_at: Option<Nanos>,
}

impl MessageComposer {
    /// Returns a composer that starts now: timeouts and cycles count from here.
    ///
    /// # Errors
    /// [`CompositionError`] names the message whose definition has no meaning.
    pub fn new(
        inputs: Vec<InputMessage>,
        messages: Vec<ComposedMessage>,
        now: Nanos,
    ) -> Result<Self, CompositionError> {
        for message in &messages {
            message.check(&inputs)?;
        }
        let reads = |input: usize, message: &ComposedMessage| {
            let mut assignments = message.assignments.iter();
            assignments.any(|to| to.source.message == input)
        };
        let readers = (0..inputs.len()).map(|input| {
            let numbered = messages.iter().enumerate();
            let of_input = numbered.filter(|(_, message)| reads(input, message));
            of_input.map(|(at, _)| at).collect()
        });
        let readers = readers.collect();
        let sources = SourceValues::new(&inputs, now);
        let messages = messages.into_iter().map(|definition| MessageState {
            timer: MessageTimer::new(definition.timing, now),
            payload: definition.initial.clone(),
            last: definition.initial.clone(),
            definition,
            count: 0,
            is_stopped: false,
            silent_at: None,
        });
        let mut composer = Self {
            inputs,
            readers,
            messages: messages.collect(),
            sources,
            counters: ComposerCounters::default(),
        };
        for message in &mut composer.messages {
            message.update(&composer.sources, now, &mut composer.counters);
        }
        Ok(composer)
    }

    /// Takes a frame. Returns whether a message needs it: a signal of it, or the request that it
    /// is.
    pub fn take(&mut self, now: Nanos, frame: FrameRef<'_>) -> bool {
        let id = frame.id();
        if frame.kind() == Kind::Xl || id.is_err() {
            return false;
        }
        if frame.kind() == Kind::Classic && id.is_rtr() {
            return self.take_request(id);
        }
        let mut is_read = false;
        let numbered = self.inputs.iter().enumerate();
        for (at, input) in numbered.filter(|(_, input)| (id.raw() ^ input.id) & input.mask == 0) {
            is_read = true;
            self.counters.absent += self.sources.take(now, at, input, frame.data());
            for reader in self.readers.get(at).into_iter().flatten() {
                if let Some(message) = self.messages.get_mut(*reader) {
                    message.update(&self.sources, now, &mut self.counters);
                }
            }
            self.sources.settle(at);
        }
        self.counters.read += u64::from(is_read);
        is_read
    }

    fn take_request(&mut self, id: CanId) -> bool {
        let mut is_answered = false;
        for message in &mut self.messages {
            let timing = message.definition.timing;
            let own = message.definition.header.id();
            if timing.answers_remote && (own.raw() ^ id.raw()) & !CanId::RTR_FLAG == 0 {
                message.timer.request();
                is_answered = true;
            }
        }
        self.counters.requests += u64::from(is_answered);
        is_answered
    }

    /// Returns the time at which [`make`](Self::make) has something to do; `None` if only a frame
    /// can bring it something.
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        let messages = self.messages.iter();
        messages.filter_map(MessageState::deadline).min()
    }

    /// Hands the frames that are due to `take`, at most `budget`. Returns their number; what is
    /// due and did not fit is due the next time.
    pub fn make(&mut self, now: Nanos, budget: usize, take: &mut dyn FnMut(FrameRef<'_>)) -> usize {
        let mut made = 0;
        for message in &mut self.messages {
            if made == budget {
                break;
            }
            if message.silent_at.is_some_and(|at| at <= now) {
                message.update(&self.sources, now, &mut self.counters);
            }
            if message.make(now, &mut self.counters, take) {
                made += 1;
            }
        }
        self.counters.made += made as u64;
        made
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> ComposerCounters {
        self.counters
    }

    /// Returns whether a rule for a silent source stops a message at present.
    pub fn stopped_messages(&self) -> impl Iterator<Item = &str> {
        let stopped = self.messages.iter().filter(|message| message.is_stopped);
        stopped.map(|message| message.definition.name.as_str())
    }
}

impl MessageState {
    /// Writes the present values into the payload.
    fn update(&mut self, sources: &SourceValues, now: Nanos, counters: &mut ComposerCounters) {
        self.is_stopped = false;
        self.silent_at = None;
        for assignment in &self.definition.assignments {
            let written = sources.write(assignment, now, &mut self.payload);
            self.is_stopped |= !written.may_send;
            counters.out_of_range += u64::from(written.is_out_of_range);
            let silent_at = sources.silent_at(assignment).filter(|at| *at > now);
            self.silent_at = match (self.silent_at, silent_at) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        if self.definition.timing.on_change {
            self.timer.set_changed(self.payload != self.last);
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        match (self.timer.due(), self.silent_at) {
            (Some(due), Some(silent)) => Some(due.min(silent)),
            (due, silent) => due.or(silent),
        }
    }

    /// Hands over a frame if one is due. Returns whether one was.
    fn make(
        &mut self,
        now: Nanos,
        counters: &mut ComposerCounters,
        take: &mut dyn FnMut(FrameRef<'_>),
    ) -> bool {
        if self.timer.due().is_none_or(|due| now < due) {
            return false;
        }
        counters.skipped += self.timer.take_cycles(now).saturating_sub(1);
        if self.is_stopped {
            // The change or the request is lost with the frame: after the silence, the frame would
            // have other values.
            self.timer.cancel();
            counters.stopped += 1;
            return false;
        }
        self.last.clone_from(&self.payload);
        let made = self.send(take);
        self.timer.note_sent(now);
        made
    }

    fn send(&mut self, take: &mut dyn FnMut(FrameRef<'_>)) -> bool {
        let mut buffer = [0; frame::dlc::FD_MAX];
        let len = self.payload.len().min(buffer.len());
        let Some(payload) = buffer.get_mut(..len) else {
            return false;
        };
        payload.copy_from_slice(self.payload.get(..len).unwrap_or_default());
        if let Some(counter) = self.definition.counter {
            counter.field.write(payload, self.count);
            self.count = (self.count + 1) % counter.values.max(1);
        }
        match FrameRef::new(self.definition.header, payload) {
            Ok(frame) => {
                take(frame);
                true
            }
            Err(_) => false,
        }
    }
}
