//! Conversion of a route's ID filters into can-gw's single filter.

use crate::{FrameMatch, IdFilter, IdSet, TriState};
use alloc::string::String;
use frame::CanId;

/// Returns the filter that matches exactly the IDs, remote frames and error frames of a route;
/// `None` if the route takes every frame except error frames.
pub(super) fn join(matching: &FrameMatch) -> Result<Option<IdFilter>, String> {
    let filter = match matching.ids.as_slice() {
        [] => None,
        [one] => Some(masked(one)?),
        _ => return Err("it has several ID filters, and a rule has one".into()),
    };
    let errors = filter.is_some_and(|(_, mask, _)| mask & CanId::ERR_FLAG != 0);
    match matching.err {
        TriState::No if errors => {
            return Err("its filter asks for error frames, and `error` keeps them out".into());
        }
        TriState::Yes | TriState::Either if !errors => {
            return Err(
                "it takes error frames without a filter that names their classes, such as \
                 \"000:20000080\""
                    .into(),
            );
        }
        _ => {}
    }
    let (id, mask, inverted) = filter.unwrap_or((0, 0, false));
    if matching.rtr == TriState::Either {
        return Ok(filter.map(|_| raw(id, mask, inverted)));
    }
    if inverted || errors {
        return Err("`rtr` cannot be joined with this filter".into());
    }
    let wanted = if matching.rtr == TriState::Yes {
        CanId::RTR_FLAG
    } else {
        0
    };
    if mask & CanId::RTR_FLAG != 0 && id & CanId::RTR_FLAG != wanted {
        return Err("its filter and `rtr` exclude each other".into());
    }
    Ok(Some(raw(
        id & !CanId::RTR_FLAG | wanted,
        mask | CanId::RTR_FLAG,
        false,
    )))
}

fn raw(id: u32, mask: u32, inverted: bool) -> IdFilter {
    IdFilter {
        set: IdSet::Masked { id, mask },
        inverted,
    }
}

/// Returns ID, mask and inversion.
fn masked(filter: &IdFilter) -> Result<(u32, u32, bool), String> {
    match filter.set {
        // Bit 29 of an ID inverts (`CAN_INV_FILTER`); the mask does not cover it here.
        IdSet::Masked { id, mask } => Ok((id & !CanId::ERR_FLAG, mask, filter.inverted)),
        IdSet::Range { .. } if filter.inverted => Err(
            "it takes all other IDs of one frame format, and can-gw's inverted filter takes \
                 those of both"
                .into(),
        ),
        IdSet::Range { eff, first, last } => {
            let (max, flag) = if eff {
                (CanId::EFF_MASK, CanId::EFF_FLAG)
            } else {
                (CanId::SFF_MASK, 0)
            };
            let rest = last.wrapping_sub(first);
            if rest & rest.wrapping_add(1) != 0 || first & rest != 0 {
                return Err("its range of IDs is not a block that a mask can describe".into());
            }
            Ok((first | flag, max & !rest | CanId::EFF_FLAG, false))
        }
    }
}
