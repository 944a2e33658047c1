//! A device on a socket.

use crate::counters::Counters;
use crate::guest::Guest;
use crate::message::{self, CONTROL, QUEUES, RX, TX};
use crate::rings::{Armed, Taken, Ticket};
use crate::session::{Ended, Session};
use frame::{FrameRef, Nanos};
use linux::listener::{ListenError, Listener, connect};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the device offers a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// CAN FD.
    pub fd: bool,
    /// FD frames of the machine have BRS: virtio CAN has no word for it.
    pub brs: bool,
    /// A frame is acknowledged when it was on the bus.
    pub late_ack: bool,
}

/// Whether frames pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// No monitor is connected.
    Absent,
    /// A machine is there, and has not started its controller.
    Stopped,
    /// Frames pass.
    Up,
    /// The machine was told that its controller is bus-off.
    BusOff,
    /// The machine's queues make no sense.
    Broken,
}

/// The kick of a queue has the queue's number.
const RX_KICK: u64 = RX as u64;
const TX_KICK: u64 = TX as u64;
const LISTENER: u64 = 100;
const MESSAGES: u64 = 101;
const OTHER: u64 = 102;
const BELL: u64 = 103;

/// The most remarks that are kept.
const REMARKS: usize = 16;

/// How often it is tried whether the monitor listens, ns.
const PAUSE: Nanos = 100_000_000;

/// What is known of a queue by which the machine wants something to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// There may be something: the driver has said so, or nobody has looked since the queue was set up.
    Stirred,
    /// Nothing was there when it was looked at. The driver does not yet know that it is to say what it adds.
    Empty,
    /// The driver was asked to say what it adds, and nothing was there *after* that. So whatever it adds, it says, and
    /// the epoll keeps that until it is read: there is nothing to be looked for before.
    Quiet,
}

/// How the connection is made.
enum Way {
    /// The monitor connects.
    Listen(Listener),
    /// The monitor listens; it is tried again at this time.
    Connect { at: Nanos },
}

/// One virtio CAN device: a socket, and the machine whose monitor is connected there.
pub struct Device {
    path: PathBuf,
    way: Way,
    epoll: OwnedFd,
    session: Option<Session>,
    guest: Arc<Mutex<Guest>>,
    /// Kicks that the epoll knows.
    known: [Option<RawFd>; QUEUES],
    /// Frames of the machine, and its commands.
    frames: Known,
    commands: Known,
    remarks: Vec<String>,
    was_broken: bool,
    others: bool,
}

