//! The end-to-end protection that a database states for a message.

use e2e::{ByteOrder, MessageAttributes, Protection, SettingsError, SignalPlace};
use signals::MessageDefinition;

/// The reason why the attributes of a message make no protection.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum StatedProtectionError {
    /// The attributes name no profile.
    #[error("its database names no profile (attribute E2EProfile)")]
    NoProfile,
    /// A Data ID is not a number.
    #[error("its Data ID `{0}` is not a number (attribute E2EDataId)")]
    DataId(String),
    /// The profile is unknown, or the attributes do not fit it.
    #[error("{0}")]
    Settings(SettingsError),
}

/// Returns the protection that the attributes of a message state; `None` if it has no such
/// attributes.
///
/// # Errors
/// [`StatedProtectionError`]: the attributes make no protection that is known here.
pub fn stated_protection(
    message: &MessageDefinition,
) -> Option<Result<Protection, StatedProtectionError>> {
    let stated = message.e2e.as_ref()?;
    let place = |name: &Option<String>| {
        let name = name.as_ref()?;
        let signal = message.signals.iter().find(|signal| signal.name == *name)?;
        Some(SignalPlace {
            start: usize::from(signal.layout.start),
            bits: signal.layout.bits,
            order: match signal.layout.order {
                signals::ByteOrder::Intel => ByteOrder::LittleEndian,
                signals::ByteOrder::Motorola => ByteOrder::BigEndian,
            },
        })
    };
    let make = || {
        let profile = stated.profile.as_deref();
        let ids = stated.data_id.as_deref().unwrap_or_default();
        let ids = ids.split([',', ';', ' ']).filter(|id| !id.is_empty());
        let id = |id: &str| number(id).ok_or_else(|| StatedProtectionError::DataId(id.to_owned()));
        let ids: Vec<u32> = ids.map(id).collect::<Result<_, _>>()?;
        let attributes = MessageAttributes {
            profile: profile.ok_or(StatedProtectionError::NoProfile)?,
            data_ids: &ids,
            length: None,
            checksum: place(&stated.crc_signal),
            counter: place(&stated.counter_signal),
        };
        attributes
            .to_protection()
            .map_err(StatedProtectionError::Settings)
    };
    Some(make())
}

/// Reads a number as C writes it.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
