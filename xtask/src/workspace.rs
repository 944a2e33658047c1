//! cargo's information about this workspace: packages, targets, and its built test binaries.

use crate::command::{command, line, output};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The checkout, with its packages.
pub(crate) struct Workspace {
    /// The folder of the root Cargo.toml.
    pub(crate) root: PathBuf,
    /// The folder that cargo builds in.
    pub(crate) target: PathBuf,
    /// The folder for complete outputs of steps.
    pub(crate) logs: PathBuf,
    /// Its packages.
    pub(crate) packages: Vec<Package>,
    /// The Python package, which is a workspace of its own.
    pub(crate) python: Vec<Package>,
    /// The programs that are workspaces of their own, too: [`ALONE`].
    pub(crate) alone: Vec<Package>,
}

/// A package of the workspace.
pub(crate) struct Package {
    /// cargo's own identifier of the package.
    pub(crate) id: String,
    pub(crate) name: String,
    /// The folder of its Cargo.toml.
    pub(crate) folder: PathBuf,
    /// Names of its `[[bench]]` targets.
    pub(crate) benches: Vec<String>,
    /// Its cargo features, without the default set.
    pub(crate) features: Vec<String>,
    /// Third-party packages that it names itself.
    pub(crate) dependencies: Vec<String>,
    /// Packages of this workspace that its product uses (tests may use more), by their folders.
    pub(crate) crates: Vec<String>,
}

/// A built test program.
pub(crate) struct TestBinary {
    pub(crate) package: String,
    /// The arguments that select it: `--lib`, `--bin NAME`, `--test NAME`.
    pub(crate) selector: Vec<String>,
    /// The prefix of the names of its tests: the package, and for an integration test the target.
    pub(crate) prefix: String,
    pub(crate) program: PathBuf,
    /// The package's folder, where tests run.
    pub(crate) folder: PathBuf,
}

/// The packages whose tests are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestScope {
    /// The crates of the gateway without that of pages, whose tests open a browser, and `xtask`.
    Gateway,
    /// All packages: also pages, the laboratory, the images, the benchmarks and the fuzz targets.
    All,
}

impl TestScope {
    /// The folders of the packages of [`Self::Gateway`].
    const GATEWAY: [&str; 2] = ["crates", "xtask"];

    /// The folder of the package of pages.
    const PAGES: &str = "crates/report";

    fn has(self, workspace: &Workspace, package: &Package) -> bool {
        let is_below = |folder: &&str| package.folder.starts_with(workspace.root.join(folder));
        let is_of_gateway = Self::GATEWAY.iter().any(is_below) && !is_below(&Self::PAGES);
        is_of_gateway || self == Self::All
    }
}

