//! The arm64 package on Debian's arm64 kernel, in an emulated machine: it is installed, routes
//! between two emulated cards, and its counters add up.

use guest::machine::GuestFile;
use guest::{Arm64Guest, Arm64Outcome, Lab, Locations, SilentProgress};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of frames in each part of the traffic.
const THERE: u64 = 100;
const BACK: u64 = 40;
const UNROUTED: u64 = 5;

/// The gateway: frames are changed in a different way in each direction.
const GATEWAY: &str = r#"
[ports.left]
kind = "socketcan"
interface = "gw0"
bitrate = "500k"

[ports.right]
kind = "socketcan"
interface = "gw1"
bitrate = "500k"

[[routes]]
name = "there"
from = "left"
to = "right"
id = "123"
do = [{ xor = { data = "FF" } }]

[[routes]]
name = "back"
from = "right"
to = "left"
id = "200-2FF"
do = [{ id_offset = 256 }]
"#;

/// The script for the guest. It ends at the first command that fails.
const SCRIPT: &str = r#"
set -e
waited() { # for a command that succeeds at last
    for _ in $(seq 300); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    echo "waited in vain for: $*"
    return 1
}
both_up() {
    cangate stats --json /etc/cangate/gateway.toml >/tmp/stats && ! grep '"state": "down"' /tmp/stats
}
section machine
uname -srm
dpkg --print-architecture
section install
dpkg -i /lab/cangate.deb
section installed
dpkg-query --show --showformat '${db:Status-Status} ${Architecture}\n' cangate
command -v cangate
cangate --version
test -f /etc/cangate/README
cp /lab/gateway.toml /etc/cangate/gateway.toml
cangate check /etc/cangate/gateway.toml
section run
for name in can0 can1 can2; do
    ip link set "$name" up type can bitrate 500000
done
candump -L can1 >/tmp/left &
candump -L can2 >/tmp/right &
cangate run /etc/cangate/gateway.toml &
gateway=$!
waited both_up
for log in there unrouted back; do
    canplayer -I "/lab/$log"
done
sleep 1
section stats
cangate stats --json /etc/cangate/gateway.toml
section end
kill -INT "$gateway"
wait "$gateway"
section left
cat /tmp/left
section right
cat /tmp/right
"#;

/// Returns the package: that of `CANGATE_ARM64_PACKAGE`, or the one that `cargo xtask package` has
/// made.
fn package() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("CANGATE_ARM64_PACKAGE") {
        return Some(path.into());
    }
    // The root of the workspace is the folder of its lock file.
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = above.find(|folder| folder.join("Cargo.lock").is_file())?;
    let files = std::fs::read_dir(root.join("target/package")).ok()?;
    let mut paths = files.flatten().map(|entry| entry.path());
    paths.find(|path| path.to_string_lossy().ends_with("_arm64.deb"))
}

/// Returns whether there is a program of this name on the host.
fn on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

/// A frame of the traffic as candump writes it, by its number.
type Frame = fn(u64) -> String;

const SENT_THERE: Frame = |n| format!("123#{n:02X}00{:02X}", n % 7);
const CAME_THERE: Frame = |n| format!("123#{:02X}00{:02X}", n ^ 0xFF, n % 7);
const SENT_BACK: Frame = |n| format!("{:03X}#{n:04X}", 0x200 + n % 16);
const CAME_BACK: Frame = |n| format!("{:03X}#{n:04X}", 0x300 + n % 16);
const SENT_UNROUTED: Frame = |n| format!("555#{n:02X}");

/// Returns a log for canplayer: one frame per millisecond.
fn log(interface: &str, count: u64, frame: Frame) -> String {
    let mut text = String::new();
    for n in 0..count {
        let _ = writeln!(text, "(0.{n:03}000) {interface} {}", frame(n));
    }
    text
}

fn frames(count: u64, frame: Frame) -> impl Iterator<Item = String> {
    (0..count).map(frame)
}

/// Returns the frames that candump has recorded, without times and interfaces.
fn recorded<'a>(outcome: &'a Arm64Outcome, section: &str) -> Vec<&'a str> {
    let lines = section_of(outcome, section).lines();
    lines
        .filter(|line| !line.is_empty())
        .map(|line| line.rsplit(' ').next().unwrap_or_default())
        .collect()
}

fn section_of<'a>(outcome: &'a Arm64Outcome, name: &str) -> &'a str {
    let found = outcome.section(name);
    found.unwrap_or_else(|| panic!("no part {name} in\n{}", outcome.console))
}

/// Returns the row of a port or a route.
fn row<'a>(stats: &'a Value, table: &str, name: &str) -> &'a Value {
    let rows = stats[table].as_array().expect("a list");
    let mut found = rows.iter().filter(|row| row["name"] == name);
    found.next().expect("a row of this name")
}

