//! Virtual machines with Linux's own driver, in QEMU as users have it, and a gateway on this host
//! between them.

use super::{exec, lab};
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

/// The second machine may send only the frames that it sends here.
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

/// Lets two machines send each other `frames` frames, of which they must receive the expected
/// numbers; returns their output.
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
            "--fast --kernel 7.3 --bench none --timeout 300 --virtio {socket} \
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

/// With late acknowledgement, on a bus on which frames take time.
#[test]
#[ignore = "boots a guest"]
fn two_machines_share_a_controller() {
    let Some(_guests) = lab() else { return };
    // Identifiers count through all existing ones; the second machine may not send 0x700 to 0x7FE.
    let refused = 2 * 255;
    let message = exchange(SHARED, 4096, [4096 - refused, 4096]);
    let first = format!("received {}\ndropped 0 0\n== done\n", 4096 - refused);
    let second = format!("received 4096\ndropped {refused} 0\n== done\n");
    assert_eq!(message, [first, second]);
}

/// Remote frames from a log, and back into one.
const REMOTE: &str = r#"
[ports.machine]
kind = "virtio"
socket = "vm.sock"
[ports.input]
kind = "log"
read = "in.fifo"
pace = "fast"
[ports.output]
kind = "log"
write = "out.log"
[[routes]]
from = "input"
to = "machine"
[[routes]]
from = "machine"
to = "output"
"#;

/// The case `virtio-rtr`: Linux's own driver discards remote frames that are shorter than their DLC
/// indicates.
#[test]
#[ignore = "boots a guest"]
fn remote_frames_reach_linux_and_come_back() {
    let Some(_guests) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("gateway.toml"), REMOTE).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(path("in.fifo"))
        .status();
    assert!(made.unwrap().success());
    let _gateway = Running::start(folder.path());
    let here = env!("CARGO_MANIFEST_DIR");
    let arguments = format!(
        "--fast --kernel 7.3 --bench none --timeout 300 --virtio vm.sock \
         --file {here}/tests/lab/virtio_remote.sh"
    );
    let mut command = exec(&arguments, "bash /lab/virtio_remote.sh 2>&1");
    command.current_dir(folder.path());
    let text = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            let is_there =
                || std::fs::read_to_string(path("out.log")).is_ok_and(|text| text.contains("7FF#"));
            while !is_there() {
                assert!(begun.elapsed() < Duration::from_secs(250), "no machine");
                std::thread::sleep(Duration::from_millis(50));
            }
            // The input of the case, unchanged.
            let frames = "(1.0) x 7A1#R0\n(1.1) x 7A1#R3\n(1.2) x 7A1#R8\n(1.3) x 7A2#01\n";
            std::fs::write(path("in.fifo"), frames).unwrap();
        });
        let output = command.output().unwrap();
        println!("{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    println!("{text}");
    let parts = super::script::parts(&text);
    assert_eq!(parts["got"], "7A1#R\n7A1#R3\n7A1#R8\n7A2#01\n");
    assert_eq!(parts["driver"], "", "its driver says nothing against them");
    assert_eq!(parts["counted"], "4\n");
    let back = std::fs::read_to_string(path("out.log")).unwrap();
    let frames = back.lines().filter_map(|line| line.rsplit(' ').next());
    let frames: Vec<&str> = frames.filter(|frame| !frame.starts_with("7FF")).collect();
    assert_eq!(frames, ["7A3#R", "7A3#R5", "1A3#R8", "7A4#02"]);
}

mod long {
    use super::*;

    /// Each of two machines receives all frames that the other one sends.
    #[test]
    #[ignore = "boots a guest"]
    fn two_machines_exchange_a_hundred_thousand_frames() {
        let Some(_guests) = lab() else { return };
        let expected = format!("received {FRAMES}\ndropped 0 0\n== done\n");
        let message = exchange(GATEWAY, FRAMES, [FRAMES; 2]);
        assert_eq!(message, [expected.clone(), expected]);
    }
}
