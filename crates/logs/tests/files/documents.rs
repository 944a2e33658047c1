//! The formats in docs/files.md are those of the list.
use logs::FileFormat;
use std::path::Path;

/// Returns the rows of the table with this header.
fn table(header: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/files.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().skip_while(|line| *line != header);
    assert_eq!(lines.next(), Some(header));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(str::to_owned).collect()
}

#[test]
fn the_documented_formats_are_those_that_are_read() {
    let expected = FileFormat::NAMES
        .map(|(name, format)| format!("| {format} | `{name}` | {} |", format.contents()));
    assert_eq!(table("| format | by name | what is read |"), expected);
}

#[test]
fn the_documented_limits_are_those_of_the_formats_that_are_written() {
    let expected: Vec<_> = FileFormat::written()
        .map(|format| {
            let endings = format.endings().join("`, `");
            format!(
                "| `{endings}` | {} | {} |",
                format.help(),
                format.omissions()
            )
        })
        .collect();
    let header = "| name ends in | what is written | what it cannot express |";
    assert_eq!(table(header), expected);
}
