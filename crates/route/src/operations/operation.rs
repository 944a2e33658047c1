//! The interface of an operation to the routing table.

use super::apply::ApplyOperation;
use super::bpf::BpfProgram;
use alloc::{format, string::String};
use core::fmt;

/// A change of a frame by a route, as specified by the user.
pub(crate) trait Operation: Clone + PartialEq + fmt::Debug {
    /// Its name, for messages; this is the name of the folder.
    const NAME: &'static str;

    /// The form that the table keeps.
    type Compiled: ApplyOperation;

    /// Reports settings that have no meaning, one sentence each, in a route whose longest payload
    /// has `longest` bytes.
    fn check(&self, _longest: usize, _report: &mut dyn FnMut(String)) {}

    /// Returns the form that is applied to frames. [`check`](Self::check) must have found nothing.
    fn compile(&self) -> Self::Compiled;

    /// Returns the number of payload bytes, from either end, that the operation needs to work as it
    /// is written; 0 if the text of the route need not mention that it concerns long frames.
    fn reach(&self) -> usize {
        0
    }

    /// Returns whether a frame has the RTR flag after the operation; `had`: it had the flag before.
    fn rtr_of(&self, had: bool) -> bool {
        had
    }

    /// Returns the change of SocketCAN's 32 bits as `(old & and) ^ xor`; `None` if a bit depends on
    /// more than the bit at the same position. Most operations do not change these bits.
    fn id_bits(&self) -> Option<(u32, u32)> {
        Some((u32::MAX, 0))
    }

    /// Returns whether it gives each XL frame a flag of the ID, which stops the route for all of
    /// them.
    fn gives_xl_a_flag(&self) -> bool {
        false
    }

    /// Adds the instructions that BPF needs for this operation to a program.
    ///
    /// # Errors
    /// The reason why BPF cannot do it; this is the default.
    fn to_bpf(&self, _program: &mut BpfProgram) -> Result<(), String> {
        Err(format!("BPF cannot do `{}`", Self::NAME))
    }
}
