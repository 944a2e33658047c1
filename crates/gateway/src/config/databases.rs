//! The tables `[databases.NAME]`, and the ports that name them.

use config::read;
use config::{Diagnostic, Diagnostics, KeySpec, SpannedValue, TomlTable, did_you_mean};
use port::{DatabasesByName, MessageSettings, PortSettings};
use route::config::NamedDatabase;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The maximum number of databases in a file.
const MOST_DATABASES: usize = 64;

/// The maximum number of statements of one database that a warning lists.
const MOST_LISTED: usize = 5;

/// Reads a file that a gateway file names. The path is as the gateway file has it: if it is
/// relative, it starts at the folder of the gateway file.
pub type FileReader<'a> = dyn Fn(&Path) -> io::Result<Vec<u8>> + 'a;

config::settings! {
    /// The table of a database.
    pub(super) struct DatabaseSettings {
        /// The database, a DBC file. A relative path starts at the folder of the gateway file.
        pub(super) file: Option<String> = None => read::text(), value "path", default "required",
            needed "add `file = \"body.dbc\"`",
            not "path" "dbc" "name" "filename" "database" "source";
    }
}

/// Returns the keys of a database.
pub(super) fn keys() -> Vec<KeySpec> {
    DatabaseSettings::key_specs()
}

/// The databases of a file.
#[derive(Default)]
pub(super) struct DatabaseTables {
    /// The names and their places, those of databases with mistakes too: ports may name them.
    names: Vec<(String, Range<usize>)>,
    /// The databases without mistakes.
    read: Vec<Arc<NamedDatabase>>,
    /// Names that ports have used.
    used: BTreeSet<String>,
    /// Whether the table is refused as a whole, so that its names are not known.
    is_refused: bool,
}

/// The place of a port's keys for messages in the file.
pub(super) struct MessageKeys {
    database: Range<usize>,
    nodes: Range<usize>,
}

impl MessageKeys {
    /// Returns the places of these keys in a port's table.
    pub(super) fn of(table: &TomlTable<'_>) -> Self {
        Self {
            database: table.value_span("database"),
            nodes: table.value_span("nodes"),
        }
    }
}

impl DatabaseTables {
    /// Reads the tables and their files.
    pub(super) fn parse(
        root: &mut TomlTable<'_>,
        files: &FileReader<'_>,
        found: &mut Diagnostics,
    ) -> Self {
        let mut databases = Self::default();
        let Some(given) = root.get("databases") else {
            return databases;
        };
        if let Some(why) = left_out() {
            let span = root.key_span("databases").unwrap_or_default();
            let message = "`[databases]` is not in this build";
            found.push(Diagnostic::error(span, message).hint(why));
            databases.is_refused = true;
            return databases;
        }
        let Some(table) = given.table("[databases]", found) else {
            databases.is_refused = true;
            return databases;
        };
        let all = table.all();
        if all.len() > MOST_DATABASES {
            let count = all.len();
            let message =
                format!("the file has {count} databases; the maximum is {MOST_DATABASES}");
            found.push(Diagnostic::error(table.span(), message));
            databases.is_refused = true;
            return databases;
        }
        for (name, value) in all {
            databases
                .names
                .push((name.value.to_owned(), name.span.clone()));
            if !value.is_table() {
                let message = format!("`{}` must be a table with the key `file`", name.value);
                let hint = format!("write `{}.file = \"body.dbc\"`", name.value);
                value.wrong(message, hint, found);
                continue;
            }
            let Some(mut table) = value.table(format!("database `{}`", name.value), found) else {
                continue;
            };
            let settings = DatabaseSettings::read(&mut table, found);
            let span = table.value_span("file");
            table.finish(found);
            if let Some(file) = settings.file {
                databases.read(&name, file, span, files, found);
            }
        }
        databases
    }

    /// Reads the file of a database; `span` is the place of its path.
    fn read(
        &mut self,
        name: &SpannedValue<&str>,
        file: String,
        span: Range<usize>,
        files: &FileReader<'_>,
        found: &mut Diagnostics,
    ) {
        let messages = match contents(&file, files) {
            Ok(messages) => messages,
            Err((message, hint)) => {
                found.push(Diagnostic::error(span, message).hint(hint));
                return;
            }
        };
        let lists = [
            (
                messages.doubtful(),
                "a doubtful statement",
                "doubtful statements",
            ),
            (messages.check(), "a contradiction", "contradictions"),
        ];
        for (list, one, many) in lists {
            let count = match list.len() {
                0 => continue,
                1 => one.to_owned(),
                count => format!("{count} {many}"),
            };
            let mut lines: Vec<String> = list
                .iter()
                .take(MOST_LISTED)
                .map(|warning| format!("line {}: {}", warning.line, warning.problem))
                .collect();
            if list.len() > MOST_LISTED {
                lines.push("`cangate check --verbose` lists all".to_owned());
            }
            let message = format!("{file} has {count}");
            found.push(Diagnostic::warning(span.clone(), message).hint(lines.join("\n")));
        }
        self.read.push(Arc::new(NamedDatabase {
            name: name.value.to_owned(),
            file,
            messages,
        }));
    }

