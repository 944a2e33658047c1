//! `[databases.NAME]`, and the names that `check` and routes have by them.

use config::{Diagnostic, Severity, SourceText};
use frame::CanId;
use gateway::config::{GatewayConfig, LARGEST_DATABASE, LoadResult, load, load_with};
use port::PortKinds;
use route::PortId;
use std::io;
use std::path::Path;

const BODY: &str = "VERSION \"\"\nBU_: Engine Gear Dash\n\
    BO_ 416 EngineData: 8 Engine\n SG_ Speed : 0|16@1+ (0.01,0) [0|655.35] \"km/h\" Dash\n\
    BO_ 417 GearData: 8 Gear\n SG_ Gear : 0|8@1+ (1,0) [0|7] \"\" Dash\n\
    BO_ 2566844926 Vehicle: 8 Engine\n SG_ X : 0|8@1+ (1,0) [0|7] \"\" Engine\n\
    BA_DEF_ BO_ \"VFrameFormat\" ENUM \"StandardCAN\",\"ExtendedCAN\",\"reserved\",\"J1939PG\";\n\
    BA_ \"VFrameFormat\" BO_ 2566844926 3;\n";

/// Returns the files of the tests: `body.dbc`, and others with a mistake each.
fn file(path: &Path) -> io::Result<Vec<u8>> {
    match path.to_str().unwrap() {
        "body.dbc" => Ok(BODY.into()),
        "syntax.dbc" => Ok(b"VERSION \"\"\nBO_ 1 A: 8 X\n SG_ S : 0|\n".to_vec()),
        "empty.dbc" => Ok(b"VERSION \"\"\n".to_vec()),
        "arxml.dbc" => Ok(b"<?xml version=\"1.0\"?><AUTOSAR>".to_vec()),
        "large.dbc" => Ok(vec![b' '; LARGEST_DATABASE + 1]),
        "doubtful.dbc" => {
            let messages = (0..9).map(|n| format!("BO_ {} W{n}: 8 A\n", 4000 + n));
            let clash = "BO_ 1 A: 8 A\nBO_ 1 B: 8 A\n";
            let range = " SG_ S : 0|4@1+ (1,0) [0|16] \"\" A\n";
            Ok(format!("BU_: A\n{}{clash}{range}", messages.collect::<String>()).into())
        }
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

fn read(text: &str) -> LoadResult {
    load_with(&SourceText::new("t", text), &PortKinds::standard(), &file)
}

fn good(text: &str) -> (GatewayConfig, Vec<Diagnostic>) {
    read(text).unwrap_or_else(|found| panic!("{found:?}"))
}

/// Returns a file in which the ports `a` and `b` have these keys, and the routes `routes`.
fn ports(a: &str, b: &str, routes: &str) -> String {
    format!(
        "[databases.body]\nfile = 'body.dbc'\n[ports.a]\nkind = 'bus'\n{a}\n[ports.b]\nkind = 'bus'\n{b}\n{routes}"
    )
}

const ALL: &str = "[[routes]]\nfrom = 'a'\nto = 'b'\n";
const NAMED: &str = "database = 'body'";

/// Returns the errors and warnings of a file in which the database's table is `table`.
fn mistakes(table: &str) -> Vec<(Severity, String, String)> {
    let text = format!(
        "{table}\n[ports.a]\nkind = 'bus'\ndatabase = 'body'\n[ports.b]\nkind = 'bus'\n{ALL}"
    );
    let found = match read(&text) {
        Ok((_, warnings)) => warnings,
        Err(found) => found,
    };
    let each = found.into_iter();
    each.map(|one| (one.severity, one.message, one.hint))
        .collect()
}

#[test]
fn each_port_has_the_database_that_it_names() {
    let (config, warnings) = good(&ports(NAMED, "", ALL));
    assert_eq!(warnings, []);
    let database = config.database(PortId(0)).unwrap();
    assert_eq!((&*database.name, &*database.file), ("body", "body.dbc"));
    assert_eq!(database.messages.messages.len(), 3);
    assert_eq!(config.database(PortId(1)), None);
    assert_eq!(config.database(PortId(2)), None);
}

#[test]
fn another_name_of_the_database_does_not_reopen_the_port() {
    let (named, _) = good(&ports(NAMED, NAMED, ALL));
    let (plain, _) = good(&ports("", NAMED, ALL));
    assert_eq!(named.ports, plain.ports);
    assert_ne!(named, plain);
}

#[test]
fn a_mistake_in_a_database_has_both_places_and_a_cure() {
    let table = |file: &str| format!("[databases.body]\nfile = '{file}'");
    let cases = [
        ("none.dbc", "cannot read none.dbc: ", "folder of this file"),
        (
            "syntax.dbc",
            "syntax.dbc: line 3, column 12: ",
            "can be deleted in a copy",
        ),
        (
            "empty.dbc",
            "empty.dbc: no message in it",
            "BO_ 256 Speed: 8 Engine",
        ),
        (
            "arxml.dbc",
            "arxml.dbc: it looks like an ARXML, which this build does not read: build cangate with \
             `--features arxml`, or convert it to DBC",
            "",
        ),
        (
            "large.dbc",
            "large.dbc: it has more than 64 MiB",
            "a DBC of one bus",
        ),
    ];
    for (file, message, hint) in cases {
        let found = mistakes(&table(file));
        let [(Severity::Error, found, cure)] = found.as_slice() else {
            panic!("{file}: {found:?}");
        };
        assert!(found.starts_with(message), "{found}");
        assert!(cure.contains(hint), "{cure}");
    }
    let error = read(&ports(NAMED, "", ALL).replace("body.dbc", "none.dbc")).unwrap_err();
    let text = ports(NAMED, "", ALL).replace("body.dbc", "none.dbc");
    assert_eq!(&text[error[0].span.clone()], "'none.dbc'");
}

#[test]
fn wrong_tables_and_names_are_reported() {
    let one = |table: &str| {
        let found = mistakes(table);
        assert_eq!(found.len(), 1, "{found:?}");
        let (_, message, hint) = found.into_iter().next().unwrap();
        (message, hint)
    };
    let (message, hint) = one("[databases]\nbody = 'body.dbc'");
    assert_eq!(message, "`body` must be a table with the key `file`");
    assert_eq!(hint, "write `body.file = \"body.dbc\"`");
    let (message, hint) = one("[databases.body]");
    assert_eq!(message, "database `body` needs `file`");
    assert_eq!(hint, "add `file = \"body.dbc\"`");
    let (message, hint) = one("[databases.body]\nfile = 'body.dbc'\nbus = 'x'");
    assert_eq!(message, "database `body` has no key `bus`");
    assert!(hint.contains("`file`"), "{hint}");
    let (message, hint) = one("[databases.bode]\nfile = 'body.dbc'");
    assert_eq!(
        message,
        "port `a` names a database `body`, which does not exist"
    );
    assert_eq!(hint, "did you mean `bode`?");
    let (message, hint) = one("");
    assert_eq!(
        message,
        "port `a` names a database `body`, which does not exist"
    );
    assert!(hint.contains("[databases.body]"), "{hint}");
    let table = "[databases.body]\nfile = 'body.dbc'\n[databases.spare]\nfile = 'body.dbc'";
    let (message, _) = one(table);
    assert_eq!(message, "no port names database `spare`");
}

/// Without a function that reads files, none is read.
#[test]
fn load_alone_reads_no_file() {
    let text = ports(NAMED, "", ALL);
    let found = load(&SourceText::new("t", text), &PortKinds::standard()).unwrap_err();
    assert_eq!(
        found[0].message,
        "cannot read body.dbc: other files are not read here"
    );
}

#[test]
fn what_is_doubtful_is_listed_up_to_a_limit() {
    let found = mistakes("[databases.body]\nfile = 'doubtful.dbc'");
    let [(_, doubtful, lines), (_, contradictions, contradiction)] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(doubtful, "doubtful.dbc has 10 doubtful statements");
    assert_eq!(lines.lines().count(), 6, "{lines}");
    assert!(lines.starts_with("line 2: ID 4000 of W0 "), "{lines}");
    assert!(
        lines.ends_with("`cangate check --verbose` lists all"),
        "{lines}"
    );
    assert_eq!(contradictions, "doubtful.dbc has a contradiction");
    assert!(
        contradiction.starts_with("line 13: signal S of B: its maximum 16 is above 15"),
        "{contradiction}"
    );
    let text = ports(NAMED, "", ALL).replace("body.dbc", "doubtful.dbc");
    let all = good(&text).0.describe_all();
    assert_eq!(
        all.lines().filter(|line| line.contains(": ID 400")).count(),
        9,
        "{all}"
    );
    let double = "  line 12: B has the ID 001 of A in line 11: its frames are taken as A\n";
    assert_eq!(all.matches("line 12").count(), 1, "{all}");
    assert!(all.contains(double), "{all}");
}

#[test]
fn routes_have_the_names_of_their_ids() {
    let route = |keys: &str| {
        let (config, _) = good(&ports(NAMED, "", &format!("{ALL}{keys}\n")));
        config.carried()[0].words(false)
    };
    let words = |keys: &str| route(keys).unwrap();
    assert_eq!(words("id = '1A0'"), "1A0 EngineData");
    assert_eq!(words("id = '1A0-1AF'"), "1A0 EngineData, 1A1 GearData");
    assert_eq!(
        words("filter = '1A0~C00007FF'"),
        "1A1 GearData, 18FEF1FE Vehicle"
    );
    assert_eq!(
        words("id = ['1A0', '1A7']"),
        "1A0 EngineData; not in the database: 1A7"
    );
    assert_eq!(words("id = '1A7'"), "none of the database");
    assert_eq!(words(""), "all 3 of the database");
    assert_eq!(words("kind = 'fd'"), "all 0 of the database");
    // A parameter group of another source address.
    assert_eq!(words("id = '18FEF121'"), "18FEF1FE Vehicle");
    // Conditions on the payload, limits and actions do not count.
    let keys = "id = '1A0'\npayload = { value = '01' }\nlimit = '1/s'\ndo = [{ id_offset = 1 }]";
    assert!(words(keys).starts_with("1A0 EngineData"), "{keys}");
    let (config, _) = good(&ports("", NAMED, ALL));
    assert_eq!(
        config.carried()[0].words(false),
        None,
        "the database of the other port"
    );
}

/// A route that drops frames ends the search for others, but not here.
#[test]
fn every_route_has_its_own_names() {
    let drop = "[[routes]]\nfrom = 'a'\ndrop = true\nid = '1A0'\n";
    let (config, _) = good(&ports(NAMED, "", &format!("{drop}{ALL}id = '1A0-1A1'\n")));
    let names: Vec<_> = config.carried().iter().map(|one| one.named.len()).collect();
    assert_eq!(names, [1, 2]);
    let text = config.describe();
    assert!(
        text.contains("\n  messages: 1A0 EngineData, 1A1 GearData\n"),
        "{text}"
    );
    let words = "\n  messages: 3 messages of database body (body.dbc)\n";
    assert!(text.contains(words), "{text}");
}

#[test]
fn messages_that_no_route_carries_to_their_receivers_are_noted() {
    let (a, b) = (
        "database = 'body'\nnodes = ['Engine', 'Gear']",
        "database = 'body'\nnodes = 'Dash'",
    );
    let missed = |a: &str, b: &str, keys: &str| {
        let (config, warnings) = good(&ports(a, b, &format!("{ALL}{keys}\n")));
        assert_eq!(warnings, []);
        let all = config.missed();
        all.iter().map(|one| one.message.id).collect::<Vec<_>>()
    };
    let gear = CanId::sff(0x1A1).unwrap();
    assert_eq!(missed(a, b, "id = '1A0'"), [gear]);
    assert_eq!(missed(a, b, ""), []);
    // Without the nodes of the sending bus, every message of its database may come from there.
    assert_eq!(missed(NAMED, b, "id = '1A0'"), [gear]);
    // Without nodes of the receiving bus, nothing is known.
    assert_eq!(missed(a, NAMED, "id = '1A0'"), []);
    let (config, _) = good(&ports(a, b, &format!("{ALL}id = '1A0'\n")));
    let text = config.describe();
    let note = "note: no route carries 1A1 GearData of Gear from a to b, where Dash receives it\n";
    assert!(text.ends_with(note), "{text}");
}

#[test]
fn nodes_need_a_database_that_has_them() {
    let found = read(&ports("nodes = 'Dash'", NAMED, ALL)).unwrap_err();
    assert_eq!(
        found[0].message,
        "port `a` has `nodes`, but no `database` that has them"
    );
    let (_, warnings) = good(&ports(
        "database = 'body'\nnodes = ['Dash', 'Dask']",
        "",
        ALL,
    ));
    let [one] = warnings.as_slice() else {
        panic!("{warnings:?}");
    };
    assert_eq!(
        one.message,
        "node `Dask` neither sends nor receives a message of body.dbc"
    );
    assert_eq!(one.hint, "did you mean `Dash`?");
}
