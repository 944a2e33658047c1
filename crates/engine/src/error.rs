//! Errors: of a port that cannot go on, and of parts that do not belong together.

use alloc::boxed::Box;
use alloc::string::String;
use core::error::Error;

/// The error of a port that cannot go on. A port handles recoverable conditions (down, unplugged,
/// no buffers) internally and counts them.
#[derive(thiserror::Error, Debug)]
#[error("{port}: {what}")]
pub struct PortError {
    /// The port's name.
    pub port: String,
    /// The error, its meaning and what to do.
    pub what: String,
    /// The cause, if there was one: on an operating system, usually its error.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// Reason why an engine or a change of one cannot be made: ports, table and routes do not belong
/// together.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum EngineError {
    /// The table was compiled from other routes.
    #[error("the routing table has {table} routes, but {routes} were named: compile it from them")]
    OtherRoutes {
        /// Number of routes in the table.
        table: usize,
        /// Number of routes that were named.
        routes: usize,
    },
    /// A route names a port that does not exist.
    #[error("route \"{route}\" names port number {port}, but there are only {ports}")]
    NoSuchPort {
        /// The route.
        route: String,
        /// The port's index.
        port: u16,
        /// Number of ports.
        ports: usize,
    },
    /// Two ports or two routes have the same name.
    #[error("the name \"{0}\" is used twice: counters need different names")]
    NameTwice(String),
    /// A change keeps a port that does not exist.
    #[error("there is no port \"{0}\" to keep")]
    NotThere(String),
    /// A change was made for another state of the engine.
    #[error("the change was made for another layout than the one that runs: make it again")]
    Outdated,
}
