use super::*;
use frame::{CanId, Frame, Header, Kind, Nanos};
use proptest::prelude::*;
use signals::{
    BitMeaning, ByteOrder, FieldLayout, FieldTest, LinearMap, OutOfRange, RangePolicy, SignalField,
};

const MS: Nanos = 1_000_000;

fn field(start: u16, bits: u8) -> SignalField {
    let order = ByteOrder::Intel;
    SignalField::new(FieldLayout { start, bits, order }, 8).unwrap()
}

fn sff(number: u32) -> CanId {
    CanId::sff(number).unwrap()
}

/// Byte 0 of 100 and byte 0 of 200.
fn inputs() -> Vec<InputMessage> {
    let input = |name: &str, id: u32| InputMessage {
        name: name.into(),
        id,
        mask: u32::MAX,
        signals: vec![InputSignal {
            field: field(0, 8),
            is_signed: false,
            presence: Vec::new(),
        }],
    };
    vec![input("A", 0x100), input("B", 0x200)]
}

/// Byte `to` of the made message is the byte of the input of this number.
fn copy(message: usize, to: u16, silence: Option<SilenceRule>) -> SignalAssignment {
    let to = field(8 * to, 8);
    SignalAssignment {
        source: SourceIndex { message, signal: 0 },
        to,
        map: LinearMap::SAME,
        range: RangePolicy::of_field(&to, BitMeaning::Unsigned, OutOfRange::Saturate),
        silence,
    }
}

fn message(timing: SendTiming, assignments: Vec<SignalAssignment>) -> ComposedMessage {
    ComposedMessage {
        name: "Made".into(),
        header: Header::new(Kind::Classic, sff(0x300), 4).unwrap(),
        initial: vec![0xFF, 0xFF, 0, 0],
        timing,
        assignments,
        counter: None,
    }
}

/// A composer, its time, and what it made.
struct Bench {
    composer: MessageComposer,
    now: Nanos,
    made: Vec<(Nanos, Vec<u8>)>,
}

impl Bench {
    fn new(message: ComposedMessage) -> Self {
        Self {
            composer: MessageComposer::new(inputs(), vec![message], 0).unwrap(),
            now: 0,
            made: Vec::new(),
        }
    }

    /// Lets the time pass, from deadline to deadline.
    fn run_until(&mut self, end: Nanos) {
        while let Some(at) = self.composer.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let (now, made) = (self.now, &mut self.made);
            self.composer.make(now, 64, &mut |frame| {
                made.push((now, frame.data().to_vec()));
            });
            assert!(
                self.composer.deadline().is_none_or(|next| next > self.now),
                "a deadline that does not pass"
            );
        }
        self.now = end;
    }

    fn take(&mut self, id: u32, byte: u8) -> bool {
        let frame = Frame::classic(sff(id), &[byte]).unwrap();
        self.composer.take(self.now, frame.view())
    }

    fn bytes(&self) -> Vec<(Nanos, u8, u8)> {
        let made = self.made.iter();
        made.map(|(at, data)| (at / MS, data[0], data[1])).collect()
    }
}

fn cyclic(cycle: Nanos) -> SendTiming {
    SendTiming {
        cycle: Some(cycle),
        ..SendTiming::default()
    }
}

#[test]
fn signals_of_several_messages_are_gathered_in_a_cycle() {
    let mut bench = Bench::new(message(
        cyclic(10 * MS),
        vec![copy(0, 0, None), copy(1, 1, None)],
    ));
    bench.run_until(12 * MS);
    assert!(bench.take(0x100, 7));
    bench.run_until(25 * MS);
    assert!(bench.take(0x200, 9));
    assert!(!bench.take(0x201, 1), "no signal of this message is needed");
    bench.run_until(30 * MS);
    assert_eq!(bench.bytes(), [(10, 0xFF, 0xFF), (20, 7, 0xFF), (30, 7, 9)]);
    let counters = bench.composer.counters();
    assert_eq!((counters.read, counters.made), (2, 3));
}

