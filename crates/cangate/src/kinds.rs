//! The kinds of port of this program.

use port::Kinds;

/// All kinds that a gateway file can name.
pub(crate) fn kinds() -> Kinds {
    Kinds::standard()
}
