//! A slow model of the window beside it, which has the datagrams that did not arrive in maps.

use net::{Arrival, DatagramNumber, SequenceCounters, SequenceWindow};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;
const PATIENCE: u64 = 1000 * MS;

/// The datagrams that did not arrive, without a ring.
#[derive(Default)]
struct WindowModel {
    /// Places that are awaited, each with the time from which on it is. Later places are not
    /// awaited earlier.
    awaited: BTreeMap<u64, u64>,
    /// Places in the window that count as missing.
    missed: BTreeSet<u64>,
    /// Number of missing datagrams whose places have left the window.
    forgotten: u64,
    late: u64,
    /// The place of the next datagram.
    next: u64,
    /// Number of places of the window.
    places: u64,
    /// Whether numbers of 32 bits are compared.
    is_long: bool,
}

impl WindowModel {
    fn settle(&mut self, now: u64) {
        while let Some(first) = self.awaited.first_entry()
            && now - first.get() >= PATIENCE
        {
            self.missed.insert(first.remove_entry().0);
        }
    }

    fn missing(&self) -> u64 {
        self.missed.len() as u64 + self.forgotten + self.late
    }

    /// Moves the window on to a next place; those before it are awaited.
    fn extend(&mut self, next: u64, now: u64) {
        let passed = self.next..next;
        self.awaited.extend(passed.map(|place| (place, now)));
        self.next = self.next.max(next);
        self.forget(self.next - self.places);
    }

    /// Lets the places before this one leave the window.
    fn forget(&mut self, before: u64) {
        let awaited = self.awaited.split_off(&before);
        let missed = self.missed.split_off(&before);
        self.forgotten += (self.awaited.len() + self.missed.len()) as u64;
        (self.awaited, self.missed) = (awaited, missed);
    }

    /// Records an arrival by its result, with the number's distance from the newest one, and the
    /// place of the datagram that was taken last.
    fn arrive(
        &mut self,
        arrival: Arrival,
        number: DatagramNumber,
        step: i64,
        order: u64,
        now: u64,
    ) {
        let step = if self.is_long && number.long.is_some() {
            step
        } else {
            i64::from(step as i8)
        };
        let is_here = step <= 0 && step > -(self.places as i64);
        // Numbers further behind have none.
        let place = self.next.saturating_add_signed(step - 1);
        match arrival {
            Arrival::InOrder if self.places > 0 => {
                assert_eq!(order, place);
                self.extend(order + 1, now);
                self.awaited.remove(&order);
                self.is_long &= number.long.is_some();
            }
            Arrival::InOrder | Arrival::Restart => {
                self.forget(self.next);
                self.is_long = number.long.is_some();
                self.places = if self.is_long { 4096 } else { 64 };
                assert!(order >= self.next + self.places);
                self.next = order + 1;
            }
            Arrival::Overtaken => {
                assert_eq!((order, is_here), (place, true));
                self.awaited.remove(&order);
            }
            Arrival::Late if is_here => {
                assert!(self.missed.remove(&place), "no missing datagram is late");
                self.late += 1;
            }
            Arrival::Late => {
                assert_ne!(self.forgotten, 0, "each missing datagram has a place");
                self.forgotten -= 1;
                self.late += 1;
            }
            Arrival::Duplicate => {
                assert!(!self.awaited.contains_key(&place) && !self.missed.contains(&place));
                assert!(is_here || self.forgotten == 0);
            }
        }
    }
}

/// Returns the counters, of which none ever becomes smaller.
fn list(counters: SequenceCounters) -> [u64; 6] {
    [
        counters.taken,
        counters.missing,
        counters.late,
        counters.overtaken,
        counters.duplicates,
        counters.restarts,
    ]
}

