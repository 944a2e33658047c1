//! Packages through the host's own apt-get, with folders of the lab: it checks signatures and sums,
//! resolves dependencies, continues partial downloads, and needs no privileges.

use crate::architecture::Architecture;
use crate::cache::CacheFolder;
use crate::error::{Error, tail};
use crate::kernels::DebianRelease;
use crate::progress::ProgressReport;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const NO_APT: &str = "this needs a Debian or Ubuntu host, or a container of one";
const GO_ON: &str = "; run the same command to resume";

/// Time for which fetched package lists stay valid.
const LISTS_GOOD_FOR: Duration = Duration::from_secs(3600);

/// A package in an exact version.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct DebianPackage {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// The bytes to fetch; 0 if the size is no longer known.
    #[serde(skip)]
    pub(crate) size: u64,
}

/// apt-get with folders of the lab.
pub(super) struct AptClient<'a> {
    cache: &'a CacheFolder,
    architecture: Architecture,
    config: PathBuf,
    mirror: String,
    progress: &'a dyn ProgressReport,
}

impl<'a> AptClient<'a> {
    /// Prepares the folders.
    pub(super) fn new(
        cache: &'a CacheFolder,
        mirror: Option<&str>,
        architecture: Architecture,
        progress: &'a dyn ProgressReport,
    ) -> Result<Self, Error> {
        let mirror = match mirror {
            Some(uri) => uri.to_owned(),
            None => super::sources::host_mirror(Path::new("/etc/apt"))?,
        };
        if mirror.contains(char::is_whitespace) {
            return Err(Error::Mirror(mirror));
        }
        let root = cache.path(architecture.apt_folder());
        for folder in ["lists/partial", "archives/partial", "sources"] {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(Error::file("create the folder", &path))?;
        }
        let config = root.join("apt.conf");
        let text = configuration(&root, architecture, &host_acquire()?)?;
        let status = root.join("status");
        fs::write(&status, "").map_err(Error::file("write", &status))?;
        fs::write(&config, text).map_err(Error::file("write", &config))?;
        Ok(Self {
            cache,
            architecture,
            config,
            mirror,
            progress,
        })
    }

    /// Returns a path in the folder of apt's state.
    fn path(&self, name: &str) -> PathBuf {
        self.cache.path(self.architecture.apt_folder()).join(name)
    }

    /// Waits until no other process uses apt in this folder.
    fn lock(&self) -> Result<fs::File, Error> {
        let name = self.architecture.apt_folder();
        self.cache.lock(name, self.progress)
    }