#[test]
fn a_change_is_sent_at_once_but_not_before_the_least_distance() {
    let timing = SendTiming {
        on_change: true,
        min_distance: 5 * MS,
        ..SendTiming::default()
    };
    let mut bench = Bench::new(message(timing, vec![copy(0, 0, None)]));
    bench.run_until(MS);
    bench.take(0x100, 1);
    bench.run_until(2 * MS);
    bench.take(0x100, 1);
    bench.take(0x100, 2);
    bench.run_until(3 * MS);
    bench.take(0x100, 3);
    bench.run_until(20 * MS);
    // A value that is the former one again before the frame is due makes no frame.
    bench.take(0x100, 4);
    bench.run_until(21 * MS);
    bench.take(0x100, 5);
    bench.take(0x100, 4);
    bench.run_until(40 * MS);
    assert_eq!(bench.bytes(), [(1, 1, 0xFF), (6, 3, 0xFF), (20, 4, 0xFF)]);
}

#[test]
fn a_silent_source_has_a_substitute_and_a_status() {
    let rule = SilenceRule {
        timeout: 25 * MS,
        value: SilentValue::Substitute(0xEE),
        status: Some(field(8, 1)),
    };
    let mut made = message(cyclic(10 * MS), vec![copy(0, 0, Some(rule))]);
    made.initial = vec![0, 0, 0, 0];
    let mut bench = Bench::new(made);
    bench.run_until(5 * MS);
    bench.take(0x100, 3);
    bench.run_until(45 * MS);
    bench.take(0x100, 4);
    bench.run_until(50 * MS);
    let expected = [
        (10, 3, 0),
        (20, 3, 0),
        (30, 0xEE, 1),
        (40, 0xEE, 1),
        (50, 4, 0),
    ];
    assert_eq!(bench.bytes(), expected);
}

#[test]
fn silence_is_a_change_and_is_sent_when_it_begins() {
    let rule = SilenceRule {
        timeout: 25 * MS,
        value: SilentValue::Substitute(0xEE),
        status: None,
    };
    let timing = SendTiming {
        on_change: true,
        ..SendTiming::default()
    };
    let mut bench = Bench::new(message(timing, vec![copy(0, 0, Some(rule))]));
    bench.take(0x100, 3);
    bench.run_until(100 * MS);
    assert_eq!(bench.bytes(), [(0, 3, 0xFF), (25, 0xEE, 0xFF)]);
}

#[test]
fn a_silent_source_can_stop_the_message() {
    let rule = SilenceRule {
        timeout: 15 * MS,
        value: SilentValue::Stop,
        status: None,
    };
    let mut bench = Bench::new(message(cyclic(10 * MS), vec![copy(0, 0, Some(rule))]));
    bench.run_until(9 * MS);
    bench.take(0x100, 3);
    bench.run_until(35 * MS);
    assert_eq!(
        bench.composer.stopped_messages().collect::<Vec<_>>(),
        ["Made"]
    );
    bench.take(0x100, 4);
    bench.run_until(40 * MS);
    assert_eq!(bench.bytes(), [(10, 3, 0xFF), (20, 3, 0xFF), (40, 4, 0xFF)]);
    assert_eq!(bench.composer.counters().stopped, 1);
    assert_eq!(bench.composer.stopped_messages().count(), 0);
}

#[test]
fn the_counter_counts_frames_and_is_no_change() {
    let mut made = message(
        SendTiming {
            cycle: Some(10 * MS),
            on_change: true,
            ..SendTiming::default()
        },
        vec![copy(0, 0, None)],
    );
    made.counter = Some(AliveCounter {
        field: field(8, 4),
        values: 3,
    });
    let mut bench = Bench::new(made);
    bench.run_until(40 * MS);
    let counts: Vec<u8> = bench.made.iter().map(|(_, data)| data[1] & 0xF).collect();
    assert_eq!(counts, [0, 1, 2, 0]);
}

