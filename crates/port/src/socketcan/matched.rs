//! `match = { usb = …, serial = … }`: the interface of a port, chosen by its device.
//!
//! The names of interfaces follow the order in which the kernel finds the devices. A port that
//! names the device instead keeps its bus, whatever the name is. Exactly one interface must fit; an
//! interface that fits later is taken when it appears.

use config::{Diagnostics, TomlTable, TomlValue, ValueShape, read};
use linux::link::InterfaceFacts;
use std::sync::{Mutex, MutexGuard, PoisonError};

config::settings! {
    /// The properties of the wanted interface. All that are given must fit.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct InterfaceMatch {
        /// The place of its USB device, such as `1-1.2`: the same as long as the device is plugged
        /// in there.
        pub usb: Option<String> = None => read::by(|| ValueShape::Text, text),
            not "usb_path" "port";
        /// The serial number of its USB device.
        pub serial: Option<String> = None => read::by(|| ValueShape::Text, text),
            not "serial_number" "sn";
        /// One of its alternative names (`ip link property add dev can0 altname body`).
        pub altname: Option<String> = None => read::by(|| ValueShape::Text, text),
            not "alias" "name" "alternative_name";
        /// The name of its device on its bus, such as `0000:03:00.0` (PCI) or `spi0.0`.
        pub device: Option<String> = None => read::by(|| ValueShape::Text, text),
            not "pci" "spi" "path" "address";
        /// The driver of its device, such as `gs_usb`.
        pub driver: Option<String> = None => read::by(|| ValueShape::Text, text),
            not "module" "kind";
        /// The number of the channel, for a device that has several, from 0.
        pub channel: Option<u32> = None => read::integer(0..=255u32), not "dev_id" "dev_port";
    }
}

/// The reason why a match names no interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum MatchProblem {
    /// No interface fits; those that there are.
    None(String),
    /// Several fit; they are listed.
    Several(String),
    /// The kernel does not list its interfaces.
    Unknown(String),
}

fn text(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let text = value.string(found)?.value;
    if text.is_empty() {
        value.wrong("this cannot be empty", "leave it out", found);
        return None;
    }
    Some(text.to_owned())
}

/// Returns the type of the key.
pub(super) fn interface_match<'t>() -> impl read::ReadKey<'t, Value = InterfaceMatch> {
    read::table(
        InterfaceMatch::key_specs,
        |table: &mut TomlTable<'t>, found: &mut Diagnostics| {
            let wanted = InterfaceMatch::read(table, found);
            if !InterfaceMatch::NAMES.iter().any(|key| table.has(key)) {
                let hint = "write for example `match = { usb = \"1-1.2\" }`; `cangate list` shows the \
                            properties of all interfaces";
                table.missing("usb` or `serial", hint, found);
            }
            wanted
        },
    )
}

impl InterfaceMatch {
    /// Returns whether an interface fits.
    fn fits(&self, facts: &InterfaceFacts) -> bool {
        let device = facts.device.as_ref();
        let is = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| is == Some(wanted))
        };
        is(&self.usb, facts.usb_path())
            && is(&self.serial, facts.serial())
            && is(&self.driver, facts.driver())
            && is(&self.device, device.map(|device| device.name.as_str()))
            && self
                .altname
                .as_deref()
                .is_none_or(|name| facts.has_name(name))
            && self
                .channel
                .is_none_or(|wanted| device.and_then(|device| device.channel) == Some(wanted))
    }

    /// Finds the one interface that fits, and returns its present name.
    pub(super) fn find(&self) -> Result<String, MatchProblem> {
        let all = InterfaceFacts::all_can();
        self.find_in(&all.map_err(|error| MatchProblem::Unknown(error.to_string()))?)
    }

    fn find_in(&self, all: &[InterfaceFacts]) -> Result<String, MatchProblem> {
        let fitting: Vec<&InterfaceFacts> = all.iter().filter(|facts| self.fits(facts)).collect();
        match fitting[..] {
            [one] => Ok(one.link.name.clone()),
            [] => Err(MatchProblem::None(list(&all.iter().collect::<Vec<_>>()))),
            _ => Err(MatchProblem::Several(list(&fitting))),
        }
    }

    /// Returns the properties as they follow "the interface with".
    pub(super) fn words(&self) -> String {
        let texts = [
            ("usb", &self.usb),
            ("serial", &self.serial),
            ("altname", &self.altname),
            ("device", &self.device),
            ("driver", &self.driver),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(key, text)| text.as_ref().map(|text| format!("{key} {text}")));
        let channel = self.channel.map(|channel| format!("channel {channel}"));
        texts.chain(channel).collect::<Vec<_>>().join(", ")
    }

    /// Returns the problem as a sentence with the cure.
    pub(super) fn explain(&self, problem: &MatchProblem) -> String {
        let wanted = self.words();
        match problem {
            MatchProblem::None(all) if all.is_empty() => {
                format!("no interface has {wanted}: this machine has no CAN interface")
            }
            MatchProblem::None(all) => format!("no interface has {wanted}; CAN interfaces: {all}"),
            MatchProblem::Several(all) => {
                format!("several interfaces have {wanted}: {all}; add a property that differs")
            }
            MatchProblem::Unknown(why) => {
                format!("the interface with {wanted} cannot be looked up: {why}")
            }
        }
    }
}

