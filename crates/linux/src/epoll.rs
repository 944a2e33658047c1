//! Waiting for any of many descriptors without handing all of them to the kernel each time.

#![allow(
    unsafe_code,
    reason = "epoll_ctl(2) on descriptors that are kept by number"
)]

use crate::Errno;
use crate::poll::PollWatch;
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Result;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The events that are always reported, requested or not (epoll_ctl(2)).
const ALWAYS: EventFlags = EventFlags::ERR.union(EventFlags::HUP);

/// An empty event, for a buffer.
pub(crate) const NO_EVENT: Event = Event {
    flags: EventFlags::empty(),
    data: epoll::EventData::new_u64(u64::MAX),
};

/// A list of places, each with a descriptor to wait for or none; the list is given anew for each
/// wait as with [`PollSet`](crate::PollSet). The kernel keeps the last list and gets only the
/// changes: a wait costs as much for hundreds of descriptors as for a few.
///
/// As long as a place has the same descriptor number, this must be the same open file: the kernel
/// forgets a file that is closed, and this type does not notice. A caller that closes files must
/// call [`Epoll::forget`].
pub struct Epoll {
    set: OwnedFd,
    /// The present list, by place.
    places: Vec<Option<PollWatch>>,
    /// The place of the next [`Epoll::add`].
    next: usize,
    /// The list differs from the last one.
    changed: bool,
    /// The kernel must get the whole list.
    anew: bool,
    /// The number of kernel sets that preceded the present one.
    before: u64,
    /// The files in the kernel's set, in the order of descriptors.
    files: Vec<EpollFile>,
    /// Spare memory for another such list.
    spare: Vec<EpollFile>,
    /// The number of files that are always ready.
    always: usize,
    /// The buffer for events; `found` of them are valid.
    events: Vec<Event>,
    found: usize,
    /// The events of each descriptor after a wait, by its number.
    ready: Vec<EventFlags>,
    /// The kernel has no epoll_pwait2(2).
    old: AtomicBool,
}

