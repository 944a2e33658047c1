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
            // Numbers come from outside, and can be any.
            counters.before = counters.before.saturating_add(number.before);
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
                counters.lost = counters.lost.saturating_add(lost);
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
        socket
            .send(datagram)
            .or_else(|_| socket.send(datagram))
            .is_ok()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::load;
    use frame::Frame;
    use net::FrameTrail;
    use net::ieee1722::MessageVersion;

    /// The limit of the settings, ns.
    const MAX_AGE: Nanos = 200_000_000;
    const NOW: Nanos = 1_700_000_000_000_000_000;

    fn inbox(keys: &str) -> SampleInbox {
        let text = format!(
            "[zenoh]\nconnect = \"tcp/[::1]:1\"\n[[buses]]\nvehicle = \"v\"\nname = \"b\"\n\
             listen = \"[::1]:1\"\ngateway = \"[::1]:2\"\nmax_age = \"200ms\"\n{keys}"
        );
        let source = config::SourceText::new("fleet.toml", text);
        let settings = load(&source, &mut config::Diagnostics::new()).unwrap();
        SampleInbox::new(&settings.buses[0])
    }

    /// A sample with frames of these identifiers and stamps.
    fn sample(writer: &mut SampleWriter, frames: &[(u32, Nanos)]) -> (Vec<u8>, [u8; 8]) {
        let mut collector = SampleCollector::new(MessageVersion::V1, 0);
        for (id, stamp) in frames {
            let frame = Frame::classic(CanId::sff(*id).unwrap(), &[1]).unwrap();
            collector
                .push(&frame.view(), *stamp, FrameTrail::default())
                .unwrap();
        }
        writer.finish(collector.finish().unwrap())
    }

    #[test]
    fn each_frame_has_its_fate() {
        let inbox = inbox("accept = \"100-1FF\"");
        let mut writer = SampleWriter::new(1, MessageVersion::V1);
        let ages = [
            (0x100, NOW - MAX_AGE),
            (0x100, NOW - MAX_AGE - 1),
            (0x100, NOW + MAX_AGE),
            (0x100, NOW + MAX_AGE + 1),
            (0x200, NOW),
        ];
        let mut sent = 0;
        let mut take = |(payload, before): &(Vec<u8>, [u8; 8]), is_taken| {
            inbox.take(payload, Some(before), NOW, |_| {
                sent += 1;
                is_taken
            });
        };
        let first = sample(&mut writer, &ages);
        take(&first, true);
        take(&first, true);
        let second = sample(&mut writer, &[(0x100, NOW); 3]);
        let third = sample(&mut writer, &[(0x100, NOW)]);
        take(&third, false);
        take(&second, true);
        take(&(vec![1, 2, 3], [0; 8]), true);
        let counters = inbox.counters();
        let expected = DeliverCounters {
            samples: 5,
            malformed: 1,
            streams: 1,
            arrived: 14,
            duplicate: 5,
            overtaken: 3,
            denied: 1,
            expired: 2,
            unsent: 1,
            delivered: 2,
            ..Default::default()
        };
        assert_eq!(counters, expected);
        assert!(counters.is_balanced());
        assert_eq!(counters.known_of(), 9);
        assert_eq!(sent, 2);
    }

    #[test]
    fn numbers_of_any_size_are_counted() {
        let inbox = inbox("");
        for (stream, before) in [(1, u64::MAX), (2, u64::MAX), (3, 0)] {
            let mut writer = SampleWriter::new(stream, MessageVersion::V1);
            let (payload, _) = sample(&mut writer, &[(1, NOW)]);
            inbox.take(&payload, Some(&u64::to_be_bytes(before)), NOW, |_| true);
            let _lost = sample(&mut writer, &[(1, NOW)]);
            let (payload, _) = sample(&mut writer, &[(1, NOW)]);
            inbox.take(&payload, Some(&(u64::MAX - 1).to_be_bytes()), NOW, |_| true);
        }
        let counters = inbox.counters();
        assert!(counters.is_balanced(), "{counters:?}");
        assert_eq!((counters.before, counters.known_of()), (u64::MAX, u64::MAX));
        assert_eq!(counters.malformed, 2);
    }

    #[test]
    fn streams_are_bounded() {
        let inbox = inbox("");
        for stream in 0..MAX_STREAMS as u64 + 10 {
            let mut writer = SampleWriter::new(stream, MessageVersion::V1);
            let (payload, before) = sample(&mut writer, &[(1, NOW)]);
            inbox.take(&payload, Some(&before), NOW, |_| true);
        }
        assert_eq!(inbox.lock().streams.len(), MAX_STREAMS);
        assert_eq!(inbox.counters().delivered, MAX_STREAMS as u64 + 10);
    }
}
