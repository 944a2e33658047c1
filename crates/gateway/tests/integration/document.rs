//! The tables of keys in docs/gateway-toml.md are made from the definitions of the keys.

use config::{KeySpec, SourceText, ValueShape};
use gateway::config::{keys, load};
use port::PortKinds;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The variable that makes the test write the tables: `cargo xtask keys` sets it.
const WRITE: &str = "CANGATE_KEYS";

/// The header of a table of keys.
const HEADER: &str = "| key | value | default | meaning |";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway-toml.md")
}

/// Adds the keys of each table that a shape is or can have.
fn tables<'k>(shape: &'k ValueShape, all: &mut Vec<&'k [KeySpec]>) {
    match shape {
        ValueShape::Table(keys) => {
            all.push(keys);
            for key in keys {
                tables(&key.shape, all);
            }
        }
        ValueShape::Named(of) | ValueShape::List(of) | ValueShape::OneOrList(of) => tables(of, all),
        ValueShape::Any(shapes) => shapes.iter().for_each(|shape| tables(shape, all)),
        _ => {}
    }
}

/// Returns the keys that a row of a table names.
fn named(row: &str) -> Vec<&str> {
    let cell = row.split('|').nth(1).unwrap_or_default();
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns the definitions that fit a table of the document: those that have most of its keys, and
/// of these the ones with the fewest other keys.
fn definitions<'k>(names: &[&str], all: &[&'k [KeySpec]]) -> &'k [KeySpec] {
    let fit = |keys: &&'k [KeySpec]| {
        let common = keys.iter().filter(|key| names.contains(&key.name)).count();
        (common, usize::MAX - keys.len())
    };
    all.iter().copied().max_by_key(fit).unwrap()
}

/// Returns the document with its tables made anew. A key that no table has gets a row after that of
/// the key that is defined before it.
fn made(document: &str, all: &[&[KeySpec]]) -> String {
    let lines: Vec<&str> = document.lines().collect();
    let places: Vec<(usize, usize)> = (0..lines.len())
        .filter(|&at| lines[at] == HEADER)
        .map(|at| {
            let rows = lines[at + 2..]
                .iter()
                .take_while(|line| line.starts_with('|'));
            (at + 2, at + 2 + rows.count())
        })
        .collect();
    let names = |&(first, end): &(usize, usize)| -> Vec<&str> {
        lines[first..end]
            .iter()
            .flat_map(|row| named(row))
            .collect()
    };
    let mut rows: Vec<Vec<&KeySpec>> = places
        .iter()
        .map(|place| {
            let names = names(place);
            let defined = definitions(&names, all);
            let key = |name: &&str| defined.iter().find(|key| key.name == *name);
            let mut seen = BTreeSet::new();
            let once = names.iter().filter(|name| seen.insert(**name));
            once.filter_map(key).collect()
        })
        .collect();
    let is = |row: &&KeySpec, key: &KeySpec| row.name == key.name && row.about == key.about;
    for keys in all {
        let has_row = |key: &KeySpec| rows.iter().flatten().any(|row| is(row, key));
        // The document describes a small table, such as `limit`, without a table of keys.
        if !keys.iter().any(|key| key.name == "kind" || has_row(key)) {
            continue;
        }
        let mut before: Option<&KeySpec> = None;
        for key in keys.iter().filter(|key| !key.default.is_empty()) {
            if !rows.iter().flatten().any(|row| is(row, key)) {
                let place = before.and_then(|before| {
                    rows.iter_mut().find_map(|rows| {
                        let at = rows.iter().position(|row| is(row, before))?;
                        Some((rows, at + 1))
                    })
                });
                let Some((rows, at)) = place else {
                    panic!(
                        "no table of {} has a place for `{}`",
                        path().display(),
                        key.name
                    );
                };
                rows.insert(at, key);
            }
            before = Some(key);
        }
    }
    let mut text = String::new();
    let mut next = 0;
    for (&(first, end), rows) in places.iter().zip(&rows) {
        text.extend(lines[next..first].iter().map(|line| format!("{line}\n")));
        text.extend(rows.iter().map(|key| format!("{}\n", key.row())));
        next = end;
    }
    text.extend(lines[next..].iter().map(|line| format!("{line}\n")));
    text
}

