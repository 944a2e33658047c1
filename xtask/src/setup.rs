//! The tools that a full test run needs on this machine, and their installation.

use crate::arm64;
use crate::command::{command, on_path, output, show, within};
use crate::package::{CARGO_DEB, CARGO_DEB_VERSION};
use crate::report::TestTally;
use crate::venv;
use crate::workspace::cargo;
use anyhow::Result;
use std::path::Path;
use std::time::Duration;

/// A target of another processor, without a standard library: the core must build for it.
pub(crate) const NO_STD_TARGET: &str = "thumbv7em-none-eabi";

/// A target without a standard library whose programs this machine's processor can run: the
/// engine's scenarios run on it.
pub(crate) const BARE_TARGET: &str = "x86_64-unknown-none";

/// Programs from the distribution.
const PROGRAMS: [SystemProgram; 8] = [
    SystemProgram {
        names: &["chromium", "chromium-browser", "google-chrome"],
        package: "chromium",
        why: "the report's page is opened in it without a window",
        quick: false,
    },
    SystemProgram {
        names: &["log2asc"],
        package: "can-utils",
        why: "its programs read the text logs of the tests",
        quick: true,
    },
    SystemProgram {
        names: &["tshark"],
        package: "tshark",
        why: "Wireshark reads the pcapng logs of the tests",
        quick: false,
    },
    SystemProgram {
        names: &["promtool"],
        package: "prometheus",
        why: "it checks and scrapes the gateway's metrics",
        quick: false,
    },
    SystemProgram {
        names: &["ptp4l"],
        package: "linuxptp",
        why: "machines of the lab follow a clock by PTP",
        quick: false,
    },
    SystemProgram {
        names: &[arm64::RUNNER],
        package: "qemu-user-static",
        why: "tests of the gateway for 64-bit ARM run in it",
        quick: false,
    },
    SystemProgram {
        names: &[crate::bpf::COMPILER],
        package: "clang-14",
        why: "it makes the committed BPF object again, byte for byte, and a file of C of the tests for 64-bit ARM",
        quick: false,
    },
    SystemProgram {
        names: &[crate::bpf::STRIP],
        package: "llvm-14",
        why: "it takes this machine's paths out of the BPF object",
        quick: false,
    },
];

/// A program from the distribution.
struct SystemProgram {
    /// Its possible names, any of which is sufficient.
    names: &'static [&'static str],
    /// The Debian package that contains it.
    package: &'static str,
    /// The purpose for which it is needed.
    why: &'static str,
    /// Whether a quick run needs it, too.
    quick: bool,
}

impl SystemProgram {
    fn is_there(&self) -> bool {
        self.names.iter().any(|name| on_path(name))
    }
}

/// Packages of Python for comparisons, with their versions: newer ones may read and write
/// differently.
///
/// python-can needs pyserial for slcan, and msgpack for its multicast.
const PYTHON_PACKAGES: [&str; 9] = [
    "python-can==4.6.1",
    "cantools==45.1.0",
    "asammdf==8.8.28",
    "autosar-e2e==1.0.0",
    "duckdb==2.0.1",
    "pyarrow==26.0.1",
    "pyserial==3.5",
    "msgpack==1.2.4",
    "can-cannelloni==0.1.0",
];

/// Returns the requirement of one of these packages, with its version.
pub(crate) fn python_package(name: &str) -> Option<&'static str> {
    let is = |requirement: &&&str| {
        let (package, _) = requirement.split_once("==").unwrap_or((requirement, ""));
        package == name
    };
    PYTHON_PACKAGES.iter().find(is).copied()
}

/// The modules of these packages, as Python imports them.
const PYTHON_MODULES: &str =
    "import can, cantools, asammdf, e2e, duckdb, pyarrow, serial, msgpack, can_cannelloni";

/// Their names in messages.
const PYTHON_TITLE: &str = "python-can, cantools, asammdf, autosar-e2e, duckdb, pyarrow, pyserial, msgpack and \
                            can-cannelloni";

/// The folder that they are installed in: a folder of its own, so that the user's Python is not
/// changed.
const PYTHON_CAN_FOLDER: &str = "target/python-can";

/// taplo checks TOML files against a schema, as editors do.
const TAPLO: &str = "@taplo/cli@0.7.0";
const TAPLO_FOLDER: &str = "target/taplo";

