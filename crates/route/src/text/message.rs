//! The message of a route, for texts that name its signals.

use crate::SignalCondition;
use ::config::{Diagnostics, TomlValue, did_you_mean};
use alloc::{format, string::String};
use signals::{MessageDefinition, PhysicalValue, SignalDefinition};

/// The message of a route.
#[derive(Clone, Copy)]
pub(crate) enum RouteMessage<'m> {
    /// The route names no message.
    Unnamed,
    /// The route names several messages.
    Several,
    /// The name was wrong, and this has been reported.
    Wrong,
    /// This message, of frames for which the condition holds.
    One {
        definition: &'m MessageDefinition,
        when: Option<&'m SignalCondition>,
    },
}

impl<'m> RouteMessage<'m> {
    /// Returns the message and the condition, or reports at a value that names signals that the
    /// route has no single message.
    pub(crate) fn one(
        self,
        value: &TomlValue<'_>,
        found: &mut Diagnostics,
    ) -> Option<(&'m MessageDefinition, Option<&'m SignalCondition>)> {
        let key = value.name();
        match self {
            Self::One { definition, when } => return Some((definition, when)),
            Self::Wrong => {}
            Self::Unnamed => {
                let message =
                    format!("`{key}` names signals of a message, and the route names none");
                value.wrong(message, "add `message = \"NAME\"`", found);
            }
            Self::Several => {
                let message =
                    format!("`{key}` names signals of one message, and the route names several");
                value.wrong(message, "write a route for each message", found);
            }
        }
        None
    }
}

/// A mistake, and its remedy.
pub(crate) type NameMistake = (String, String);

/// Returns the index and the definition of a signal.
///
/// # Errors
/// The name is wrong.
pub(crate) fn find_signal<'m>(
    message: &'m MessageDefinition,
    name: &str,
) -> Result<(usize, &'m SignalDefinition), NameMistake> {
    let all = message.signals.iter().enumerate();
    let mut named = all.filter(|(_, signal)| signal.name == name);
    match (named.next(), named.next()) {
        (Some(one), None) => Ok(one),
        (Some((_, one)), Some((_, other))) => Err((
            format!("message `{}` has two signals `{name}`", message.name),
            format!(
                "they are in lines {} and {} of the database",
                one.line, other.line
            ),
        )),
        (None, _) => {
            let names = message.signals.iter().map(|signal| signal.name.as_str());
            Err((
                format!("message `{}` has no signal `{name}`", message.name),
                did_you_mean(name, names),
            ))
        }
    }
}

/// Returns a value with its unit.
pub(crate) fn with_unit(value: &PhysicalValue, signal: &SignalDefinition) -> String {
    match signal.unit.as_str() {
        "" => format!("{value}"),
        unit => format!("{value} {unit}"),
    }
}

/// Returns a hint for a text that names no value of a signal.
pub(crate) fn value_name_hint(name: &str, signal: &SignalDefinition) -> String {
    if signal.value_names.is_empty() {
        return "the database names no values of this signal: write a number".into();
    }
    did_you_mean(
        name,
        signal.value_names.iter().map(|named| named.name.as_str()),
    )
}
