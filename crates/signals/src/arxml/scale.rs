//! The meaning of a signal's bits: base types, computation methods, units and initial values.

use super::ArxmlReader;
use super::paths::{number, short_name, text_at, walk};
use crate::decimal::Decimal;
use crate::define::one_line;
use crate::shown::shown;
use crate::signal::{SignalDefinition, SignalKind, ValueName};
use crate::xml::{children, float_kind};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use roxmltree::Node;

/// The way from properties to their only variant.
const VARIANT: [&str; 2] = [
    "SW-DATA-DEF-PROPS-VARIANTS",
    "SW-DATA-DEF-PROPS-CONDITIONAL",
];

impl<'a, 'input> ArxmlReader<'a, 'input> {
    /// Reads the meaning of an `I-SIGNAL`.
    ///
    /// # Errors
    /// The reason why it is unknown.
    pub(super) fn read_meaning(
        &mut self,
        i_signal: Node<'a, 'input>,
        signal: &mut SignalDefinition,
    ) -> Result<(), String> {
        let network = walk(i_signal, &["NETWORK-REPRESENTATION-PROPS"])
            .and_then(|properties| walk(properties, &VARIANT));
        let base_type = match network {
            Some(network) => self.paths.follow(network, "BASE-TYPE-REF")?,
            None => None,
        };
        if let Some(base_type) = base_type {
            let bits = signal.layout.bits;
            signal.kind = match text_at(base_type, &["BASE-TYPE-ENCODING"]) {
                // One's complement and sign with magnitude are taken as two's complement: no
                // controller of today has them.
                Some("2C" | "1C" | "SM") => SignalKind::Signed,
                Some("IEEE754") => {
                    float_kind(bits).ok_or_else(|| format!("{bits} bits are not a float"))?
                }
                Some(_) => SignalKind::Unsigned,
                // Some programs write none for unsigned integers: the others are known by the names
                // of AUTOSAR's platform types.
                None => match short_name(base_type).to_ascii_lowercase() {
                    name if name.starts_with("sint") => SignalKind::Signed,
                    name if name.starts_with("float") => {
                        float_kind(bits).ok_or_else(|| format!("{bits} bits are not a float"))?
                    }
                    _ => SignalKind::Unsigned,
                },
            };
        }
        let system = self.paths.follow(i_signal, "SYSTEM-SIGNAL-REF")?;
        signal.comment = match system {
            Some(system) => self.description(system),
            None => String::new(),
        };
        let physical = system
            .and_then(|system| walk(system, &["PHYSICAL-PROPS"]))
            .and_then(|properties| walk(properties, &VARIANT));
        let mut method = None;
        let mut unit = None;
        for properties in [physical, network].into_iter().flatten() {
            if method.is_none() {
                method = self.paths.follow(properties, "COMPU-METHOD-REF")?;
            }
            if unit.is_none() {
                unit = self.paths.follow(properties, "UNIT-REF")?;
            }
        }
        if let (None, Some(method)) = (unit, method) {
            unit = self.paths.follow(method, "UNIT-REF")?;
        }
        for element in [base_type, method, unit].into_iter().flatten() {
            if !self.has_time_in(element) {
                return Err("its meaning is not read".to_owned());
            }
        }
        let unit = unit.and_then(|unit| text_at(unit, &["DISPLAY-NAME"]));
        signal.unit = one_line(unit.filter(|unit| *unit != "NoUnit").unwrap_or_default());
        if let Some(method) = method {
            self.read_method(method, signal)?;
        }
        signal.substitutes.start = self.initial(i_signal);
        signal.substitutes.invalid = network
            .and_then(|network| {
                text_at(
                    network,
                    &["INVALID-VALUE", "NUMERICAL-VALUE-SPECIFICATION", "VALUE"],
                )
            })
            .and_then(number);
        Ok(())
    }

    /// Returns the initial value of an `I-SIGNAL`, if it is a number.
    fn initial(&self, i_signal: Node<'a, 'input>) -> Option<Decimal> {
        const VALUE: [&str; 2] = ["NUMERICAL-VALUE-SPECIFICATION", "VALUE"];
        let initial = walk(i_signal, &["INIT-VALUE"])?;
        let constant = || {
            let reference = walk(initial, &["CONSTANT-REFERENCE"])?;
            let constant = self.paths.follow(reference, "CONSTANT-REF").ok()??;
            text_at(walk(constant, &["VALUE-SPEC"])?, &VALUE)
        };
        number(text_at(initial, &VALUE).or_else(constant)?)
    }

