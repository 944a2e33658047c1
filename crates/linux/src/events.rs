//! One epoll for the descriptors of several owners, in which one thread waits for all of them.
//!
//! A port with several descriptors can have an epoll of its own, which other code waits for as for
//! one descriptor. Then each event takes two calls: one that waits, and one that asks the port's
//! epoll for the event. And an epoll in an epoll, or in ppoll(2), is queried once more before and
//! after each wait. The [members](SetMember) of an [`EventSet`] have their descriptors in one
//! epoll. The thread that waits in it delivers each member's events, and the member picks them up
//! without a call.
//!
//! # Waiting
//! A thread that [attends](EventSet::attend) the set waits by [`EventSet::wait`]. Where no thread
//! does, a member checks the epoll itself when it is asked ([`SetMember::take`]), and the set's
//! descriptor is readable when any member has an event.

use crate::Errno;
use crate::epoll::{NO_EVENT, control, wait_for};
use rustix::event::epoll::{self, CreateFlags, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Result;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most events that one call brings; further ones stay for the next call.
const AT_ONCE: usize = 32;
/// The event data of the set's own bell. No member has this number.
const BELL: u64 = u64::MAX;

/// The condition under which a descriptor brings its member an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventTrigger {
    /// As long as there is something to read.
    Level,
    /// Each time that something was written, which need not be read. For an event descriptor
    /// (eventfd(2)), for example.
    Edge,
}

/// Descriptors of several owners in one epoll.
pub struct EventSet {
    epoll: OwnedFd,
    /// Wakes the waiting thread when a member was [stirred](SetMember::wake) by another thread.
    bell: OwnedFd,
    known: Mutex<KnownDescriptor>,
    /// A thread waits in the set repeatedly.
    attended: AtomicBool,
    /// A thread waits at present, or is about to.
    asleep: AtomicBool,
    /// A member was stirred since the last wait began.
    stirred: AtomicBool,
    /// The kernel has no epoll_pwait2(2).
    old: AtomicBool,
}

#[derive(Default)]
struct KnownDescriptor {
    /// The number of the next member. Numbers are not used again, so that an event of a member that
    /// is gone never reaches another one.
    next: u32,
    /// The pending bits of each member, in the order of the members' numbers.
    members: Vec<(u32, Arc<AtomicU32>)>,
    /// The owner of each descriptor, as far as is known: a descriptor that was closed is not
    /// removed.
    owners: Vec<(RawFd, u32)>,
}

fn lock(known: &Mutex<KnownDescriptor>) -> MutexGuard<'_, KnownDescriptor> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EventSet {
    /// Creates a set without members.
    ///
    /// # Errors
    /// Those of epoll_create1(2) and eventfd(2): too many descriptors, no memory.
    pub fn new() -> io::Result<Arc<Self>> {
        let set = Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            known: Mutex::default(),
            attended: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            stirred: AtomicBool::new(false),
            old: AtomicBool::new(false),
        };
        let flags = EventFlags::IN | EventFlags::ET;
        let data = epoll::EventData::new_u64(BELL);
        epoll::add(&set.epoll, &set.bell, data, flags)?;
        Ok(Arc::new(set))
    }

    /// Creates a new member.
    #[must_use]
    pub fn member(self: &Arc<Self>) -> SetMember {
        let has = Arc::new(AtomicU32::new(0));
        let mut known = lock(&self.known);
        let number = known.next;
        known.next += 1;
        known.members.push((number, Arc::clone(&has)));
        drop(known);
        SetMember {
            set: Arc::clone(self),
            number,
            has,
        }
    }

    /// Declares that from now on a thread waits by [`EventSet::wait`] (true), so that members need
    /// not check themselves, or that it no longer does (false).
    pub fn attend(&self, attended: bool) {
        self.attended.store(attended, Ordering::SeqCst);
    }

    /// Waits until there is an event for a member, at most for `timeout` (`None`: for ever), and
    /// delivers their events to all members. Returns the number of events, 0 after the timeout or a
    /// signal.
    ///
    /// # Errors
    /// Those of epoll_wait(2) except EINTR.
    pub fn wait(&self, timeout: Option<Duration>) -> io::Result<usize> {
        // A thread that stirs a member from here on sees `asleep` and rings the bell; one that did
        // not see it has set `stirred` before the next line reads it.
        self.asleep.store(true, Ordering::SeqCst);
        let stirred = self.stirred.swap(false, Ordering::SeqCst);
        let timeout = if stirred {
            Some(Duration::ZERO)
        } else {
            timeout
        };
        let found = self.collect(timeout);
        self.asleep.store(false, Ordering::SeqCst);
        Ok(found? + usize::from(stirred))
    }

    fn collect(&self, timeout: Option<Duration>) -> Result<usize> {
        let mut events = [NO_EVENT; AT_ONCE];
        let found = match wait_for(&self.epoll, &mut events, timeout, &self.old) {
            Err(Errno::INTR) => 0,
            found => found?,
        };
        let known = lock(&self.known);
        for event in events.iter().take(found) {
            let (number, what) = parts(event.data.u64());
            if let Ok(at) = known.members.binary_search_by_key(&number, |one| one.0) {
                known.members[at].1.fetch_or(what, Ordering::SeqCst);
            }
        }
        Ok(found)
    }
}

