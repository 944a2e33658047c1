//! The last values of signals that are read.

use super::definition::{InputMessage, SignalAssignment, SilentValue, SourceIndex};
use frame::Nanos;

/// The last value of a signal, and its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastValue {
    /// The raw value; `None` before the first one.
    pub(crate) raw: Option<i128>,
    /// The time of the last value, or of the start.
    pub(crate) at: Nanos,
    /// The messages that have the signal have not all got the value yet.
    pub(crate) is_new: bool,
}

/// The last values of all signals that are read.
#[derive(Clone, Debug)]
pub(crate) struct SourceValues {
    /// For each message, its signals.
    values: Vec<Vec<LastValue>>,
}

impl SourceValues {
    /// Returns values that are all missing since `start`.
    pub(crate) fn new(inputs: &[InputMessage], start: Nanos) -> Self {
        let missing = LastValue {
            raw: None,
            at: start,
            is_new: false,
        };
        let values = inputs.iter();
        let values = values.map(|input| input.signals.iter().map(|_| missing).collect());
        Self {
            values: values.collect(),
        }
    }

    /// Reads the signals of a frame. Returns the number of those that the payload is too short for.
    pub(crate) fn take(
        &mut self,
        now: Nanos,
        message: usize,
        input: &InputMessage,
        payload: &[u8],
    ) -> u64 {
        let mut absent = 0;
        let Some(values) = self.values.get_mut(message) else {
            return 0;
        };
        for (value, signal) in values.iter_mut().zip(&input.signals) {
            if !signal.presence.iter().all(|test| test.matches(payload)) {
                continue;
            }
            let Some(bits) = signal.field.read(payload) else {
                absent += 1;
                continue;
            };
            let raw = if signal.is_signed {
                let unused = 64 - signal.field.bits();
                i128::from((bits << unused).cast_signed() >> unused)
            } else {
                bits.into()
            };
            *value = LastValue {
                raw: Some(raw),
                at: now,
                is_new: true,
            };
        }
        absent
    }

    /// Notes that all messages have got the values of a frame.
    pub(crate) fn settle(&mut self, message: usize) {
        for value in self.values.get_mut(message).into_iter().flatten() {
            value.is_new = false;
        }
    }

    /// Returns the last value of a source.
    pub(crate) fn of(&self, source: SourceIndex) -> Option<LastValue> {
        self.values.get(source.message)?.get(source.signal).copied()
    }

    /// Returns the time at which a source becomes silent for an assignment; `None` if it never
    /// does.
    pub(crate) fn silent_at(&self, assignment: &SignalAssignment) -> Option<Nanos> {
        let timeout = assignment.silence?.timeout;
        Some(self.of(assignment.source)?.at.saturating_add(timeout))
    }

    /// Returns whether a source is silent for an assignment.
    pub(crate) fn is_silent(&self, assignment: &SignalAssignment, now: Nanos) -> bool {
        self.silent_at(assignment).is_some_and(|at| now >= at)
    }

    /// Writes an assigned signal, and its status, into a payload. Returns whether the message may
    /// be sent, and whether a value was not taken because it is out of range.
    pub(crate) fn write(
        &self,
        assignment: &SignalAssignment,
        now: Nanos,
        payload: &mut [u8],
    ) -> WrittenSignal {
        let mut written = WrittenSignal {
            may_send: true,
            is_out_of_range: false,
        };
        let is_silent = self.is_silent(assignment, now);
        let value = match assignment.silence {
            Some(rule) if is_silent => {
                if let Some(status) = rule.status {
                    status.write(payload, 1);
                }
                match rule.value {
                    SilentValue::Substitute(bits) => {
                        assignment.to.write(payload, bits);
                        return written;
                    }
                    SilentValue::Stop => written.may_send = false,
                    SilentValue::Hold => {}
                }
                self.of(assignment.source)
            }
            rule => {
                if let Some(status) = rule.and_then(|rule| rule.status) {
                    status.write(payload, 0);
                }
                self.of(assignment.source)
            }
        };
        if let Some(raw) = value.and_then(|value| value.raw) {
            let mapped = assignment.map.apply(raw);
            match assignment.range.bits(mapped) {
                Some(bits) => {
                    assignment.to.write(payload, bits);
                }
                // A value is counted once, when it comes.
                None => written.is_out_of_range = value.is_some_and(|value| value.is_new),
            }
        }
        written
    }
}

/// The result of writing a signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenSignal {
    /// The message may be sent.
    pub(crate) may_send: bool,
    /// The source's value is not one that the signal can have, and was not taken.
    pub(crate) is_out_of_range: bool,
}
