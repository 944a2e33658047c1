//! The data of the page of worst cases.

use probe::{LatencyProfile, RunDescription};

/// All data that the page shows. It is plain data, filled by the code that assessed a message set.
/// Times are in ns.
#[derive(Clone, Debug, Default)]
pub struct BoundData {
    /// The name of the message set that was assessed.
    pub title: String,
    /// The buses.
    pub buses: Vec<BusData>,
    /// Further information for the reader, in sentences: the gateway's own time, omissions.
    pub notes: Vec<String>,
    /// The margin until a deadline can be missed, if it was requested.
    pub margin: Option<MarginData>,
    /// The timeouts of receivers.
    pub timeouts: Vec<TimeoutData>,
    /// The networks between gateways.
    pub tunnels: Vec<TunnelData>,
    /// The measurements, if they were given.
    pub measured: Option<MeasuredSource>,
    /// The circumstances in which the page was made: names and texts.
    pub made: Vec<(String, String)>,
}

/// A bus.
#[derive(Clone, Debug, Default)]
pub struct BusData {
    /// Its name.
    pub name: String,
    /// Its bit rates, as text.
    pub bit_rate: String,
    /// The part of the bus that all messages take together; 1 is all of it.
    pub load: f64,
    /// The errors that the bounds include, as text; `None` for none.
    pub errors: Option<String>,
    /// Its nodes.
    pub nodes: Vec<NodeData>,
    /// Its messages, by priority.
    pub messages: Vec<MessageData>,
}

/// A node.
#[derive(Clone, Debug)]
pub struct NodeData {
    /// Its name.
    pub name: String,
    /// The order in which it sends.
    pub order: OrderData,
    /// The way it fills its mailboxes, as text such as "up to 20 µs to fill one"; `None` if that
    /// takes no time.
    pub filled: Option<String>,
    /// The most frames that wait in it at one time; `None` if there is no bound.
    pub backlog: Option<u64>,
    /// The number of frames that it can hold, if that is known.
    pub room: Option<u64>,
}

impl NodeData {
    /// Returns whether more frames can wait than it can hold.
    #[must_use]
    pub fn overflows(&self) -> bool {
        let most = self.backlog;
        self.room
            .is_some_and(|room| most.is_none_or(|most| most > room))
    }
}

/// The order in which a node sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderData {
    /// In order of priority, as the message set specifies.
    Assumed,
    /// In order of priority: this many transmit buffers hold all frames that can wait.
    Covered(u8),
    /// In order of arrival: this many transmit buffers do not hold all frames that can wait.
    Arrival(u8),
}

/// A message on its bus.
#[derive(Clone, Debug)]
pub struct MessageData {
    /// Its ID, as candump prints it.
    pub id: String,
    /// Its name; may be empty.
    pub name: String,
    /// The name of the node that sends it.
    pub node: String,
    /// The greatest length of its frame, bits, without the intermission.
    pub bits: u32,
    /// The longest duration of its frame.
    pub frame: u64,
    /// Its period, or the least time between two releases.
    pub period: u64,
    /// Time from the event to the end of the frame, at most.
    pub deadline: u64,
    /// The bus from which a gateway forwards it; `None` for a bus's own message.
    pub via: Option<String>,
    /// Whether the bound depends on a time that was measured or stated.
    pub conditional: bool,
    /// The parts of its bound, or the reason why it has none.
    pub bound: Result<PartsData, String>,
    /// An upper limit of the probability that random errors make a frame late, if the bounds
    /// include them.
    pub late: Option<f64>,
    /// The measurements of this message.
    pub seen: Option<MeasuredMessage>,
}

/// The parts of a bound, ns. The bound is the sum of all but `since`, less `since`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartsData {
    /// Time on the previous buses, from the first event on, to the end of the frame there.
    pub earlier: u64,
    /// Time in the gateway.
    pub gateway: u64,
    /// Time in a network between two gateways.
    pub network: u64,
    /// Time from the event to the release.
    pub jitter: u64,
    /// A frame of lower priority that is on the bus already.
    pub lower: u64,
    /// Frames of the same message, and of the same queue, that are ahead.
    pub ahead: u64,
    /// Times in which its node has no frame in a mailbox, and frames of lower priority that begin
    /// in these times.
    pub pauses: u64,
    /// Frames of higher priority.
    pub higher: u64,
    /// Errors.
    pub errors: u64,
    /// The frame itself.
    pub frame: u64,
    /// The part of the sum that lies before the event.
    pub since: u64,
}