/// Returns the sum of all numbers of an object.
fn sum(object: &Value) -> u64 {
    let values = object.as_object().expect("an object").values();
    values.map(|value| value.as_u64().expect("a number")).sum()
}

#[test]
#[ignore = "boots a guest"]
fn the_arm64_package_installs_routes_and_counts() {
    let Some(package) = package() else {
        eprintln!(
            "SKIPPED because there is no arm64 package: `cargo xtask package --arch arm64` makes it"
        );
        return;
    };
    let lab = Lab::open(&Locations::default()).expect("a lab");
    let can_fetch = on_path("apt-get") && on_path("dpkg-deb");
    if !lab.has_arm64() && !can_fetch {
        eprintln!("SKIPPED because there is no apt-get that would fetch the guest");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        GuestFile {
            path,
            name: name.to_owned(),
        }
    };
    let guest = Arm64Guest {
        files: vec![
            GuestFile {
                path: package,
                name: "cangate.deb".to_owned(),
            },
            write("gateway.toml", GATEWAY),
            write("there", &log("can0", THERE, SENT_THERE)),
            write("unrouted", &log("can0", UNROUTED, SENT_UNROUTED)),
            write("back", &log("can2", BACK, SENT_BACK)),
        ],
        script: SCRIPT.to_owned(),
        timeout: Duration::from_secs(300),
    };
    let outcome = lab.run_arm64(&guest, &SilentProgress).expect("a guest");
    assert_eq!(outcome.status, Some(0), "{}", outcome.console);

    is_installed(&outcome);
    arrived_as_routed(&outcome);
    let stats = section_of(&outcome, "stats");
    let stats = serde_json::from_str(stats).unwrap_or_else(|error| panic!("{error}: {stats}"));
    counters_add_up(&stats);
    let end = section_of(&outcome, "end");
    let sums = format!(
        "{0} frames received = {0} routed. All sums add up.",
        THERE + BACK
    );
    assert!(end.contains(&sums), "no {sums:?} in {end}");
}

fn is_installed(outcome: &Arm64Outcome) {
    let machine = section_of(outcome, "machine");
    assert!(machine.starts_with("Linux 6.1."), "{machine}");
    assert!(machine.contains("aarch64\narm64\n"), "{machine}");
    let install = section_of(outcome, "install");
    assert!(install.contains("Setting up cangate"), "{install}");
    let installed = section_of(outcome, "installed");
    let start = "installed arm64\n/usr/bin/cangate\ncangate ";
    assert!(installed.starts_with(start), "{installed}");
}

/// Each bus has the frames that were sent there and the gateway's versions of those from the other
/// bus, in order, and nothing else.
fn arrived_as_routed(outcome: &Arm64Outcome) {
    let left: Vec<String> = frames(THERE, SENT_THERE)
        .chain(frames(UNROUTED, SENT_UNROUTED))
        .chain(frames(BACK, CAME_BACK))
        .collect();
    assert_eq!(recorded(outcome, "left"), left);
    let right: Vec<String> = frames(THERE, CAME_THERE)
        .chain(frames(BACK, SENT_BACK))
        .collect();
    assert_eq!(recorded(outcome, "right"), right);
}

/// Each frame that was sent is counted once as received, and once by its fate.
fn counters_add_up(stats: &Value) {
    // The kernel withholds from the gateway the frames that no route requests, and counts them.
    for (port, received, not_asked_for, sent) in
        [("left", THERE, UNROUTED, BACK), ("right", BACK, 0, THERE)]
    {
        let interfaces = stats["interfaces"].as_array().expect("a list");
        let mut of_port = interfaces.iter().filter(|row| row["port"] == port);
        let interface = of_port.next().expect("the port's interface");
        assert_eq!(interface["received"], received + not_asked_for, "{port}");
        assert_eq!(interface["not_asked_for"], not_asked_for, "{port}");
        assert_eq!(interface["sent"], sent, "{port}");

        let row = row(stats, "ports", port);
        assert_eq!(row["state"], "up", "{port}");
        assert_eq!(row["received"], received, "{port}");
        assert_eq!(row["fates"]["routed"], received, "{port}");
        assert_eq!(sum(&row["fates"]), received, "{port}");
        assert_eq!(row["copies"]["offered"], sent, "{port}");
        assert_eq!(row["copies"]["accepted"], sent, "{port}");
        assert_eq!(row["tx"]["sent"], sent, "{port}");
        assert_eq!(row["tx"]["held"], 0, "{port}");
        for count in ["error_frames", "malformed", "overrun"] {
            assert_eq!(row["rx"][count], 0, "{port} {count}");
        }
    }
    for (route, taken) in [("there", THERE), ("back", BACK)] {
        let row = row(stats, "routes", route);
        assert_eq!(row["taken"], taken, "{route}");
        assert_eq!(row["forwarded"], taken, "{route}");
        assert_eq!(row["copies"]["accepted"], taken, "{route}");
    }
}
