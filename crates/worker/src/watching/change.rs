//! Putting taps around the halves of a port, and taking them away.

use super::channel::WatchChannel;
use super::tap::PortTap;
use engine::wrap::TappedHalf;
use engine::{NullReceiver, NullTransmitter};
use port::{PollReceive, PollTransmit};
use std::any::Any;
use std::sync::Arc;

type Rx = Box<dyn PollReceive>;
type Tx = Box<dyn PollTransmit>;
type TappedReceiver = TappedHalf<Rx, PortTap>;
type TappedTransmitter = TappedHalf<Tx, PortTap>;

/// A change of who watches a port: made on the control thread, applied by the worker between two
/// batches, freed on the control thread. The worker neither allocates nor frees.
pub struct TapChange {
    port: String,
    taps: TapParts,
}

/// A change without the name of its port.
pub(crate) struct TapParts {
    channel: Arc<WatchChannel>,
    /// The index of the port in the channel; `None`: the client watches it no more.
    index: Option<u16>,
    /// Tapped halves around nothing, for a port that has none; afterwards those that it had.
    rx: Option<Box<TappedReceiver>>,
    tx: Option<Box<TappedTransmitter>>,
}

impl TapChange {
    /// Returns the change by which a client begins to watch a port.
    pub fn begin(port: String, channel: Arc<WatchChannel>, index: u16) -> Self {
        // Boxes of halves without a size allocate nothing.
        let rx: Rx = Box::new(NullReceiver);
        let tx: Tx = Box::new(NullTransmitter);
        let taps = TapParts {
            channel,
            index: Some(index),
            rx: Some(Box::new(TappedHalf::new(rx, PortTap::new()))),
            tx: Some(Box::new(TappedHalf::new(tx, PortTap::new()))),
        };
        Self { port, taps }
    }

    /// Returns the change by which a client ends to watch a port.
    pub fn end(port: String, channel: Arc<WatchChannel>) -> Self {
        let taps = TapParts {
            channel,
            index: None,
            rx: None,
            tx: None,
        };
        Self { port, taps }
    }

    /// Returns the name of the port, and the change of its halves.
    pub(crate) fn parts(&mut self) -> (&str, &mut TapParts) {
        (&self.port, &mut self.taps)
    }
}

impl TapParts {
    /// Applies the change to the halves of the port.
    pub(crate) fn apply(&mut self, rx: &mut Rx, tx: &mut Tx) {
        match self.index {
            Some(index) => self.add_to(index, rx, tx),
            None => self.take_from(rx, tx),
        }
    }

    fn add_to(&mut self, index: u16, rx: &mut Rx, tx: &mut Tx) {
        add(
            &mut self.rx,
            rx,
            || Box::new(NullReceiver),
            &self.channel,
            index,
        );
        add(
            &mut self.tx,
            tx,
            || Box::new(NullTransmitter),
            &self.channel,
            index,
        );
    }

    fn take_from(&mut self, rx: &mut Rx, tx: &mut Tx) {
        self.rx = remove(rx, || Box::new(NullReceiver), &self.channel);
        self.tx = remove(tx, || Box::new(NullTransmitter), &self.channel);
    }
}

/// A half of a port, in a box, that a tap can be put around.
trait TapHalf: Sized {
    /// Returns the half as what it is.
    fn as_any(&mut self) -> &mut dyn Any;
    /// Returns the box as a box of what is in it.
    fn into_any(self) -> Box<dyn Any>;
    /// Returns the tapped half as a half.
    fn from_tapped(tapped: Box<TappedHalf<Self, PortTap>>) -> Self;
}

impl TapHalf for Rx {
    fn as_any(&mut self) -> &mut dyn Any {
        &mut **self
    }

    fn into_any(self) -> Box<dyn Any> {
        self
    }

    fn from_tapped(tapped: Box<TappedReceiver>) -> Self {
        tapped
    }
}

impl TapHalf for Tx {
    fn as_any(&mut self) -> &mut dyn Any {
        &mut **self
    }

    fn into_any(self) -> Box<dyn Any> {
        self
    }

    fn from_tapped(tapped: Box<TappedTransmitter>) -> Self {
        tapped
    }
}

/// Returns the tap of a half, if it has one.
fn tap<H: TapHalf + 'static>(half: &mut H) -> Option<&mut PortTap> {
    let tapped = half.as_any().downcast_mut::<TappedHalf<H, PortTap>>();
    tapped.map(TappedHalf::tap_mut)
}

/// Adds a client to the tap of a half; one without gets `spare`. `nothing` is a half that needs no
/// memory.
fn add<H: TapHalf + 'static>(
    spare: &mut Option<Box<TappedHalf<H, PortTap>>>,
    half: &mut H,
    nothing: fn() -> H,
    channel: &Arc<WatchChannel>,
    index: u16,
) {
    if tap(half).is_none()
        && let Some(mut tapped) = spare.take()
    {
        let _ = tapped.replace_half(std::mem::replace(half, nothing()));
        *half = H::from_tapped(tapped);
    }
    if let Some(tap) = tap(half) {
        tap.add(channel, index);
    }
}

