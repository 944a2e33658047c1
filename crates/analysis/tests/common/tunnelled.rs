//! A slow simulation of a tunnel: packing, the socket, the queues of the links, and the play-out,
//! datagram by datagram. It follows the documentation of the ports, and shares nothing with the
//! analysis but its specification.

use super::Random;
use analysis::tunnel::{LinkSpec, TokenBucket, TunnelSpec};
use frame::Nanos;
use std::collections::VecDeque;

/// The bytes of the longest packet of other traffic.
const LONGEST_OTHER: u64 = 1_500;

/// A frame that goes through a tunnel.
#[derive(Clone, Copy)]
pub(crate) struct SentFrame {
    pub(crate) flow: usize,
    /// The end of the frame on the bus before.
    pub(crate) end: Nanos,
    /// The time at which the port has it.
    pub(crate) at: Nanos,
}

#[derive(Clone, Default)]
struct Datagram {
    frames: Vec<usize>,
    bytes: u64,
    urgent: bool,
    /// The socket that sent it.
    socket: usize,
}

/// The traffic of others at a queue: it is saved up, and comes when it delays most.
struct OtherTraffic {
    bucket: TokenBucket,
    tokens: u64,
    since: Nanos,
}

impl OtherTraffic {
    /// Returns the bytes that may come now.
    fn take(&mut self, now: Nanos) -> u64 {
        let more = u128::from(self.bucket.rate) * u128::from(now - self.since) / 8_000_000_000;
        self.since = now;
        let all = self
            .tokens
            .saturating_add(more as u64)
            .min(self.bucket.burst);
        self.tokens = 0;
        all
    }
}

struct LinkQueue {
    waiting: VecDeque<Datagram>,
    /// The end of what is being sent, and the datagram, if it is one of the tunnel.
    sending: Option<(Nanos, Option<Datagram>)>,
    others: Option<OtherTraffic>,
    /// The bytes of others that wait; they are sent first.
    ahead: u64,
    /// The tokens of a shaper, in bits times 10^9, and their time.
    tokens: Option<(u128, Nanos)>,
}

impl LinkQueue {
    /// Returns the place of an urgent datagram: behind other urgent ones, and behind as many of the
    /// others as may be ahead of it.
    fn urgent_place(&self, most: u64) -> usize {
        let sending = self.sending.iter().filter_map(|(_, sent)| sent.as_ref());
        let last = self.waiting.iter().rposition(|other| other.urgent);
        let mut place = last.map_or(0, |last| last + 1);
        let passed = self.waiting.iter().take(place).chain(sending);
        let others = passed.filter(|other| !other.urgent);
        let mut ahead: u64 = others.map(|other| other.bytes).sum();
        while let Some(other) = self.waiting.get(place) {
            ahead += other.bytes;
            if ahead > most {
                break;
            }
            place += 1;
        }
        place
    }
}

struct SendingPort {
    open: Datagram,
    due: Option<Nanos>,
    /// Frames while the socket has no room: class, arbitration field, number.
    backlog: Vec<(bool, u64, usize)>,
}

pub(crate) struct TunnelRun<'s> {
    spec: &'s TunnelSpec,
    frames: &'s [SentFrame],
    random: Random,
    ports: Vec<SendingPort>,
    queues: Vec<LinkQueue>,
    /// Datagrams in a switch, with the time at which they are in its queue.
    between: Vec<(Nanos, usize, Datagram)>,
    /// Datagrams for which each socket has room.
    room: usize,
    /// For each socket: whether frames wait for room.
    blocked: Vec<bool>,
    /// Whether all ports share one socket.
    is_shared: bool,
    pub(crate) arrived: Vec<Option<Nanos>>,
    /// The most datagrams in the socket at one time.
    pub(crate) most: usize,
}

const fn times(bytes: u64, rate: u64) -> Nanos {
    // Rounded down: a simulation must not be slower than the link.
    (bytes as u128 * 8_000_000_000 / rate as u128) as Nanos
}

