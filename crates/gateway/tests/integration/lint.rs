//! The messages of `cangate check` about files that are valid but probably not intended: each
//! message with its place and its remedy.

use config::{Diagnostic, Severity, SourceText};
use gateway::config::{GatewayConfig, load};
use port::PortKinds;

fn read(text: &str) -> (Option<GatewayConfig>, Vec<Diagnostic>) {
    match load(&SourceText::new("t", text), &PortKinds::standard()) {
        Ok((config, warnings)) => (Some(config), warnings),
        Err(errors) => (None, errors),
    }
}

/// Returns the only diagnostic: its message, its hint, and the text at its place.
fn only(text: &str) -> (Severity, String, String, String) {
    let (_, found) = read(text);
    let [one] = found.as_slice() else {
        panic!("{text}\n{found:?}");
    };
    assert!(!one.hint.is_empty(), "no cure: {one:?}");
    let place = text[one.span.clone()].to_owned();
    (one.severity, one.message.clone(), one.hint.clone(), place)
}

fn nothing(text: &str) {
    assert_eq!(read(text).1, [], "{text}");
}

const BUSES: &str = "[ports.a]\nkind = 'bus'\n[ports.b]\nkind = 'bus'\n";

fn routes(mode: &str, ports: &str, all: &[&str]) -> String {
    let mut text = format!("[gateway]\nmatch = '{mode}'\n{ports}");
    for (n, route) in all.iter().enumerate() {
        text.push_str(&format!("[[routes]]\nname = 'r{n}'\nfrom = 'a'\n{route}\n"));
    }
    text
}

#[test]
fn everything_and_a_changed_id_double_the_frame() {
    let changed = "to = 'b'\nid = '123'\ndo = [{ set = { id = '321' } }]";
    let (severity, message, hint, place) = only(&routes("all", BUSES, &["to = 'b'", changed]));
    assert_eq!(severity, Severity::Warning);
    assert_eq!(
        message,
        "frame 123 from port `a` is sent twice to port `b`: by route `r0` and by route `r1`"
    );
    assert!(hint.contains("match = \"first\""), "{hint}");
    assert_eq!(place, "[[routes]]");
    // The remedies.
    nothing(&routes("first", BUSES, &[changed, "to = 'b'"]));
    nothing(&routes("all", BUSES, &["to = 'b'\nid = '!123'", changed]));
    // One bus through two ports is one destination.
    let ports = format!("{BUSES}[ports.c]\nkind = 'bus'\nbus = 'b'\n");
    let (_, message, ..) = only(&routes(
        "all",
        &ports,
        &["to = 'b'", "to = 'c'\nid = '18FF0000'"],
    ));
    assert!(
        message.starts_with("frame 18FF0000 from port `a` is sent twice to port `c`"),
        "{message}"
    );
}

#[test]
fn a_route_behind_a_wider_one_or_a_drop_is_named() {
    let narrow = "to = 'b'\nid = '120-12F'";
    for (mode, wide) in [
        ("first", "to = 'b'\nid = '100-1FF'"),
        ("all", "drop = true\nid = '100-1FF'"),
    ] {
        let (_, message, hint, _) = only(&routes(mode, BUSES, &[wide, narrow]));
        assert_eq!(message, "no frame reaches route `r1`");
        assert!(
            hint.starts_with("route `r0` before it takes all its frames"),
            "{hint}"
        );
        nothing(&routes(mode, BUSES, &[narrow, "to = 'b'\nid = '200-2FF'"]));
    }
    let (_, message, hint, _) = only(&routes(
        "all",
        BUSES,
        &["to = 'b'", "drop = true\nid = '123'"],
    ));
    assert!(
        message.starts_with("route `r1` drops frames that are sent already"),
        "{message}"
    );
    assert_eq!(hint, "put it before route `r0`");
}

#[test]
fn a_mistake_in_a_route_makes_no_second_one_of_its_neighbours() {
    // Without its `id`, the first route would take everything.
    let (severity, message, hint, place) = only(&routes(
        "first",
        BUSES,
        &["to = 'b'\nid = 0x123", "to = 'b'\nid = '200'"],
    ));
    assert_eq!(severity, Severity::Error);
    assert_eq!(message, "`id` must be a string of hex digits");
    assert!(hint.contains("\"123\""), "{hint}");
    assert_eq!(place, "0x123");
}

