//! From the gateway to Zenoh: one thread reads the gateway's datagrams, another one publishes.
//!
//! Two threads, because Zenoh's `put` may wait for a link: meanwhile, the queue between them
//! decides what is dropped, and the gateway never waits.

use crate::class::FrameClass;
use crate::counters::PublishCounters;
use crate::queue::{ClassQueue, WaitingSample};
use crate::sample::{SampleCollector, SampleWriter, new_stream};
use crate::settings::BusSettings;
use crate::unix_now;
use net::ieee1722::AcfReader;
use net::{DatagramReader as _, SequenceWindow};
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait as _};

/// Number of statements after the last sample of a class.
const STATEMENTS: u8 = 3;

/// The time after which a thread looks whether it is to end.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// The time after which the publishing thread looks at its outbox in any case.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The state that the two threads of a bus share.
#[derive(Debug)]
pub struct Outbox {
    state: Mutex<OutboxState>,
    /// A sample waits, or the end has come.
    changed: Condvar,
}

#[derive(Debug)]
struct OutboxState {
    queue: ClassQueue,
    counters: PublishCounters,
    is_ending: bool,
}

impl Outbox {
    /// Returns an empty outbox with room for this number of samples.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::new(OutboxState {
                queue: ClassQueue::new(capacity),
                counters: PublishCounters::default(),
                is_ending: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the counters.
    pub fn counters(&self) -> PublishCounters {
        self.lock().counters
    }

    /// Ends both threads, the publishing one when nothing waits any more.
    pub fn end(&self) {
        self.lock().is_ending = true;
        self.changed.notify_all();
    }

    fn is_ending(&self) -> bool {
        self.lock().is_ending
    }

