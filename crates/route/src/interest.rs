//! The frames that a port must receive so that its routes can work.

use crate::{
    FrameMatch, IdFilter, IdSet,
    filter::{blocks, kernel_mask},
    match_key::{KeyClass, sort},
};
use alloc::vec::Vec;
use frame::CanId;

/// A raw socket's filter (`struct can_filter`): a frame passes if `(its SocketCAN ID & mask) == (id
/// & mask)`, flags included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RawFilter {
    /// `can_id` with flag bits. [`RawFilter::INVERTED`] inverts the filter.
    pub id: u32,
    /// Mask with flag bits; never the error flag.
    pub mask: u32,
}

impl RawFilter {
    /// `CAN_INV_FILTER` of `uapi/linux/can.h`: if it is set in `id`, frames pass that do *not*
    /// match.
    pub const INVERTED: u32 = 0x2000_0000;

    /// Passes everything.
    const ALL: Self = Self { id: 0, mask: 0 };

    /// Returns whether a frame with SocketCAN's 32 bits `raw` passes by the kernel's rules
    /// (`can_rcv_list_find`, `can_rcv_filter`). Not for error frames.
    #[must_use]
    pub const fn passes(self, raw: u32) -> bool {
        let mask = kernel_mask(self.id, self.mask);
        let agrees = (raw ^ self.id) & mask & !Self::INVERTED == 0;
        agrees != (self.id & Self::INVERTED != 0)
    }
}

/// The IDs that are needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InterestIds {
    /// No data or remote frame at all.
    Nothing,
    /// Every ID.
    Everything,
    /// IDs that pass any of these filters. [`crate::RoutingTable::interest`] returns them sorted.
    /// There may be more than a socket can hold (512); a caller that cannot hold them all should
    /// receive everything.
    Filters(Vec<RawFilter>),
}

/// The frames that a receiver at a port needs: those that it must receive so that every route can
/// work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameInterest {
    /// The IDs of data and remote frames.
    pub ids: InterestIds,
    /// FD frames are needed, too.
    pub fd: bool,
    /// XL frames are needed, too.
    pub xl: bool,
    /// Error frames of the controller are needed, too.
    pub error_frames: bool,
}

impl Default for FrameInterest {
    /// All data and remote frames of every kind, no error frames.
    fn default() -> Self {
        Self {
            ids: InterestIds::Everything,
            fd: true,
            xl: true,
            error_frames: false,
        }
    }
}

impl FrameInterest {
    /// Returns an interest in no frames.
    pub(crate) const fn nothing() -> Self {
        Self {
            ids: InterestIds::Nothing,
            fd: false,
            xl: false,
            error_frames: false,
        }
    }
}

/// Returns the interest of routes, each with the [`sort`]s that it takes.
pub(crate) fn of<'a>(routes: impl Iterator<Item = (&'a FrameMatch, u8)>) -> FrameInterest {
    let mut interest = FrameInterest::nothing();
    let mut filters = Vec::new();
    for (matching, sorts) in routes {
        interest.fd |= sorts & sort::ANY_FD != 0;
        interest.xl |= sorts & sort::XL != 0;
        interest.error_frames |= sorts & sort::ANY_ERR != 0;
        if sorts & !sort::ANY_ERR == 0 {
            continue;
        }
        if matching.ids.is_empty() {
            filters.push(narrow(RawFilter::ALL, sorts));
        }
        for id in &matching.ids {
            add(id, sorts, &mut filters);
        }
    }
    filters.sort_unstable();
    filters.dedup();
    filters.shrink_to_fit();
    interest.ids = if filters.is_empty() {
        InterestIds::Nothing
    } else if filters.contains(&RawFilter::ALL) {
        InterestIds::Everything
    } else {
        InterestIds::Filters(filters)
    };
    interest
}

fn add(filter: &IdFilter, sorts: u8, filters: &mut Vec<RawFilter>) {
    match filter.set {
        IdSet::Range { .. } => {
            for (class, format) in [(KeyClass::Sff, 0), (KeyClass::Eff, CanId::EFF_FLAG)] {
                blocks(filter, class, &mut |mask, value| {
                    let block = RawFilter {
                        id: value | format,
                        mask: mask | CanId::EFF_FLAG,
                    };
                    filters.push(narrow(block, sorts));
                });
            }
        }
        // ID filters do not apply to error frames; those have a mask of their own.
        IdSet::Masked { mask, .. } if mask & CanId::ERR_FLAG != 0 => {}
        IdSet::Masked { id, mask } => {
            let mask = kernel_mask(id, mask);
            let id = id & mask;
            // The kernel compares all 32 bits of an XL frame's priority field, including the
            // virtual network's number; here only the priority counts.
            let stray = mask & CanId::EFF_MASK & !CanId::SFF_MASK;
            if sorts & sort::XL != 0 && stray != 0 {
                filters.push(match (filter.inverted, id & stray == 0) {
                    (true, false) => RawFilter::ALL,
                    (true, true) => inverted(id, mask),
                    (false, _) => narrow(RawFilter { id, mask }, sorts),
                });
                if !filter.inverted && id & stray == 0 {
                    filters.push(RawFilter {
                        id,
                        mask: mask & !stray,
                    });
                }
            } else if filter.inverted {
                filters.push(inverted(id, mask));
            } else {
                filters.push(narrow(RawFilter { id, mask }, sorts));
            }
        }
    }
}

const fn inverted(id: u32, mask: u32) -> RawFilter {
    RawFilter {
        id: id | RawFilter::INVERTED,
        mask,
    }
}

/// Adds the RTR flag if a route takes only classic frames, and among them only remote ones or only
/// others. The RTR flag of an FD frame has no meaning.
fn narrow(filter: RawFilter, sorts: u8) -> RawFilter {
    let rtr = CanId::RTR_FLAG;
    let wanted = match sorts & !sort::ANY_ERR {
        sort::CLASSIC_RTR => rtr,
        sort::CLASSIC => 0,
        _ => return filter,
    };
    if filter.mask & rtr != 0 {
        // The filter already has this condition, or it contradicts it and then passes no useful
        // frame.
        return filter;
    }
    RawFilter {
        id: filter.id | wanted,
        mask: filter.mask | rtr,
    }
}
