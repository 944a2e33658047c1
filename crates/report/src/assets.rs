//! What the page of one run and the site of many share.

/// Colours and the look of tables, charts and texts.
pub(crate) const STYLE: &str = concat!(
    include_str!("assets/palette.css"),
    include_str!("assets/page.css"),
);

/// Drawing: each file has one job.
pub(crate) const SCRIPT: &str = concat!(
    include_str!("assets/save.js"),
    include_str!("assets/base.js"),
    include_str!("assets/axis.js"),
    include_str!("assets/draw.js"),
    include_str!("assets/marks.js"),
    include_str!("assets/figure.js"),
    include_str!("assets/models.js"),
);