fn lock(guest: &Mutex<Guest>) -> MutexGuard<'_, Guest> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Listens for a monitor at this path.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(path: &Path, options: Options) -> Result<Self, ListenError> {
        let system = |error: rustix::io::Errno| ListenError::System(path.to_owned(), error.into());
        let way = Way::Listen(Listener::bind(path)?);
        let device = Self::new(path, options, way).map_err(system)?;
        if let Way::Listen(listener) = &device.way {
            let data = EventData::new_u64(LISTENER);
            epoll::add(&device.epoll, listener, data, EventFlags::IN).map_err(system)?;
        }
        Ok(device)
    }

    /// Connects to a monitor that listens at this path (QEMU: `server=on`), and again whenever it has gone.
    ///
    /// # Errors
    /// [`ListenError::System`].
    pub fn connect(path: &Path, options: Options) -> Result<Self, ListenError> {
        Self::new(path, options, Way::Connect { at: 0 })
            .map_err(|error| ListenError::System(path.to_owned(), error.into()))
    }

    fn new(path: &Path, options: Options, way: Way) -> rustix::io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            way,
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            session: None,
            guest: Arc::new(Mutex::new(Guest::new(options))),
            known: [None; QUEUES],
            frames: Known::Stirred,
            commands: Known::Stirred,
            remarks: Vec::new(),
            was_broken: false,
            others: false,
        })
    }

    /// Readable when [`Device::work`] has something to do.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }

    /// [`Device::fd`] is readable, too, when this one is: for whoever does more than [`Device::work`] then, and
    /// reads what is there. [`Device::others`] says whether it was.
    pub fn watch(&self, other: impl AsFd) {
        self.add(other, OTHER, EventFlags::IN);
    }

    /// [`Device::fd`] is readable, too, after this event descriptor was written, once each time: nobody need read it.
    pub fn watch_bell(&self, bell: impl AsFd) {
        self.add(bell, BELL, EventFlags::IN | EventFlags::ET);
    }

    fn add(&self, other: impl AsFd, what: u64, flags: EventFlags) {
        // Without it the other one is served at its time.
        let _ = epoll::add(&self.epoll, other, EventData::new_u64(what), flags);
    }

    /// Was there something to read where it was to [watch](Device::watch), when [`Device::work`] looked last?
    #[must_use]
    pub const fn others(&self) -> bool {
        self.others
    }

    fn remark(&mut self, what: String) {
        if self.remarks.len() < REMARKS {
            self.remarks.push(what);
        }
    }

    /// Sentences for a user since the last call: machines that came and went.
    pub fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// When [`Device::work`] is to be called at the latest.
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        match self.way {
            Way::Connect { at } if self.session.is_none() => Some(at),
            _ => None,
        }
    }

    /// Tries whether the monitor listens.
    fn try_to_connect(&mut self, now: Nanos) {
        let Way::Connect { at } = &mut self.way else {
            return;
        };
        if self.session.is_some() || now < *at {
            return;
        }
        *at = now.saturating_add(PAUSE);
        if let Ok(stream) = connect(&self.path) {
            self.begin(stream);
        }
    }

    /// Does what has come: connections, messages of the monitor, commands of the machine. Never blocks, but for
    /// a monitor that stops in the middle of a message, and that once, for 0.2 s.
    pub fn work(&mut self, now: Nanos) {
        self.try_to_connect(now);
        let mut events = [Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        }; 8];
        let zero = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let found = epoll::wait(&self.epoll, &mut events[..], Some(&zero)).unwrap_or(0);
        self.others = false;
        for event in events.iter().take(found) {
            match event.data.u64() {
                LISTENER => self.accept(),
                MESSAGES => self.serve(),
                OTHER => self.others = true,
                BELL => {}
                RX_KICK => lock(&self.guest).rings.fed(),
                TX_KICK => self.frames = Known::Stirred,
                _ => self.commands = Known::Stirred,
            }
        }
        let mut guest = lock(&self.guest);
        if self.commands != Known::Quiet {
            guest.rings.obey();
            // Of very many commands some are left: they are found when the queue is armed.
            self.commands = Known::Empty;
        }
        let broken = guest.rings.broken();
        drop(guest);
        if let Some((index, why)) = broken.filter(|_| !self.was_broken) {
            let name = ["transmit", "receive", "control"][index];
            self.remark(format!(
                "the machine's {name} queue makes no sense: {why}; its frames do not pass until its driver \
                 sets the device up anew"
            ));
        }
        self.was_broken = broken.is_some();
        self.interrupt(CONTROL);
    }

    fn accept(&mut self) {
        let Way::Listen(listener) = &self.way else {
            return;
        };
        let Some(stream) = listener.accept() else {
            return;
        };
        // It may have gone just now.
        self.serve();
        if self.session.is_some() {
            self.remark(format!(
                "a second monitor has connected to {} and was sent away: one machine has one socket",
                self.path.display()
            ));
            return;
        }
        self.begin(stream);
    }

    fn begin(&mut self, stream: UnixStream) {
        let begun = Session::new(stream, Arc::clone(&self.guest)).and_then(|session| {
            let data = EventData::new_u64(MESSAGES);
            // An event each time that bytes come: of a message that has begun and does not go on, it would be one without end.
            let flags = EventFlags::IN | EventFlags::ET;
            epoll::add(&self.epoll, session.stream(), data, flags)?;
            Ok(session)
        });
        match begun {
            Ok(session) => self.session = Some(session),
            Err(error) => self.remark(format!("a monitor's connection was lost: {error}")),
        }
    }

    fn serve(&mut self) {
        let Some(session) = &mut self.session else {
            return;
        };
        let before = session.spoke();
        let result = session.serve();
        // Whatever it said, the queues may be others now.
        (self.frames, self.commands) = (Known::Stirred, Known::Stirred);
        let spoke = session.spoke();
        if spoke && !before {
            lock(&self.guest).rings.count_connection();
            self.remark("a monitor has connected".to_owned());
        }
        if let Err(ended) = result {
            self.session = None;
            lock(&self.guest).leave();
            match ended {
                Ended::Closed if spoke => self.remark(ended.to_string()),
                Ended::Closed => {}
                Ended::Message(_) => self.remark(format!("{ended}; its connection was closed")),
            }
        }
        self.know_kicks();
    }

    /// Lets the epoll wait for the kicks that are there now.
    fn know_kicks(&mut self) {
        let mut guest = lock(&self.guest);
        if !std::mem::take(&mut guest.changed) {
            return;
        }
        for (index, known) in self.known.iter_mut().enumerate() {
            // A file that is closed has left the epoll; one with its number may be another one.
            if known.take().is_some()
                && let Some(kick) = &guest.kicks[index]
            {
                let _ = epoll::delete(&self.epoll, kick);
            }
            if let Some(kick) = &guest.kicks[index] {
                let data = EventData::new_u64(index as u64);
                // Each kick is an event, so that nobody need read the descriptor.
                let flags = EventFlags::IN | EventFlags::ET;
                if epoll::add(&self.epoll, kick, data, flags).is_ok() {
                    *known = Some(kick.as_raw_fd());
                }
            }
        }
    }

    /// Hands over up to `budget` frames that the machine sends. True: there may be more. When there are none left,
    /// [`Device::tell`] says whether some have come meanwhile.
    pub fn take(&mut self, budget: usize, take: &mut dyn FnMut(Taken)) -> bool {
        if self.frames == Known::Quiet {
            return false;
        }
        let mut guest = lock(&self.guest);
        for _ in 0..budget {
            match guest.rings.take() {
                Some(taken) => take(taken),
                None => {
                    self.frames = Known::Empty;
                    return false;
                }
            }
        }
        // Not armed before it is empty: the driver need say nothing while we look anyway.
        self.frames = Known::Stirred;
        true
    }

    /// What became of a frame. The driver is told by [`Device::tell`].
    pub fn finish(&mut self, ticket: Ticket, ok: bool) {
        lock(&self.guest).rings.finish(ticket, ok);
    }

    /// Can the machine get this kind of frame?
    #[must_use]
    pub fn carries(&self, frame: &FrameRef<'_>) -> bool {
        message::carries(frame, lock(&self.guest).rings.features())
    }

    /// Gives the machine a frame that it [carries](Device::carries), while its link is up; false where it has no
    /// buffer for it. The driver is told by [`Device::tell`].
    pub fn give(&mut self, frame: &FrameRef<'_>) -> bool {
        lock(&self.guest).rings.give(frame)
    }

    /// Lets the driver know of what was given back and given since; true: it has buffers for frames again, after there was
    /// none. For whoever gives frames and takes none: what the machine wants to be done is left to [`Device::tell`].
    pub fn tell_given(&mut self) -> bool {
        self.interrupt(TX);
        self.interrupt(RX);
        lock(&self.guest).rings.arm_these([false; QUEUES]).room
    }

    /// The same, and a queue that was found empty is armed: the result says what the driver has added to it meanwhile, which
    /// it will not say itself. For whoever takes frames: nobody else may lose that.
    pub fn tell(&mut self) -> Armed {
        self.interrupt(TX);
        self.interrupt(RX);
        let mut which = [false; QUEUES];
        which[TX] = self.frames == Known::Empty;
        which[CONTROL] = self.commands == Known::Empty;
        let armed = lock(&self.guest).rings.arm_these(which);
        let known = |there| if there { Known::Stirred } else { Known::Quiet };
        if which[TX] {
            self.frames = known(armed.frames);
        }
        if which[CONTROL] {
            self.commands = known(armed.commands);
        }
        armed
    }

    fn interrupt(&self, index: usize) {
        let mut guest = lock(&self.guest);
        if guest.rings.wants_interrupt(index)
            && let Some(call) = &guest.calls[index]
        {
            // A counter that is full says it, too.
            let _ = rustix::io::write(call, &1_u64.to_ne_bytes());
        }
    }

    /// The controller that the machine shares is bus-off, or back on the bus.
    pub fn set_bus_off(&mut self, bus_off: bool) {
        let changed = lock(&self.guest).rings.set_bus_off(bus_off);
        if let Some(session) = self.session.as_ref().filter(|_| changed) {
            session.tell();
        }
    }

    /// Whether frames pass.
    #[must_use]
    pub fn link(&self) -> Link {
        if self.session.as_ref().is_none_or(|session| !session.spoke()) {
            return Link::Absent;
        }
        let guest = lock(&self.guest);
        if guest.rings.broken().is_some() {
            Link::Broken
        } else if guest.rings.status() & message::STATUS_BUS_OFF != 0 {
            Link::BusOff
        } else if guest.rings.is_started() {
            Link::Up
        } else {
            Link::Stopped
        }
    }

    /// What was counted since the device was made.
    #[must_use]
    pub fn counters(&self) -> Counters {
        lock(&self.guest).rings.counters()
    }
}

/// What is under way fails, so that the next process finds queues without gaps.
impl Drop for Device {
    fn drop(&mut self) {
        lock(&self.guest).rings.abandon();
        self.interrupt(TX);
    }
}
