//! The page as text.

use super::data::Data;
use super::digest::digest;
use crate::assets;
use crate::json::json;

const HTML: &str = include_str!("assets/run.html");
const STYLE: &str = include_str!("assets/run.css");
const SCRIPT: &str = include_str!("assets/run.js");

/// The whole page. The same data gives the same bytes.
#[must_use]
pub fn page(data: &Data) -> String {
    let run = json(&digest(data));
    let (style, script) = ([assets::STYLE, STYLE], [assets::SCRIPT, SCRIPT]);
    let (style, script) = (style.concat(), script.concat());
    let mut page = String::new();
    let mut rest = HTML;
    // In the order of the file, so that nothing is filled into what was filled in.
    for (place, text) in [("STYLE", style), ("SCRIPT", script), ("RUN", run)] {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(&text);
        rest = after;
    }
    page.push_str(rest);
    page
}
