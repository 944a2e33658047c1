//! Protected payloads with settings of all kinds: writing must give what the slow implementation
//! gives, and what is found right must be what writing would give.

use crate::Target;
use crate::bytes::ByteSource;
use e2e::{
    CounterSource, LinearForm, MessageReceiver, ProfileName, Protection, ReceptionStatus,
    SendingCounter,
};
use frame::CanId;

#[path = "../../../crates/e2e/tests/reference/mod.rs"]
mod reference;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "protection",
    run,
    words: &[
        "P01 nibble",
        "PROFILE_05",
        "1C",
        "\0\0\0\0\0\0\0\0",
        "\u{1}",
    ],
};

fn run(input: &[u8]) {
    let mut bytes = ByteSource::new(input);
    let room = u16::from(bytes.below(70));
    let settings = reference::draw::draw_settings(room, &mut || bytes.word());
    match Protection::new(settings) {
        Ok(protection) => protect(&protection, &mut bytes),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(text) = std::str::from_utf8(input)
        && let Ok(profile) = ProfileName::parse(text)
    {
        assert_eq!(ProfileName::parse(&profile.to_string()), Ok(profile));
    }
}

fn protect(protection: &Protection, bytes: &mut ByteSource<'_>) {
    let id = CanId::from_raw(bytes.word());
    let mut own = SendingCounter::from_value(bytes.word());
    let max_delta = u32::from(bytes.byte());
    let mut payload = bytes.rest().to_vec();
    payload.truncate(300);
    let settings = protection.settings();
    // As received: right if, and only if, writing it anew would change nothing.
    let received = protection.verify(id, &payload);
    let mut kept = payload.clone();
    match protection.protect(id, &mut kept, CounterSource::Keep) {
        Ok(counter) => {
            assert_eq!(received == Ok(counter), kept == payload, "{settings:?}");
            let len = protection
                .protected_length(payload.len())
                .expect("it is protected");
            let mut slow = payload.clone();
            if let Some(slow) = slow.get_mut(..len) {
                reference::protect(settings, id, slow);
            }
            assert_eq!(kept, slow, "{settings:?}");
        }
        Err(_) => {
            assert!(received.is_err(), "{settings:?}");
            assert_eq!(kept, payload);
        }
    }
    let Ok(sent) = protection.protect(id, &mut payload, CounterSource::Own(&mut own)) else {
        return;
    };
    assert_eq!(protection.verify(id, &payload), Ok(sent), "{settings:?}");
    if let Ok(mut receiver) = MessageReceiver::new(protection, max_delta) {
        let status = receiver.check(protection, id, &payload);
        assert_eq!(sent.is_some(), status == ReceptionStatus::Initial);
        assert_eq!(receiver.last_counter(), sent);
        let again = receiver.check(protection, id, &payload);
        assert_eq!(sent.is_some(), again == ReceptionStatus::Repeated);
    }
    if let Some(form) = LinearForm::new(protection, id, payload.len()) {
        let terms = payload.iter().enumerate();
        let terms = terms.map(|(place, byte)| form.term(place, *byte));
        let sum = terms.fold(form.constant(), |sum, term| sum ^ term);
        assert_eq!(Ok(sum), protection.compute(id, &payload), "{settings:?}");
    }
}
