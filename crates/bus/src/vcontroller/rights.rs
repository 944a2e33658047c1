//! The rights of a function.

use super::budget::SendBudget;
use alloc::vec::Vec;
use frame::CanId;

/// Identifiers that match: `id & mask == rule.id & rule.mask`, in SocketCAN's raw bits with
/// [`CanId::EFF_FLAG`] and [`CanId::RTR_FLAG`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IdRule {
    /// The required values of the compared bits.
    pub id: u32,
    /// The bits that are compared.
    pub mask: u32,
}

impl IdRule {
    /// Matches every identifier.
    pub const ALL: Self = Self { id: 0, mask: 0 };

    /// Returns whether an identifier matches.
    #[must_use]
    pub const fn matches(&self, id: CanId) -> bool {
        (id.raw() ^ self.id) & self.mask == 0
    }
}

/// The rights of a function; only the PF sets them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionRights {
    /// The frames that it receives: those that any of these rules matches. If empty: none.
    pub receive: Vec<IdRule>,
    /// The frames that it may send, in the same way.
    pub send: Vec<IdRule>,
    /// Its share of the bus; `None`: everything that it gets by arbitration.
    pub budget: Option<SendBudget>,
}

impl FunctionRights {
    /// Returns the rights to everything, as with a separate controller.
    #[must_use]
    pub fn all() -> Self {
        Self {
            receive: Vec::from([IdRule::ALL]),
            send: Vec::from([IdRule::ALL]),
            budget: None,
        }
    }
}
