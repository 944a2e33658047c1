//! End-to-end protection of messages: checksums and sequence counters in their payloads.
//!
//! * [`Protection`]: writes ([`Protection::protect`]) and checks ([`Protection::verify`]) the
//!   payloads of one message, by a profile of AUTOSAR or a checksum of a make
//!   ([`ProtectionSettings`]).
//! * [`MessageReceiver`]: compares the counters of the frames that are received; a
//!   [`ReceptionStatus`] for each.
//! * [`ChannelWindow`]: the state of a communication from these statuses.
//! * [`LinearForm`]: a checksum as tables.
//! * [`ProfileName`], [`MakeName`], [`MessageAttributes`]: settings by names, and from a database
//!   of messages.
//!
//! Nothing here allocates, reads a clock or depends on an operating system.
//!
//! ```
//! use e2e::{CounterSource, DataIdMode, MessageReceiver, P01Settings, Protection};
//! use e2e::{ProtectionSettings, ReceptionStatus, SendingCounter};
//! use frame::CanId;
//!
//! let settings = P01Settings::new(0x123, DataIdMode::Both, 0);
//! let protection = Protection::new(ProtectionSettings::P01(settings)).unwrap();
//! let id = CanId::sff(0x100).unwrap();
//!
//! let mut payload = [0; 8];
//! let mut counter = SendingCounter::new(&protection);
//! protection.protect(id, &mut payload, CounterSource::Own(&mut counter)).unwrap();
//! assert_eq!(payload[0], 0xCC);
//!
//! let mut receiver = MessageReceiver::new(&protection, 2).unwrap();
//! assert_eq!(receiver.check(&protection, id, &payload), ReceptionStatus::Initial);
//! assert_eq!(receiver.check(&protection, id, &payload), ReceptionStatus::Repeated);
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
extern crate std;

mod crc;
mod error;
mod field;
mod linear;
mod makes;
mod names;
mod profiles;
mod protection;
mod receiver;
mod scheme;
mod settings;
mod window;

pub use crc::CrcParameters;
pub use error::{ReceptionFault, SettingsError};
pub use field::{ByteOrder, PayloadField};
pub use linear::LinearForm;
pub use makes::crc8_sum::Crc8Settings;
pub use makes::crc16_sum::Crc16Settings;
pub use makes::name::MakeName;
pub use makes::nibble_sum::NibbleSumSettings;
pub use makes::sum8::Sum8Settings;
pub use makes::xor_sum::XorSumSettings;
pub use makes::{BytePlace, SumCommon, SumCounter};
pub use names::{MessageAttributes, ProfileName, SignalPlace};
pub use profiles::p01::{DataIdMode, P01Settings};
pub use profiles::p02::P02Settings;
pub use profiles::p04::{MethodFields, P04Settings, P04mSettings};
pub use profiles::p05::P05Settings;
pub use protection::{CounterSource, Protection, SendingCounter};
pub use receiver::{MessageReceiver, ReceptionKind, ReceptionStatus};
pub use scheme::CounterField;
pub use settings::ProtectionSettings;
pub use window::{ChannelState, ChannelWindow, WindowLimits, WindowSettings};
