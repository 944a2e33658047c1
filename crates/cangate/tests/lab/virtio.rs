//! Virtual machines with Linux's own driver, in QEMU as users have it, and a gateway on this host between them.

use super::{exec, fast_lab};
use assert_cmd::Command;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Frames that each machine sends.
const FRAMES: u32 = 50_000;

const GATEWAY: &str = r#"
[ports.first]
kind = "virtio"
socket = "first.sock"
queue = 65536
[ports.second]
kind = "virtio"
socket = "second.sock"
connect = true
queue = 65536
[[routes]]
from = "first"
to = "second"
[[routes]]
from = "second"
to = "first"
"#;

/// `cangate run` in a folder, ended with this value.
struct Running(Child);

impl Running {
    fn start(folder: &Path) -> Self {
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_cangate"))
            .args(["run", "gateway.toml"])
            .env("XDG_RUNTIME_DIR", folder)
            .current_dir(folder)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn machine(folder: &Path, socket: &str) -> Command {
    let here = env!("CARGO_MANIFEST_DIR");
    let arguments = format!(
        "--fast --cpus 1 --kernel 7.3 --bench none --timeout 300 --virtio {socket} \
         --file {here}/tests/lab/virtio.sh"
    );
    let mut command = exec(&arguments, &format!("bash /lab/virtio.sh {FRAMES} 2>&1"));
    command.current_dir(folder);
    command
}

/// Each of two machines gets all that the other one sends.
#[test]
#[ignore = "boots a guest"]
fn two_machines_exchange_a_hundred_thousand_frames() {
    let Some(_guests) = fast_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gateway.toml"), GATEWAY).unwrap();
    let _gateway = Running::start(folder.path());
    let first = folder.path().join("first.sock");
    let begun = Instant::now();
    while !first.exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "no socket");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut commands = [
        machine(folder.path(), "first.sock"),
        machine(folder.path(), "listen:second.sock"),
    ];
    let said = std::thread::scope(|scope| {
        let started = commands
            .each_mut()
            .map(|c| scope.spawn(|| c.output().unwrap()));
        started.map(|one| one.join().unwrap())
    });
    for output in said {
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let expected = format!("received {FRAMES}\ndropped 0 0\n== done\n");
        assert_eq!(text, expected, "{errors}");
    }
}
