//! The conditions on which a route passes on every frame of a message.

use analysis::{BusSpec, FrameShape, MessagePlace};
use frame::{CanId, Nanos};
use port::PortSpec;
use port::composed::ComposedSettings;
use port::composed::rules::ComposedMessage;

use route::{Action, Route, WrongFrames};
use signals::{FieldSource, OutOfRange};

/// The condition on which a route passes on every frame of a message.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct HopCondition {
    /// The reason why it does not; `None` if it does.
    pub(super) drops: Option<&'static str>,
    /// The most frames in a row that may be lost before the route: beyond that, it drops more.
    pub(super) losses: Option<u32>,
}

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
}

/// Returns the condition of a route. `exact`: the payload is known, so that the route's conditions
/// are decided. `is_first`: no route before it can take the frame instead.
pub(super) fn condition(route: &Route, exact: bool, is_first: bool) -> HopCondition {
    let on_payload = !route.matching.payload.is_empty() || route.matching.when.is_some();
    let drops = if route.limit.is_some() {
        Some("has a rate limit")
    } else if on_payload && !exact {
        Some("takes frames by their payload")
    } else if !is_first {
        Some("comes after one that can take the frame by its payload")
    } else if route.actions.iter().any(drops_values) {
        Some("drops frames with values out of range")
    } else {
        None
    };
    let verify = route.verify.as_ref();
    let verify = verify.filter(|verify| verify.on_wrong == WrongFrames::Drop);
    HopCondition {
        drops,
        losses: verify.map(|verify| verify.max_delta.saturating_sub(1)),
    }
}

/// Returns whether an action drops frames for the values in them.
fn drops_values(action: &Action) -> bool {
    let Action::WriteSignals(signals) = action else {
        return false;
    };
    signals.writes.iter().any(|write| match write.source {
        FieldSource::Signal { range, .. } => range.outside == OutOfRange::Drop,
        FieldSource::Constant(_) | FieldSource::Bits(_) => false,
    })
}

/// Changes actions so that none drops a frame for the values in it.
pub(super) fn keep_all(actions: &mut [Action]) {
    for action in actions {
        let Action::WriteSignals(signals) = action else {
            continue;
        };
        for write in &mut signals.writes {
            if let FieldSource::Signal { range, .. } = &mut write.source
                && range.outside == OutOfRange::Drop
            {
                range.outside = OutOfRange::Saturate;
            }
        }
    }
}

/// Returns the timeouts of the signals for which a port that makes messages reads this copy.
pub(super) fn source_timeouts(
    port: &PortSpec,
    place: MessagePlace,
    shape: &FrameShape,
    passed: HopCondition,
    delay: Nanos,
) -> Vec<SourceTimeout> {
    let Some(settings) = port.settings.downcast_ref::<ComposedSettings>() else {
        return Vec::new();
    };
    let id = shape.header().id().raw();
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
            let mut condition = passed;
            if signal.is_some_and(|signal| !signal.presence.is_empty()) {
                condition.drops = condition
                    .drops
                    .or(Some("leads to a signal that is not in all frames"));
            }
            all.push(SourceTimeout {
                place,
                made: format!("{}, port {}", made.name, port.name),
                time: silence.timeout,
                condition,
                delay,
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

/// Returns the messages that a port makes and no bus of the set has, in sentences.
pub(super) fn made_alone(port: &PortSpec, buses: &[BusSpec]) -> Vec<String> {
    let Some(settings) = port.settings.downcast_ref::<ComposedSettings>() else {
        return Vec::new();
    };
    let in_set = |id: CanId| {
        let mut messages = buses.iter().flat_map(|bus| &bus.messages);
        messages.any(|message| message.shape.header().id() == id)
    };
    let made = settings.messages.iter();
    let made = made.filter(|made| !in_set(made.header.id()));
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