/// Returns interfaces with all properties by which they can be chosen.
fn list(all: &[&InterfaceFacts]) -> String {
    let one = |facts: &&InterfaceFacts| {
        let device = facts.device.as_ref();
        let mut words: Vec<String> = Vec::new();
        let properties = [
            ("usb", facts.usb_path()),
            ("serial", facts.serial()),
            ("device", device.map(|device| device.name.as_str())),
            ("driver", facts.driver()),
        ];
        for (key, text) in properties {
            words.extend(text.map(|text| format!("{key} {text}")));
        }
        let channel = device.and_then(|device| device.channel);
        words.extend(channel.map(|channel| format!("channel {channel}")));
        words.extend(
            facts
                .link
                .altnames
                .iter()
                .map(|name| format!("altname {name}")),
        );
        format!("{} ({})", facts.link.name, words.join(", "))
    };
    all.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The interface of an open port that was chosen by its properties, and its present name.
pub(super) struct MatchedInterface {
    wanted: InterfaceMatch,
    found: Mutex<FoundInterface>,
}

/// The result of the last look-up.
struct FoundInterface {
    /// The name that was found last, or words where there was no interface.
    name: String,
    /// A sentence if several interfaces fitted.
    ambiguity: Option<String>,
}

impl MatchedInterface {
    /// `name`: the present name, or words where there is no interface.
    pub(super) const fn new(wanted: InterfaceMatch, name: String) -> Self {
        Self {
            wanted,
            found: Mutex::new(FoundInterface {
                name,
                ambiguity: None,
            }),
        }
    }

    fn found(&self) -> MutexGuard<'_, FoundInterface> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name that was found last.
    pub(super) fn name(&self) -> String {
        self.found().name.clone()
    }

    /// Looks the interface up again, and returns its present name.
    pub(super) fn look_up(&self) -> Result<String, MatchProblem> {
        let looked_up = self.wanted.find();
        let mut found = self.found();
        found.ambiguity = match &looked_up {
            Err(problem @ MatchProblem::Several(_)) => Some(self.wanted.explain(problem)),
            _ => None,
        };
        if let Ok(name) = &looked_up {
            found.name.clone_from(name);
        }
        looked_up
    }

    /// Returns a sentence if several interfaces fitted at the last look-up.
    pub(super) fn ambiguity(&self) -> Option<String> {
        self.found().ambiguity.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::link::{NetLink, ParentDevice, UsbDevice};

    fn adapter(name: &str, path: &str, serial: &str, channel: u32) -> InterfaceFacts {
        InterfaceFacts {
            link: NetLink {
                name: name.to_owned(),
                altnames: vec![format!("alt-{name}")],
                can: true,
                ..NetLink::default()
            },
            device: Some(ParentDevice {
                bus: Some("usb".to_owned()),
                name: format!("{path}:1.0"),
                driver: Some("gs_usb".to_owned()),
                channel: Some(channel),
                usb: Some(UsbDevice {
                    path: path.to_owned(),
                    serial: Some(serial.to_owned()),
                    ..UsbDevice::default()
                }),
            }),
        }
    }

    fn machine() -> Vec<InterfaceFacts> {
        let vcan = NetLink {
            name: "vcan0".to_owned(),
            kind: "vcan".to_owned(),
            can: true,
            ..NetLink::default()
        };
        vec![
            adapter("can0", "1-1.2", "A7", 0),
            adapter("can1", "1-1.2", "A7", 1),
            adapter("can2", "1-1.3", "B8", 0),
            InterfaceFacts {
                link: vcan,
                device: None,
            },
        ]
    }

    fn wanted(text: &str) -> InterfaceMatch {
        let text = format!("match = {{ {text} }}");
        let source = config::SourceText::new("t", text);
        let mut found = Diagnostics::new();
        let document = config::TomlDocument::parse(&source, &mut found);
        let value = document.root().get("match").unwrap();
        let read = read::ReadKey::read(&interface_match(), &value, "t", &mut found).unwrap();
        assert!(found.list().is_empty(), "{:?}", found.list());
        read
    }

    #[test]
    fn each_property_chooses() {
        let all = machine();
        for (text, name) in [
            ("usb = '1-1.3'", "can2"),
            ("serial = 'B8'", "can2"),
            ("usb = '1-1.2', channel = 1", "can1"),
            ("altname = 'alt-can0'", "can0"),
            ("device = '1-1.3:1.0'", "can2"),
            ("driver = 'vcan'", "vcan0"),
            ("driver = 'gs_usb', serial = 'A7', channel = 0", "can0"),
        ] {
            assert_eq!(wanted(text).find_in(&all).unwrap(), name, "{text}");
        }
    }

    #[test]
    fn a_problem_lists_the_candidates_with_their_properties() {
        let all = machine();
        let several = wanted("serial = 'A7'");
        let problem = several.find_in(&all).unwrap_err();
        assert_eq!(
            several.explain(&problem),
            "several interfaces have serial A7: can0 (usb 1-1.2, serial A7, device 1-1.2:1.0, driver \
             gs_usb, channel 0, altname alt-can0); can1 (usb 1-1.2, serial A7, device 1-1.2:1.0, \
             driver gs_usb, channel 1, altname alt-can1); add a property that differs"
        );
        let none = wanted("usb = '1-9', channel = 0");
        let words = none.explain(&none.find_in(&all).unwrap_err());
        assert!(
            words.starts_with("no interface has usb 1-9, channel 0; CAN interfaces: can0 (usb")
        );
        assert!(words.contains("vcan0 (driver vcan)"), "{words}");
        let empty = none.explain(&none.find_in(&[]).unwrap_err());
        assert!(
            empty.ends_with("this machine has no CAN interface"),
            "{empty}"
        );
    }
}