/// Removes a client from the tap of a half; returns a tap that has no client left.
fn remove<H: TapHalf + 'static>(
    half: &mut H,
    nothing: fn() -> H,
    channel: &Arc<WatchChannel>,
) -> Option<Box<TappedHalf<H, PortTap>>> {
    let tap = tap(half)?;
    tap.remove(channel);
    if !tap.is_empty() {
        return None;
    }
    let tapped = std::mem::replace(half, nothing()).into_any();
    let mut tapped = tapped.downcast::<TappedHalf<H, PortTap>>().ok()?;
    *half = tapped.replace_half(nothing());
    Some(tapped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{OutgoingFrame, PortError, Transmit};
    use engine::{Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport, StampSource};
    use frame::{Frame, Nanos};
    use port::PortWait;

    /// A half that brings one frame each time.
    struct EndlessReceiver(Frame);

    impl Receive for EndlessReceiver {
        fn receive(
            &mut self,
            _: Nanos,
            _: usize,
            take: &mut dyn FnMut(ReceivedFrame<'_>),
        ) -> Result<RxReport, PortError> {
            let stamp = ReceiveStamp {
                ns: 7,
                source: StampSource::Kernel,
            };
            take(ReceivedFrame {
                frame: self.0.view(),
                stamp,
                hops: 0,
                token: 0,
            });
            Ok(RxReport::default())
        }

        fn deadline(&self) -> Option<Nanos> {
            Some(3)
        }

        fn counters(&self) -> RxCounters {
            RxCounters::default()
        }
    }

    impl PollReceive for EndlessReceiver {
        fn wait(&self) -> PortWait {
            PortWait {
                fd: Some(5),
                readable: true,
                writable: false,
            }
        }
    }

    struct PortHalves(Rx, Tx);

    impl PortHalves {
        fn new() -> Self {
            let frame = "123#11".parse().unwrap();
            Self(Box::new(EndlessReceiver(frame)), Box::new(NullTransmitter))
        }

        fn apply(&mut self, change: TapChange) -> TapParts {
            let mut taps = change.taps;
            taps.apply(&mut self.0, &mut self.1);
            taps
        }

        fn receive(&mut self) {
            self.0.receive(100, 1, &mut |_| ()).unwrap();
        }

        fn has_taps(&mut self) -> bool {
            let taps = [tap(&mut self.0).is_some(), tap(&mut self.1).is_some()];
            assert_eq!(taps[0], taps[1]);
            taps[0]
        }
    }

    fn frames(channel: &WatchChannel) -> Vec<(Nanos, u16)> {
        let mut bytes = [0; 16];
        let popped = std::iter::from_fn(|| channel.ring.pop(&mut bytes));
        popped
            .map(|(record, _)| (record.stamp, record.port))
            .collect()
    }

    #[test]
    fn a_port_has_a_tap_as_long_as_a_client_watches_it() {
        let mut port = PortHalves::new();
        let [one, two] = [(); 2].map(|()| Arc::new(WatchChannel::new()));
        let begin = |channel: &Arc<WatchChannel>, index| {
            TapChange::begin("can0".to_owned(), Arc::clone(channel), index)
        };
        assert!(!port.has_taps());
        let used = port.apply(begin(&one, 4));
        assert!(used.rx.is_none() && used.tx.is_none() && port.has_taps());
        port.receive();
        // A second client shares the taps; its own are given back to be freed.
        let unused = port.apply(begin(&two, 9));
        assert!(unused.rx.is_some() && unused.tx.is_some());
        // A client that asks again gets no frame twice.
        port.apply(begin(&one, 4));
        port.receive();
        assert_eq!((port.0.deadline(), port.0.wait().fd), (Some(3), Some(5)));
        assert_eq!(frames(&one), [(7, 4), (7, 4)]);
        assert_eq!(frames(&two), [(7, 9)]);
        let end =
            |channel: &Arc<WatchChannel>| TapChange::end("can0".to_owned(), Arc::clone(channel));
        let ended = port.apply(end(&one));
        assert!(ended.rx.is_none() && port.has_taps());
        port.receive();
        assert_eq!((frames(&one).len(), frames(&two).len()), (0, 1));
        let ended = port.apply(end(&two));
        assert!(ended.rx.is_some() && ended.tx.is_some() && !port.has_taps());
        port.receive();
        assert!(frames(&two).is_empty());
        // To end twice changes nothing.
        assert!(port.apply(end(&two)).rx.is_none());
    }

    #[test]
    fn frames_that_a_port_refuses_are_not_shown() {
        let mut port = PortHalves::new();
        let channel = Arc::new(WatchChannel::new());
        port.apply(TapChange::begin("can0".to_owned(), Arc::clone(&channel), 0));
        let frame: Frame = "123#11".parse().unwrap();
        let outgoing = OutgoingFrame::new(frame.view(), 0);
        assert!(port.1.transmit(1, outgoing).is_err());
        assert!(frames(&channel).is_empty());
    }
}
