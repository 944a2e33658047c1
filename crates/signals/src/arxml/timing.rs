//! The times at which PDUs are sent.

use super::ArxmlReader;
use super::paths::{number, text_at, walk};
use crate::define::stated_nanos;
use crate::message::MessageDefinition;
use crate::shown::shown;
use alloc::borrow::ToOwned as _;
use alloc::format;
use frame::Nanos;
use roxmltree::Node;

impl<'a, 'input> ArxmlReader<'a, 'input> {
    /// Reads when a PDU is sent.
    pub(super) fn read_timing(&mut self, pdu: Node<'a, 'input>, message: &mut MessageDefinition) {
        let Some(timing) = walk(pdu, &["I-PDU-TIMING-SPECIFICATIONS", "I-PDU-TIMING"]) else {
            return;
        };
        let mode = walk(
            timing,
            &[
                "TRANSMISSION-MODE-DECLARATION",
                "TRANSMISSION-MODE-TRUE-TIMING",
            ],
        );
        if let Some(mode) = mode {
            let way = ["CYCLIC-TIMING", "TIME-PERIOD", "VALUE"];
            message.cycle = self.read_time(mode, &way, message);
            let is_on_event = walk(mode, &["EVENT-CONTROLLED-TIMING"]).is_some();
            let word = match (message.cycle, is_on_event) {
                (Some(_), false) => Some("cyclic"),
                (Some(_), true) => Some("cyclic and on event"),
                (None, true) => Some("on event"),
                (None, false) => None,
            };
            message.send_type = word.map(str::to_owned);
        }
        message.delay = self.read_time(timing, &["MINIMUM-DELAY"], message);
    }

    /// Reads a time in s. One that cannot be read is left out, with a warning.
    fn read_time(
        &mut self,
        element: Node<'a, 'input>,
        way: &[&'static str],
        message: &MessageDefinition,
    ) -> Option<Nanos> {
        let text = text_at(element, way)?;
        match stated_nanos(text, number(text), 1e9) {
            Ok(time) => time,
            Err(problem) => {
                let problem = format!(
                    "message {}: {problem}; it is left out",
                    shown(&message.name)
                );
                self.warn(element, &problem);
                None
            }
        }
    }
}
