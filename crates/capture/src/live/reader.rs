//! The reader's side: out of the kernel's ring into chunks.

use super::sent::Sent;
use super::settings::{LiveError, Settings};
use super::watch::Watch;
use crate::chunk::{Chunk, Gap, Record, Where};
use crate::counts::Counts;
use crate::names::Names;
use crate::queue::{Message, Sender};
use frame::Nanos;
use linux::can::layout::XL_SIZE;
use linux::packet::{BlockRing, Passed, Program, SentRing};
use linux::{Errno, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The part that can be borrowed while the ring hands over frames.
struct Filling {
    watch: Watch,
    counts: Counts,
    sender: Option<Sender>,
    chunk: Option<Chunk>,
    /// Lost since the last chunk that got through, by place.
    missing: Vec<u64>,
    any_missing: bool,
    /// The stamp of the last frame.
    last: Nanos,
    /// Frames that may still come; the others came after the end.
    left: u64,
    after_end: u64,
    start: Instant,
    /// Frames that were read, by the number of their interface.
    read: Vec<u64>,
}

/// Interfaces with a number above this one are not counted by themselves.
const MOST_INDEX: usize = 1 << 12;

/// Bytes that a classic frame takes in the ring: as many sent ones can wait as frames are in it.
const SLOT: usize = 112;

/// Reads frames and never waits for a file.
pub(super) struct Reader {
    ring: BlockRing,
    /// What the kernel let through, by interface; `None` where it does not count that.
    passed: Option<Passed>,
    /// What this machine sent, if somebody wants to know.
    sent: Option<Sent>,
    poll: Poll,
    filling: Filling,
    until: Option<Duration>,
    timeout: Duration,
    remarks: Vec<String>,
}

impl Reader {
    /// Has everything ready; no frame is taken yet.
    pub(super) fn open(
        settings: &Settings,
        names: Names,
        start: Instant,
    ) -> Result<Self, LiveError> {
        let watch = Watch::open(&settings.choices, settings.error_frames, names)?;
        let program = watch.program()?;
        let ring = BlockRing::new(&settings.ring)?;
        let passed = Passed::new().ok();
        // Where the kernel takes no such program, losses are counted for all interfaces together.
        let passed = passed.filter(|passed| ring.set_counting_filter(&program, passed).is_ok());
        if passed.is_none() {
            ring.set_filter(&program)
                .map_err(|errno| LiveError::Refused {
                    step: "setting the filter (`sysctl net.core.optmem_max` limits its length)",
                    errno,
                })?;
        }
        let sent = if settings.direction {
            let frames = settings.ring.block_size as usize * settings.ring.blocks as usize / SLOT;
            let ring = SentRing::new(frames, settings.ring.hardware_stamps)
                .map_err(LiveError::NoDirection)?;
            ring.set_filter(&program).map_err(LiveError::NoDirection)?;
            Some(Sent::new(ring, 2 * frames))
        } else {
            None
        };
        Ok(Self {
            ring,
            passed,
            sent,
            poll: Poll::default(),
            filling: Filling {
                watch,
                counts: Counts::default(),
                sender: None,
                chunk: None,
                missing: Vec::new(),
                any_missing: false,
                last: 0,
                left: settings.frames.unwrap_or(u64::MAX),
                after_end: 0,
                start,
                read: Vec::new(),
            },
            until: settings.duration,
            timeout: settings.ring.timeout,
            remarks: Vec::new(),
        })
    }

    /// From now on frames are taken.
    pub(super) fn start(&mut self, sender: Sender) -> Result<(), LiveError> {
        self.filling.sender = Some(sender);
        self.attach().map_err(|errno| LiveError::Refused {
            step: "attaching to the interface",
            errno,
        })
    }

    /// The ring of sent frames last: see [`SentRing`].
    fn attach(&self) -> Result<(), Errno> {
        let interface = self.filling.watch.attachment();
        self.ring.attach(interface)?;
        self.sent
            .as_ref()
            .map_or(Ok(()), |sent| sent.ring.attach(interface))
    }

    fn set_filter(&self, program: &Program) -> Result<(), Errno> {
        if let Some(sent) = &self.sent {
            sent.ring.set_filter(program)?;
        }
        match &self.passed {
            Some(passed) => self.ring.set_counting_filter(program, passed),
            None => self.ring.set_filter(program),
        }
    }

    /// Is everything there that was asked for?
    pub(super) fn is_done(&self) -> bool {
        let over = |until| self.filling.start.elapsed() >= until;
        self.filling.left == 0 || self.until.is_some_and(over)
    }

    pub(super) const fn counts(&mut self) -> &mut Counts {
        &mut self.filling.counts
    }

    pub(super) fn take_remarks(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.remarks);
        all.extend(self.filling.watch.take_remarks());
        all
    }

    /// Waits, at most so long, and takes what is there.
    pub(super) fn step(&mut self, most: Duration) {
        let most = match self.until {
            Some(until) => most.min(until.saturating_sub(self.filling.start.elapsed())),
            None => most,
        };
        self.poll.clear();
        self.poll.add_fd(self.ring.fd(), true, false);
        self.poll.add_fd(self.filling.watch.fd(), true, false);
        // A whole millisecond more, so that nobody comes back too early again and again.
        let waited = self.poll.wait(Some(most + Duration::from_millis(1)));
        if let Err(error) = waited {
            self.remarks.push(format!("waiting for frames: {error}"));
            std::thread::sleep(Duration::from_millis(100));
        }
        if self.poll.is_ready(0) {
            // That its interface is down or away, the watch says; here it only has to be cleared.
            let _ = self.ring.take_error();
        }
        self.drain();
        if self.poll.is_ready(1) && self.filling.watch.changed() {
            self.filter();
        }
    }

    fn filter(&mut self) {
        let done = self.filling.watch.program().and_then(|program| {
            self.set_filter(&program)
                .map_err(|errno| LiveError::Refused {
                    step: "setting the filter",
                    errno,
                })
        });
        if let Err(error) = done {
            self.remarks.push(error.to_string());
        }
        // An interface that is gone cannot be attached to; it is tried again when it is back.
        let _ = self.attach();
    }

    /// Takes all blocks that the kernel has handed over.
    fn drain(&mut self) {
        loop {
            if self.ring.is_losing() {
                self.statistics();
            }
            let (filling, sent) = (&mut self.filling, &mut self.sent);
            if let Some(sent) = sent {
                sent.take();
            }
            let Some(taken) = self.ring.take_block(|caught| {
                filling.count(caught.interface);
                let direction = sent
                    .as_mut()
                    .and_then(|sent| sent.direction(caught.interface, caught.stamp, caught.bytes));
                let interface = filling.watch.place(caught.interface);
                filling.take(&Record {
                    stamp: caught.stamp,
                    interface,
                    direction,
                    bytes: caught.bytes,
                });
            }) else {
                break;
            };
            self.filling.counts.malformed += u64::from(taken.malformed);
        }
        if let Some(sent) = &mut self.sent {
            self.filling.counts.no_direction = sent.waiting.unknown;
            if self.ring.waiting() == 0 {
                sent.is_level();
            }
        }
        self.filling.hand_over();
    }

    /// Asks the kernel what it has dropped.
    fn statistics(&mut self) {
        match self.ring.take_statistics() {
            Ok(said) => {
                let counts = &mut self.filling.counts;
                counts.passed += u64::from(said.seen.saturating_sub(said.dropped));
                if said.dropped > 0 {
                    counts.lost_ring += u64::from(said.dropped);
                    self.filling.gap(None, said.dropped.into(), Where::Ring);
                }
            }
            Err(errno) => self.remarks.push(format!(
                "the kernel does not say what it has dropped: {errno}"
            )),
        }
    }

    pub(super) fn each_second(&mut self) {
        self.statistics();
    }

    /// SIGUSR1 came.
    pub(super) fn signal(&mut self) {
        self.drain();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let stamp = now.map_or(0, |now| now.as_nanos() as u64);
        if let Some(sender) = &self.filling.sender
            && sender.send(Message::Signal(stamp)).is_err()
        {
            self.remarks
                .push("the queue to the writer is full: this trigger is lost".to_owned());
        }
    }

    /// Takes no new frames, and what is in the ring.
    pub(super) fn end(&mut self, whole: bool) {
        if let Err(errno) = self.ring.set_filter(&Program::nothing()) {
            self.remarks.push(format!("ending: {errno}"));
        }
        if whole {
            // The block that is being filled is handed over after its time.
            let until = Instant::now() + 4 * self.timeout + Duration::from_secs(1);
            self.drain();
            while self.ring.waiting() > 0 && Instant::now() < until {
                self.poll.clear();
                self.poll.add_fd(self.ring.fd(), true, false);
                if self.poll.wait(Some(self.timeout)).is_err() {
                    break;
                }
                self.drain();
            }
        }
        self.statistics();
        self.filling.hand_over();
        let (read, passed) = {
            let counts = &self.filling.counts;
            let read = counts.received() + self.filling.after_end + counts.malformed;
            (read, counts.passed)
        };
        if whole && read == passed {
            self.losses_by_interface();
        } else if whole {
            self.remarks.push(format!(
                "the kernel says that it put {passed} frames into the ring, but {read} were read; \
                 please report this"
            ));
        }
    }

    /// Everything that was let through was read or lost: the difference is what was lost.
    fn losses_by_interface(&mut self) {
        let Some(passed) = &self.passed else { return };
        let Filling {
            counts,
            watch,
            read,
            ..
        } = &mut self.filling;
        let mut lost = Vec::new();
        if counts.lost_ring > 0 {
            for interface in 1..MOST_INDEX {
                let read = read.get(interface).copied().unwrap_or_default();
                let passed = passed.of(interface as u32).ok().flatten();
                match passed.unwrap_or_default().saturating_sub(read) {
                    0 => {}
                    frames => lost.push((interface as u32, frames)),
                }
            }
        }
        // An interface with a higher number may have lost some.
        if lost.iter().map(|(_, frames)| frames).sum::<u64>() != counts.lost_ring {
            return;
        }
        for (interface, _) in &lost {
            counts.at(watch.place(*interface));
        }
        for one in &mut counts.interfaces {
            one.lost_ring = Some(0);
        }
        for (interface, frames) in lost {
            let count = &mut counts.at(watch.place(interface)).lost_ring;
            *count = count.map(|before| before + frames);
        }
    }

    /// Gives up the queue, so that the writer ends.
    pub(super) fn close(mut self) -> (Counts, Vec<String>) {
        let remarks = self.take_remarks();
        (self.filling.counts, remarks)
    }
}

