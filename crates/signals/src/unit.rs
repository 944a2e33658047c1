//! Units of physical values, as far as values can be converted exactly.

use crate::decimal::Decimal;
use crate::signal::SignalDefinition;

/// The relation of the units of two signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitRelation {
    /// Both have the same unit, or neither has one.
    Same,
    /// Values of one unit can be converted to the other exactly.
    Convertible,
    /// No exact conversion is known.
    Unknown,
}

/// A unit: its spellings in databases, its quantity, and the factor and the offset to the
/// quantity's base unit, in decimal text.
type KnownUnit = (
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static str,
);

/// The units that have an exact decimal relation. The base of temperatures is the degree
/// Fahrenheit, because 5/9 has no decimal form. A mile has 1609.344 m (international yard, 1959), a
/// nautical mile 1852 m.
const UNITS: &[KnownUnit] = &[
    (&["km/h", "kph", "kmh", "KPH", "Km/h"], "speed", "1", "0"),
    (&["m/s"], "speed", "3.6", "0"),
    (&["mph", "MPH", "mi/h"], "speed", "1.609344", "0"),
    (&["kn", "kt", "knots"], "speed", "1.852", "0"),
    (&["degF", "°F", "F"], "temperature", "1", "0"),
    (
        &["degC", "°C", "deg C", "C", "Celsius"],
        "temperature",
        "1.8",
        "32",
    ),
    (&["K", "Kelvin"], "temperature", "1.8", "-459.67"),
    (&["Pa"], "pressure", "1", "0"),
    (&["hPa", "mbar"], "pressure", "100", "0"),
    (&["kPa"], "pressure", "1000", "0"),
    (&["bar", "Bar"], "pressure", "100000", "0"),
    (&["MPa"], "pressure", "1000000", "0"),
    (&["mm"], "length", "0.001", "0"),
    (&["cm"], "length", "0.01", "0"),
    (&["m"], "length", "1", "0"),
    (&["km"], "length", "1000", "0"),
    (&["mi", "miles"], "length", "1609.344", "0"),
    (&["mV"], "voltage", "0.001", "0"),
    (&["V", "Volt"], "voltage", "1", "0"),
    (&["kV"], "voltage", "1000", "0"),
    (&["mA"], "current", "0.001", "0"),
    (&["A", "Amp"], "current", "1", "0"),
    (&["W"], "power", "1", "0"),
    (&["kW"], "power", "1000", "0"),
    (&["us", "µs"], "time", "0.000001", "0"),
    (&["ms"], "time", "0.001", "0"),
    (&["s", "sec"], "time", "1", "0"),
    (&["min"], "time", "60", "0"),
    (&["h"], "time", "3600", "0"),
];

fn find(unit: &str) -> Option<&'static KnownUnit> {
    let mut all = UNITS.iter();
    all.find(|(spellings, ..)| spellings.contains(&unit))
}

impl SignalDefinition {
    /// Returns the relation of this signal's unit to that of another one.
    #[must_use]
    pub fn unit_relation(&self, other: &Self) -> UnitRelation {
        let (own, its) = (self.unit.trim(), other.unit.trim());
        if own == its {
            return UnitRelation::Same;
        }
        match (find(own), find(its)) {
            (Some((spellings, ..)), _) if spellings.contains(&its) => UnitRelation::Same,
            (Some((_, a, ..)), Some((_, b, ..))) if a == b => UnitRelation::Convertible,
            _ => UnitRelation::Unknown,
        }
    }

    /// Returns factor and offset of the raw value in the base unit of its quantity; `None` if that
    /// is not known or needs too many digits.
    pub(crate) fn scale_in_base_unit(&self) -> Option<(Decimal, Decimal)> {
        let (_, _, factor, offset) = find(self.unit.trim())?;
        let (factor, offset): (Decimal, Decimal) = (factor.parse().ok()?, offset.parse().ok()?);
        let scaled = self.offset.checked_mul(factor)?;
        Some((
            self.factor.checked_mul(factor)?,
            scaled.checked_add(offset)?,
        ))
    }
}

#[cfg(feature = "dbc")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FieldSource, OutOfRange};
    use alloc::format;

    fn signals(from: (&str, &str), to: (&str, &str)) -> (SignalDefinition, SignalDefinition) {
        let text = format!(
            "BO_ 1 M: 8 N\n SG_ From : 0|16@1+ {} [0|0] \"{}\" N\n SG_ To : 16|16@1+ {} [0|0] \"{}\" N\n",
            from.0, from.1, to.0, to.1
        );
        let mut database = crate::dbc::read(text.as_bytes()).unwrap();
        let mut signals = database.messages.remove(0).signals.into_iter();
        (signals.next().unwrap(), signals.next().unwrap())
    }

    #[test]
    fn each_unit_is_spelled_in_one_way_only_once_and_has_exact_numbers() {
        let mut known = alloc::collections::BTreeSet::new();
        for (spellings, _, factor, offset) in UNITS {
            assert!(factor.parse::<Decimal>().is_ok() && offset.parse::<Decimal>().is_ok());
            for spelling in *spellings {
                assert!(known.insert(spelling), "{spelling}");
            }
        }
    }

    /// 100.00 km/h are 62.137119… mph; 36.0 km/h are 10 m/s; 100 degC are 212 degF and 373.15 K.
    #[test]
    fn values_are_converted_exactly() {
        for (from, raw, to, expected) in [
            (("(0.01,0)", "km/h"), 10_000, ("(0.1,0)", "mph"), 621),
            (("(0.1,0)", "km/h"), 360, ("(0.01,0)", "m/s"), 1000),
            (
                ("(0.1,0)", "mph"),
                1000,
                ("(0.000001,0)", "km/h"),
                160_934_400,
            ),
            (("(1,-40)", "degC"), 140, ("(1,0)", "degF"), 212),
            (("(1,-40)", "°C"), 140, ("(0.01,0)", "K"), 37_315),
            (("(1,0)", "kPa"), 250, ("(0.1,0)", "bar"), 25),
        ] {
            let (from, to) = signals(from, to);
            assert_eq!(to.unit_relation(&from), UnitRelation::Convertible);
            let copy = to.copy_of(&from, OutOfRange::Saturate).unwrap();
            let FieldSource::Signal { map, .. } = copy.source else {
                panic!("{copy:?}");
            };
            assert_eq!(map.apply(raw), expected, "{} to {}", from.unit, to.unit);
        }
    }

    #[test]
    fn other_units_are_left_alone() {
        for (a, b, relation) in [
            ("rpm", "1/min", UnitRelation::Unknown),
            ("km/h", "degC", UnitRelation::Unknown),
            ("", "km/h", UnitRelation::Unknown),
            ("rpm", "rpm ", UnitRelation::Same),
            ("km/h", "kph", UnitRelation::Same),
        ] {
            let (from, to) = signals(("(0.5,0)", a), ("(0.5,0)", b));
            assert_eq!(to.unit_relation(&from), relation, "{a}, {b}");
            let copy = to.copy_of(&from, OutOfRange::Saturate).unwrap();
            assert!(
                matches!(copy.source, FieldSource::Bits(_)),
                "{a}, {b}: {copy:?}"
            );
        }
    }
}
