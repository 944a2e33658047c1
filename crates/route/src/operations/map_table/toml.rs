//! `map`.

use super::{MOST_BLOCKS, MapTable, MappedBlock, highest};
use crate::operations::toml::Toml;
use crate::text::{ids, limits::FrameLimits, words::id_number};
use ::config::{Diagnostic, Diagnostics, KeySpec, SpannedValue, TomlValue, ValueShape};
use alloc::vec;
use alloc::vec::Vec;
use alloc::{format, string::String};

/// The number of pairs that a description names.
const NAMED: usize = 4;

impl Toml for MapTable {
    const KEYS: &'static [&'static str] = &["map"];

    fn keys() -> Vec<KeySpec> {
        vec![KeySpec::new(
            "map",
            ValueShape::Anything,
            "Maps IDs by a table, all at once: `{ \"100\" = \"200\", \"200\" = \"100\" }` exchanges two. A range \
             such as `\"300-30F\"` moves as a block. Three digits are SFF, eight EFF.",
        )]
    }

    /// Parses `{ "100" = "200", "300-30F" = "00000400" }`.
    fn parse(
        _: &'static str,
        value: &TomlValue<'_>,
        _: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let table = value.table("`map`", found)?;
        let pairs = table.all();
        if pairs.is_empty() || pairs.len() > MOST_BLOCKS {
            let message = format!("`map` has {} pairs of IDs", pairs.len());
            value.wrong(message, format!("it needs 1 to {MOST_BLOCKS}"), found);
            return None;
        }
        let mut blocks: Vec<(MappedBlock, core::ops::Range<usize>)> = Vec::new();
        for (from, to) in pairs {
            if let Some(block) = block(&from, &to, found) {
                blocks.push((block, from.span));
            }
        }
        for (at, (block, span)) in blocks.iter().enumerate() {
            if blocks[..at].iter().any(|(other, _)| block.meets(other)) {
                let message = "an ID of this pair is in another pair, too";
                found.push(Diagnostic::error(span.clone(), message).hint("map each ID once"));
            }
        }
        let blocks = blocks.into_iter().map(|(block, _)| block);
        Some(Self {
            blocks: blocks.collect(),
        })
    }

    fn write(&self) -> (&'static str, String) {
        let pairs: Vec<String> = self.blocks.iter().map(pair).collect();
        ("map", format!("{{ {} }}", pairs.join(", ")))
    }

    fn describe(&self) -> String {
        let named = self.blocks.iter().take(NAMED).map(|block| {
            let (from, to) = texts(block);
            format!("{from} into {to}")
        });
        let mut words: Vec<String> = named.collect();
        if self.blocks.len() > NAMED {
            words.push(format!("{} more", self.blocks.len() - NAMED));
        }
        format!("turns ID {}, all at once", words.join(", "))
    }
}

fn block(
    from: &SpannedValue<&str>,
    to: &TomlValue<'_>,
    found: &mut Diagnostics,
) -> Option<MappedBlock> {
    let (first, last) = match ids::range(from.value) {
        Ok(range) => range,
        Err((message, hint)) => {
            found.push(Diagnostic::error(from.span.clone(), message).hint(hint));
            return None;
        }
    };
    let new = ids::read(to, ids::id, found)?;
    // Both numbers are below 2^29, so that the sum fits.
    let end = new.number + (last.number - first.number);
    if end > highest(new.eff) {
        let most = highest(new.eff);
        let message = format!("the block would end at {end:X}, above the highest ID {most:X}");
        to.wrong(message, "start lower, or map fewer IDs", found);
        return None;
    }
    if (first.eff, first.number) == (new.eff, new.number) {
        let warning = Diagnostic::warning(to.span(), "the ID is mapped to itself");
        found.push(warning.hint("leave it out: other IDs stay the same"));
    }
    Some(MappedBlock {
        from_eff: first.eff,
        first: first.number,
        last: last.number,
        to_eff: new.eff,
        to: new.number,
    })
}

/// Returns the texts of a block and of its new place.
fn texts(block: &MappedBlock) -> (String, String) {
    let first = id_number(block.from_eff, block.first);
    let from = if block.first == block.last {
        first
    } else {
        format!("{first}-{}", id_number(block.from_eff, block.last))
    };
    (from, id_number(block.to_eff, block.to))
}

fn pair(block: &MappedBlock) -> String {
    let (from, to) = texts(block);
    format!("\"{from}\" = \"{to}\"")
}

#[cfg(test)]
mod tests {
    use crate::config::tests::{good, messages, one, ports};
    use crate::config::{describe, to_toml};
    use crate::{Action, StopReason, operations};
    use alloc::vec::Vec;
    use frame::{Frame, FrameBuf};

    fn apply(actions: &[Action], frame: &Frame) -> Result<Frame, StopReason> {
        let compiled: Vec<_> = actions.iter().map(Action::compile).collect();
        let mut buf = FrameBuf::default();
        let changed = operations::apply(&compiled, frame.view(), &mut buf)?;
        Ok(Frame::from_view(changed).unwrap())
    }

    #[test]
    fn ids_are_mapped_at_once() {
        let route = one(
            "do = [{ map = { '100' = '200', '200' = '100', '300-30F' = '00000300', '00000400' = '7FF' } }]",
        );
        for (from, to) in [
            ("100#01", "200#01"),
            ("200#R", "100#R"),
            ("305#", "00000305#"),
            ("00000400##1AA", "7FF##1AA"),
            ("00000100#", "00000100#"),
            ("101#", "101#"),
            ("400#", "400#"),
        ] {
            let frame: Frame = from.parse().unwrap();
            let expected: Frame = to.parse().unwrap();
            assert_eq!(apply(&route.actions, &frame), Ok(expected), "{from}");
        }
        let text = to_toml(core::slice::from_ref(&route), &ports());
        assert_eq!(good(&text), core::slice::from_ref(&route));
        let words = describe(&route, &ports());
        assert!(
            words.contains("turns ID 100 into 200, 200 into 100, "),
            "{words}"
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (map, message) in [
            ("{}", "`map` has 0 pairs of IDs"),
            (
                "{ '1' = '200' }",
                "an ID has three or eight digits, `1` has 1",
            ),
            (
                "{ '7F0-7FF' = '7F8' }",
                "the block would end at 807, above the highest ID 7FF",
            ),
            (
                "{ '100-1FF' = '200', '180' = '300' }",
                "an ID of this pair is in another pair, too",
            ),
            ("{ '100' = '100' }", "the ID is mapped to itself"),
        ] {
            assert_eq!(
                messages(&alloc::format!("do = [{{ map = {map} }}]")),
                [message],
                "{map}"
            );
        }
    }
}
