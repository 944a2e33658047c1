//! can-gw rules as cangw writes and takes them.
//!
//! [`import`] reads what `cangw -L` prints, and shell scripts of `cangw -A` lines; [`rules`] gives
//! the rules that do what routes do, or names the routes that can-gw cannot express; [`export`]
//! writes them as such a script.
//!
//! The grammar is that of can-utils' `cangw`, the meaning that of Linux's `net/can/gw.c`:
//!
//! * A rule takes classic frames, or with `-X` FD frames, never both.
//! * can-gw puts a new rule in front of the others, so a script's last line is tried first, while
//!   `cangw -L` lists rules as they are tried. The order is kept among the rules of one source
//!   whose filters the kernel keeps in the same list; between lists (`net/can/af_can.c`:
//!   everything, masks, inverted, exact) the kernel has an order of its own, which decides only
//!   the order of copies of the same frame.
//! * can-gw has more to say about a frame that passes several of its rules on one machine, which
//!   needs `-e` (or a vcan's echo) and `max_hops` above 1, than routes have: a port does not
//!   receive what it sends. [`import`] notes such rules. There the kernel keeps what a rule wrote
//!   behind the frame's length for the next rule, and compares where a frame entered the first
//!   rule, not where it is, with where it may not go back to without `-i`.

mod export;
mod filter;
mod import;
mod names;
mod operand;
mod options;
mod shell;

#[cfg(test)]
mod tests;

pub use export::{Inexpressible, export, rules, rules_of};
pub use import::{Imported, import};

pub use crate::operations::cangw::{Attribute, Need, Version};

use crate::operations::cangw::RulePart;
use crate::{Action, IdFilter};
use alloc::{string::String, vec::Vec};

/// One rule of can-gw. Displayed, it is the words that `cangw -A` takes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rule {
    /// `-s`: the interface where frames come in.
    pub source: String,
    /// `-d`: the interface where they go out.
    pub destination: String,
    /// `-X`: it takes FD frames, else classic ones.
    pub fd: bool,
    /// `-e`: local listeners on the destination see the frames too.
    pub echo: bool,
    /// `-t`: frames keep the time stamp of their reception.
    pub stamp: bool,
    /// `-i`: frames may go back to where they came in.
    pub same_port: bool,
    /// `-l`: how many more hops a frame may have after this one, 1 to the module's `max_hops`.
    pub hops: Option<u8>,
    /// `-f`: its set is an [`crate::IdSet::Masked`].
    pub filter: Option<IdFilter>,
    /// What it changes, in can-gw's order, each as such a rule has it: modifications have a payload
    /// operand of the rule's full [size](Rule::size). The kernel takes checksums only in a rule
    /// that [modifies](Rule::modifies) something.
    pub changes: Vec<Action>,
}

impl Rule {
    /// Payload bytes of the frames that the rule works on: 8 or 64.
    #[must_use]
    pub fn size(&self) -> usize {
        if self.fd {
            frame::dlc::FD_MAX
        } else {
            frame::dlc::CLASSIC_MAX
        }
    }

    /// It has a modification, be it one that changes nothing.
    #[must_use]
    pub fn modifies(&self) -> bool {
        self.changes
            .iter()
            .any(|change| matches!(change.rule_part(), Ok(RulePart::Modification(_))))
    }

    /// What it needs of the kernel for its changes.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        Action::needs(&self.changes, self.fd)
    }
}
