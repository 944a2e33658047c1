//! What both halves need of an interface, so that tests can put something else in its place.

use crate::RawFilter;
use linux::Errno;
use linux::can::{Filter, InterfaceState, Socket};
use std::sync::Arc;

/// The sockets of a port, attached to one interface.
pub(super) trait Line: Send + Sync {
    /// How the interface is; `NODEV` where there is none of this name.
    fn look(&self) -> Result<InterfaceState, Errno>;
    /// Attaches every socket to the interface of this number.
    fn attach(&self, index: u32) -> Result<(), Errno>;
    /// Replaces the kernel's filters of the socket that receives.
    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno>;
}

/// One raw CAN socket for both directions: it alone does not receive what is sent on it.
impl Line for Arc<Socket> {
    fn look(&self) -> Result<InterfaceState, Errno> {
        (**self).look()
    }

    fn attach(&self, index: u32) -> Result<(), Errno> {
        (**self).attach(index)
    }

    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno> {
        let filter = |f: &RawFilter| Filter {
            id: f.id,
            mask: f.mask,
        };
        let filters: Vec<Filter> = filters.iter().map(filter).collect();
        (**self).set_filters(&filters)
    }
}
