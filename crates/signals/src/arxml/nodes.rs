//! Senders and receivers, and end-to-end protection.

use super::ArxmlReader;
use super::paths::{short_name, text_at, walk};
use crate::define_signal::identifier;
use crate::message::MessageDefinition;
use crate::room::node_bytes;
use crate::signal::SignalDefinition;
use crate::statements::E2eAttributes;
use crate::xml::children;
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use roxmltree::Node;

/// The most elements around an element of an ECU up to the ECU itself.
const MAX_AROUND: usize = 16;

impl<'a, 'input> ArxmlReader<'a, 'input> {
    /// Adds an ECU to the messages of its groups of PDUs.
    pub(super) fn add_ecu(&mut self, ecu: Node<'a, 'input>) {
        let name = &*identifier(short_name(ecu));
        let Some(groups) = walk(ecu, &["ASSOCIATED-COM-I-PDU-GROUP-REFS"]) else {
            return;
        };
        let groups = self
            .paths
            .follow_all(groups, "ASSOCIATED-COM-I-PDU-GROUP-REF");
        for group in groups.collect::<Vec<_>>() {
            let direction = text_at(group, &["COMMUNICATION-DIRECTION"]);
            let pdus = walk(group, &["I-SIGNAL-I-PDUS"]).into_iter();
            let pdus = pdus.flat_map(|all| children(all, "I-SIGNAL-I-PDU-REF-CONDITIONAL"));
            for pdu in pdus {
                if let Ok(Some(pdu)) = self.paths.follow(pdu, "I-SIGNAL-I-PDU-REF") {
                    self.add_node(pdu, name, direction == Some("OUT"));
                }
            }
        }
    }

    /// Adds the ECU of a node of network management to the messages of its PDUs.
    pub(super) fn add_management_node(&mut self, node: Node<'a, 'input>) {
        let Ok(Some(controller)) = self.paths.follow(node, "CONTROLLER-REF") else {
            return;
        };
        let Some(ecu) = ecu_around(controller) else {
            return;
        };
        // Several nodes can be of one ECU with a long name.
        if !self.has_time(node, short_name(ecu).len()) {
            return;
        }
        let name = &*identifier(short_name(ecu));
        for (list, reference, is_sender) in [
            ("RX-NM-PDU-REFS", "RX-NM-PDU-REF", false),
            ("TX-NM-PDU-REFS", "TX-NM-PDU-REF", true),
        ] {
            let Some(list) = walk(node, &[list]) else {
                continue;
            };
            let pdus: Vec<Node<'_, '_>> = self.paths.follow_all(list, reference).collect();
            for pdu in pdus {
                self.add_node(pdu, name, is_sender);
            }
        }
    }

    fn add_node(&mut self, pdu: Node<'a, 'input>, name: &str, is_sender: bool) {
        for index in self.messages_of(pdu) {
            let Some(message) = self.messages.get(index) else {
                continue;
            };
            let known = |signal: &SignalDefinition| signal.receivers.len() + 1;
            let effort = match is_sender {
                true => message.more_senders.len(),
                false => message.signals.iter().map(known).sum::<usize>(),
            };
            if !self.has_time(pdu, effort.saturating_add(1)) {
                return;
            }
            let Some(message) = self.messages.get(index) else {
                continue;
            };
            let places = match is_sender {
                true => usize::from(!message.has_sender(name)),
                false => message.signals_without(name),
            };
            if !self.has_room(pdu, 0, places.saturating_mul(node_bytes(name))) {
                return;
            }
            let Some(message) = self.messages.get_mut(index) else {
                continue;
            };
            match is_sender {
                true => message.add_sender(name),
                false => message.add_receiver(name),
            }
        }
    }

    /// Returns the indices of the messages with a PDU; none without the time to read them.
    fn messages_of(&mut self, pdu: Node<'a, 'input>) -> Vec<usize> {
        let id = pdu.id().get();
        let count = self.of_pdus.get(&id).map_or(0, Vec::len);
        let indices = match self.has_time(pdu, count) {
            true => self.of_pdus.get(&id).cloned(),
            false => None,
        };
        indices.unwrap_or_default()
    }

    /// Adds the ECUs whose ports a frame has on its bus. Its signals have no receivers yet.
    pub(super) fn add_ports(
        &mut self,
        triggering: Node<'a, 'input>,
        message: &mut MessageDefinition,
    ) {
        let Some(ports) = walk(triggering, &["FRAME-PORT-REFS"]) else {
            return;
        };
        let (mut senders, mut receivers) = (NodeNames::default(), NodeNames::default());
        for port in self.paths.follow_all(ports, "FRAME-PORT-REF") {
            let Some(ecu) = ecu_around(port) else {
                continue;
            };
            match text_at(port, &["COMMUNICATION-DIRECTION"]) {
                Some("OUT") => senders.add(ecu),
                Some("IN") => receivers.add(ecu),
                _ => {}
            }
        }
        if self.has_room(triggering, 0, senders.bytes()) {
            message.more_senders.extend(senders.all);
        }
        let texts = receivers.bytes().saturating_mul(message.signals.len());
        if self.has_room(triggering, 0, texts) {
            for signal in &mut message.signals {
                signal.receivers.clone_from(&receivers.all);
            }
        }
    }

