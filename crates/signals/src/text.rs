//! Values as text, appended to a string without the machinery of formatting.

use crate::signal::{PhysicalValue, RawValue};
use alloc::string::String;
use core::fmt::Write as _;

impl RawValue {
    /// Appends the text that `to_string` returns, in a fraction of the time.
    pub fn append_to(self, text: &mut String) {
        let number = match self {
            Self::Unsigned(raw) => raw,
            Self::Signed(raw) => {
                if raw < 0 {
                    text.push('-');
                }
                raw.unsigned_abs()
            }
            Self::Float(raw) => {
                // Writing to a string cannot fail.
                let _ = write!(text, "{raw}");
                return;
            }
        };
        text.push_str(itoa::Buffer::new().format(number));
    }
}

impl PhysicalValue {
    /// Appends the text that `to_string` returns, in a fraction of the time.
    pub fn append_to(self, text: &mut String) {
        match self {
            Self::Exact(value) => value.append_to(text),
            Self::Float(value) => RawValue::Float(value).append_to(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn appended_texts_are_those_of_formatting() {
        let integers = [0, 7, -1, 10, i64::MAX, i64::MIN];
        let signed = integers.map(RawValue::Signed);
        let unsigned = integers.map(|raw| RawValue::Unsigned(raw.cast_unsigned()));
        let floats = [0.1, -0.0, f64::NAN, f64::INFINITY, 1e300].map(RawValue::Float);
        for raw in signed.iter().chain(&unsigned).chain(&floats) {
            let mut text = "a".to_string();
            raw.append_to(&mut text);
            assert_eq!(text, "a".to_string() + &raw.to_string());
        }
        for value in [
            PhysicalValue::Exact("-0.25".parse().unwrap()),
            PhysicalValue::Float(1.5),
        ] {
            let mut text = String::new();
            value.append_to(&mut text);
            assert_eq!(text, value.to_string());
        }
    }
}
