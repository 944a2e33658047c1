use super::*;
use config::Source;
use port::spec::PortKind;

const SIMPLE: &str = r#"
[gateway]
match = "first"
realtime = false

[ports.powertrain]
kind = "bus"
[ports.body]
kind = "bus"

[[routes]]
from = "powertrain"
to = "body"
id = ["123", "200-2FF"]
"#;

#[test]
fn a_simple_file() {
    let (config, warnings) = load(&Source::new("t", SIMPLE)).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(config.port_names(), ["powertrain", "body"]);
    assert!(matches!(&config.ports[1].kind, PortKind::Bus(b) if b.bus == "body"));
    assert_eq!(config.options.realtime, None);
    assert!(config.options.lock_memory);
    assert_eq!(config.routes.mode, route::Mode::First);
    assert_eq!(config.routes.routes[0].name, "route 1");
    assert_eq!(config.routes.routes[0].matching.ids.len(), 2);
}
