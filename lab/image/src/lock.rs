//! The lock file of a part of a workspace.

use std::collections::BTreeSet;
use toml::{Table, Value};

/// A package as a lock file pins it.
type Pinned = (String, String, String, String);

/// Returns the packages of a lock file: name, version, source and checksum. `None` if the text is
/// not a lock file.
fn packages(text: &str) -> Option<BTreeSet<Pinned>> {
    let lock: Table = text.parse().ok()?;
    let packages = lock.get("package")?.as_array()?.iter();
    let pinned = |package: &Value| {
        let word = |key| {
            package
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        (
            word("name"),
            word("version"),
            word("source"),
            word("checksum"),
        )
    };
    Some(packages.map(pinned).collect())
}

/// Returns the packages of `part` that `whole` does not pin, by name and version. Empty if each
/// version and checksum is also in `whole`.
pub(crate) fn unknown(part: &str, whole: &str) -> Vec<String> {
    let (Some(part), Some(whole)) = (packages(part), packages(whole)) else {
        return vec!["the lock file cannot be read".to_owned()];
    };
    let new = part.difference(&whole);
    new.map(|(name, version, ..)| format!("{name} {version}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_versions_and_checksums_of_the_whole() {
        let one = |name: &str, version: &str, sum: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nchecksum = \"{sum}\"\n"
            )
        };
        let whole = one("a", "1.0.0", "1") + &one("b", "2.0.0", "2");
        assert_eq!(unknown(&one("b", "2.0.0", "2"), &whole), [""; 0]);
        assert_eq!(unknown(&one("b", "2.0.1", "2"), &whole), ["b 2.0.1"]);
        assert_eq!(unknown(&one("b", "2.0.0", "3"), &whole), ["b 2.0.0"]);
        assert_eq!(unknown("", &whole), ["the lock file cannot be read"]);
    }
}
