//! Text and tables that fit the columns of a terminal.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};

/// Characters per line that a terminal shows without breaking the line.
pub const WIDTH: usize = 80;

/// The smallest width, in characters, to which a column of names is reduced.
const NARROWEST: usize = 8;

/// Breaks a text into lines of at most [`WIDTH`] characters; a longer word has a line of its own.
pub fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Returns the width of the widest line, in characters.
pub fn width(table: &Table) -> usize {
    let lines = table.lines();
    lines.map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Returns the table with a width of at most [`WIDTH`]: where it is too wide, the names in these
/// columns take several lines, the longest first.
pub fn fitted(mut table: Table, names: &[usize]) -> Table {
    let mut too_wide = width(&table).saturating_sub(WIDTH);
    if too_wide == 0 {
        return table;
    }
    let widths = table.column_max_content_widths();
    let mut rooms: Vec<(usize, usize)> = names
        .iter()
        .filter_map(|&column| Some((column, usize::from(*widths.get(column)?))))
        .collect();
    while too_wide > 0 {
        let widest = rooms.iter_mut().max_by_key(|(_, room)| *room);
        let Some((_, room)) = widest.filter(|(_, room)| *room > NARROWEST) else {
            break;
        };
        *room -= 1;
        too_wide -= 1;
    }
    for (column, room) in rooms {
        // Plus a space on either side.
        let room = u16::try_from(room + 2).unwrap_or(u16::MAX);
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(room)));
        }
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{row, table};

    #[test]
    fn sentences_are_wrapped_and_long_words_are_whole() {
        let word = "x".repeat(100);
        let text = wrapped(&format!(
            "{} {word} end",
            "a few words ".repeat(12).trim_end()
        ));
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines
                .iter()
                .all(|l| l.chars().count() <= WIDTH || **l == word),
            "{text}"
        );
        assert_eq!(text.replace('\n', " ").matches("a few words").count(), 12);
    }

    #[test]
    fn the_longest_names_get_less_room_and_nothing_is_cut() {
        for (message, node) in [(90, 5), (60, 60), (5, 90)] {
            let mut table = table(&["message", "node", "bound"]);
            table.add_row(row([
                "m".repeat(message),
                "n".repeat(node),
                "1234.5".into(),
            ]));
            let fits = fitted(table, &[0, 1]);
            let text = fits.to_string();
            assert!(width(&fits) <= WIDTH, "{text}");
            let count = |of: char| {
                text.lines()
                    .skip(3)
                    .flat_map(str::chars)
                    .filter(|c| *c == of)
                    .count()
            };
            assert_eq!((count('m'), count('n')), (message, node), "{text}");
            // The short name is on one line.
            assert!(message > 5 || text.contains(" mmmmm "), "{text}");
        }
    }
}
