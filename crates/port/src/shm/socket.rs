//! Memory from a server (`cangate shm`).

use super::attached::{AttachedMemory, MemoryAttachment};
use ::shm::link::{LinkError, ShmClient};
use frame::Nanos;
use linux::shared::SharedMapping;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

/// Interval of the attempts to connect to a server, ns.
const PAUSE: Nanos = 100_000_000;

pub(super) struct BySocket {
    path: PathBuf,
    /// Epoll instance with the present connection: its descriptor stays the same when another
    /// connection replaces it.
    epoll: OwnedFd,
    client: Option<ShmClient>,
    /// True if the client's memory is in use.
    given: bool,
    /// True if there is no server at the other end of the connection any more.
    ended: bool,
    /// Time of the next attempt to connect.
    at: Nanos,
    reported: Option<LinkError>,
    remarks: Vec<String>,
}

impl BySocket {
    pub(super) fn new(path: &Path) -> rustix::io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            client: None,
            given: false,
            ended: true,
            at: 0,
            reported: None,
            remarks: Vec::new(),
        })
    }

    fn connect(&mut self, now: Nanos) {
        self.at = now.saturating_add(PAUSE);
        let Ok(client) = ShmClient::connect(&self.path) else {
            return;
        };
        // Dropping the old connection removes it from the epoll instance.
        self.client = None;
        let data = EventData::new_u64(0);
        if epoll::add(&self.epoll, &client, data, EventFlags::IN).is_ok() {
            self.client = Some(client);
            (self.given, self.ended) = (false, false);
        }
    }

    fn fails(&mut self, error: LinkError) {
        self.ended = true;
        let path = self.path.display();
        let remark = match error {
            LinkError::Ended if self.given => format!(
                "the server at {path} has ended; frames pass as before, until one of both sides returns"
            ),
            error => format!("{path}: {error}"),
        };
        // The same message ten times a second is of no use to a user.
        if self.reported.replace(error) != Some(error) {
            self.remarks.push(remark);
        }
    }
}

impl MemoryAttachment for BySocket {
    fn fd(&self) -> Option<RawFd> {
        Some(self.epoll.as_raw_fd())
    }

    fn take(&mut self, now: Nanos, in_use: bool) -> Option<AttachedMemory> {
        if self.ended && !in_use && now >= self.at {
            self.connect(now);
        }
        let heard = self.client.as_mut()?.work();
        if let Err(error) = heard {
            self.fails(error);
        }
        if self.given {
            return None;
        }
        let (side, memory) = self.client.as_ref()?.ready()?;
        match SharedMapping::map(memory) {
            Ok(memory) => {
                self.given = true;
                self.reported = None;
                Some(AttachedMemory { side, memory })
            }
            Err(errno) => {
                self.fails(LinkError::System(errno));
                self.client = None;
                None
            }
        }
    }

    fn ring(&self) {
        if let Some(client) = &self.client {
            client.ring();
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        self.ended.then_some(self.at)
    }

    fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }
}
