//! The messages from whose signals ports of a gateway make messages.

use super::copies::{SentCopy, SentWay};
use super::passing::HopCondition;
use analysis::tunnel::TunnelPassage;
use analysis::{BusSpec, MessagePlace};
use frame::{CanId, Nanos};
use port::PortSpec;
use port::composed::ComposedSettings;
use port::composed::rules::ComposedMessage;
use signals::OutOfRange;

/// The timeout of a signal from which a port of the gateway makes a message.
#[derive(Clone)]
pub(super) struct SourceTimeout {
    /// The message that has the signal, on the bus from which the gateway receives it.
    pub(super) place: MessagePlace,
    /// The port that makes the message, and its name.
    pub(super) made: String,
    /// The timeout, ns.
    pub(super) time: Nanos,
    /// The condition on which each frame is passed on to the port.
    pub(super) condition: HopCondition,
    /// The longest time that the gateway takes to pass it on, ns.
    pub(super) delay: Nanos,
    /// The tunnel between the bus and the gateway.
    pub(super) passage: Option<TunnelPassage>,
}

/// A message from which a port of the gateway makes another one.
#[derive(Clone)]
pub(super) struct MadeInput {
    /// The message on the bus from which the gateway receives it.
    pub(super) place: MessagePlace,
    /// The port that makes the message, and its name.
    pub(super) made: String,
    /// The condition on which each frame is passed on to the port, and its values are taken.
    pub(super) condition: HopCondition,
    /// The longest time that the gateway takes to pass it on, ns.
    pub(super) delay: Nanos,
    /// The tunnel between the bus and the gateway.
    pub(super) passage: Option<TunnelPassage>,
}

/// Returns the words for a message that a port makes.
pub(super) fn made_label(made: &ComposedMessage, port: &PortSpec) -> String {
    format!("{}, port {}", made.name, port.name)
}

/// Returns the messages that a port makes from this copy.
pub(super) fn made_inputs(port: &PortSpec, way: &SentWay<'_>, sent: &SentCopy) -> Vec<MadeInput> {
    let Some(settings) = port.settings.downcast_ref::<ComposedSettings>() else {
        return Vec::new();
    };
    let id = sent.shape.header().id().raw();
    let mut all = Vec::new();
    for made in &settings.messages {
        let own = made.assignments.iter().filter(|assignment| {
            let input = settings.inputs.get(assignment.source.message);
            input.is_some_and(|input| id & input.mask == input.id & input.mask)
        });
        let mut own = own.peekable();
        if own.peek().is_none() {
            continue;
        }
        let mut condition = sent.condition;
        for assignment in own {
            let input = settings.inputs.get(assignment.source.message);
            let signal = input.and_then(|input| input.signals.get(assignment.source.signal));
            let drops = match assignment.range.outside {
                OutOfRange::Drop => Some("leads to a signal that drops values out of range"),
                _ if signal.is_some_and(|signal| !signal.presence.is_empty()) => {
                    Some("leads to a signal that is not in all frames")
                }
                _ => None,
            };
            condition.drops = condition.drops.or(drops);
        }
        all.push(MadeInput {
            place: way.from,
            made: made_label(made, port),
            condition,
            delay: way.delay,
            passage: way.passage,
        });
    }
    all
}

/// Returns the timeouts of the signals for which a port that makes messages reads this copy.
pub(super) fn source_timeouts(
    port: &PortSpec,
    way: &SentWay<'_>,
    sent: &SentCopy,
) -> Vec<SourceTimeout> {
    let Some(settings) = port.settings.downcast_ref::<ComposedSettings>() else {
        return Vec::new();
    };
    let id = sent.shape.header().id().raw();
    let reads = |input: usize| {
        let input = settings.inputs.get(input);
        input.is_some_and(|input| id & input.mask == input.id & input.mask)
    };
    let mut all: Vec<SourceTimeout> = Vec::new();
    for made in &settings.messages {
        for assignment in &made.assignments {
            let Some(silence) = assignment
                .silence
                .filter(|_| reads(assignment.source.message))
            else {
                continue;
            };
            let input = settings.inputs.get(assignment.source.message);
            let signal = input.and_then(|input| input.signals.get(assignment.source.signal));
            let mut condition = sent.condition;
            if signal.is_some_and(|signal| !signal.presence.is_empty()) {
                condition.drops = condition
                    .drops
                    .or(Some("leads to a signal that is not in all frames"));
            }
            all.push(SourceTimeout {
                place: way.from,
                made: made_label(made, port),
                time: silence.timeout,
                condition,
                delay: way.delay,
                passage: way.passage,
            });
        }
    }
    // The shortest timeout of each made message decides.
    all.sort_by(|a, b| {
        let key = |s: &SourceTimeout| (s.condition.drops.is_none(), s.time);
        a.made.cmp(&b.made).then(key(a).cmp(&key(b)))
    });
    all.dedup_by(|a, b| a.made == b.made);
    all
}

/// Returns the messages that a port makes and no bus of the set has, in sentences. `is_placed`:
/// whether the message with this label is on a bus, where its frames can have other IDs.
pub(super) fn made_alone(
    port: &PortSpec,
    buses: &[BusSpec],
    is_placed: impl Fn(&str) -> bool,
) -> Vec<String> {
    let Some(settings) = port.settings.downcast_ref::<ComposedSettings>() else {
        return Vec::new();
    };
    let in_set = |id: CanId| {
        let mut messages = buses.iter().flat_map(|bus| &bus.messages);
        messages.any(|message| message.shape.header().id() == id)
    };
    let made = settings.messages.iter();
    let made = made.filter(|made| !in_set(made.header.id()) && !is_placed(&made_label(made, port)));
    let note = |made: &ComposedMessage| {
        format!(
            "{} ({}), which port {} makes: add it to the set, as a message of the port that sends it",
            made.name,
            made.header.id(),
            port.name
        )
    };
    made.map(note).collect()
}
