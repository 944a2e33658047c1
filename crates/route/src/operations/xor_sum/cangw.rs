//! `-x`, and `struct cgw_csum_xor`.

use super::XorSum;
use crate::operations::cangw::{CanGw, GivenOption, OptionSource, RuleAttribute, RulePart};
use crate::text::scan::{Read, whole};
use ::config::Diagnostics;
use alloc::{format, string::String, vec::Vec};
use core::ops::Range;

const XOR: &str = "write -x FROM:TO:RESULT:INIT, the first three decimal, INIT in hex";

/// `CGW_CS_XOR`
const KIND: u16 = 5;

impl CanGw for XorSum {
    const OPTIONS: &'static str = "x";
    const ATTRIBUTES: &'static [u16] = &[KIND];

    fn from_options(
        given: &[&GivenOption<'_>],
        command: OptionSource,
        found: &mut Diagnostics,
    ) -> Vec<(Self, Range<usize>)> {
        let mut sum = None;
        let mut first = None;
        for option in given {
            match xor_sum(option.text, command.fd) {
                Ok(read) => {
                    if sum.replace(read).is_some() {
                        found.push(option.twice());
                    }
                    first.get_or_insert(option.at.clone());
                }
                Err(wrong) => found.push(option.wrong(&wrong)),
            }
        }
        sum.zip(first).into_iter().collect()
    }

    fn rule_part(&self) -> Result<RulePart, String> {
        Ok(RulePart::Checksum(1))
    }

    fn options(&self, _: bool) -> String {
        format!(
            " -x {}:{}:{}:{:02X}",
            self.from, self.to, self.result, self.init
        )
    }

    fn to_attribute(&self, _: bool) -> Option<RuleAttribute> {
        // The check has made sure that they are within -64 to 63.
        let [from, to, result] = [self.from, self.to, self.result].map(|index| index as u8);
        let value = Vec::from([from, to, result, self.init]);
        Some(RuleAttribute { kind: KIND, value })
    }

    fn from_attribute(attribute: &RuleAttribute, _: bool) -> Option<Self> {
        let [from, to, result, init] = attribute.value.first_chunk::<4>()?;
        let [from, to, result] = [from, to, result].map(|index| i16::from(index.cast_signed()));
        Some(Self {
            from,
            to,
            result,
            init: *init,
        })
    }

    fn normal(attribute: &RuleAttribute) -> Option<RuleAttribute> {
        (attribute.value.len() == 4).then(|| attribute.clone())
    }
}

/// Parses `-x`.
fn xor_sum(text: &str, fd: bool) -> Read<XorSum> {
    let [from, to, result, init] = whole(text).split(':', XOR)?;
    Ok(XorSum {
        from: from.index(fd, XOR)?,
        to: to.index(fd, XOR)?,
        result: result.index(fd, XOR)?,
        init: init.byte(XOR)?,
    })
}
