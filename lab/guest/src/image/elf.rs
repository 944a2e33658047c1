//! The shared libraries that programs need: those that ld.so(8) would load, found without running
//! it.

use crate::error::Error;
use crate::fetch::PackageTree;
use goblin::elf::Elf;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Libraries by the name under which programs request them, including the loader.
pub(crate) type Libraries = BTreeMap<String, PathBuf>;

/// A place where libraries are searched for.
pub(crate) trait LibrarySearch {
    /// Returns the file of a library; `paths` are the folders that the requesting file names
    /// itself.
    fn find(&self, library: &str, paths: &[PathBuf]) -> Option<PathBuf>;
    /// Returns the file of a loader, which programs name by its path.
    fn loader(&self, path: &str) -> Option<PathBuf>;
}

/// A search in a tree of packages.
pub(crate) struct InTree<'a>(pub(crate) &'a PackageTree);

impl LibrarySearch for InTree<'_> {
    fn find(&self, library: &str, _paths: &[PathBuf]) -> Option<PathBuf> {
        self.0.library(library)
    }

    fn loader(&self, path: &str) -> Option<PathBuf> {
        self.0.find(path)
    }
}

/// A search on the host, as its loader does it.
pub(super) struct OnHost {
    folders: Vec<PathBuf>,
}

impl OnHost {
    /// Collects the folders of LD_LIBRARY_PATH, then of /etc/ld.so.conf, then the loader's own.
    pub(super) fn new() -> Self {
        let mut folders: Vec<PathBuf> = std::env::var_os("LD_LIBRARY_PATH")
            .map(|value| std::env::split_paths(&value).collect())
            .unwrap_or_default();
        configured(Path::new("/etc/ld.so.conf"), 0, &mut folders);
        folders.extend(
            [
                "/lib/x86_64-linux-gnu",
                "/usr/lib/x86_64-linux-gnu",
                "/lib64",
                "/usr/lib64",
                "/lib",
                "/usr/lib",
            ]
            .map(PathBuf::from),
        );
        folders.retain(|folder| folder.is_absolute());
        Self { folders }
    }
}

impl LibrarySearch for OnHost {
    fn find(&self, library: &str, paths: &[PathBuf]) -> Option<PathBuf> {
        paths
            .iter()
            .chain(&self.folders)
            .map(|folder| folder.join(library))
            .find(|path| is_ours(path))
    }

    fn loader(&self, path: &str) -> Option<PathBuf> {
        Some(PathBuf::from(path)).filter(|path| path.is_file())
    }
}

/// Reads the folders of ld.so.conf(5): one per line, and `include PATTERN` with a `*` in the last
/// part.
fn configured(file: &Path, depth: u8, folders: &mut Vec<PathBuf>) {
    let Ok(text) = fs::read_to_string(file) else {
        return;
    };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix("include") {
            Some(pattern) if depth < 4 => {
                let pattern = Path::new(pattern.trim());
                let base = file.parent().unwrap_or(Path::new("/"));
                for path in matching(&base.join(pattern)) {
                    configured(&path, depth + 1, folders);
                }
            }
            Some(_) => {}
            None if line.starts_with('/') => folders.push(PathBuf::from(line)),
            None => {}
        }
    }
}

fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let Some((start, end)) = name.split_once('*') else {
        return vec![pattern.to_path_buf()];
    };
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    found.retain(|path| {
        path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        })
    });
    found.sort();
    found
}

/// Returns whether a file is an ELF file for the guest's processor; a 32-bit library of the same
/// name may be in a folder that is searched earlier.
fn is_ours(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 20];
    fs::File::open(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .is_ok()
        && is_elf(&head)
        && head[4] == 2
        && head[18..20] == [62, 0]
}

/// Returns whether these are the first bytes of an ELF file.
pub(super) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// The loader, libraries and search paths that a file requests.
struct LibraryNeeds {
    loader: Option<String>,
    libraries: Vec<String>,
    paths: Vec<PathBuf>,
}

fn needs(path: &Path) -> Result<Option<LibraryNeeds>, Error> {
    let bytes = fs::read(path).map_err(Error::file("read", path))?;
    if !is_elf(&bytes) {
        return Ok(None);
    }
    let elf = Elf::parse(&bytes).map_err(|source| Error::BrokenProgram {
        path: path.to_path_buf(),
        source,
    })?;
    if !elf.is_64 || elf.header.e_machine != goblin::elf::header::EM_X86_64 {
        return Err(Error::Processor(path.to_path_buf()));
    }
    let origin = path.canonicalize().map_err(Error::file("look up", path))?;
    let origin = origin
        .parent()
        .unwrap_or(Path::new("/"))
        .to_string_lossy()
        .into_owned();
    let paths = elf
        .rpaths
        .iter()
        .chain(&elf.runpaths)
        .flat_map(|list| list.split(':'))
        .map(|folder| {
            folder
                .replace("${ORIGIN}", &origin)
                .replace("$ORIGIN", &origin)
        })
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .collect();
    Ok(Some(LibraryNeeds {
        loader: elf.interpreter.map(ToOwned::to_owned),
        libraries: elf
            .libraries
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        paths,
    }))
}

