//! The page as text.

use super::data::RunData;
use super::digest::digest;
use crate::assets;
use crate::json::json;

const HTML: &str = concat!(
    include_str!("../assets/head.html"),
    include_str!("assets/run.html")
);
const STYLE: &str = include_str!("assets/run.css");
const SCRIPT: &str = include_str!("assets/run.js");

/// Returns the whole page. The same data gives the same bytes.
#[must_use]
pub fn page(data: &RunData) -> String {
    let run = json(&digest(data));
    let (style, script) = (
        [assets::STYLE, assets::LEAD, STYLE],
        [assets::SCRIPT, SCRIPT],
    );
    let (style, script) = (style.concat(), script.concat());
    let places = [("STYLE", style), ("SCRIPT", script), ("RUN", run)];
    assets::filled(HTML, places)
}
