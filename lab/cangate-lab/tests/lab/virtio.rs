//! Virtual machines with Linux's own driver, in QEMU as users have it, and a gateway on this host between them.

use super::{exec, fast_lab};
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

/// The second machine may send nothing but what it sends here.
const SHARED: &str = r#"
[controllers.body]
bitrate = "1M"
[ports.first]
kind = "virtio"
socket = "first.sock"
controller = "body"
[ports.second]
kind = "virtio"
socket = "second.sock"
connect = true
controller = "body"
send = ["000-6FF", "7FF"]
"#;

/// `cangate run` in a folder, ended with this value.
struct Running(Child);

impl Running {
    fn start(folder: &Path) -> Self {
        let child = std::process::Command::new(crate::program())
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

/// What each of two machines says that send each other so many frames, and are to get so many.
fn exchange(gateway: &str, frames: u32, expected: [u32; 2]) -> [String; 2] {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gateway.toml"), gateway).unwrap();
    let _gateway = Running::start(folder.path());
    let first = folder.path().join("first.sock");
    let begun = Instant::now();
    while !first.exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "no socket");
        std::thread::sleep(Duration::from_millis(20));
    }
    let here = env!("CARGO_MANIFEST_DIR");
    let machines = [
        ("first.sock", expected[0]),
        ("listen:second.sock", expected[1]),
    ];
    let mut commands = machines.map(|(socket, expected)| {
        let arguments = format!(
            "--fast --cpus 1 --kernel 7.3 --bench none --timeout 300 --virtio {socket} \
             --file {here}/tests/lab/virtio.sh"
        );
        let mut command = exec(
            &arguments,
            &format!("bash /lab/virtio.sh {frames} {expected} 2>&1"),
        );
        command.current_dir(folder.path());
        command
    });
    std::thread::scope(|scope| {
        let started = commands
            .each_mut()
            .map(|c| scope.spawn(|| c.output().unwrap()));
        started.map(|one| {
            let output = one.join().unwrap();
            println!("{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    })
}

/// Each of two machines gets all that the other one sends.
#[test]
#[ignore = "boots a guest"]
fn two_machines_exchange_a_hundred_thousand_frames() {
    let Some(_guests) = fast_lab() else { return };
    let expected = format!("received {FRAMES}\ndropped 0 0\n== done\n");
    let said = exchange(GATEWAY, FRAMES, [FRAMES; 2]);
    assert_eq!(said, [expected.clone(), expected]);
}

/// By late acknowledgement, on a bus that takes time.
#[test]
#[ignore = "boots a guest"]
fn two_machines_share_a_controller() {
    let Some(_guests) = fast_lab() else { return };
    // Identifiers count through all there are; the second one may not send 0x700 to 0x7FE.
    let refused = 2 * 255;
    let said = exchange(SHARED, 4096, [4096 - refused, 4096]);
    let first = format!("received {}\ndropped 0 0\n== done\n", 4096 - refused);
    let second = format!("received 4096\ndropped {refused} 0\n== done\n");
    assert_eq!(said, [first, second]);
}
