//! A device on a socket.

use crate::counters::DeviceCounters;
use crate::guest::{DeviceOptions, GuestMachine};
use crate::message::{self, CONTROL, QUEUES, RX, TX};
use crate::rings::{ArmedQueues, FrameTicket, TakenFrame};
use crate::session::{MonitorSession, SessionEnd};
use frame::{FrameRef, Nanos};
use linux::EventSet;
use linux::events::{EventTrigger, SetMember};
use linux::listener::{ListenError, SocketListener, connect};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State of the link to the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceLink {
    /// No monitor is connected.
    Absent,
    /// A machine is connected, and has not started its controller.
    Stopped,
    /// Frames pass.
    Up,
    /// The machine was notified that its controller is bus-off.
    BusOff,
    /// The machine's queues are invalid.
    Broken,
}

/// Event numbers of the device's descriptors. The kick of a queue has the queue's number.
const LISTENER: u8 = QUEUES as u8;
const MESSAGES: u8 = LISTENER + 1;
/// The first event number that [`VirtioDevice::work`] does not use: for [`VirtioDevice::watch`] and
/// [`SetMember::wake`].
pub const FIRST_OTHER: u8 = MESSAGES + 1;

const fn bit(what: u8) -> u32 {
    1 << what
}

/// Maximum number of remarks that are kept.
const REMARKS: usize = 16;

/// Interval between attempts to connect to the monitor, ns.
const PAUSE: Nanos = 100_000_000;

/// Knowledge about a queue with which the machine requests work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QueueKnowledge {
    /// There may be something: the driver has sent a notification, or the queue has not been
    /// checked since it was set up.
    Stirred,
    /// It was empty when it was checked. The driver does not know yet that it must notify about
    /// additions.
    Empty,
    /// The driver was asked for notifications, and the queue was empty *after* that. So the driver
    /// notifies about each addition, and the device's events keep the notification until they are
    /// taken: until then, the queue need not be checked.
    Quiet,
}

/// Number of ended frames at which the driver is notified in any case: a quarter of the 64 entries
/// of QEMU's queues.
const MAX_UNREPORTED: u64 = 16;

/// Method of making the connection.
enum ConnectionWay {
    /// The monitor connects.
    Listen(SocketListener),
    /// The monitor listens; the next attempt to connect is at this time.
    Connect { at: Nanos },
}

/// One virtio CAN device: a socket, and the machine whose monitor is connected there.
pub struct VirtioDevice {
    path: PathBuf,
    way: ConnectionWay,
    events: Arc<SetMember>,
    session: Option<MonitorSession>,
    guest: Arc<Mutex<GuestMachine>>,
    /// State of the queues of the machine's frames and of its commands.
    frames: QueueKnowledge,
    commands: QueueKnowledge,
    remarks: Vec<String>,
    /// Those of the remarks that a user should see immediately.
    alarms: Vec<String>,
    was_broken: bool,
    others: u32,
    /// Time of the last call of [`VirtioDevice::work`].
    now: Nanos,
    /// Maximum delay of the notification that a frame was sent.
    coalesce: Nanos,
    /// Number of frames that had ended at the last notification of the driver, and time at which
    /// the first later frame ended.
    reported: u64,
    unreported_since: Option<Nanos>,
}

