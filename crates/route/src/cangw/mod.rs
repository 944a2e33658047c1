//! can-gw rules as cangw writes and takes them.
//!
//! [`import`] reads what `cangw -L` prints, and shell scripts of `cangw -A` lines; [`export`]
//! writes such a script, or names the routes that can-gw cannot express.
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

pub use export::{Inexpressible, export};
pub use import::{Imported, import};

use crate::{Crc8, Crc8Profile, IdFilter, Modify, ModifyOp, XorSum};
use alloc::string::String;

/// can-gw's order of modifications.
const OPS: [ModifyOp; 4] = [ModifyOp::And, ModifyOp::Or, ModifyOp::Xor, ModifyOp::Set];

/// One rule of can-gw.
#[derive(Clone, PartialEq, Debug, Default)]
struct Rule {
    source: String,
    destination: String,
    /// `-X`
    fd: bool,
    /// `-e`
    echo: bool,
    /// `-t`
    stamp: bool,
    /// `-i`
    same_port: bool,
    /// `-l`
    hops: Option<u8>,
    /// `-f`
    filter: Option<IdFilter>,
    /// `-m` or `-M`, one for each of [`OPS`].
    modify: [Option<Modify>; 4],
    /// `-c`, with `-p` in its profile.
    crc8: Option<Crc8>,
    /// `-x`
    xor: Option<XorSum>,
}

impl Rule {
    /// Bytes of the frames that the rule works on.
    fn size(&self) -> usize {
        if self.fd {
            frame::dlc::FD_MAX
        } else {
            frame::dlc::CLASSIC_MAX
        }
    }

    fn modifies(&self) -> bool {
        self.modify.iter().any(Option::is_some)
    }
}

/// The numbers of the profiles (`CGW_CRC8PRF_*` of `uapi/linux/can/gw.h`).
fn profile_number(profile: &Crc8Profile) -> u8 {
    match profile {
        Crc8Profile::None => 0,
        Crc8Profile::OneByte(_) => 1,
        Crc8Profile::Sixteen(_) => 2,
        Crc8Profile::SffIdXor => 3,
    }
}
