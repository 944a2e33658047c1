//! The files that are compared, and the Python that has cantools.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Endings of databases.
const ENDINGS: [&str; 4] = ["dbc", "kcd", "arxml", "sym"];

/// A folder that is removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let name = format!("cangate-cantools-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the folder of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap().to_path_buf()
}

/// Returns a Python that has cantools: the one that `cargo xtask setup` makes, or the one in PATH.
pub(crate) fn python() -> Option<PathBuf> {
    let target = root().join("target/python-can/bin/python3");
    let found = [target, PathBuf::from("python3")]
        .into_iter()
        .find(|python| {
            let imports = Command::new(python)
                .args(["-c", "import cantools"])
                .output();
            imports.is_ok_and(|output| output.status.success())
        });
    if found.is_none() {
        eprintln!(
            "SKIPPED because there is no cantools: `cargo xtask setup` installs it, or \
             `pip install cantools`"
        );
    }
    found
}

/// Returns the databases in a folder, in the order of their names.
fn databases(folder: &Path) -> Vec<PathBuf> {
    let is_database = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| ENDINGS.contains(&ending.to_lowercase().as_str()))
    };
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(is_database);
    files.sort();
    files
}

/// Returns the databases of this repository.
pub(crate) fn of_repository() -> Vec<PathBuf> {
    let tests = root().join("crates/signals/tests");
    let mut files = databases(&tests.join("field"));
    files.extend(databases(&tests.join("databases")));
    files
}

/// Returns the databases of the folder that the user names.
pub(crate) fn of_environment() -> Vec<PathBuf> {
    match std::env::var_os("CANGATE_DATABASES") {
        Some(folder) => databases(Path::new(&folder)),
        None => Vec::new(),
    }
}

/// Has cantools write the databases of this repository in each format that it writes, and returns
/// the files.
pub(crate) fn written_by_cantools(python: &Path, folder: &Folder) -> Vec<PathBuf> {
    const SCRIPT: &str = "
import sys, cantools
for name in sys.argv[2:]:
    database = cantools.database.load_file(name, strict=False, encoding='utf-8')
    stem = sys.argv[1] + '/' + name.rsplit('/', 1)[1].replace('.', '-')
    for ending in ['dbc', 'kcd', 'sym']:
        try:
            cantools.database.dump_file(database, stem + '.' + ending, encoding='utf-8')
        except Exception as error:
            print(f'{name} as {ending}: {error}')
";
    let tests = root().join("crates/signals/tests/databases");
    let output = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(&folder.0)
        .args(databases(&tests))
        .output()
        .unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    databases(&folder.0)
}