#[derive(Clone, Copy, Debug)]
struct EpollFile {
    fd: RawFd,
    what: EventFlags,
    /// The file cannot be waited for, because it is always ready: a file on a disk.
    always: bool,
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

impl EpollFile {
    /// Passes the file to the kernel. An event's data is the descriptor's number.
    fn register(&self, set: &OwnedFd, what: libc::c_int) -> Result<()> {
        control(set, what, self.fd, self.what, self.fd as u64)
    }
}

impl Epoll {
    /// Creates an empty set.
    ///
    /// # Errors
    /// Those of epoll_create1(2): too many descriptors, no memory.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            set: epoll::create(CreateFlags::CLOEXEC)?,
            places: Vec::new(),
            next: 0,
            changed: false,
            anew: false,
            before: 0,
            files: Vec::new(),
            spare: Vec::new(),
            always: 0,
            events: vec![NO_EVENT],
            found: 0,
            ready: Vec::new(),
            old: AtomicBool::new(false),
        })
    }

    /// Starts the list anew, from the first place on.
    pub fn clear(&mut self) {
        self.next = 0;
    }

    /// Sets the descriptor to wait for at the next place; `None` for no descriptor.
    #[inline]
    pub fn add(&mut self, what: impl Into<Option<PollWatch>>) {
        let what = what.into();
        match self.places.get_mut(self.next) {
            Some(before) if *before == what => {}
            Some(before) => {
                *before = what;
                self.changed = true;
            }
            None => {
                self.places.push(what);
                self.changed = true;
            }
        }
        self.next += 1;
    }

    /// Notes that descriptors may have been closed: the kernel gets the whole list at the next
    /// wait.
    pub fn forget(&mut self) {
        self.anew = true;
    }

    /// Waits until a descriptor is ready, at most for `timeout` (`None`: for ever). Returns the
    /// number of ready descriptors, 0 after the timeout or a signal.
    ///
    /// # Errors
    /// Those of epoll_ctl(2) and epoll_wait(2): no memory, or more descriptors than
    /// `/proc/sys/fs/epoll/max_user_watches` allows.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.prepare()?;
        self.collect(timeout)
    }

    /// Passes the changes to the kernel, for a wait in another epoll that contains this one;
    /// [`Epoll::collect`] completes the wait. The kernel's set may be a different one from now on
    /// ([`AsFd`], [`Epoll::number`]).
    ///
    /// # Errors
    /// As [`Epoll::wait`].
    pub fn prepare(&mut self) -> io::Result<()> {
        if self.changed || self.anew || self.next < self.places.len() {
            self.places.truncate(self.next);
            // If this fails, the kernel gets the whole list the next time.
            let anew = std::mem::replace(&mut self.anew, true);
            self.register(anew)?;
            self.anew = false;
            self.changed = false;
        }
        Ok(())
    }

    /// Returns the number of the kernel's set. Another number means that the kernel's set is
    /// another one; the previous one has left every epoll that contained it.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.before
    }

    /// Returns whether the list contains a descriptor that is always ready, so that the caller need
    /// not wait for the others.
    #[must_use]
    pub const fn is_always_ready(&self) -> bool {
        self.always > 0
    }

    /// Performs the rest of [`Epoll::wait`].
    ///
    /// # Errors
    /// Those of epoll_wait(2).
    pub fn collect(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.mark(false);
        let timeout = if self.always > 0 {
            Some(Duration::ZERO)
        } else {
            timeout
        };
        self.found = 0;
        match wait_for(&self.set, &mut self.events, timeout, &self.old) {
            Ok(found) => self.found = found,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.mark(true);
        Ok(self.found + self.always)
    }

    /// Records that no descriptor is ready: for a caller that knows it, instead of
    /// [`Epoll::collect`].
    pub fn clear_ready(&mut self) {
        self.mark(false);
        self.found = 0;
    }

    /// Returns whether the descriptor at this place is ready. Errors and hang-ups count.
    #[must_use]
    pub fn is_ready(&self, place: usize) -> bool {
        let Some(Some(watch)) = self.places.get(place) else {
            return false;
        };
        let flags = usize::try_from(watch.fd)
            .ok()
            .and_then(|fd| self.ready.get(fd));
        flags.is_some_and(|flags| flags.intersects(flags_of(*watch) | ALWAYS))
    }

    /// Records the flags of the events, or clears them again.
    fn mark(&mut self, enter: bool) {
        for event in self.events.iter().take(self.found) {
            let fd = usize::try_from(event.data.u64()).ok();
            if let Some(ready) = fd.and_then(|fd| self.ready.get_mut(fd)) {
                *ready = if enter {
                    event.flags
                } else {
                    EventFlags::empty()
                };
            }
        }
    }

    /// Passes the changes, or the whole list, to the kernel.
    fn register(&mut self, anew: bool) -> Result<()> {
        let mut wanted = std::mem::take(&mut self.spare);
        wanted.clear();
        for watch in self.places.iter().flatten().filter(|watch| watch.fd >= 0) {
            wanted.push(EpollFile {
                fd: watch.fd,
                what: flags_of(*watch),
                always: false,
            });
        }
        wanted.sort_unstable_by_key(|file| file.fd);
        // Both halves of a port may wait for one descriptor.
        wanted.dedup_by(|next, first| {
            let same = next.fd == first.fd;
            if same {
                first.what |= next.what;
            }
            same
        });
        let mut before = std::mem::take(&mut self.files);
        let gone = |file: &EpollFile| find(&wanted, file.fd).is_none() && !file.always;
        let mut closed = false;
        for file in before.iter().filter(|file| gone(file)) {
            // A closed descriptor whose file is still open elsewhere stays in the set, out of
            // reach.
            closed |= file.register(&self.set, libc::EPOLL_CTL_DEL).is_err();
        }
        if anew || closed {
            self.set = epoll::create(CreateFlags::CLOEXEC)?;
            self.before += 1;
            before.clear();
        }
        for file in &mut wanted {
            let reported = match find(&before, file.fd) {
                Some(known) if known.what == file.what || known.always => {
                    file.always = known.always;
                    Ok(())
                }
                Some(_) => file.register(&self.set, libc::EPOLL_CTL_MOD),
                None => file.register(&self.set, libc::EPOLL_CTL_ADD),
            };
            match reported {
                Ok(()) => {}
                // A file on a disk, a closed one, or a number that is the set's own by now: report
                // it as ready, as poll(2) does, so that the code that uses the file gets its error.
                Err(Errno::PERM | Errno::BADF | Errno::INVAL) => file.always = true,
                Err(error) => return Err(error),
            }
        }
        // The kernel refuses an empty buffer.
        self.events.resize(wanted.len().max(1), NO_EVENT);
        self.found = 0;
        self.ready.clear();
        let most = wanted.last().map_or(0, |file| file.fd as usize + 1);
        self.ready.resize(most, EventFlags::empty());
        self.always = 0;
        for file in wanted.iter().filter(|file| file.always) {
            self.ready[file.fd as usize] = file.what | EventFlags::ERR;
            self.always += 1;
        }
        self.files = wanted;
        self.spare = before;
        Ok(())
    }
}

