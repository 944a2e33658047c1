//! The messages that ports of a gateway make, on the buses to which routes lead them.

use super::connected::{AttachedPort, ConnectedSet, MadePlace};
use super::copies::{RoutingTables, SentCopy};
use super::sources::made_label;
use super::splits::{self, SplitLoad, SplitResult, SplitSource, SplitWhole};
use analysis::{Arrival, FrameShape, Message, MessagePlace};
use console::Failure;
use frame::{Kind, Nanos, wire};
use gateway::config::GatewayConfig;
use port::composed::ComposedSettings;
use port::composed::rules::{ComposedMessage, SendTiming};
use route::PortId;

/// Adds the made messages of a gateway to the buses to which routes lead them, if the set does not
/// have them. The gateway has its number. `delay`: the longest time by which it is late.
pub(super) fn add(
    all: &mut ConnectedSet,
    gateway: (usize, &GatewayConfig),
    ports: &[Option<AttachedPort>],
    tables: &RoutingTables<'_>,
    delay: Nanos,
) -> Result<(), Failure> {
    for (number, spec) in (0_u16..).zip(&gateway.1.ports) {
        let Some(settings) = spec.settings.downcast_ref::<ComposedSettings>() else {
            continue;
        };
        for made in &settings.messages {
            let label = made_label(made, spec);
            for (sent, whole) in with_parts(all, gateway, tables, made, PortId(number), delay)? {
                let to = ports.get(usize::from(sent.to.0)).copied().flatten();
                let Some(to) = to else { continue };
                let place = match find(all, to.bus, &sent.shape) {
                    Some(place) => place,
                    None => match add_one(all, made, to, (sent.shape, whole), delay)? {
                        Some(place) => place,
                        None => continue,
                    },
                };
                all.made.push(MadePlace {
                    made: label.clone(),
                    place,
                    cycle: made.timing.cycle,
                });
            }
        }
    }
    Ok(())
}

/// Returns the copies of the frames that a port makes, and in place of those that go to a port that
/// splits them, the copies of the parts, each with its FD frame.
fn with_parts(
    connected: &mut ConnectedSet,
    (gateway, config): (usize, &GatewayConfig),
    tables: &RoutingTables<'_>,
    message: &ComposedMessage,
    from: PortId,
    delay: Nanos,
) -> Result<Vec<(SentCopy, Option<SplitWhole>)>, Failure> {
    let shape = FrameShape::any(message.header).map_err(Failure::run)?;
    let mut all = Vec::new();
    for sent in tables.follow(&shape, from)? {
        let port = config.ports.get(usize::from(sent.to.0));
        let port = port.and_then(|port| Some((port, splits::settings(port)?)));
        let Some((port, settings)) = port else {
            all.push((sent, None));
            continue;
        };
        if let SplitResult::Makes(made) = splits::made(settings, &sent.shape, None)? {
            let parts = tables.follow(&made.shape, sent.to)?;
            // Without a period, the message is noted as one without a bound.
            if let Some(period) = least_distance(&message.timing) {
                let arrival = Arrival::new(period, delay, 0).map_err(Failure::run)?;
                connected.splits.push(SplitLoad {
                    gateway,
                    port: port.name.clone(),
                    room: settings.queue,
                    frames: made.frames,
                    source: SplitSource::Made(arrival),
                    delay: delay.saturating_mul(2),
                });
            }
            all.extend(parts.into_iter().map(|part| (part, made.whole)));
        }
    }
    Ok(all)
}

/// Returns the message of a bus with the same arbitration field.
fn find(all: &ConnectedSet, bus: usize, shape: &FrameShape) -> Option<MessagePlace> {
    let key = |shape: &FrameShape| wire::arbitration_key(shape.header()) >> 2;
    let messages = &all.network.buses.get(bus)?.messages;
    let message = messages
        .iter()
        .position(|other| key(&other.shape) == key(shape))?;
    Some(MessagePlace { bus, message })
}

/// Returns the least time between two frames: a message with changes or answers keeps only its
/// least distance.
fn least_distance(timing: &SendTiming) -> Option<Nanos> {
    let distance = match timing.on_change || timing.answers_remote {
        true => Some(timing.min_distance),
        false => timing.cycle,
    };
    distance.filter(|distance| *distance > 0)
}

/// Adds a made message; `None` if its traffic has no bound, which is noted.
fn add_one(
    all: &mut ConnectedSet,
    made: &ComposedMessage,
    to: AttachedPort,
    (shape, whole): (FrameShape, Option<SplitWhole>),
    delay: Nanos,
) -> Result<Option<MessagePlace>, Failure> {
    let Some(period) = least_distance(&made.timing) else {
        all.notes.push(format!(
            "{}, which is made on changes or requests at any rate: give it `min_distance`",
            made.name
        ));
        return Ok(None);
    };
    let Some(spec) = all.network.buses.get_mut(to.bus) else {
        return Ok(None);
    };
    if shape.header().kind() == Kind::Fd && spec.rate.data().is_none() {
        return Ok(None);
    }
    // A worker that is late makes one frame late, and not the next one. It takes the parts of a
    // frame from a port of its own.
    let late = match whole {
        None => delay,
        Some(_) => delay.saturating_mul(2),
    };
    let arrival = Arrival::new(period, late, 0).map_err(Failure::run)?;
    let arrival = whole.map_or(arrival, |whole| whole.parts_of(arrival));
    spec.messages.push(Message {
        name: made.name.clone(),
        node: to.node,
        shape,
        arrival,
        offset: None,
        deadline: made.timing.cycle.unwrap_or(period),
    });
    let message = spec.messages.len() - 1;
    if let Some(periods) = all.longest_periods.get_mut(to.bus) {
        periods.push(made.timing.cycle);
    }
    if let Some(whole) = whole {
        all.wholes.insert((to.bus, message), whole);
    }
    Ok(Some(MessagePlace {
        bus: to.bus,
        message,
    }))
}