/// Adds all libraries that a program needs to `found`, and its loader, by its path, to `loaders`. A
/// file that is not a program needs none.
pub(crate) fn add_closure(
    program: &Path,
    search: &dyn LibrarySearch,
    found: &mut Libraries,
    loaders: &mut Libraries,
) -> Result<(), Error> {
    let mut todo = vec![program.to_path_buf()];
    // The RPATH of a program also applies to the dependencies of its libraries.
    let mut inherited: Vec<PathBuf> = Vec::new();
    while let Some(path) = todo.pop() {
        let Some(needs) = needs(&path)? else {
            continue;
        };
        if let Some(name) = needs.loader {
            let file = search.loader(&name).ok_or_else(|| Error::Library {
                file: path.clone(),
                library: name.clone(),
            })?;
            loaders.insert(name, file);
        }
        inherited.extend(needs.paths);
        for library in needs.libraries {
            if found.contains_key(&library) {
                continue;
            }
            let file = search
                .find(&library, &inherited)
                .ok_or_else(|| Error::Library {
                    file: program.to_path_buf(),
                    library: library.clone(),
                })?;
            found.insert(library, file.clone());
            todo.push(file);
        }
    }
    Ok(())
}

/// Returns the version of a C library: the highest `GLIBC_2.N` that it defines; 0 for none.
pub(super) fn glibc_minor(libc: &Path) -> u32 {
    let Ok(bytes) = fs::read(libc) else {
        return 0;
    };
    let mark = b"GLIBC_2.";
    let mut highest = 0;
    let mut rest = bytes.as_slice();
    while let Some(at) = rest.windows(mark.len()).position(|w| w == mark) {
        rest = &rest[at + mark.len()..];
        let digits: String = rest
            .iter()
            .take(4)
            .take_while(|b| b.is_ascii_digit())
            .map(|b| char::from(*b))
            .collect();
        highest = highest.max(digits.parse().unwrap_or(0));
    }
    highest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_s_own_libraries_are_what_ldd_states() {
        let me = std::env::current_exe().unwrap();
        let (mut found, mut loaders) = (Libraries::new(), Libraries::new());
        add_closure(&me, &OnHost::new(), &mut found, &mut loaders).unwrap();
        let output = std::process::Command::new("ldd").arg(&me).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut message: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once(" => "))
            .map(|(name, _)| name.trim())
            .collect();
        message.sort_unstable();
        let mut ours: Vec<&str> = found.keys().map(String::as_str).collect();
        // ldd does not list the loader by its name, but libc.so.6 may need it by name.
        ours.retain(|name| !name.starts_with("ld-linux"));
        assert_eq!(ours, message);
        assert_eq!(loaders.len(), usize::from(!message.is_empty()));
        if let Some(libc) = found.get("libc.so.6") {
            assert!(glibc_minor(libc) >= 28, "Debian 10's is 2.28");
        }
    }

    #[test]
    fn what_is_no_program_needs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let (mut found, mut loaders) = (Libraries::new(), Libraries::new());
        add_closure(&script, &OnHost::new(), &mut found, &mut loaders).unwrap();
        assert!(found.is_empty() && loaders.is_empty());
        assert_eq!(glibc_minor(&script), 0);
        fs::write(&script, b"\x7fELF broken").unwrap();
        let error = add_closure(&script, &OnHost::new(), &mut found, &mut loaders).unwrap_err();
        assert!(error.to_string().contains("broken program"), "{error}");
    }

    #[test]
    fn a_library_that_is_missing_is_named() {
        struct EmptySearch;
        impl LibrarySearch for EmptySearch {
            fn find(&self, _: &str, _: &[PathBuf]) -> Option<PathBuf> {
                None
            }
            fn loader(&self, path: &str) -> Option<PathBuf> {
                Some(path.into())
            }
        }
        let me = std::env::current_exe().unwrap();
        let (mut found, mut loaders) = (Libraries::new(), Libraries::new());
        let error = add_closure(&me, &EmptySearch, &mut found, &mut loaders).unwrap_err();
        assert!(matches!(error, Error::Library { .. }), "{error}");
    }

    #[test]
    fn ld_so_conf_includes_others() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(dir.path().join("d/b.conf"), "/b # why\n").unwrap();
        fs::write(dir.path().join("d/a.conf"), "/a\nrelative\n").unwrap();
        fs::write(dir.path().join("d/c.txt"), "/c\n").unwrap();
        let main = dir.path().join("main.conf");
        fs::write(&main, "include d/*.conf\n/last\n").unwrap();
        let mut folders = Vec::new();
        configured(&main, 0, &mut folders);
        assert_eq!(folders, ["/a", "/b", "/last"].map(PathBuf::from));
    }
}
