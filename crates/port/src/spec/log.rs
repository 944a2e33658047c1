//! `kind = "log"`: a candump log as source, sink or both.

use config::{Diagnostic, Diagnostics, Table};
use std::path::PathBuf;

/// A candump log as source, sink or both.
#[derive(Clone, PartialEq, Debug)]
pub struct LogSpec {
    /// Where frames come from; at least one of `read` and `write` is there.
    pub read: Option<Place>,
    /// Where frames go.
    pub write: Option<Place>,
    /// Only lines of this interface are read; it is also what is written. By default all lines
    /// are read, and the port's name is written.
    pub interface: Option<String>,
    /// How fast frames are read.
    pub pace: Pace,
}

/// A file, or the standard streams.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// `-`: standard input or output.
    Standard,
    /// A file; a relative path starts at the working directory.
    File(PathBuf),
}

/// How fast a log is replayed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Pace {
    /// With the gaps between its time stamps.
    #[default]
    Original,
    /// As fast as frames are taken.
    Fast,
    /// With the gaps divided by this factor, 0.000001 to 1000000: 2.0 is twice as fast.
    Factor(f64),
}

/// The slowest and the fastest replay that can be asked for.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.000_001..=1_000_000.0;

const PACES: [(&str, Pace); 2] = [("original", Pace::Original), ("fast", Pace::Fast)];

impl LogSpec {
    pub(super) fn parse(table: &mut Table<'_>, found: &mut Diagnostics) -> Self {
        let read = place(table, "read", found);
        let write = place(table, "write", found);
        let (has_read, has_write) = (table.get("read"), table.get("write"));
        if has_read.is_none() && has_write.is_none() {
            let hint =
                "add `read = \"FILE\"`, `write = \"FILE\"` or both; \"-\" is stdin or stdout";
            table.missing("read` or `write", hint, found);
        }
        if let (Some(Place::File(a)), Some(Place::File(b)), Some(value)) =
            (&read, &write, &has_write)
            && a == b
        {
            let hint = "write to another file";
            value.wrong("this is the log that is read", hint, found);
        }
        let interface = table.string("interface", found);
        if let Some(name) = &interface
            && (name.value.is_empty() || name.value.contains(char::is_whitespace))
        {
            let message = "an interface in a log has a name without white space";
            found.push(Diagnostic::error(name.span.clone(), message));
        }
        let pace = pace(table, has_read.is_some(), found);
        Self {
            read,
            write,
            interface: interface.map(|i| i.value.to_owned()),
            pace,
        }
    }

    pub(super) fn describe(&self) -> String {
        let mut parts = Vec::new();
        if let Some(place) = &self.read {
            let pace = match self.pace {
                Pace::Original => "with its own timing".to_owned(),
                Pace::Fast => "as fast as it is taken".to_owned(),
                Pace::Factor(factor) => format!("{factor} times as fast as it was"),
            };
            parts.push(format!("reads {} {pace}", place.words("standard input")));
        }
        if let Some(place) = &self.write {
            parts.push(format!("writes {}", place.words("standard output")));
        }
        if let Some(name) = &self.interface {
            parts.push(format!("interface {name}"));
        }
        format!("log, {}", parts.join(", "))
    }
}

impl Place {
    fn words(&self, standard: &str) -> String {
        match self {
            Self::Standard => standard.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

fn place(table: &mut Table<'_>, key: &'static str, found: &mut Diagnostics) -> Option<Place> {
    let text = table.string(key, found)?;
    if text.value.is_empty() || text.value.contains('\0') {
        let hint = "name a file, or \"-\" for stdin or stdout";
        found.push(Diagnostic::error(text.span, format!("`{key}` names no file")).hint(hint));
        return None;
    }
    Some(match text.value {
        "-" => Place::Standard,
        path => Place::File(PathBuf::from(path)),
    })
}

fn pace(table: &mut Table<'_>, reads: bool, found: &mut Diagnostics) -> Pace {
    let Some(value) = table.get("pace") else {
        return Pace::default();
    };
    if !reads {
        let message = "`pace` says how fast a log is read, and nothing is read here";
        found.push(Diagnostic::warning(value.span(), message).hint("leave it out"));
    }
    if value.as_str().is_some() {
        return value
            .one_of(&PACES, found)
            .map_or(Pace::Original, |p| p.value);
    }
    match value.number(found) {
        Some(n) if SPEEDS.contains(&n.value) => Pace::Factor(n.value),
        Some(_) => {
            let hint = "2.0 is twice as fast, 0.5 half as fast, \"fast\" does not wait at all";
            value.wrong("a pace is from 0.000001 to 1000000", hint, found);
            Pace::Original
        }
        None => Pace::Original,
    }
}
