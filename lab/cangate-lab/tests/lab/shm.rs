//! The driver VM: a machine that owns a controller routes for another one through memory that both
//! share.

use super::script::parts;
use super::{exec, lab};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Frames that each side sends.
const FRAMES: u32 = 3000;

/// `cangate shm`, ended with this value.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Frames pass in both directions between a bus and a machine that has no controller; the gateway
/// between them is killed, and returns.
#[test]
#[ignore = "boots a guest"]
fn a_machine_that_owns_the_controller_routes_for_another() {
    let Some(_guests) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let child = std::process::Command::new(crate::program())
        .args(["shm", "vm.shm", "--frames", "4096"])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _server = Serving(child);
    let begun = Instant::now();
    while !folder.path().join("vm.shm").exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "no socket");
        std::thread::sleep(Duration::from_millis(20));
    }
    let here = env!("CARGO_MANIFEST_DIR");
    let machines = [
        ("driver", "--kernel 6.1 --bench kvaser"),
        ("other", "--kernel 7.3 --bench none"),
    ];
    let mut commands = machines.map(|(role, of)| {
        let arguments =
            format!("--fast {of} --timeout 300 --shm vm.shm --file {here}/tests/lab/shm.sh");
        let command = format!("bash /lab/shm.sh {role} {FRAMES} 2>&1");
        let mut command = exec(&arguments, &command);
        command.current_dir(folder.path());
        command
    });
    let [driver, other] = std::thread::scope(|scope| {
        let started = commands
            .each_mut()
            .map(|c| scope.spawn(|| c.output().unwrap()));
        started.map(|one| {
            let output = one.join().unwrap();
            println!("{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    });

    let text = parts(&driver);
    let exchange = text["exchange"];
    let begins = format!("shmcan\nshmcan_uio\nreceived {FRAMES}\n");
    assert!(exchange.starts_with(&begins), "{exchange}");
    assert!(exchange.contains("All sums add up."), "{exchange}");
    assert_eq!(text["return"], " can1 000005AA [1] 42\nstatus 0\n");
    assert_eq!(
        text["mistakes"],
        "driver \nanother process has 0000:00:02.0\nis a PCI device 8086:7000, not shared memory\n\
         load the kernel's module shmcan_uio\n"
    );

    let text = parts(&other);
    let exchange = format!("received {FRAMES}\ndropped 0\n");
    assert_eq!(text["exchange"], exchange);
    assert_eq!(text["return"], " can0 00000555 [0] \nerrors 0 0\n");
}
