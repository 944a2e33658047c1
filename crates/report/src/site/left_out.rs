//! Files that should be on the site and are not.

use serde::Serialize;

/// A file that is not on the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its path below the folder.
    pub name: String,
    /// The description of its error.
    pub why: String,
}