    fn apt_get(&self, release: DebianRelease) -> Result<Command, Error> {
        let list = self.path(&format!("sources/{}.list", release.target()));
        let keyring = keyring()?;
        let mut text = String::new();
        for suite in release.suites() {
            let _ = writeln!(
                text,
                "deb [signed-by={keyring}] {} {suite} main",
                self.mirror
            );
        }
        fs::write(&list, text).map_err(Error::file("write", &list))?;
        let mut command = Command::new("apt-get");
        command
            .env("APT_CONFIG", &self.config)
            .env("LC_ALL", "C")
            .arg("-o")
            .arg(format!("Dir::Etc::sourcelist={}", list.display()))
            .args(["-t", release.target()])
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Fetches the release's package lists, unless they are fresh.
    fn update(&self, release: DebianRelease) -> Result<(), Error> {
        let stamp = self.stamp(release);
        let fresh = fs::metadata(&stamp)
            .and_then(|meta| meta.modified())
            .is_ok_and(|then| then.elapsed().is_ok_and(|age| age < LISTS_GOOD_FOR));
        if fresh {
            return Ok(());
        }
        self.progress
            .stage(&format!("package lists of {}", release.target()));
        let mut command = self.apt_get(release)?;
        command.args(["-o", "APT::Get::List-Cleanup=false"]);
        // Otherwise a list that cannot be fetched is only a warning.
        command.args(["-o", "APT::Update::Error-Mode=any", "update"]);
        self.run(
            command,
            &format!("fetching package lists from {}", self.mirror),
        )?;
        fs::write(&stamp, "").map_err(Error::file("write", &stamp))
    }

    fn stamp(&self, release: DebianRelease) -> PathBuf {
        self.path(&format!("{}.stamp", release.target()))
    }

    /// Returns the packages to fetch: the given ones and all that they depend on.
    pub(super) fn resolve(
        &self,
        release: DebianRelease,
        packages: &[String],
    ) -> Result<Vec<DebianPackage>, Error> {
        let _lock = self.lock()?;
        self.update(release)?;
        let mut command = self.apt_get(release)?;
        command
            .args(["--print-uris", "--yes", "install"])
            .args(packages);
        let text = self.run(command, &format!("resolving {}", packages.join(", ")))?;
        let found: Vec<DebianPackage> = text.lines().filter_map(parse_uri).collect();
        if found.is_empty() {
            return Err(Error::Command {
                what: format!("resolving {}", packages.join(", ")),
                advice: ": apt-get names no package",
                tail: tail(text.as_bytes(), 10, 2000),
            });
        }
        Ok(found)
    }

    /// Fetches packages into a folder; those that are there already are not fetched again. Returns
    /// the files, in order.
    pub(super) fn download(
        &self,
        release: DebianRelease,
        packages: &[DebianPackage],
        into: &Path,
    ) -> Result<Vec<PathBuf>, Error> {
        let _lock = self.lock()?;
        fs::create_dir_all(into).map_err(Error::file("create the folder", into))?;
        let mut command = self.apt_get(release)?;
        command
            .current_dir(into)
            .args(["-o", "APT::Status-Fd=1", "download"])
            .args(packages.iter().map(|p| format!("{}={}", p.name, p.version)));
        if let Err(error) = self.run(command, &format!("fetching packages from {}", self.mirror)) {
            // The lists may name files that the mirror no longer has: fetch them again.
            let _ = fs::remove_file(self.stamp(release));
            return Err(error);
        }
        packages
            .iter()
            .map(|package| file_of(into, self.architecture, package))
            .collect()
    }

    /// Runs apt-get to its end; passes its progress on, and returns its output.
    fn run(&self, mut command: Command, what: &str) -> Result<String, Error> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| missing("apt-get", "to fetch packages", NO_APT, source))?;
        let errors = child.stderr.take().map(|mut pipe| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.read_to_end(&mut bytes);
                bytes
            })
        });
        let mut output = String::new();
        if let Some(pipe) = child.stdout.take() {
            for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                if let Some(part) = parse_status(&line) {
                    self.progress.part(part);
                } else {
                    output.push_str(&line);
                    output.push('\n');
                }
            }
        }
        let status = child
            .wait()
            .map_err(|source| missing("apt-get", "to fetch packages", NO_APT, source))?;
        let errors = errors
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default();
        if status.success() {
            return Ok(output);
        }
        Err(Error::Command {
            what: what.to_owned(),
            advice: GO_ON,
            tail: tail(&errors, 10, 2000),
        })
    }
}

/// Returns the error for a program that cannot be started.
pub(super) fn missing(
    tool: &'static str,
    why: &'static str,
    advice: &'static str,
    source: std::io::Error,
) -> Error {
    if source.kind() == std::io::ErrorKind::NotFound {
        return Error::Tool { tool, why, advice };
    }
    Error::file("run", Path::new(tool))(source)
}

/// Returns the file with the keys of Debian's signatures on the host.
fn keyring() -> Result<&'static str, Error> {
    const PLACES: [&str; 3] = [
        "/usr/share/keyrings/debian-archive-keyring.gpg",
        "/usr/share/keyrings/debian-archive-keyring.pgp",
        "/etc/apt/trusted.gpg.d/debian-archive-keyring.gpg",
    ];
    PLACES
        .into_iter()
        .find(|path| Path::new(path).is_file())
        .ok_or(Error::Tool {
            tool: "debian-archive-keyring",
            why: "to check Debian's signatures",
            advice: "install the package of that name",
        })
}

/// The host's settings for access to a mirror, by the last part of their names, in small letters.
/// They can appear below `Acquire::http` and `Acquire::https`, for all hosts or with the name of
/// one. None of them affects trust: packages are trusted by Debian's signatures, as apt checks them
/// by default.
const REACHING: [&str; 12] = [
    "proxy",
    "proxy-auto-detect",
    "proxyautodetect",
    "timeout",
    "dl-limit",
    "pipeline-depth",
    "user-agent",
    "cainfo",
    "capath",
    "crlfile",
    "sslcert",
    "sslkey",
];

/// Such settings for all methods.
const REACHING_ANYWHERE: [&str; 2] = ["acquire::forceipv4", "acquire::forceipv6"];

