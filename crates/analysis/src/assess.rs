//! Bounds for all messages of a bus.

use crate::compiled::{CompiledBus, RivalFrames};
use crate::model::{QueueService, SendOrder};
use crate::offset::{BusyPeriod, OffsetUse};
use crate::queue::{self, QueueMember};
use crate::sent::SentMessage;
use crate::stream::RivalStream;
use crate::window::NoBound;
use crate::{Arrival, FrameBits, LatencyBound};
use alloc::vec;
use alloc::vec::Vec;
use frame::Nanos;

/// The results for a bus.
#[derive(Clone, PartialEq, Debug)]
pub struct Assessment {
    /// The result for each message.
    pub messages: Vec<MessageBound>,
    /// The result for each node.
    pub nodes: Vec<NodeBound>,
    /// The part of the bus that all messages occupy together; 1 is all of it.
    pub load: f64,
}

/// The results for a message.
#[derive(Clone, PartialEq, Debug)]
pub struct MessageBound {
    /// Its greatest length, without the intermission.
    pub bits: FrameBits,
    /// The same length as a time, ns.
    pub frame: Nanos,
    /// The bound, or the reason why there is none.
    pub bound: Result<LatencyBound, NoBound>,
}

/// The results for a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeBound {
    /// The service for which it was bounded.
    pub service: QueueService,
    /// The greatest number of frames that wait in it or are on the bus from it at one time; `None`
    /// without a bound.
    pub backlog: Option<u64>,
    /// The use that was made of its messages' offsets; `None` if none has one.
    pub offsets: Option<OffsetUse>,
}

/// Maximum number of rounds of the search. After these, the bounds of [`CompiledBus::together`]
/// replace those that are still growing.
const MAX_ROUNDS: usize = 100;

/// The state of the search in a round.
struct RoundState {
    inside: QueuedFrames,
    services: Vec<QueueService>,
    /// For each message, the bound of [`CompiledBus::together`].
    together: Vec<Result<LatencyBound, NoBound>>,
}

/// The state of frames in nodes with a queue.
struct QueuedFrames {
    /// For each message, the longest time that it waits before it competes; `None` if that has no
    /// bound.
    delays: Vec<Option<Nanos>>,
    /// For each message, the greatest number of its frames that are in its node at one time; `None`
    /// if that has no bound.
    frames: Vec<Option<u64>>,
}

/// A request for bounds of a node with a queue.
struct QueueQuery<'a> {
    /// Its messages that can precede the victims.
    own: &'a [usize],
    /// Those of them for which bounds are requested.
    victims: &'a [usize],
    mailboxes: u8,
}

impl CompiledBus {
    /// Returns bounds for all messages, with these arrivals in place of their own.
    ///
    /// # The argument
    /// Bounds of one node depend on how long messages of other nodes wait in their queues, and vice
    /// versa. The search begins with no waiting at all, and repeats with its results until nothing
    /// grows. The final result is safe: let it be exceeded, and let t be the first time at which a
    /// frame has waited longer than its bound. All frames before t have kept theirs, so the
    /// assumptions about the others hold until t, and the derivations of [`crate::window`] and
    /// [`crate::queue`], which look at nothing after t, show that the bound holds at t, too.
    /// (Tindell, Clark, *Holistic schedulability analysis for distributed hard real-time systems*,
    /// Microprocessing and Microprogramming 40, 1994, use it for jitter.)
    ///
    /// The same argument applies to the number of frames of a message that are in its node at one
    /// time, which determines which frames can win while a frame waits there
    /// ([`mod@crate::queue`]): the bounds held until that number is exceeded for the first time.
    ///
    /// Jitter that feeds jitter can grow without end where the bus is loaded. So the waiting time
    /// of a message is limited by a second derivation, which does not depend on the jitter of
    /// others: see [`mod@crate::queue`].
    ///
    /// The same argument applies to the order of a node that has M buffers. It is assumed to serve
    /// by priority as long as at most M frames can be in it by the bounds that follow from that:
    /// then, until there are more than M for the first time, each frame was in a buffer, so the
    /// bounds held, so there are at most M.
    #[must_use]
    pub fn assess(&self, arrivals: &[Arrival]) -> Assessment {
        let orders = self.orders.iter().zip(&self.pauses);
        let services: Vec<QueueService> = orders
            .map(|(order, pauses)| QueueService::at_first(order, pauses.is_some()))
            .collect();
        let mut round = RoundState {
            inside: QueuedFrames {
                delays: vec![Some(0); self.messages.len()],
                frames: vec![Some(1); self.messages.len()],
            },
            together: self.together(arrivals, &services),
            services,
        };
        let mut rounds = 0;
        loop {
            let bounds = self.bounds(arrivals, &round);
            let backlogs = self.backlogs(arrivals, &bounds);
            let queues = self.new_queues(&backlogs, &mut round.services);
            if queues {
                round.together = self.together(arrivals, &round.services);
                continue;
            }
            rounds += 1;
            let most = if rounds < MAX_ROUNDS {
                &bounds
            } else {
                &round.together
            };
            if !self.learn(arrivals, &round.services, most, &mut round.inside) {
                return self.done(arrivals, bounds, &backlogs, &round);
            }
        }
    }

