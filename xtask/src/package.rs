//! `cargo xtask package`: the Debian package, with a program that is linked statically.

use crate::command::{command, on_path, output, show};
use crate::report::Tally;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// What links the program statically: it needs nothing of the system but the kernel, so one package is for every
/// distribution. Only the program is compiled with it, so all else is what an ordinary build has.
/// See docs/decisions/0026-service.md.
const STATIC: &str = "--release -p cangate --bin cangate -- -C target-feature=+crt-static";

/// What makes the package.
pub(crate) const CARGO_DEB: &str = "cargo-deb";

/// What lintian finds in every package that is not Debian's own: there is no bug report that asks for the package
/// (`initial-upload-closes-no-bugs`), the program is linked statically on purpose, and of its licences Debian has one
/// file each.
const NOT_DEBIAN_S: &str = "initial-upload-closes-no-bugs,statically-linked-binary,extra-license-file,no-changelog,\
                            debian-changelog-file-missing";

/// Builds the package, or says what is missing for it.
pub(crate) fn run(workspace: &Workspace) -> Result<Tally> {
    if !cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
        return Ok(Tally::skipped(
            "the package because it is made on x86-64 with glibc only: elsewhere, `cargo install --path \
             crates/cangate` installs the program",
        ));
    }
    let program = program(workspace)?;
    let mut tally = Tally::passed();
    if !on_path(CARGO_DEB) {
        tally.add(Tally::skipped(format!(
            "the package because {CARGO_DEB} is missing: `cargo install {CARGO_DEB} --locked`"
        )));
        return Ok(tally);
    }
    generate(workspace, &program)?;
    let package = package(workspace)?;
    println!("{}", package.display());
    tally.add(lintian(&package)?);
    Ok(tally)
}

/// The program, linked statically; also where an ordinary build puts its own, until the next one.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    let mut build = workspace.cargo("rustc");
    if !show(build.args(STATIC.split_whitespace()))? {
        bail!("cangate does not build, linked statically");
    }
    Ok(workspace.target.join("release/cangate"))
}

/// Man pages and completions, by the program itself: the one definition of its command line. And the program, where tests
/// find it.
fn generate(workspace: &Workspace, program: &Path) -> Result<()> {
    // The assets of crates/cangate/Cargo.toml name this folder, wherever cargo builds.
    let folder = workspace.root.join("target/package");
    let _ = fs::remove_dir_all(&folder);
    let completions = folder.join("completions");
    fs::create_dir_all(&completions)
        .with_context(|| format!("cannot make {}", completions.display()))?;
    let copy = folder.join("cangate");
    fs::copy(program, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    let mut man = command(program, &workspace.root);
    if !show(man.arg("man").arg(folder.join("man")))? {
        bail!("the man pages were not written");
    }
    for (shell, name) in [
        ("bash", "cangate"),
        ("zsh", "_cangate"),
        ("fish", "cangate.fish"),
    ] {
        let script = output(command(program, &workspace.root).args(["completions", shell]))?;
        if !script.status.success() || script.stdout.is_empty() {
            bail!("there are no completions for {shell}");
        }
        fs::write(completions.join(name), script.stdout)?;
    }
    Ok(())
}

/// The package.
fn package(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root.join("target/package");
    let mut deb = workspace.cargo("deb");
    deb.args(["--no-build", "-p", "cangate", "--output"]);
    // With a slash it is a folder.
    deb.arg(folder.join(""));
    if !show(&mut deb)? {
        bail!("{CARGO_DEB} failed");
    }
    let mut packages: Vec<PathBuf> = fs::read_dir(&folder)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    match (packages.pop(), packages.is_empty()) {
        (Some(package), true) => Ok(package),
        (_, _) => bail!(
            "{CARGO_DEB} has not written one package into {}",
            folder.display()
        ),
    }
}

/// What Debian's own checker says.
fn lintian(package: &Path) -> Result<Tally> {
    if !on_path("lintian") {
        println!(
            "lintian is not here: the package is not checked by it (`apt-get install lintian`)"
        );
        return Ok(Tally::default());
    }
    let mut lintian = command("lintian", Path::new("/"));
    lintian.args([
        "--allow-root",
        "--fail-on",
        "error",
        "--suppress-tags",
        NOT_DEBIAN_S,
    ]);
    Ok(Tally::check(show(lintian.arg(package))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Containers are not built here; what is written about them is what is built and tested.
    #[test]
    fn the_container_is_built_as_the_package_is() {
        let text = include_str!("../../Containerfile");
        let words: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let has = |line: String| assert!(words.contains(&line), "no {line:?} in\n{text}");
        has(format!("RUN cargo rustc --locked {STATIC}"));
        has("COPY --from=build /src/target/release/cangate /usr/bin/cangate".to_owned());
        let stages: Vec<&String> = words
            .iter()
            .filter(|line| line.starts_with("FROM "))
            .collect();
        assert!(
            stages.len() == 2 && stages[1] == "FROM scratch",
            "{stages:?}"
        );
    }
}
