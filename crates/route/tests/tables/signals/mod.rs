//! Routes by message and signal: texts against databases, and what they do to frames.

mod mistakes;

use crate::common::{Event, Owned, arrival, decide, table};
use ::config::{Diagnostic, Diagnostics, Severity, SourceText, TomlDocument};
use cangate_route::config::{NamedDatabase, PortAlias, describe, parse, to_toml};
use cangate_route::*;
use frame::Kind;
use proptest::prelude::*;
use std::sync::Arc;

pub(crate) const DATABASE: &str = r#"VERSION ""
BU_: Engine Gateway

BO_ 256 EngineData: 8 Engine
 SG_ VehicleSpeed : 0|16@1+ (0.01,0) [0|655.35] "km/h" Gateway
 SG_ Temperature : 16|12@1- (0.1,-40) [-40|160] "°C" Gateway
 SG_ Gear : 28|4@1+ (1,0) [0|0] "" Gateway
 SG_ DisplaySpeed : 39|8@0+ (1,0) [0|250] "km/h" Gateway
 SG_ Source : 40|8@1+ (1,0) [0|0] "" Gateway
 SG_ Raw : 48|8@1+ (1,0) [0|0] "" Gateway
 SG_ Copy : 56|8@1+ (1,0) [0|0] "" Gateway

BO_ 257 Muxed: 8 Engine
 SG_ Kind M : 0|8@1+ (1,0) [0|0] "" Gateway
 SG_ A m0 : 8|16@1+ (0.5,0) [0|0] "" Gateway
 SG_ B m1 : 8|8@1+ (1,0) [0|0] "" Gateway
 SG_ C m3 : 16|8@1+ (1,0) [0|0] "" Gateway
 SG_ Both : 56|8@1+ (1,0) [0|0] "" Gateway
 SG_ Half : 60|4@1+ (1,0) [0|0] "" Gateway

BO_ 258 Twice: 8 Engine
 SG_ X : 0|8@1+ (1,0) [0|0] "" Gateway

BO_ 259 Twice: 8 Engine
 SG_ Y : 0|8@1+ (1,0) [0|0] "" Gateway

BO_ 2566844414 EEC1: 8 Engine
 SG_ EngineSpeed : 24|16@1+ (0.125,0) [0|8031.875] "rpm" Gateway

BO_ 2348875267 TSC1: 8 Engine
 SG_ Mode : 0|2@1+ (1,0) [0|3] "" Gateway

BO_ 261 SignedSwitch: 8 Engine
 SG_ Mode M : 0|8@1- (1,0) [0|0] "" Gateway
 SG_ Positive m1 : 8|8@1+ (1,0) [0|0] "" Gateway
 SG_ Negative m254 : 8|8@1+ (1,0) [0|0] "" Gateway

BA_DEF_ BO_ "VFrameFormat" ENUM "StandardCAN","ExtendedCAN","reserved","J1939PG";
BA_DEF_DEF_ "VFrameFormat" "StandardCAN";
BA_ "VFrameFormat" BO_ 2566844414 3;
BA_ "VFrameFormat" BO_ 2348875267 3;
SG_MUL_VAL_ 257 C Kind 3-5, 9-9;
SG_MUL_VAL_ 261 Positive Mode 1-3;
SG_MUL_VAL_ 261 Negative Mode 254-255;
VAL_ 256 Gear 0 "Park" 1 "Drive" 2 "Reverse" 14 "Error" 15 "Error";
"#;

/// The ports: `engine` and `twin` have databases in which `EngineData` is the same, `other` has
/// another one, `bare` has none.
pub(crate) const PORTS: [&str; 5] = ["engine", "twin", "other", "bare", "out"];

fn database(name: &str, text: &str) -> Arc<NamedDatabase> {
    Arc::new(NamedDatabase {
        name: name.into(),
        file: format!("{name}.dbc"),
        messages: ::signals::dbc::read(text.as_bytes()).unwrap(),
    })
}

