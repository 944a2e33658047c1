//! Routes in the syntax of `gateway.toml`: `[[routes]]`.
//!
//! [`parse`] reads them and reports every mistake with its place. [`describe()`] describes in words
//! how they were interpreted. [`compile()`] makes their table, with errors at the places.
//! [`to_toml`] writes routes back so that parsing them gives the same
//! routes.

mod actions;
mod compile;
mod describe;
mod e2e;
mod except;
mod groups;
mod keys;
mod lint;
mod matching;
mod message;
mod route;
mod values;
mod when;
mod write;

#[cfg(test)]
pub(crate) mod tests;

pub use compile::compile;
pub use describe::describe;
pub use e2e::keys as protection_keys;
pub use keys::keys;
pub use lint::lint;
pub use write::{to_toml, toml_string};

use crate::{KindSet, PortId, Route};
use ::config::{Diagnostic, Diagnostics, TomlTable, TomlValue, did_you_mean};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};
use core::ops::Range;
use signals::MessageDatabase;

/// Maximum number of routes in a file.
pub const MOST_ROUTES: usize = 1_000_000;

/// Maximum length of a route's name, in bytes.
pub const LONGEST_NAME: usize = 64;

/// Number of IDs that a limit with `per_id = true` distinguishes: all of SFF.
pub const DEFAULT_MAX_IDS: u32 = 2048;

/// Names of tables that are intended as `[[routes]]`.
const FOR_ROUTES: [&str; 5] = ["route", "rule", "rules", "routing", "forward"];

/// Routes that were read, and the position of each of them in the text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ParsedRoutes {
    /// The routes, in the order of the file.
    pub routes: Vec<Route>,
    /// For each route, the byte range of its table in the text.
    pub spans: Vec<Range<usize>>,
}

/// Reads all `[[routes]]` of the top table. `ports` are the names of the ports, by their index.
/// `meant` returns the ports that a wrong name may refer to, such as the port of that Linux
/// interface.
///
/// `databases` returns the database of a port's messages, for `message`, `when` and `signal`.
///
/// Every mistake is added to `found`. Routes with mistakes are left out or incomplete, so that the
/// result is usable only if there were no errors.
#[must_use]
pub fn parse(
    root: &mut TomlTable<'_>,
    ports: &[String],
    meant: &dyn Fn(&str) -> Vec<PortAlias>,
    databases: &dyn Fn(PortId) -> Option<Arc<NamedDatabase>>,
    found: &mut Diagnostics,
) -> ParsedRoutes {
    let mut parsed = ParsedRoutes::default();
    let by_name = ports.iter().enumerate();
    let names = PortNames {
        all: ports,
        ids: by_name
            .filter_map(|(i, name)| Some((name.as_str(), PortId(u16::try_from(i).ok()?))))
            .collect(),
        meant,
        databases,
    };
    let mut tables = root.tables("routes", "route", found);
    for word in FOR_ROUTES {
        let hint = |_: &TomlValue<'_>| "did you mean [[routes]]?".into();
        if let Some(value) = root.misnamed(word, hint, found) {
            tables.extend(value.tables("routes", "route", found));
        }
    }
    if tables.len() > MOST_ROUTES {
        let span = root.key_span("routes").unwrap_or_default();
        let message = format!(
            "the file has {} routes; the maximum is {MOST_ROUTES}",
            tables.len()
        );
        found.push(Diagnostic::error(span, message).hint("join routes by lists of IDs and masks"));
        return parsed;
    }
    let mut taken = BTreeSet::new();
    let protections = e2e::ProtectionTables::parse(root, found);
    for (index, table) in tables.into_iter().enumerate() {
        let span = table.span();
        if let Some(route) = route::parse(index, table, &names, &protections, &mut taken, found) {
            parsed.routes.push(route);
            parsed.spans.push(span);
        }
    }
    protections.warn_of_unused(found);
    parsed
}

/// A port that a name other than its own refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortAlias {
    /// The port's name.
    pub port: String,
    /// The role of the other name, in words that follow "is": `its interface`.
    pub as_what: String,
}

/// The names of ports.
struct PortNames<'p> {
    /// The names, by the ports' indexes.
    all: &'p [String],
    /// Ports by name.
    ids: BTreeMap<&'p str, PortId>,
    /// Function that returns the ports to which an unknown name may refer.
    meant: &'p dyn Fn(&str) -> Vec<PortAlias>,
    /// Function that returns the database of a port.
    databases: &'p dyn Fn(PortId) -> Option<Arc<NamedDatabase>>,
}

/// A database of messages that a gateway file names.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedDatabase {
    /// The name in the gateway file: `[databases.NAME]`.
    pub name: String,
    /// The file, as the gateway file has it; for messages.
    pub file: String,
    /// Its messages.
    pub messages: MessageDatabase,
}

impl PortNames<'_> {
    /// Returns the name of a port.
    fn name(&self, port: PortId) -> &str {
        let name = self.all.get(usize::from(port.0));
        name.map_or("", String::as_str)
    }

    /// Returns a hint what to write in place of a name that no port has.
    fn hint(&self, name: &str) -> String {
        let meant = (self.meant)(name);
        if !meant.is_empty() {
            let each = meant.iter().map(|PortAlias { port, as_what }| {
                format!("write `{port}`, the name of the port: `{name}` is {as_what}")
            });
            return each.collect::<Vec<_>>().join("; or ");
        }
        if self.ids.is_empty() {
            return format!("describe it in a table [ports.{name}]");
        }
        did_you_mean(name, self.ids.keys().copied())
    }
}

/// Returns the number of payload bytes that a frame of these kinds can have. XL's 2048 apply only
/// if XL is named explicitly: a position beyond 64 is more often a mistake than meant for XL.
fn payload_limit(kinds: KindSet, xl_named: bool) -> usize {
    if kinds.xl && xl_named {
        frame::dlc::XL_MAX
    } else if kinds.fd {
        frame::dlc::FD_MAX
    } else if kinds.classic {
        frame::dlc::CLASSIC_MAX
    } else {
        frame::dlc::XL_MAX
    }
}
