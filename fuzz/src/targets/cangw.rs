//! can-gw's rules as text: rules that are accepted give a gateway file with the same meaning, and
//! after an export they are read as the same routes.

use crate::Target;
use config::SourceText;
use gateway::config::load;
use port::PortKinds;
use route::cangw::{export, import};
use route::{KernelPort, Routes};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "cangw",
    run,
    words: &[
        "cangw -A ",
        "cangw -D ",
        "cangw -F",
        "cangw -L",
        "-s can0 ",
        "-d can1 ",
        "-X ",
        "-t ",
        "-e ",
        "-i ",
        "-u 12345678 ",
        "-l 2 ",
        "-f 123:C00007FF ",
        "-f 80000123~DFFFFFFF ",
        "-m SET:IL:333.4.1122334455667788 ",
        "-m AND:ILD:7FF.8.00FF00FF00FF00FF ",
        "-M XOR:FL:123.1.40.",
        "-x 0:6:7:A5 ",
        "-x -8:-2:-1:FF ",
        "-c 0:6:7:FF:00:",
        "-p 1:42 ",
        "-p 3: ",
        "# 123 handled 4 dropped 5 deleted",
        "\"",
        "'",
        "\\\n",
        ";",
        "&& ",
    ],
};

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let source = SourceText::new("rules.sh", text);
    let imported = match import(&source) {
        Ok(imported) => imported,
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason");
            super::shown(&source, &found);
            return;
        }
    };
    let written = SourceText::new("gateway.toml", imported.toml.clone());
    match load(&written, &PortKinds::standard()) {
        Ok((config, _)) => {
            assert_eq!(config.routes, imported.routes, "{}", imported.toml);
            assert_eq!(config.port_names(), imported.ports);
        }
        Err(found) => panic!("{}", config::render(&written, &found, false)),
    }
    let ports: Vec<_> = imported
        .interfaces
        .iter()
        .map(KernelPort::new)
        .map(Some)
        .collect();
    let script = export(&imported.routes, &ports).expect("imported rules can be exported");
    let again = import(&SourceText::new("again.sh", script.clone())).expect("export writes rules");
    assert_eq!(
        nameless(again.routes),
        nameless(imported.routes),
        "{script}"
    );
    assert_eq!(again.interfaces, imported.interfaces, "{script}");
}

/// Names are comments for cangw, and not all of them are preserved as such.
fn nameless(mut routes: Routes) -> Routes {
    for route in &mut routes.routes {
        route.name.clear();
    }
    routes
}
