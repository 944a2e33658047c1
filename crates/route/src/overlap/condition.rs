//! The conditions of a route on payload, signals and length.

use crate::{FrameMatch, PayloadPattern};

/// Returns whether every frame that `narrow` takes by payload and length also passes `wide`.
/// Returns `false` where that is not obvious.
pub(super) fn implies(narrow: &FrameMatch, wide: &FrameMatch) -> bool {
    let len = match (narrow.len, wide.len) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some((first, last)), Some((low, high))) => low <= first && last <= high,
    };
    let when = match (&narrow.when, &wide.when) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(narrow), Some(wide)) => narrow.implies(wide),
    };
    len && when
        && wide
            .payload
            .iter()
            .all(|pattern| narrow.payload.contains(pattern))
}

/// Returns whether a frame can pass both by payload and length.
pub(super) fn meet(a: &FrameMatch, b: &FrameMatch) -> bool {
    let len = match (a.len, b.len) {
        (Some((first, last)), Some((low, high))) => low <= last && first <= high,
        _ => true,
    };
    let when = match (&a.when, &b.when) {
        (Some(one), Some(other)) => !one.excludes(other),
        _ => true,
    };
    len && when
        && a.payload
            .iter()
            .all(|one| b.payload.iter().all(|other| agree(one, other)))
}

/// Returns whether the bits that both patterns compare have the same values.
fn agree(a: &PayloadPattern, b: &PayloadPattern) -> bool {
    let bits = |pattern: &PayloadPattern, at: usize| {
        let place = at.checked_sub(usize::from(pattern.at))?;
        let (mask, value) = (*pattern.mask.get(place)?, *pattern.value.get(place)?);
        Some((mask, value))
    };
    let start = usize::from(a.at);
    (start..start + a.value.len()).all(|at| match (bits(a, at), bits(b, at)) {
        (Some((mask, value)), Some((other_mask, other))) => {
            (value ^ other) & mask & other_mask == 0
        }
        _ => true,
    })
}
