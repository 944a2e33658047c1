//! What can go wrong: a port that cannot go on, parts that do not belong together.

use alloc::boxed::Box;
use alloc::string::String;
use core::error::Error;

/// A port that cannot go on. What can be survived (down, unplugged, no buffers) is survived
/// inside the port and shows in its counters.
#[derive(thiserror::Error, Debug)]
#[error("{port}: {what}")]
pub struct PortError {
    /// The port's name.
    pub port: String,
    /// What happened, what it means and what to do.
    pub what: String,
    /// The cause, where there was one: on an operating system, most often its error.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// An engine or a change of one that cannot be made: ports, table and routes do not belong
/// together.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum EngineError {
    /// The table was compiled from other routes.
    #[error("the routing table has {table} routes, but {routes} were named: compile it from them")]
    OtherRoutes {
        /// Routes in the table.
        table: usize,
        /// Routes that were named.
        routes: usize,
    },
    /// A route names a port that is not there.
    #[error("route \"{route}\" names port number {port}, but there are only {ports}")]
    NoSuchPort {
        /// The route.
        route: String,
        /// The port's index.
        port: u16,
        /// How many ports there are.
        ports: usize,
    },
    /// Two ports or two routes have one name.
    #[error("the name \"{0}\" is used twice: counters could not tell the two apart")]
    NameTwice(String),
    /// A change keeps a port that is not there.
    #[error("there is no port \"{0}\" that could be kept")]
    NotThere(String),
    /// A change was made for another state of the engine.
    #[error("the change was made for another layout than the one that runs: make it again")]
    Outdated,
}
