//! The formats in docs/files.md and docs/gateway-toml.md are those of the list.
use logs::FileFormat;
use std::path::Path;

fn document(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(name)).unwrap()
}

/// Returns the rows of the table of files.md with this header.
fn table(header: &str) -> Vec<String> {
    let text = document("files.md");
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

#[test]
fn the_reference_lists_the_formats_of_a_port() {
    let names = FileFormat::NAMES.map(|(name, _)| format!("`\"{name}\"`"));
    let row = format!("| `format` | {} |", names.join(", "));
    assert!(document("gateway-toml.md").contains(&row), "{row}");
}
