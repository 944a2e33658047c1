//! An initial RAM file system: a cpio archive of the `newc` kind
//! (Documentation/driver-api/early-userspace/buffer-format.rst in the kernel's source).
//!
//! The same content gives the same bytes: entries are sorted by name, have no time and no owner
//! other than root, and are numbered in order (inodes).

use crate::error::Error;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The source of a file's bytes.
#[derive(Clone, Debug)]
pub(crate) enum FileBytes {
    /// A file of the host.
    File(PathBuf),
    /// Bytes in memory.
    Here(Vec<u8>),
}

/// The entry of a name.
#[derive(Clone, Debug)]
enum ArchiveEntry {
    Folder,
    File {
        bytes: FileBytes,
        executable: bool,
    },
    Link {
        to: String,
    },
    /// A character device.
    Device {
        major: u32,
        minor: u32,
    },
}

/// An archive that is being put together.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpioArchive {
    // Sorted, so that a folder comes before its content: the kernel makes no folders.
    entries: BTreeMap<String, ArchiveEntry>,
}

impl CpioArchive {
    /// Adds a folder and its parent folders.
    pub(crate) fn folder(&mut self, name: &str) {
        let mut upto = 0;
        let name = name.trim_matches('/');
        while let Some(slash) = name[upto..].find('/') {
            upto += slash;
            self.put_folder(&name[..upto]);
            upto += 1;
        }
        self.put_folder(name);
    }

    fn put_folder(&mut self, name: &str) {
        if !name.is_empty() {
            self.entries
                .entry(name.to_owned())
                .or_insert(ArchiveEntry::Folder);
        }
    }

    fn put(&mut self, name: &str, entry: ArchiveEntry) {
        let name = name.trim_matches('/');
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.folder(folder);
        }
        self.entries.insert(name.to_owned(), entry);
    }

    /// Adds a file; an earlier one of this name is replaced.
    pub(crate) fn file(&mut self, name: &str, bytes: FileBytes, executable: bool) {
        self.put(name, ArchiveEntry::File { bytes, executable });
    }

    /// Adds a symbolic link, unless the name is taken.
    pub(crate) fn link(&mut self, name: &str, to: &str) {
        if !self.contains(name) {
            self.put(name, ArchiveEntry::Link { to: to.to_owned() });
        }
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.put(name, ArchiveEntry::Device { major, minor });
    }

    /// Returns whether there is an entry of this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name.trim_matches('/'))
    }

    /// Writes the archive into a file.
    pub(crate) fn write_to(&self, path: &Path) -> Result<(), Error> {
        let write = || {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
            self.write(&mut out)?;
            out.into_inner()
                .map_err(io::IntoInnerError::into_error)?
                .flush()
        };
        write().map_err(Error::file("write", path))
    }

    /// Writes the archive.
    ///
    /// # Errors
    ///
    /// A file cannot be read (its path is in the message), or the output cannot be written.
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut out = CountedWriter { out, count: 0 };
        for (inode, (name, entry)) in self.entries.iter().enumerate() {
            let inode = u32::try_from(inode + 1).map_err(io::Error::other)?;
            match entry {
                ArchiveEntry::Folder => out.header(inode, 0o040_755, name, 0, (0, 0))?,
                ArchiveEntry::Device { major, minor } => {
                    out.header(inode, 0o020_600, name, 0, (*major, *minor))?;
                }
                ArchiveEntry::Link { to } => {
                    out.header(inode, 0o120_777, name, to.len() as u64, (0, 0))?;
                    out.write_all(to.as_bytes())?;
                }
                ArchiveEntry::File { bytes, executable } => {
                    let mode = if *executable { 0o100_755 } else { 0o100_644 };
                    out.file(inode, mode, name, bytes)?;
                }
            }
            out.pad()?;
        }
        out.header(0, 0, "TRAILER!!!", 0, (0, 0))?;
        out.flush()
    }
}

struct CountedWriter<'a, W> {
    out: &'a mut W,
    count: u64,
}