fn database_of(port: PortId) -> Option<Arc<NamedDatabase>> {
    match port.0 {
        0 => Some(database("powertrain", DATABASE)),
        1 => Some(database("copy", DATABASE)),
        2 => {
            let other = DATABASE.replace("(0.01,0) [0|655.35]", "(0.02,0) [0|655.35]");
            Some(database(
                "body",
                &other.replace("BO_ 257 Muxed", "BO_ 257 Window"),
            ))
        }
        _ => None,
    }
}

pub(crate) fn ports() -> Vec<String> {
    PORTS.map(String::from).to_vec()
}

pub(crate) fn read(text: &str) -> (Vec<Route>, Vec<Diagnostic>) {
    let source = SourceText::new("t", text);
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(&source, &mut found);
    let mut root = document.root();
    let meant = |_: &str| -> Vec<PortAlias> { Vec::new() };
    let parsed = parse(&mut root, &ports(), &meant, &database_of, &mut found);
    root.finish(&mut found);
    (parsed.routes, found.into_sorted())
}

/// A route from `engine` to `out` with these lines, without mistakes or warnings.
fn route(lines: &str) -> Route {
    let (mut routes, found) = read(&format!(
        "[[routes]]\nfrom = 'engine'\nto = 'out'\n{lines}\n"
    ));
    let errors: Vec<_> = found
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{lines}: {errors:?}");
    routes.remove(0)
}

/// The result of a route for a frame: what is forwarded or why it stops; `None`: not taken.
fn result(route: &Route, id: u32, data: &[u8]) -> Option<Result<Vec<u8>, StopReason>> {
    let mut route = route.clone();
    route.to = vec![PortId(1)];
    let table = table(vec![route]);
    let frame = Owned::new(Kind::Classic, id, data);
    let events = decide(&table, &mut table.memory(), arrival(0), &frame);
    events.into_iter().find_map(|event| match event {
        Event::Forward { frame, .. } => Some(Ok(frame.data)),
        Event::Stopped(_, why) => Some(Err(why)),
        Event::Taken(_) => None,
    })
}

fn is_taken(lines: &str, id: u32, data: &[u8]) -> bool {
    result(&route(lines), id, data).is_some()
}

fn takes(when: &str, data: &[u8]) -> bool {
    is_taken(
        &format!("message = 'EngineData'\nwhen = \"{when}\""),
        0x100,
        data,
    )
}

fn muxed(when: &str, data: &[u8]) -> bool {
    is_taken(
        &format!("message = 'Muxed'\nwhen = \"{when}\""),
        0x101,
        data,
    )
}

#[test]
fn a_message_stands_for_its_id() {
    assert!(is_taken("message = 'EngineData'", 0x100, &[]));
    assert!(!is_taken("message = 'EngineData'", 0x101, &[]));
    let two = "message = ['EngineData', 'Muxed']";
    assert!(is_taken(two, 0x100, &[]) && is_taken(two, 0x101, &[]) && !is_taken(two, 0x102, &[]));
    let second = "message = 'Twice'\nid = '103'";
    assert!(is_taken(second, 0x103, &[]) && !is_taken(second, 0x102, &[]));
}

#[test]
fn a_group_of_j1939_has_any_source_and_priority() {
    const EFF: u32 = 0x8000_0000;
    let eec1 = "message = 'EEC1'";
    let id = ::signals::dbc::read(DATABASE.as_bytes()).unwrap().messages[4]
        .id
        .number();
    for changed in [id, id ^ 0xFF, id ^ 0x0400_0000] {
        assert!(is_taken(eec1, EFF | changed, &[]), "{changed:08X}");
    }
    for changed in [id ^ 0x100, id ^ 0x1_0000, id ^ 0x0100_0000] {
        assert!(!is_taken(eec1, EFF | changed, &[]), "{changed:08X}");
    }
    // Its PDU format is below F0, so that the low byte of the group is a destination.
    let tsc1 = ::signals::dbc::read(DATABASE.as_bytes()).unwrap().messages[5]
        .id
        .number();
    assert!(is_taken("message = 'TSC1'", EFF | tsc1 ^ 0xFF00, &[]));
}

