//! The conditions on which a route passes on every frame of a message.

use frame::Nanos;
use route::{Action, Route, WrongFrames};
use signals::{FieldSource, OutOfRange};

/// The condition on which a route passes on every frame of a message.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct HopCondition {
    /// The reason why it does not; `None` if it does.
    pub(super) drops: Option<&'static str>,
    /// The most frames in a row that may be lost before the route: beyond that, it drops more.
    pub(super) losses: Option<u32>,
    /// All parts of a frame must come within this time, ns: later, it is dropped.
    pub(super) within: Option<Nanos>,
}

impl HopCondition {
    /// Returns the condition of this route and one behind it.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            drops: self.drops.or(other.drops),
            losses: least(self.losses, other.losses),
            within: least(self.within, other.within),
        }
    }
}

/// Returns the lower of two limits.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
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
        within: None,
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
