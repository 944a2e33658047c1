//! `cargo xtask package`: the Debian packages, each with a statically linked program.
//!
//! The amd64 package contains glibc, the arm64 package musl. For amd64, the machine that makes the
//! package has a static glibc anyway. For arm64, a static glibc needs a cross compiler and its C
//! library (`gcc-aarch64-linux-gnu`), while musl, the start objects of a program and the linker
//! `rust-lld` come with Rust's target, and no part of the gateway needs a C compiler there.
//! Measured on the same sources (2026-11, Rust 1.95): 15 177 048 bytes with musl, 15 288 760 with
//! glibc; packages of 3.9 and 4.1 MB; between two emulated cards on Debian's arm64 kernel 6.1 the
//! same p50 from end to end (53 µs) and nearly the same maximum (60 and 64 µs). The disadvantage of
//! musl, a system call for each frame of a batch, is avoided by `linux`, which makes the batch's
//! system call itself.

use crate::arm64;
use crate::command::{command, on_path, output, show};
use crate::manual;
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The options for linking the program statically: it needs nothing of the system except the
/// kernel, so that one package works on every distribution. Only the program is compiled with them,
/// so that an ordinary build can use everything else. See docs/decisions/0026-service.md.
const STATIC: &str = "-p cangate --bin cangate -- -C target-feature=+crt-static";
/// The same for the laboratory, which exists for 64-bit PCs only.
const STATIC_LAB: &str = "-p cangate-lab --bin cangate-lab -- -C target-feature=+crt-static";

/// The profile of Cargo.toml that the program of a gateway's package is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackageProfile {
    /// For size, all crates together: for users.
    Dist,
    /// The program that other steps have built: packaging is tested, and no second build is
    /// needed.
    Release,
}

impl PackageProfile {
    /// Returns the name in Cargo.toml, which is also that of cargo's folder.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dist => "dist",
            Self::Release => "release",
        }
    }

    /// Returns a cargo command for programs of this profile: with those of other steps' programs,
    /// it has the same options as theirs.
    fn cargo(self, workspace: &Workspace, subcommand: &str) -> Command {
        match self {
            Self::Dist => workspace.cargo(subcommand),
            Self::Release => workspace.release_cargo(subcommand),
        }
    }
}

/// The gateway's package, and its program.
const GATEWAY: &str = "cangate";
/// The laboratory's package, and its program.
const LABORATORY: &str = "cangate-lab";

/// The processor that a package is for, by Debian's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Architecture {
    /// 64-bit PCs.
    Amd64,
    /// 64-bit ARM.
    Arm64,
}

impl Architecture {
    /// Returns the architecture of this machine.
    pub(crate) const fn host() -> Self {
        if cfg!(target_arch = "aarch64") {
            Self::Arm64
        } else {
            Self::Amd64
        }
    }

    /// Returns the ending of the names of its packages.
    const fn ending(self) -> &'static str {
        match self {
            Self::Amd64 => "_amd64.deb",
            Self::Arm64 => "_arm64.deb",
        }
    }
}

/// The program that makes the package.
pub(crate) const CARGO_DEB: &str = "cargo-deb";

/// Its version, where it is installed: newer ones may work differently.
pub(crate) const CARGO_DEB_VERSION: &str = "3.8.0";

/// Lintian's tags for every package that is not Debian's own: there is no bug report that requests
/// the package (`initial-upload-closes-no-bugs`), the program is linked statically on purpose, and
/// Debian has one file of each licence.
const NOT_DEBIAN_S: &str = "initial-upload-closes-no-bugs,statically-linked-binary,extra-license-file,no-changelog,\
                            debian-changelog-file-missing";

/// Builds the packages for a processor, or reports the missing tools.
pub(crate) fn run(
    workspace: &Workspace,
    architecture: Architecture,
    profile: PackageProfile,
) -> Result<TestTally> {
    let one = |name, programs| one(workspace, architecture, name, programs, profile);
    match architecture {
        Architecture::Amd64 => {
            let gateway = amd64(workspace, GATEWAY, STATIC, profile)?;
            let mut tally = one(GATEWAY, gateway)?;
            // Its size matters little beside the kernels and the packages that it fetches.
            let laboratory = amd64(workspace, LABORATORY, STATIC_LAB, PackageProfile::Release)?;
            tally.add(one(LABORATORY, laboratory)?);
            Ok(tally)
        }
        Architecture::Arm64 => {
            let gateway = arm64(workspace, profile)?;
            one(GATEWAY, gateway)
        }
    }
}

/// Makes one package, in a run for this profile, from the programs that were built for it.
fn one(
    workspace: &Workspace,
    architecture: Architecture,
    name: &str,
    programs: Result<PackagePrograms, String>,
    profile: PackageProfile,
) -> Result<TestTally> {
    let programs = match programs {
        Ok(programs) => programs,
        Err(why) => {
            return Ok(TestTally::skipped(format!(
                "the package {name}{} because {why}",
                architecture.ending()
            )));
        }
    };
    let mut tally = TestTally::passed();
    if !on_path(CARGO_DEB) {
        tally.add(TestTally::skipped(format!(
            "the package {name} because {CARGO_DEB} is missing: `cargo install {CARGO_DEB} --locked`"
        )));
        return Ok(tally);
    }
    generate(workspace, name, &programs)?;
    let is_test = profile == PackageProfile::Release;
    let package = package(workspace, name, architecture, programs.profile, is_test)?;
    println!("{}", package.display());
    tally.add(lintian(&package)?);
    Ok(tally)
}

/// The programs that a package is made with.
struct PackagePrograms {
    /// A program that runs on this machine: it writes the man pages and the completions.
    here: PathBuf,
    /// The profile of the packaged program.
    profile: PackageProfile,
    /// Whether the package contains this same program, which tests then find in the package's
    /// folder.
    packaged: bool,
}

