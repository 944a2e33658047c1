//! Types of values that the keys of several kinds of port have.

use crate::kind::LONGEST_QUEUE;
use config::read::{self, ReadKey};

/// Returns the type of the key `queue`: the number of frames that can wait while the other side has
/// no room, 1 to [`LONGEST_QUEUE`].
#[must_use]
pub fn queue<'t>() -> impl ReadKey<'t, Value = u32> {
    read::integer(1..=LONGEST_QUEUE)
}

/// The error of a data phase with a lower bit rate than the nominal one.
#[cfg(any(
    feature = "bus",
    feature = "direct",
    feature = "chardev",
    feature = "socketcan"
))]
pub(crate) const SLOW_DATA_PHASE: &str =
    "the data phase cannot be slower than the arbitration phase";

/// Returns the time from bus-off to the restart in ms, rounded up, as Linux's interfaces take it;
/// 0: never.
#[cfg(any(feature = "chardev", feature = "socketcan"))]
pub(crate) fn restart_ms(time: Option<frame::Nanos>) -> u32 {
    time.map_or(0, |ns| {
        u32::try_from(ns.div_ceil(1_000_000)).unwrap_or(u32::MAX)
    })
}

#[cfg(any(feature = "direct", feature = "chardev", feature = "socketcan"))]
pub(crate) use timing::{restart, sample_point};

/// Keys of controllers.
#[cfg(any(feature = "direct", feature = "chardev", feature = "socketcan"))]
mod timing {
    use config::read::{ReadKey, by};
    use config::{Diagnostics, TomlValue, ValueShape};
    use frame::Nanos;
    use std::ops::RangeInclusive;

    const SAMPLE_POINTS: RangeInclusive<f64> = 0.001..=0.999;

    /// A sample point such as 0.875, in thousandths of a bit.
    pub(crate) fn sample_point<'t>() -> impl ReadKey<'t, Value = u32> {
        let read = |value: &TomlValue<'t>, found: &mut Diagnostics| {
            let part = value.number(found)?.value;
            if SAMPLE_POINTS.contains(&part) {
                return Some((part * 1000.0).round() as u32);
            }
            let hint = "a part of the bit between 0 and 1, such as 0.875";
            value.wrong("this is not a valid sample point", hint, found);
            None
        };
        by(|| ValueShape::Number(SAMPLE_POINTS), read)
    }

    /// The time from bus-off to the restart, ns; `None`: never.
    pub(crate) fn restart<'t>() -> impl ReadKey<'t, Value = Option<Nanos>> {
        let never = || ValueShape::Words(vec!["never"]);
        by(
            move || ValueShape::Any(vec![ValueShape::Duration, never()]),
            |value, found| match value.as_str() {
                Some("never") => Some(None),
                _ => value.duration(found).map(|time| Some(time.value)),
            },
        )
    }
}