/// Components of the Rust toolchain.
const COMPONENTS: [(&str, &str); 2] = [("cargo-fmt", "rustfmt"), ("cargo-clippy", "clippy")];

/// Returns whether this run may install anything. `CANGATE_NO_INSTALL=1` forbids it.
pub(crate) fn may_install() -> bool {
    std::env::var_os("CANGATE_NO_INSTALL").is_none_or(|value| value.is_empty() || value == "0")
}

/// Lists the missing tools, then installs them, or prints how to. A tool that stays missing is a
/// skip. `all`: also the tools that only a full run needs.
pub(crate) fn run(root: &Path, install: bool, all: bool) -> Result<TestTally> {
    let mut tally = TestTally::default();
    let programs = || PROGRAMS.iter().filter(|program| all || program.quick);
    println!("needs: rustfmt and clippy (rustup);");
    if all {
        println!("       {CARGO_DEB} (cargo install): it makes the Debian package");
    }
    println!("       the targets {NO_STD_TARGET} and {BARE_TARGET} (rustup);");
    if all {
        let targets = arm64::TARGETS.join(", ");
        println!("       the targets {targets} (rustup): the gateway is checked for each");
    }
    for SystemProgram { package, why, .. } in programs() {
        println!("       {package} (apt): {why}");
    }
    if !install {
        println!("CANGATE_NO_INSTALL is set: nothing will be installed");
    }
    if all {
        println!(
            "       {} (pip, into target/): logs, signals and checksums are compared with theirs",
            PYTHON_PACKAGES.join(", ")
        );
        println!("       {TAPLO} (npm, into target/): it tests the schema of gateway.toml");
    }
    for (program, component) in COMPONENTS {
        let there = on_path(program) && works(program);
        tally.add(need(there, component, install, || {
            rustup(&["component", "add", component])
        })?);
    }
    if all {
        tally.add(need(on_path(CARGO_DEB), CARGO_DEB, install, || {
            // Not optimized: it takes a third of the time to build, and makes few packages.
            show(
                command(cargo(), Path::new("/"))
                    .args(["install", "--locked", "--debug", CARGO_DEB])
                    .args(["--version", CARGO_DEB_VERSION])
                    .env("CARGO_PROFILE_DEV_DEBUG", "false"),
            )
        })?);
    }
    let further: &[&str] = if all { &arm64::TARGETS } else { &[] };
    for &target in [NO_STD_TARGET, BARE_TARGET].iter().chain(further) {
        tally.add(need(has_target(target), target, install, || {
            rustup(&["target", "add", target])
        })?);
    }
    if install && can_use_apt() && programs().any(|p| !p.is_there()) {
        // If this fails, the lists may still be recent enough.
        show(command("apt-get", Path::new("/")).args(["update", "-qq"]))?;
    }
    for program in programs() {
        if program.is_there() {
            println!("{}: there", program.package);
            tally.add(TestTally::passed());
        } else {
            // Each separately: a package that this distribution does not have does not affect the
            // others.
            tally.add(apt(program.package, install)?);
        }
    }
    if all {
        tally.add(get_python_can(root, install)?);
        tally.add(get_taplo(root, install)?);
    }
    Ok(tally)
}

/// Installs taplo into a folder of its own.
fn get_taplo(root: &Path, install: bool) -> Result<TestTally> {
    let folder = root.join(TAPLO_FOLDER);
    let program = folder.join("node_modules/.bin/taplo");
    // Its exit status is 1 even if it prints its version.
    let works = |program: &Path| {
        let mut version = command(program, root);
        output(version.arg("--version")).is_ok_and(|output| output.stdout.starts_with(b"taplo "))
    };
    if works(&program) || works(Path::new("taplo")) {
        println!("taplo: there");
        return Ok(TestTally::passed());
    }
    let line = format!("npm install --prefix {TAPLO_FOLDER} {TAPLO}");
    let because = if !install {
        "installing is not allowed"
    } else if !on_path("npm") {
        "there is no npm here"
    } else {
        println!("taplo: missing, will be installed");
        std::fs::create_dir_all(&folder)?;
        let mut npm = command("npm", root);
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
        npm.arg(&folder).arg(TAPLO);
        if within(Duration::from_secs(120), &mut npm)? && works(&program) {
            return Ok(TestTally::passed());
        }
        "npm could not install it"
    };
    println!("taplo: missing. To have it: {line}");
    Ok(TestTally::skipped(format!(
        "taplo because it is missing and {because}; to have it: {line}"
    )))
}

