//! A figure in the head of a page.

use serde::Serialize;

/// A figure that is shown below the page's first sentence.
#[derive(Serialize)]
pub(crate) struct Tile {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) note: String,
    /// Whether the value indicates a problem.
    pub(crate) bad: bool,
}
