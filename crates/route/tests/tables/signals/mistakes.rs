//! Each mistake by its message, its place and its hint.

use super::read;
use ::config::Severity;
use std::fmt::Write as _;

/// The mistakes of a route, each with the text at its place.
fn mistakes(lines: &str) -> String {
    let text = format!("[[routes]]\nfrom = 'engine'\nto = 'out'\n{lines}\n");
    let mut all = String::new();
    for d in read(&text).1 {
        let word = match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = text.get(d.span.clone()).unwrap();
        let hint = &d.hint;
        writeln!(all, "{word} at `{place}`: {} ({hint})", d.message).unwrap();
    }
    all
}

fn when(condition: &str) -> String {
    mistakes(&format!("message = 'EngineData'\nwhen = \"{condition}\""))
}

fn signal(assignments: &str) -> String {
    mistakes(&format!(
        "message = 'EngineData'\ndo = [{{ signal = {{ {assignments} }} }}]"
    ))
}

#[test]
fn of_messages() {
    let all = [
        "message = 'EngineDat'",
        "message = 'Window'",
        "message = []",
        "message = 'EngineData'\nid = '200'",
        "message = 'EngineData'\nfilter = '100:7FF'",
        "message = 'EngineData'\npgn = 'FEF1'\nsource = '2A'",
        "message = 'EngineData'\nexcept = '101'",
        "message = 'Twice'",
        "message = ['Twice', 'Muxed']",
        "when = 'A > 5'",
        "do = [{ signal = { A = 5 } }]",
        "message = ['EngineData', 'Muxed']\nwhen = 'A > 5'",
        "message = 'EngineData'\nwhen = 'Copy == 1'\nlength = 3",
    ];
    let mut text: String = all.map(mistakes).concat();
    for from in ["['engine', 'other']", "['engine', 'bare']", "'bare'"] {
        let toml = format!("[[routes]]\nfrom = {from}\nto = 'out'\nmessage = 'EngineData'\n");
        for d in read(&toml).1 {
            writeln!(text, "{from}: {} ({})", d.message, d.hint).unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn of_conditions() {
    let all = [
        "",
        "VehicleSpeed",
        "VehicleSpeed >",
        "VehicleSpeed > > 5",
        "VehicleSpeed = 5",
        "VehicleSpeed > 5 & Gear == 1",
        "VehicleSpeed > 5 Gear == 1",
        "VehicleSpeed > 5 km/h Gear == 1",
        "VehicleSpeed > 5 and Gear == 1",
        "(VehicleSpeed > 5",
        "VehicleSpeed > 5)",
        "!VehicleSpeed > 5",
        "5 < VehicleSpeed",
        "VehicleSped > 5",
        "Muxed.A > 5",
        "EngineData. > 5",
        "VehicleSpeed > 5 mph",
        "Source > 5 km/h",
        "VehicleSpeed == 5.005",
        "VehicleSpeed > 700 km/h",
        "VehicleSpeed >= 0",
        "VehicleSpeed != 0.001",
        "VehicleSpeed > 1e9999",
        "VehicleSpeed in 3..",
        "VehicleSpeed in 700..800",
        "VehicleSpeed in 0..800",
        "!(VehicleSpeed in 0..800)",
        "VehicleSpeed in (3, 4",
        "Gear == 'Drivee'",
        "Gear == Drive",
        "Gear > 'Drive'",
        "Gear == 'Drive",
        "Source == 'x'",
        "Gear == 1 && Gear == 2",
        "Source in (1, 2, 3, 4, 5) && Raw in (1, 2, 3, 4)",
    ];
    let mut text = String::new();
    for condition in all {
        write!(text, "{condition}\n{}", when(condition)).unwrap();
    }
    let deep = format!("{}Gear == 1{}", "(".repeat(40), ")".repeat(40));
    write!(text, "40 parentheses\n{}", when(&deep)).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn of_assignments() {
    let all = [
        "",
        "Sorce = 3",
        "Source = 300",
        "Source = 0.5",
        "Source = true",
        "Source = 'x'",
        "Gear = 'Error'",
        "Gear = 'Drivee'",
        "VehicleSpeed = 5.005",
        "VehicleSpeed = 1e9999",
        "DisplaySpeed = 251",
        "Temperature = 180",
        "DisplaySpeed = { from = 'VehicleSpeed' }",
        "DisplaySpeed = { from = 'VehicleSped', overflow = 'drop' }",
        "DisplaySpeed = { from = 'VehicleSpeed', overflow = 'wrap' }",
        "DisplaySpeed = { from = 'VehicleSpeed', overflow = { substitute = 300 } }",
        "DisplaySpeed = { overflow = 'drop' }",
        "Raw = { from = 'Gear', overflow = 'drop' }",
        "Raw = { from = 'Copy', too = 1 }",
    ];
    let mut text = String::new();
    for assignments in all {
        write!(text, "{assignments}\n{}", signal(assignments)).unwrap();
    }
    for assignments in [
        "A = 5",
        "Kind = 1",
        "Both = 1",
        "Both = 1, Half = 1",
        "Both = { from = 'B' }",
    ] {
        let lines = format!("message = 'Muxed'\ndo = [{{ signal = {{ {assignments} }} }}]");
        write!(text, "{assignments}\n{}", mistakes(&lines)).unwrap();
    }
    let other = "message = 'Muxed'\nwhen = 'Kind == 1'\ndo = [{ signal = { A = 1 } }]";
    write!(text, "A, Kind is 1\n{}", mistakes(other)).unwrap();
    let signed = "message = 'SignedSwitch'\ndo = [{ signal = { Negative = 1 } }]";
    write!(text, "Negative\n{}", mistakes(signed)).unwrap();
    insta::assert_snapshot!(text);
}