/// Makes a folder with a Python environment of its own, and installs these packages in it.
fn get_python_can(root: &Path, install: bool) -> Result<TestTally> {
    let folder = root.join(PYTHON_CAN_FOLDER);
    let python = folder.join("bin/python3");
    let imports = |python: &Path| {
        let mut imports = command(python, root);
        output(imports.args(["-c", PYTHON_MODULES])).is_ok_and(|output| output.status.success())
    };
    if imports(&python) || imports(Path::new("python3")) {
        println!("{PYTHON_TITLE}: installed");
        return Ok(TestTally::passed());
    }
    let line = format!(
        "python3 -m venv {PYTHON_CAN_FOLDER} && {PYTHON_CAN_FOLDER}/bin/pip install {}",
        PYTHON_PACKAGES.join(" ")
    );
    let skipped = |because: &str| {
        println!("{PYTHON_TITLE}: missing. To have them: {line}");
        Ok(TestTally::skipped(format!(
            "{PYTHON_TITLE} because they are missing and {because}; to have them: {line}"
        )))
    };
    if !install {
        return skipped("installing is not allowed");
    }
    println!("{PYTHON_TITLE}: missing, will be installed");
    if let Some(because) = venv::make(&folder)? {
        return skipped(because);
    }
    let mut pip = command(folder.join("bin/pip"), root);
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    pip.args(PYTHON_PACKAGES);
    if within(venv::FETCH_LIMIT, &mut pip)? && imports(&python) {
        Ok(TestTally::passed())
    } else {
        skipped("pip could not install it")
    }
}

/// Returns whether a target's core library is installed.
pub(crate) fn has_target(target: &str) -> bool {
    let mut rustc = command("rustc", Path::new("/"));
    rustc.args(["--print", "sysroot"]);
    output(&mut rustc).is_ok_and(|output| {
        let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Path::new(&sysroot)
            .join("lib/rustlib")
            .join(target)
            .join("lib")
            .is_dir()
    })
}

/// Returns whether the program exists and starts: rustup's proxies exist even for components that
/// are not installed.
fn works(program: &str) -> bool {
    let mut version = command(program, Path::new("/"));
    output(version.arg("--version")).is_ok_and(|output| output.status.success())
}

fn need(
    there: bool,
    what: &str,
    install: bool,
    get: impl FnOnce() -> Result<bool>,
) -> Result<TestTally> {
    if there {
        println!("{what}: there");
        return Ok(TestTally::passed());
    }
    if !install {
        return Ok(TestTally::skipped(format!(
            "{what} because it is missing and installing is not allowed"
        )));
    }
    println!("{what}: missing, will be installed");
    Ok(if get()? {
        TestTally::passed()
    } else {
        TestTally::skipped(format!("{what} because it could not be installed"))
    })
}

fn rustup(arguments: &[&str]) -> Result<bool> {
    if !on_path("rustup") {
        println!(
            "no rustup here: install it by hand, as `rustup {}` would",
            arguments.join(" ")
        );
        return Ok(false);
    }
    within(
        Duration::from_secs(180),
        command("rustup", Path::new("/")).args(arguments),
    )
}

fn apt(package: &str, install: bool) -> Result<TestTally> {
    let line = format!("apt-get install -y --no-install-recommends {package}");
    let because = if !install {
        "installing is not allowed"
    } else if !on_path("apt-get") {
        "there is no apt here"
    } else if !is_root() {
        "only root may install packages"
    } else {
        println!("{package}: missing, will be installed");
        if install_package(package)? {
            return Ok(TestTally::passed());
        }
        "apt-get failed"
    };
    println!("{package}: missing. To have it: {line}");
    Ok(TestTally::skipped(format!(
        "{package} because it is missing and {because}; to have it: {line}"
    )))
}

/// Returns whether packages of the distribution can be installed here.
pub(crate) fn can_use_apt() -> bool {
    on_path("apt-get") && is_root()
}

/// Installs a package of the distribution; returns whether that was successful.
pub(crate) fn install_package(package: &str) -> Result<bool> {
    show(
        command("apt-get", Path::new("/"))
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(["install", "-y", "-qq", "--no-install-recommends", package]),
    )
}

fn is_root() -> bool {
    let mut id = command("id", Path::new("/"));
    output(id.arg("-u")).is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
