//! The numbers that identify ports and routes, and the mode of the search.

/// A port, as an index into the configuration's list of ports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PortId(pub u16);

/// A route, as an index into [`crate::Routes::routes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RouteId(pub u32);

/// Number of routes that a frame may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RouteMode {
    /// Every route that matches gets its copy, in the order of the file, as in can-gw. A route that
    /// drops ends the search.
    #[default]
    All,
    /// Only the first route that matches.
    First,
}
