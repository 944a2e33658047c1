//! Definitions that the readers of all formats share.

use crate::message::{FdMessage, MessageDefinition};
use alloc::string::String;
use alloc::vec::Vec;
use frame::{CanId, dlc};

/// Returns a text on one line, without control characters: suitable for a message.
pub(crate) fn one_line(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    shown.collect()
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
