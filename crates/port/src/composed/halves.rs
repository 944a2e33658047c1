//! The halves of the port, around one composer.

use super::rules::{ComposedMessage, InputMessage, MessageComposer};
use crate::{
    Accepted, FlushReport, Halves, OutgoingFrame, PollReceive, PollTransmit, PortError, PortWait,
    Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport, StampSource, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::{Frame, Nanos};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most frames that are made in one call.
const MOST_AT_ONCE: usize = 64;

/// The composer, which starts with the first call: that has the time.
struct SharedComposer {
    definitions: Option<(Vec<InputMessage>, Vec<ComposedMessage>)>,
    composer: Option<MessageComposer>,
}

impl SharedComposer {
    fn start(&mut self, now: Nanos) -> Option<&mut MessageComposer> {
        if let Some((inputs, messages)) = self.definitions.take() {
            self.composer = MessageComposer::new(inputs, messages, now).ok();
        }
        self.composer.as_mut()
    }
}

type ComposerHandle = Arc<Mutex<SharedComposer>>;

fn lock(handle: &ComposerHandle) -> MutexGuard<'_, SharedComposer> {
    handle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the halves of a port that makes these messages.
pub(super) fn halves(inputs: Vec<InputMessage>, messages: Vec<ComposedMessage>) -> Halves {
    let handle = Arc::new(Mutex::new(SharedComposer {
        definitions: Some((inputs, messages)),
        composer: None,
    }));
    let receive = ComposedReceiver {
        handle: Arc::clone(&handle),
        batch: Vec::with_capacity(MOST_AT_ONCE),
    };
    let transmit = ComposedTransmitter { handle, taken: 0 };
    (Box::new(receive), Box::new(transmit))
}

/// Hands over the messages that are made.
struct ComposedReceiver {
    handle: ComposerHandle,
    batch: Vec<Frame>,
}

impl Receive for ComposedReceiver {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let mut more = false;
        {
            // Frames are copied out under the lock, because `take` can lead one back to this port.
            let mut shared = lock(&self.handle);
            if let Some(composer) = shared.start(now) {
                let batch = &mut self.batch;
                composer.make(now, budget.min(MOST_AT_ONCE), &mut |frame| {
                    batch.extend(Frame::from_view(frame));
                });
                more = composer.deadline().is_some_and(|at| at <= now);
            }
        }
        let frames = self.batch.len();
        for frame in self.batch.drain(..) {
            take(ReceivedFrame {
                frame: frame.view(),
                stamp: ReceiveStamp {
                    ns: now,
                    source: StampSource::Gateway,
                },
                hops: 0,
                token: 0,
            });
        }
        Ok(RxReport {
            frames,
            more,
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        let shared = lock(&self.handle);
        match &shared.composer {
            Some(composer) => composer.deadline(),
            // At once: the composer starts.
            None => Some(0),
        }
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }

    fn remarks(&self) -> Vec<String> {
        let shared = lock(&self.handle);
        let Some(composer) = &shared.composer else {
            return Vec::new();
        };
        let counters = composer.counters();
        let stopped: Vec<&str> = composer.stopped_messages().collect();
        let mut remarks = Vec::new();
        if !stopped.is_empty() {
            remarks.push(format!(
                "not sent, because a source is silent: {}",
                stopped.join(", ")
            ));
        }
        for (count, what) in [
            (
                counters.stopped,
                "times a message was due while a source was silent",
            ),
            (
                counters.skipped,
                "times of a cycle passed without a frame: the gateway was too late",
            ),
            (
                counters.out_of_range,
                "values were not taken: their signal cannot have them",
            ),
            (
                counters.absent,
                "signals were missing in frames that are too short",
            ),
        ] {
            if count > 0 {
                remarks.push(format!("{count} {what}"));
            }
        }
        remarks
    }
}

impl PollReceive for ComposedReceiver {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

/// Reads signals from the frames that routes lead to the port.
struct ComposedTransmitter {
    handle: ComposerHandle,
    taken: u64,
}

impl Transmit for ComposedTransmitter {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        let mut shared = lock(&self.handle);
        let composer = shared.start(now).ok_or(TransmitRefusal::Down)?;
        if !composer.take(now, outgoing.frame) {
            return Err(TransmitRefusal::Unsupported);
        }
        self.taken += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            taken: self.taken,
            sent: self.taken,
            ..TxCounters::default()
        }
    }
}

impl PollTransmit for ComposedTransmitter {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}