    /// Reads the factor, the offset, the range and the names of values.
    fn read_method(
        &mut self,
        method: Node<'a, 'input>,
        signal: &mut SignalDefinition,
    ) -> Result<(), String> {
        let category = text_at(method, &["CATEGORY"]).unwrap_or_default();
        let (has_names, is_linear) = match category {
            "TEXTTABLE" => (true, false),
            "LINEAR" => (false, true),
            "SCALE_LINEAR_AND_TEXTTABLE" => (true, true),
            "" | "IDENTICAL" => return Ok(()),
            _ => {
                let problem = format!(
                    "signal {}: its computation method {} is {}: the raw values are taken as physical ones",
                    shown(&signal.name),
                    shown(short_name(method)),
                    shown(category)
                );
                self.warn(method, &problem);
                return Ok(());
            }
        };
        let scales = walk(method, &["COMPU-INTERNAL-TO-PHYS", "COMPU-SCALES"]);
        if !scales.is_none_or(|all| self.has_time_for(all)) {
            return Err("its scale is not read".to_owned());
        }
        let scales = scales
            .into_iter()
            .flat_map(|all| children(all, "COMPU-SCALE"));
        let mut segments = 0;
        for scale in scales {
            let limit = |name| text_at(scale, &[name]).and_then(number);
            let (lower, upper) = (limit("LOWER-LIMIT"), limit("UPPER-LIMIT"));
            match text_at(scale, &["COMPU-CONST", "VT"]) {
                Some(name) if has_names => {
                    let (lower, upper) = (lower.or(upper), upper.or(lower));
                    let raw = lower.filter(|_| lower == upper).and_then(Decimal::to_i128);
                    match raw {
                        Some(raw) => signal.value_names.push(ValueName {
                            raw,
                            name: one_line(name),
                        }),
                        None => {
                            let problem = format!(
                                "signal {}: the name `{}` is of no single value; it is left out",
                                shown(&signal.name),
                                shown(name)
                            );
                            self.warn(scale, &problem);
                        }
                    }
                }
                None if is_linear => {
                    segments += 1;
                    if segments == 2 {
                        let problem = format!(
                            "signal {}: its scale has several segments, of which the last one is taken for all values",
                            shown(&signal.name)
                        );
                        self.warn(scale, &problem);
                    }
                    read_linear(scale, signal)?;
                    let physical = |raw: Option<Decimal>| {
                        raw?.checked_mul(signal.factor)?.checked_add(signal.offset)
                    };
                    signal.set_range(physical(lower), physical(upper));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads the factor and the offset of a scale: (offset + factor × raw) / denominator.
fn read_linear(scale: Node<'_, '_>, signal: &mut SignalDefinition) -> Result<(), String> {
    let Some(coefficients) = walk(scale, &["COMPU-RATIONAL-COEFFS"]) else {
        return Ok(());
    };
    let values = |name| -> Result<Vec<Decimal>, String> {
        let all = walk(coefficients, &[name]).into_iter();
        let all = all.flat_map(|list| children(list, "V"));
        all.map(|value| {
            let text = value.text().unwrap_or_default();
            number(text).ok_or_else(|| format!("`{}` is not a number", shown(text)))
        })
        .collect()
    };
    let (numerators, denominators) = (values("COMPU-NUMERATOR")?, values("COMPU-DENOMINATOR")?);
    let ([offset, factor], [denominator]) = (&numerators[..], &denominators[..]) else {
        return Err(format!(
            "its scale has {} numerators and {} denominators instead of 2 and 1",
            numerators.len(),
            denominators.len()
        ));
    };
    if denominator.is_zero() {
        return Err("the denominator of its scale is 0".to_owned());
    }
    let divide = |number: &Decimal| {
        number
            .checked_div(*denominator)
            .or_else(|| nearest(number, denominator))
    };
    match (divide(factor), divide(offset)) {
        (Some(factor), Some(offset)) => {
            (signal.factor, signal.offset) = (factor, offset);
            Ok(())
        }
        _ => Err("its factor or offset has more than 38 digits".to_owned()),
    }
}

/// Returns the quotient as the shortest decimal number that stands for the nearest floating-point
/// number, for quotients without an end.
fn nearest(number: &Decimal, denominator: &Decimal) -> Option<Decimal> {
    let quotient = number.to_f64() / denominator.to_f64();
    format!("{quotient:e}").parse().ok()
}
