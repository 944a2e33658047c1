//! can-gw's XOR checksum.

use super::Work;
use crate::XorSum;

/// The order does not matter to XOR, so summing downwards is the same sum.
pub(super) fn apply(sum: &XorSum, work: &mut Work<'_>) {
    let (Some(from), Some(to), Some(result)) = (
        work.index(sum.from),
        work.index(sum.to),
        work.index(sum.result),
    ) else {
        return;
    };
    let bytes = work.data.get(from.min(to)..=from.max(to)).unwrap_or(&[]);
    let value = bytes.iter().fold(sum.init, |value, byte| value ^ byte);
    if let Some(place) = work.data.get_mut(result) {
        *place = value;
    }
}