fn lock(guest: &Mutex<GuestMachine>) -> MutexGuard<'_, GuestMachine> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VirtioDevice {
    /// Listens for a monitor at this path. The device's descriptors are added to this set.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(
        path: &Path,
        options: DeviceOptions,
        set: &Arc<EventSet>,
    ) -> Result<Self, ListenError> {
        let way = ConnectionWay::Listen(SocketListener::bind(path)?);
        let device = Self::new(path, options, way, set);
        if let ConnectionWay::Listen(listener) = &device.way {
            let added = device.events.add(listener, LISTENER, EventTrigger::Level);
            added.map_err(|error| ListenError::System(path.to_owned(), error))?;
        }
        Ok(device)
    }

    /// Connects to a monitor that listens at this path (QEMU: `server=on`), and reconnects whenever
    /// the connection has ended.
    #[must_use]
    pub fn connect(path: &Path, options: DeviceOptions, set: &Arc<EventSet>) -> Self {
        Self::new(path, options, ConnectionWay::Connect { at: 0 }, set)
    }

    fn new(path: &Path, options: DeviceOptions, way: ConnectionWay, set: &Arc<EventSet>) -> Self {
        Self {
            path: path.to_owned(),
            way,
            events: Arc::new(set.member()),
            session: None,
            guest: Arc::new(Mutex::new(GuestMachine::new(options))),
            frames: QueueKnowledge::Stirred,
            commands: QueueKnowledge::Stirred,
            remarks: Vec::new(),
            alarms: Vec::new(),
            was_broken: false,
            others: 0,
            now: 0,
            coalesce: options.coalesce,
            reported: 0,
            unreported_since: None,
        }
    }

    /// Returns the events, which become active when [`VirtioDevice::work`] has something to do.
    #[must_use]
    pub const fn events(&self) -> &Arc<SetMember> {
        &self.events
    }

    /// Also activates [`VirtioDevice::events`] when this descriptor is readable, for a caller that
    /// does more than [`VirtioDevice::work`] then. [`VirtioDevice::others`] returns whether it was.
    /// `what`: [`FIRST_OTHER`] or a higher number.
    pub fn watch(&self, other: impl AsFd, what: u8, trigger: EventTrigger) {
        // If this fails, the caller serves the other descriptor at its deadline.
        let _ = self.events.add(other, what, trigger);
    }

    /// Returns the [watched](VirtioDevice::watch) events that were active at the last call of
    /// [`VirtioDevice::work`], as bits.
    #[must_use]
    pub const fn others(&self) -> u32 {
        self.others
    }

    fn remark(&mut self, what: String) {
        if self.remarks.len() < REMARKS {
            self.remarks.push(what);
        }
    }

    /// Returns messages for a user since the last call: machines that connected and disconnected.
    pub fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// Returns the reasons why monitors' connections were closed since the last call, a sentence
    /// each.
    pub fn alarms(&mut self) -> Vec<String> {
        std::mem::take(&mut self.alarms)
    }

    /// Returns the latest time for the next call of [`VirtioDevice::work`].
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        let unreported = self
            .unreported_since
            .map(|at| at.saturating_add(self.coalesce));
        match self.way {
            ConnectionWay::Connect { at } if self.session.is_none() => Some(at),
            _ => {
                let session = self.session.as_ref().and_then(MonitorSession::deadline);
                unreported.into_iter().chain(session).min()
            }
        }
    }

    /// Tries to connect to the monitor, if it is time to do so.
    fn try_to_connect(&mut self, now: Nanos) {
        let ConnectionWay::Connect { at } = &mut self.way else {
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

    /// Processes what has been received: connections, messages of the monitor, commands of the
    /// machine. Never waits for the monitor.
    pub fn work(&mut self, now: Nanos) {
        self.now = now;
        self.try_to_connect(now);
        let there = self.events.take();
        if there != 0 {
            self.begin_with(there);
        }
        let deadline = self.session.as_ref().and_then(MonitorSession::deadline);
        if deadline.is_some_and(|at| at <= now) {
            self.serve();
        }
        self.others = there >> FIRST_OTHER << FIRST_OTHER;
        let mut guest = lock(&self.guest);
        if self.commands != QueueKnowledge::Quiet {
            guest.rings.obey();
            // Of very many commands some are left: arming the queue finds them.
            self.commands = QueueKnowledge::Empty;
        }
        let broken = guest.rings.broken();
        drop(guest);
        if let Some((index, why)) = broken.filter(|_| !self.was_broken) {
            let name = ["transmit", "receive", "control"][index];
            self.remark(format!(
                "the machine's {name} queue is not valid: {why}; its frames do not pass until its driver \
                 sets the device up again"
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
            self.frames = QueueKnowledge::Stirred;
        }
        if there & bit(CONTROL as u8) != 0 {
            self.commands = QueueKnowledge::Stirred;
        }
    }

    fn accept(&mut self) {
        let ConnectionWay::Listen(listener) = &self.way else {
            return;
        };
        let Some(stream) = listener.accept() else {
            return;
        };
        // The current monitor may have disconnected just now.
        self.serve();
        if self.session.is_some() {
            self.remark(format!(
                "a second monitor has connected to {} and was rejected: one machine has one socket",
                self.path.display()
            ));
            return;
        }
        self.begin(stream);
    }

    fn begin(&mut self, stream: UnixStream) {
        let begun = MonitorSession::new(stream, Arc::clone(&self.guest)).and_then(|session| {
            // Edge-triggered: one event each time that bytes are received. An incomplete message
            // would keep a level-triggered event active all the time.
            self.events
                .add(session.stream(), MESSAGES, EventTrigger::Edge)?;
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
        // Any message may have changed the queues.
        (self.frames, self.commands) = (QueueKnowledge::Stirred, QueueKnowledge::Stirred);
        let spoke = session.spoke();
        if spoke && !before {
            lock(&self.guest).rings.count_connection();
            self.remark("a monitor has connected".to_owned());
        }
        if let Err(ended) = result {
            self.session = None;
            lock(&self.guest).leave();
            match ended {
                SessionEnd::Closed if spoke => self.remark(ended.to_string()),
                SessionEnd::Closed => {}
                SessionEnd::Message(_) | SessionEnd::Refused(_) => {
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

    /// Registers the current kicks for events.
    fn know_kicks(&mut self) {
        let mut guest = lock(&self.guest);
        if !std::mem::take(&mut guest.changed) {
            return;
        }
        for (queue, kick) in (0..).zip(&guest.kicks) {
            if let Some(kick) = kick {
                // Edge-triggered: each kick is an event, so that the descriptor need not be read.
                let _ = self.events.add(kick, queue, EventTrigger::Edge);
            }
        }
    }

    /// Hands over up to `budget` frames that the machine sends. Returns true if there may be more.
    /// If it returns false, [`VirtioDevice::notify_and_arm`] reports whether further ones have been
    /// added meanwhile.
    pub fn take(&mut self, budget: usize, take: &mut dyn FnMut(TakenFrame)) -> bool {
        if self.frames == QueueKnowledge::Quiet {
            return false;
        }
        let mut guest = lock(&self.guest);
        for _ in 0..budget {
            match guest.rings.take() {
                Some(taken) => take(taken),
                None => {
                    self.frames = QueueKnowledge::Empty;
                    return false;
                }
            }
        }
        // Not armed before it is empty: the driver need not send notifications while the queue is
        // checked anyway.
        self.frames = QueueKnowledge::Stirred;
        true
    }

    /// Records the end of a frame. [`VirtioDevice::notify_and_arm`] notifies the driver.
    pub fn finish(&mut self, ticket: FrameTicket, ok: bool) {
        lock(&self.guest).rings.finish(ticket, ok);
    }

    /// Returns whether the machine can receive this kind of frame.
    #[must_use]
    pub fn carries(&self, frame: &FrameRef<'_>) -> bool {
        message::carries(frame, lock(&self.guest).rings.features())
    }

    /// Passes the machine a frame that it [carries](VirtioDevice::carries), while its link is up;
    /// returns false if the machine has no buffer for it. [`VirtioDevice::notify_and_arm`] notifies
    /// the driver.
    pub fn give(&mut self, frame: &FrameRef<'_>) -> bool {
        lock(&self.guest).rings.give(frame)
    }

    /// Notifies the driver of the buffers that were given back and the frames that were passed
    /// since the last call; returns true if it has buffers for frames again, after there was none.
    /// For a caller that gives frames and takes none: requests of the machine are left to
    /// [`VirtioDevice::notify_and_arm`].
    pub fn notify_driver(&mut self) -> bool {
        self.publish_completions();
        self.interrupt(RX);
        lock(&self.guest).rings.arm_these([false; QUEUES]).room
    }

    /// Raises an interrupt for frames that have ended, or delays it.
    ///
    /// A driver with several frames under way is notified of half of them together, or when the
    /// delay is over: so a program that waits for its own frame before it sends the next one is
    /// notified immediately, and a program that sends without pause gets fewer interrupts.
    fn publish_completions(&mut self) {
        let guest = lock(&self.guest);
        let (ended, under_way) = (guest.rings.ended(), guest.rings.under_way());
        drop(guest);
        let unreported = ended - self.reported;
        if unreported > 0 && unreported < under_way.min(MAX_UNREPORTED) {
            let since = *self.unreported_since.get_or_insert(self.now);
            if self.now < since.saturating_add(self.coalesce) {
                return;
            }
        }
        self.reported = ended;
        self.unreported_since = None;
        self.interrupt(TX);
    }

    /// Does the same as [`VirtioDevice::notify_driver`], and arms a queue that was found empty: the
    /// result shows what the driver has added to it meanwhile, for which it sends no notification.
    /// For the code that takes frames: no other caller may consume that result.
    pub fn notify_and_arm(&mut self) -> ArmedQueues {
        self.publish_completions();
        self.interrupt(RX);
        let mut which = [false; QUEUES];
        which[TX] = self.frames == QueueKnowledge::Empty;
        which[CONTROL] = self.commands == QueueKnowledge::Empty;
        let armed = lock(&self.guest).rings.arm_these(which);
        let known = |there| {
            if there {
                QueueKnowledge::Stirred
            } else {
                QueueKnowledge::Quiet
            }
        };
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
            // A full counter (EAGAIN) also notifies the driver.
            let _ = rustix::io::write(call, &1_u64.to_ne_bytes());
        }
    }

    /// Sets whether the controller that the machine shares is bus-off, or back on the bus.
    pub fn set_bus_off(&mut self, bus_off: bool) {
        let changed = lock(&self.guest).rings.set_bus_off(bus_off);
        if let Some(session) = self.session.as_ref().filter(|_| changed) {
            session.notify_config_change();
        }
    }

    /// Returns the state of the link.
    #[must_use]
    pub fn link(&self) -> DeviceLink {
        if self.session.as_ref().is_none_or(|session| !session.spoke()) {
            return DeviceLink::Absent;
        }
        let guest = lock(&self.guest);
        if guest.rings.broken().is_some() {
            DeviceLink::Broken
        } else if guest.rings.status() & message::STATUS_BUS_OFF != 0 {
            DeviceLink::BusOff
        } else if guest.rings.is_started() {
            DeviceLink::Up
        } else {
            DeviceLink::Stopped
        }
    }

    /// Returns the counters since the device was created.
    #[must_use]
    pub fn counters(&self) -> DeviceCounters {
        lock(&self.guest).rings.counters()
    }
}

/// Lets the frames under way fail, so that the next process finds queues without gaps.
impl Drop for VirtioDevice {
    fn drop(&mut self) {
        lock(&self.guest).rings.abandon();
        self.interrupt(TX);
        // Dropping the descriptors does not remove them from the set: the monitor has the kicks,
        // too, and the interface belongs to other code.
        self.events.leave();
    }
}
