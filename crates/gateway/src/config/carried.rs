//! The messages that routes carry, by the databases of the ports at which they begin.

use super::GatewayConfig;
use frame::{CanId, FrameBuf, Header, Kind};
use port::{MessageSettings, PortSpec};
use route::config::NamedDatabase;
use route::{
    DecisionSink, ForwardedCopy, FrameArrival, IdFilter, IdSet, PortId, RouteId, RouteMode, Routes,
    RoutingTable, StopReason, TableMemory,
};
use signals::{MessageDefinition, MessageIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The maximum number of names that one line lists.
const MOST_LISTED: usize = 6;

/// A message's name and its ID, as `1A0 EngineData`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NamedId {
    /// The ID.
    pub id: CanId,
    /// The name.
    pub name: String,
}

impl fmt::Display for NamedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.name)
    }
}

/// The messages that a route carries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CarriedMessages {
    /// The messages, in the order of their IDs.
    pub named: Vec<NamedId>,
    /// Single IDs of the route that are in no database of its ports.
    pub unknown: Vec<CanId>,
    /// Whether a port at which the route begins has a database.
    pub has_database: bool,
    /// Whether the route takes any ID.
    pub takes_any: bool,
}

impl CarriedMessages {
    /// Returns them in words; `None` without a database. `all`: without a limit on their number.
    #[must_use]
    pub fn words(&self, all: bool) -> Option<String> {
        if !self.has_database {
            return None;
        }
        if self.takes_any && !all {
            return Some(match self.named.len() {
                1 => "the only one of the database".to_owned(),
                count => format!("all {count} of the database"),
            });
        }
        let most = if all { usize::MAX } else { MOST_LISTED };
        let mut text = list(&self.named, most);
        if self.named.is_empty() {
            text.push_str("none of the database");
        } else if !self.unknown.is_empty() {
            text.push_str("; not in the database: ");
            text.push_str(&list(&self.unknown, most));
        }
        Some(text)
    }
}

/// Returns the first names of a list in one line, and the number of the others.
pub(crate) fn in_short<T: fmt::Display>(all: &[T]) -> String {
    list(all, MOST_LISTED)
}

/// Returns the first names, separated by commas, and the number of the others.
fn list<T: fmt::Display>(all: &[T], most: usize) -> String {
    let names: Vec<String> = all.iter().take(most).map(T::to_string).collect();
    let text = names.join(", ");
    match all.len().saturating_sub(most) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// A message that nodes of a port's bus receive and that no route carries to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissedMessage {
    /// The message.
    pub message: NamedId,
    /// Its first sender; `None` if the database names none.
    pub sender: Option<String>,
    /// The ports from which it could come.
    pub from: Vec<String>,
    /// The port.
    pub to: String,
    /// Its receivers on that port's bus.
    pub receivers: Vec<String>,
}

impl fmt::Display for MissedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sender = self.sender.as_deref();
        let sender = sender.map_or_else(String::new, |name| format!(" of {name}"));
        write!(
            f,
            "no route carries {}{sender} from {} to {}, where {} {} it",
            self.message,
            self.from.join(" or "),
            self.to,
            self.receivers.join(" and "),
            if self.receivers.len() == 1 {
                "receives"
            } else {
                "receive"
            }
        )
    }
}

/// The names of the messages on a port's bus.
#[derive(Clone, Debug)]
pub struct MessageNames<'c>(Option<MessageIndex<'c>>);

impl<'c> MessageNames<'c> {
    /// Returns the name of the message of frames with this ID.
    #[must_use]
    pub fn find(&self, id: CanId) -> Option<&'c str> {
        let message = self.0.as_ref()?.find(id)?;
        Some(&message.name)
    }
}

/// Describes the databases of a configuration, with each doubtful statement; lines of text.
pub(super) fn databases(config: &GatewayConfig) -> String {
    let mut text = String::new();
    let mut shown = BTreeSet::new();
    for database in config.databases.iter().flatten() {
        if !shown.insert(&database.name) {
            continue;
        }
        let messages = &database.messages;
        text.push_str(&format!(
            "database {}: {}, {}\n",
            database.name,
            database.file,
            number(messages.messages.len())
        ));
        for warning in messages.doubtful().iter().chain(&messages.check()) {
            text.push_str(&format!("  line {}: {}\n", warning.line, warning.problem));
        }
    }
    text
}

/// Describes the messages of a port, as a line of text.
pub(super) fn of_port(port: &PortSpec, database: &NamedDatabase) -> String {
    let nodes = match port.messages.nodes.as_slice() {
        [] => String::new(),
        [one] => format!("; node {one} is here"),
        all => format!("; nodes {} are here", all.join(", ")),
    };
    format!(
        "  messages: {} of database {} ({}){nodes}\n",
        number(database.messages.messages.len()),
        database.name,
        database.file
    )
}

