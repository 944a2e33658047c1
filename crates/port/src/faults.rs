//! `[ports.NAME.faults]`: faults that are injected, to test how other programs cope with them.

use crate::{Halves, PortError};
use config::{Diagnostic, Diagnostics, KeySpec, TomlTable, ValueShape};
use engine::wrap::{ChancesError, FaultChances, FaultyHalf};

/// The faults that are injected on a port. The same seed, port name and frames give the same
/// faults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortFaults {
    /// Seed of the pseudo-random numbers; default 0.
    pub seed: u64,
    /// Chances for frames that come in. `refuse` is 0.
    pub receive: FaultChances,
    /// Chances for frames that go out.
    pub transmit: FaultChances,
}

/// The key of a fault, its description for `cangate check`, and its field of the chances.
type Fault = (
    &'static str,
    &'static str,
    fn(&mut FaultChances) -> &mut f64,
);

const ON_RECEIVING: [Fault; 3] = [
    ("drop", "dropped", |c| &mut c.drop),
    ("duplicate", "duplicated", |c| &mut c.duplicate),
    ("corrupt", "changed in one bit", |c| &mut c.corrupt),
];
const ON_SENDING: [Fault; 4] = [
    ON_RECEIVING[0],
    ON_RECEIVING[1],
    ON_RECEIVING[2],
    ("refuse", "refused", |c| &mut c.refuse),
];

const RECEIVE: &str = "Faults on frames that come in: `drop`, `duplicate`, `corrupt`.";
const TRANSMIT: &str = "Faults on frames that go out: `drop`, `duplicate`, `corrupt`, `refuse`.";

impl PortFaults {
    /// Returns the key that [`PortFaults::parse`] reads.
    pub(crate) fn key() -> KeySpec {
        let side = |known: &[Fault]| {
            let chance = |(name, ..): &Fault| {
                KeySpec::new(
                    name,
                    ValueShape::Number(0.0..=1.0),
                    "The chance, from 0 to 1.",
                )
            };
            ValueShape::Table(known.iter().map(chance).collect())
        };
        let keys = vec![
            KeySpec::new(
                "seed",
                ValueShape::Integer(0..=i64::MAX),
                "The same seed, port name and frames give the same faults, on every machine.",
            )
            .value("from 0")
            .default("0"),
            KeySpec::new("receive", side(&ON_RECEIVING), RECEIVE).default("none"),
            KeySpec::new("transmit", side(&ON_SENDING), TRANSMIT).default("none"),
        ];
        KeySpec::new(
            "faults",
            ValueShape::Table(keys),
            "Faults that the gateway injects on purpose; for tests.",
        )
    }

    /// Reads the key `faults` of `[ports.NAME]`, and adds a warning that it is present.
    pub(crate) fn parse(
        port: &str,
        ports_table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let value = ports_table.get("faults")?;
        let mut table = value.table(format!("[ports.{port}.faults]"), found)?;
        let seed = table.integer("seed", 0..=i64::MAX, found);
        let mut faults = Self {
            seed: seed.map_or(0, |seed| seed.value.unsigned_abs()),
            receive: FaultChances::default(),
            transmit: FaultChances::default(),
        };
        let sides = [
            ("receive", &ON_RECEIVING[..], &mut faults.receive),
            ("transmit", &ON_SENDING[..], &mut faults.transmit),
        ];
        for (key, known, chances) in sides {
            let place = format!("`{key}` of [ports.{port}.faults]");
            let Some(mut side) = table.table(key, place, found) else {
                continue;
            };
            for (key, _, part) in known {
                *part(chances) = chance(&mut side, key, found);
            }
            side.finish(found);
        }
        table.finish(found);
        let (message, hint) = if faults.are_none() {
            let hint = "give a chance, such as `receive = { drop = 0.01 }`, or leave the table out";
            (format!("port `{port}` has faults that never happen"), hint)
        } else {
            let hint = "this is for tests: leave out `faults` where frames must arrive";
            (format!("port `{port}` injects faults"), hint)
        };
        found.push(Diagnostic::warning(value.span(), message).hint(hint));
        Some(faults)
    }

    fn are_none(&self) -> bool {
        self.receive == FaultChances::default() && self.transmit == FaultChances::default()
    }

    /// Returns a line for each side with faults.
    pub(crate) fn describe(&self) -> String {
        let sides = [
            ("received", &ON_RECEIVING[..], self.receive),
            ("sent", &ON_SENDING[..], self.transmit),
        ];
        let mut text = String::new();
        for (side, known, mut chances) in sides {
            let each = known.iter().filter_map(|(_, word, part)| {
                let chance = *part(&mut chances);
                // Rounded to millionths: 0.07 as a double is not 7 % to the last digit.
                let percent = (chance * 1e8).round() / 1e6;
                (chance > 0.0).then(|| format!("{percent} % {word}"))
            });
            let each: Vec<String> = each.collect();
            if !each.is_empty() {
                let seed = self.seed;
                let each = each.join(", ");
                text.push_str(&format!(
                    "\n  injects faults into frames {side}: {each}; seed {seed}"
                ));
            }
        }
        text
    }

