//! The messages and signals that the options select.

use crate::cli::decode::SignalChoice;
use capture::{FrameDatabases, SelectedMessage, SignalSelection};
use config::did_you_mean;
use console::Failure;
use signals::MessageDefinition;

/// Selects the signals that the options name, or all.
///
/// # Errors
/// A name that no database has.
pub(super) fn selection<'a>(
    databases: &'a FrameDatabases,
    choice: &SignalChoice,
) -> Result<SignalSelection<'a>, Failure> {
    let selection = SignalSelection::new(databases, |definition| select(definition, choice));
    check_names(selection.messages(), choice)?;
    if !selection
        .messages()
        .iter()
        .any(SelectedMessage::is_selected)
    {
        return Err(Failure::input(
            "--messages and --signals together select nothing: none of these signals is in one of these messages",
        ));
    }
    Ok(selection)
}

fn select<'a>(definition: &'a MessageDefinition, choice: &SignalChoice) -> SelectedMessage<'a> {
    let SignalChoice { messages, signals } = choice;
    let is_named = messages.is_empty() || messages.contains(&definition.name);
    let is_wanted = |signal: &str| {
        signals.is_empty()
            || signals.iter().any(|wanted| match wanted.split_once('.') {
                Some((message, wanted)) => message == definition.name && wanted == signal,
                None => wanted == signal,
            })
    };
    let all = definition.signals.iter().enumerate();
    let chosen: Vec<usize> = all
        .filter(|(_, signal)| is_named && is_wanted(&signal.name))
        .map(|(index, _)| index)
        .collect();
    let is_selected = is_named && (signals.is_empty() || !chosen.is_empty());
    SelectedMessage::new(definition, is_selected, chosen)
}

/// Checks that the databases have all names of the options.
fn check_names(messages: &[SelectedMessage<'_>], choice: &SignalChoice) -> Result<(), Failure> {
    let definitions = || messages.iter().map(SelectedMessage::definition);
    let names = || definitions().map(|definition| definition.name.as_str());
    let unknown = |option: &str, name: &str, hint: String| {
        Err(Failure::input(format!(
            "{option} {name}: not in the databases; {hint}"
        )))
    };
    for name in &choice.messages {
        if !names().any(|known| known == name) {
            return unknown("--messages", name, did_you_mean(name, names()));
        }
    }
    for name in &choice.signals {
        let (message, signal) = match name.split_once('.') {
            Some((message, signal)) => (Some(message), signal),
            None => (None, name.as_str()),
        };
        if let Some(message) = message
            && !names().any(|known| known == message)
        {
            return unknown("--signals", name, did_you_mean(message, names()));
        }
        let of = definitions().filter(|one| message.is_none_or(|message| one.name == message));
        let known = of.flat_map(|one| one.signals.iter().map(|signal| signal.name.as_str()));
        if !known.clone().any(|known| known == signal) {
            return unknown("--signals", name, did_you_mean(signal, known));
        }
    }
    Ok(())
}
