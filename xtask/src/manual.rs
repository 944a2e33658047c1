//! The man page of the gateway file, cangate.toml(5): generated from its reference,
//! docs/gateway-toml.md, which is the only definition.

use anyhow::{Context, Result};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Writes the page into a folder.
pub(crate) fn write(root: &Path, folder: &Path) -> Result<()> {
    let reference = root.join("docs/gateway-toml.md");
    let text = fs::read_to_string(&reference)
        .with_context(|| format!("cannot read {}", reference.display()))?;
    let page = folder.join("cangate.toml.5");
    fs::write(&page, roff(&text)).with_context(|| format!("cannot write {}", page.display()))
}

const HEAD: &str = "'\\\" t\n.TH CANGATE.TOML 5 \"\" cangate \"File formats\"\n.nh\n.ad l\n\
                    .SH NAME\ncangate.toml \\- the gateway file of \\fBcangate\\fR(1)\n";
const FOOT: &str = ".SH SEE ALSO\n.BR cangate (1),\n.BR cangate-check (1),\n.BR cangate-run (1)\n";

/// Converts a reference in Markdown to a man page.
fn roff(text: &str) -> String {
    let mut page = ManualPage::default();
    let options = Options::ENABLE_TABLES;
    for event in Parser::new_ext(text, options) {
        page.add(event);
    }
    format!("{HEAD}{}{FOOT}", page.out)
}

#[derive(Default)]
struct ManualPage {
    out: String,
    /// Whether the text is in a block of code, where it is kept unchanged.
    code: bool,
    /// Whether the text is in a cell of a table, where a line end would end the row.
    cell: bool,
    /// Whether to skip text: the page's title is already in its head.
    skips: bool,
    /// Whether the text is the first paragraph of an item, which follows its mark.
    item: bool,
    columns: usize,
}

impl ManualPage {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) if self.skips => drop(text),
            Event::Text(text) => self.text(&text),
            Event::Code(code) if !self.skips => {
                self.out.push_str("\\fB");
                self.text(&code);
                self.out.push_str("\\fR");
            }
            Event::SoftBreak | Event::HardBreak => {
                self.out.push(if self.cell { ' ' } else { '\n' });
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading {
                level: HeadingLevel::H1,
                ..
            } => {
                self.out.push_str(".SH DESCRIPTION\n");
                self.skips = true;
            }
            Tag::Heading {
                level: HeadingLevel::H2,
                ..
            } => self.out.push_str(".SH "),
            Tag::Heading { .. } => self.out.push_str(".SS "),
            Tag::Paragraph if std::mem::take(&mut self.item) => {}
            Tag::Paragraph => self.out.push_str(".PP\n"),
            Tag::CodeBlock(kind) => {
                let _: CodeBlockKind<'_> = kind;
                self.out.push_str(".PP\n.RS 4\n.nf\n");
                self.code = true;
            }
            Tag::Item => {
                self.line();
                self.out.push_str(".IP \\(bu 2\n");
                self.item = true;
            }
            Tag::Table(alignments) => {
                self.columns = alignments.len();
                // The last column takes the rest of the line.
                let head = vec!["lb"; self.columns].join(" ");
                let mut row = vec!["lx"; self.columns];
                row.iter_mut()
                    .rev()
                    .skip(1)
                    .for_each(|column| *column = "l");
                let _ = write!(
                    self.out,
                    ".PP\n.TS\nallbox tab(\u{1f});\n{head}\n{}.\n",
                    row.join(" ")
                );
            }
            Tag::TableCell => {
                self.out.push_str("T{\n");
                self.cell = true;
            }
            Tag::Emphasis => self.out.push_str("\\fI"),
            Tag::Strong => self.out.push_str("\\fB"),
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Heading(HeadingLevel::H1) => self.skips = false,
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item => self.line(),
            TagEnd::CodeBlock => {
                self.line();
                self.out.push_str(".fi\n.RE\n");
                self.code = false;
            }
            TagEnd::TableCell => {
                self.out.push_str("\nT}\u{1f}");
                self.cell = false;
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if self.out.ends_with('\u{1f}') {
                    self.out.pop();
                }
                self.line();
            }
            TagEnd::Table => self.out.push_str(".TE\n"),
            TagEnd::Emphasis | TagEnd::Strong => self.out.push_str("\\fR"),
            _ => {}
        }
    }

    /// Adds text; characters that roff would interpret as a command, a hyphen or an escape are
    /// escaped.
    fn text(&mut self, text: &str) {
        for (n, line) in text.split('\n').enumerate() {
            if n > 0 {
                self.out.push(if self.cell { ' ' } else { '\n' });
            }
            if self.out.ends_with('\n') && line.starts_with(['.', '\'']) {
                self.out.push_str("\\&");
            }
            for c in line.chars() {
                match c {
                    '\\' => self.out.push_str("\\e"),
                    '-' => self.out.push_str("\\-"),
                    c => self.out.push(c),
                }
            }
        }
    }

    fn line(&mut self) {
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    const REFERENCE: &str = include_str!("../../docs/gateway-toml.md");

    #[test]
    fn markdown_becomes_roff() {
        let text = "# t\n\nOne `a-b` and\n**two**.\n\n## [x]\n\n| a | b |\n|---|---|\n| `k` | c\\|d |\n\n\
                    * item\n\n```toml\n.x = 'y'\n```\n";
        let page = roff(text);
        let body = page.strip_prefix(HEAD).unwrap().strip_suffix(FOOT).unwrap();
        assert_eq!(
            body,
            ".SH DESCRIPTION\n.PP\nOne \\fBa\\-b\\fR and\n\\fBtwo\\fR.\n.SH [x]\n.PP\n.TS\nallbox tab(\u{1f});\n\
             lb lb\nl lx.\nT{\na\nT}\u{1f}T{\nb\nT}\nT{\n\\fBk\\fR\nT}\u{1f}T{\nc|d\nT}\n.TE\n.IP \\(bu 2\nitem\n\
             .PP\n.RS 4\n.nf\n\\&.x = 'y'\n.fi\n.RE\n"
        );
    }

    #[test]
    fn the_page_has_each_heading_and_each_key_of_the_reference() {
        let page = roff(REFERENCE);
        let headings = REFERENCE
            .lines()
            .filter(|line| line.starts_with("## "))
            .count();
        assert_eq!(
            page.matches("\n.SH ").count(),
            headings + 3,
            "with NAME, DESCRIPTION, SEE ALSO"
        );
        for key in ["match", "max_hops", "receive_buffer", "map_id", "max_age"] {
            assert!(page.contains(&format!("\\fB{key}")), "{key}");
        }
        assert!(!page.contains("\n.x"), "text that roff takes for a command");
    }

    /// Runs the formatter that `man` uses, if it is installed.
    #[test]
    fn groff_has_nothing_to_state_about_the_page() {
        let groff = Command::new("groff")
            .args(["-t", "-man", "-Tutf8", "-P-cbou", "-k", "-ww", "-rLL=120n"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut groff) = groff else {
            eprintln!("SKIPPED because there is no groff");
            return;
        };
        let mut input = groff.stdin.take().unwrap();
        let writer = std::thread::spawn(move || input.write_all(roff(REFERENCE).as_bytes()));
        let output = groff.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.is_empty(), "{message}");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("SEE ALSO"), "{shown}");
    }
}
