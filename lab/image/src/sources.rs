//! The sources of the image, which this program contains.

use std::fs;
use std::io;
use std::path::Path;
use toml::{Table, Value};

/// The sources, by their names below the repository's root.
pub(crate) const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Sections of a manifest that are needed for development only, not for building an image.
const LEFT_OUT: [&str; 3] = ["dev-dependencies", "bench", "test"];

/// Writes the sources below a folder, as a workspace of their own.
pub(crate) fn write(into: &Path) -> io::Result<()> {
    for (name, text) in SOURCES {
        let path = into.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match manifest(name, text) {
            Some(manifest) => fs::write(path, manifest?)?,
            None => fs::write(path, text)?,
        }
    }
    Ok(())
}

/// Returns a manifest, reduced to the parts that exist here; `None` for other files.
fn manifest(name: &str, text: &str) -> Option<io::Result<String>> {
    if name == "Cargo.toml" {
        return Some(cut(text, workspace));
    }
    name.ends_with("Cargo.toml").then(|| {
        cut(text, |table| {
            for key in LEFT_OUT {
                table.remove(key);
            }
            // Only the image's own programs are kept.
            if !name.starts_with("baremetal/") {
                table.remove("bin");
            }
        })
    })
}

fn cut(text: &str, change: impl FnOnce(&mut Table)) -> io::Result<String> {
    let mut table: Table = text.parse().map_err(io::Error::other)?;
    change(&mut table);
    Ok(table.to_string())
}

/// Makes the packages that exist here the members of the workspace.
fn workspace(table: &mut Table) {
    let members = SOURCES
        .iter()
        .filter_map(|(name, _)| name.strip_suffix("/Cargo.toml"))
        .map(Value::from)
        .collect();
    if let Some(Value::Table(workspace)) = table.get_mut("workspace") {
        workspace.remove("default-members");
        workspace.insert("members".to_owned(), Value::Array(members));
    }
    // Cargo would warn about settings for packages that do not exist here.
    let profiles = table.get_mut("profile").and_then(Value::as_table_mut);
    for (_, profile) in profiles.into_iter().flatten() {
        let packages = profile.get_mut("package").and_then(Value::as_table_mut);
        if let Some(packages) = packages {
            packages.retain(|name, _| {
                SOURCES.iter().any(|(file, text)| {
                    file.ends_with("/Cargo.toml") && text.contains(&format!("name = \"{name}\""))
                })
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_a_workspace_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        let root: Table = text.parse().unwrap();
        let members = root["workspace"]["members"].as_array().unwrap();
        assert_eq!(members.len(), 9, "{members:?}");
        for member in members {
            let folder = folder.path().join(member.as_str().unwrap());
            let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let table: Table = text.parse().unwrap();
            assert!(
                LEFT_OUT.iter().all(|key| !table.contains_key(*key)),
                "{text}"
            );
            assert!(folder.join("src/lib.rs").exists());
            // Every crate of the workspace that it depends on is included.
            for (name, _) in table["dependencies"].as_table().unwrap() {
                let ours = root["workspace"]["dependencies"]
                    .get(name)
                    .and_then(|d| d.get("path"));
                if let Some(path) = ours.and_then(Value::as_str) {
                    assert!(members.iter().any(|m| m.as_str() == Some(path)), "{name}");
                }
            }
        }
    }
}
