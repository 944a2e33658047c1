//! Files of another kind that are given where TOML is expected.

use crate::{Diagnostic, SourceText};

/// The actual kind of a file, and a hint about its use.
struct ForeignKind {
    what: &'static str,
    hint: &'static str,
    is: fn(&str) -> bool,
}

/// The known kinds of file, each recognised by the beginning of one of its first lines.
const KINDS: [ForeignKind; 6] = [
    ForeignKind {
        what: "a DBC",
        hint: "`cangate bound --from-dbc FILE > set.toml` makes a message set of it",
        is: |line| {
            let keyword = line.split([' ', ':', '\t']).next().unwrap_or_default();
            let after = line.get(keyword.len()..).unwrap_or_default().trim_start();
            match keyword {
                "VERSION" => after.starts_with('"'),
                "NS_" | "BS_" | "BU_" => after.starts_with(':'),
                "BO_" => after.starts_with(|c: char| c.is_ascii_digit()),
                _ => false,
            }
        },
    },
    ForeignKind {
        what: "XML, such as ARXML, KCD or FIBEX",
        hint: "of databases, DBC is read (`cangate bound --from-dbc`): convert it, for example by canmatrix",
        is: |line| line.starts_with("<?xml") || line.starts_with("<!DOCTYPE"),
    },
    ForeignKind {
        what: "a PCAN symbol file",
        hint: "of databases, DBC is read (`cangate bound --from-dbc`): convert it, for example by canmatrix",
        is: |line| line.starts_with("FormatVersion="),
    },
    ForeignKind {
        what: "JSON",
        hint: "write TOML; `cangate schema` describes a gateway file",
        is: |line| line.starts_with('{'),
    },
    ForeignKind {
        what: "a list of can-gw rules",
        hint: "`cangate import FILE` makes a gateway file of it",
        is: |line| line.starts_with("cangw "),
    },
    ForeignKind {
        what: "a log",
        hint: "a gateway reads logs by ports of kind \"log\" (`read = \"FILE\"`); `cangate bound --from-log FILE` \
               makes a message set of one",
        is: |line| {
            let candump = line
                .strip_prefix('(')
                .and_then(|rest| rest.split_once(") "));
            let time = |time: &str| time.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            candump.is_some_and(|(stamp, _)| !stamp.is_empty() && time(stamp))
                || line.starts_with(";$FILEVERSION")
                || line.starts_with("Begin Triggerblock")
                || line.starts_with("Begin TriggerBlock")
        },
    },
];

/// Number of lines at the beginning that are examined.
const LINES: usize = 40;

/// Returns a diagnostic if a text that is not valid TOML is a file of another known kind; its place
/// is the line that shows the kind.
pub(crate) fn recognise(source: &SourceText) -> Option<Diagnostic> {
    let lines = source.text.lines().take(LINES);
    let trimmed = lines.map(|line| line.trim_start_matches('\u{feff}').trim());
    let (line, kind) = trimmed
        .filter_map(|line| Some((line, KINDS.iter().find(|kind| (kind.is)(line))?)))
        .next()?;
    let start = source.text.find(line).unwrap_or(0);
    let message = format!("this is {}, not TOML", kind.what);
    Some(Diagnostic::error(start..start + line.len(), message).hint(kind.hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<String> {
        recognise(&SourceText::new("t", text)).map(|found| found.message)
    }

    #[test]
    fn other_kinds_of_file_are_named() {
        for (text, what) in [
            ("VERSION \"\"\n\nNS_ :\n", "a DBC"),
            ("\n\nBU_: Pump Valve\n", "a DBC"),
            ("BO_ 256 PumpState: 8 Pump\n", "a DBC"),
            (
                "\u{feff}<?xml version=\"1.0\"?>\n",
                "XML, such as ARXML, KCD or FIBEX",
            ),
            ("FormatVersion=6.0 // comment\n", "a PCAN symbol file"),
            ("{\"ports\": {}}\n", "JSON"),
            (
                "#!/bin/sh\ncangw -A -s can0 -d can1\n",
                "a list of can-gw rules",
            ),
            ("(1.000000) can0 123#11\n", "a log"),
            (";$FILEVERSION=2.1\n", "a log"),
            ("date Mon Jan 1\nbase hex\nBegin Triggerblock\n", "a log"),
        ] {
            assert_eq!(
                message(text),
                Some(format!("this is {what}, not TOML")),
                "{text}"
            );
        }
    }

    #[test]
    fn broken_toml_is_none_of_them() {
        for text in [
            "[ports.a\n",
            "kind = \n",
            "VERSION = \"1\"\n",
            "(x) y\n",
            "",
        ] {
            assert_eq!(message(text), None, "{text}");
        }
    }
}
