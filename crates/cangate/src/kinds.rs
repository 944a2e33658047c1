//! The kinds of port of this program.

use port::Kinds;

/// Returns all kinds that a gateway file can name.
pub(crate) fn kinds() -> Kinds {
    Kinds::standard()
}