/// Describes missed messages, as lines of text.
pub(super) fn missed_words(missed: &[MissedMessage], all: bool) -> String {
    let most = if all { usize::MAX } else { MOST_LISTED };
    let lines = missed.iter().take(most);
    let mut text: String = lines.map(|missed| format!("note: {missed}\n")).collect();
    if let more @ 1.. = missed.len().saturating_sub(most) {
        text.push_str(&format!(
            "note: {more} more messages are carried by no route: `cangate check --verbose` lists them\n"
        ));
    }
    text
}

fn number(messages: usize) -> String {
    match messages {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    }
}

impl GatewayConfig {
    /// Returns the database of a port, if it names one.
    #[must_use]
    pub fn database(&self, port: PortId) -> Option<&Arc<NamedDatabase>> {
        self.databases.get(usize::from(port.0))?.as_ref()
    }

    /// Returns the messages that each route carries, in the order of the routes. Conditions on the
    /// payload, limits and other routes do not count.
    #[must_use]
    pub fn carried(&self) -> Vec<CarriedMessages> {
        let mut all = vec![BTreeSet::new(); self.routes.routes.len()];
        let indices = self.indices();
        for (_, message, routes) in self.taken(false) {
            for route in routes {
                if let Some(names) = all.get_mut(route) {
                    names.insert(named(message));
                }
            }
        }
        let each = self.routes.routes.iter().zip(all);
        each.map(|(route, mut names)| {
            let indices: Vec<&MessageIndex<'_>> = route
                .from
                .iter()
                .filter_map(|port| indices.get(port))
                .collect();
            let mut unknown = BTreeSet::new();
            for id in route.matching.ids.iter().filter_map(single) {
                let mut known = indices.iter().filter_map(|index| index.find(id)).peekable();
                if known.peek().is_none() {
                    unknown.insert(id);
                }
                // Messages of J1939 also have other IDs than that of the database.
                names.extend(known.filter(|message| message.j1939).map(named));
            }
            CarriedMessages {
                named: names.into_iter().collect(),
                unknown: unknown.into_iter().collect(),
                has_database: !indices.is_empty(),
                takes_any: route.matching.ids.is_empty(),
            }
        })
        .collect()
    }

    /// Returns the messages that `nodes` of one port receive from another port, and that no route
    /// carries there.
    #[must_use]
    pub fn missed(&self) -> Vec<MissedMessage> {
        let mut missed: BTreeMap<(usize, NamedId), Option<MissedMessage>> = BTreeMap::new();
        let is_at = |port: &MessageSettings, node: &String| port.nodes.contains(node);
        for (from, message, routes) in self.taken(false) {
            let Some(source) = self.ports.get(usize::from(from.0)) else {
                continue;
            };
            let senders = || message.sender.iter().chain(&message.more_senders);
            let has_nodes = !source.messages.nodes.is_empty();
            if has_nodes && !senders().any(|node| is_at(&source.messages, node)) {
                continue;
            }
            for (at, port) in self.ports.iter().enumerate() {
                let receivers = message.signals.iter().flat_map(|signal| &signal.receivers);
                let receivers: BTreeSet<&String> = receivers
                    .filter(|node| is_at(&port.messages, node))
                    .collect();
                let is_own = senders().any(|node| is_at(&port.messages, node));
                if at == usize::from(from.0) || receivers.is_empty() || is_own {
                    continue;
                }
                let leads_there = |route: &&usize| {
                    let route = self.routes.routes.get(**route);
                    route.is_some_and(|route| route.to.iter().any(|to| usize::from(to.0) == at))
                };
                let is_carried = routes.iter().any(|route| leads_there(&route));
                let entry = missed.entry((at, named(message))).or_insert_with(|| {
                    Some(MissedMessage {
                        message: named(message),
                        sender: message.sender.clone(),
                        from: Vec::new(),
                        to: port.name.clone(),
                        receivers: receivers.into_iter().cloned().collect(),
                    })
                });
                match entry {
                    Some(_) if is_carried => *entry = None,
                    Some(missed) => missed.from.push(source.name.clone()),
                    None => {}
                }
            }
        }
        missed.into_values().flatten().collect()
    }

