//! Sequences of frames at a receiver, and the state of a communication.

use crate::random::RandomSource;
use e2e::{
    ChannelState, ChannelWindow, CounterSource, Crc16Settings, DataIdMode, MessageReceiver,
    P01Settings, P02Settings, P04Settings, P05Settings, Protection, ProtectionSettings,
    ReceptionFault, ReceptionKind, ReceptionStatus, SendingCounter, SettingsError, WindowLimits,
    WindowSettings,
};
use frame::CanId;

const ID: CanId = CanId::from_raw(0x123);

/// One settings for each number of counter values: 15, 16, 2^8, 2^16, 2^32.
fn counted() -> [ProtectionSettings; 5] {
    [
        ProtectionSettings::P01(P01Settings::new(0x123, DataIdMode::Both, 0)),
        ProtectionSettings::P22(P02Settings::new([9; 16])),
        ProtectionSettings::P05(P05Settings::new(0x123)),
        ProtectionSettings::P04(P04Settings::new(0x123)),
        ProtectionSettings::P07(P04Settings::new(0x123)),
    ]
}

/// Returns a frame with this counter.
fn frame(protection: &Protection, counter: u64) -> [u8; 24] {
    let mut payload = [0; 24];
    let modulus = protection.counter_field().unwrap().modulus;
    let mut own = SendingCounter::from_value((counter % modulus) as u32);
    protection
        .protect(ID, &mut payload, CounterSource::Own(&mut own))
        .unwrap();
    payload
}

#[test]
fn each_distance_has_its_status() {
    for settings in counted() {
        let protection = Protection::new(settings).unwrap();
        let counter = protection.counter_field().unwrap();
        let modulus = counter.modulus;
        assert_eq!(counter.next((modulus - 1) as u32), 0);
        for start in [0, 1, modulus - 1] {
            let after = |delta| {
                let mut receiver = MessageReceiver::new(&protection, 3).unwrap();
                let first = receiver.check(&protection, ID, &frame(&protection, start));
                assert_eq!(first, ReceptionStatus::Initial);
                receiver.check(&protection, ID, &frame(&protection, start + delta))
            };
            assert_eq!(after(0), ReceptionStatus::Repeated);
            assert_eq!(after(1), ReceptionStatus::Ok);
            assert_eq!(after(2), ReceptionStatus::SomeLost { lost: 1 });
            assert_eq!(after(3), ReceptionStatus::SomeLost { lost: 2 });
            for delta in [4, modulus - 1] {
                assert_eq!(after(delta), ReceptionStatus::WrongSequence { delta });
            }
            // A rate limit that lets each frame through after a whole round of the counter.
            assert_eq!(after(modulus), ReceptionStatus::Repeated);
        }
    }
}

/// A rate limit that lets each n-th frame through: what the receiver finds, and what it should.
#[test]
fn each_nth_frame_has_the_status_of_its_distance() {
    let settings = [&counted()[0], &counted()[1]];
    for settings in settings {
        let protection = Protection::new(*settings).unwrap();
        let modulus = protection.counter_field().unwrap().modulus;
        for n in 1..40 {
            let mut receiver = MessageReceiver::new(&protection, 3).unwrap();
            receiver.check(&protection, ID, &frame(&protection, 0));
            let expected = ReceptionStatus::from_distance(n % modulus, 3);
            for step in 1..20 {
                let payload = frame(&protection, step * n);
                assert_eq!(receiver.check(&protection, ID, &payload), expected);
            }
        }
    }
    // Signs of trouble that a receiver of profile 01 does not see, and one that it sees for ever.
    let status = |n: u64| ReceptionStatus::from_distance(n % 15, 3);
    assert_eq!(status(16), ReceptionStatus::Ok);
    assert_eq!(status(15), ReceptionStatus::Repeated);
    assert_eq!(status(4), ReceptionStatus::WrongSequence { delta: 4 });
}

#[test]
fn after_a_wrong_sequence_the_new_one_counts() {
    for settings in counted() {
        let protection = Protection::new(settings).unwrap();
        let mut receiver = MessageReceiver::new(&protection, 1).unwrap();
        let mut check = |counter| receiver.check(&protection, ID, &frame(&protection, counter));
        assert_eq!(check(3), ReceptionStatus::Initial);
        assert_eq!(check(9), ReceptionStatus::WrongSequence { delta: 6 });
        assert_eq!(check(10), ReceptionStatus::Ok);
        receiver.restart();
        assert_eq!(receiver.last_counter(), None);
        let late = receiver.check(&protection, ID, &frame(&protection, 3));
        assert_eq!(late, ReceptionStatus::Initial);
    }
}