#[test]
fn comparisons_are_of_physical_values() {
    let speed = |raw: u16| raw.to_le_bytes();
    assert!(!takes("VehicleSpeed > 5 km/h", &speed(500)));
    assert!(takes("VehicleSpeed > 5 km/h", &speed(501)));
    assert!(takes("VehicleSpeed >= 5", &speed(500)));
    assert!(takes(
        "EngineData.VehicleSpeed == 655.35 km/h",
        &speed(65535)
    ));
    // −41.6 °C.
    assert!(takes("Temperature < -41.5 °C", &[0, 0, 0xF0, 0x0F]));
    assert!(!takes("Temperature < -41.6 °C", &[0, 0, 0xF0, 0x0F]));
    assert!(takes("Gear == 'Drive'", &[0, 0, 0, 0x10]));
    assert!(takes("Gear != \\\"Drive\\\"", &[0, 0, 0, 0x20]));
    for (raw, expected) in [(0x0D, false), (0x0E, true), (0x0F, true)] {
        assert_eq!(takes("Gear == 'Error'", &[0, 0, 0, raw << 4]), expected);
        assert_eq!(takes("!(Gear == 'Error')", &[0, 0, 0, raw << 4]), !expected);
    }
}

#[test]
fn comparisons_are_joined_as_in_c() {
    let data = |gear: u8, source: u8, raw: u8| [0, 0, 0, gear << 4, 0, source, raw, 0];
    let when = "Gear == 1 || Source == 2 && Raw == 3";
    assert!(takes(when, &data(1, 0, 0)));
    assert!(takes(when, &data(0, 2, 3)));
    assert!(!takes(when, &data(0, 2, 0)));
    let when = "(Gear == 1 || Source == 2) && Raw == 3";
    assert!(!takes(when, &data(1, 0, 0)));
    assert!(takes(when, &data(1, 0, 3)));
    let when = "!(Gear == 1 || Source == 2) && !!(Raw == 3)";
    assert!(takes(when, &data(0, 0, 3)) && !takes(when, &data(0, 2, 3)));
    for source in 0..9 {
        let data = data(0, source, 0);
        assert_eq!(takes("Source in 3..5", &data), (3..=5).contains(&source));
        assert_eq!(
            takes("!(Source in 3..5)", &data),
            !(3..=5).contains(&source)
        );
        assert_eq!(takes("Source in (1, 4)", &data), matches!(source, 1 | 4));
        assert_eq!(
            takes("!(Source in (1, 4))", &data),
            !matches!(source, 1 | 4)
        );
    }
    assert!(takes("Gear in ('Park', 'Reverse')", &data(2, 0, 0)));
}

#[test]
fn an_absent_signal_passes_neither_a_comparison_nor_its_negation() {
    for data in [&[][..], &[0, 0, 0, 0, 0]] {
        assert!(!takes("Source == 0", data));
        assert!(!takes("!(Source == 0)", data));
        assert!(!takes("Source in 0..200", data));
    }
    assert!(takes("Source == 0", &[0; 6]));
}

#[test]
fn a_multiplexed_signal_is_compared_where_it_is_present() {
    assert!(muxed("A > 2", &[0, 5, 0]));
    assert!(!muxed("A > 2", &[1, 5, 0]));
    assert!(!muxed("!(A > 2)", &[1, 0, 0]));
    assert!(muxed("!(A > 2)", &[0, 4, 0]));
    for kind in 0..12 {
        let is_present = matches!(kind, 3..=5 | 9);
        assert_eq!(muxed("C == 7", &[kind, 0, 7]), is_present);
        assert_eq!(muxed("C != 7", &[kind, 0, 8]), is_present);
    }
}

