//! The kinds of port of this program.

use port::PortKinds;

/// Returns all kinds that a gateway file can name.
pub(crate) fn kinds() -> PortKinds {
    PortKinds::standard()
}