/// Returns the file with this descriptor, from a list in the order of descriptors.
fn find(files: &[EpollFile], fd: RawFd) -> Option<&EpollFile> {
    let at = files.binary_search_by_key(&fd, |file| file.fd);
    files.get(at.ok()?)
}

fn flags_of(watch: PollWatch) -> EventFlags {
    let mut flags = EventFlags::empty();
    flags.set(EventFlags::IN, watch.readable);
    flags.set(EventFlags::OUT, watch.writable);
    flags
}

/// Calls epoll_wait(2), for at most `timeout` (`None`: for ever). `old`: the kernel has no
/// epoll_pwait2(2), which came with Linux 5.11, so that another call waits; this function sets it.
pub(crate) fn wait_for(
    set: &OwnedFd,
    events: &mut [Event],
    timeout: Option<Duration>,
    old: &AtomicBool,
) -> Result<usize> {
    // A time beyond the kernel's range is as good as for ever.
    let time = timeout.and_then(|time| Timespec::try_from(time).ok());
    if !old.load(Ordering::Relaxed) {
        match epoll::wait(set, &mut *events, time.as_ref()) {
            Err(Errno::NOSYS) => old.store(true, Ordering::Relaxed),
            result => return result,
        }
    }
    rustix::event::poll(&mut [PollFd::new(set, PollFlags::IN)], time.as_ref())?;
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    epoll::wait(set, events, Some(&at_once))
}

