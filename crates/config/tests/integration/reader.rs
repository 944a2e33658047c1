//! Tests of the reader's public interface: getters, hints, and the absence of panics.

use cangate_config::{
    Diagnostic, Diagnostics, Severity, SourceText, TomlDocument, TomlTable, render,
};
use proptest::prelude::*;

/// Reads with `f` and returns the messages with their hints and the text that they refer to.
fn found(
    text: &str,
    f: impl Fn(&mut TomlTable<'_>, &mut Diagnostics),
) -> Vec<(String, String, String)> {
    let source = SourceText::new("t.toml", text);
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(&source, &mut found);
    let mut root = document.root();
    f(&mut root, &mut found);
    root.finish(&mut found);
    found
        .into_sorted()
        .into_iter()
        .map(|d| (d.message, d.hint, text[d.span].to_owned()))
        .collect()
}

fn one(message: &str, hint: &str, at: &str) -> Vec<(String, String, String)> {
    vec![(message.into(), hint.into(), at.into())]
}

#[test]
fn wrong_types_point_at_the_value() {
    assert_eq!(
        found("a = 1", |t, f| assert_eq!(t.string("a", f), None)),
        one("`a` must be a string", "put it in quotes: \"1\"", "1")
    );
    assert_eq!(
        found("a = 'x'", |t, f| assert_eq!(t.boolean("a", f), None)),
        one("`a` must be true or false", "", "'x'")
    );
    assert_eq!(
        found("a = 1.5", |t, f| assert_eq!(t.integer("a", 0..=9, f), None)),
        one("`a` must be an integer", "", "1.5")
    );
    assert_eq!(
        found("a = 99999999999999999999", |t, f| assert_eq!(
            t.integer("a", 0..=9, f),
            None
        )),
        one("`a` must be from 0 to 9", "", "99999999999999999999")
    );
}

#[test]
fn values_in_every_form() {
    let all = "rate = '500k'\nn = 0x10\nb = 'F'\nb2 = 15\nh = '00ff'\nl = ['a', 'b']\no = 'a'\n";
    let messages = found(all, |t, f| {
        assert_eq!(t.bitrate("rate", f).unwrap().value, 500_000);
        assert_eq!(t.integer("n", 0..=16, f).unwrap().value, 16);
        assert_eq!(t.byte("b", f).unwrap().value, 15);
        assert_eq!(t.byte("b2", f).unwrap().value, 15);
        assert_eq!(t.hex("h", f).unwrap().value, [0, 255]);
        assert_eq!(t.list("l").len(), 2);
        assert_eq!(t.list("o").len(), 1);
        assert_eq!(t.list("absent").len(), 0);
    });
    assert_eq!(messages, []);
}

#[test]
fn a_part_of_a_string_is_found_where_it_is_written_without_escapes() {
    for (written, part) in [
        (r#""Gear == 'x'""#, "'x'"),
        (r#"'Gear == "x"'"#, r#""x""#),
        (r#""""Gear == 'x'""""#, "'x'"),
        (r"'Gäng == x'", "x"),
        // Two quotes and four escapes are as long as six quotes.
        (r#""\"a\" \"x\"""#, r#""\"a\" \"x\"""#),
        (r#""a\u00e9 x""#, r#""a\u00e9 x""#),
        ("\"\"\"\n x\"\"\"", "\"\"\"\n x\"\"\""),
    ] {
        let messages = found(&format!("a = {written}"), |t, f| {
            let value = t.get("a").unwrap();
            let string = value.string(f).unwrap().value;
            let last = string.rfind(' ').unwrap() + 1;
            let place = value.part(last..string.len());
            f.push(Diagnostic::error(place, "here"));
        });
        assert_eq!(messages, one("here", "", part), "{written}");
    }
}

#[test]
fn unknown_keys_have_a_hint() {
    let get = |t: &mut TomlTable<'_>, f: &mut Diagnostics| {
        let _ = t.bitrate("bitrate", f);
    };
    assert_eq!(
        found("bitrat = 1", get),
        one(
            "the file has no key `bitrat`",
            "did you mean `bitrate`?",
            "bitrat"
        )
    );
    assert_eq!(
        found("bitrate = 1\nbitrat = 1", get),
        one(
            "the file has no key `bitrat`",
            "`bitrate` is already set: leave this out",
            "bitrat"
        )
    );
}

#[test]
fn one_bracket_too_few() {
    let messages = found("[routes]\na = 1", |t, f| {
        let mut tables = t.tables("routes", "route", f);
        assert_eq!(tables.len(), 1);
        assert!(tables[0].integer("a", 0..=9, f).is_some());
    });
    assert_eq!(
        messages,
        one(
            "`routes` must be a list of tables",
            "write the header with two brackets: [[routes]]",
            "[routes]"
        )
    );
}

#[test]
fn keys_come_in_the_order_of_the_text() {
    found("[p]\nz = 1\na = 2\n[p.m]\n", |t, f| {
        let table = t.table("p", "p", f).unwrap();
        let names: Vec<_> = table.all().iter().map(|(key, _)| key.value).collect();
        assert_eq!(names, ["z", "a", "m"]);
    });
}

#[test]
fn broken_syntax_hides_what_follows_from_it() {
    let messages = found("a = 1x\nb = 2\n", |t, f| {
        let _ = t.string("a", f);
        let _ = t.string("b", f);
        let _ = t.need("c", f);
    });
    let at: Vec<_> = messages
        .iter()
        .map(|m| m.0.split(':').next().unwrap())
        .collect();
    assert_eq!(at, ["not valid TOML", "`b` must be a string"]);
}

#[test]
fn very_long_lines_are_named_and_not_shown() {
    let text = format!("a = 1 # {}\n", "x".repeat(10_000));
    let source = SourceText::new("t", text);
    let shown = render(&source, &[Diagnostic::error(4..5, "wrong")], false);
    assert_eq!(shown, "error: wrong\n--> t:1:5\n");
}

#[test]
fn colours_only_where_asked_for() {
    let source = SourceText::new("t", "a = 1");
    let all = [Diagnostic::warning(4..5, "odd")];
    assert!(!render(&source, &all, false).contains('\u{1b}'));
    assert!(render(&source, &all, true).contains('\u{1b}'));
}

proptest! {
    #[test]
    fn any_text_is_read_and_rendered(text in ".{0,200}", spans in prop::collection::vec((0_usize..250, 0_usize..250), 0..4)) {
        let source = SourceText::new("t", text);
        let mut found = Diagnostics::new();
        let document = TomlDocument::parse(&source, &mut found);
        let mut root = document.root();
        let _ = root.list("a");
        root.finish(&mut found);
        // Wherever a diagnostic's place is, even outside the text.
        let mut all = found.into_sorted();
        all.extend(spans.into_iter().map(|(a, b)| Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(a..b, "x").label("l").hint("h")
        }));
        let text = render(&source, &all, false);
        prop_assert_eq!(text.is_empty(), all.is_empty());
    }

    #[test]
    fn toml_in_pieces_is_read(parts in prop::collection::vec("[\\[\\]{}=\"'\n ,.a-c0-9#\\\\-]{1,4}", 0..30)) {
        let source = SourceText::new("t", parts.concat());
        let mut found = Diagnostics::new();
        let document = TomlDocument::parse(&source, &mut found);
        let mut root = document.root();
        for table in root.tables("a", "a", &mut found) {
            table.finish(&mut found);
        }
        root.finish(&mut found);
        let _ = render(&source, &found.into_sorted(), false);
    }
}