impl<'s> TunnelRun<'s> {
    /// `frames` are in the order of their times.
    pub(crate) fn new(spec: &'s TunnelSpec, frames: &'s [SentFrame], seed: u64) -> Self {
        let mut random = Random(seed);
        let link = spec.link.unwrap();
        let queue = |random: &mut Random, first: bool| LinkQueue {
            waiting: VecDeque::new(),
            sending: None,
            others: link.others.map(|bucket| OtherTraffic {
                bucket,
                tokens: random.up_to(bucket.burst),
                since: 0,
            }),
            ahead: 0,
            tokens: link
                .bucket
                .filter(|_| first)
                .map(|bucket| (u128::from(bucket.burst) * 8_000_000_000, 0)),
        };
        let queues = (0..=link.switches).map(|n| queue(&mut random, n == 0));
        let port = |_: &_| SendingPort {
            open: Datagram::default(),
            due: None,
            backlog: Vec::new(),
        };
        Self {
            queues: queues.collect(),
            ports: spec.ports.iter().map(port).collect(),
            between: Vec::new(),
            room: random.between(4, 10) as usize,
            blocked: vec![false; spec.ports.len()],
            is_shared: random.percent(50),
            arrived: vec![None; frames.len()],
            most: 0,
            spec,
            frames,
            random,
        }
    }

    fn link(&self) -> LinkSpec {
        self.spec.link.unwrap()
    }

    fn socket(&self, port: usize) -> usize {
        if self.is_shared { 0 } else { port }
    }

    fn is_blocked(&self, port: usize) -> bool {
        self.blocked[self.socket(port)]
    }

    fn in_socket(&self, socket: usize) -> usize {
        let queue = &self.queues[0];
        let sending = queue.sending.iter().filter_map(|(_, sent)| sent.as_ref());
        let all = queue.waiting.iter().chain(sending);
        all.filter(|datagram| datagram.socket == socket).count()
    }

    /// Gives a datagram to the socket; returns false if it has no room.
    fn send(&mut self, datagram: &mut Datagram, port: usize, now: Nanos) -> bool {
        if datagram.frames.is_empty() {
            return true;
        }
        let socket = self.socket(port);
        if self.in_socket(socket) >= self.room {
            self.blocked[socket] = true;
            return false;
        }
        datagram.socket = socket;
        self.put(0, std::mem::take(datagram), now);
        self.most = self.most.max(self.in_socket(socket));
        true
    }

    /// Puts a datagram into a queue.
    fn put(&mut self, number: usize, datagram: Datagram, now: Nanos) {
        let behind = self.link().urgent_behind;
        let comes = self.random.percent(50);
        let queue = &mut self.queues[number];
        if let Some(others) = queue.others.as_mut().filter(|_| comes) {
            queue.ahead += others.take(now);
        }
        let place = match behind.filter(|_| datagram.urgent) {
            Some(most) => queue.urgent_place(most),
            None => queue.waiting.len(),
        };
        queue.waiting.insert(place, datagram);
        self.start(number, now);
    }

    /// Begins to send, if nothing is being sent.
    fn start(&mut self, number: usize, now: Nanos) {
        let rate = self.link().rate;
        let comes = self.random.percent(50);
        let queue = &mut self.queues[number];
        if queue.sending.is_some() {
            return;
        }
        if let Some(others) = queue.others.as_mut().filter(|_| comes) {
            queue.ahead += others.take(now);
        }
        if queue.ahead > 0 {
            let bytes = queue.ahead.min(LONGEST_OTHER);
            queue.ahead -= bytes;
            queue.sending = Some((now + times(bytes, rate), None));
            return;
        }
        let Some(datagram) = queue.waiting.front() else {
            return;
        };
        let bits = u128::from(datagram.bytes) * 8_000_000_000;
        if let (Some((tokens, since)), Some(bucket)) =
            (&mut queue.tokens, self.spec.link.unwrap().bucket)
        {
            let more = u128::from(now - *since) * u128::from(bucket.rate);
            *tokens = (*tokens + more).min(u128::from(bucket.burst) * 8_000_000_000);
            *since = now;
            if *tokens < bits {
                let wait = (bits - *tokens).div_ceil(u128::from(bucket.rate)) as Nanos;
                // Nothing is sent meanwhile.
                queue.sending = Some((now + wait, None));
                return;
            }
            *tokens -= bits;
        }
        let datagram = queue.waiting.pop_front().unwrap();
        queue.sending = Some((now + times(datagram.bytes, rate), Some(datagram)));
    }

