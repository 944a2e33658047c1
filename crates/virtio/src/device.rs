//! A device on a socket.

use crate::counters::Counters;
use crate::guest::Guest;
use crate::message::{self, CONTROL, QUEUES, RX, TX};
use crate::rings::{Armed, Taken, Ticket};
use crate::session::{Ended, Session};
use frame::{FrameRef, Nanos};
use linux::EventSet;
use linux::events::{Member, Trigger};
use linux::listener::{ListenError, Listener, connect};
use std::os::fd::AsFd;
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
    /// While other frames of the machine are under way, its driver may hear so much later that one
    /// was sent, ns: several frames then take one interrupt ([`Device::tell`]). 0: at once.
    pub coalesce: Nanos,
    /// Memory is accepted that its monitor can shrink (a file). Shrunk memory ends this process by
    /// SIGBUS.
    pub unsealed: bool,
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

/// What the device's descriptors bring. The kick of a queue has the queue's number.
const LISTENER: u8 = QUEUES as u8;
const MESSAGES: u8 = LISTENER + 1;
/// Whoever does more than [`Device::work`] has these for [`Device::watch`] and [`Member::stir`].
pub const FIRST_OTHER: u8 = MESSAGES + 1;

const fn bit(what: u8) -> u32 {
    1 << what
}

/// The most remarks that are kept.
const REMARKS: usize = 16;

/// How often it is tried whether the monitor listens, ns.
const PAUSE: Nanos = 100_000_000;

/// What is known of a queue by which the machine wants something to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// There may be something: the driver has said so, or nobody has looked since the queue was set
    /// up.
    Stirred,
    /// Nothing was there when it was looked at. The driver does not yet know that it is to say what
    /// it adds.
    Empty,
    /// The driver was asked to say what it adds, and nothing was there *after* that. So whatever it
    /// adds, it says, and the device's events keep that until they are taken: there is nothing to
    /// be looked for before.
    Quiet,
}

/// So many frames that have ended are told in any case: a quarter of the 64 places of QEMU's
/// queues.
const MOST_UNTOLD: u64 = 16;

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
    events: Arc<Member>,
    session: Option<Session>,
    guest: Arc<Mutex<Guest>>,
    /// Frames of the machine, and its commands.
    frames: Known,
    commands: Known,
    remarks: Vec<String>,
    /// Of these, those that a user should be told at once.
    alarms: Vec<String>,
    was_broken: bool,
    others: u32,
    /// When [`Device::work`] was called last.
    now: Nanos,
    /// How long a driver may not know that a frame was sent.
    coalesce: Nanos,
    /// Frames that had ended when the driver was told last, and when the first one after them
    /// ended.
    told: u64,
    untold_since: Option<Nanos>,
}