impl Workspace {
    /// Finds the workspace that this program was built in.
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask has no parent folder")?
            .to_path_buf();
        let metadata = metadata(&root)?;
        let target = PathBuf::from(text(&metadata, "target_directory")?);
        let logs = target.join("xtask");
        std::fs::create_dir_all(&logs)
            .with_context(|| format!("cannot make {}", logs.display()))?;
        Ok(Self {
            packages: packages(&metadata)?,
            python: packages(&self::metadata(&root.join("python"))?)?,
            alone: alone(&root)?,
            root,
            target,
            logs,
        })
    }

    /// Returns the packages, those of the other workspaces included.
    pub(crate) fn all_packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().chain(&self.python).chain(&self.alone)
    }

    /// Returns a cargo command, in the root, with a lock file that must be up to date.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        let mut command = command(cargo(), &self.root);
        command.args([subcommand, "--locked"]);
        command
    }

    /// Returns the same for a command that builds with the profile `release`, with more
    /// optimization where the laboratory's guests spend their time.
    pub(crate) fn release_cargo(&self, subcommand: &str) -> Command {
        let mut command = self.cargo(subcommand);
        for package in BPF_LOADERS {
            set_level(&mut command, "release", package, "1");
        }
        command
    }

    /// Returns the same for a command that builds for debugging, in a run whose tests go on to
    /// guests: they put hundreds of BPF programs into the kernels of emulated machines, each time
    /// with the types of the whole kernel, which two crates read.
    pub(crate) fn guest_cargo(&self, subcommand: &str) -> Command {
        let mut command = self.cargo(subcommand);
        for package in ["aya-obj", "object"] {
            set_level(&mut command, "dev", package, "2");
        }
        command
    }

    /// Returns the file for the complete output of a step.
    pub(crate) fn log(&self, step: &str) -> PathBuf {
        self.logs.join(format!("{step}.log"))
    }

    /// Returns the command that builds tests for debugging.
    fn test_build(&self, scope: TestScope) -> Command {
        let mut build = match scope {
            TestScope::Gateway => self.cargo("test"),
            TestScope::All => self.guest_cargo("test"),
        };
        build.args([
            "--workspace",
            "--tests",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ]);
        for package in self
            .packages
            .iter()
            .filter(|package| !scope.has(self, package))
        {
            build.args(["--exclude", &package.name]);
        }
        build
    }

    /// Starts to build what [`test_binaries`](Self::test_binaries) lists.
    pub(crate) fn start_test_build(&self, scope: TestScope) -> Result<EarlyBuild> {
        let log = self.log("early-build");
        let mut build = self.test_build(scope);
        println!("$ {} &", line(&build));
        build.stdout(Stdio::null()).stderr(File::create(&log)?);
        let child = build
            .spawn()
            .with_context(|| format!("cannot run {}", line(&build)))?;
        Ok(EarlyBuild {
            child,
            output: File::open(&log)?,
        })
    }

    /// Builds tests for debugging and lists their programs.
    pub(crate) fn test_binaries(&self, scope: TestScope) -> Result<Vec<TestBinary>> {
        let mut build = self.test_build(scope);
        println!("$ {}", line(&build));
        let output = build.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            bail!("the tests do not build");
        }
        let mut binaries = Vec::new();
        for message in String::from_utf8_lossy(&output.stdout).lines() {
            let Ok(message) = serde_json::from_str::<Value>(message) else {
                continue;
            };
            binaries.extend(self.test_binary(&message));
        }
        Ok(binaries)
    }

    /// Returns the test program that a message of cargo describes, if any.
    fn test_binary(&self, message: &Value) -> Option<TestBinary> {
        if message["profile"]["test"] != true {
            return None;
        }
        let program = PathBuf::from(message["executable"].as_str()?);
        let id = message["package_id"].as_str()?;
        let package = self.packages.iter().find(|package| package.id == id)?;
        let target = message["target"]["name"].as_str()?;
        let kind = message["target"]["kind"][0].as_str()?;
        let (selector, prefix) = match kind {
            "test" => (
                vec!["--test".to_owned(), target.to_owned()],
                format!("{}::{target}", package.name),
            ),
            "bin" => (
                vec!["--bin".to_owned(), target.to_owned()],
                package.name.clone(),
            ),
            "lib" => (vec!["--lib".to_owned()], package.name.clone()),
            _ => return None,
        };
        Some(TestBinary {
            package: package.name.clone(),
            selector,
            prefix,
            program,
            folder: package.folder.clone(),
        })
    }
}

/// A build of the tests that runs at the same time as other steps.
pub(crate) struct EarlyBuild {
    child: Child,
    /// cargo's reports, from where they have not been shown.
    output: File,
}

