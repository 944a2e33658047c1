//! Sets with offsets, releases that conform to them, and a slow analysis of them in which flaws can
//! be enabled.

use super::{Random, assess};
use analysis::{BusSpec, FrameRelease, LengthSearch};
use frame::{Nanos, wire};

/// Creates a set in which this percentage of the messages has an offset. Periods become 1, 2, 5, 10
/// … `most` of one unit, so that they have a common multiple.
pub(crate) fn with_offsets(
    mut bus: BusSpec,
    seed: u64,
    percent: u64,
    most: u64,
    distances: bool,
) -> BusSpec {
    let mut random = Random(seed ^ 0x0FF5_E750);
    let load = assess(&bus).1.load;
    let shortest = bus.messages.iter().map(|m| m.arrival.period()).min();
    let unit = shortest.unwrap_or(1);
    let step = |period: Nanos| {
        let times = period.div_ceil(unit);
        let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
        steps
            .into_iter()
            .find(|s| *s >= times.min(most))
            .unwrap_or(most)
    };
    let with = |bus: &mut BusSpec, unit: Nanos, steps: &[u64]| {
        for (message, step) in bus.messages.iter_mut().zip(steps) {
            let old = message.arrival;
            let period = unit * step;
            let jitter = u128::from(old.jitter()) * u128::from(period) / u128::from(old.period());
            let distance = if distances {
                old.distance().min(period)
            } else {
                0
            };
            message.arrival = analysis::Arrival::new(period, jitter as Nanos, distance).unwrap();
        }
    };
    let steps: Vec<u64> = bus
        .messages
        .iter()
        .map(|m| step(m.arrival.period()))
        .collect();
    with(&mut bus, unit, &steps);
    // The same load as before.
    let now = assess(&bus).1.load;
    with(&mut bus, (unit as f64 * now / load) as Nanos, &steps);
    for message in &mut bus.messages {
        if random.percent(percent) {
            message.offset = Some(random.up_to(message.arrival.period() - 1));
        }
    }
    bus
}

/// Returns the same set without offsets.
pub(crate) fn without(bus: &BusSpec) -> BusSpec {
    let mut bus = bus.clone();
    for message in &mut bus.messages {
        message.offset = None;
    }
    bus
}

/// The time at which releases begin.
const BEGIN: Nanos = 1 << 50;

/// The phases of the nodes' clocks to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clocks {
    /// Arbitrary phases and arbitrary jitter.
    Random,
    /// Such that a frame of each is due as late as possible at one time; frames delayed until then
    /// are released there, later ones as early as possible.
    Together,
    /// Given clocks, with each frame released as early as possible from the beginning on.
    Steady,
}

/// Returns releases for `span` ns, with the time of each event.
pub(crate) fn releases(
    bus: &BusSpec,
    clocks: Clocks,
    seed: u64,
    span: Nanos,
) -> Vec<(FrameRelease, Nanos)> {
    let mut random = Random(seed);
    let starts: Vec<Nanos> = (0..bus.nodes.len())
        .map(|node| {
            let of_node = bus
                .messages
                .iter()
                .filter(|m| m.node == node && m.offset.is_some());
            let of_node: Vec<_> = of_node.collect();
            match clocks {
                Clocks::Together if !of_node.is_empty() => {
                    let one = of_node[random.up_to(of_node.len() as u64 - 1) as usize];
                    // A last instant of its event number n is at BEGIN.
                    let n = random.up_to(2_000);
                    let late = one.offset.unwrap() + n * one.arrival.period();
                    BEGIN - late - one.arrival.jitter()
                }
                _ => random.up_to(1 << 45),
            }
        })
        .collect();
    released(bus, clocks, &mut random, &starts, span)
}

