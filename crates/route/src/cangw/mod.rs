//! can-gw rules in the syntax of cangw.
//!
//! [`import()`] reads the output of `cangw -L` and shell scripts of `cangw -A` lines. [`rules`]
//! returns the rules that do what routes do, or names the routes that can-gw cannot express.
//! [`export()`] writes these rules as such a script.
//!
//! The grammar is that of can-utils' `cangw`, the semantics are those of Linux's `net/can/gw.c`:
//!
//! * A rule takes classic frames or, with `-X`, FD frames, never both.
//! * can-gw puts a new rule in front of the others, so a script's last line is tried first, while
//!   `cangw -L` lists rules in the order in which they are tried. The order is kept among the rules
//!   of one source whose filters the kernel keeps in the same list. Between lists
//!   (`net/can/af_can.c`: everything, masks, inverted, exact) the kernel has an order of its own,
//!   which affects only the order of copies of the same frame.
//! * A frame can pass several can-gw rules on one machine, if `-e` is given (or a vcan echoes) and
//!   `max_hops` is above 1. Routes cannot express this, because a port does not receive the frames
//!   that it sends. [`import()`] notes such rules. In such a chain the kernel passes the bytes that
//!   a rule wrote beyond the frame's length on to the next rule. Without `-i`, it compares the
//!   destination with the interface where the frame entered the first rule, not with the one where
//!   it is.

mod export;
mod filter;
mod import;
mod names;
mod operand;
mod options;
mod shell;

#[cfg(test)]
mod tests;

pub use export::{CanGwInexpressible, export, rules, rules_of};
pub use import::{ImportedRules, import};

pub use crate::operations::cangw::{KernelNeed, KernelVersion, RuleAttribute};

use crate::operations::cangw::RulePart;
use crate::{Action, IdFilter};
use alloc::{string::String, vec::Vec};

/// A can-gw rule. Its `Display` form is the words that `cangw -A` accepts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CanGwRule {
    /// `-s`: the interface where frames come in.
    pub source: String,
    /// `-d`: the interface where they go out.
    pub destination: String,
    /// `-X`: the rule takes FD frames instead of classic ones.
    pub fd: bool,
    /// `-e`: local listeners on the destination see the frames too.
    pub echo: bool,
    /// `-t`: frames keep the time stamp of their reception.
    pub stamp: bool,
    /// `-i`: frames may go back to the interface where they came in.
    pub same_port: bool,
    /// `-l`: number of further hops that a frame may have after this one, 1 to the module's
    /// `max_hops`.
    pub hops: Option<u8>,
    /// `-f`: the filter; its set is an [`crate::IdSet::Masked`].
    pub filter: Option<IdFilter>,
    /// The changes, in can-gw's order and in the form that a rule has: modifications have a payload
    /// operand of the rule's full [size](CanGwRule::size). The kernel accepts checksums only in a
    /// rule that [modifies](CanGwRule::modifies) something.
    pub changes: Vec<Action>,
}

impl CanGwRule {
    /// Returns the number of payload bytes of the frames that the rule works on: 8 or 64.
    #[must_use]
    pub fn size(&self) -> usize {
        if self.fd {
            frame::dlc::FD_MAX
        } else {
            frame::dlc::CLASSIC_MAX
        }
    }

    /// Returns whether the rule has a modification, even one that changes nothing.
    #[must_use]
    pub fn modifies(&self) -> bool {
        self.changes
            .iter()
            .any(|change| matches!(change.rule_part(), Ok(RulePart::Modification(_))))
    }

    /// Returns the kernel features that its changes need.
    #[must_use]
    pub fn needs(&self) -> Vec<KernelNeed> {
        Action::needs(&self.changes, self.fd)
    }
}