    fn bytes(&self, frame: usize) -> u64 {
        self.spec.flows[self.frames[frame].flow].bytes
    }

    fn push(&self, datagram: &mut Datagram, frame: usize, port: usize) -> bool {
        let port = &self.spec.ports[port];
        let bytes = self.bytes(frame);
        if datagram.frames.is_empty() {
            datagram.bytes = port.header;
        } else if datagram.bytes + bytes > port.header + port.room {
            return false;
        }
        datagram.frames.push(frame);
        datagram.bytes += bytes;
        true
    }

    fn keep(&mut self, frame: usize) {
        let flow = &self.spec.flows[self.frames[frame].flow];
        let backlog = &mut self.ports[flow.port].backlog;
        backlog.push((!flow.urgent, flow.key, frame));
        backlog.sort_unstable();
    }

    /// A frame comes to its port.
    fn take(&mut self, frame: usize, now: Nanos) {
        let flow = self.spec.flows[self.frames[frame].flow];
        if self.is_blocked(flow.port) {
            self.keep(frame);
        } else if flow.urgent {
            let mut alone = Datagram {
                urgent: true,
                ..Datagram::default()
            };
            assert!(self.push(&mut alone, frame, flow.port));
            if !self.send(&mut alone, flow.port, now) {
                self.keep(frame);
            }
        } else {
            self.pack(frame, flow.port, now);
        }
    }

    fn pack(&mut self, frame: usize, port: usize, now: Nanos) {
        let mut open = std::mem::take(&mut self.ports[port].open);
        if !self.push(&mut open, frame, port) {
            if !self.send(&mut open, port, now) {
                self.ports[port].open = open;
                self.keep(frame);
                return;
            }
            assert!(self.push(&mut open, frame, port));
        }
        let rules = &self.spec.ports[port];
        if open.frames.len() == 1 {
            let late = self.random.up_to(rules.timer);
            let late = if rules.window == 0 { 0 } else { late };
            self.ports[port].due = Some(now + rules.window + late);
        }
        self.ports[port].open = open;
    }

    fn send_open(&mut self, port: usize, now: Nanos) -> bool {
        let mut open = std::mem::take(&mut self.ports[port].open);
        let sent = self.send(&mut open, port, now);
        if sent {
            self.ports[port].due = None;
        } else {
            self.ports[port].open = open;
        }
        sent
    }

    fn send_backlog(&mut self, port: usize, urgent: bool, now: Nanos) -> bool {
        loop {
            let backlog = &self.ports[port].backlog;
            let of_class = backlog.iter().filter(|(other, ..)| *other != urgent);
            let waiting: Vec<usize> = of_class.map(|(_, _, frame)| *frame).collect();
            let mut datagram = Datagram {
                urgent,
                ..Datagram::default()
            };
            for frame in waiting {
                if !self.push(&mut datagram, frame, port) {
                    break;
                }
            }
            if datagram.frames.is_empty() {
                return true;
            }
            let sent = datagram.frames.clone();
            if !self.send(&mut datagram, port, now) {
                return false;
            }
            let backlog = &mut self.ports[port].backlog;
            backlog.retain(|(_, _, frame)| !sent.contains(frame));
        }
    }

    /// Sockets have room again.
    fn send_waiting(&mut self, now: Nanos) {
        for socket in 0..self.blocked.len() {
            if std::mem::take(&mut self.blocked[socket]) {
                self.send_waiting_by(socket, now);
            }
        }
    }

    fn send_waiting_by(&mut self, socket: usize, now: Nanos) {
        let ports = (0..self.ports.len()).filter(|port| self.socket(*port) == socket);
        let ports: Vec<usize> = ports.collect();
        let ports = ports.into_iter();
        if !ports.clone().all(|port| self.send_backlog(port, true, now)) {
            return;
        }
        for port in ports {
            if !(self.send_open(port, now) && self.send_backlog(port, false, now)) {
                return;
            }
        }
    }

