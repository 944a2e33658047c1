//! What a function may do.

use crate::budget::Budget;
use alloc::vec::Vec;
use frame::CanId;

/// Identifiers that match: `id & mask == rule.id & rule.mask`, in SocketCAN's raw bits with
/// [`CanId::EFF_FLAG`] and [`CanId::RTR_FLAG`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IdRule {
    /// What the bits are to be.
    pub id: u32,
    /// Which bits are compared.
    pub mask: u32,
}

impl IdRule {
    /// Every identifier.
    pub const ALL: Self = Self { id: 0, mask: 0 };

    /// Does an identifier match?
    #[must_use]
    pub const fn matches(&self, id: CanId) -> bool {
        (id.raw() ^ self.id) & self.mask == 0
    }
}

/// What a function may do; only the PF sets it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rights {
    /// What it receives: frames that any of these matches. None at all: nothing.
    pub receive: Vec<IdRule>,
    /// What it may send, in the same way.
    pub send: Vec<IdRule>,
    /// How much of the bus it may take; `None`: all that arbitration gives it.
    pub budget: Option<Budget>,
}

impl Rights {
    /// Everything, as a controller of one's own.
    #[must_use]
    pub fn all() -> Self {
        Self {
            receive: Vec::from([IdRule::ALL]),
            send: Vec::from([IdRule::ALL]),
            budget: None,
        }
    }
}
