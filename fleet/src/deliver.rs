//! From Zenoh to the gateway.
//!
//! The work on a sample is short and waits for nothing, so it is done where Zenoh calls: no queue
//! in which frames could become old.

use crate::account::{SampleArrival, StreamAccount};
use crate::counters::DeliverCounters;
use crate::sample::{ReadSample, SampleCollector, SampleWriter, UnsentSample};
use crate::settings::BusSettings;
use crate::unix_now;
use frame::{CanId, Nanos};
use std::collections::HashMap;
use std::net::UdpSocket;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of streams of which the numbers are known. Beyond, the one that was silent for the
/// longest time is forgotten: a publisher with the right to the key cannot exhaust the memory.
const MAX_STREAMS: usize = 1024;

/// Takes the samples of one bus.
#[derive(Debug)]
pub struct SampleInbox {
    settings: BusSettings,
    state: Mutex<InboxState>,
}

#[derive(Debug)]
struct InboxState {
    counters: DeliverCounters,
    streams: HashMap<u64, (u64, StreamAccount)>,
    collector: SampleCollector,
    writer: SampleWriter,
}

impl SampleInbox {
    /// Returns an inbox for the gateway of a bus.
    #[must_use]
    pub fn new(settings: &BusSettings) -> Self {
        let (keys, version) = (&settings.keys, settings.version);
        Self {
            settings: settings.clone(),
            state: Mutex::new(InboxState {
                counters: DeliverCounters::default(),
                streams: HashMap::new(),
                collector: SampleCollector::new(version, keys.bus),
                writer: SampleWriter::new(keys.stream, version),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the counters.
    pub fn counters(&self) -> DeliverCounters {
        self.lock().counters
    }

    /// Takes a sample: its frames have their fates when this returns. `send` hands a datagram to
    /// the gateway, and returns whether it was taken.
    pub fn take(
        &self,
        payload: &[u8],
        attachment: Option<&[u8]>,
        now: Nanos,
        mut send: impl FnMut(&[u8]) -> bool,
    ) {
        let state = &mut *self.lock();
        state.counters.samples += 1;
        let Ok(mut sample) = ReadSample::check(payload, attachment) else {
            state.counters.malformed += 1;
            return;
        };
        if !state.arrive(&sample) {
            return;
        }
        while let Some(frame) = sample.take_frame() {
            let age = frame.stamp.map_or(0, |stamp| stamp.abs_diff(now));
            let counters = &mut state.counters;
            if !self.accepts(frame.frame.id()) {
                counters.denied += 1;
            } else if age > self.settings.max_age.as_nanos() as u64 {
                counters.expired += 1;
            } else {
                let stamp = frame.stamp.unwrap_or(now);
                match state.collector.push(&frame.frame, stamp, frame.trail) {
                    Ok(None) => {}
                    Ok(Some(full)) => state.hand_over(full, &mut send),
                    Err(_) => counters.unsupported += 1,
                }
            }
        }
        if let Some(last) = state.collector.finish() {
            state.hand_over(last, &mut send);
        }
    }

    fn accepts(&self, id: CanId) -> bool {
        let accept = &self.settings.keys.accept;
        accept.is_empty() || accept.iter().any(|range| range.contains(id))
    }
}

impl InboxState {
    /// Counts a sample by its numbers. Returns whether its frames go on.
    fn arrive(&mut self, sample: &ReadSample<'_>) -> bool {
        let (number, counters) = (sample.number, &mut self.counters);
        let tick = counters.samples;
        let Some((last, account)) = self.streams.get_mut(&sample.stream) else {
            counters.streams += 1;
            counters.before += number.before;
            counters.arrived += number.frames;
            let silent = self.streams.iter().min_by_key(|(_, (last, _))| *last);
            let silent = silent.map(|(stream, _)| *stream);
            if let Some(stream) = silent.filter(|_| self.streams.len() >= MAX_STREAMS) {
                self.streams.remove(&stream);
            }
            let account = StreamAccount::new(number);
            self.streams.insert(sample.stream, (tick, account));
            return true;
        };
        *last = tick;
        match account.arrive(number) {
            SampleArrival::Newer(lost) => {
                counters.lost += lost;
                counters.arrived += number.frames;
                return true;
            }
            SampleArrival::Overtaken => {
                counters.lost -= number.frames.min(counters.lost);
                counters.arrived += number.frames;
                counters.overtaken += number.frames;
            }
            SampleArrival::Duplicate => {
                counters.arrived += number.frames;
                counters.duplicate += number.frames;
            }
            SampleArrival::Stale => {}
            SampleArrival::Contradiction => counters.malformed += 1,
        }
        false
    }

    fn hand_over(&mut self, sample: UnsentSample, send: &mut impl FnMut(&[u8]) -> bool) {
        let frames = sample.frames;
        let (datagram, _) = self.writer.finish(sample);
        if send(&datagram) {
            self.counters.delivered += frames;
        } else {
            self.writer.take_back(frames);
            self.counters.unsent += frames;
        }
    }
}

/// Takes a sample of Zenoh for a gateway.
pub fn deliver(inbox: &SampleInbox, socket: &UdpSocket, sample: &zenoh::sample::Sample) {
    let payload = sample.payload().to_bytes();
    let attachment = sample.attachment().map(zenoh::bytes::ZBytes::to_bytes);
    inbox.take(&payload, attachment.as_deref(), unix_now(), |datagram| {
        // The kernel states that the gateway was not there for the datagram before this one.
        socket.send(datagram).or_else(|_| socket.send(datagram)).is_ok()
    });
}