/// Returns the same with these starts of the nodes' clocks.
pub(crate) fn released(
    bus: &BusSpec,
    clocks: Clocks,
    random: &mut Random,
    starts: &[Nanos],
    span: Nanos,
) -> Vec<(FrameRelease, Nanos)> {
    let mut lengths = LengthSearch::new();
    let mut all = Vec::new();
    for (index, message) in bus.messages.iter().enumerate() {
        let (period, jitter) = (message.arrival.period(), message.arrival.jitter());
        let start = match (message.offset, clocks) {
            (Some(offset), _) => starts[message.node] + offset,
            (None, Clocks::Random) => random.up_to(period - 1),
            (None, _) => BEGIN - jitter,
        };
        // The first event whose release can be in time.
        let first = (BEGIN - jitter).saturating_sub(start).div_ceil(period);
        let frame = lengths.longest_frame(&message.shape).unwrap();
        let mut last: Option<Nanos> = None;
        for n in first.. {
            let due = start + n * period;
            if due > BEGIN + span {
                break;
            }
            let late = match clocks {
                Clocks::Random => random.up_to(jitter),
                _ => 0,
            };
            let after = last.map_or(0, |last| last + message.arrival.distance());
            let at = (due + late).max(BEGIN).max(after);
            assert!(at - due <= jitter, "the model forbids this release");
            last = Some(at);
            let release = FrameRelease {
                at: at - BEGIN,
                message: index,
                frame,
            };
            all.push((release, due));
        }
    }
    let order: Vec<u64> = bus.messages.iter().map(|_| random.next()).collect();
    all.sort_by_key(|(release, due)| (release.at, order[release.message], *due));
    for (_, due) in &mut all {
        *due = due.wrapping_sub(BEGIN);
    }
    all
}

