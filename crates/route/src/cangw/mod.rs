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
mod operand;
mod options;
mod shell;

#[cfg(test)]
mod tests;

pub use export::{Inexpressible, export, rules, rules_of};
pub use import::{Imported, import};

use crate::{Crc8, Crc8Profile, IdFilter, Modify, ModifyOp, XorSum};
use alloc::string::String;

/// can-gw's order of modifications, that of [`Rule::modify`].
pub const OPS: [ModifyOp; 4] = [ModifyOp::And, ModifyOp::Or, ModifyOp::Xor, ModifyOp::Set];

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
    /// `-m` or `-M`, one for each of [`OPS`]. A payload operand has the rule's full
    /// [size](Rule::size).
    pub modify: [Option<Modify>; 4],
    /// `-c`, with `-p` in its profile. The kernel takes checksums only in a rule that
    /// [modifies](Rule::modifies) something.
    pub crc8: Option<Crc8>,
    /// `-x`
    pub xor: Option<XorSum>,
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
        self.modify.iter().any(Option::is_some)
    }
}

/// The numbers of the profiles (`CGW_CRC8PRF_*` of `uapi/linux/can/gw.h`).
#[must_use]
pub fn profile_number(profile: &Crc8Profile) -> u8 {
    match profile {
        Crc8Profile::None => 0,
        Crc8Profile::OneByte(_) => 1,
        Crc8Profile::Sixteen(_) => 2,
        Crc8Profile::SffIdXor => 3,
    }
}