    /// Returns the names of a port's messages; without a database, it finds none.
    #[must_use]
    pub fn message_names(&self, port: PortId) -> MessageNames<'_> {
        let database = self.database(port);
        MessageNames(database.map(|database| MessageIndex::new(&database.messages)))
    }

    /// Returns the index of each database, by the ports that have it.
    fn indices(&self) -> BTreeMap<PortId, MessageIndex<'_>> {
        let mut indices = BTreeMap::new();
        for (port, database) in (0..).map(PortId).zip(&self.databases) {
            if let Some(database) = database {
                indices.insert(port, MessageIndex::new(&database.messages));
            }
        }
        indices
    }

    /// Returns each message of each port that has a database, and the indices of the routes that
    /// take it. `any_length`: as if the routes took frames of any length.
    pub(super) fn taken(
        &self,
        any_length: bool,
    ) -> impl Iterator<Item = (PortId, &MessageDefinition, Vec<usize>)> {
        let has_database = self.databases.iter().any(Option::is_some);
        let mut finder = has_database
            .then(|| RouteFinder::new(self, any_length))
            .flatten();
        let ports = (0..).map(PortId).zip(&self.databases);
        let each = ports.flat_map(|(port, database)| {
            let databases = database.iter();
            let messages = databases.flat_map(|database| &database.messages.messages);
            messages.map(move |message| (port, message))
        });
        each.filter_map(move |(port, message)| {
            let kind = match message.fd {
                Some(_) => Kind::Fd,
                None => Kind::Classic,
            };
            // Frames of a longer message of J1939 are those of its transport protocol.
            let len = message.len.min(kind.max_len());
            let header = Header::new(kind, message.id, len).ok()?;
            Some((port, message, finder.as_mut()?.find(port, header)))
        })
    }
}

pub(super) fn named(message: &MessageDefinition) -> NamedId {
    NamedId {
        id: message.id,
        name: message.name.clone(),
    }
}

/// Returns the ID of a filter that has only one.
pub(super) fn single(filter: &IdFilter) -> Option<CanId> {
    match filter.set {
        IdSet::Range { eff, first, last } if first == last && !filter.inverted => match eff {
            true => CanId::eff(first).ok(),
            false => CanId::sff(first).ok(),
        },
        _ => None,
    }
}

/// Finds the routes that take a frame, each for itself: no route keeps frames from others, and
/// conditions on the payload and limits do not count.
pub(super) struct RouteFinder {
    table: RoutingTable,
    memory: TableMemory,
    buffer: FrameBuf,
}

impl RouteFinder {
    /// Compiles the routes. `any_length`: as if they took frames of any length.
    pub(super) fn new(config: &GatewayConfig, any_length: bool) -> Option<Self> {
        let mut routes = Routes {
            mode: RouteMode::All,
            ..config.routes.clone()
        };
        for route in &mut routes.routes {
            route.drop = false;
            route.to.clone_from(&route.from);
            route.allow_same_port = true;
            route.actions.clear();
            route.limit = None;
            route.verify = None;
            route.protect = None;
            route.matching.payload.clear();
            route.matching.when = None;
            if any_length {
                route.matching.len = None;
            }
        }
        let table = RoutingTable::compile(&routes, config.ports.len()).ok()?;
        Some(Self {
            memory: table.memory(),
            table,
            buffer: FrameBuf::new(),
        })
    }

    /// Returns the indices of the routes that take a frame that comes in at this port.
    pub(super) fn find(&mut self, from: PortId, header: Header) -> Vec<usize> {
        self.buffer.reset(header);
        let mut taken = TakenRoutes(Vec::new());
        let arrival = FrameArrival {
            from,
            now: 0,
            hops: 0,
        };
        let frame = self.buffer.view();
        self.table
            .decide(&mut self.memory, arrival, frame, &mut taken);
        taken.0
    }
}

/// The indices of the routes that take a frame.
struct TakenRoutes(Vec<usize>);

impl DecisionSink for TakenRoutes {
    fn taken(&mut self, route: RouteId) {
        self.0.extend(usize::try_from(route.0));
    }

    fn stopped(&mut self, _: RouteId, _: StopReason) {}

    fn forward(&mut self, _: ForwardedCopy<'_>) {}
}

/// Returns a note on the timeouts in the databases of ports, for `cangate check`; empty if there
/// are none.
pub(super) fn timeout_words(databases: &[Option<Arc<NamedDatabase>>]) -> String {
    let each: BTreeMap<&str, &NamedDatabase> = databases
        .iter()
        .flatten()
        .map(|database| (database.name.as_str(), database.as_ref()))
        .collect();
    let messages = each.into_values();
    let messages = messages.flat_map(|database| &database.messages.messages);
    let has_timeout = |message: &MessageDefinition| {
        let mut signals = message.signals.iter();
        let e2e = message.e2e.as_ref();
        signals.any(|signal| !signal.timeouts.is_empty())
            || e2e.is_some_and(|e2e| e2e.timeout.is_some())
    };
    match messages.filter(|message| has_timeout(message)).count() {
        0 => String::new(),
        count => format!(
            "timeouts of receivers: {count} {} of the databases; `cangate bound SET.toml --gateway FILE` compares them\n",
            if count == 1 { "message" } else { "messages" }
        ),
    }
}
