//! `message = "NAME"`: the frames of a message of the ports' databases.

use super::keys::RouteKeys;
use super::{NamedDatabase, PortNames};
use crate::text::ids;
use crate::{IdFilter, IdSet, PortId};
use ::config::{Diagnostic, Diagnostics, TomlTable, TomlValue, did_you_mean};
use alloc::string::{String, ToString as _};
use alloc::{format, sync::Arc, vec::Vec};
use frame::CanId;
use signals::{MessageDefinition, MessageIndex, SignalDefinition};

/// A port and its database.
pub(super) struct PortDatabase {
    port: String,
    database: Option<Arc<NamedDatabase>>,
}

/// The messages that a route names.
pub(super) struct MessageChoice<'d> {
    /// Their names, as `message` has them.
    pub(super) names: Vec<String>,
    /// The filters of their IDs.
    pub(super) filters: Vec<IdFilter>,
    /// The definitions, one for each name.
    pub(super) definitions: Vec<&'d MessageDefinition>,
}

/// Returns the databases of ports.
pub(super) fn databases(from: &[PortId], ports: &PortNames<'_>) -> Vec<PortDatabase> {
    let named = from.iter().map(|port| PortDatabase {
        port: ports.name(*port).into(),
        database: (ports.databases)(*port),
    });
    named.collect()
}

/// Reads `message`. `None` if there is a mistake.
pub(super) fn read<'d>(
    value: &TomlValue<'_>,
    keys: &RouteKeys<'_>,
    of_ports: &'d [PortDatabase],
    ports: &PortNames<'_>,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) -> Option<MessageChoice<'d>> {
    let values = value.one_or_list();
    if values.is_empty() {
        value.wrong(
            "`message` is an empty list",
            "leave it out to take all IDs",
            found,
        );
        return None;
    }
    let mut choice = MessageChoice {
        names: Vec::new(),
        filters: Vec::new(),
        definitions: Vec::new(),
    };
    let mut is_filtered = false;
    for key in ["filter", "pgn", "source", "except"] {
        if let Some(span) = table.key_span(key) {
            let message = format!("`message` stands for the ID, and `{key}` chooses IDs, too");
            found.push(Diagnostic::error(span, message).hint("leave out one of them"));
            is_filtered = true;
        }
    }
    let databases: Vec<_> = of_ports
        .iter()
        .filter_map(|one| with_database(one, value, found))
        .collect();
    if databases.len() < of_ports.len() || databases.is_empty() {
        return None;
    }
    let given = keys.id.as_ref().map(given_filters);
    let mut is_complete = !is_filtered;
    for value in &values {
        let Some(name) = value.string(found) else {
            is_complete = false;
            continue;
        };
        let mut search = MessageSearch {
            name: name.value,
            value,
            given: given.as_deref(),
            is_alone: values.len() == 1,
            ports,
            found,
        };
        match search.run(&databases) {
            Some((definition, filter)) => {
                choice.names.push(name.value.into());
                choice.definitions.push(definition);
                if !choice.filters.contains(&filter) {
                    choice.filters.push(filter);
                }
            }
            None => is_complete = false,
        }
    }
    if is_complete && given.is_some_and(|given| given != choice.filters) {
        let ids: Vec<_> = choice
            .definitions
            .iter()
            .map(|one| one.id.to_string())
            .collect();
        let span = table.key_span("id").unwrap_or_else(|| table.span());
        let message = format!(
            "`message` stands for the ID, which is {}, and `id` is another one",
            ids.join(" or ")
        );
        found.push(Diagnostic::error(span, message).hint("leave out one of them"));
        is_complete = false;
    }
    is_complete.then_some(choice)
}

/// Returns a port's database; reports that it has none.
fn with_database<'d>(
    one: &'d PortDatabase,
    value: &TomlValue<'_>,
    found: &mut Diagnostics,
) -> Option<(&'d str, &'d NamedDatabase)> {
    if let Some(database) = &one.database {
        return Some((one.port.as_str(), database));
    }
    let message = format!(
        "port `{}` has no database, so its messages have no names",
        one.port
    );
    let hint = format!(
        "name a DBC file in a table [databases.NAME], and write `database = \"NAME\"` in [ports.{}]",
        one.port
    );
    value.wrong(message, hint, found);
    None
}

/// Returns the filters of `id`, without those that have mistakes, which `id` itself reports.
fn given_filters(value: &TomlValue<'_>) -> Vec<IdFilter> {
    let texts = value.one_or_list();
    let texts = texts.iter().filter_map(TomlValue::as_str);
    texts
        .filter_map(|text| ids::filters(text).ok())
        .flatten()
        .collect()
}

struct MessageSearch<'s, 't> {
    name: &'t str,
    value: &'s TomlValue<'t>,
    /// The filters of `id`, if the route has it.
    given: Option<&'s [IdFilter]>,
    /// Whether the route names no other message.
    is_alone: bool,
    ports: &'s PortNames<'s>,
    found: &'s mut Diagnostics,
}