    /// Returns the halves with faults injected.
    ///
    /// # Errors
    /// [`PortError`] for an invalid chance; settings that were read from a file have none of these.
    pub(crate) fn inject(&self, port: &str, (rx, tx): Halves) -> Result<Halves, PortError> {
        let wrong = |error: ChancesError| PortError {
            port: port.to_owned(),
            what: "faults cannot be injected".to_owned(),
            source: Some(error.into()),
        };
        let rx =
            FaultyHalf::new(rx, self.receive, mixed(self.seed, port, "receive")).map_err(wrong)?;
        let tx = FaultyHalf::new(tx, self.transmit, mixed(self.seed, port, "transmit"))
            .map_err(wrong)?;
        Ok((Box::new(rx), Box::new(tx)))
    }
}

/// Reads a chance from 0 to 1.
fn chance(table: &mut TomlTable<'_>, key: &'static str, found: &mut Diagnostics) -> f64 {
    let Some(value) = table.get(key) else {
        return 0.0;
    };
    match value.number(found) {
        Some(n) if (0.0..=1.0).contains(&n.value) => n.value,
        Some(_) => {
            let message = format!("`{key}` is a chance from 0 to 1");
            value.wrong(message, "0.01 is one frame in a hundred", found);
            0.0
        }
        None => 0.0,
    }
}

/// Returns a separate seed for each half: with the same seed, two halves would hit the same frames.
/// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>), because it is the same on every machine.
fn mixed(seed: u64, port: &str, side: &str) -> u64 {
    let bytes = seed.to_le_bytes();
    let all = bytes
        .iter()
        .chain(port.as_bytes())
        .chain(b"/")
        .chain(side.as_bytes());
    all.fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NullReceiver, NullTransmitter};
    use config::{SourceText, TomlDocument};
    use std::collections::HashSet;

    fn parse(text: &str) -> (Option<PortFaults>, Vec<String>) {
        let source = SourceText::new("t", text);
        let mut found = Diagnostics::new();
        let document = TomlDocument::parse(&source, &mut found);
        let faults = PortFaults::parse("p", &mut document.root(), &mut found);
        let messages = found.list().iter().map(|d| d.message.clone()).collect();
        (faults, messages)
    }

    #[test]
    fn all_keys_are_read_and_reported() {
        let (faults, messages) = parse(
            "[faults]\nseed = 7\nreceive = { drop = 0.07, corrupt = 1 }\n\
             [faults.transmit]\nduplicate = 0.001\nrefuse = 0.5\n",
        );
        assert_eq!(messages, ["port `p` injects faults"]);
        let faults = faults.unwrap();
        let receive = FaultChances {
            drop: 0.07,
            corrupt: 1.0,
            ..FaultChances::default()
        };
        assert_eq!((faults.seed, faults.receive), (7, receive));
        assert_eq!(
            faults.describe(),
            "\n  injects faults into frames received: 7 % dropped, 100 % changed in one bit; seed 7\
             \n  injects faults into frames sent: 0.1 % duplicated, 50 % refused; seed 7"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            ("faults = 3", "`faults` must be a table: { key = value, … }"),
            (
                "[faults]\nreceive = { drop = 1.5 }",
                "`drop` is a chance from 0 to 1",
            ),
            (
                "[faults]\nreceive = { drop = -0.5 }",
                "`drop` is a chance from 0 to 1",
            ),
            (
                "[faults]\nreceive = { refuse = 0.5 }",
                "`receive` of [ports.p.faults] has no key `refuse`",
            ),
            (
                "[faults]\nsend = { drop = 0.5 }",
                "[ports.p.faults] has no key `send`",
            ),
            (
                "[faults]\nseed = -1",
                "`seed` must be from 0 to 9223372036854775807",
            ),
            (
                "[faults]\nseed = 1",
                "port `p` has faults that never happen",
            ),
        ];
        for (text, message) in cases {
            let (_, messages) = parse(text);
            assert!(
                messages.iter().any(|m| m == message),
                "{text}: {messages:?}"
            );
        }
        assert_eq!(parse(""), (None, vec![]));
    }

    #[test]
    fn every_half_has_numbers_of_its_own() {
        let all = [
            mixed(0, "a", "receive"),
            mixed(0, "a", "transmit"),
            mixed(0, "b", "receive"),
            mixed(1, "a", "receive"),
        ];
        assert_eq!(HashSet::from(all).len(), all.len());
    }

    #[test]
    fn a_chance_that_is_none_is_an_error() {
        let faults = PortFaults {
            seed: 0,
            receive: FaultChances {
                drop: f64::NAN,
                ..FaultChances::default()
            },
            transmit: FaultChances::default(),
        };
        let halves: Halves = (Box::new(NullReceiver), Box::new(NullTransmitter));
        let error = faults.inject("p", halves).err().unwrap();
        assert!(error.source.unwrap().to_string().contains("from 0 to 1"));
    }
}