#[test]
fn a_wrong_frame_does_not_advance_the_sequence() {
    let protection = Protection::new(counted()[2]).unwrap();
    let mut receiver = MessageReceiver::new(&protection, 1).unwrap();
    receiver.check(&protection, ID, &frame(&protection, 1));
    let mut wrong = frame(&protection, 2);
    wrong[9] ^= 4;
    let status = receiver.check(&protection, ID, &wrong);
    assert_eq!(
        status,
        ReceptionStatus::Wrong(ReceptionFault::WrongChecksum)
    );
    assert!(!status.is_accepted());
    let short = receiver.check(&protection, ID, &[0; 2]);
    assert_eq!(short.kind(), ReceptionKind::TooShort);
    let right = receiver.check(&protection, ID, &frame(&protection, 2));
    assert_eq!(right, ReceptionStatus::Ok);
}

#[test]
fn a_message_without_a_counter_has_no_sequence() {
    let settings = ProtectionSettings::Crc16(Crc16Settings::default());
    let protection = Protection::new(settings).unwrap();
    let mut payload = [0; 8];
    let sent = protection.protect(ID, &mut payload, CounterSource::Keep);
    assert_eq!(sent, Ok(None));
    let mut receiver = MessageReceiver::new(&protection, 0).unwrap();
    for _ in 0..3 {
        assert_eq!(
            receiver.check(&protection, ID, &payload),
            ReceptionStatus::Ok
        );
    }
}

#[test]
fn max_delta_is_below_the_number_of_counters() {
    let protection = Protection::new(counted()[0]).unwrap();
    assert!(MessageReceiver::new(&protection, 14).is_ok());
    for found in [0, 15] {
        let error = MessageReceiver::new(&protection, found).unwrap_err();
        let expected = SettingsError::Range {
            setting: "max_delta",
            found: found.into(),
            least: 1,
            most: 14,
        };
        assert_eq!(error, expected);
    }
    let error = MessageReceiver::new(&protection, 15).unwrap_err();
    assert_eq!(
        error.to_string(),
        "max_delta is 15: 1 to 14 are possible here"
    );
}

#[test]
fn kinds_have_their_numbers_and_names() {
    for (index, kind) in ReceptionKind::ALL.into_iter().enumerate() {
        assert_eq!(kind.index(), index);
        let of_name = |other: &&ReceptionKind| other.name() == kind.name();
        assert_eq!(ReceptionKind::ALL.iter().filter(of_name).count(), 1);
    }
}

const OK: ReceptionStatus = ReceptionStatus::Ok;
const WRONG: ReceptionStatus = ReceptionStatus::Wrong(ReceptionFault::WrongChecksum);

fn limits(size: u8, min_ok: u8, max_errors: u8) -> WindowLimits {
    WindowLimits {
        size,
        min_ok,
        max_errors,
    }
}

fn window_settings(clears: bool) -> WindowSettings {
    WindowSettings {
        init: limits(3, 2, 1),
        valid: limits(4, 1, 1),
        invalid: limits(3, 3, 0),
        clears,
    }
}

/// Returns the states after each of these statuses; `None` is the absence of a frame.
fn states(settings: WindowSettings, statuses: &[Option<ReceptionStatus>]) -> Vec<ChannelState> {
    let mut window = ChannelWindow::new(settings).unwrap();
    assert_eq!(window.state(), ChannelState::NoData);
    let step = |status: &Option<ReceptionStatus>| match status {
        Some(status) => window.add(status),
        None => window.add_absence(),
    };
    statuses.iter().map(step).collect()
}

#[test]
fn a_communication_becomes_valid_and_invalid() {
    use ChannelState::{Init, Invalid, NoData, Valid};
    let sequence = [
        (None, NoData),
        (Some(WRONG), NoData),
        (Some(ReceptionStatus::Initial), Init),
        (Some(OK), Init),
        (Some(WRONG), Init),
        (Some(ReceptionStatus::SomeLost { lost: 1 }), Valid),
        // Valid looks at four frames, of which one may be wrong.
        (Some(OK), Valid),
        (Some(ReceptionStatus::Repeated), Valid),
        (Some(WRONG), Valid),
        (Some(WRONG), Invalid),
        (Some(OK), Invalid),
        (Some(OK), Invalid),
        (Some(OK), Valid),
        // One right frame among four keeps it valid.
        (None, Valid),
        (None, Valid),
        (Some(ReceptionStatus::WrongSequence { delta: 9 }), Valid),
        (None, Invalid),
    ];
    let statuses = sequence.map(|(status, _)| status);
    assert_eq!(
        states(window_settings(false), &statuses),
        sequence.map(|(_, state)| state)
    );
}

#[test]
fn too_many_errors_make_it_invalid_before_it_was_valid() {
    use ChannelState::{Init, Invalid};
    let statuses = [ReceptionStatus::Initial, WRONG, WRONG].map(Some);
    let expected = [Init, Init, Invalid];
    assert_eq!(states(window_settings(true), &statuses), expected);
}