    /// Adds the samples of a datagram, with the numbers of its frames and of those left out.
    fn push(&self, received: u64, unsupported: u64, samples: Vec<WaitingSample>) {
        let mut state = self.lock();
        state.counters.datagrams += 1;
        state.counters.received += received;
        state.counters.unsupported += unsupported;
        for sample in samples {
            state.counters.waiting += sample.sample.frames;
            if let Some(dropped) = state.queue.push(sample) {
                state.counters.waiting -= dropped.sample.frames;
                state.counters.dropped += dropped.sample.frames;
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for a sample, until a time at most. `None`: the time has come, or the end.
    fn pop(&self, until: Instant) -> Option<WaitingSample> {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            if let Some(sample) = state.queue.pop() {
                return Some(sample);
            }
            if now >= until || state.is_ending {
                return None;
            }
            let waited = self.changed.wait_timeout(state, until - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Counts the fate of a sample that waited.
    fn count(&self, frames: u64, fate: impl FnOnce(&mut PublishCounters)) {
        let mut state = self.lock();
        state.counters.waiting -= frames;
        fate(&mut state.counters);
    }
}

/// Reads the gateway's datagrams until the end.
pub fn read_gateway(socket: &UdpSocket, settings: &BusSettings, outbox: &Outbox) {
    let mut intake = GatewayIntake::new(settings);
    let mut datagram = vec![0; 1 << 16];
    let mut is_reported = false;
    while !outbox.is_ending() {
        match socket.recv(&mut datagram) {
            Ok(len) => intake.take(&datagram[..len], outbox),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                // The gateway is not there, as the kernel states after a datagram to it.
                ErrorKind::ConnectionRefused => std::thread::sleep(LOOK / 10),
                _ => {
                    if !std::mem::replace(&mut is_reported, true) {
                        console::say(&format!("warning: {}: {error}", settings.listen));
                    }
                    std::thread::sleep(LOOK);
                }
            },
        }
        intake.settle(outbox);
    }
}

/// The gateway's stream.
struct GatewayIntake<'s> {
    settings: &'s BusSettings,
    reader: AcfReader,
    window: SequenceWindow,
    begun: Instant,
    collectors: [SampleCollector; 3],
}

impl<'s> GatewayIntake<'s> {
    fn new(settings: &'s BusSettings) -> Self {
        let keys = &settings.keys;
        Self {
            settings,
            reader: AcfReader::new(keys.stream, Some(keys.bus)),
            window: SequenceWindow::default(),
            begun: Instant::now(),
            collectors: FrameClass::ALL.map(|_| SampleCollector::new(settings.version, 0)),
        }
    }

    fn now(&self) -> frame::Nanos {
        self.begun.elapsed().as_nanos() as u64
    }

    fn settle(&mut self, outbox: &Outbox) {
        self.window.settle(self.now());
        let mut state = outbox.lock();
        state.counters.missing = self.window.counters().missing;
        state.counters.others = self.reader.passed_over();
    }

    fn take(&mut self, datagram: &[u8], outbox: &Outbox) {
        let number = match self.reader.check(datagram) {
            Ok(Some(number)) => number,
            // A report, or another stream.
            Ok(None) => return,
            Err(_) => {
                outbox.lock().counters.malformed += 1;
                return;
            }
        };
        let now = self.now();
        if !self.window.arrive(number, datagram, now).is_taken() {
            outbox.lock().counters.malformed += 1;
            return;
        }
        let (since, unix) = (Instant::now(), unix_now());
        let (mut received, mut unsupported) = (0, 0);
        let mut samples = Vec::new();
        let mut at = 0;
        while let Some(frame) = self.reader.next(datagram, &mut at) {
            received += 1;
            let class = self.settings.classes.class_of(frame.frame.id());
            let stamp = frame.stamp.unwrap_or(unix);
            match self.collectors[class.index()].push(&frame.frame, stamp, frame.trail) {
                Ok(None) => {}
                Ok(Some(sample)) => samples.push(WaitingSample {
                    class,
                    sample,
                    since,
                }),
                Err(_) => unsupported += 1,
            }
        }
        for (class, collector) in FrameClass::ALL.into_iter().zip(&mut self.collectors) {
            let sample = collector.finish();
            samples.extend(sample.map(|sample| WaitingSample {
                class,
                sample,
                since,
            }));
        }
        outbox.push(received, unsupported, samples);
    }
}

/// The publisher of one class.
struct ClassPublisher<'s> {
    publisher: Publisher<'s>,
    writer: SampleWriter,
    /// When the next statement is due, and how many are left.
    statement: Option<(Instant, u8)>,
}

/// Publishes what waits in the outbox until the end.
///
/// # Errors
/// Zenoh does not declare a publisher.
pub fn publish(session: &Session, settings: &BusSettings, outbox: &Outbox) -> zenoh::Result<()> {
    let mut publishers = Vec::new();
    for class in FrameClass::ALL {
        let key = settings.key.to_publish(settings.keys.side, class);
        let publisher = session.declare_publisher(key);
        let publisher = publisher.priority(class.priority()).express(true);
        publishers.push(ClassPublisher {
            publisher: publisher
                .congestion_control(CongestionControl::Drop)
                .wait()?,
            writer: SampleWriter::new(new_stream(), settings.version),
            statement: None,
        });
    }
    loop {
        let due = publishers
            .iter()
            .filter_map(|one| Some(one.statement?.0))
            .min();
        // A sample, or the end, comes before.
        let until = due.unwrap_or_else(|| Instant::now() + LONGEST_WAIT);
        match outbox.pop(until) {
            Some(waiting) => publishers[waiting.class.index()].put(waiting, settings, outbox),
            None if outbox.is_ending() => break,
            None => {
                let now = Instant::now();
                for one in &mut publishers {
                    one.state_if_due(now, settings.report);
                }
            }
        }
    }
    for one in &mut publishers {
        if one.statement.is_some() {
            one.state();
        }
    }
    Ok(())
}

impl ClassPublisher<'_> {
    fn put(&mut self, waiting: WaitingSample, settings: &BusSettings, outbox: &Outbox) {
        let frames = waiting.sample.frames;
        if waiting.since.elapsed() > settings.max_age {
            outbox.count(frames, |counters| counters.expired += frames);
            return;
        }
        let (payload, before) = self.writer.finish(waiting.sample);
        let put = self
            .publisher
            .put(payload)
            .attachment(ZBytes::from(&before[..]));
        if put.wait().is_ok() {
            outbox.count(frames, |counters| {
                counters.published += frames;
                counters.samples += 1;
            });
        } else {
            self.writer.take_back(frames);
            outbox.count(frames, |counters| counters.refused += frames);
        }
        self.statement = Some((Instant::now() + settings.report, STATEMENTS));
    }

    fn state_if_due(&mut self, now: Instant, every: Duration) {
        if let Some((due, left)) = self.statement
            && due <= now
        {
            self.state();
            self.statement = (left > 1).then_some((now + every, left - 1));
        }
    }

    /// Publishes a statement. It has no number of its own, so an error loses nothing.
    fn state(&mut self) {
        let (payload, before) = self.writer.state();
        let put = self
            .publisher
            .put(payload)
            .attachment(ZBytes::from(&before[..]));
        let _ = put.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{CanId, Frame};
    use net::FrameTrail;
    use net::ieee1722::MessageVersion;

    /// A gateway whose port has another stream or bus than the file states: nothing is published,
    /// and a counter shows the reason.
    #[test]
    fn what_is_not_of_the_stream_and_the_bus_is_counted() {
        let text = "[zenoh]\nconnect = \"tcp/[::1]:1\"\n[[buses]]\nvehicle = \"v\"\nname = \"b\"\n\
                    listen = \"[::1]:1\"\ngateway = \"[::1]:2\"\nmax_age = \"200ms\"\n";
        let source = config::SourceText::new("fleet.toml", text.to_owned());
        let settings = crate::settings::load(&source, &mut config::Diagnostics::new()).unwrap();
        let settings = &settings.buses[0];
        let own = (settings.keys.stream, settings.keys.bus);
        let outbox = Outbox::new(8);
        let mut intake = GatewayIntake::new(settings);
        for (stream, bus) in [own, (own.0 + 1, own.1), (own.0, own.1 + 1)] {
            let mut writer = SampleWriter::new(stream, MessageVersion::V1);
            let mut collector = SampleCollector::new(MessageVersion::V1, bus);
            let frame = Frame::classic(CanId::sff(1).unwrap(), &[1]).unwrap();
            let none = FrameTrail::default();
            collector.push(&frame.view(), 1, none).unwrap();
            // A second datagram of the own stream, so that it has a number of its own.
            if bus != own.1 {
                let mut first = SampleCollector::new(MessageVersion::V1, own.1);
                first.push(&frame.view(), 1, none).unwrap();
                writer.finish(first.finish().unwrap());
            }
            let (datagram, _) = writer.finish(collector.finish().unwrap());
            intake.take(&datagram, &outbox);
            intake.settle(&outbox);
        }
        let counters = outbox.counters();
        assert_eq!((counters.datagrams, counters.received), (2, 1));
        assert_eq!((counters.others, counters.malformed), (2, 0));
        assert!(counters.is_balanced());
    }
}
