//! `-c` and `-p`, and `struct cgw_csum_crc8`.

use super::{Crc8, Crc8Profile};
use crate::operations::cangw::{
    CanGw, GivenOption, KernelNeed, KernelVersion, OptionSource, RuleAttribute, RulePart,
};
use crate::text::scan::{ArgumentPart, Read, whole};
use crate::text::words::hex;
use ::config::{Diagnostic, Diagnostics};
use alloc::{format, string::String, vec::Vec};
use core::ops::Range;

const CRC: &str = "write -c FROM:TO:RESULT:INIT:XOR:TABLE, TABLE with 512 hex digits";
const PROFILE: &str = "write -p 1:XX, -p 2: and 32 hex digits, or -p 3:";

/// `CGW_CS_CRC8`
const KIND: u16 = 6;
/// Bytes of `struct cgw_csum_crc8`.
const SIZE: usize = 282;

/// The versions with the fix of CVE-2026-31570: before it, `cgw_csum_crc8_rel` computes the
/// positions for negative indices, but then reads and writes at the negative indices themselves,
/// before the frame's payload in the kernel's memory.
const FROM_END: &[KernelVersion] = &[
    KernelVersion(5, 10, 253),
    KernelVersion(5, 15, 203),
    KernelVersion(6, 1, 168),
    KernelVersion(6, 6, 131),
    KernelVersion(6, 12, 80),
    KernelVersion(6, 18, 21),
    KernelVersion(6, 19, 11),
    KernelVersion(7, 0, 0),
];

impl CanGw for Crc8 {
    const OPTIONS: &'static str = "cp";
    const ATTRIBUTES: &'static [u16] = &[KIND];

