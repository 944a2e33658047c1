//! The messages and signals of the databases that the keys name.

use super::consistency::{SetSignal, check_set, warn_of_unset};
use super::lookup::{bits, counter_of, find_message, find_signal, header};
use super::rules::{
    ComposedMessage, InputMessage, InputSignal, SendTiming, SignalAssignment, SilenceRule,
    SilentValue, SourceIndex,
};
use super::spec::{FallbackSpec, MakeSpec, SignalSpec, SourceSpec, UnboundSettings};
use crate::kind::DatabasesByName;
use config::{Diagnostic, Diagnostics, SpannedValue, did_you_mean};
use signals::{
    BitMeaning, FieldSource, LinearMap, MessageDatabase, MessageDefinition, OutOfRange,
    RangePolicy, SignalDefinition, UnitRelation,
};

/// The settings of a port that makes messages.
#[derive(Clone, PartialEq, Debug)]
pub struct ComposedSettings {
    /// The messages that are read.
    pub inputs: Vec<InputMessage>,
    /// The messages that are made.
    pub messages: Vec<ComposedMessage>,
}

/// Finds the messages and signals of the settings; `None` if there are mistakes.
pub(super) fn bind(
    unbound: &UnboundSettings,
    databases: &DatabasesByName<'_>,
    found: &mut Diagnostics,
) -> Option<ComposedSettings> {
    let own = unbound.database.as_ref()?;
    // An unknown name is reported where the port's `database` is read.
    let (_, own_messages) = databases.find(&own.value)?;
    let mut binder = Binder {
        databases,
        own: own.value.as_str(),
        inputs: Vec::new(),
        keys: Vec::new(),
    };
    let mut messages = Vec::new();
    let mut is_complete = true;
    for spec in &unbound.makes {
        match binder.message(spec, own_messages, found) {
            Some(message) => messages.push(message),
            None => is_complete = false,
        }
    }
    is_complete.then_some(ComposedSettings {
        inputs: binder.inputs,
        messages,
    })
}

/// The messages that are read, while they are collected.
struct Binder<'b, 'd> {
    databases: &'b DatabasesByName<'d>,
    own: &'b str,
    inputs: Vec<InputMessage>,
    /// For each input its database and message, and for each of its signals the index.
    keys: Vec<(&'d str, &'d str, Vec<usize>)>,
}