/// Returns whether a line `NAME "VALUE";` of `apt-config dump` is a setting for access to a mirror.
fn is_about_reaching(line: &str) -> bool {
    let Some((name, value)) = line.split_once(' ') else {
        return false;
    };
    // One value in quotes: a quote in it would end it for apt, and the rest would be a setting of
    // its own.
    let whole = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix("\";"));
    if whole.is_none_or(|value| value.contains(['"', '\\'])) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    if REACHING_ANYWHERE.contains(&name.as_str()) {
        return true;
    }
    let parts: Vec<&str> = name.split("::").collect();
    match parts.as_slice() {
        ["acquire", "http" | "https", rest @ ..] => match rest {
            [key] => REACHING.contains(key),
            // `Proxy::HOST`, and `HOST::CaInfo`.
            [one, other] => {
                let [by_key, by_host] = [one, other].map(|key| REACHING.contains(key));
                by_key != by_host
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns the host's settings for access to a mirror: proxies, certificates, timeouts. The lab
/// does not take over its other settings: neither commands that apt runs after an update nor
/// permissions for unsigned packages.
fn host_acquire() -> Result<String, Error> {
    let output = Command::new("apt-config")
        .args(["dump", "--format", "%F \"%v\";%n", "Acquire"])
        .env("LC_ALL", "C")
        .output()
        .map_err(|source| missing("apt-config", "to fetch packages", NO_APT, source))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut kept = String::new();
    for line in text.lines().filter(|line| is_about_reaching(line)) {
        kept.push_str(line);
        kept.push('\n');
    }
    Ok(kept)
}

fn configuration(root: &Path, architecture: Architecture, acquire: &str) -> Result<String, Error> {
    let root = root
        .to_str()
        .filter(|text| !text.contains(['"', '\n', '\\']))
        .ok_or_else(|| Error::AptFolder(root.to_path_buf()))?;
    let architecture = architecture.debian();
    Ok(format!(
        "Dir \"{root}\";\n\
         Dir::State \"{root}\";\n\
         Dir::State::lists \"{root}/lists\";\n\
         Dir::State::status \"{root}/status\";\n\
         Dir::Cache \"{root}\";\n\
         Dir::Cache::archives \"{root}/archives\";\n\
         Dir::Cache::pkgcache \"\";\n\
         Dir::Cache::srcpkgcache \"\";\n\
         Dir::Etc \"{root}\";\n\
         Dir::Etc::main \"/dev/null\";\n\
         Dir::Etc::parts \"/dev/null\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         Dir::Etc::netrc \"/etc/apt/auth.conf\";\n\
         Dir::Etc::netrcparts \"/etc/apt/auth.conf.d\";\n\
         Dir::Log \"{root}\";\n\
         APT::Architecture \"{architecture}\";\n\
         APT::Architectures {{ \"{architecture}\"; }};\n\
         APT::Install-Recommends \"false\";\n\
         APT::Sandbox::User \"\";\n\
         {acquire}\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"3\";\n"
    ))
}

/// Parses `dlstatus:FILE:PERCENT:words`, a line of APT::Status-Fd.
fn parse_status(line: &str) -> Option<f64> {
    let mut parts = line.strip_prefix("dlstatus:")?.splitn(3, ':');
    let percent: f64 = parts.nth(1)?.parse().ok()?;
    Some((percent / 100.0).clamp(0.0, 1.0))
}

/// Parses `'URI' name_version_arch.deb size sum`, a line of --print-uris.
fn parse_uri(line: &str) -> Option<DebianPackage> {
    let mut words = line.strip_prefix('\'')?.split_once("' ")?.1.split(' ');
    let file = words.next()?;
    let size = words.next().and_then(|text| text.parse().ok());
    let mut parts = file.strip_suffix(".deb")?.rsplitn(3, '_');
    let (_arch, version, name) = (parts.next()?, parts.next()?, parts.next()?);
    Some(DebianPackage {
        name: name.to_owned(),
        version: version.replace("%3a", ":"),
        size: size.unwrap_or(0),
    })
}

/// Returns the file that apt-get made of a package.
fn file_of(
    folder: &Path,
    architecture: Architecture,
    package: &DebianPackage,
) -> Result<PathBuf, Error> {
    let stem = format!("{}_{}_", package.name, package.version.replace(':', "%3a"));
    [architecture.debian(), "all"]
        .into_iter()
        .map(|arch| folder.join(format!("{stem}{arch}.deb")))
        .find(|path| path.is_file())
        .ok_or_else(|| Error::Command {
            what: format!("fetching {} {}", package.name, package.version),
            advice: GO_ON,
            tail: format!("apt-get left no {stem}*.deb in {}", folder.display()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_become_packages() {
        let line = "'http://m/pool/main/q/qemu/qemu-system-x86_11.1.3%2bds-1%7ebpo13%2b1_amd64.deb' \
                    qemu-system-x86_1%3a11.1.3+ds-1~bpo13+1_amd64.deb 10377056 SHA256:00";
        let package = parse_uri(line).unwrap();
        assert_eq!(package.name, "qemu-system-x86");
        assert_eq!(package.version, "1:11.1.3+ds-1~bpo13+1");
        assert_eq!(package.size, 10_377_056);
        assert_eq!(parse_uri("Reading package lists..."), None);
        assert_eq!(parse_uri("'http://m/x' nonsense 1 y"), None);
    }

    #[test]
    fn of_the_hosts_settings_only_how_to_reach_a_mirror_is_taken() {
        for line in [
            "Acquire::http::Proxy \"http://proxy:3128\";",
            "Acquire::HTTP::proxy \"DIRECT\";",
            "Acquire::http::Proxy::deb.debian.org \"DIRECT\";",
            "Acquire::http::Proxy-Auto-Detect \"/usr/bin/auto-apt-proxy\";",
            "Acquire::https::CAInfo \"/etc/ssl/ours.pem\";",
            "Acquire::https::mirror.lan::SslCert \"/etc/ssl/cert.pem\";",
            "Acquire::http::Timeout \"5\";",
            "Acquire::ForceIPv4 \"true\";",
        ] {
            assert!(is_about_reaching(line), "{line}");
        }
        for line in [
            "Acquire \"\";",
            "Acquire::http \"\";",
            "Acquire::AllowInsecureRepositories \"1\";",
            "Acquire::AllowWeakRepositories \"1\";",
            "Acquire::AllowDowngradeToInsecureRepositories \"1\";",
            "Acquire::Check-Valid-Until \"false\";",
            "Acquire::Check-Date \"false\";",
            "Acquire::https::Verify-Peer \"false\";",
            "Acquire::https::Verify-Host \"false\";",
            "Acquire::https::mirror.lan::Verify-Peer \"false\";",
            "Acquire::Languages:: \"en\";",
            "Acquire::IndexTargets::deb::Packages::MetaKey \"x\";",
            "Acquire::GzipIndexes \"true\";",
            "APT::Update::Post-Invoke:: \"rm -rf /\";",
            // A value that would end early, and continue as a setting.
            "Acquire::http::Proxy \"x\"; Acquire::AllowInsecureRepositories \"1\";",
        ] {
            assert!(!is_about_reaching(line), "{line}");
        }
    }

    #[test]
    fn progress_is_read() {
        assert_eq!(
            parse_status("dlstatus:1:80.5000:Retrieving file 1 of 1"),
            Some(0.805)
        );
        assert_eq!(parse_status("dlstatus:1:x:"), None);
        assert_eq!(parse_status("Get:1 http://m bookworm"), None);
    }

    #[test]
    fn a_folder_that_apt_could_not_take_is_refused() {
        let amd64 = Architecture::Amd64;
        assert!(configuration(Path::new("/a\"b"), amd64, "").is_err());
        let proxy = "Acquire::http::Proxy \"http://p\";\n";
        let text = configuration(Path::new("/a b"), amd64, proxy).unwrap();
        assert!(text.contains("Dir::State::status \"/a b/status\";"));
        assert!(text.contains("http::Proxy"));
        assert!(text.contains("APT::Architectures { \"amd64\"; };"));
        let text = configuration(Path::new("/a"), Architecture::Arm64, "").unwrap();
        assert!(text.contains("APT::Architecture \"arm64\";"));
        assert!(!text.contains("amd64"));
    }

    #[test]
    fn files_are_found_by_version() {
        let dir = tempfile::tempdir().unwrap();
        let package = DebianPackage {
            name: "a".to_owned(),
            version: "1:2".to_owned(),
            size: 0,
        };
        let find = |architecture| file_of(dir.path(), architecture, &package);
        assert!(find(Architecture::Amd64).is_err());
        fs::write(dir.path().join("a_1%3a2_arm64.deb"), "").unwrap();
        assert!(find(Architecture::Amd64).is_err());
        assert!(find(Architecture::Arm64).is_ok());
        fs::write(dir.path().join("a_1%3a2_all.deb"), "").unwrap();
        assert!(find(Architecture::Amd64).is_ok());
    }
}