    fn from_options(
        given: &[&GivenOption<'_>],
        command: OptionSource,
        found: &mut Diagnostics,
    ) -> Vec<(Self, Range<usize>)> {
        let mut sum = None;
        let mut first = None;
        let mut last_profile = None;
        for option in given {
            let read = if option.letter == 'p' {
                profile(option.text).map(|profile| {
                    last_profile = Some((profile, option.at.clone()));
                })
            } else {
                crc8(option.text, command.fd).map(|crc| {
                    if sum.replace(crc).is_some() {
                        found.push(option.twice());
                    }
                    first.get_or_insert(option.at.clone());
                })
            };
            if let Err(wrong) = read {
                found.push(option.wrong(&wrong));
            }
        }
        match (sum.zip(first), last_profile) {
            (Some((mut crc, at)), profile) => {
                if let Some((profile, _)) = profile {
                    crc.profile = profile;
                }
                Vec::from([(crc, at)])
            }
            (None, Some((_, at))) if command.has_rule => {
                let message = "-p does nothing without -c";
                found.push(Diagnostic::warning(at, message).hint("leave it out"));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn rule_part(&self) -> Result<RulePart, String> {
        Ok(RulePart::Checksum(0))
    }

    fn options(&self, _: bool) -> String {
        let mut text = format!(
            " -c {}:{}:{}:{:02X}:{:02X}:{}",
            self.from,
            self.to,
            self.result,
            self.init,
            self.final_xor,
            hex(&self.table)
        );
        let data = match &self.profile {
            Crc8Profile::None => return text,
            Crc8Profile::OneByte(byte) => hex(&[*byte]),
            Crc8Profile::Sixteen(bytes) => hex(bytes),
            Crc8Profile::SffIdXor => String::new(),
        };
        text.push_str(&format!(" -p {}:{data}", profile_number(&self.profile)));
        text
    }

    fn to_attribute(&self, _: bool) -> Option<RuleAttribute> {
        // The check has made sure that they are within -64 to 63.
        let indices = [self.from, self.to, self.result].map(|index| index as u8);
        let mut value = indices.to_vec();
        value.extend([self.init, self.final_xor]);
        value.extend(self.table);
        value.push(profile_number(&self.profile));
        match &self.profile {
            Crc8Profile::OneByte(byte) => value.push(*byte),
            Crc8Profile::Sixteen(bytes) => value.extend(bytes),
            Crc8Profile::None | Crc8Profile::SffIdXor => {}
        }
        value.resize(SIZE, 0);
        Some(RuleAttribute { kind: KIND, value })
    }

    fn from_attribute(attribute: &RuleAttribute, _: bool) -> Option<Self> {
        let (&[from, to, result, init, final_xor], rest) =
            attribute.value.split_first_chunk::<5>()?;
        let (table, rest) = rest.split_first_chunk::<256>()?;
        let (&[profile, byte], _) = rest.split_first_chunk::<2>()?;
        let (_, bytes) = rest.split_first()?;
        let [from, to, result] = [from, to, result].map(|index| i16::from(index.cast_signed()));
        Some(Self {
            from,
            to,
            result,
            init,
            final_xor,
            table: *table,
            profile: match profile {
                1 => Crc8Profile::OneByte(byte),
                2 => Crc8Profile::Sixteen(*bytes.first_chunk()?),
                3 => Crc8Profile::SffIdXor,
                // can-gw adds no byte for a number that it does not know.
                _ => Crc8Profile::None,
            },
        })
    }

    fn normal(attribute: &RuleAttribute) -> Option<RuleAttribute> {
        (attribute.value.len() == SIZE).then(|| attribute.clone())
    }

    fn needs(all: &[&Self], _: bool) -> Option<KernelNeed> {
        let from_end = |crc: &&Self| [crc.from, crc.to, crc.result].iter().any(|i| *i < 0);
        all.iter().any(from_end).then_some(KernelNeed {
            since: FROM_END,
            why: |kernel| {
                format!(
                    "its CRC8 counts from the frame's end, and with that {kernel} writes outside \
                     the frame (CVE-2026-31570): use a kernel with the fix, or indices from the \
                     beginning"
                )
            },
        })
    }
}

/// Returns the number of a profile (`CGW_CRC8PRF_*`).
fn profile_number(profile: &Crc8Profile) -> u8 {
    match profile {
        Crc8Profile::None => 0,
        Crc8Profile::OneByte(_) => 1,
        Crc8Profile::Sixteen(_) => 2,
        Crc8Profile::SffIdXor => 3,
    }
}

/// Parses `-c`.
fn crc8(text: &str, fd: bool) -> Read<Crc8> {
    let [from, to, result, init, final_xor, table] = whole(text).split(':', CRC)?;
    let bytes = table.bytes(256, CRC)?;
    let Ok(entries) = <[u8; 256]>::try_from(bytes) else {
        return table.wrong("the table has 256 bytes", CRC);
    };
    Ok(Crc8 {
        from: from.index(fd, CRC)?,
        to: to.index(fd, CRC)?,
        result: result.index(fd, CRC)?,
        init: init.byte(CRC)?,
        final_xor: final_xor.byte(CRC)?,
        table: entries,
        profile: Crc8Profile::None,
    })
}

/// Parses `-p`.
fn profile(text: &str) -> Read<Crc8Profile> {
    let (number, rest) = text.split_once(':').unwrap_or((text, ""));
    let data = ArgumentPart {
        text: rest,
        at: number.len() + 1,
    };
    match number {
        "1" => Ok(Crc8Profile::OneByte(data.byte(PROFILE)?)),
        "2" => {
            let bytes = data.bytes(16, PROFILE)?;
            match <[u8; 16]>::try_from(bytes) {
                Ok(bytes) => Ok(Crc8Profile::Sixteen(bytes)),
                Err(_) => data.wrong("the profile has 16 bytes", PROFILE),
            }
        }
        "3" => Ok(Crc8Profile::SffIdXor),
        other => whole(number).wrong(format!("there is no CRC8 profile `{other}`"), PROFILE),
    }
}
