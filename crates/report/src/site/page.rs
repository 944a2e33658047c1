//! The files that are the same on every site.

/// The page: the places that the script fills.
pub(super) const HTML: &str = include_str!("assets/index.html");

pub(super) const STYLE: &str = concat!(
    include_str!("../palette.css"),
    include_str!("assets/site.css")
);

/// One script of several files, each with one job.
pub(super) const SCRIPT: &str = concat!(
    include_str!("../save.js"),
    include_str!("assets/base.js"),
    include_str!("assets/axis.js"),
    include_str!("assets/draw.js"),
    include_str!("assets/state.js"),
    include_str!("assets/models.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/facets.js"),
    include_str!("assets/table.js"),
    include_str!("assets/details.js"),
    include_str!("assets/claims.js"),
    include_str!("assets/main.js"),
);