impl<'d> Binder<'_, 'd> {
    fn message(
        &mut self,
        spec: &MakeSpec,
        own: &'d MessageDatabase,
        found: &mut Diagnostics,
    ) -> Option<ComposedMessage> {
        let message = find_message(
            own,
            self.own,
            &spec.name.value,
            spec.name.span.clone(),
            found,
        )?;
        let header = header(message, spec, found)?;
        let mut initial = vec![0; message.len];
        let mut assignments = Vec::new();
        let mut is_complete = true;
        let mut set: Vec<SetSignal> = Vec::new();
        for (name, value) in &spec.signals {
            let Some(at) = find_signal(message, name, found) else {
                is_complete = false;
                continue;
            };
            let Some(signal) = message.signals.get(at) else {
                continue;
            };
            set.push((at, name.span.clone()));
            match value {
                SignalSpec::Constant(value) => match bits(signal, value, found) {
                    Some(bits) => {
                        signal.field.write(&mut initial, bits);
                    }
                    None => is_complete = false,
                },
                SignalSpec::Source(source) => {
                    match self.assignment(message, signal, source, found) {
                        Some((assignment, status)) => {
                            assignments.push(assignment);
                            set.extend(status);
                        }
                        None => is_complete = false,
                    }
                }
            }
        }
        let mut counter = None;
        if let Some(name) = &spec.counter {
            match counter_of(message, name, found) {
                Some((at, made)) => {
                    set.push((at, name.span.clone()));
                    counter = Some(made);
                }
                None => is_complete = false,
            }
        }
        is_complete &= check_set(message, &set, &initial, found);
        if is_complete {
            warn_of_unset(message, &set, spec, found);
        }
        is_complete.then_some(ComposedMessage {
            name: message.name.clone(),
            header,
            initial,
            timing: SendTiming {
                cycle: spec.every,
                on_change: spec.on_change,
                min_distance: spec.min_distance,
                answers_remote: spec.answer_remote,
            },
            assignments,
            counter,
        })
    }

    /// Returns the assignment of a signal with a source, and the signal for its status.
    fn assignment(
        &mut self,
        message: &MessageDefinition,
        signal: &SignalDefinition,
        spec: &SourceSpec,
        found: &mut Diagnostics,
    ) -> Option<(SignalAssignment, Option<SetSignal>)> {
        let (database, from_message, from) = self.source(&spec.from, found)?;
        let outside = match &spec.overflow {
            Some(FallbackSpec::Word("drop")) => OutOfRange::Drop,
            Some(FallbackSpec::Word(_)) | None => OutOfRange::Saturate,
            Some(FallbackSpec::Substitute(value)) => {
                OutOfRange::Substitute(bits(signal, value, found)?)
            }
        };
        let from_signal = from_message.signals.get(from)?;
        let span = spec.from.span.clone();
        if signal.unit_relation(from_signal) == UnitRelation::Unknown {
            let message = format!(
                "{} has the unit \"{}\", and {} \"{}\": the number is copied",
                from_signal.name, from_signal.unit, signal.name, signal.unit
            );
            found.push(Diagnostic::warning(span.clone(), message));
        }
        let copy = match signal.copy_of(from_signal, outside) {
            Ok(copy) => copy,
            Err(why) => {
                let message = format!("{} cannot become {}: {why}", from_signal.name, signal.name);
                found.push(Diagnostic::error(span, message));
                return None;
            }
        };
        if !copy.is_total && spec.overflow.is_none() {
            let message = format!(
                "{} can have values that {} cannot have",
                from_signal.name, signal.name
            );
            let hint = "add `overflow = \"saturate\"`, `overflow = \"drop\"` or `overflow = { substitute = VALUE }`";
            found.push(Diagnostic::error(span, message).hint(hint));
            return None;
        }
        let (map, range) = match copy.source {
            FieldSource::Signal { map, range, .. } => (map, range),
            FieldSource::Bits(_) | FieldSource::Constant(_) => (
                LinearMap::SAME,
                RangePolicy::of_field(&signal.field, BitMeaning::Unsigned, outside),
            ),
        };
        let is_signed = matches!(
            copy.source,
            FieldSource::Signal {
                is_signed: true,
                ..
            }
        );
        let source = self.read(database, from_message, from, is_signed)?;
        let mut status = None;
        let silence = match &spec.timeout {
            None => None,
            Some(timeout) => {
                let value = match spec.silent.as_ref()? {
                    FallbackSpec::Word("stop") => SilentValue::Stop,
                    FallbackSpec::Word(_) => SilentValue::Hold,
                    FallbackSpec::Substitute(value) => {
                        SilentValue::Substitute(bits(signal, value, found)?)
                    }
                };
                if let Some(name) = &spec.status {
                    status = Some((find_signal(message, name, found)?, name.span.clone()));
                }
                let field = status.as_ref();
                Some(SilenceRule {
                    timeout: timeout.value,
                    value,
                    status: field.and_then(|(at, _)| Some(message.signals.get(*at)?.field)),
                })
            }
        };
        let assignment = SignalAssignment {
            source,
            to: signal.field,
            map,
            range,
            silence,
        };
        Some((assignment, status))
    }

    /// Finds the source that a text names: its database, message, and the index of the signal.
    fn source(
        &self,
        from: &SpannedValue<String>,
        found: &mut Diagnostics,
    ) -> Option<(&'d str, &'d MessageDefinition, usize)> {
        let parts: Vec<&str> = from.value.split('.').collect();
        let (database, message, signal) = match parts.as_slice() {
            [database, message, signal] => (*database, *message, *signal),
            [message, signal] => (self.own, *message, *signal),
            _ => {
                let text = format!("`{}` does not name a signal", from.value);
                let hint = "write \"DATABASE.Message.Signal\"";
                found.push(Diagnostic::error(from.span.clone(), text).hint(hint));
                return None;
            }
        };
        let Some((name, messages)) = self.databases.find(database) else {
            let text = format!("there is no database `{database}`");
            let hint = did_you_mean(database, self.databases.names());
            found.push(Diagnostic::error(from.span.clone(), text).hint(hint));
            return None;
        };
        let message = find_message(messages, name, message, from.span.clone(), found)?;
        let signal = SpannedValue {
            value: signal.to_owned(),
            span: from.span.clone(),
        };
        Some((name, message, find_signal(message, &signal, found)?))
    }

    /// Returns the place of a source among those that are read, and adds it if it is new.
    fn read(
        &mut self,
        database: &'d str,
        message: &'d MessageDefinition,
        signal: usize,
        is_signed: bool,
    ) -> Option<SourceIndex> {
        let known = self
            .keys
            .iter()
            .position(|(db, name, _)| *db == database && *name == message.name);
        let at = known.unwrap_or_else(|| {
            let (id, mask) = message.frame_filter();
            self.keys
                .push((database, message.name.as_str(), Vec::new()));
            self.inputs.push(InputMessage {
                name: format!("{database}.{}", message.name),
                id,
                mask,
                signals: Vec::new(),
            });
            self.inputs.len() - 1
        });
        let (_, _, signals) = self.keys.get_mut(at)?;
        let known = signals.iter().position(|known| *known == signal);
        let place = known.unwrap_or(signals.len());
        if known.is_none() {
            signals.push(signal);
            self.inputs.get_mut(at)?.signals.push(InputSignal {
                field: message.signals.get(signal)?.field,
                is_signed,
                presence: message.presence_tests(signal),
            });
        }
        Some(SourceIndex {
            message: at,
            signal: place,
        })
    }
}