/// An event of a step: the sender states its next number, or a datagram arrives.
#[derive(Clone, Copy, Debug)]
enum Event {
    Statement,
    /// A number of 8 bits.
    Short,
    /// A number of 32 bits.
    Long,
    /// A number of 32 bits that grew faster than that of 8 bits.
    Shared,
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        20 => Just(Event::Statement),
        10 => Just(Event::Short),
        70 => Just(Event::Long),
        1 => Just(Event::Shared),
    ]
}

/// Returns how far a number is ahead of the newest one.
fn steps() -> impl Strategy<Value = i64> {
    prop_oneof![
        60 => -4..6_i64,
        20 => Just(1),
        10 => -100..100_i64,
        1 => -6000..6000_i64,
        // All places that were known leave the window at once, or nearly all.
        2 => 4090..4099_i64,
        10 => -(1_i64 << 25)..-(1_i64 << 20),
    ]
}

/// Returns the time between two events, ms.
fn pauses() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..3_u64, 3 => 0..400_u64, 1 => 900..1100_u64]
}

proptest! {
    /// Statements among numbers of 8 and 32 bits, near and far, in time and late.
    #[test]
    fn the_window_counts_as_the_model(
        steps in prop::collection::vec(
            (pauses(), events(), steps(), prop::bool::weighted(0.01)),
            1..150,
        ),
    ) {
        let (mut window, mut model) = (SequenceWindow::default(), WindowModel::default());
        let (mut now, mut newest, mut arrivals) = (0, 1_i64 << 30, 0);
        // How far numbers of 32 bits are ahead of those of 8 bits.
        let mut lead = 0;
        for (pause, event, step, is_other) in steps {
            now += pause * MS;
            let (before, awaited) = (window.counters(), window.awaited());
            model.settle(now);
            let number = newest + step;
            let ahead = lead + i64::from(matches!(event, Event::Shared));
            let long = (number + ahead) as u32;
            if matches!(event, Event::Statement) {
                let place = window.announce(long, now);
                prop_assert!(place.is_none() || model.is_long);
                if let Some(place) = place {
                    prop_assert_eq!(place, model.next.wrapping_add_signed(step - 1));
                    model.extend(place, now);
                    newest += (step - 1).max(0);
                }
            } else {
                let number = DatagramNumber {
                    short: number as u8,
                    long: (!matches!(event, Event::Short)).then_some(long),
                };
                // Streams that share the association: numbers of 8 bits from now on.
                model.is_long &= !matches!(event, Event::Shared);
                let content = [number.short, u8::from(is_other)];
                let arrival = window.arrive(number, &content, now);
                model.arrive(arrival, number, step, window.order(), now);
                arrivals += 1;
                if matches!(arrival, Arrival::InOrder | Arrival::Restart) {
                    (newest, lead) = (newest + step, ahead);
                }
            }
            let after = window.counters();
            for (before, after) in list(before).into_iter().zip(list(after)) {
                prop_assert!(before <= after);
            }
            prop_assert!(after.late <= after.missing);
            prop_assert_eq!((after.missing, after.late), (model.missing(), model.late));
            prop_assert_eq!(after.taken + after.late + after.duplicates, arrivals);
            let first = model.awaited.first_key_value();
            let next = first.map_or(model.next.max(1), |(place, _)| *place);
            prop_assert_eq!(window.awaited(), next);
            prop_assert!(awaited <= next);
            prop_assert_eq!(window.deadline(), first.map(|(_, since)| since + PATIENCE));
        }
        // Each deadline settles something, and nothing is settled before.
        while let Some(deadline) = window.deadline() {
            let (missing, awaited) = (window.counters().missing, window.awaited());
            window.settle(deadline - 1);
            prop_assert_eq!((window.counters().missing, window.awaited()), (missing, awaited));
            window.settle(deadline);
            model.settle(deadline);
            prop_assert!(window.awaited() > awaited);
            prop_assert!(window.counters().missing > missing);
            prop_assert_eq!(window.counters().missing, model.missing());
        }
        prop_assert!(model.awaited.is_empty());
    }
}
