//! The halves.

use super::hub::ListenerHub;
use super::shared::StreamShared;
use crate::network::unix_time;
use crate::{
    Accepted, FlushReport, Halves, LinkState, OutgoingFrame, PollReceive, PollTransmit, PortError,
    PortWait, Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport, StampSource, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::{Frame, Nanos};
use std::sync::Arc;

pub(super) fn halves(shared: Arc<StreamShared>, hub: Option<Arc<ListenerHub>>) -> Halves {
    let receive = StreamReceive {
        wait: PortWait {
            fd: Some(shared.lock().fd()),
            readable: true,
            writable: false,
        },
        shared: Arc::clone(&shared),
        hub,
        batch: Vec::new(),
    };
    (Box::new(receive), Box::new(StreamTransmit { shared }))
}

struct StreamReceive {
    shared: Arc<StreamShared>,
    hub: Option<Arc<ListenerHub>>,
    wait: PortWait,
    batch: Vec<Frame>,
}

impl Receive for StreamReceive {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        // Frames are copied out under the lock, because `take` may transmit to this very port.
        let mut report = self.shared.lock().work(now, budget, &mut self.batch);
        if let Some(hub) = &self.hub
            && (report.hub || hub.deadline().is_some_and(|at| at <= now))
        {
            // The hub gives new clients to the ports, so none of them is locked here.
            let counts = hub.serve(now);
            let mut state = self.shared.lock();
            state.rx.denied += counts.denied;
            state.rx.malformed += counts.malformed;
            for remark in counts.remarks {
                state.remarks.push(remark);
            }
            let again = state.work(now, budget, &mut self.batch);
            report.more |= again.more;
        }
        for frame in &self.batch {
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
        let frames = self.batch.len();
        self.batch.clear();
        let (news, ended) = self.shared.lock().news();
        Ok(RxReport {
            frames,
            more: report.more,
            finished: false,
            news,
            ended,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        let hub = self.hub.as_ref().and_then(|hub| hub.deadline());
        self.shared.lock().deadline().into_iter().chain(hub).min()
    }

    fn counters(&self) -> RxCounters {
        self.shared.lock().rx
    }

    fn is_up(&self) -> bool {
        self.link() == LinkState::Up
    }

    fn link(&self) -> LinkState {
        self.shared.lock().link()
    }

    fn remarks(&self) -> Vec<String> {
        self.shared.lock().all_remarks()
    }
}

impl PollReceive for StreamReceive {
    fn wait(&self) -> PortWait {
        self.wait
    }
}

struct StreamTransmit {
    shared: Arc<StreamShared>,
}

impl Transmit for StreamTransmit {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        let mut state = self.shared.lock();
        let unix = unix_time(&outgoing, now, state.rules.epoch);
        state.send(&outgoing.frame, unix)?;
        Ok(Accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        let mut state = self.shared.lock();
        let sent = state.flush(now) as usize;
        let held = state.tx_counters().held as usize;
        Ok(FlushReport { sent, held })
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        self.shared.lock().tx_counters()
    }

    fn room(&self) -> usize {
        self.shared.lock().room()
    }
}

/// The receiving half waits, and reports when held frames have left.
impl PollTransmit for StreamTransmit {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}