fn lock(guest: &Mutex<Guest>) -> MutexGuard<'_, Guest> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// Listens for a monitor at this path. The device's descriptors are in this set.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(path: &Path, options: Options, set: &Arc<EventSet>) -> Result<Self, ListenError> {
        let way = Way::Listen(Listener::bind(path)?);
        let device = Self::new(path, options, way, set);
        if let Way::Listen(listener) = &device.way {
            let added = device.events.add(listener, LISTENER, Trigger::Level);
            added.map_err(|error| ListenError::System(path.to_owned(), error))?;
        }
        Ok(device)
    }

    /// Connects to a monitor that listens at this path (QEMU: `server=on`), and again whenever it
    /// has gone.
    #[must_use]
    pub fn connect(path: &Path, options: Options, set: &Arc<EventSet>) -> Self {
        Self::new(path, options, Way::Connect { at: 0 }, set)
    }

    fn new(path: &Path, options: Options, way: Way, set: &Arc<EventSet>) -> Self {
        Self {
            path: path.to_owned(),
            way,
            events: Arc::new(set.member()),
            session: None,
            guest: Arc::new(Mutex::new(Guest::new(options))),
            frames: Known::Stirred,
            commands: Known::Stirred,
            remarks: Vec::new(),
            alarms: Vec::new(),
            was_broken: false,
            others: 0,
            now: 0,
            coalesce: options.coalesce,
            told: 0,
            untold_since: None,
        }
    }

    /// Has something when [`Device::work`] has something to do.
    #[must_use]
    pub const fn events(&self) -> &Arc<Member> {
        &self.events
    }

    /// [`Device::events`] has something, too, when this descriptor is readable: for whoever does
    /// more than [`Device::work`] then. [`Device::others`] says whether it was. `what`:
    /// [`FIRST_OTHER`] or one of those after it.
    pub fn watch(&self, other: impl AsFd, what: u8, trigger: Trigger) {
        // Without it the other one is served at its time.
        let _ = self.events.add(other, what, trigger);
    }

    /// What there was of those that it was to [watch](Device::watch), when [`Device::work`] looked
    /// last; as bits.
    #[must_use]
    pub const fn others(&self) -> u32 {
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

    /// Why a monitor was sent away, since the last call: each in a sentence.
    pub fn alarms(&mut self) -> Vec<String> {
        std::mem::take(&mut self.alarms)
    }

    /// When [`Device::work`] is to be called at the latest.
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        let untold = self.untold_since.map(|at| at.saturating_add(self.coalesce));
        match self.way {
            Way::Connect { at } if self.session.is_none() => Some(at),
            _ => {
                let session = self.session.as_ref().and_then(Session::deadline);
                untold.into_iter().chain(session).min()
            }
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

    /// Does what has come: connections, messages of the monitor, commands of the machine. Never
    /// waits for the monitor.
    pub fn work(&mut self, now: Nanos) {
        self.now = now;
        self.try_to_connect(now);
        let there = self.events.take();
        if there != 0 {
            self.begin_with(there);
        }
        let deadline = self.session.as_ref().and_then(Session::deadline);
        if deadline.is_some_and(|at| at <= now) {
            self.serve();
        }
        self.others = there >> FIRST_OTHER << FIRST_OTHER;
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

    fn begin_with(&mut self, there: u32) {
        if there & bit(LISTENER) != 0 {
            self.accept();
        }
        if there & bit(MESSAGES) != 0 {
            self.serve();
        }
        if there & bit(RX as u8) != 0 {
            lock(&self.guest).rings.fed();
        }
        if there & bit(TX as u8) != 0 {
            self.frames = Known::Stirred;
        }
        if there & bit(CONTROL as u8) != 0 {
            self.commands = Known::Stirred;
        }
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
            // An event each time that bytes come: of a message that has begun and does not go on,
            // it would be one without end.
            self.events.add(session.stream(), MESSAGES, Trigger::Edge)?;
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
        let result = session.serve(self.now);
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
                Ended::Message(_) | Ended::Refused(_) => {
                    let why = format!("{ended}; its connection was closed");
                    if self.alarms.len() < REMARKS {
                        self.alarms.push(why.clone());
                    }
                    self.remark(why);
                }
            }
        }
        self.know_kicks();
    }

    /// Waits for the kicks that are there now.
    fn know_kicks(&mut self) {
        let mut guest = lock(&self.guest);
        if !std::mem::take(&mut guest.changed) {
            return;
        }
        for (queue, kick) in (0..).zip(&guest.kicks) {
            if let Some(kick) = kick {
                // Each kick is an event, so that nobody need read the descriptor.
                let _ = self.events.add(kick, queue, Trigger::Edge);
            }
        }
    }

    /// Hands over up to `budget` frames that the machine sends. True: there may be more. When there
    /// are none left, [`Device::tell`] says whether some have come meanwhile.
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

    /// Gives the machine a frame that it [carries](Device::carries), while its link is up; false
    /// where it has no buffer for it. The driver is told by [`Device::tell`].
    pub fn give(&mut self, frame: &FrameRef<'_>) -> bool {
        lock(&self.guest).rings.give(frame)
    }

    /// Lets the driver know of what was given back and given since; true: it has buffers for frames
    /// again, after there was none. For whoever gives frames and takes none: what the machine wants
    /// to be done is left to [`Device::tell`].
    pub fn tell_given(&mut self) -> bool {
        self.tell_ended();
        self.interrupt(RX);
        lock(&self.guest).rings.arm_these([false; QUEUES]).room
    }

    /// Interrupts for frames that have ended, or puts it off.
    ///
    /// Who has several frames under way is told of half of them at once, or when the time is over:
    /// so a program that waits for its own frame before it sends the next one is told at once, and
    /// one that sends without pause has fewer interrupts.
    fn tell_ended(&mut self) {
        let guest = lock(&self.guest);
        let (ended, under_way) = (guest.rings.ended(), guest.rings.under_way());
        drop(guest);
        let untold = ended - self.told;
        if untold > 0 && untold < under_way.min(MOST_UNTOLD) {
            let since = *self.untold_since.get_or_insert(self.now);
            if self.now < since.saturating_add(self.coalesce) {
                return;
            }
        }
        self.told = ended;
        self.untold_since = None;
        self.interrupt(TX);
    }

    /// The same, and a queue that was found empty is armed: the result says what the driver has
    /// added to it meanwhile, which it will not say itself. For whoever takes frames: nobody else
    /// may lose that.
    pub fn tell(&mut self) -> Armed {
        self.tell_ended();
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
        // The monitor has the kicks, too, and the interface is somebody else's.
        self.events.leave();
    }
}
