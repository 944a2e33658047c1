//! The package and its unit in a real systemd: in a guest, as the first process of a Debian system.

use super::documents::{root, typed};
use super::lab;
use super::script::{parts, printed};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages that the system must have in addition to dpkg.
const PACKAGES: [&str; 6] = ["systemd", "iproute2", "can-utils", "kmod", "curl", "procps"];

/// Creates a Debian system with systemd as an archive, without files that are only for people to
/// read.
fn archive(folder: &Path) -> PathBuf {
    let lab = guest::Lab::open(&guest::Locations::default()).unwrap();
    let system = lab.debian(&PACKAGES, &guest::SilentProgress).unwrap();
    let archive = folder.join("debian.tar");
    let spared = ["doc", "locale", "man", "i18n", "zoneinfo"];
    let done = Command::new("tar")
        .arg("-C")
        .arg(system)
        .args(spared.map(|name| format!("--exclude=./usr/share/{name}")))
        .arg("--exclude=./usr/lib/x86_64-linux-gnu/gconv")
        .args(["--owner=0", "--group=0", "-cf"])
        .arg(&archive)
        .arg(".")
        .status()
        .unwrap();
    assert!(done.success());
    archive
}

/// Returns the gateway's package made by `cargo xtask package`; those of the laboratory and for
/// other processors are next to it.
fn package() -> Option<PathBuf> {
    let folder = std::fs::read_dir(root().join("target/package")).ok()?;
    let mut files = folder.flatten().map(|entry| entry.path());
    files.find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("cangate_") && name.ends_with("_amd64.deb")
    })
}

/// Parses the number in `→ Overall exposure level for cangate@body.service: 1.3 OK`.
fn exposure(line: &str) -> f64 {
    let (_, rest) = line.rsplit_once(": ").unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "boots a guest"]
fn the_package_is_a_service_of_systemd() {
    let Some(_lab) = lab() else { return };
    let Some(package) = package() else {
        eprintln!("SKIPPED because there is no package: `cargo xtask package` makes it");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(folder.path());
    let page = folder.path().join("page.sh");
    std::fs::write(&page, typed("first-ten-minutes.md").concat()).unwrap();
    let here = env!("CARGO_MANIFEST_DIR");
    // Two processors: a gateway with real-time priority and systemd's own processes run together.
    let arguments = format!(
        "--fast --cpus 2 --bench vcan --kernel 6.1 --memory 1024 --timeout 600 --file {} --file {}=cangate.deb --file {} \
         --file {here}/tests/lab/debian.sh",
        archive.display(),
        package.display(),
        page.display(),
    );
    let text = printed(&arguments, "service.sh");
    assert!(
        !text.contains("never: "),
        "something was waited for in vain"
    );
    let steps = parts(&text);
    installs_starts_and_reloads(&steps);
    is_watched_and_goes(&steps);

    let page = steps["page"];
    for words in [
        "Active: active (running)",
        "Status: \"2 ports, 2 routes; 0 frames received\"",
        "  can1  123   [4]  DE AD BE EF",
        "200 frames received = 200 routed. All sums add up.",
        "cangate_port_received_frames_total{port=\"engine\"} 200\n",
        "StatusText=2 ports, 2 routes; 200 frames received\n",
        "UnitFileState=enabled\n",
    ] {
        assert!(page.contains(words), "no {words:?} in {page}");
    }
    assert!(!page.contains("\nstatus "), "{page}");
}

/// Exactly the frames that were sent pass, once.
const PASSED: [&str; 4] = [
    "vcan1 101#11",
    "vcan1 102#22",
    "vcan1 103#33",
    "vcan1 104#44",
];

fn installs_starts_and_reloads(steps: &BTreeMap<&str, &str>) {
    let install = steps["install"];
    assert!(install.contains("Setting up cangate"), "{install}");
    // `systemd-analyze verify` reports nothing.
    assert!(!install.contains("cangate@body.service"), "{install}");
    for file in ["/completions/cangate\n", "/man1/cangate-run.1.gz\n"] {
        assert!(install.contains(file), "{install}");
    }
    assert!(exposure(steps["exposure"]) < 3.0, "{}", steps["exposure"]);
    // Not root, no capability, real-time priority and locked memory by limits.
    assert_eq!(
        steps["start"],
        format!(
            "ActiveState=active\nStatusText=2 ports, 2 routes; 0 frames received\nResult=success\n\
             CapEff:0000000000000000\nNoNewPrivs:1\n2\n{}\n0\n",
            PASSED[0]
        )
    );
    assert_eq!(
        steps["reload"],
        format!(
            "ActiveState=active\nStatusText=2 ports, 3 routes; 1 frames received\nNRestarts=0\n{}\n{}\n\
             the same process\n",
            PASSED[2], PASSED[3]
        )
    );
    let refused = steps["refused"];
    assert!(
        refused.starts_with("status 1\nActiveState=active\nStatusText=2 ports, 4 routes; "),
        "{refused}"
    );
    assert!(
        refused.contains("; the last reload was refused\n"),
        "{refused}"
    );
    assert!(refused.ends_with(&format!("{}\n", PASSED[3])), "{refused}");
}

fn is_watched_and_goes(steps: &BTreeMap<&str, &str>) {
    // A process that is stopped (SIGSTOP) never ends on its own.
    assert_eq!(
        steps["watchdog"],
        format!(
            "another process\nActiveState=active\nNRestarts=1\nWatchdog timeout (limit 2s)\n{}\n",
            PASSED[1]
        )
    );
    // Each has its user and its folder; one gateway ends, and the other keeps its socket.
    let ours = "/run/cangate-body/:\nbody.sock\nbody.sock.lock\n";
    let other = "/run/cangate-other/:\nother.sock\nother.sock.lock\n";
    assert_eq!(
        steps["two"],
        format!("{ours}\n{other}ActiveState=inactive\nResult=success\n/run/cangate-body/\n2\n")
    );
    let others = steps["others"];
    assert!(others.contains("ask as that user, or as root"), "{others}");
    assert!(others.contains("ask as root (`sudo`), as for"), "{others}");
    // A wrong file, and a missing one: reported, and not tried again.
    let not_again = "Result=exit-code\nExecMainStatus=2\nNRestarts=0\n";
    let wrong = steps["wrong"];
    assert!(
        wrong.starts_with(&format!("status 1\n{not_again}")),
        "{wrong}"
    );
    assert!(wrong.contains("/etc/cangate/missing.toml"), "{wrong}");
    assert!(wrong.ends_with(not_again), "{wrong}");
    let kernel: Vec<&str> = steps["kernel"].lines().collect();
    assert_eq!(kernel.len(), 6, "{kernel:?}");
    for (lines, path) in kernel.chunks(3).zip(["can-gw", "bpf"]) {
        let counts = format!("  {path}: 0 sent, 0 failed");
        assert_eq!(lines[..2], [counts.as_str(), counts.as_str()]);
        assert!(exposure(lines[2]) < 3.0, "{lines:?}");
    }
    assert_eq!(steps["upgrade"], "ActiveState=active\nanother process\n");
    let remove = steps["remove"];
    assert!(
        remove.contains("\nLoadState=not-found\nActiveState=inactive\n"),
        "{remove}"
    );
    assert!(!remove.contains("/usr/bin/cangate\n"), "{remove}");
    assert!(!remove.contains(".wants/"), "{remove}");
    assert!(remove.contains("\nbody.toml\n"), "{remove}");
}