impl Filling {
    /// A frame of this interface was read.
    #[inline]
    fn count(&mut self, interface: u32) {
        match self.read.get_mut(interface as usize) {
            Some(read) => *read += 1,
            None if (interface as usize) < MOST_INDEX => {
                self.read.resize(interface as usize + 1, 0);
                self.count(interface);
            }
            None => {}
        }
    }

    #[inline]
    fn take(&mut self, record: &Record<'_>) {
        if self.left == 0 {
            self.after_end += 1;
            return;
        }
        if record.bytes.len() > XL_SIZE {
            // No CAN frame is so long; a chunk has no room for it.
            self.counts.malformed += 1;
            return;
        }
        self.left -= 1;
        self.last = record.stamp;
        let counts = self.counts.at(record.interface);
        counts.received += 1;
        // Error and remote frames have payload bytes that are none of the bus; nobody bills them.
        counts.payload_bytes += u64::from(payload(record.bytes));
        if self.chunk.as_ref().is_none_or(|chunk| !chunk.has_room()) && !self.next_chunk() {
            self.counts.at(record.interface).lost_queue += 1;
            self.note_missing(record.interface);
            return;
        }
        if let Some(chunk) = &mut self.chunk {
            chunk.push(record);
        }
    }

    /// An empty chunk in place of the full one; false where there is none.
    #[cold]
    fn next_chunk(&mut self) -> bool {
        self.hand_over();
        if self.chunk.is_some() {
            return false;
        }
        self.chunk = self.sender.as_mut().and_then(Sender::chunk);
        if self.chunk.is_none() {
            return false;
        }
        if self.any_missing {
            self.any_missing = false;
            let missing = std::mem::take(&mut self.missing);
            for (place, frames) in missing.iter().enumerate().filter(|(_, n)| **n > 0) {
                self.gap(Some(place as u16), *frames, Where::Queue);
            }
        }
        true
    }

