//! The mirror that the host's apt uses, read from its lists of sources (sources.list(5)).

use crate::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Finds the mirror: the first archive of Debian itself, not of its security updates.
///
/// # Errors
///
/// The host's lists contain no such archive.
pub(super) fn host_mirror(etc: &Path) -> Result<String, Error> {
    for file in files(etc) {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let found = if file.extension().is_some_and(|e| e == "sources") {
            deb822(&text)
        } else {
            one_line(&text)
        };
        if let Some(uri) = found {
            return Ok(uri);
        }
    }
    Err(Error::NoMirror {
        list: etc.join("sources.list"),
        folder: etc.join("sources.list.d"),
    })
}

fn files(etc: &Path) -> Vec<PathBuf> {
    let mut all = vec![etc.join("sources.list")];
    if let Ok(entries) = fs::read_dir(etc.join("sources.list.d")) {
        let mut more: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        more.sort();
        all.extend(more.into_iter().filter(|path| {
            path.extension()
                .is_some_and(|e| e == "list" || e == "sources")
        }));
    }
    all
}

/// Returns whether packages of this suite at this address are those of a Debian mirror.
fn is_debian(uri: &str, suite: &str, components: &[&str]) -> bool {
    const SUITES: [&str; 11] = [
        "bullseye",
        "bookworm",
        "trixie",
        "forky",
        "duke",
        "sid",
        "stable",
        "oldstable",
        "oldoldstable",
        "testing",
        "unstable",
    ];
    let base = suite.split(['-', '/']).next().unwrap_or_default();
    SUITES.contains(&base)
        && !suite.contains("security")
        && !uri.contains("security")
        && components.contains(&"main")
        && ["http://", "https://", "file:", "mirror+"]
            .iter()
            .any(|scheme| uri.starts_with(scheme))
}

/// Parses the old form: `deb [options] uri suite component…`.
fn one_line(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let rest = line.trim().strip_prefix("deb")?;
        if !rest.starts_with(|c: char| c.is_whitespace() || c == '[') {
            return None;
        }
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => rest,
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [uri, suite, components @ ..] = words.as_slice() else {
            return None;
        };
        is_debian(uri, suite, components).then(|| (*uri).to_owned())
    })
}

/// Parses the new form: stanzas of `Field: value`, with continuation lines.
fn deb822(text: &str) -> Option<String> {
    let mut stanza: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            if let Some(uri) = mirror_of(&stanza) {
                return Some(uri);
            }
            stanza.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((field, value)) = line.split_once(':') {
            stanza.push((field.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    None
}

fn mirror_of(stanza: &[(String, String)]) -> Option<String> {
    let field = |name: &str| -> Vec<&str> {
        stanza
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.split_whitespace().collect())
            .unwrap_or_default()
    };
    let off = field("enabled")
        .first()
        .is_some_and(|v| matches!(v.to_ascii_lowercase().as_str(), "no" | "false" | "0"));
    if off || !field("types").contains(&"deb") {
        return None;
    }
    let components = field("components");
    field("uris")
        .into_iter()
        .find(|uri| {
            field("suites")
                .iter()
                .any(|suite| is_debian(uri, suite, &components))
        })
        .map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_form() {
        let text = "# deb http://not.example/debian bookworm main\n\
                    deb-src http://src.example/debian bookworm main\n\
                    deb http://security.example/debian-security bookworm-security main\n\
                    deb [arch=amd64 signed-by=/x.gpg] https://other.example/apt nodistro main\n\
                    deb\t[ signed-by=/y.gpg ] http://good.example/debian bookworm main contrib # yes\n";
        assert_eq!(
            one_line(text).as_deref(),
            Some("http://good.example/debian")
        );
        assert_eq!(one_line("debug http://x bookworm main"), None);
        assert_eq!(one_line("deb [broken http://x bookworm main"), None);
        assert_eq!(one_line("deb http://x.example/ubuntu noble main"), None);
        assert_eq!(one_line("deb cdrom:[Debian]/ bookworm main"), None);
    }

    #[test]
    fn the_new_form() {
        let text = "Types: deb\nURIs: http://sec.example/debian-security\n\
                    Suites: bookworm-security\nComponents: main\n\n\
                    Types: deb\nEnabled: no\nURIs: http://off.example/debian\nSuites: bookworm\nComponents: main\n\n\
                    # a word\nTypes: deb deb-src\nURIs:\n http://good.example/debian\n\
                    Suites: bookworm\n bookworm-updates\nComponents: main contrib\nSigned-By:\n -----BEGIN\n .\n";
        assert_eq!(deb822(text).as_deref(), Some("http://good.example/debian"));
        assert_eq!(
            deb822("Types: deb-src\nURIs: http://x\nSuites: sid\nComponents: main\n"),
            None
        );
    }

    #[test]
    fn the_host_s_files_are_read_in_order_and_none_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let error = host_mirror(dir.path()).unwrap_err().to_string();
        assert!(error.contains("--mirror"), "{error}");
        fs::create_dir(dir.path().join("sources.list.d")).unwrap();
        fs::write(
            dir.path().join("sources.list.d/a.list.save"),
            "deb http://a.example/debian trixie main\n",
        )
        .unwrap();
        assert!(host_mirror(dir.path()).is_err());
        fs::write(
            dir.path().join("sources.list.d/b.sources"),
            "Types: deb\nURIs: http://b.example/debian\nSuites: trixie\nComponents: main\n",
        )
        .unwrap();
        assert_eq!(host_mirror(dir.path()).unwrap(), "http://b.example/debian");
        fs::write(
            dir.path().join("sources.list"),
            "deb http://c.example/debian trixie main\n",
        )
        .unwrap();
        assert_eq!(host_mirror(dir.path()).unwrap(), "http://c.example/debian");
    }
}
