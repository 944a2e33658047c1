//! All buses of a file, from the start to the last counters.

use crate::counters::BusCounters;
use crate::deliver::{SampleInbox, deliver};
use crate::publish::{LOOK, Outbox, publish, read_gateway};
use crate::settings::{BusSettings, FleetSettings};
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use zenoh::{Session, Wait as _};

/// The longest time for which a datagram waits for room in the socket to the gateway.
const LONGEST_SEND: Duration = Duration::from_millis(1);

/// A bus: its sockets and threads.
#[derive(Debug)]
struct RunningBus {
    settings: Arc<BusSettings>,
    socket: Arc<UdpSocket>,
    outbox: Option<Arc<Outbox>>,
    inbox: Option<Arc<SampleInbox>>,
    threads: Vec<JoinHandle<()>>,
}

/// The buses that run.
#[derive(Debug)]
pub struct RunningFleet {
    buses: Vec<RunningBus>,
    session: Option<Session>,
}

impl RunningFleet {
    /// Binds the sockets of all buses and reads them. What comes in waits for
    /// [`RunningFleet::join`].
    ///
    /// # Errors
    /// A description: an address cannot be used.
    pub fn start(settings: FleetSettings) -> Result<Self, String> {
        let mut fleet = Self {
            buses: Vec::new(),
            session: None,
        };
        for settings in settings.buses {
            match start_bus(settings) {
                Ok(bus) => fleet.buses.push(bus),
                Err(error) => {
                    fleet.end();
                    return Err(error);
                }
            }
        }
        Ok(fleet)
    }

    /// Joins the buses to a session that is open.
    ///
    /// # Errors
    /// A description: Zenoh does not declare a publisher or a subscriber.
    pub fn join(&mut self, session: Session) -> Result<(), String> {
        for bus in &mut self.buses {
            join_bus(bus, &session)?;
        }
        self.session = Some(session);
        Ok(())
    }

    /// Returns whether Zenoh has closed the session by itself: nothing passes any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.session.as_ref().is_some_and(Session::is_closed)
    }

    /// Returns the counters of all buses.
    #[must_use]
    pub fn counters(&self) -> Vec<BusCounters> {
        let counters = |bus: &RunningBus| BusCounters {
            vehicle: bus.settings.vehicle.clone(),
            bus: bus.settings.keys.name.clone(),
            publish: bus.outbox.as_ref().map(|outbox| outbox.counters()),
            deliver: bus.inbox.as_ref().map(|inbox| inbox.counters()),
        };
        self.buses.iter().map(counters).collect()
    }

    /// Publishes what waits, ends all threads and the session, and returns the last counters.
    pub fn end(&mut self) -> Vec<BusCounters> {
        for bus in &mut self.buses {
            if let Some(outbox) = &bus.outbox {
                outbox.end();
            }
        }
        for thread in self.buses.iter_mut().flat_map(|bus| bus.threads.drain(..)) {
            if thread.join().is_err() {
                console::say("error: a thread has ended early; this is a mistake in cangate-fleet");
            }
        }
        if let Some(session) = self.session.take()
            && let Err(error) = session.close().wait()
        {
            console::say(&format!(
                "warning: Zenoh does not close its session: {error}"
            ));
        }
        self.counters()
    }
}

fn start_bus(settings: BusSettings) -> Result<RunningBus, String> {
    let place = settings.listen;
    let socket = bind(&settings).map_err(|error| {
        format!(
            "cannot listen at {place} for {}: {error}; is it in use?",
            settings.gateway
        )
    })?;
    let (settings, socket) = (Arc::new(settings), Arc::new(socket));
    let keys = &settings.keys;
    let outbox = keys.direction.publishes();
    let outbox = outbox.then(|| Arc::new(Outbox::new(keys.queue as usize)));
    let inbox = keys.direction.receives();
    let inbox = inbox.then(|| Arc::new(SampleInbox::new(&settings)));
    let mut threads = Vec::new();
    if let Some(outbox) = outbox.clone() {
        let (settings, socket) = (Arc::clone(&settings), Arc::clone(&socket));
        threads.push(spawn("gateway", move || {
            read_gateway(&socket, &settings, &outbox);
        })?);
    }
    Ok(RunningBus {
        settings,
        socket,
        outbox,
        inbox,
        threads,
    })
}

fn bind(settings: &BusSettings) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(settings.listen)?;
    // From now on, the kernel refuses datagrams of others.
    socket.connect(settings.gateway)?;
    socket.set_read_timeout(Some(LOOK))?;
    socket.set_write_timeout(Some(LONGEST_SEND))?;
    Ok(socket)
}

fn join_bus(bus: &mut RunningBus, session: &Session) -> Result<(), String> {
    if let Some(inbox) = bus.inbox.clone() {
        let socket = Arc::clone(&bus.socket);
        let key = bus.settings.key.to_receive(bus.settings.keys.side);
        let subscriber = session.declare_subscriber(key.as_str());
        let subscriber = subscriber.callback(move |sample| deliver(&inbox, &socket, &sample));
        let declared = subscriber.background().wait();
        declared.map_err(|error| format!("Zenoh does not subscribe to {key}: {error}"))?;
    }
    if let Some(outbox) = bus.outbox.clone() {
        let (session, settings) = (session.clone(), Arc::clone(&bus.settings));
        bus.threads.push(spawn("publish", move || {
            if let Err(error) = publish(&session, &settings, &outbox) {
                let key = settings
                    .key
                    .to_publish(settings.keys.side, crate::class::FrameClass::Normal);
                console::say(&format!("error: Zenoh does not publish {key}: {error}"));
            }
        })?);
    }
    Ok(())
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, String> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread
        .spawn(work)
        .map_err(|error| format!("cannot start a thread: {error}"))
}