#[test]
fn the_tables_of_keys_are_those_of_the_program() {
    let keys = ValueShape::Table(keys(&PortKinds::standard()));
    let mut all = Vec::new();
    tables(&keys, &mut all);
    let document = std::fs::read_to_string(path()).unwrap();
    let made = made(&document, &all);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path(), made).unwrap();
        return;
    }
    let mut lines = made.lines().zip(document.lines());
    let differs = lines.find(|(made, written)| made != written);
    assert_eq!(differs, None, "`cargo xtask keys` writes the tables");
    assert_eq!(made.lines().count(), document.lines().count());
}

#[test]
fn a_new_key_gets_a_row_in_the_table_that_fits() {
    let key = |name, about| KeySpec::new(name, ValueShape::Flag, about).default("`false`");
    let one = [key("a", "A."), key("new", "New."), key("b", "B.")];
    let other = [key("a", "Another a."), key("c", "C.")];
    let table = |rows: &str| format!("# Title\n\n{HEADER}\n|---|---|---|---|\n{rows}\nEnd.\n");
    let row = |name, about| format!("| `{name}` | `true`, `false` | `false` | {about} |\n");
    let before = table("| `b` | old | | |\n| `a`, `gone` | | | |\n")
        + &table(&(row("c", "C.") + "| `a` | | | |\n"));
    let after = table(&(row("b", "B.") + &row("a", "A.") + &row("new", "New.")))
        + &table(&(row("c", "C.") + &row("a", "Another a.")));
    assert_eq!(made(&before, &[&one, &other]), after);
}

/// Checks that a default in the documents is the default of the program: a file that has it gives
/// the same port as a file without the key.
#[test]
fn defaults_that_are_values_are_the_defaults() {
    let kinds = PortKinds::standard();
    let mut checked = 0;
    for kind in kinds.iter().filter(|kind| kind.table() == "ports") {
        let kind_name = kind.keyword();
        // Keys without which a port of the kind cannot be, or without which others make no sense.
        let other = match kind_name {
            "socketcan" | "chardev" => "bitrate = '500k'",
            "log" => "read = 'a'\nwrite = 'b'",
            "virtio" => "socket = 'a'\ncontroller = 'c'",
            "shm" => "socket = 'a'",
            "split" => "parts = { '300' = '700' }",
            "slcan" | "socketcand" => "listen = 1",
            "ieee1722" => "connect = 'h:1'\ndelay = '1ms'\nmax_transit = '1ms'\nurgent = '123'",
            "cannelloni" => "transport = 'tcp'\nlisten = 1",
            _ => "",
        };
        let read = |line: &str| {
            let text = format!(
                "[ports.p]\nkind = '{kind_name}'\n{other}\n{line}\n[ports.q]\nkind = 'log'\nread = 'q'\n\
                 [controllers.c]\n[[routes]]\nfrom = ['p', 'q', 'c']\nto = ['p', 'q', 'c']\n"
            );
            let (config, _) = load(&SourceText::new("t", text), &kinds)
                .unwrap_or_else(|found| panic!("{kind_name} {line}: {found:?}"));
            config.ports[0].clone()
        };
        for key in kind.keys().unwrap() {
            let value = key.default.trim_matches('`');
            let is_value = value.parse::<f64>().is_ok() || key.default.starts_with('`');
            if !is_value || other.contains(&format!("{} =", key.name)) || key.default.contains(' ')
            {
                continue;
            }
            // The interface decides about a restart that the file does not give.
            if (kind_name, key.name) == ("socketcan", "restart") {
                continue;
            }
            let given = read(&format!("{} = {value}", key.name));
            // A way that is given stays if `optimise` chooses the other one.
            if kind_name != "socketcan" || !["receive", "transmit"].contains(&key.name) {
                assert_eq!(given, read(""), "{kind_name} {}", key.name);
            }
            checked += 1;
        }
    }
    assert!(checked >= 25, "{checked} keys");
}
