//! The job that the host left.

use super::error::AgentError;
use super::system::modprobe;
use crate::image::LAB;
use crate::linked::LinkedMachine;
use crate::machine::{GuestFile, GuestJob};
use crate::own::{AGENT, GATEWAY};
use crate::program;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file with the job, once its driver is loaded.
const JOB: &str = "/sys/firmware/qemu_fw_cfg/by_name/opt/cangate/job/raw";

/// The content that the host leaves in fw_cfg.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HostDelivery {
    /// Do this job.
    Job(GuestJob),
    /// Write these files, and do this job.
    WithFiles(Vec<DeliveredFile>, GuestJob),
    /// Set the machine up as one of several, and do this job at the common start.
    Linked(LinkedMachine, GuestJob),
    /// Prepare the guest for this task and others like it ([`crate::machine::GuestSpec::prepare`]),
    /// stop the machine to be saved, and go on with the delivery that is there then.
    Prepare {
        /// One of these tasks.
        task: serde_json::Value,
    },
}

impl HostDelivery {
    /// Reads the current delivery.
    pub(super) fn read() -> Result<Self, AgentError> {
        // The driver reads the sizes of fw_cfg's files once, when it is loaded.
        modprobe(&["qemu_fw_cfg"])?;
        let text = fs::read(JOB).map_err(AgentError::file("read", Path::new(JOB)))?;
        program::output(None, &["rmmod", "qemu_fw_cfg"])?;
        serde_json::from_slice(&text).map_err(AgentError::Job)
    }
}

/// Most bytes of the files that a delivery carries. The guest reads fw_cfg byte by byte, and each
/// page once more for each page behind it.
const MOST_BYTES: usize = 48 << 10;

/// A text file that comes with the job instead of in the image, so that the guest can be one that
/// has booted already.
#[derive(Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct DeliveredFile {
    name: String,
    text: String,
}

impl DeliveredFile {
    /// Reads the files that a delivery can carry: short texts. `None` if there is another one among
    /// them, or one whose name the image refuses: then all belong into the image.
    pub(crate) fn read_all(files: &[GuestFile]) -> Option<Vec<Self>> {
        let mut names = BTreeSet::from([AGENT, GATEWAY, "modules"]);
        let mut bytes = 0;
        let mut all = Vec::new();
        for file in files {
            let about = fs::metadata(&file.path).ok()?;
            bytes += usize::try_from(about.len()).ok()?;
            // A device or a FIFO may have no end.
            if !about.is_file() || !names.insert(&file.name) || bytes > MOST_BYTES {
                return None;
            }
            all.push(Self {
                name: file.name.clone(),
                text: fs::read_to_string(&file.path).ok()?,
            });
        }
        Some(all)
    }

    /// Writes the file to where the image would have it, executable as there.
    pub(super) fn write(&self) -> Result<(), AgentError> {
        let path = Path::new("/").join(LAB).join(&self.name);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o755);
        let mut file = options
            .open(&path)
            .map_err(AgentError::file("create", &path))?;
        std::io::Write::write_all(&mut file, self.text.as_bytes())
            .map_err(AgentError::file("write", &path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_texts_come_with_the_job() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            GuestFile {
                path,
                name: name.to_owned(),
            }
        };
        let script = file("script.sh", b"echo 1\n");
        let delivered = DeliveredFile::read_all(&[script.clone(), file("empty", b"")]).unwrap();
        let names: Vec<_> = delivered.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["script.sh", "empty"]);
        assert_eq!(delivered[0].text, "echo 1\n");
        let most = file("most", &[b'x'; MOST_BYTES]);
        assert!(DeliveredFile::read_all(std::slice::from_ref(&most)).is_some());
        let [missing, device] = ["missing", "/dev/zero"].map(|path| GuestFile {
            path: folder.path().join(path),
            name: "other".to_owned(),
        });
        for other in [
            most,
            file("binary", b"\x7fELF\xff"),
            file(GATEWAY, b"echo 2\n"),
            script.clone(),
            missing,
            device,
        ] {
            let all = [script.clone(), other];
            assert!(DeliveredFile::read_all(&all).is_none(), "{all:?}");
        }
    }
}
