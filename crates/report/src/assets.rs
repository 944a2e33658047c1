//! The parts that all pages share.

/// Colours and the look of tables, charts and texts.
pub(crate) const STYLE: &str = concat!(
    include_str!("assets/palette.css"),
    include_str!("assets/page.css"),
);

/// The style of a page's head: a sentence, and figures.
pub(crate) const LEAD: &str = include_str!("assets/lead.css");

/// The drawing scripts: each file has one purpose.
pub(crate) const SCRIPT: &str = concat!(
    include_str!("assets/save.js"),
    include_str!("assets/base.js"),
    include_str!("assets/axis.js"),
    include_str!("assets/draw.js"),
    include_str!("assets/marks.js"),
    include_str!("assets/figure.js"),
    include_str!("assets/models.js"),
);

/// Returns a page made from its frame: texts replace these placeholders.
///
/// The placeholders are in the order of the frame, so that no text is inserted into another
/// inserted text.
pub(crate) fn filled(frame: &str, places: [(&str, String); 3]) -> String {
    let mut page = String::new();
    let mut rest = frame;
    for (place, text) in places {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(&text);
        rest = after;
    }
    page.push_str(rest);
    page
}