/// Returns a statically linked program for PCs, which is also in the place of an ordinary build's
/// program until the next build; or the reason why there is none.
fn amd64(
    workspace: &Workspace,
    name: &str,
    options: &str,
    profile: PackageProfile,
) -> Result<Result<PackagePrograms, String>> {
    if !cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
        return Ok(Err(
            "it is made on x86-64 with glibc only: elsewhere, `cargo install --profile dist --path crates/cangate` \
             installs the program"
                .to_owned(),
        ));
    }
    let mut build = profile.cargo(workspace, "rustc");
    build.args(["--profile", profile.name()]);
    if !show(build.args(options.split_whitespace()))? {
        bail!("{name} does not build, linked statically");
    }
    Ok(Ok(PackagePrograms {
        here: workspace.target.join(profile.name()).join(name),
        profile,
        packaged: true,
    }))
}

/// Returns the program for 64-bit ARM, and this machine's, which has the same command line; or the
/// reason why there is none.
fn arm64(
    workspace: &Workspace,
    profile: PackageProfile,
) -> Result<Result<PackagePrograms, String>> {
    if let Some(why) = arm64::missing(arm64::TARGET) {
        return Ok(Err(why));
    }
    arm64::build(workspace, profile)?;
    let mut build = profile.cargo(workspace, "build");
    if !show(build.args(["--release", "-p", "cangate"]))? {
        bail!("cangate does not build");
    }
    Ok(Ok(PackagePrograms {
        here: workspace.target.join("release/cangate"),
        profile,
        packaged: false,
    }))
}

/// Writes man pages and completions, by the program itself, which is the only definition of its
/// command line, and copies the program to where tests find it. A package for another processor is
/// kept.
fn generate(workspace: &Workspace, name: &str, programs: &PackagePrograms) -> Result<()> {
    // The assets in the program's Cargo.toml name this folder, wherever cargo builds.
    let folder = workspace.root.join("target/package");
    let parts = folder.join(format!("{name}-files"));
    let completions = parts.join("completions");
    let _ = fs::remove_dir_all(&parts);
    fs::create_dir_all(&completions)
        .with_context(|| format!("cannot make {}", completions.display()))?;
    let program = &programs.here;
    if programs.packaged {
        let copy = folder.join(name);
        fs::copy(program, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    }
    let mut man = command(program, &workspace.root);
    if !show(man.arg("man").arg(parts.join("man")))? {
        bail!("the man pages were not written");
    }
    if name == GATEWAY {
        manual::write(&workspace.root, &parts.join("man"))?;
    }
    for (shell, file) in [
        ("bash", name.to_owned()),
        ("zsh", format!("_{name}")),
        ("fish", format!("{name}.fish")),
    ] {
        let script = output(command(program, &workspace.root).args(["completions", shell]))?;
        if !script.status.success() || script.stdout.is_empty() {
            bail!("there are no completions for {shell}");
        }
        fs::write(completions.join(file), script.stdout)?;
    }
    Ok(())
}

/// Makes the package, for a test of packaging if `is_test`.
fn package(
    workspace: &Workspace,
    name: &str,
    architecture: Architecture,
    profile: PackageProfile,
    is_test: bool,
) -> Result<PathBuf> {
    let folder = workspace.root.join("target/package");
    let packages = || -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&folder)?.flatten();
        Ok(entries
            .map(|entry| entry.path())
            .filter(|path| {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                // An underscore ends the name of a package.
                file.starts_with(&format!("{name}_")) && file.ends_with(architecture.ending())
            })
            .collect())
    };
    // A package of an older version has another name.
    for old in packages()? {
        fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    let mut deb = workspace.cargo("deb");
    // It reads `target/release` in the list of assets as the folder of this profile.
    deb.args(["--no-build", "--profile", profile.name()]);
    deb.args(["-p", name, "--output"]);
    // A path that ends with a slash is a folder.
    deb.arg(folder.join(""));
    if is_test {
        // A larger package in a third of the time.
        deb.arg("--fast");
    }
    if architecture == Architecture::Arm64 {
        // It is stripped already ([`arm64::build`]).
        deb.args(["--target", arm64::TARGET, "--no-strip"]);
    }
    if !show(&mut deb)? {
        bail!("{CARGO_DEB} failed");
    }
    let mut packages = packages()?;
    match (packages.pop(), packages.is_empty()) {
        (Some(package), true) => Ok(package),
        (_, _) => bail!(
            "{CARGO_DEB} has not written one package into {}",
            folder.display()
        ),
    }
}

/// Runs Debian's own checker.
fn lintian(package: &Path) -> Result<TestTally> {
    if !on_path("lintian") {
        println!("lintian is missing: it does not check the package (`apt-get install lintian`)");
        return Ok(TestTally::default());
    }
    let mut lintian = command("lintian", Path::new("/"));
    lintian.args([
        "--allow-root",
        "--fail-on",
        "error",
        "--suppress-tags",
        NOT_DEBIAN_S,
    ]);
    Ok(TestTally::check(show(lintian.arg(package))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Containers are not built here; this checks that the Containerfile builds what is built and
    /// tested here.
    #[test]
    fn the_container_is_built_as_the_package_is() {
        let text = include_str!("../../Containerfile");
        let words: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let has = |line: String| assert!(words.contains(&line), "no {line:?} in\n{text}");
        let profile = PackageProfile::Dist.name();
        has(format!(
            "RUN cargo rustc --locked --profile {profile} {STATIC}"
        ));
        has(format!(
            "COPY --from=build /src/target/{profile}/cangate /usr/bin/cangate"
        ));
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