#[test]
fn map_id_of_both_formats_and_chains_are_named() {
    let map = "to = 'b'\ndo = [{ map_id = { from = '100-17F', to = '400' } }]";
    let (_, message, hint, _) = only(&routes("all", BUSES, &[map]));
    assert!(message.contains("of both formats"), "{message}");
    assert!(hint.contains("`id = \"100-17F\"`"), "{hint}");
    nothing(&routes("all", BUSES, &[&format!("{map}\nid = '100-17F'")]));
    let swap = "to = 'b'\nid = '100-2FF'\n\
                do = [{ map_id = { from = '100', to = '200' } }, { map_id = { from = '200', to = '100' } }]";
    let (_, message, ..) = only(&routes("all", BUSES, &[swap]));
    assert!(message.contains("maps IDs twice"), "{message}");
}

#[test]
fn frames_that_a_port_never_has_are_named() {
    let fd = "[ports.a]\nkind = 'bus'\ndata_bitrate = '2M'\n[ports.b]\nkind = 'bus'\n";
    let (_, message, hint, _) = only(&routes("all", fd, &["to = 'b'"]));
    assert!(
        message.starts_with("FD frames from port `a` never leave by port `b`"),
        "{message}"
    );
    assert!(hint.contains("kind = \"classic\""), "{hint}");
    nothing(&routes("all", fd, &["to = 'b'\nkind = 'classic'"]));
    for (a, b) in [
        ("bitrate = '500k'\ndata_bitrate = '2M'", "bitrate = '500k'"),
        ("bitrate = '500k'\ndata_bitrate = '2M'", "fd = false"),
    ] {
        let ports =
            format!("[ports.a]\nkind = 'socketcan'\n{a}\n[ports.b]\nkind = 'socketcan'\n{b}\n");
        let (_, message, ..) = only(&routes("all", &ports, &["to = 'b'"]));
        assert!(message.starts_with("FD frames from port `a`"), "{message}");
    }
    let sockets = "[ports.a]\nkind = 'socketcan'\n[ports.b]\nkind = 'socketcan'\n";
    nothing(&routes("all", sockets, &["to = 'b'"]));
    let (_, message, hint, _) = only(&routes("all", sockets, &["to = 'b'\nkind = 'xl'"]));
    assert_eq!(
        message,
        "no frame reaches route `r0`: it takes XL frames, and port `a` has none of them"
    );
    assert!(hint.contains("xl = true"), "{hint}");
}

#[test]
fn can_gw_takes_routes_from_ports_without_xl() {
    let file = |xl: &str| {
        format!(
            "[gateway]\noffload = 'can-gw'\n[ports.a]\nkind = 'socketcan'\n{xl}\n\
             [ports.b]\nkind = 'socketcan'\n[[routes]]\nfrom = 'a'\nto = 'b'\n"
        )
    };
    nothing(&file(""));
    let config = read(&file("")).0.unwrap();
    let rules = route::cangw::rules(&config.kernel_routes(), &config.kernel_ports()).unwrap();
    assert_eq!(
        rules.len(),
        2,
        "one for classic frames and one for FD frames"
    );
    let (severity, message, ..) = only(&file("xl = true"));
    assert_eq!(severity, Severity::Error);
    assert!(message.contains("it takes XL frames too"), "{message}");
}

#[test]
fn an_interface_in_place_of_a_port_leads_to_the_port() {
    let ports = "[ports.a]\nkind = 'bus'\n\
                 [ports.engine]\nkind = 'socketcan'\ninterface = 'can0'\n\
                 [ports.body]\nkind = 'bus'\nbus = 'comfort'\n\
                 [ports.record]\nkind = 'log'\nwrite = 'drive.log'\n";
    for (name, port, what) in [
        ("can0", "engine", "interface"),
        ("comfort", "body", "bus"),
        ("drive.log", "record", "file"),
    ] {
        let (severity, message, hint, place) =
            only(&routes("all", ports, &[&format!("to = '{name}'")]));
        assert_eq!(severity, Severity::Error);
        assert_eq!(message, format!("there is no port `{name}`"));
        assert_eq!(
            hint,
            format!("write `{port}`, the name of the port: `{name}` is its {what}")
        );
        assert_eq!(place, format!("'{name}'"));
    }
}

#[test]
fn files_of_another_kind_are_named() {
    let dbc = "VERSION \"\"\n\nBU_: Pump\n\nBO_ 256 PumpState: 8 Pump\n SG_ Flow : 0|8@1+ (1,0) [0|255] \"\" Valve\n";
    let (severity, message, hint, _) = only(dbc);
    assert_eq!(severity, Severity::Error);
    assert_eq!(message, "this is a DBC, not TOML");
    assert!(hint.contains("--from-dbc"), "{hint}");
    let (_, message, hint, _) = only("[buses.a]\nbitrate = '500k'\n[[messages]]\nid = '123'\n");
    assert_eq!(message, "this is a message set, not a gateway file");
    assert!(hint.contains("cangate bound"), "{hint}");
}
