//! The comparison of a file with its description.

use super::describe::{self, Fields, MESSAGE, SIGNAL};
use signals::{
    ByteOrder, DatabaseWarning, MessageDefinition, RawValue, ReadError, SignalDefinition,
};
use std::collections::{BTreeMap, BTreeSet};

/// Signals that are left out, by the words of their warning, and how they are counted.
const LEFT_OUT: [(&str, &str); 2] = [
    ("a signal has 1 to 64 bits", "signals of more than 64 bits"),
    (
        "`m` without a value",
        "signals of a switch that is not known",
    ),
];

/// Differences for which cantools is wrong: the file, the field, and the reason.
const KNOWN: [(&str, &str, &str); 1] = [(
    "d6-enum-cycle.dbc",
    "PumpState: cycle",
    "cycle time of an enumeration, of which cantools reads the index",
)];

/// Numbers of the comparisons, and the differences.
#[derive(Default)]
pub(crate) struct Differences {
    counts: BTreeMap<String, usize>,
    found: Vec<String>,
}

impl Differences {
    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Returns the differences.
    pub(crate) fn found(&self) -> &[String] {
        &self.found
    }

    /// Returns whether enough was compared for a meaningful result.
    pub(crate) fn has_compared_much(&self) -> bool {
        let count = |what: &str| self.counts.get(what).copied().unwrap_or_default();
        count("messages") > 5 && count("signals") > 20 && count("values") > 1000
    }

    pub(crate) fn summary(&self) -> String {
        let counts = self.counts.iter();
        let counts: Vec<String> = counts
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        counts.join(", ")
    }

    fn differ(&mut self, file: &str, what: &str) {
        let name = file.rsplit('/').next().unwrap_or_default();
        self.found.push(format!("{name}: {what}"));
    }

