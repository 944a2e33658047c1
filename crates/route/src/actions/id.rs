//! Offsets and maps of IDs.

use super::Work;
use crate::Stop;
use frame::{CanId, Kind};

const FLAGS: u32 = CanId::EFF_FLAG | CanId::RTR_FLAG | CanId::ERR_FLAG;

/// A block of IDs that moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) count: u32,
    pub(super) eff: Option<bool>,
}

/// The ID's number as it goes on the wire; `None` for error frames, which have none.
fn number(work: &Work<'_>) -> Option<u32> {
    match work.kind {
        Kind::Xl => Some(work.raw & CanId::SFF_MASK),
        _ if work.id().is_err() => None,
        _ => Some(work.id().number()),
    }
}

fn put(work: &mut Work<'_>, number: Option<u32>, eff: bool) -> Result<(), Stop> {
    let max = if eff {
        CanId::EFF_MASK
    } else {
        CanId::SFF_MASK
    };
    let number = number
        .filter(|number| *number <= max)
        .ok_or(Stop::IdRange)?;
    let format = if eff { CanId::EFF_FLAG } else { 0 };
    work.raw = (work.raw & FLAGS & !CanId::EFF_FLAG) | format | number;
    Ok(())
}

pub(super) fn offset(work: &mut Work<'_>, by: i64) -> Result<(), Stop> {
    let Some(old) = number(work) else {
        return Ok(());
    };
    let new = i64::from(old)
        .checked_add(by)
        .and_then(|new| u32::try_from(new).ok());
    let eff = work.kind != Kind::Xl && work.id().is_eff();
    put(work, new, eff)
}

impl Map {
    pub(super) fn apply(self, work: &mut Work<'_>) -> Result<(), Stop> {
        let Some(place) = number(work).and_then(|old| old.checked_sub(self.from)) else {
            return Ok(());
        };
        if place >= self.count {
            return Ok(());
        }
        let eff = match (work.kind, self.eff) {
            (Kind::Xl, Some(true)) => return Err(Stop::IdRange),
            (Kind::Xl, _) => false,
            (_, Some(eff)) => eff,
            (_, None) => work.id().is_eff(),
        };
        put(work, self.to.checked_add(place), eff)
    }
}