impl AsFd for EventSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Returns the member's number, and its event as a bit.
const fn parts(data: u64) -> (u32, u32) {
    if data == BELL {
        // No member has this number.
        return (u32::MAX, 0);
    }
    ((data >> 8) as u32, 1 << (data as u32 & 31))
}

/// One owner of descriptors in a set.
pub struct SetMember {
    set: Arc<EventSet>,
    number: u32,
    has: Arc<AtomicU32>,
}

impl SetMember {
    /// Adds a descriptor: from now on bit `what` (0 to 31) of [`SetMember::take`] is set when it is
    /// readable. The descriptor belongs to the member until [`SetMember::leave`]; one that is
    /// closed earlier leaves the set on its own, unless the same file is open elsewhere.
    ///
    /// # Errors
    /// Those of epoll_ctl(2): no memory, `/proc/sys/fs/epoll/max_user_watches`, a file that cannot
    /// be waited for.
    pub fn add(&self, fd: impl AsFd, what: u8, trigger: EventTrigger) -> io::Result<()> {
        let fd = fd.as_fd().as_raw_fd();
        let mut flags = EventFlags::IN;
        flags.set(EventFlags::ET, trigger == EventTrigger::Edge);
        let data = u64::from(self.number) << 8 | u64::from(what & 31);
        let mut known = lock(&self.set.known);
        match control(&self.set.epoll, libc::EPOLL_CTL_ADD, fd, flags, data) {
            // The set already had the same file under the same number.
            Err(Errno::EXIST) => control(&self.set.epoll, libc::EPOLL_CTL_MOD, fd, flags, data)?,
            reported => reported?,
        }
        known.owners.retain(|(other, _)| *other != fd);
        known.owners.push((fd, self.number));
        Ok(())
    }

    /// Returns the events since the last call, as bits.
    #[must_use]
    pub fn take(&self) -> u32 {
        if !self.set.attended.load(Ordering::SeqCst) {
            // A call that fails here fails again the next time.
            let _ = self.set.collect(Some(Duration::ZERO));
        }
        self.has.swap(0, Ordering::SeqCst)
    }

    /// Returns whether [`SetMember::take`] of an attended set would return an event.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.has.load(Ordering::SeqCst) != 0
    }

    /// Sets bit `what` (0 to 31), from any thread, and ends the wait.
    pub fn wake(&self, what: u8) {
        self.has.fetch_or(1 << (what & 31), Ordering::SeqCst);
        self.set.stirred.store(true, Ordering::SeqCst);
        let somebody_picks_it_up =
            self.set.attended.load(Ordering::SeqCst) && !self.set.asleep.load(Ordering::SeqCst);
        if !somebody_picks_it_up {
            // A full counter makes the bell readable, too.
            let _ = rustix::io::write(&self.set.bell, &1_u64.to_ne_bytes());
        }
    }

    /// Returns the member's set.
    #[must_use]
    pub const fn set(&self) -> &Arc<EventSet> {
        &self.set
    }

    /// Takes all descriptors of the member out of the set. Needed before closing files that are
    /// also open elsewhere: they would go on to bring events for which no member exists.
    pub fn leave(&self) {
        let mut known = lock(&self.set.known);
        known.owners.retain(|(fd, number)| {
            if *number != self.number {
                return true;
            }
            let _ = control(
                &self.set.epoll,
                libc::EPOLL_CTL_DEL,
                *fd,
                EventFlags::empty(),
                0,
            );
            false
        });
    }
}