#[test]
fn a_remote_frame_gets_the_present_values() {
    let timing = SendTiming {
        answers_remote: true,
        ..SendTiming::default()
    };
    let mut bench = Bench::new(message(timing, vec![copy(0, 0, None)]));
    bench.take(0x100, 6);
    bench.run_until(5 * MS);
    assert!(bench.made.is_empty());
    let request = |id| Frame::remote(sff(id), 4).unwrap();
    assert!(bench.composer.take(bench.now, request(0x300).view()));
    assert!(!bench.composer.take(bench.now, request(0x100).view()));
    bench.run_until(6 * MS);
    assert_eq!(bench.bytes(), [(5, 6, 0xFF)]);
    assert_eq!(bench.composer.counters().requests, 1);
}

#[test]
fn a_value_that_the_signal_cannot_have_is_never_wrapped() {
    let narrow = field(0, 4);
    let made = |outside| {
        let mut copy = copy(0, 0, None);
        copy.to = narrow;
        copy.range = RangePolicy::of_field(&narrow, BitMeaning::Unsigned, outside);
        let mut bench = Bench::new(message(cyclic(MS), vec![copy]));
        bench.take(0x100, 5);
        bench.take(0x100, 20);
        // Another update of the message does not count the value again.
        bench.run_until(MS);
        (
            bench.made[0].1[0] & 0xF,
            bench.composer.counters().out_of_range,
        )
    };
    assert_eq!(made(OutOfRange::Saturate), (15, 0));
    assert_eq!(made(OutOfRange::Substitute(9)), (9, 0));
    assert_eq!(made(OutOfRange::Drop), (5, 1));
}

/// Frames of one step have the same time. Each value counts once, whatever comes after it.
#[test]
fn a_value_that_is_not_taken_counts_once_among_frames_of_one_time() {
    let mut narrow = copy(0, 0, None);
    narrow.to = field(0, 4);
    narrow.range = RangePolicy::of_field(&narrow.to, BitMeaning::Unsigned, OutOfRange::Drop);
    let mut bench = Bench::new(message(cyclic(MS), vec![narrow, copy(1, 1, None)]));
    for (id, byte) in [(0x100, 20), (0x200, 1), (0x200, 2), (0x100, 30), (0x200, 3)] {
        bench.take(id, byte);
    }
    assert_eq!(bench.composer.counters().out_of_range, 2);
}

#[test]
fn times_that_passed_are_counted_and_not_sent_in_a_burst() {
    let mut composer =
        MessageComposer::new(inputs(), vec![message(cyclic(10 * MS), Vec::new())], 0).unwrap();
    let mut count = 0;
    assert_eq!(composer.make(47 * MS, 64, &mut |_| count += 1), 1);
    assert_eq!(composer.counters().skipped, 3);
    assert_eq!(composer.deadline(), Some(50 * MS));
}

#[test]
fn frames_that_do_not_fit_the_budget_are_due_the_next_time() {
    let made = |id| ComposedMessage {
        header: Header::new(Kind::Classic, sff(id), 4).unwrap(),
        ..message(cyclic(10 * MS), Vec::new())
    };
    let messages = (0..5).map(made).collect();
    let mut composer = MessageComposer::new(inputs(), messages, 0).unwrap();
    let mut ids = Vec::new();
    for expected in [2, 2, 1, 0] {
        let count = composer.make(10 * MS, 2, &mut |frame| ids.push(frame.id().number()));
        assert_eq!(count, expected);
    }
    assert_eq!(ids, [0, 1, 2, 3, 4]);
}

#[test]
fn a_multiplexed_signal_is_read_only_with_its_switch() {
    let switch = FieldTest::new(field(8, 8), BitMeaning::Unsigned, (2, 2), false).unwrap();
    let mut inputs = inputs();
    inputs[0].signals[0].presence = vec![switch];
    let made = message(cyclic(10 * MS), vec![copy(0, 0, None)]);
    let mut composer = MessageComposer::new(inputs, vec![made], 0).unwrap();
    for (payload, expected) in [([5, 2], 5), ([6, 1], 5), ([7, 2], 7)] {
        let frame = Frame::classic(sff(0x100), &payload).unwrap();
        assert!(composer.take(0, frame.view()));
        let mut last = 0;
        composer.make(composer.deadline().unwrap(), 1, &mut |frame| {
            last = frame.data()[0];
        });
        assert_eq!(last, expected);
    }
    let short = Frame::classic(sff(0x100), &[]).unwrap();
    assert!(composer.take(0, short.view()));
    assert_eq!(composer.counters().absent, 0, "the switch is absent, too");
}

