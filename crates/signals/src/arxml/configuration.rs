//! ECU configurations: the PDUs of the module Com, with the identifiers that CanIf has for them.
//! They have neither scales nor nodes.

use super::paths::{integer, short_name, text_at, walk};
use super::{ArxmlReader, can_id, length};
use crate::define_signal::identifier;
use crate::field::{ByteOrder, FieldLayout, SignalField};
use crate::message::MessageDefinition;
use crate::shown::shown;
use crate::signal::{SignalDefinition, SignalKind};
use crate::xml::{children, float_kind};
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use roxmltree::Node;

/// The element of a module's settings that belong together.
const CONTAINER: &str = "ECUC-CONTAINER-VALUE";

impl<'a, 'input> ArxmlReader<'a, 'input> {
    /// Reads the messages of an ECU configuration, if the file is one.
    pub(super) fn read_configuration(&mut self, root: Node<'a, 'input>) {
        let containers = || {
            let all = root.descendants();
            all.filter(|node| node.is_element() && node.tag_name().name() == CONTAINER)
        };
        // The PDUs of CanIf, by the path of the PDU that Com names, too.
        let mut frames = BTreeMap::new();
        for container in containers() {
            let reference = match definition(container) {
                "CanIfTxPduCfg" => "CanIfTxPduRef",
                "CanIfRxPduCfg" => "CanIfRxPduRef",
                _ => continue,
            };
            if let Some(path) = text_of(container, reference) {
                frames.insert(path, container);
            }
        }
        for container in containers().filter(|container| definition(*container) == "ComIPdu") {
            let path = text_of(container, "ComPduIdRef");
            // PDUs of other buses have no frame.
            let Some(frame) = path.and_then(|path| frames.get(path)) else {
                continue;
            };
            // Several PDUs of Com can have one frame, whose settings are searched for each of them.
            let name = identifier(short_name(container));
            if self.has_time_for(*frame) && self.has_room(container, 1, name.len()) {
                let read = self.read_com_pdu(container, *frame, &name);
                self.add_message(container, read, &name);
            }
        }
    }

    fn read_com_pdu(
        &mut self,
        container: Node<'a, 'input>,
        frame: Node<'a, 'input>,
        name: &str,
    ) -> Result<MessageDefinition, String> {
        let [id, len, kind] = match definition(frame) {
            "CanIfTxPduCfg" => ["CanIfTxPduCanId", "CanIfTxPduDlc", "CanIfTxPduCanIdType"],
            _ => ["CanIfRxPduCanId", "CanIfRxPduDlc", "CanIfRxPduCanIdType"],
        }
        .map(|setting| text_of(frame, setting).unwrap_or_default());
        let id = can_id(id, kind.contains("EXTENDED"))?;
        let line = self.lines.of(container);
        let mut message = MessageDefinition::new(line, name.to_owned(), id, length(len)?);
        let references = walk(container, &["REFERENCE-VALUES"]).into_iter();
        for reference in references.flat_map(|all| children(all, "ECUC-REFERENCE-VALUE")) {
            if definition(reference) != "ComIPduSignalRef" {
                continue;
            }
            let signal = self.paths.follow(reference, "VALUE-REF");
            let read = match signal {
                Ok(Some(signal)) => {
                    // Each setting is searched for among all of them.
                    if !self.has_time_for(signal) {
                        break;
                    }
                    self.read_com_signal(signal, message.len)
                        .map_err(|problem| {
                            format!("signal {}: {problem}", shown(short_name(signal)))
                        })
                }
                Ok(None) => Err("a reference without a value".to_owned()),
                Err(problem) => Err(problem),
            };
            let texts = read.as_ref().map_or(0, SignalDefinition::text_bytes) + name.len();
            if !self.has_room(reference, 1, texts) {
                break;
            }
            match read {
                Ok(signal) => message.signals.push(signal),
                Err(problem) => {
                    let name = shown(name);
                    let problem = format!("message {name}: {problem}; it is left out");
                    self.warn(reference, &problem);
                }
            }
        }
        for signal in &message.signals {
            signal.check_end(name, message.len, &mut self.warnings);
        }
        message.set_fd(kind.contains("FD_CAN"), None);
        Ok(message)
    }

    fn read_com_signal(
        &self,
        container: Node<'a, 'input>,
        len: usize,
    ) -> Result<SignalDefinition, String> {
        let text = |setting| text_of(container, setting).unwrap_or_default();
        let (start, bits) = (text("ComBitPosition"), text("ComBitSize"));
        let place = (
            integer(start).and_then(|start| u16::try_from(start).ok()),
            integer(bits).and_then(|bits| u8::try_from(bits).ok()),
        );
        let (Some(start), Some(bits)) = place else {
            let (start, bits) = (shown(start), shown(bits));
            return Err(format!("`{start}`|`{bits}` is not a place in a payload"));
        };
        let layout = FieldLayout {
            start,
            bits,
            order: match text("ComSignalEndianness") {
                "BIG_ENDIAN" => ByteOrder::Motorola,
                _ => ByteOrder::Intel,
            },
        };
        let field = SignalField::new(layout, len).map_err(|error| format!("{error}"))?;
        let name = identifier(short_name(container));
        let line = self.lines.of(container);
        let mut signal = SignalDefinition::new(line, name, layout, field);
        let kind = text("ComSignalType");
        signal.kind = match kind {
            _ if kind.starts_with("SINT") => SignalKind::Signed,
            _ if kind.starts_with("FLOAT") => {
                float_kind(bits).ok_or_else(|| format!("{bits} bits are not a float"))?
            }
            _ => SignalKind::Unsigned,
        };
        Ok(signal)
    }
}

/// Returns the last name in the path of an element's definition.
fn definition<'a>(element: Node<'a, '_>) -> &'a str {
    let path = text_at(element, &["DEFINITION-REF"]).unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns the value of a setting: a number, a word, or the path of a reference.
fn text_of<'a>(container: Node<'a, '_>, setting: &str) -> Option<&'a str> {
    let lists = ["PARAMETER-VALUES", "REFERENCE-VALUES"];
    let values = lists
        .into_iter()
        .filter_map(|list| walk(container, &[list]));
    let mut values = values.flat_map(|list| list.children().filter(Node::is_element));
    let value = values.find(|value| definition(*value) == setting)?;
    text_at(value, &["VALUE"]).or_else(|| text_at(value, &["VALUE-REF"]))
}
