//! `cangate import` and `cangate export`: can-gw's rules there and back.

use crate::{cangate, stderr, stdout};
use std::path::Path;

/// A script as a user of can-utils writes it.
const RULES: &str = "\
#!/bin/sh
# engine to body
cangw -A -s can0 -d can1 -f 123:C00007FF -m SET:I:321.0.0000000000000000
cangw -A -s can0 -d can1 -e -t -f 200~700 -m AND:D:000.0.FF00FF00FF00FF00 -x 0:6:7:A5
cangw -A -s can1 -d can0 -l 2
";

fn import(folder: &Path, name: &str, rules: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, rules).unwrap();
    stdout(cangate().arg("import").arg(&file), 0)
}

fn export(folder: &Path, config: &str) -> String {
    let file = folder.join("gateway.toml");
    std::fs::write(&file, config).unwrap();
    stdout(cangate().args(["check"]).arg(&file), 0);
    stdout(cangate().args(["export", "--cangw"]).arg(&file), 0)
}

#[test]
fn rules_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let config = import(folder.path(), "rules.sh", RULES);
    let rules = export(folder.path(), &config);
    assert_eq!(rules.matches("cangw -A").count(), 3, "{rules}");
    // The exported rules have the same meaning as the first ones.
    assert_eq!(import(folder.path(), "again.sh", &rules), config);
}

#[test]
fn a_wrong_rule_is_shown_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.sh");
    std::fs::write(
        &file,
        "cangw -A -s can0 -d can1\ncangw -A -s can0 -d can1 -m SET:Q:1.2.3\n",
    )
    .unwrap();
    let err = stderr(cangate().arg("import").arg(&file), 2);
    assert!(err.contains("rules.sh:2:") && err.contains('^'), "{err}");
}

#[test]
fn what_can_gw_cannot_express_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    let config = "\
[ports.a]
kind = \"socketcan\"
interface = \"can0\"
[ports.b]
kind = \"socketcan\"
interface = \"can1\"
[[routes]]
name = \"fine\"
from = \"a\"
to = \"b\"
filter = \"123:C00007FF\"
kind = \"classic\"
[[routes]]
name = \"too clever\"
from = \"a\"
to = \"b\"
limit = { rate = \"10/s\" }
";
    std::fs::write(&file, config).unwrap();
    let err = stderr(cangate().args(["export", "--cangw"]).arg(&file), 2);
    assert!(err.contains("too clever"), "{err}");
}

#[test]
fn an_existing_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.sh");
    let output = folder.path().join("gateway.toml");
    std::fs::write(&rules, RULES).unwrap();
    std::fs::write(&output, "mine").unwrap();
    let mut command = cangate();
    command
        .arg("import")
        .arg(&rules)
        .arg("--output")
        .arg(&output);
    assert_ne!(command.output().unwrap().status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "mine");
}

#[test]
fn a_port_with_faults_is_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faulty.toml");
    let text = "[ports.a]\nkind = 'socketcan'\nfaults = { receive = { drop = 0.5 } }\n\
                [ports.b]\nkind = 'socketcan'\n\
                [[routes]]\nname = 'r'\nfrom = 'a'\nto = 'b'\nkind = 'classic'\n";
    std::fs::write(&file, text).unwrap();
    let err = stderr(cangate().args(["export", "--cangw"]).arg(&file), 2);
    assert!(err.contains("route `r`: port `a` injects faults"), "{err}");
}