/// With `clears`, the right frames before the change do not help to become valid again.
#[test]
fn clearing_forgets_the_frames_before_invalid() {
    let settings = |clears| WindowSettings {
        init: limits(4, 1, 0),
        valid: limits(4, 1, 0),
        invalid: limits(4, 1, 0),
        clears,
    };
    let mut statuses = vec![ReceptionStatus::Initial, OK, WRONG];
    statuses.push(OK);
    let statuses: Vec<_> = statuses.into_iter().map(Some).collect();
    let last = |clears| *states(settings(clears), &statuses).last().unwrap();
    // Without, the wrong frame is still among the last four.
    assert_eq!(last(false), ChannelState::Invalid);
    assert_eq!(last(true), ChannelState::Valid);
}

#[test]
fn impossible_windows_are_refused() {
    let possible = window_settings(false);
    assert!(ChannelWindow::new(possible).is_ok());
    let error = |change: fn(&mut WindowSettings)| {
        let mut settings = possible;
        change(&mut settings);
        ChannelWindow::new(settings).unwrap_err().to_string()
    };
    assert_eq!(
        error(|settings| settings.valid.size = 65),
        "valid.size is 65: 1 to 64 are possible here"
    );
    assert_eq!(
        error(|settings| settings.init.size = 5),
        "init.size is 5: 1 to 4 are possible here"
    );
    assert_eq!(
        error(|settings| settings.invalid.max_errors = 2),
        "invalid.max_errors is 2: 0 to 1 are possible here"
    );
    assert_eq!(
        error(|settings| settings.invalid.min_ok = 1),
        "invalid.min_ok is 1: 2 to 3 are possible here"
    );
    assert_eq!(
        error(|settings| settings.valid.min_ok = 0),
        "valid.min_ok is 0: 1 to 3 are possible here"
    );
}

/// The state machine with lists instead of bits.
struct SlowWindow {
    settings: WindowSettings,
    state: ChannelState,
    /// The last frames, the newest first: +1 ok, −1 error, 0 neither.
    last: Vec<i8>,
}

impl SlowWindow {
    fn add(&mut self, mark: i8) -> ChannelState {
        if self.state == ChannelState::NoData {
            if mark >= 0 {
                self.state = ChannelState::Init;
            }
            return self.state;
        }
        self.last.insert(0, mark);
        let limits = match self.state {
            ChannelState::Init => self.settings.init,
            ChannelState::Valid => self.settings.valid,
            _ => self.settings.invalid,
        };
        let seen: Vec<i8> = self.last.iter().copied().take(limits.size.into()).collect();
        let count = |wanted| seen.iter().filter(|mark| **mark == wanted).count();
        let is_wrong = count(-1) > usize::from(limits.max_errors);
        let is_right = !is_wrong && count(1) >= usize::from(limits.min_ok);
        let next = match (self.state, is_right, is_wrong) {
            (_, true, _) => ChannelState::Valid,
            (ChannelState::Init, _, false) => ChannelState::Init,
            _ => ChannelState::Invalid,
        };
        if next != self.state {
            self.last = seen;
            if next == ChannelState::Invalid && self.settings.clears {
                self.last.clear();
            }
            self.state = next;
        }
        next
    }
}

#[test]
fn windows_of_all_sizes_are_those_of_lists() {
    let mut random = RandomSource::new(3);
    let mut changes = 0;
    let mut possible = 0;
    while possible < 500 {
        let mut draw = |most: u16| random.below(most) as u8;
        let mut one = |size: u8| limits(1 + draw(size.into()), draw(10), draw(6));
        let settings = WindowSettings {
            valid: one(64),
            init: one(12),
            invalid: one(12),
            clears: random.below(2) == 0,
        };
        let Ok(mut window) = ChannelWindow::new(settings) else {
            continue;
        };
        possible += 1;
        let mut slow = SlowWindow {
            settings,
            state: ChannelState::NoData,
            last: Vec::new(),
        };
        // Times with few and with many errors.
        let mut wrong = 1;
        for step in 0..400 {
            if step % 40 == 0 {
                wrong = 1 + random.below(9);
            }
            let mark = match random.below(20) {
                number if number < wrong => -1,
                19 => 0,
                _ => 1,
            };
            let before = window.state();
            let state = match mark {
                1 => window.add(&OK),
                0 => window.add(&ReceptionStatus::Repeated),
                _ => window.add(&WRONG),
            };
            assert_eq!(state, slow.add(mark), "{settings:?}");
            changes += usize::from(before != state);
        }
    }
    assert!(changes > 2000, "{changes}");
}
