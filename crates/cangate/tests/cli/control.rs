//! `stats`, `routes` and `reload` of a gateway whose file has changed, or has become wrong.

use crate::gateway::Gateway;
use crate::{cangate, stderr, text};

const THREE: &str = "[[routes]]\nname = \"one\"\nfrom = \"in\"\nto = \"out\"\nid = \"100\"\n\
                     [[routes]]\nname = \"two\"\nfrom = \"in\"\nto = \"out\"\nid = \"200\"\n\
                     [[routes]]\nname = \"three\"\nfrom = \"in\"\nto = \"out\"\nid = \"300\"\n";

#[test]
fn a_reload_reports_what_became_of_the_routes() {
    let gateway = Gateway::start(THREE);
    let reload = |routes: &str| {
        gateway.write_routes(routes);
        let output = gateway.control("reload", &[]);
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    let message = reload(THREE);
    assert_eq!(message, "3 routes in force: 3 unchanged; ports: 2 kept\n");
    let message = reload(&THREE.replace("two", "deux").replace("\"100\"", "\"101\""));
    assert_eq!(
        message,
        "3 routes in force: 1 unchanged, 1 changed (one), 1 renamed (two → deux); ports: 2 kept\n"
    );
    let message = reload("[[routes]]\nname = \"new\"\nfrom = \"in\"\nto = \"out\"\n");
    assert_eq!(
        message,
        "1 routes in force: 0 unchanged, 1 added (new); 3 removed (one, deux, three); ports: 2 kept\n"
    );
    let all: Vec<&str> = THREE.split_inclusive("[[routes]]\n").collect();
    let part = |n: usize| format!("[[routes]]\n{}", all[n].trim_end_matches("[[routes]]\n"));
    reload(THREE);
    let message = reload(&[part(2), part(3), part(1)].concat());
    assert_eq!(
        message,
        "3 routes in force: 2 unchanged, 1 in another order (one); ports: 2 kept\n"
    );
}

#[test]
fn a_broken_file_leads_to_the_gateway_that_runs() {
    let gateway = Gateway::start(THREE);
    gateway.write_routes(&THREE.replace("from", "form"));
    let by_file = |command: &str| cangate().arg(command).arg(gateway.file()).output().unwrap();
    for command in ["stats", "routes"] {
        let output = by_file(command);
        assert!(output.status.success(), "{output:?}");
        assert!(text(&output.stdout).contains("three"), "{output:?}");
        let message = text(&output.stderr);
        assert!(message.starts_with("warning: "), "{message}");
        assert!(message.contains("cannot be used as it is now"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let output = by_file("reload");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.starts_with("error: route `one` needs `from`"),
        "{message}"
    );
    assert!(message.contains("gateway.toml:"), "{message}");
    let output = gateway.control("reload", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).starts_with("error: route `one` needs `from`"));
    // With valid routes, nothing is reported.
    gateway.write_routes(THREE);
    let output = by_file("stats");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn without_a_gateway_the_mistakes_of_the_file_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    let write = |text: &str| {
        let control = folder.path().join("none.sock");
        std::fs::write(&file, format!("[gateway]\ncontrol = {control:?}\n{text}")).unwrap();
    };
    for (broken, place, words) in [
        (
            "[port.a]\nkind = 'bus'\n",
            ":3:2",
            "did you mean [ports.a]?",
        ),
        ("[ports.a]\nkind = 'bus\n", ":4:", "error: "),
    ] {
        write(broken);
        for command in ["stats", "routes", "reload"] {
            let message = stderr(cangate().arg(command).arg(&file), 2);
            assert!(
                message.contains(place) && message.contains(words),
                "{command}: {message}"
            );
            assert!(
                !message.contains("no gateway listens"),
                "{command}: {message}"
            );
        }
    }
    // The file is valid: the gateway is missing.
    write("[ports.a]\nkind = 'bus'\n[ports.b]\nkind = 'bus'\n[[routes]]\nfrom = 'a'\nto = 'b'\n");
    for command in ["stats", "routes", "reload"] {
        let message = stderr(cangate().arg(command).arg(&file), 1);
        assert!(
            message.contains("no gateway listens"),
            "{command}: {message}"
        );
    }
}