impl Drop for SetMember {
    fn drop(&mut self) {
        self.leave();
        lock(&self.set.known)
            .members
            .retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

    fn counter() -> OwnedFd {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap()
    }

    fn ring(counter: &OwnedFd) {
        rustix::io::write(counter, &1_u64.to_ne_bytes()).unwrap();
    }

    /// Returns whether the set's descriptor is readable.
    fn is_readable(set: &EventSet) -> bool {
        let mut poll = crate::PollSet::default();
        poll.add_fd(set.as_fd().as_raw_fd(), true, false);
        poll.wait(AT_ONCE).unwrap() > 0
    }

    #[test]
    fn each_member_gets_what_is_its_own() {
        let set = EventSet::new().unwrap();
        set.attend(true);
        let (one, other) = (set.member(), set.member());
        let (mut far, near) = UnixStream::pair().unwrap();
        let kick = counter();
        one.add(&near, 3, EventTrigger::Level).unwrap();
        other.add(&kick, 31, EventTrigger::Edge).unwrap();
        assert_eq!(set.wait(AT_ONCE).unwrap(), 0);
        far.write_all(b"x").unwrap();
        ring(&kick);
        assert_eq!((one.take(), other.take()), (0, 0), "no thread has waited");
        assert_eq!(set.wait(None).unwrap(), 2);
        assert!(one.has_events() && other.has_events());
        assert_eq!((one.take(), other.take()), (1 << 3, 1 << 31));
        assert!(!one.has_events() && !other.has_events());
        // Data that was not read brings an event again; data that was written once does not.
        assert_eq!(set.wait(AT_ONCE).unwrap(), 1);
        assert_eq!((one.take(), other.take()), (1 << 3, 0));
        (&near).read_exact(&mut [0]).unwrap();
        ring(&kick);
        assert_eq!(set.wait(AT_ONCE).unwrap(), 1);
        assert_eq!((one.take(), other.take()), (0, 1 << 31));
    }

    #[test]
    fn a_member_of_a_set_without_a_worker_looks_itself() {
        let set = EventSet::new().unwrap();
        let (one, other) = (set.member(), set.member());
        let kick = counter();
        one.add(&kick, 0, EventTrigger::Edge).unwrap();
        assert!(!is_readable(&set));
        ring(&kick);
        assert!(is_readable(&set));
        assert_eq!(other.take(), 0, "it has brought the other one its own");
        assert!(!is_readable(&set));
        assert_eq!(one.take(), 1);
        one.wake(4);
        assert!(is_readable(&set));
        assert_eq!(one.take(), 1 << 4);
    }

    #[test]
    fn who_is_stirred_before_the_waiting_or_in_it_ends_it() {
        let set = EventSet::new().unwrap();
        set.attend(true);
        let member = Arc::new(set.member());
        member.wake(1);
        assert_eq!(set.wait(None).unwrap(), 1);
        assert_eq!(member.take(), 1 << 1);
        assert_eq!(set.wait(AT_ONCE).unwrap(), 0);
        for round in 0..200_u64 {
            let stirs = Arc::clone(&member);
            let thread = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_micros(round % 40));
                stirs.wake(7);
            });
            let mut got = 0;
            let begin = Instant::now();
            while got == 0 {
                set.wait(Some(Duration::from_secs(20))).unwrap();
                got |= member.take();
            }
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "the time has ended it"
            );
            assert_eq!(got, 1 << 7);
            thread.join().unwrap();
        }
    }

    /// A file that is also open elsewhere stays in an epoll after it was closed.
    #[test]
    fn nothing_comes_of_the_descriptors_of_a_member_that_has_left() {
        let set = EventSet::new().unwrap();
        let member = set.member();
        let (mut far, near) = UnixStream::pair().unwrap();
        let kept = near.try_clone().unwrap();
        member.add(&near, 0, EventTrigger::Level).unwrap();
        far.write_all(b"x").unwrap();
        member.leave();
        drop(near);
        assert!(!is_readable(&set));
        drop(kept);
        // A descriptor that was closed earlier belongs to no member, and another member's has its
        // number.
        let (a, b) = (set.member(), set.member());
        let first = counter();
        a.add(&first, 0, EventTrigger::Edge).unwrap();
        let number = first.as_raw_fd();
        let copy = rustix::io::dup(&first).unwrap();
        drop(first);
        let second = counter();
        if second.as_raw_fd() == number {
            b.add(&second, 5, EventTrigger::Edge).unwrap();
            a.leave();
            ring(&second);
            assert_eq!(b.take(), 1 << 5);
        }
        // The file that is left brings at most an event of a member that has left.
        drop(a);
        ring(&copy);
        assert_eq!(b.take(), 0);
    }

    /// The same file is added by the same number once more: the last member that adds it gets it.
    #[test]
    fn a_descriptor_can_be_added_again() {
        let set = EventSet::new().unwrap();
        let (one, other) = (set.member(), set.member());
        let kick = counter();
        one.add(&kick, 0, EventTrigger::Edge).unwrap();
        other.add(&kick, 1, EventTrigger::Edge).unwrap();
        drop(one);
        ring(&kick);
        assert_eq!(other.take(), 1 << 1);
        assert!(
            other
                .add(tempfile::tempfile().unwrap(), 0, EventTrigger::Level)
                .is_err()
        );
    }

    #[test]
    fn the_time_ends_a_waiting_in_which_nothing_comes() {
        let set = EventSet::new().unwrap();
        assert_eq!(set.wait(Some(Duration::from_micros(1_100))).unwrap(), 0);
        assert_eq!(set.wait(Some(Duration::from_millis(1))).unwrap(), 0);
    }
}
