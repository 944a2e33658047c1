//! The driver `canchar`: the promises of canchar.h, and floods of processes that are killed while
//! devices come and go. The programs are those of kmod/canchar/test.

use super::script::printed;
use super::{is_there, lab};
use std::path::Path;
use std::process::Command;

/// Compiles the two programs into a folder; `None`, and a message, if there is no compiler.
fn programs(into: &Path) -> Option<String> {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kmod/canchar/test");
    let mut files = String::new();
    for name in ["canchar-test", "canchar-flood"] {
        let program = into.join(name);
        let output = Command::new("cc")
            .args(["-O2", "-Wall", "-Werror", "-static", "-pthread", "-o"])
            .arg(&program)
            .arg(format!("{sources}/{name}.c"))
            .output();
        let Ok(output) = output else {
            eprintln!("SKIPPED because there is no C compiler");
            return None;
        };
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        files.push_str(&format!(" --file {}", program.display()));
    }
    Some(files)
}

/// Runs chardev.sh in a guest; each of these steps must end well, without a message of the kernel.
fn holds(bench: &str, kernel: &str, module: Option<&Path>, steps: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut files) = programs(folder.path()) else {
        return;
    };
    if let Some(module) = module {
        files.push_str(&format!(" --file {}", module.display()));
    }
    let text = printed(
        &format!("--bench {bench} --kernel {kernel} --timeout 900{files}"),
        &format!("chardev.sh {bench}"),
    );
    assert!(text.ends_with("faults 0\n== done\n"), "{text}");
    let found: Vec<&str> = text.lines().filter(|l| l.starts_with("== ")).collect();
    assert_eq!(found, [steps, &["== end", "== done"]].concat(), "{text}");
    // The test, the flood, the test again: of each driver.
    let ended: Vec<&str> = text.lines().filter(|l| l.starts_with("status ")).collect();
    let wanted = steps.len() / 2 * 3 + steps.len() % 2 * 2;
    assert_eq!(ended, vec!["status 0"; wanted], "{text}");
    assert!(!text.contains("while it was in use"), "{text}");
    if steps.contains(&"== unload") {
        assert!(text.contains("\nwent and came\n"), "{text}");
        assert!(text.contains("\nremoved\n"), "{text}");
    }
    let floods = text
        .lines()
        .filter(|l| l.ends_with(" killed, 0 wrong") && !l.starts_with("0 "));
    assert_eq!(floods.count(), steps.len().div_ceil(2), "{text}");
}

const TIMED: &[&str] = &[
    "== test",
    "== flood sja1000",
    "== test mscan",
    "== flood mscan",
];

/// Each of these takes a minute or more.
mod long {
    use super::*;

    #[test]
    #[ignore = "fetches compilers"]
    fn the_drivers_build_for_every_kernel_of_the_lab() {
        if !is_there() {
            return;
        }
        for module in guest::Module::ALL {
            for kernel in guest::Kernel::all() {
                builds(module, kernel);
            }
        }
        for kernel in ["6.1", "6.1-rt", "6.12", "6.12-rt", "7.3"] {
            builds(guest::Module::BitcanMdev, kernel.parse().unwrap());
        }
        for kernel in ["6.1", "6.12", "7.3"] {
            builds(guest::Module::Nesting, kernel.parse().unwrap());
        }
    }

    #[test]
    #[ignore = "boots a guest"]
    fn devices_of_the_timed_bench_keep_the_promises_of_the_interface() {
        let Some(_lab) = lab() else { return };
        holds("timed", "6.1", None, TIMED);
    }

    #[test]
    #[ignore = "boots a guest"]
    fn a_card_as_a_character_device_keeps_them_and_the_module_comes_and_goes() {
        let Some(_lab) = lab() else { return };
        let module = module("6.1");
        let steps = ["== test", "== flood kvaser", "== unload"];
        holds("kvaser", "6.1", Some(&module), &steps);
    }

    /// The interrupt handler is a thread there.
    #[test]
    #[ignore = "boots a guest"]
    fn devices_of_the_timed_bench_keep_them_with_full_preemption() {
        let Some(_lab) = lab() else { return };
        holds("timed", "6.12-rt", None, TIMED);
    }

    #[test]
    #[ignore = "boots a guest"]
    fn devices_of_the_timed_bench_keep_them_on_the_newest_kernel() {
        let Some(_lab) = lab() else { return };
        holds("timed", "7.3", None, TIMED);
    }
}

fn module(kernel: &str) -> std::path::PathBuf {
    built(guest::Module::Canchar, kernel.parse().unwrap()).remove(0)
}

fn built(module: guest::Module, kernel: guest::Kernel) -> Vec<std::path::PathBuf> {
    let lab = guest::Lab::open(&guest::Locations::default()).unwrap();
    lab.module(module, kernel, &guest::SilentProgress).unwrap()
}

/// The module of a driver builds for a kernel.
fn builds(module: guest::Module, kernel: guest::Kernel) {
    for path in built(module, kernel) {
        assert!(path.is_file(), "{}", path.display());
    }
}

/// On the kernels between these two: `long` below.
#[test]
#[ignore = "fetches compilers"]
fn the_drivers_build_for_the_usual_and_the_newest_kernel() {
    if !is_there() {
        return;
    }
    for module in guest::Module::ALL {
        for kernel in ["6.1", "7.3"] {
            builds(module, kernel.parse().unwrap());
        }
    }
}