    fn next(&self, given: usize) -> Option<Nanos> {
        let frame = self.frames.get(given).map(|frame| frame.at);
        let open = self.ports.iter().enumerate();
        let open = open.filter(|(port, _)| !self.is_blocked(*port));
        let due = open.filter_map(|(_, port)| port.due);
        let sending = self
            .queues
            .iter()
            .filter_map(|queue| queue.sending.as_ref());
        let sending = sending.map(|(end, _)| *end);
        let between = self.between.iter().map(|(at, ..)| *at);
        frame
            .into_iter()
            .chain(due)
            .chain(sending)
            .chain(between)
            .min()
    }

    /// Runs until every frame has arrived at the far gateway.
    pub(crate) fn run(&mut self) {
        let mut given = 0;
        while let Some(now) = self.next(given) {
            for number in 0..self.queues.len() {
                let queue = &mut self.queues[number];
                let Some((_, sent)) = queue.sending.take_if(|(end, _)| *end <= now) else {
                    continue;
                };
                self.start(number, now);
                if let Some(datagram) = sent {
                    self.hand_on(number, datagram, now);
                }
                if number == 0 {
                    self.send_waiting(now);
                }
            }
            while let Some(place) = self.between.iter().position(|(at, ..)| *at <= now) {
                let (_, number, datagram) = self.between.remove(place);
                self.put(number, datagram, now);
            }
            while self.frames.get(given).is_some_and(|frame| frame.at <= now) {
                self.take(given, now);
                given += 1;
            }
            for port in 0..self.ports.len() {
                if !self.is_blocked(port) && self.ports[port].due.is_some_and(|due| due <= now) {
                    self.send_open(port, now);
                }
            }
        }
    }

    fn hand_on(&mut self, number: usize, datagram: Datagram, now: Nanos) {
        if number + 1 < self.queues.len() {
            let latency = self.random.up_to(self.link().switch_latency);
            // A switch keeps the order.
            let before = self.between.iter().filter(|(_, to, _)| *to == number + 1);
            let before = before.map(|(at, ..)| *at).max().unwrap_or(0);
            let at = (now + latency).max(before);
            self.between.push((at, number + 1, datagram));
            return;
        }
        for frame in datagram.frames {
            let stated = self
                .spec
                .stated
                .map_or(0, |s| self.random.between(s.least, s.most));
            self.arrived[frame] = Some(now + stated);
        }
    }

    /// Returns the time at which the far gateway hands on each frame: by the rules of the play-out,
    /// with clocks that are wrong by any time that is allowed.
    pub(crate) fn handed_on(&mut self) -> Vec<Nanos> {
        let mut known: Vec<(usize, i128)> = Vec::new();
        let mut all = vec![0; self.frames.len()];
        let mut order: Vec<usize> = (0..self.frames.len()).collect();
        order.sort_by_key(|frame| self.arrived[*frame]);
        for frame in order {
            let sent = self.frames[frame];
            let arrived = self.arrived[frame].unwrap();
            let port = self.spec.flows[sent.flow].port;
            all[frame] = arrived;
            let Some(rules) = self.spec.ports[port].play_out else {
                continue;
            };
            let stamp = self.random.between(sent.end, sent.at);
            known.push((port, i128::from(arrived) - i128::from(stamp)));
            // Any transit that was seen may be the least one of the window.
            let own: Vec<i128> = known.iter().filter(|k| k.0 == port).map(|k| k.1).collect();
            let seen = own[self.random.up_to(own.len() as u64 - 1) as usize];
            let offset = if rules.common_clock { 0 } else { seen };
            let wrong = i128::from(self.random.up_to(2 * rules.clock_error));
            let wrong = wrong - i128::from(rules.clock_error);
            let due = i128::from(stamp) + offset + wrong + i128::from(rules.delay);
            all[frame] = due.max(i128::from(arrived)) as Nanos;
        }
        all
    }
}
