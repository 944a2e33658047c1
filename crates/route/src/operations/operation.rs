//! What an operation is to the routing table.

use super::apply::Apply;
use super::bpf::Program;
use alloc::{format, string::String};
use core::fmt;

/// Something that a route does to a frame, as a user asks for it.
pub(crate) trait Operation: Clone + PartialEq + fmt::Debug {
    /// Its name, for messages: the folder's.
    const NAME: &'static str;

    /// What the table keeps of it.
    type Compiled: Apply;

    /// Reports what has no meaning, one sentence each, in a route whose longest payload has
    /// `longest` bytes.
    fn check(&self, _longest: usize, _report: &mut dyn FnMut(String)) {}

    /// The form that is done to frames; [`check`](Self::check) has found nothing.
    fn compile(&self) -> Self::Compiled;

    /// How many bytes of payload, from either end, it needs to work as it is written; 0 where the
    /// text of the route need not say that it is about long frames.
    fn reach(&self) -> usize {
        0
    }

    /// Does a frame have the RTR flag after it, that had it before or not?
    fn rtr_of(&self, had: bool) -> bool {
        had
    }

    /// What it does to SocketCAN's 32 bits, as `(old & and) ^ xor`; `None` where that depends on
    /// more than the bit at the same place. Most do nothing to them.
    fn id_bits(&self) -> Option<(u32, u32)> {
        Some((u32::MAX, 0))
    }

    /// It gives each XL frame a flag of the ID, which stops the route for all of them.
    fn gives_xl_a_flag(&self) -> bool {
        false
    }

    /// Adds what BPF has to do for it to a program.
    ///
    /// # Errors
    /// Why BPF cannot do it; that is so unless an operation says otherwise.
    fn to_bpf(&self, _program: &mut Program) -> Result<(), String> {
        Err(format!("BPF cannot do `{}`", Self::NAME))
    }
}