    /// Returns the database that a port names; reports an unknown name, and nodes that it has not.
    pub(super) fn of_port(
        &mut self,
        port: &str,
        settings: &MessageSettings,
        keys: &MessageKeys,
        found: &mut Diagnostics,
    ) -> Option<Arc<NamedDatabase>> {
        let Some(name) = &settings.database else {
            if !settings.nodes.is_empty() {
                let message = format!("port `{port}` has `nodes`, but no `database` that has them");
                let hint = "add `database = …`, the name of a table [databases.NAME]";
                found.push(Diagnostic::error(keys.nodes.clone(), message).hint(hint));
            }
            return None;
        };
        self.used.insert(name.clone());
        if let Some(database) = self.read.iter().find(|database| database.name == *name) {
            check_nodes(settings, database, keys, found);
            return Some(Arc::clone(database));
        }
        if !self.is_refused && self.names.iter().all(|(known, _)| known != name) {
            let message = format!("port `{port}` names a database `{name}`, which does not exist");
            let hint = match self.names.is_empty() {
                true => format!("describe it: [databases.{name}] with `file = \"{name}.dbc\"`"),
                false => did_you_mean(name, self.names.iter().map(|(name, _)| name.as_str())),
            };
            found.push(Diagnostic::error(keys.database.clone(), message).hint(hint));
        }
        None
    }

    /// Returns the settings of a port with the messages that it makes; `None` for all other ports.
    pub(super) fn bind(
        &mut self,
        settings: &dyn PortSettings,
        found: &mut Diagnostics,
    ) -> Option<Arc<dyn PortSettings>> {
        let all = self.read.iter();
        let all = all.map(|database| (database.name.as_str(), &database.messages));
        let by_name = DatabasesByName::new(all);
        let bound = settings.bind(&by_name, found);
        let used = by_name.into_used().into_iter().map(str::to_owned);
        self.used.extend(used.collect::<Vec<_>>());
        bound
    }

    /// Warns of databases that no port names.
    pub(super) fn unused(&self, found: &mut Diagnostics) {
        // A port with a mistake may name it.
        if found.has_errors() {
            return;
        }
        for (name, span) in &self.names {
            if !self.used.contains(name) {
                let message = format!("no port names database `{name}`");
                let hint = format!(
                    "add `database = \"{name}\"` to a port, or leave out [databases.{name}]"
                );
                found.push(Diagnostic::warning(span.clone(), message).hint(hint));
            }
        }
    }
}

/// Warns of nodes that neither send nor receive any message of the database.
fn check_nodes(
    settings: &MessageSettings,
    database: &NamedDatabase,
    keys: &MessageKeys,
    found: &mut Diagnostics,
) {
    if settings.nodes.is_empty() {
        return;
    }
    let mut known = BTreeSet::new();
    for message in &database.messages.messages {
        known.extend(message.sender.iter().chain(&message.more_senders));
        known.extend(message.signals.iter().flat_map(|signal| &signal.receivers));
    }
    for node in settings.nodes.iter().filter(|node| !known.contains(node)) {
        let message = format!(
            "node `{node}` neither sends nor receives a message of {}",
            database.file
        );
        let hint = did_you_mean(node, known.iter().map(|name| name.as_str()));
        found.push(Diagnostic::warning(keys.nodes.clone(), message).hint(hint));
    }
}

#[cfg(feature = "dbc")]
use with_dbc::{contents, left_out};
#[cfg(not(feature = "dbc"))]
use without_dbc::{contents, left_out};

/// Reading of databases.
#[cfg(feature = "dbc")]
mod with_dbc {
    use super::FileReader;
    use signals::MessageDatabase;
    use std::io;
    use std::path::Path;

    /// Returns the reason why this build has no databases.
    pub(super) const fn left_out() -> Option<&'static str> {
        None
    }

    /// Returns the messages of a file, or the mistake and its cure.
    pub(super) fn contents(
        file: &str,
        files: &FileReader<'_>,
    ) -> Result<MessageDatabase, (String, String)> {
        let bytes = files(Path::new(file)).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => "a relative path starts at the folder of this file",
                _ => "",
            };
            (format!("cannot read {file}: {error}"), hint.to_owned())
        })?;
        signals::read_messages(&bytes).map_err(|error| {
            let hint = error.hint().unwrap_or_default();
            (format!("{file}: {error}"), hint.to_owned())
        })
    }
}

/// A build without databases.
#[cfg(not(feature = "dbc"))]
mod without_dbc {
    use super::FileReader;
    use signals::MessageDatabase;

    /// Returns the reason why this build has no databases.
    pub(super) const fn left_out() -> Option<&'static str> {
        Some("this program was built without the feature `dbc`")
    }

    /// Returns the reason, too: nothing is read.
    pub(super) fn contents(
        file: &str,
        _: &FileReader<'_>,
    ) -> Result<MessageDatabase, (String, String)> {
        Err((
            format!("{file} cannot be read"),
            left_out().unwrap_or_default().to_owned(),
        ))
    }
}
