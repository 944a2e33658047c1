//! The pictures of the documents, made by the program itself: `cargo xtask pictures` writes them,
//! every other run of the tests compares them with the program's present output.

use std::path::PathBuf;

/// The variable with which a test writes its picture instead of comparing it.
const WRITE: &str = "CANGATE_PICTURES";
/// The maximum size of a picture in bytes: documents are read over slow networks, too.
const MOST: usize = 100_000;

/// Compares a picture with `docs/pictures/NAME`, or writes it.
pub(crate) fn keep(name: &str, picture: &str) {
    assert!(picture.len() < MOST, "{name}: {} bytes", picture.len());
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/pictures")
        .join(name);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, picture).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == picture,
        "docs/pictures/{name} is not what the program draws today: look at what `cargo xtask pictures` makes of it"
    );
}

/// A character on a terminal, and its style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) symbol: String,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) underlined: bool,
    /// Whether it is an alarm that should attract attention.
    pub(crate) alarm: bool,
}

impl Cell {
    fn looks_like(&self, other: &Self) -> bool {
        let look = |c: &Self| (c.bold, c.dim, c.underlined, c.alarm);
        look(self) == look(other)
    }
}

/// Plain text as lines of cells.
#[allow(dead_code, reason = "of the program's own buffer each cell is known")]
pub(crate) fn plain(text: &str) -> Vec<Vec<Cell>> {
    let cell = |c: char| Cell {
        symbol: c.to_string(),
        bold: false,
        dim: false,
        underlined: false,
        alarm: false,
    };
    text.lines()
        .map(|line| line.chars().map(cell).collect())
        .collect()
}

/// Width and height of a cell, pixels.
const CELL: (f64, f64) = (8.4, 19.0);
/// The margin around the text, pixels.
const MARGIN: f64 = 14.0;

/// Returns a terminal's lines as SVG. Each run of characters with the same style has its own width,
/// so that columns are aligned in every font.
pub(crate) fn terminal(title: &str, columns: usize, lines: &[Vec<Cell>]) -> String {
    let (width, height) = (
        MARGIN * 2.0 + CELL.0 * columns as f64,
        MARGIN * 2.0 + CELL.1 * lines.len() as f64,
    );
    let title = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#15181B\"/>\n\
         <g font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#ECEFF1\">\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + CELL.1 * row as f64 + 14.0;
        let mut at = 0;
        while at < line.len() {
            let alike = line[at..]
                .iter()
                .take_while(|c| c.looks_like(&line[at]))
                .count();
            put(&mut svg, &line[at..at + alike], at, y);
            at += alike;
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Adds one run of characters; blanks around it are not drawn.
fn put(svg: &mut String, run: &[Cell], at: usize, y: f64) {
    let blank = |c: &&Cell| c.symbol.trim().is_empty();
    let before = run.iter().take_while(blank).count();
    let text = run.get(before..).unwrap_or_default();
    let after = text.iter().rev().take_while(blank).count();
    let text = &text[..text.len() - after];
    let Some(first) = text.first() else { return };
    let symbols: String = text.iter().map(|c| c.symbol.as_str()).collect();
    let mut look = String::new();
    for (has, attribute) in [
        (first.bold, " font-weight=\"700\""),
        (first.dim, " fill-opacity=\"0.65\""),
        (first.underlined, " text-decoration=\"underline\""),
        (first.alarm, " fill=\"#FF8A80\""),
    ] {
        if has {
            look.push_str(attribute);
        }
    }
    svg.push_str(&format!(
        "<text x=\"{:.1}\" y=\"{y:.1}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\"{look}>{}</text>\n",
        MARGIN + CELL.0 * (at + before) as f64,
        CELL.0 * text.len() as f64,
        escaped(&symbols)
    ));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
