//! Definitions that the readers of all formats share.

#[cfg(any(feature = "kcd", feature = "arxml", feature = "sym"))]
use crate::decimal::Decimal;
use crate::message::{FdMessage, MessageDefinition};
use crate::shown::printable;
#[cfg(any(feature = "kcd", feature = "arxml", feature = "sym"))]
use crate::shown::shown;
#[cfg(any(feature = "kcd", feature = "arxml", feature = "sym"))]
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use frame::{CanId, Nanos, dlc};

/// The longest time that is accepted, ns: 11 days.
const LONGEST: f64 = 1e15;

/// Returns a text on one line, without control characters: suitable for a message.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// Returns a time in ns; `unit` is the length of its unit in ns. `None` unless it is above 0, and
/// at most 11 days.
pub(crate) fn nanos(time: f64, unit: f64) -> Option<Nanos> {
    let ns = time * unit;
    let is_time = (0.5..=LONGEST).contains(&ns);
    is_time.then_some((ns + 0.5) as Nanos)
}

/// Returns the same for a number as the file has it, of which 0 means that there is no time.
///
/// # Errors
/// The number is not a time.
#[cfg(any(feature = "kcd", feature = "arxml", feature = "sym"))]
pub(crate) fn stated_nanos(
    text: &str,
    number: Option<Decimal>,
    unit: f64,
) -> Result<Option<Nanos>, String> {
    match number.map(Decimal::to_f64) {
        Some(0.0) => Ok(None),
        number => match number.and_then(|number| nanos(number, unit)) {
            Some(ns) => Ok(Some(ns)),
            None => Err(format!(
                "`{}` is not a time: above 0, and up to 11 days",
                shown(text)
            )),
        },
    }
}

/// Returns the identifier of a number; `None` if it has too many bits.
#[cfg(any(feature = "kcd", feature = "arxml", feature = "sym"))]
pub(crate) fn can_id(number: u32, is_extended: bool) -> Option<CanId> {
    match is_extended {
        true => CanId::eff(number).ok(),
        false => CanId::sff(number).ok(),
    }
}

/// Returns the identifier of a number that an XML file has as this text.
///
/// # Errors
/// It is none.
#[cfg(any(feature = "kcd", feature = "arxml"))]
pub(crate) fn stated_can_id(
    text: &str,
    number: Option<i128>,
    is_extended: bool,
) -> Result<CanId, String> {
    let number = number.and_then(|number| u32::try_from(number).ok());
    let id = number.and_then(|number| can_id(number, is_extended));
    let bits = if is_extended { 29 } else { 11 };
    id.ok_or_else(|| format!("`{}` is not a valid ID of {bits} bits", shown(text)))
}

impl MessageDefinition {
    /// Returns a classic message without signals, of which only this is known.
    pub(crate) const fn new(line: usize, name: String, id: CanId, len: usize) -> Self {
        Self {
            line,
            name,
            id,
            len,
            fd: None,
            sender: None,
            more_senders: Vec::new(),
            cycle: None,
            fast: None,
            signal_cycle: None,
            delay: None,
            send_type: None,
            signal_event: None,
            j1939: false,
            whole: None,
            e2e: None,
            comment: String::new(),
            signals: Vec::new(),
        }
    }

    /// Sets whether the message is FD, which can follow from its length alone. The length becomes
    /// one that a frame can have.
    pub(crate) fn set_fd(&mut self, is_stated: bool, brs: Option<bool>) {
        let is_long = self.len > dlc::CLASSIC_MAX && self.len <= dlc::FD_MAX && !self.j1939;
        if is_stated || is_long {
            self.fd = Some(FdMessage { is_stated, brs });
            if self.len <= dlc::FD_MAX {
                self.len = dlc::fd_padded(self.len);
            }
        }
    }
}
