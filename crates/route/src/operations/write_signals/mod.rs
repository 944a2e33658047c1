//! Writes signals.

use super::apply::ApplyOperation;
use super::bpf::BpfProgram;
#[cfg(feature = "config")]
use super::cangw::{CanGw, RulePart};
use super::draft::FrameDraft;
use super::operation::Operation;
use crate::StopReason;
use alloc::{boxed::Box, format, string::String, vec::Vec};
use signals::{FieldWrite, MAX_WRITES, WriteRefusal, write_fields};

mod bpf;
#[cfg(feature = "config")]
mod neighbours;
#[cfg(feature = "config")]
mod toml;

/// Writes signals of a frame: constants, and the values of other signals of the same frame. All
/// sources are read before the first signal is written. A frame that does not contain one of the
/// signals is not sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WriteSignals {
    /// The assignments as a gateway file has them, the value of `signal`.
    pub text: String,
    /// The assignments.
    pub writes: Vec<FieldWrite>,
}

impl WriteSignals {
    /// Returns the number of bytes that a payload needs to contain all of the signals.
    #[must_use]
    pub fn end(&self) -> usize {
        let ends = self.writes.iter();
        let ends = ends.map(|write| write.to.end().max(write.source.end()));
        ends.max().unwrap_or(0)
    }
}

impl Operation for WriteSignals {
    const NAME: &'static str = "write_signals";
    type Compiled = Box<[FieldWrite]>;

    fn check(&self, longest: usize, report: &mut dyn FnMut(String)) {
        if self.writes.len() > MAX_WRITES {
            report(format!(
                "writes {} signals at once; the maximum is {MAX_WRITES}",
                self.writes.len()
            ));
        }
        if self.end() > longest {
            report(format!(
                "needs {} payload bytes, but the longest payload has {longest} bytes",
                self.end()
            ));
        }
    }

    fn compile(&self) -> Box<[FieldWrite]> {
        self.writes.as_slice().into()
    }

    fn reach(&self) -> usize {
        self.end()
    }

    fn to_bpf(&self, program: &mut BpfProgram) -> Result<(), String> {
        bpf::add(self, program)
    }
}

impl ApplyOperation for Box<[FieldWrite]> {
    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        // Bytes past the length are part of the buffer, but not of the frame.
        let len = usize::from(draft.len).min(draft.data.len());
        let payload = draft.data.get_mut(..len).unwrap_or_default();
        write_fields(self, payload).map_err(|why| match why {
            WriteRefusal::Absent => StopReason::Absent,
            WriteRefusal::OutOfRange => StopReason::OutOfRange,
        })
    }
}

#[cfg(feature = "config")]
impl CanGw for WriteSignals {
    fn rule_part(&self) -> Result<RulePart, String> {
        Err(
            "it writes signals, and can-gw cannot leave out frames that are too short to contain them"
                .into(),
        )
    }
}