    /// Compares a file with the part of the script's output about it.
    pub(crate) fn compare(&mut self, part: &str) {
        let mut lines = part.lines();
        let file = lines.next().unwrap();
        let lines: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
        let refused = lines.iter().find(|line| line[0] == "refused");
        let read = signals::read(&std::fs::read(file).unwrap());
        let database = match (read, refused) {
            (Ok(_), Some(_)) => return self.count("files that only cangate reads"),
            (Err(_), Some(_)) => return self.count("files that neither reads"),
            (Err(ReadError::Mistake(_, error)), None)
                if error.problem.contains("older files can be converted") =>
            {
                return self.count("files of AUTOSAR 3, which cangate refuses");
            }
            // `cargo xtask test --all` runs this test with all formats, too.
            (Err(ReadError::NotBuilt(..)), None) => {
                return self.count("files of formats that this build does not read");
            }
            (Err(error), None) => return self.differ(file, &error.to_string()),
            (Ok(database), None) => database,
        };
        self.count("files");
        let mut own: Vec<&MessageDefinition> = database.messages.iter().collect();
        let is_message = |line: &&Vec<&str>| line[0] == "message";
        let starts = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| is_message(line));
        for (start, described) in starts {
            let described = describe::fields(&MESSAGE, &described[1..]);
            // cantools has the messages of a SYM file in an order of its own.
            let is_same = |message: &&MessageDefinition| {
                let own = describe::message(message);
                ["id", "format", "name"]
                    .iter()
                    .all(|field| own[field] == described[field])
            };
            let Some(index) = own.iter().position(is_same) else {
                self.differ(file, &format!("no message {described:?}"));
                continue;
            };
            let message = own.remove(index);
            self.count("messages");
            let own = describe::message(message);
            self.compare_fields(file, &message.name, &described, &own);
            let of_message = || {
                lines[start + 1..]
                    .iter()
                    .take_while(|line| !is_message(line))
            };
            let signals = of_message().filter(|line| line[0] == "signal");
            let signals: Vec<Fields> = signals
                .map(|line| describe::fields(&SIGNAL, &line[1..]))
                .collect();
            let Some(names) = self.compare_signals(file, message, &signals, &database.warnings)
            else {
                continue;
            };
            for line in of_message().filter(|line| line[0] == "payload") {
                self.compare_payload(file, message, &names, &line[1..]);
            }
        }
        for message in own {
            self.differ(
                file,
                &format!("message {} is not in cantools", message.name),
            );
        }
    }

    /// Compares the signals of a message, and returns the names of its own signals in cantools;
    /// `None` if they are not the same signals.
    fn compare_signals<'a>(
        &mut self,
        file: &str,
        message: &'a MessageDefinition,
        expected: &[Fields],
        warnings: &[DatabaseWarning],
    ) -> Option<BTreeMap<&'a str, String>> {
        let mut names = BTreeMap::new();
        let mut others = BTreeSet::new();
        let own = message.signals.iter();
        let mut own: Vec<(&str, Fields)> = own
            .map(|signal| (&*signal.name, describe::signal(message, signal)))
            .collect();
        for expected in expected {
            let name = &expected["name"];
            // A long name that is not an identifier is not taken: its signal is found by its place.
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let fields: &[&str] = match name.chars().all(is_name) {
                true => &["name"],
                false => &["start", "bits", "switch", "values"],
            };
            let is_same = |own: &Fields| fields.iter().all(|field| own[field] == expected[field]);
            let Some(index) = own.iter().position(|(_, own)| is_same(own)) else {
                let start = format!("signal {name} of {}: ", message.name);
                let warning = warnings
                    .iter()
                    .find_map(|warning| warning.problem.strip_prefix(&start));
                match LEFT_OUT
                    .iter()
                    .find(|(problem, _)| warning.is_some_and(|warning| warning.contains(problem)))
                {
                    Some((_, what)) => self.count(what),
                    None => self.differ(file, &format!("{}: no signal {name}", message.name)),
                }
                return None;
            };
            let (own_name, mut own) = own.remove(index);
            own.insert("name", name.clone());
            // cantools does not use the default of the start value, has no invalid value of a
            // selector, and leaves the ends of a range open.
            let is_stated = |field: &str| !expected[field].is_empty();
            for field in ["initial", "invalid"] {
                if !is_stated(field) {
                    own.remove(field);
                }
            }
            for (field, other) in [("min", "max"), ("max", "min")] {
                if !is_stated(field) && is_stated(other) {
                    own.remove(field);
                }
            }
            self.count("signals");
            self.compare_fields(file, &format!("{}.{name}", message.name), expected, &own);
            names.insert(own_name, name.clone());
            others.insert(name);
        }
        if others.len() < expected.len() {
            // cantools has one value for each name.
            self.count("messages with two signals of one long name");
            return None;
        }
        for (name, _) in &own {
            self.differ(file, &format!("{}: also a signal {name}", message.name));
        }
        own.is_empty().then_some(names)
    }

    fn compare_fields(&mut self, file: &str, name: &str, expected: &Fields, own: &Fields) {
        for (field, value) in own {
            let other = expected.get(field).map_or("", String::as_str);
            let numbers = (value.parse::<f64>(), other.parse::<f64>());
            let is_equal = match numbers {
                (Ok(own), Ok(other)) => own == other,
                _ => value == other,
            };
            let is_padded = *field == "len"
                && other
                    .parse()
                    .is_ok_and(|len| frame::dlc::fd_padded(len).to_string() == *value);
            let known = KNOWN.iter().find(|(of, name_of, _)| {
                file.ends_with(of) && *name_of == format!("{name}: {field}")
            });
            let has_all = *field == "names" && {
                let own: Vec<&str> = value.split('\u{1f}').collect();
                let mut others = other.split('\u{1f}').filter(|name| !name.is_empty());
                others.all(|name| own.contains(&name))
            };
            let is_sym = file.to_lowercase().ends_with(".sym");
            match known {
                _ if is_equal => {}
                _ if has_all => self.count("signals with more names of values"),
                // cantools makes nodes of the sections, and does not read the type of FD.
                _ if is_sym && ["senders", "fd"].contains(field) => {}
                _ if is_padded => self.count("lengths that a frame cannot have"),
                Some((_, _, what)) => self.count(what),
                None => self.differ(
                    file,
                    &format!("{name}: {field} is {value:?}, in cantools {other:?}"),
                ),
            }
        }
    }

    /// Compares the values in a payload, and encodes them again.
    fn compare_payload(
        &mut self,
        file: &str,
        message: &MessageDefinition,
        names: &BTreeMap<&str, String>,
        line: &[&str],
    ) {
        let [hex, encoded, values @ ..] = line else {
            panic!("{line:?}")
        };
        let payload = bytes(hex);
        let mut own = BTreeMap::new();
        let mut written = vec![0_u8; payload.len()];
        for (signal, raw) in message.decode(&payload) {
            let physical = signal.physical(raw).to_f64();
            let size = signal.offset.to_f64().abs().max(physical.abs());
            own.insert(names[&*signal.name].as_str(), (raw, physical, size));
            write(&mut written, signal, raw);
        }
        let mut count = 0;
        for value in values.iter().filter(|value| !value.is_empty()) {
            let mut parts = value.split('\u{1e}');
            let mut next = || parts.next().unwrap();
            let (name, raw, physical) = (next(), next(), next());
            let Some((own_raw, own_physical, size)) = own.remove(name) else {
                self.differ(file, &format!("{}: {hex} has no {name}", message.name));
                continue;
            };
            let is_raw = match own_raw {
                RawValue::Unsigned(own) => own.to_string() == raw,
                RawValue::Signed(own) => own.to_string() == raw,
                RawValue::Float(own) => {
                    let raw = raw.parse::<f64>().unwrap();
                    own == raw || own.is_nan() && raw.is_nan()
                }
            };
            // cantools multiplies and adds floating-point numbers, which are rounded twice.
            let other = physical.parse::<f64>().unwrap();
            let is_physical = (own_physical - other).abs() <= size * 4.0 * f64::EPSILON
                || own_physical == other
                || own_physical.is_nan() && other.is_nan();
            if !(is_raw && is_physical) {
                self.differ(file, &format!("{}.{name}: {hex} is {own_raw} {own_physical}, in cantools {raw} {physical}", message.name));
            }
            count += 1;
        }
        *self.counts.entry("values".to_owned()).or_default() += count;
        for name in own.into_keys() {
            self.differ(file, &format!("{}: {hex} has also {name}", message.name));
        }
        if *encoded == "-" {
            return self.count("payloads that cantools does not encode");
        }
        self.count("payloads encoded again");
        if bytes(encoded) != written {
            self.differ(
                file,
                &format!(
                    "{}: {hex} is encoded as {written:02x?}, by cantools {encoded}",
                    message.name
                ),
            );
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Writes a raw value bit by bit.
fn write(payload: &mut [u8], signal: &SignalDefinition, raw: RawValue) {
    let value = match raw {
        RawValue::Unsigned(raw) => raw,
        RawValue::Signed(raw) => raw.cast_unsigned(),
        RawValue::Float(raw) if signal.layout.bits == 32 => (raw as f32).to_bits().into(),
        RawValue::Float(raw) => raw.to_bits(),
    };
    let mut bit = usize::from(signal.layout.start);
    for number in 0..signal.layout.bits {
        let shift = match signal.layout.order {
            ByteOrder::Intel => number,
            ByteOrder::Motorola => signal.layout.bits - 1 - number,
        };
        let mask = 1 << (bit % 8);
        match value >> shift & 1 {
            0 => payload[bit / 8] &= !mask,
            _ => payload[bit / 8] |= mask,
        }
        bit = match signal.layout.order {
            ByteOrder::Intel => bit + 1,
            ByteOrder::Motorola if bit.is_multiple_of(8) => bit + 15,
            ByteOrder::Motorola => bit - 1,
        };
    }
}