#[test]
fn signals_are_written() {
    let lines = "message = 'EngineData'\ndo = [{ signal = { Source = 3, Gear = 'Drive', \
                 DisplaySpeed = { from = 'VehicleSpeed', overflow = 'saturate' } } }]";
    let route = route(lines);
    // 49.5 km/h, halves away from zero.
    let data = [0x56, 0x13, 0xFF, 0xFF, 0, 0, 0xAA, 0xBB];
    let expected = vec![0x56, 0x13, 0xFF, 0x1F, 50, 3, 0xAA, 0xBB];
    assert_eq!(result(&route, 0x100, &data), Some(Ok(expected)));
    // 600 km/h: the database states 250 as the highest value.
    let fast = [0x60, 0xEA, 0, 0, 0, 0, 0, 0];
    let expected = vec![0x60, 0xEA, 0, 0x10, 250, 3, 0, 0];
    assert_eq!(result(&route, 0x100, &fast), Some(Ok(expected)));
    assert_eq!(
        result(&route, 0x100, &fast[..5]),
        Some(Err(StopReason::Absent))
    );
}

#[test]
fn a_value_out_of_range_is_treated_as_the_route_states() {
    let written = |overflow: &str, data: &[u8]| {
        let lines = format!(
            "message = 'EngineData'\ndo = [{{ signal = {{ DisplaySpeed = {{ from = 'VehicleSpeed', \
             overflow = {overflow} }} }} }}]"
        );
        result(&route(&lines), 0x100, data)
    };
    let fast = [0x60, 0xEA, 0, 0, 0];
    assert_eq!(written("'drop'", &fast), Some(Err(StopReason::OutOfRange)));
    let substituted = written("{ substitute = 255 }", &fast);
    assert_eq!(substituted, Some(Ok(vec![0x60, 0xEA, 0, 0, 255])));
}

#[test]
fn two_signals_are_swapped() {
    let lines = "message = 'EngineData'\ndo = [{ signal = { Raw = { from = 'Copy' }, Copy = { from = 'Raw' } } }]";
    let data = [0, 0, 0, 0, 0, 0, 1, 2];
    assert_eq!(
        result(&route(lines), 0x100, &data),
        Some(Ok(vec![0, 0, 0, 0, 0, 0, 2, 1]))
    );
}

#[test]
fn a_multiplexed_signal_is_written_where_its_switch_is_tested_or_set() {
    route("message = 'Muxed'\nwhen = 'Kind == 0'\ndo = [{ signal = { A = 5 } }]");
    route("message = 'Muxed'\nwhen = 'A > 5'\ndo = [{ signal = { A = 5 } }]");
    route("message = 'Muxed'\nwhen = 'Kind in 4..5 || C == 3'\ndo = [{ signal = { C = 5 } }]");
    // A switch with a sign: the database lists its values by their bits.
    route("message = 'SignedSwitch'\nwhen = 'Mode in 1..3'\ndo = [{ signal = { Positive = 5 } }]");
    route(
        "message = 'SignedSwitch'\nwhen = 'Mode in -2..-1'\ndo = [{ signal = { Negative = 5 } }]",
    );
    let set = route("message = 'Muxed'\ndo = [{ signal = { Kind = 1, B = 9 } }]");
    assert_eq!(result(&set, 0x101, &[0, 0]), Some(Ok(vec![1, 9])));
}

#[test]
fn conditions_that_exclude_one_another_keep_routes_apart() {
    let doubled = |first: &str, second: &str| {
        let two = [first, second].map(|when| {
            let when = format!("message = 'EngineData'\nwhen = \"{when}\"");
            route(&when)
        });
        let routes = Routes {
            routes: two.to_vec(),
            ..Routes::default()
        };
        overlaps(&routes, &|port| port).doubled.len()
    };
    assert_eq!(doubled("Gear == 1", "Gear == 2"), 0);
    assert_eq!(doubled("Gear == 1", "Gear != 1"), 0);
    assert_eq!(doubled("Gear < 3 || Gear > 9", "Gear in 3..9"), 0);
    assert_eq!(doubled("Gear == 1", "Gear > 0"), 1);
    assert_eq!(doubled("Gear == 1", "Source == 1"), 1);
}