impl EarlyBuild {
    /// Shows what cargo reports until it has ended. The result does not matter: the next build
    /// repeats what failed.
    pub(crate) fn finish(mut self) -> Result<()> {
        loop {
            let has_ended = self.child.try_wait()?.is_some();
            io::copy(&mut self.output, &mut io::stdout())?;
            if has_ended {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

impl TestBinary {
    /// Returns the names of its tests, with the prefix.
    pub(crate) fn tests(&self) -> Result<Vec<String>> {
        let names = self.names()?;
        let named = |name: String| format!("{}::{name}", self.prefix);
        Ok(names.into_iter().map(named).collect())
    }

    /// Returns the names of its tests, as libtest prints them.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        self.list(&[])
    }

    /// Returns the names of its tests that are ignored by default, as libtest prints them.
    pub(crate) fn ignored(&self) -> Result<Vec<String>> {
        self.list(&["--ignored"])
    }

    fn list(&self, which: &[&str]) -> Result<Vec<String>> {
        let mut list = command(&self.program, &self.folder);
        list.args(["--list", "--format", "terse"]).args(which);
        let output = output(&mut list)?;
        if !output.status.success() {
            bail!("{} does not list its tests", self.program.display());
        }
        Ok(String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(str::to_owned)
            .collect())
    }
}

/// Returns the cargo that runs this program, or the one on the path.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Crates that load BPF programs, and that the profile `release` leaves without optimization for a
/// short first build. They read all types of a kernel at each start of a gateway, which takes long
/// in an emulated machine, and tests start some hundred gateways.
const BPF_LOADERS: [&str; 4] = ["aya", "aya-obj", "cangate-offload", "object"];

/// Sets the level of optimization of a package in a profile, for a cargo command. `level` is as in
/// TOML.
pub(crate) fn set_level(cargo: &mut Command, profile: &str, package: &str, level: &str) {
    cargo.args([
        "--config",
        &format!("profile.{profile}.package.{package}.opt-level={level}"),
    ]);
}

/// The folders of programs that are workspaces of their own, with the same checks and tests.
const ALONE: [&str; 2] = ["fleet", "secure"];

/// Returns the packages of these workspaces.
fn alone(root: &Path) -> Result<Vec<Package>> {
    let mut all = Vec::new();
    for folder in ALONE {
        all.extend(packages(&metadata(&root.join(folder))?)?);
    }
    Ok(all)
}

/// Returns the output of `cargo metadata` for the workspace in `folder`, without that of its
/// dependencies.
pub(crate) fn metadata(folder: &Path) -> Result<Value> {
    let mut command = command(cargo(), folder);
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = output(&mut command)?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    serde_json::from_slice(&output.stdout).context("the output of cargo metadata is not valid JSON")
}

/// Returns the packages in the output of `cargo metadata`.
pub(crate) fn packages(metadata: &Value) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    for package in list(metadata, "packages") {
        let manifest = PathBuf::from(text(package, "manifest_path")?);
        let mut dependencies: Vec<String> = list(package, "dependencies")
            .iter()
            .filter(|dependency| dependency["path"].is_null())
            .filter_map(|dependency| dependency["name"].as_str())
            .map(str::to_owned)
            .collect();
        dependencies.sort();
        dependencies.dedup();
        packages.push(Package {
            id: text(package, "id")?.to_owned(),
            name: text(package, "name")?.to_owned(),
            folder: manifest
                .parent()
                .context("a manifest without a folder")?
                .to_path_buf(),
            benches: list(package, "targets")
                .iter()
                .filter(|target| target["kind"][0] == "bench")
                .filter_map(|target| target["name"].as_str())
                .map(str::to_owned)
                .collect(),
            features: package["features"]
                .as_object()
                .into_iter()
                .flat_map(|features| features.keys())
                .filter(|feature| *feature != "default")
                .cloned()
                .collect(),
            dependencies,
            crates: crates(package),
        });
    }
    Ok(packages)
}

/// Folders of the path dependencies that are not for tests only.
fn crates(package: &Value) -> Vec<String> {
    let mut crates: Vec<String> = list(package, "dependencies")
        .iter()
        .filter(|dependency| dependency["kind"] != "dev")
        .filter_map(|dependency| Path::new(dependency["path"].as_str()?).file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    crates.sort();
    crates.dedup();
    crates
}

/// Returns the third-party packages and the packages that name them.
pub(crate) fn users_of_dependencies<'p>(
    packages: impl Iterator<Item = &'p Package>,
) -> BTreeMap<String, Vec<String>> {
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        for dependency in &package.dependencies {
            users
                .entry(dependency.clone())
                .or_default()
                .push(package.name.clone());
        }
    }
    users
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key]
        .as_str()
        .with_context(|| format!("cargo metadata has no {key}"))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}
