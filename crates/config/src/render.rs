//! Diagnostics as text with source lines and carets.

use crate::{Diagnostic, Severity, SourceText};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// Longer lines are reported by their number only, and not shown.
const LONGEST_LINE: usize = 4096;

/// Formats the diagnostics as text, in the order given: file, line, column, the line with a caret,
/// and a hint. With `color`, the text has ANSI escapes for a terminal. Unless it is empty, it ends
/// with a newline.
#[must_use]
pub fn render(source: &SourceText, diagnostics: &[Diagnostic], color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut text = String::new();
    for diagnostic in diagnostics {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&renderer.render(&[group(source, diagnostic)]));
        text.push('\n');
    }
    text
}

fn group<'a>(source: &'a SourceText, diagnostic: &'a Diagnostic) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str());
    let start = source.floor(diagnostic.span.start);
    let first = source.line_start(start);
    let last = source.line_end(start);
    let (line, column) = source.line_column(start);

    let mut group = if last.saturating_sub(first) > LONGEST_LINE {
        title.element(
            Origin::path(source.name.as_str())
                .line(line)
                .char_column(column),
        )
    } else {
        let shown = source.text.get(first..last).unwrap_or_default();
        // A table's span covers many lines; its first line is what the message is about.
        let end = source
            .floor(diagnostic.span.end)
            .clamp(start, last.max(start));
        let local = (start - first).min(shown.len())..(end - first).min(shown.len());
        let mut annotation = AnnotationKind::Primary.span(local);
        if !diagnostic.label.is_empty() {
            annotation = annotation.label(diagnostic.label.as_str());
        }
        title.element(
            Snippet::source(shown)
                .path(source.name.as_str())
                .line_start(line)
                .annotation(annotation),
        )
    };
    if !diagnostic.hint.is_empty() {
        group = group.element(Level::HELP.message(diagnostic.hint.as_str()));
    }
    group
}