/// Calls epoll_ctl(2) for a descriptor that is given by its number.
pub(crate) fn control(
    set: &OwnedFd,
    what: libc::c_int,
    fd: RawFd,
    flags: EventFlags,
    data: u64,
) -> Result<()> {
    let mut event = libc::epoll_event {
        events: flags.bits(),
        u64: data,
    };
    // SAFETY: the pointer is to a live `epoll_event`, which the call only reads. The other
    // arguments are numbers; one that names no open file is answered with EBADF.
    let result = unsafe { libc::epoll_ctl(set.as_raw_fd(), what, fd, &raw mut event) };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PollSet;
    use proptest::prelude::*;
    use std::fs::File as DiskFile;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    fn watch(stream: &impl AsRawFd, readable: bool, writable: bool) -> Option<PollWatch> {
        Some(PollWatch {
            fd: stream.as_raw_fd(),
            readable,
            writable,
        })
    }

    fn at_once(epoll: &mut Epoll, places: &[Option<PollWatch>]) -> Vec<bool> {
        epoll.clear();
        for place in places {
            epoll.add(*place);
        }
        let ready = epoll.wait(Some(Duration::ZERO)).unwrap();
        let places: Vec<bool> = (0..places.len()).map(|at| epoll.is_ready(at)).collect();
        assert_eq!(ready > 0, places.contains(&true));
        places
    }

    #[test]
    fn what_is_ready_is_reported_by_place() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let (_c, d) = UnixStream::pair().unwrap();
        let mut epoll = Epoll::new().unwrap();
        let places = [watch(&d, true, false), None, watch(&b, true, false)];
        assert_eq!(at_once(&mut epoll, &places), [false, false, false]);
        a.write_all(b"x").unwrap();
        for _ in 0..3 {
            assert_eq!(at_once(&mut epoll, &places), [false, false, true]);
        }
        // Both directions of one descriptor, at two places; then one of them less.
        let both = [watch(&b, true, false), watch(&b, false, true)];
        assert_eq!(at_once(&mut epoll, &both), [true, true]);
        (&b).read_exact(&mut [0]).unwrap();
        assert_eq!(at_once(&mut epoll, &both), [false, true]);
        assert_eq!(at_once(&mut epoll, &both[..1]), [false]);
        assert_eq!(at_once(&mut epoll, &[]), []);
        // A hang-up is reported, requested or not.
        drop(a);
        assert_eq!(at_once(&mut epoll, &[watch(&b, false, false)]), [true]);
    }

    #[test]
    fn the_time_ends_the_waiting_on_any_kernel() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut epoll = Epoll::new().unwrap();
        for old in [false, true] {
            epoll.old = AtomicBool::new(old);
            for time in [Duration::from_micros(1_100), Duration::from_millis(1)] {
                epoll.clear();
                epoll.add(watch(&b, true, false));
                assert_eq!(epoll.wait(Some(time)).unwrap(), 0);
            }
            a.write_all(b"x").unwrap();
            epoll.clear();
            epoll.add(watch(&b, true, false));
            assert_eq!(epoll.wait(None).unwrap(), 1);
            assert!(epoll.is_ready(0));
            (&b).read_exact(&mut [0]).unwrap();
        }
    }

    #[test]
    fn a_file_on_a_disk_and_a_closed_one_are_always_ready_and_a_negative_one_never() {
        let file: DiskFile = tempfile::tempfile().unwrap();
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut epoll = Epoll::new().unwrap();
        let nobody = PollWatch {
            fd: -1,
            readable: true,
            writable: true,
        };
        let closed = PollWatch {
            fd: 1 << 19,
            ..nobody
        };
        let places = [
            watch(&file, true, false),
            watch(&b, true, false),
            Some(nobody),
            Some(closed),
        ];
        assert_eq!(at_once(&mut epoll, &places), [true, false, false, true]);
        a.write_all(b"x").unwrap();
        assert_eq!(at_once(&mut epoll, &places), [true, true, false, true]);
        assert_eq!(at_once(&mut epoll, &places[1..3]), [true, false]);
    }

    /// A number that names another file: after `forget`, the other file is watched.
    #[test]
    fn what_was_closed_is_forgotten() {
        let (_far, near) = UnixStream::pair().unwrap();
        let (mut other_far, other) = UnixStream::pair().unwrap();
        let mut epoll = Epoll::new().unwrap();
        let places = [watch(&near, true, false)];
        assert_eq!(at_once(&mut epoll, &places), [false]);
        // The file is still open elsewhere: the kernel would go on to report it.
        let kept = near.try_clone().unwrap();
        let mut owned = OwnedFd::from(near);
        rustix::io::dup2(&other, &mut owned).unwrap();
        other_far.write_all(b"x").unwrap();
        epoll.forget();
        assert_eq!(at_once(&mut epoll, &places), [true]);
        drop(kept);
        drop(owned);
        // Closed without `forget`, and no longer waited for: nothing is left of it.
        let more = [None, watch(&other, true, false)];
        assert_eq!(at_once(&mut epoll, &more), [false, true]);
    }

    proptest! {
        /// For any sequence of lists: the same places are ready as by poll(2).
        #[test]
        fn as_poll_states(
            rounds in prop::collection::vec(
                prop::collection::vec(prop::option::of((0..6_usize, any::<bool>(), any::<bool>())), 0..8),
                1..12,
            ),
            full in prop::collection::vec(any::<bool>(), 6),
        ) {
            let pairs: Vec<_> = (0..6).map(|_| UnixStream::pair().unwrap()).collect();
            for ((far, _), full) in pairs.iter().zip(&full) {
                if *full {
                    (&*far).write_all(b"x").unwrap();
                }
            }
            let mut epoll = Epoll::new().unwrap();
            for round in rounds {
                let places: Vec<_> = round
                    .iter()
                    .map(|place| place.and_then(|(at, r, w)| watch(&pairs[at].1, r, w)))
                    .collect();
                let mut poll = PollSet::default();
                for place in &places {
                    match place {
                        Some(watch) => poll.add(*watch),
                        None => poll.add_fd(-1, true, true),
                    }
                }
                poll.wait(Some(Duration::ZERO)).unwrap();
                let by_poll: Vec<bool> = (0..places.len()).map(|at| poll.is_ready(at)).collect();
                prop_assert_eq!(at_once(&mut epoll, &places), by_poll);
            }
        }
    }
}