impl<W: Write> Write for CountedWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.count += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> CountedWriter<'_, W> {
    fn header(
        &mut self,
        inode: u32,
        mode: u32,
        name: &str,
        size: u64,
        (major, minor): (u32, u32),
    ) -> io::Result<()> {
        let size = u32::try_from(size).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{name} is too long for an image"),
            )
        })?;
        let links = if mode & 0o170_000 == 0o040_000 { 2 } else { 1 };
        write!(
            self,
            "070701{inode:08x}{mode:08x}{:08x}{:08x}{links:08x}{:08x}{size:08x}{:08x}{:08x}{major:08x}{minor:08x}{:08x}{:08x}{name}\0",
            0,
            0,
            0,
            0,
            0,
            name.len() + 1,
            0
        )?;
        self.pad()
    }

    fn file(&mut self, inode: u32, mode: u32, name: &str, bytes: &FileBytes) -> io::Result<()> {
        match bytes {
            FileBytes::Here(bytes) => {
                self.header(inode, mode, name, bytes.len() as u64, (0, 0))?;
                self.write_all(bytes)
            }
            FileBytes::File(path) => {
                let named = |error: io::Error| {
                    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                };
                let mut file = File::open(path).map_err(named)?;
                let size = file.metadata().map_err(named)?.len();
                self.header(inode, mode, name, size, (0, 0))?;
                let copied = io::copy(&mut Read::by_ref(&mut file).take(size), self)?;
                if copied == size {
                    Ok(())
                } else {
                    Err(named(io::Error::other(
                        "it became shorter while it was read",
                    )))
                }
            }
        }
    }

    /// Pads the output to the next multiple of four bytes.
    fn pad(&mut self) -> io::Result<()> {
        let missing = (4 - self.count % 4) % 4;
        self.write_all(&[0; 3][..missing as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A slow and simple reader of the format: name, mode, content.
    fn read(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut all = Vec::new();
        loop {
            let field = |n: usize| {
                let at = 6 + 8 * n;
                u32::from_str_radix(std::str::from_utf8(&bytes[at..at + 8]).unwrap(), 16).unwrap()
            };
            assert_eq!(&bytes[..6], b"070701");
            let (mode, size, name) = (field(1), field(6) as usize, field(11) as usize);
            let words = std::str::from_utf8(&bytes[110..110 + name - 1]).unwrap();
            assert_eq!(bytes[110 + name - 1], 0);
            if words == "TRAILER!!!" {
                return all;
            }
            let data = (110 + name).next_multiple_of(4);
            all.push((words.to_owned(), mode, bytes[data..data + size].to_vec()));
            bytes = &bytes[(data + size).next_multiple_of(4)..];
        }
    }

    fn written(archive: &CpioArchive) -> Vec<u8> {
        let mut bytes = Vec::new();
        archive.write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn folders_come_first_and_links_take_no_name_that_is_taken() {
        let mut archive = CpioArchive::default();
        archive.file("usr/bin/tool", FileBytes::Here(b"abc".to_vec()), true);
        archive.link("usr/bin/tool", "busybox");
        archive.link("bin", "usr/bin");
        archive.device("dev/console", 5, 1);
        let all = read(&written(&archive));
        let names: Vec<(&str, u32)> = all.iter().map(|(n, m, _)| (n.as_str(), *m)).collect();
        assert_eq!(
            names,
            [
                ("bin", 0o120_777),
                ("dev", 0o040_755),
                ("dev/console", 0o020_600),
                ("usr", 0o040_755),
                ("usr/bin", 0o040_755),
                ("usr/bin/tool", 0o100_755),
            ]
        );
        assert_eq!(all[0].2, b"usr/bin");
        assert_eq!(all[5].2, b"abc");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let mut archive = CpioArchive::default();
        archive.file("a", FileBytes::File("/not/there".into()), false);
        let error = archive.write(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("/not/there"), "{error}");
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out_whatever_the_order(
            files in proptest::collection::btree_map("[a-z]{1,9}(/[a-z]{1,9}){0,2}x", proptest::collection::vec(any::<u8>(), 0..20), 0..12)
        ) {
            let mut one = CpioArchive::default();
            let mut two = CpioArchive::default();
            for (name, bytes) in &files {
                one.file(name, FileBytes::Here(bytes.clone()), false);
            }
            for (name, bytes) in files.iter().rev() {
                two.file(name, FileBytes::Here(bytes.clone()), false);
            }
            let bytes = written(&one);
            prop_assert_eq!(&bytes, &written(&two));
            let got: BTreeMap<String, Vec<u8>> = read(&bytes)
                .into_iter()
                .filter(|(_, mode, _)| mode & 0o100_000 != 0 && *mode != 0o120_777)
                .map(|(name, _, bytes)| (name, bytes))
                .collect();
            prop_assert_eq!(got, files);
        }
    }
}