/// Returns whether releases conform to offsets: for each node, the clock of one of its phases
/// allows them.
pub(crate) fn keep_to_offsets(bus: &BusSpec, releases: &[FrameRelease]) -> bool {
    (0..bus.nodes.len()).all(|node| {
        let own = |r: &&FrameRelease| {
            let message = &bus.messages[r.message];
            message.node == node && message.offset.is_some()
        };
        let own: Vec<&FrameRelease> = releases.iter().filter(own).collect();
        // A clock that fits can be moved back until an event is as early, or its release as late,
        // as possible.
        let clocks = own.iter().flat_map(|r| {
            let message = &bus.messages[r.message];
            let offset = message.offset.unwrap();
            [0, message.arrival.jitter()].map(|late| i128::from(r.at) - i128::from(offset + late))
        });
        let fits = |clock: i128, r: &FrameRelease| {
            let message = &bus.messages[r.message];
            let since = i128::from(r.at) - clock - i128::from(message.offset.unwrap());
            since.rem_euclid(i128::from(message.arrival.period()))
                <= i128::from(message.arrival.jitter())
        };
        // It is not known which event of its message it is: each clock is tried with additional
        // whole periods.
        let longest = own
            .iter()
            .map(|r| bus.messages[r.message].arrival.period())
            .max();
        let turns =
            |r: &&&FrameRelease| longest.unwrap() / bus.messages[r.message].arrival.period();
        let most = own.iter().map(|r| turns(&r)).max().unwrap_or(0);
        own.is_empty()
            || clocks.into_iter().any(|clock| {
                (0..=most * 2).any(|n| {
                    let shortest = own
                        .iter()
                        .map(|r| bus.messages[r.message].arrival.period())
                        .min();
                    let clock = clock - i128::from(n * shortest.unwrap());
                    own.iter().all(|r| fits(clock, r))
                })
            })
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flaw {
    None,
    /// All nodes' clocks began at the same time.
    OneClock,
    /// Only the phase that begins with the message itself is considered.
    OwnPhaseOnly,
    /// For another node, only the first phase is considered.
    FirstPhaseOnly,
    /// A frame whose event was before the busy period is not in it.
    NoJitter,
}

/// A message in the representation of the slow analysis.
#[derive(Clone, Copy)]
struct Plain {
    clock: Option<usize>,
    offset: i128,
    period: i128,
    jitter: i128,
    occupied: i128,
}

impl Plain {
    /// Returns the frames that can be released from `from` to `to` (`to` excluded, if `open`),
    /// counted one by one.
    fn count(&self, from: i128, to: i128, open: bool) -> i128 {
        let mut n = (from - self.jitter - self.offset).div_euclid(self.period) - 1;
        let mut count = 0;
        loop {
            let event = self.offset + n * self.period;
            if event > to || (open && event == to) {
                return count;
            }
            if event + self.jitter >= from {
                count += 1;
            }
            n += 1;
        }
    }

    /// In any phase.
    fn most(&self, span: i128, open: bool) -> i128 {
        let from = self.offset + self.jitter;
        self.count(from, from + span, open)
    }

    /// Returns its last instants in this time.
    fn last_instants(&self, common: i128) -> impl Iterator<Item = i128> {
        (0..common / self.period).map(move |n| self.offset + self.jitter + n * self.period)
    }
}

/// Returns the response and the latency of a message that is sent in order of priority, on a bus
/// where all are, without distances: sums over all phases, with nothing left out.
pub(crate) fn bound(bus: &BusSpec, index: usize, flaw: Flaw) -> (Nanos, Nanos) {
    let key = |i: usize| wire::arbitration_key(bus.messages[i].shape.header());
    let length = |i: usize| {
        let frame = LengthSearch::new()
            .longest_frame(&bus.messages[i].shape)
            .unwrap();
        let length = wire::length(frame.view()).unwrap();
        i128::from(length.duration(bus.rate, false))
    };
    let intermission = i128::from(bus.rate.time(wire::INTERMISSION_BITS, 0));
    let plain = |i: usize| {
        let message = &bus.messages[i];
        let clock = match flaw {
            Flaw::OneClock => 0,
            _ => message.node,
        };
        let jitter = match flaw {
            Flaw::NoJitter => 0,
            _ => i128::from(message.arrival.jitter()),
        };
        Plain {
            clock: message.offset.map(|_| clock),
            offset: i128::from(message.offset.unwrap_or(0)),
            period: i128::from(message.arrival.period()),
            jitter,
            occupied: length(i) + intermission,
        }
    };
    let all = 0..bus.messages.len();
    let higher: Vec<Plain> = all
        .clone()
        .filter(|&i| key(i) < key(index))
        .map(plain)
        .collect();
    let lower = all.clone().filter(|&i| key(i) > key(index));
    let blocking = lower.map(|i| length(i) + intermission).max().unwrap_or(0);
    let (own, frame) = (plain(index), length(index));
    let common = all.map(|i| plain(i).period).max().unwrap();
    let common = (1..).map(|n| n * common).find(|c| {
        let mut members = higher.iter().chain([&own]);
        members.all(|m| c % m.period == 0)
    });
    let common = common.unwrap();
    let mine = |m: &Plain| m.clock.is_some() && m.clock == own.clock;
    let mut clocks: Vec<usize> = higher.iter().filter_map(|m| m.clock).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let others = |span: i128, open: bool| -> i128 {
        let free = higher.iter().filter(|m| m.clock.is_none());
        let mut sum: i128 = free.map(|m| m.most(span, open) * m.occupied).sum();
        for clock in clocks.iter().filter(|&&clock| own.clock != Some(clock)) {
            let members: Vec<&Plain> = higher.iter().filter(|m| m.clock == Some(*clock)).collect();
            let phases = members.iter().flat_map(|m| m.last_instants(common));
            let take = match flaw {
                Flaw::FirstPhaseOnly => 1,
                _ => usize::MAX,
            };
            let work = |from: i128| -> i128 {
                let each = members.iter();
                each.map(|m| m.count(from, from + span, open) * m.occupied)
                    .sum()
            };
            sum += phases.take(take).map(work).max().unwrap_or(0);
        }
        sum
    };
    let mates: Vec<&Plain> = higher.iter().filter(|m| mine(m)).collect();
    let mut phases: Vec<i128> = own.last_instants(common).collect();
    if flaw != Flaw::OwnPhaseOnly && own.clock.is_some() {
        phases.extend(mates.iter().flat_map(|m| m.last_instants(common)));
    }
    let (mut response, mut latency) = (0, 0);
    for from in phases {
        let work = |span: i128, open: bool| -> i128 {
            let each = mates
                .iter()
                .map(|m| m.count(from, from + span, open) * m.occupied);
            blocking + each.sum::<i128>() + others(span, open)
        };
        let settle = |ahead: i128, open: bool| {
            let mut at = blocking + ahead;
            loop {
                let mut next = work(at, open) + ahead;
                if open {
                    next += own.count(from, from + at, open) * own.occupied;
                }
                if next <= at {
                    return at;
                }
                at = next;
            }
        };
        let busy = settle(1, true);
        let first = (from - own.jitter - own.offset).div_euclid(own.period);
        let events = (first..).map(|n| own.offset + n * own.period);
        let events = events.filter(|event| event + own.jitter >= from);
        let in_it = events.take_while(|&event| event.max(from) < from + busy);
        for (q, event) in (0..).zip(in_it) {
            let end = from + settle(q * own.occupied, false) + frame;
            response = response.max(end - event);
            latency = latency.max(end - event.max(from));
        }
    }
    (response as Nanos, latency as Nanos)
}
