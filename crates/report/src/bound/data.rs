//! What the page of worst cases is made from.

use probe::{Description, LatencyProfile};

/// Everything that the page shows. Plain data, filled by whoever assessed a message set. Times are
/// ns.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// What was assessed: the name of the message set.
    pub title: String,
    /// The buses.
    pub buses: Vec<Bus>,
    /// What else a reader must know, in sentences: the gateway's own time, what was left out.
    pub notes: Vec<String>,
    /// How much worse it may become, if that was asked.
    pub margin: Option<Margin>,
    /// What was measured, if it was given.
    pub measured: Option<Measured>,
    /// How the page was made: names and texts.
    pub made: Vec<(String, String)>,
}

/// A bus.
#[derive(Clone, Debug, Default)]
pub struct Bus {
    /// Its name.
    pub name: String,
    /// Its bit rates, for people.
    pub bit_rate: String,
    /// The part of the bus that all messages take together; 1 is all of it.
    pub load: f64,
    /// Which errors are counted with, in words; `None` for none.
    pub errors: Option<String>,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Its messages, by priority.
    pub messages: Vec<Message>,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// In which order it sends.
    pub order: Order,
    /// How it fills its mailboxes, in words such as "up to 20 µs to fill one"; `None` for in no
    /// time.
    pub filled: Option<String>,
    /// The most frames that wait in it at one time; `None` for no bound.
    pub backlog: Option<u64>,
    /// For how many it has room, where that is known.
    pub room: Option<u64>,
}

impl Node {
    /// Can more frames wait than it has room for?
    #[must_use]
    pub fn overflows(&self) -> bool {
        let most = self.backlog;
        self.room
            .is_some_and(|room| most.is_none_or(|most| most > room))
    }
}

/// In which order a node sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// In order of priority: it is said so.
    Assumed,
    /// In order of priority: so many transmit buffers hold all that can wait.
    Covered(u8),
    /// In order of arrival: so many transmit buffers do not.
    Arrival(u8),
}

/// A message on its bus.
#[derive(Clone, Debug)]
pub struct Message {
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
    /// From the event to the end of the frame.
    pub deadline: u64,
    /// Where a gateway has it from; `None` for a bus's own message.
    pub via: Option<String>,
    /// What its bound consists of, or why it has none.
    pub bound: Result<Parts, String>,
    /// How probable it is at most that errors at random make a frame late, if they were counted
    /// with.
    pub late: Option<f64>,
    /// What was measured of it.
    pub seen: Option<Seen>,
}

/// What a bound consists of, ns. The bound is the sum of all but `since`, less `since`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// On the buses before, from the first event on, to the end of the frame there.
    pub earlier: u64,
    /// In the gateway.
    pub gateway: u64,
    /// From the event to the release.
    pub jitter: u64,
    /// A frame of lower priority that is on the bus already.
    pub lower: u64,
    /// Frames of the same message, and of the same queue, that are ahead.
    pub ahead: u64,
    /// Times in which its node has no frame in a mailbox, and frames of lower priority that begin
    /// in them.
    pub pauses: u64,
    /// Frames of higher priority.
    pub higher: u64,
    /// Errors.
    pub errors: u64,
    /// The frame itself.
    pub frame: u64,
    /// How much of it lies before the event.
    pub since: u64,
}

impl Parts {
    /// In the order in which they are drawn.
    #[must_use]
    pub fn all(&self) -> [u64; 9] {
        [
            self.earlier,
            self.gateway,
            self.jitter,
            self.lower,
            self.ahead,
            self.pauses,
            self.higher,
            self.errors,
            self.frame,
        ]
    }

    /// From the event to the end of the frame.
    #[must_use]
    pub fn bound(&self) -> u64 {
        let sum = self.all().into_iter().fold(0, u64::saturating_add);
        sum.saturating_sub(self.since)
    }

    /// The same parts without what lies before the event; their sum is the bound.
    ///
    /// A busy period begins with a frame of lower priority, and goes on with what is ahead. So what
    /// lies before the event is taken from these first, then from frames of higher priority, and
    /// from errors.
    #[must_use]
    pub fn after_the_event(&self) -> [u64; 9] {
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

/// How much worse it may become until a deadline can be missed, or a queue can overflow.
#[derive(Clone, Debug, Default)]
pub struct Margin {
    /// So many thousandths as often may all messages come; `None` if there is no margin.
    pub thousandths: Option<u64>,
    /// All that was found, in sentences.
    pub sentences: Vec<String>,
}

/// Where what was measured is from.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The results' name.
    pub name: String,
    /// How they were made.
    pub description: Description,
    /// Frames that the set does not have.
    pub strange: u64,
    /// Frames of messages without a bound.
    pub unbounded: u64,
}

/// What was measured of a message: from the end of frame in to the start of frame out, ns.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The port of the gateway that sent it.
    pub port: String,
    /// The latency that no frame may exceed: what it can wait in the port, and what the gateway
    /// takes.
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
