//! The parts of a frame that matching uses.

use crate::{Route, TriState};
use frame::{CanId, FrameRef, Kind};

/// The index of a port in which a frame is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyClass {
    /// SFF identifier, XL priority.
    Sff = 0,
    /// EFF identifier.
    Eff = 1,
    /// Error frame of the controller, of either format.
    Err = 2,
}

impl KeyClass {
    /// All classes, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Sff, Self::Eff, Self::Err];
}

/// Sorts of frame that conditions on kind, RTR and error distinguish; one bit for each.
pub mod sort {
    use super::{CanId, Kind};

    /// A classic data frame.
    pub const CLASSIC: u8 = 1;
    /// A remote frame.
    pub const CLASSIC_RTR: u8 = 2;
    /// A classic error frame.
    pub const CLASSIC_ERR: u8 = 4;
    /// A classic error frame with the RTR flag.
    pub const CLASSIC_ERR_RTR: u8 = 8;
    /// An FD frame.
    pub const FD: u8 = 16;
    /// An FD error frame.
    pub const FD_ERR: u8 = 32;
    /// An XL frame.
    pub const XL: u8 = 64;

    /// All sorts of classic frames.
    pub const ANY_CLASSIC: u8 = CLASSIC | CLASSIC_RTR | CLASSIC_ERR | CLASSIC_ERR_RTR;
    /// All sorts of FD frames.
    pub const ANY_FD: u8 = FD | FD_ERR;
    /// All sorts with the RTR flag.
    pub const ANY_RTR: u8 = CLASSIC_RTR | CLASSIC_ERR_RTR;
    /// All sorts of error frames.
    pub const ANY_ERR: u8 = CLASSIC_ERR | CLASSIC_ERR_RTR | FD_ERR;

    pub(super) const fn of(kind: Kind, id: CanId) -> u8 {
        match kind {
            Kind::Classic => CLASSIC << (id.is_rtr() as u8 + 2 * id.is_err() as u8),
            Kind::Fd => FD << (id.is_err() as u8),
            Kind::Xl => XL,
        }
    }
}

/// Returns the sorts of frame that a route takes.
#[must_use]
pub fn sorts(route: &Route) -> u8 {
    let matching = &route.matching;
    let kinds = matching.kinds;
    let any = !(kinds.classic || kinds.fd || kinds.xl);
    let mut sorts = 0;
    if any || kinds.classic {
        sorts |= sort::ANY_CLASSIC;
    }
    if any || kinds.fd {
        sorts |= sort::ANY_FD;
    }
    if any || kinds.xl {
        sorts |= sort::XL;
    }
    for (wanted, those) in [(matching.rtr, sort::ANY_RTR), (matching.err, sort::ANY_ERR)] {
        match wanted {
            TriState::Either => {}
            TriState::Yes => sorts &= those,
            TriState::No => sorts &= !those,
        }
    }
    sorts
}

/// The parts of a frame that matching uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchKey<'a> {
    /// SocketCAN's 32 bits; for an XL frame only the 11 bits of its priority.
    pub(crate) raw: u32,
    pub(crate) class: KeyClass,
    /// One bit of [`sort`].
    pub(crate) sort: u8,
    pub(crate) len: u16,
    pub(crate) data: &'a [u8],
}

impl<'a> MatchKey<'a> {
    pub(crate) fn new(frame: FrameRef<'a>) -> Self {
        let id = frame.id();
        let xl = frame.kind() == Kind::Xl;
        let class = match (xl, id.is_err(), id.is_eff()) {
            (true, ..) | (_, false, false) => KeyClass::Sff,
            (_, true, _) => KeyClass::Err,
            (_, false, true) => KeyClass::Eff,
        };
        Self {
            raw: if xl {
                id.raw() & CanId::SFF_MASK
            } else {
                id.raw()
            },
            class,
            sort: sort::of(frame.kind(), id),
            len: frame.len() as u16,
            data: frame.data(),
        }
    }
}