impl MessageSearch<'_, '_> {
    /// Returns the message of this name, which must be the same in all databases.
    fn run<'d>(
        &mut self,
        databases: &[(&'d str, &'d NamedDatabase)],
    ) -> Option<(&'d MessageDefinition, IdFilter)> {
        let mut first: Option<(&str, &MessageDefinition, IdFilter)> = None;
        for (port, database) in databases {
            let (message, filter) = self.of_database(database)?;
            match first {
                None => first = Some((port, message, filter)),
                Some((other, former, _)) if !is_same(former, message) => {
                    let text = format!(
                        "message `{}` of port `{port}` differs from that of port `{other}` in ID or signals",
                        self.name
                    );
                    let hint = "write a route for each port";
                    self.value.wrong(text, hint, self.found);
                    return None;
                }
                Some(_) => {}
            }
        }
        first.map(|(_, message, filter)| (message, filter))
    }

    fn of_database<'d>(
        &mut self,
        database: &'d NamedDatabase,
    ) -> Option<(&'d MessageDefinition, IdFilter)> {
        let all = &database.messages.messages;
        let named: Vec<_> = all.iter().filter(|one| one.name == self.name).collect();
        let filter_of = |one: &MessageDefinition| filter(one, &database.messages.messages);
        let [only] = named.as_slice() else {
            if named.is_empty() {
                self.report_unknown(database);
                return None;
            }
            return self.report_double(database, &named, &filter_of);
        };
        Some((only, filter_of(only)))
    }

    /// Returns the one of several messages of the name that `id` names; reports that it names none.
    fn report_double<'d>(
        &mut self,
        database: &NamedDatabase,
        named: &[&'d MessageDefinition],
        filter_of: &dyn Fn(&MessageDefinition) -> IdFilter,
    ) -> Option<(&'d MessageDefinition, IdFilter)> {
        let chosen = named.iter().find(|one| {
            let given = self.given.unwrap_or_default();
            given == [filter_of(one)] && self.is_alone
        });
        if let Some(chosen) = chosen {
            return Some((chosen, filter_of(chosen)));
        }
        let ids: Vec<_> = named.iter().map(|one| one.id.to_string()).collect();
        let message = format!(
            "database `{}` has {} messages `{}`: {}",
            database.name,
            named.len(),
            self.name,
            ids.join(" and ")
        );
        let hint = match ids.first() {
            Some(id) if self.is_alone => format!("choose one by its ID as well: `id = \"{id}\"`"),
            _ => "write a route of its own for it, with `id` as well".into(),
        };
        self.value.wrong(message, hint, self.found);
        None
    }

    fn report_unknown(&mut self, database: &NamedDatabase) {
        let message = format!(
            "database `{}` has no message `{}`",
            database.name, self.name
        );
        let hint = if !self.found.wants_more() {
            String::new()
        } else if let Some(hint) = self.elsewhere() {
            hint
        } else {
            let names = database
                .messages
                .messages
                .iter()
                .map(|one| one.name.as_str());
            did_you_mean(self.name, names)
        };
        self.found
            .missing(Diagnostic::error(self.value.span(), message).hint(hint));
    }

    /// Returns a hint that the message is in the database of another port.
    fn elsewhere(&self) -> Option<String> {
        self.ports.ids.iter().find_map(|(port, id)| {
            let database = (self.ports.databases)(*id)?;
            let mut all = database.messages.messages.iter();
            all.any(|one| one.name == self.name).then(|| {
                format!(
                    "database `{}`, that of port `{port}`, has this message",
                    database.name
                )
            })
        })
    }
}

/// Returns whether two definitions mean the same values of the same frames.
fn is_same(a: &MessageDefinition, b: &MessageDefinition) -> bool {
    let same_signal = |(a, b): (&SignalDefinition, &SignalDefinition)| {
        (&a.name, a.layout, a.kind, a.factor, a.offset, &a.unit)
            == (&b.name, b.layout, b.kind, b.factor, b.offset, &b.unit)
            && (&a.presence, &a.value_names, a.range) == (&b.presence, &b.value_names, b.range)
    };
    (a.id, a.len, a.j1939, a.signals.len()) == (b.id, b.len, b.j1939, b.signals.len())
        && a.signals.iter().zip(&b.signals).all(same_signal)
}

/// Returns the filter of a message's frames. Frames of a parameter group of J1939 have any source
/// and any priority, and groups that are sent to one destination any destination. If several
/// messages are of one group, each has only its own ID.
fn filter(message: &MessageDefinition, all: &[MessageDefinition]) -> IdFilter {
    let id = message.id;
    let group = |one: &MessageDefinition| one.j1939.then(|| MessageIndex::group(one.id)).flatten();
    let own = group(message).filter(|own| {
        let of_group = all.iter().filter(|one| group(one) == Some(*own));
        of_group.count() == 1
    });
    let set = match own {
        Some((number, mask)) => IdSet::Masked {
            id: number | CanId::EFF_FLAG,
            mask: mask | CanId::EFF_FLAG,
        },
        None => IdSet::Range {
            eff: id.is_eff(),
            first: id.number(),
            last: id.number(),
        },
    };
    IdFilter {
        set,
        inverted: false,
    }
}
