//! Definitions of signals that the readers of all formats but DBC share.

use crate::decimal::Decimal;
use crate::field::{FieldLayout, SignalField};
use crate::message::DatabaseWarning;
use crate::shown::shown;
use crate::signal::{SignalDefinition, SignalKind, SignalPresence};
use crate::statements::SubstituteValues;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

impl SignalDefinition {
    /// Returns an unsigned integer that each frame contains, of which only this is known.
    pub(crate) const fn new(
        line: usize,
        name: String,
        layout: FieldLayout,
        field: SignalField,
    ) -> Self {
        Self {
            line,
            name,
            layout,
            field,
            kind: SignalKind::Unsigned,
            factor: Decimal::ONE,
            offset: Decimal::ZERO,
            range: (Decimal::ZERO, Decimal::ZERO),
            unit: String::new(),
            receivers: Vec::new(),
            presence: SignalPresence::Always,
            value_names: Vec::new(),
            substitutes: SubstituteValues {
                start: None,
                inactive: None,
                timeout: None,
                invalid: None,
            },
            timeouts: Vec::new(),
            comment: String::new(),
        }
    }

    /// Sets the range, of which the database can leave an end open: that of the bits takes its
    /// place.
    pub(crate) fn set_range(&mut self, least: Option<Decimal>, most: Option<Decimal>) {
        let (first, last) = match self.kind {
            SignalKind::Unsigned | SignalKind::Signed => self.raw_limits(),
            SignalKind::Float32 | SignalKind::Float64 => (0, 0),
        };
        let physical = |raw| {
            let scaled = Decimal::new(raw, 0).checked_mul(self.factor);
            let value = scaled.and_then(|scaled| scaled.checked_add(self.offset));
            value.unwrap_or(Decimal::ZERO)
        };
        let (first, last) = match self.factor.is_negative() {
            true => (physical(last), physical(first)),
            false => (physical(first), physical(last)),
        };
        if least.is_some() || most.is_some() {
            self.range = (least.unwrap_or(first), most.unwrap_or(last));
        }
    }

    /// Adds a warning if the signal ends behind its message.
    pub(crate) fn check_end(&self, message: &str, len: usize, warnings: &mut Vec<DatabaseWarning>) {
        let end = self.field.end();
        if end > len {
            warnings.push(DatabaseWarning {
                line: self.line,
                problem: format!(
                    "signal {} of {}: it ends in byte {end} of {len}",
                    shown(&self.name),
                    shown(message)
                ),
            });
        }
    }
}

/// Returns a name in which other characters than letters, digits and `_` are replaced by `_`.
pub(crate) fn identifier(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let characters = name.chars();
    characters.map(|c| if fits(c) { c } else { '_' }).collect()
}
