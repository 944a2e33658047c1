//! What a full test run needs on this machine, and getting it.

use crate::command::{command, on_path, output, show, within};
use crate::report::Tally;
use anyhow::Result;
use std::path::Path;
use std::time::Duration;

/// A target without a standard library, of another processor: where the core must build.
pub(crate) const NO_STD_TARGET: &str = "thumbv7em-none-eabi";

/// A target without a standard library whose programs this machine's processor can run: where the
/// engine's scenarios do.
pub(crate) const BARE_TARGET: &str = "x86_64-unknown-none";

/// Programs out of the distribution, the Debian package that has them, and what for.
const PROGRAMS: [(&[&str], &str, &str); 2] = [
    (
        &["chromium", "chromium-browser", "google-chrome"],
        "chromium",
        "the report's page is opened in it without a window",
    ),
    (
        &["log2asc"],
        "can-utils",
        "what we write as text is read by its programs",
    ),
];

/// Components of the Rust toolchain.
const COMPONENTS: [(&str, &str); 2] = [("cargo-fmt", "rustfmt"), ("cargo-clippy", "clippy")];

/// May this run install anything? `CANGATE_NO_INSTALL=1` says no.
pub(crate) fn may_install() -> bool {
    std::env::var_os("CANGATE_NO_INSTALL").is_none_or(|value| value.is_empty() || value == "0")
}

/// Says what is missing, then installs it, or says how. What stays missing is a skip.
pub(crate) fn run(install: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    println!(
        "needs: rustfmt and clippy (rustup); the targets {NO_STD_TARGET} and \
         {BARE_TARGET} (rustup);"
    );
    for (_, package, why) in PROGRAMS {
        println!("       {package} (apt): {why}");
    }
    if !install {
        println!("CANGATE_NO_INSTALL is set: nothing will be installed");
    }
    for (program, component) in COMPONENTS {
        let there = on_path(program) && works(program);
        tally.add(need(there, component, install, || {
            rustup(&["component", "add", component])
        })?);
    }
    for target in [NO_STD_TARGET, BARE_TARGET] {
        tally.add(need(has_target(target), target, install, || {
            rustup(&["target", "add", target])
        })?);
    }
    let missing: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(names, ..)| !names.iter().any(|name| on_path(name)))
        .map(|(_, package, _)| *package)
        .collect();
    for (_, package, _) in PROGRAMS {
        if !missing.contains(&package) {
            println!("{package}: there");
            tally.add(Tally::passed());
        }
    }
    if !missing.is_empty() {
        tally.add(apt(&missing, install)?);
    }
    Ok(tally)
}

/// Is a target's core library there?
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

/// The program is there and starts: rustup's stand-ins are there for parts that are not.
fn works(program: &str) -> bool {
    let mut version = command(program, Path::new("/"));
    output(version.arg("--version")).is_ok_and(|output| output.status.success())
}

fn need(
    there: bool,
    what: &str,
    install: bool,
    get: impl FnOnce() -> Result<bool>,
) -> Result<Tally> {
    if there {
        println!("{what}: there");
        return Ok(Tally::passed());
    }
    if !install {
        return Ok(Tally::skipped(format!(
            "{what} because it is missing and nothing may be installed"
        )));
    }
    println!("{what}: missing, will be installed");
    Ok(if get()? {
        Tally::passed()
    } else {
        Tally::skipped(format!("{what} because rustup could not install it"))
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

fn apt(packages: &[&str], install: bool) -> Result<Tally> {
    let wanted = packages.join(" ");
    let line = format!("apt-get install -y --no-install-recommends {wanted}");
    let because = if !install {
        "nothing may be installed"
    } else if !on_path("apt-get") {
        "there is no apt here"
    } else if !is_root() {
        "only root may install packages"
    } else {
        println!("{wanted}: missing, will be installed");
        let root = Path::new("/");
        let update = show(command("apt-get", root).args(["update", "-qq"]))?;
        let installed = show(
            command("apt-get", root)
                .env("DEBIAN_FRONTEND", "noninteractive")
                .args(["install", "-y", "-qq", "--no-install-recommends"])
                .args(packages),
        )?;
        if update && installed {
            return Ok(Tally::passed());
        }
        "apt-get failed"
    };
    println!("{wanted}: missing. To have it: {line}");
    Ok(Tally::skipped(format!(
        "{wanted} because it is missing and {because}; to have it: {line}"
    )))
}

fn is_root() -> bool {
    let mut id = command("id", Path::new("/"));
    output(id.arg("-u")).is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
