//! Tables on a terminal.

use comfy_table::{Cell, CellAlignment, Table, TableStyle};

/// Returns the style of all tables: lines above and below the head and below the table, none
/// between rows.
#[must_use]
pub fn style() -> TableStyle {
    let rule = comfy_table::LineStyle::none().fill('─').junction('─');
    TableStyle::new()
        .top_border(rule)
        .header_separator(rule)
        .bottom_border(rule)
}

/// Returns the cells of a row: the first column aligned left, the others right.
#[must_use]
pub fn row(cells: impl IntoIterator<Item = String>) -> Vec<Cell> {
    let cell = |(i, text): (usize, String)| {
        let cell = Cell::new(text);
        if i == 0 {
            cell
        } else {
            cell.set_alignment(CellAlignment::Right)
        }
    };
    cells.into_iter().enumerate().map(cell).collect()
}

/// Returns a table with a head.
#[must_use]
pub fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(style())
        .set_header(row(head.iter().map(|&h| h.to_owned())));
    table
}

/// Returns the number as text; a dot for 0, so that the other numbers stand out.
#[must_use]
pub fn number(n: u64) -> String {
    if n == 0 {
        "·".to_owned()
    } else {
        n.to_string()
    }
}