impl PartsData {
    /// Returns the parts in the order in which they are drawn.
    #[must_use]
    pub fn all(&self) -> [u64; 10] {
        [
            self.earlier,
            self.gateway,
            self.network,
            self.jitter,
            self.lower,
            self.ahead,
            self.pauses,
            self.higher,
            self.errors,
            self.frame,
        ]
    }

    /// Returns the bound, from the event to the end of the frame.
    #[must_use]
    pub fn bound(&self) -> u64 {
        let sum = self.all().into_iter().fold(0, u64::saturating_add);
        sum.saturating_sub(self.since)
    }

    /// Returns the same parts without the time before the event; their sum is the bound.
    ///
    /// A busy period begins with a frame of lower priority, and continues with the frames that are
    /// ahead. So the time before the event is subtracted from these first, then from frames of
    /// higher priority, and from errors.
    #[must_use]
    pub fn after_the_event(&self) -> [u64; 10] {
        let mut of = *self;
        let mut left = of.since;
        for part in [
            &mut of.lower,
            &mut of.ahead,
            &mut of.pauses,
            &mut of.higher,
            &mut of.errors,
            &mut of.jitter,
        ] {
            let less = left.min(*part);
            *part -= less;
            left -= less;
        }
        of.all()
    }
}

/// The margin until a deadline can be missed, or a queue can overflow.
#[derive(Clone, Debug, Default)]
pub struct MarginData {
    /// The rate at which all messages may come, in thousandths of the present one; `None` if there
    /// is no margin.
    pub thousandths: Option<u64>,
    /// All results, in sentences.
    pub sentences: Vec<String>,
}

/// A receiver's timeout.
#[derive(Clone, Debug)]
pub struct TimeoutData {
    /// ID and name of the message.
    pub message: String,
    /// The receiver.
    pub node: String,
    /// The name of its bus.
    pub bus: String,
    /// The time without a frame after which it regards the message as lost.
    pub time: u64,
    /// The most frames in a row that may be lost without a timeout.
    pub losses: u32,
    /// The longest time between two receptions, or the reason why it has no bound.
    pub longest: Result<u64, String>,
    /// Whether this time depends on one that was measured or stated.
    pub conditional: bool,
    /// The place of the timeout, such as a file and a line.
    pub source: String,
}

/// A network between two gateways, in one direction.
#[derive(Clone, Debug)]
pub struct TunnelData {
    /// Its name and its ends, as text.
    pub title: String,
    /// Its properties, in sentences.
    pub words: Vec<String>,
    /// The origin of the time of which nothing is proved: `measured` or `stated`.
    pub origin: Option<&'static str>,
    /// Whether its figures depend on such a time, its own or that of a tunnel before.
    pub conditional: bool,
    /// The messages in it; empty if there is no bound.
    pub messages: Vec<TunnelMessage>,
    /// The reason why there is no bound.
    pub why: Option<String>,
}

/// A message in a tunnel. Times are in ns.
#[derive(Clone, Debug)]
pub struct TunnelMessage {
    /// ID and name.
    pub message: String,
    /// Whether it leaves at once.
    pub urgent: bool,
    /// The longest times: of the gateway, in the packing window, in the queues, the time that was
    /// measured or stated, and in the play-out.
    pub parts: [u64; 5],
    /// The least time from one bus to the far gateway.
    pub least: u64,
    /// The longest: the sum of the parts.
    pub most: u64,
}

/// The origin of the measurements.
#[derive(Clone, Debug, Default)]
pub struct MeasuredSource {
    /// The name of the results.
    pub name: String,
    /// The description of how they were made.
    pub description: RunDescription,
    /// Number of frames that are not in the message set.
    pub strange: u64,
    /// Number of frames of messages without a bound.
    pub unbounded: u64,
}

/// The measurements of a message: from the end of frame in to the start of frame out, ns.
#[derive(Clone, Debug)]
pub struct MeasuredMessage {
    /// The port of the gateway that sent it.
    pub port: String,
    /// The latency that no frame may exceed: the time that it can wait in the port, and the
    /// gateway's own time.
    pub limit: u64,
    /// All latencies.
    pub latencies: LatencyProfile,
    /// The slowest frame; `None` if there is none.
    pub worst: Option<FrameSeen>,
    /// Frames above their limit, in their order.
    pub above: Vec<FrameSeen>,
}

/// A frame that was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSeen {
    /// Its number in the traffic.
    pub tag: u64,
    /// Its end on the outgoing bus, ns.
    pub end: u64,
    /// Its latency, ns.
    pub latency: i64,
}
