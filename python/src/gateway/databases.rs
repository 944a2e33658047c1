//! The tables `[databases.NAME]`.

use config::{Diagnostic, Diagnostics, TomlTable, TomlValue, did_you_mean};
use route::config::NamedDatabase;
use std::path::Path;
use std::sync::Arc;

/// The databases of a file.
#[derive(Default)]
pub(super) struct FileDatabases {
    /// All names, also of databases with mistakes, which ports may name.
    names: Vec<String>,
    /// The databases without mistakes.
    read: Vec<Arc<NamedDatabase>>,
}

impl FileDatabases {
    /// Reads the tables and their files; a relative path starts at `folder`.
    pub(super) fn parse(root: &mut TomlTable<'_>, folder: &Path, found: &mut Diagnostics) -> Self {
        let mut databases = Self::default();
        let Some(table) = root.table("databases", "[databases]", found) else {
            return databases;
        };
        for (name, value) in table.all() {
            databases.names.push(name.value.to_owned());
            let place = format!("database `{}`", name.value);
            let Some(mut table) = value.table(place, found) else {
                continue;
            };
            let file = table.need("file", found);
            let path = file.as_ref().and_then(|file| file.string(found));
            table.finish(found);
            let Some(path) = path else { continue };
            let bytes = match std::fs::read(folder.join(path.value)) {
                Ok(bytes) => bytes,
                Err(error) => {
                    let message = format!("{}: cannot be read: {error}", path.value);
                    let hint = "a relative path starts at the folder of the gateway file";
                    found.push(Diagnostic::error(path.span, message).hint(hint));
                    continue;
                }
            };
            match signals::read_messages(&bytes) {
                Ok(messages) => databases.read.push(Arc::new(NamedDatabase {
                    name: name.value.to_owned(),
                    file: path.value.to_owned(),
                    messages,
                })),
                Err(error) => {
                    let message = format!("{}: {error}", path.value);
                    let hint = error.hint().unwrap_or_default();
                    found.push(Diagnostic::error(path.span, message).hint(hint));
                }
            }
        }
        databases
    }

    /// Returns the database that a port names.
    pub(super) fn find(
        &self,
        name: &TomlValue<'_>,
        found: &mut Diagnostics,
    ) -> Option<Arc<NamedDatabase>> {
        let wanted = name.string(found)?.value;
        if !self.names.iter().any(|known| known == wanted) {
            let hint = did_you_mean(wanted, self.names.iter().map(String::as_str));
            let message = format!("there is no database `{wanted}`");
            found.push(Diagnostic::error(name.span(), message).hint(hint));
        }
        self.read.iter().find(|known| known.name == wanted).cloned()
    }
}
