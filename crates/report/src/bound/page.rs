//! The page as text.

use super::data::BoundData;
use super::digest::digest;
use crate::assets;
use crate::json::json;

const HTML: &str = concat!(
    include_str!("../assets/head.html"),
    include_str!("assets/bound.html")
);
const STYLE: &str = include_str!("assets/bound.css");
/// Each file has one purpose.
const SCRIPT: [&str; 4] = [
    include_str!("assets/words.js"),
    include_str!("assets/bars.js"),
    include_str!("assets/measured.js"),
    include_str!("assets/bound.js"),
];

/// Returns the whole page. The same data gives the same bytes.
#[must_use]
pub fn page(data: &BoundData) -> String {
    let bound = json(&digest(data));
    let style = [assets::STYLE, assets::LEAD, STYLE].concat();
    let script = [&[assets::SCRIPT], SCRIPT.as_slice()].concat().concat();
    let places = [("STYLE", style), ("SCRIPT", script), ("BOUND", bound)];
    assets::filled(HTML, places)
}