#[test]
fn routes_are_described_and_written_back() {
    let text = "[[routes]]\nname = \"speed\"\nfrom = \"engine\"\nto = \"out\"\nmessage = \"EngineData\"\n\
                when = \"VehicleSpeed > 5 km/h && Gear == 'Drive'\"\nid = \"100\"\n\
                do = [{ signal = { Source = 3, DisplaySpeed = { from = \"VehicleSpeed\", overflow = { substitute = 255 } } } }]\n\
                \n[[routes]]\nname = \"group\"\nfrom = \"engine\"\nto = \"out\"\nmessage = \"EEC1\"\n\
                \n[[routes]]\nname = \"two\"\nfrom = [\"engine\", \"twin\"]\nto = \"out\"\n\
                message = [\"EngineData\", \"Twice\"]\nid = \"100\"\n";
    let (routes, found) = read(text);
    let messages: Vec<_> = found.iter().map(|d| d.message.as_str()).collect();
    // The third route is wrong: its name is ambiguous.
    assert!(
        messages
            .iter()
            .any(|message| message.contains("2 messages `Twice`")),
        "{messages:?}"
    );
    let routes = &routes[..2];
    let written = to_toml(routes, &ports());
    assert!(
        written.starts_with(text.split("\n\n").next().unwrap()),
        "{written}"
    );
    let (again, found) = read(&written);
    let errors = found.iter().filter(|d| d.severity == Severity::Error);
    assert_eq!(errors.count(), 0, "{found:?}");
    assert_eq!(again, routes, "{written}");
    insta::assert_snapshot!(describe(&routes[0], &ports()));
}

proptest! {
    #[test]
    fn any_condition_is_read_without_panic(
        condition in "([ !(]{0,2}(VehicleSpeed|Gear|Temperature|A|.{0,3}) ?(==|!=|<|>=|in|=|) ?\\(?(-?[0-9.]{0,6}|'[a-zD]{0,6}'?)( ?[a-z/°]{0,5})[)]?( && | \\|\\| |)){1,4}",
        name in "(EngineData|Muxed)",
    ) {
        let text = format!("[[routes]]\nfrom = 'engine'\nto = 'out'\nmessage = '{name}'\nwhen = \"\"\"{condition}\"\"\"\n");
        let (routes, found) = read(&text);
        for d in &found {
            prop_assert!(text.get(d.span.clone()).is_some(), "{d:?}\n{text}");
        }
        let is_right = found.iter().all(|d| d.severity == Severity::Warning);
        if is_right && let [route] = routes.as_slice() {
            // The written route means the same.
            let (again, _) = read(&to_toml(&routes, &ports()));
            prop_assert_eq!(&again[0], route);
        }
    }

    #[test]
    fn any_assignment_is_read_without_panic(
        signal in "(VehicleSpeed|Gear|Temperature|A|Kind|B|Source|[a-z]{0,3})",
        value in "(-?[0-9]{1,6}(.[0-9]{1,3})?|'[a-zD]{0,6}'|\\{ from = '(Raw|Gear|A|Temperature)'(, overflow = ('drop'|'saturate'|\\{ substitute = [0-9]{1,3} \\}))? \\})",
        name in "(EngineData|Muxed)",
    ) {
        let text = format!("[[routes]]\nfrom = 'engine'\nto = 'out'\nmessage = '{name}'\ndo = [{{ signal = {{ {signal} = {value} }} }}]\n");
        let (routes, found) = read(&text);
        if found.is_empty() {
            let (again, found) = read(&to_toml(&routes, &ports()));
            prop_assert_eq!(found, vec![]);
            prop_assert_eq!(again, routes);
        }
    }
}