    /// Returns the messages' own arrivals, in their order.
    #[must_use]
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.messages.iter().map(|m| m.arrival).collect()
    }

    fn done(
        &self,
        arrivals: &[Arrival],
        bounds: Vec<Result<LatencyBound, NoBound>>,
        backlogs: &[Option<u64>],
        round: &RoundState,
    ) -> Assessment {
        let messages = self.messages.iter().zip(bounds);
        let nodes = round.services.iter().zip(backlogs);
        Assessment {
            messages: messages
                .map(|(m, bound)| MessageBound {
                    bits: m.bits,
                    frame: m.frame,
                    bound,
                })
                .collect(),
            nodes: nodes
                .enumerate()
                .map(|(node, (&service, &backlog))| NodeBound {
                    service,
                    backlog,
                    offsets: self.offsets_of(node, service, arrivals),
                })
                .collect(),
            load: self.load(),
        }
    }

    /// Assigns a queue to nodes whose buffers do not hold all frames that can wait in them; returns
    /// false if there is no new one.
    fn new_queues(&self, backlogs: &[Option<u64>], services: &mut [QueueService]) -> bool {
        let mut any = false;
        for ((order, backlog), service) in self.orders.iter().zip(backlogs).zip(services) {
            let SendOrder::Mailboxes(mailboxes) = order else {
                continue;
            };
            let fits = backlog.is_some_and(|most| most <= u64::from(mailboxes.get()));
            if *service == QueueService::Covered && !fits {
                *service = QueueService::Queue;
                any = true;
            }
        }
        any
    }

    fn bounds(
        &self,
        arrivals: &[Arrival],
        round: &RoundState,
    ) -> Vec<Result<LatencyBound, NoBound>> {
        let mut bounds = vec![Err(NoBound::TooLong); self.messages.len()];
        for (i, sent) in self.messages.iter().enumerate() {
            if round.services[sent.node] != QueueService::Queue {
                bounds[i] = self.by_priority(i, arrivals, round);
            }
        }
        for (node, order) in self.orders.iter().enumerate() {
            if let (QueueService::Queue, SendOrder::Mailboxes(mailboxes)) =
                (round.services[node], order)
            {
                let own = self.of_node(node);
                let inside = &round.inside.frames;
                for (lowest, victims) in self.victims(node, mailboxes.get(), inside) {
                    let key = |i: usize| self.messages[i].key;
                    let own: Vec<usize> =
                        own.iter().copied().filter(|&i| key(i) <= lowest).collect();
                    // Of its own node, lower-priority messages can block it, as those of other
                    // nodes can.
                    let others = |sent: &SentMessage| sent.node != node || sent.key > lowest;
                    let against = self.against(lowest, arrivals, round, others);
                    let asked = QueueQuery {
                        own: &own,
                        victims: &victims,
                        mailboxes: mailboxes.get(),
                    };
                    self.by_queue(&asked, arrivals, against, &mut bounds);
                }
            }
        }
        for (bound, together) in bounds.iter_mut().zip(&round.together) {
            *bound = match (*bound, *together) {
                (Ok(one), Ok(other)) => Ok(one.lower_of(other)),
                (Err(_), Ok(one)) | (Ok(one), Err(_)) => Ok(one),
                (Err(none), Err(_)) => Err(none),
            };
        }
        bounds
    }

    pub(crate) fn of_node(&self, node: usize) -> Vec<usize> {
        let all = 0..self.messages.len();
        all.filter(|&i| self.messages[i].node == node).collect()
    }

    fn by_priority(
        &self,
        index: usize,
        arrivals: &[Arrival],
        round: &RoundState,
    ) -> Result<LatencyBound, NoBound> {
        let key = self.messages[index].key;
        let against = self.against(key, arrivals, round, |_| true)?;
        self.priority_bound(index, arrivals, against)
    }

    /// Returns the messages of a node with a queue in groups, each with the lowest arbitration
    /// field that wins while one of the group waits.
    fn victims(
        &self,
        node: usize,
        mailboxes: u8,
        inside: &[Option<u64>],
    ) -> Vec<(u64, Vec<usize>)> {
        let own = &self.of_node(node);
        let each = own.iter().map(|&i| (self.messages[i].key, inside[i]));
        let key = |i: usize| self.messages[i].key;
        // During a pause not all buffers are full.
        let lowest = match self.pauses[node] {
            Some(_) => own.iter().map(|&i| key(i)).max().unwrap_or(0),
            None => queue::lowest(each.collect(), mailboxes),
        };
        let (below, above): (Vec<usize>, Vec<usize>) = own.iter().partition(|&&i| key(i) > lowest);
        let alone = below.into_iter().map(|i| (key(i), [i].into()));
        alone.chain([(lowest, above)]).collect()
    }

    /// Finds bounds for messages of a node with a queue.
    fn by_queue(
        &self,
        asked: &QueueQuery<'_>,
        arrivals: &[Arrival],
        against: Result<RivalFrames, NoBound>,
        bounds: &mut [Result<LatencyBound, NoBound>],
    ) {
        let own = asked.own;
        let is_victim = |place: usize| asked.victims.contains(&own[place]);
        let mut worst: Vec<Option<LatencyBound>> = vec![None; own.len()];
        let found = against.and_then(|against| {
            self.in_each_phase(own, arrivals, against, true, |looked| {
                let members = self.members(own, arrivals, looked);
                let new = queue::bounds(looked.window, &members, asked.mailboxes, is_victim)?;
                for (worst, new) in worst.iter_mut().zip(new) {
                    *worst = match (*worst, new) {
                        (Some(old), Some(new)) => Some(old.worse_of(new)),
                        (old, new) => old.or(new),
                    };
                }
                Ok(())
            })
        });
        let all = worst.iter().zip(own).enumerate();
        for (_, (worst, &i)) in all.filter(|(place, _)| is_victim(*place)) {
            bounds[i] = found.and_then(|()| worst.ok_or(NoBound::TooLong));
        }
    }

    /// Returns the messages of a queue, in one of its busy periods.
    pub(crate) fn members(
        &self,
        own: &[usize],
        arrivals: &[Arrival],
        looked: &BusyPeriod<'_>,
    ) -> Vec<QueueMember> {
        let member = |(&i, stream): (&usize, &RivalStream)| {
            let sent = self.messages[i];
            QueueMember {
                key: sent.key,
                stream: *stream,
                jitter: arrivals[i].jitter(),
                timed: looked.begins.is_some(),
                frame: sent.frame,
                shortest: sent.shortest + (sent.occupied - sent.frame),
            }
        };
        own.iter().zip(looked.own).map(member).collect()
    }

    /// Returns bounds that do not depend on the other nodes' queues: the second derivation of
    /// [`mod@crate::queue`].
    fn together(
        &self,
        arrivals: &[Arrival],
        services: &[QueueService],
    ) -> Vec<Result<LatencyBound, NoBound>> {
        let mut bounds = vec![Err(NoBound::TooLong); self.messages.len()];
        for (node, order) in self.orders.iter().enumerate() {
            let own = self.of_node(node);
            match (services[node], order) {
                (QueueService::Queue, SendOrder::Mailboxes(mailboxes)) => {
                    let against = self.all_but(&own, arrivals, services);
                    let asked = QueueQuery {
                        own: &own,
                        victims: &own,
                        mailboxes: mailboxes.get(),
                    };
                    self.by_queue(&asked, arrivals, Ok(against), &mut bounds);
                }
                _ => {
                    for i in own {
                        let against = self.all_but(&[i], arrivals, services);
                        bounds[i] = self.priority_bound(i, arrivals, against);
                    }
                }
            }
        }
        bounds
    }

    /// Returns the traffic that these messages meet if everything that belongs together with them
    /// counts as higher-priority.
    pub(crate) fn all_but(
        &self,
        own: &[usize],
        arrivals: &[Arrival],
        services: &[QueueService],
    ) -> RivalFrames {
        let key = |i: usize| self.messages[i].key;
        let mut lowest = own.iter().map(|&i| key(i)).max().unwrap_or(0);
        // Everything above the lowest, with all messages that share a queue with it.
        let belongs = |i: usize, lowest: u64| {
            let node = self.messages[i].node;
            let mates = services[node] == QueueService::Queue;
            let mut of_node = self.messages.iter().filter(|m| m.node == node);
            key(i) <= lowest || mates && of_node.any(|m| m.key <= lowest)
        };
        loop {
            let all = (0..self.messages.len()).filter(|&i| belongs(i, lowest));
            let next = all.map(key).max().unwrap_or(lowest);
            if next <= lowest {
                break;
            }
            lowest = next;
        }
        let all = 0..self.messages.len();
        let rivals = all
            .clone()
            .filter(|&i| key(i) <= lowest && !own.contains(&i));
        RivalFrames {
            rivals: rivals.map(|i| (i, arrivals[i], 0)).collect(),
            lower: all.filter(|&i| key(i) > lowest).collect(),
            together: true,
        }
    }

    /// Returns the traffic that a frame with this arbitration field meets, from the messages that
    /// `counts` selects.
    fn against(
        &self,
        key: u64,
        arrivals: &[Arrival],
        round: &RoundState,
        counts: impl Fn(&SentMessage) -> bool,
    ) -> Result<RivalFrames, NoBound> {
        let all = || {
            let all = self.messages.iter().enumerate();
            all.filter(|(_, sent)| counts(sent))
        };
        let mut rivals = Vec::new();
        for (i, sent) in all().filter(|(_, sent)| sent.key < key) {
            let delay = round.inside.delays[i].ok_or(NoBound::Follows(i))?;
            let apart = match self.orders[sent.node] {
                SendOrder::Mailboxes(n) if n.get() == 1 => sent.shortest,
                _ => 0,
            };
            rivals.push((i, arrivals[i].delayed(delay, apart), delay));
        }
        let lower = all().filter(|(_, sent)| sent.key > key).map(|(i, _)| i);
        let lower = lower.collect();
        Ok(RivalFrames {
            rivals,
            lower,
            together: false,
        })
    }

    /// Updates the state of nodes with a queue where it has grown; returns false if nothing has.
    fn learn(
        &self,
        arrivals: &[Arrival],
        services: &[QueueService],
        bounds: &[Result<LatencyBound, NoBound>],
        inside: &mut QueuedFrames,
    ) -> bool {
        let mut grown = false;
        for (i, (sent, bound)) in self.messages.iter().zip(bounds).enumerate() {
            if services[sent.node] != QueueService::Queue {
                continue;
            }
            let bound = bound.as_ref().ok();
            grown |= grow(&mut inside.delays[i], bound.map(|b| b.waiting));
            let frames = bound.map(|b| arrivals[i].most_before(b.latency));
            grown |= grow(&mut inside.frames[i], frames);
        }
        grown
    }

    /// Returns the greatest number of frames in each node: for each message, those released in the
    /// time for which one frame can be there.
    fn backlogs(
        &self,
        arrivals: &[Arrival],
        bounds: &[Result<LatencyBound, NoBound>],
    ) -> Vec<Option<u64>> {
        let of_node = |node: usize| {
            let own = self.of_node(node);
            // Without the last instant of the time: the frame has ended by then.
            let span = |i: &usize| Some(bounds[*i].ok()?.latency.saturating_sub(1));
            let spans: Option<Vec<Nanos>> = own.iter().map(span).collect();
            Some(self.most_at_once(&own, arrivals, &spans?))
        };
        (0..self.orders.len()).map(of_node).collect()
    }
}

/// Replaces the old value if the new one is greater, and returns whether it is. `None` is greater
/// than every number.
fn grow(old: &mut Option<u64>, new: Option<u64>) -> bool {
    let grown = match (&old, new) {
        (Some(_), None) => true,
        (Some(old), Some(new)) => new > *old,
        (None, _) => false,
    };
    if grown {
        *old = new;
    }
    grown
}
