//! `database` and `nodes` of `[ports.NAME]`: the names of what passes the port.

use config::read::{self, by};
use config::{Diagnostics, TomlValue, ValueShape};

config::settings! {
    /// The messages of a port's bus. They change nothing about the port itself.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct MessageSettings {
        /// The database of the messages on this port's bus: the NAME of a table
        /// [`[databases.NAME]`](#databasesname-names-of-messages).
        pub database: Option<String> = None => read::text(), value "name",
            not "dbc" "db" "messages" "message_database"
                => "It is the NAME of a table [databases.NAME] with the key `file`";
        /// The nodes of the database that are on this port's bus. With it, `cangate check` notes
        /// messages that one of them receives from a node of another port, and that no route
        /// carries.
        pub nodes: Vec<String> = Vec::new()
            => by(|| ValueShape::OneOrList(Box::new(ValueShape::Text)), names),
            value "name, or a list", default "none", not "ecus" "ecu" "participants";
    }
}

fn names(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for name in value.one_or_list() {
        names.push(name.string(found)?.value.to_owned());
    }
    Some(names)
}
