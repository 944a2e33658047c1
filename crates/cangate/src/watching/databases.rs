//! The messages of the frames.

use crate::database;
use console::Failure;
use frame::{CanId, Kind};
use signals::{IndexedDatabase, MessageDefinition};
use std::path::PathBuf;
use std::str::FromStr;

/// A database of the command line, for one port or for all others.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseOfPort {
    port: Option<String>,
    file: PathBuf,
}

impl FromStr for DatabaseOfPort {
    type Err = String;

    /// Parses `FILE` or `PORT=FILE`. A path with `=` in it needs a `/` before that.
    fn from_str(text: &str) -> Result<Self, String> {
        let split = text.split_once('=').filter(|(name, _)| !name.contains('/'));
        Ok(match split {
            Some(("", _)) | Some((_, "")) => return Err("write FILE or PORT=FILE".to_owned()),
            Some((port, file)) => Self {
                port: Some(port.to_owned()),
                file: file.into(),
            },
            None => Self {
                port: None,
                file: text.into(),
            },
        })
    }
}

/// Databases, each for a port or for all others.
#[derive(Debug, Default)]
pub(crate) struct NamedDatabases(Vec<(Option<String>, IndexedDatabase)>);

impl NamedDatabases {
    /// Reads the databases.
    ///
    /// # Errors
    /// A database cannot be read, or a port has two.
    pub(crate) fn read(choices: &[DatabaseOfPort]) -> Result<Self, Failure> {
        let mut all = Self::default();
        for choice in choices {
            if all.0.iter().any(|(port, _)| *port == choice.port) {
                let file = choice.file.display();
                return Err(Failure::Input(format!(
                    "--database {file}: there is a database already: name the port, as in `--database can1={file}`"
                )));
            }
            let database = database::read(&choice.file)?;
            let indexed = IndexedDatabase::new(database);
            all.0.push((choice.port.clone(), indexed));
        }
        Ok(all)
    }

    /// Returns whether there are any.
    #[cfg(feature = "top")]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the message of frames with this ID at a port. An XL frame has none: its priority is
    /// not an ID of a message.
    pub(crate) fn message(&self, port: &str, kind: Kind, id: CanId) -> Option<&MessageDefinition> {
        if kind == Kind::Xl {
            return None;
        }
        let find = |wanted: Option<&str>| {
            let mut all = self.0.iter();
            all.find(|(port, _)| port.as_deref() == wanted)
        };
        let (_, database) = find(Some(port)).or_else(|| find(None))?;
        database.find(id)
    }
}