    fn note_missing(&mut self, place: u16) {
        let place = usize::from(place);
        if self.missing.len() <= place {
            self.missing.resize(place + 1, 0);
        }
        if let Some(count) = self.missing.get_mut(place) {
            *count += 1;
        }
        self.any_missing = true;
    }

    fn gap(&mut self, interface: Option<u16>, frames: u64, at: Where) {
        if self.chunk.is_none() {
            self.chunk = self.sender.as_mut().and_then(Sender::chunk);
        }
        if let Some(chunk) = &mut self.chunk {
            chunk.push_gap(&Gap {
                stamp: self.last,
                interface,
                frames,
                at,
            });
        }
    }

    /// Sends what has been filled to the writer.
    fn hand_over(&mut self) {
        let (Some(sender), Some(chunk)) = (&self.sender, self.chunk.take()) else {
            return;
        };
        if chunk.is_empty() {
            self.chunk = Some(chunk);
            return;
        }
        let now = self.start.elapsed().as_nanos() as u64;
        if let Err(Message::Chunk(chunk, _)) = sender.send(Message::Chunk(chunk, now)) {
            // The writer has ended before its time.
            for entry in chunk.entries() {
                if let crate::Entry::Frame(record) = entry {
                    self.counts.at(record.interface).lost_queue += 1;
                }
            }
        }
    }
}

/// Bytes of payload, as the frame's header says.
#[inline]
fn payload(bytes: &[u8]) -> u16 {
    match bytes {
        [_, _, _, _, fifth, _, low, high, ..] if fifth & 0x80 != 0 => {
            u16::from_ne_bytes([*low, *high])
        }
        [_, _, _, _, len, ..] => u16::from(*len),
        _ => 0,
    }
}
