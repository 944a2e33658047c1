//! A figure that is seen first on a page.

use serde::Serialize;

/// It stands below the page's first sentence.
#[derive(Serialize)]
pub(crate) struct Tile {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) note: String,
    /// It should not be so.
    pub(crate) bad: bool,
}