#[test]
fn definitions_without_meaning_are_refused() {
    let refused = |change: fn(&mut ComposedMessage)| {
        let mut made = message(cyclic(10 * MS), vec![copy(0, 0, None)]);
        change(&mut made);
        let error = MessageComposer::new(inputs(), vec![made], 0).unwrap_err();
        assert!(error.to_string().starts_with("message Made: "));
        error
    };
    let message = || "Made".into();
    assert_eq!(
        refused(|made| made.initial.truncate(3)),
        CompositionError::InitialLength { message: message() }
    );
    assert_eq!(
        refused(|made| made.assignments[0].to = field(32, 8)),
        CompositionError::OutsidePayload { message: message() }
    );
    assert_eq!(
        refused(|made| made.assignments[0].source.message = 2),
        CompositionError::NoSource { message: message() }
    );
    assert_eq!(
        refused(|made| made.timing = SendTiming::default()),
        CompositionError::NeverDue { message: message() }
    );
    assert_eq!(
        refused(|made| made.timing.min_distance = 11 * MS),
        CompositionError::Cycle { message: message() }
    );
}

proptest! {
    /// Whatever comes, and whenever: frames keep their distance, each cycle has a frame or a count,
    /// and the last frame of a message that follows changes has the present values.
    #[test]
    fn frames_keep_distance_and_no_change_is_lost(
        steps in prop::collection::vec((0..20_u64, 0..2_u32, 0..4_u8), 0..60),
        distance in 0..8_u64,
        cycle in prop::option::of(8..30_u64),
        on_change: bool,
        timeout in prop::option::of(1..40_u64),
    ) {
        prop_assume!(on_change || cycle.is_some());
        let rule = timeout.map(|timeout| SilenceRule {
            timeout: timeout * MS,
            value: SilentValue::Substitute(0xEE),
            status: None,
        });
        let timing = SendTiming {
            cycle: cycle.map(|cycle| cycle * MS),
            on_change,
            min_distance: distance * MS,
            answers_remote: false,
        };
        let assignments = vec![copy(0, 0, rule), copy(1, 1, rule)];
        let mut bench = Bench::new(message(timing, assignments));
        let mut last = [(None, 0); 2];
        for (wait, id, byte) in steps {
            let at = bench.now + wait * MS;
            bench.run_until(at);
            bench.take(0x100 + 0x100 * id, byte);
            last[id as usize] = (Some(byte), at);
        }
        let end = bench.now + 100 * MS;
        bench.run_until(end);
        let counters = bench.composer.counters();
        prop_assert_eq!(counters.made as usize, bench.made.len());
        prop_assert_eq!(counters.skipped, 0);
        for pair in bench.made.windows(2) {
            prop_assert!(pair[1].0 - pair[0].0 >= distance * MS);
            if cycle.is_none() {
                prop_assert_ne!(&pair[1].1, &pair[0].1, "no change between two frames");
            }
        }
        if let Some(cycle) = cycle {
            // A frame that a cycle makes due waits at most for the least distance.
            prop_assert!(counters.made >= end / MS / (cycle + distance).max(1) / 2);
        }
        let value = |(byte, at): (Option<u8>, Nanos)| match timeout {
            Some(timeout) if end >= at + timeout * MS => 0xEE,
            _ => byte.unwrap_or(0xFF),
        };
        let expected = vec![value(last[0]), value(last[1]), 0, 0];
        let present = bench.made.last().map_or(vec![0xFF, 0xFF, 0, 0], |(_, data)| data.clone());
        prop_assert_eq!(present, expected);
    }
}