    /// Adds an end-to-end protection to the messages of its PDUs.
    pub(super) fn add_protection(&mut self, protection: Node<'a, 'input>) {
        let Some(profile) = walk(protection, &["END-TO-END-PROFILE"]) else {
            return;
        };
        let attributes = E2eAttributes {
            line: self.lines.of(protection),
            profile: text_at(profile, &["CATEGORY"]).map(str::to_owned),
            data_id: data_ids(profile),
            counter_signal: None,
            crc_signal: None,
            timeout: None,
        };
        let pdus = walk(protection, &["END-TO-END-PROTECTION-I-SIGNAL-I-PDUS"]).into_iter();
        for pdu in pdus.flat_map(|all| children(all, "END-TO-END-PROTECTION-I-SIGNAL-I-PDU")) {
            let Ok(Some(pdu)) = self.paths.follow(pdu, "I-SIGNAL-I-PDU-REF") else {
                continue;
            };
            for index in self.messages_of(pdu) {
                if !self.has_room(pdu, 0, attributes.text_bytes()) {
                    return;
                }
                if let Some(message) = self.messages.get_mut(index) {
                    message.e2e = Some(attributes.clone());
                }
            }
        }
    }

    /// Returns the end-to-end protection by the transformer of a group of signals; `None` without
    /// the time to read it, or the room for its texts, too.
    pub(super) fn transformer(&mut self, group: Node<'a, 'input>) -> Option<E2eAttributes> {
        let properties = walk(group, &["TRANSFORMATION-I-SIGNAL-PROPSS"]);
        if !self.has_time_in(group) || !self.has_time_for(properties?) {
            return None;
        }
        let attributes = self.transformer_attributes(group)?;
        let has_room = self.has_room(group, 0, attributes.text_bytes());
        has_room.then_some(attributes)
    }

    fn transformer_attributes(&self, group: Node<'a, 'input>) -> Option<E2eAttributes> {
        let properties = walk(
            group,
            &[
                "TRANSFORMATION-I-SIGNAL-PROPSS",
                "END-TO-END-TRANSFORMATION-I-SIGNAL-PROPS",
                "END-TO-END-TRANSFORMATION-I-SIGNAL-PROPS-VARIANTS",
                "END-TO-END-TRANSFORMATION-I-SIGNAL-PROPS-CONDITIONAL",
            ],
        )?;
        let transformer = self
            .paths
            .follow(properties, "TRANSFORMER-REF")
            .ok()
            .flatten();
        let profile = transformer.and_then(|transformer| {
            text_at(
                transformer,
                &[
                    "TRANSFORMATION-DESCRIPTIONS",
                    "END-TO-END-TRANSFORMATION-DESCRIPTION",
                    "PROFILE-NAME",
                ],
            )
        });
        Some(E2eAttributes {
            line: self.lines.of(properties),
            profile: profile.map(str::to_owned),
            data_id: data_ids(properties),
            counter_signal: None,
            crc_signal: None,
            timeout: None,
        })
    }
}

/// Different names of nodes, in their order.
#[derive(Default)]
struct NodeNames {
    all: Vec<String>,
    names: BTreeSet<String>,
    /// The elements of the nodes: a file can refer to one node any number of times.
    nodes: BTreeSet<u32>,
}

impl NodeNames {
    fn add(&mut self, node: Node<'_, '_>) {
        if !self.nodes.insert(node.id().get()) {
            return;
        }
        let name = identifier(short_name(node));
        if self.names.insert(name.clone()) {
            self.all.push(name);
        }
    }

    fn bytes(&self) -> usize {
        self.all.iter().map(|name| node_bytes(name)).sum()
    }
}

/// Returns the ECU that contains an element.
fn ecu_around<'a, 'input>(element: Node<'a, 'input>) -> Option<Node<'a, 'input>> {
    let mut around = element.ancestors().take(MAX_AROUND);
    around.find(|node| node.tag_name().name() == "ECU-INSTANCE")
}

/// Returns the Data IDs of a protection, separated by commas.
fn data_ids(element: Node<'_, '_>) -> Option<String> {
    let ids = children(walk(element, &["DATA-IDS"])?, "DATA-ID");
    let ids: Vec<&str> = ids.filter_map(|id| id.text().map(str::trim)).collect();
    (!ids.is_empty()).then(|| ids.join(","))
}
