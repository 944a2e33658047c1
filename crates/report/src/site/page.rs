//! The files that are the same on every site.

use crate::assets;

/// The page, with the elements that the script fills.
pub(super) const HTML: &str = include_str!("assets/index.html");

pub(super) const STYLE: [&str; 2] = [assets::STYLE, include_str!("assets/site.css")];

/// Each file has one purpose.
pub(super) const SCRIPT: [&str; 11] = [
    assets::SCRIPT,
    include_str!("assets/state.js"),
    include_str!("assets/models.js"),
    include_str!("assets/compare.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/facets.js"),
    include_str!("assets/table.js"),
    include_str!("assets/details.js"),
    include_str!("assets/claims.js"),
    include_str!("assets/figures.js"),
    include_str!("assets/main.js"),
];
