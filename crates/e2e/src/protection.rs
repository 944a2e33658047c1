//! Writing and checking of protected payloads.

use crate::crc::CrcParameters;
use crate::error::{ReceptionFault, SettingsError};
use crate::field::PayloadField;
use crate::profiles::check_range;
use crate::scheme::{ConstantKind, CounterField};
use crate::settings::ProtectionSettings;
use frame::CanId;

/// The greatest number of protected bytes: the payload of CAN XL.
const MAX_LENGTH: u64 = 2048;

/// The protection of one message, with settings that were checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Protection {
    settings: ProtectionSettings,
    /// The least length of a payload, in bytes.
    least: usize,
}

/// The counter of a payload that is protected.
#[derive(Debug)]
pub enum CounterSource<'a> {
    /// The payload's own counter stays as it is.
    Keep,
    /// The counter of a sender, which advances. A message without a counter leaves it unchanged.
    Own(&'a mut SendingCounter),
}

/// The counter of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendingCounter {
    next: u32,
}

impl SendingCounter {
    /// Creates a counter that begins as the protection's profile has it.
    #[must_use]
    pub fn new(protection: &Protection) -> Self {
        let counter = protection.counter_field();
        Self::from_value(counter.map_or(0, |counter| counter.first))
    }

    /// Creates a counter with this value for the next frame.
    #[must_use]
    pub const fn from_value(next: u32) -> Self {
        Self { next }
    }
}

impl Protection {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`SettingsError`]: the setting, and what is possible.
    pub fn new(settings: ProtectionSettings) -> Result<Self, SettingsError> {
        let least = settings.with_scheme(|scheme| {
            scheme.check()?;
            let constants = scheme.constants(1);
            let constants = constants.iter().flatten();
            let counter = scheme.counter().map(|counter| counter.field);
            let others = constants
                .map(|constant| (constant.name(), constant.field))
                .chain(counter.map(|field| ("the counter", field)));
            // The last byte of a payload lies behind the other fields, unless it has room for them.
            let end = others.clone().map(|(_, field)| field.end()).max();
            let end = end.unwrap_or_default().max(1);
            let overlap = |len| {
                let result = scheme.result(len);
                let mut others = others.clone();
                others.find(|(_, field)| field.overlaps(&result))
            };
            let mut needed = end.max(scheme.result(end).end());
            if overlap(needed).is_some() && scheme.result(needed) != scheme.result(needed + 1) {
                needed += 1;
            }
            if let Some(length) = scheme.length() {
                check_range("length", u64::from(length), 1, MAX_LENGTH)?;
                let found = usize::from(length);
                if found < needed {
                    return Err(SettingsError::Length { found, needed });
                }
            }
            let most = MAX_LENGTH as usize;
            if needed > most {
                let (found, needed) = (most, needed);
                return Err(SettingsError::Length { found, needed });
            }
            if let Some((one, _)) = overlap(needed) {
                let other = "the checksum";
                return Err(SettingsError::Overlap { one, other });
            }
            for (index, (one, field)) in others.clone().enumerate() {
                let mut rest = others.clone().skip(index + 1);
                if let Some((other, _)) = rest.find(|(_, other)| other.overlaps(&field)) {
                    return Err(SettingsError::Overlap { one, other });
                }
            }
            Ok(needed)
        })?;
        Ok(Self { settings, least })
    }

    /// Returns the settings.
    #[must_use]
    pub const fn settings(&self) -> &ProtectionSettings {
        &self.settings
    }

    /// Writes counter, fields and checksum into the payload of a frame with this CAN ID, and
    /// returns its counter, if the message has one. Bytes behind the protected ones stay as they
    /// are.
    ///
    /// # Errors
    /// [`ReceptionFault::TooShort`], and [`ReceptionFault::InvalidCounter`] for a counter that is
    /// kept. The payload is then unchanged.
    pub fn protect(
        &self,
        id: CanId,
        payload: &mut [u8],
        counter: CounterSource<'_>,
    ) -> Result<Option<u32>, ReceptionFault> {
        let len = self.protected_length(payload.len())?;
        let data = payload.get_mut(..len).unwrap_or_default();
        self.settings.with_scheme(|scheme| {
            let field = scheme.counter();
            let value = match (&field, counter) {
                (Some(field), CounterSource::Keep) => Some(read_counter(field, data)?),
                (Some(field), CounterSource::Own(own)) => {
                    let value = (u64::from(own.next) % field.modulus) as u32;
                    field.field.write(data, u64::from(value));
                    own.next = field.next(value);
                    Some(value)
                }
                (None, _) => None,
            };
            for constant in scheme.constants(len).iter().flatten() {
                constant.field.write(data, constant.value);
            }
            let sum = scheme.compute(id, data);
            scheme.result(len).write(data, sum);
            Ok(value)
        })
    }

    /// Checks the payload of a frame with this CAN ID, and returns its counter, if the message has
    /// one. Bytes behind the protected ones are not looked at.
    ///
    /// # Errors
    /// [`ReceptionFault`]: the first reason, in this order: too short, length, checksum, Data ID,
    /// counter.
    pub fn verify(&self, id: CanId, payload: &[u8]) -> Result<Option<u32>, ReceptionFault> {
        let len = self.protected_length(payload.len())?;
        let data = payload.get(..len).unwrap_or_default();
        self.settings.with_scheme(|scheme| {
            let constants = scheme.constants(len);
            let (lengths, others) = (
                constants.iter().flatten().filter(|one| is_length(one.kind)),
                constants
                    .iter()
                    .flatten()
                    .filter(|one| !is_length(one.kind)),
            );
            for constant in lengths {
                constant.compare(data)?;
            }
            if scheme.result(len).read(data) != Some(scheme.compute(id, data)) {
                return Err(ReceptionFault::WrongChecksum);
            }
            for constant in others {
                constant.compare(data)?;
            }
            let counter = scheme.counter();
            counter.map(|field| read_counter(&field, data)).transpose()
        })
    }

    /// Returns the checksum that the payload of a frame with this CAN ID needs, with its other
    /// fields as they are.
    ///
    /// # Errors
    /// [`ReceptionFault::TooShort`].
    pub fn compute(&self, id: CanId, payload: &[u8]) -> Result<u64, ReceptionFault> {
        let len = self.protected_length(payload.len())?;
        let data = payload.get(..len).unwrap_or_default();
        Ok(self.settings.with_scheme(|scheme| scheme.compute(id, data)))
    }

    /// Returns the number of bytes that are protected in a payload of this length.
    ///
    /// # Errors
    /// [`ReceptionFault::TooShort`].
    pub fn protected_length(&self, len: usize) -> Result<usize, ReceptionFault> {
        let fixed = self.settings.with_scheme(|scheme| scheme.length());
        let needed = fixed.map_or(self.least, usize::from);
        if len < needed {
            return Err(ReceptionFault::TooShort { len, needed });
        }
        Ok(fixed.map_or(len, usize::from))
    }

    /// Returns the sequence counter, if the messages have one.
    #[must_use]
    pub fn counter_field(&self) -> Option<CounterField> {
        self.settings.with_scheme(|scheme| scheme.counter())
    }

    /// Returns the place of the checksum in a payload of this length; `None` if such a payload is
    /// too short.
    #[must_use]
    pub fn result_field(&self, len: usize) -> Option<PayloadField> {
        let len = self.protected_length(len).ok()?;
        Some(self.settings.with_scheme(|scheme| scheme.result(len)))
    }

    /// Returns the bits of this byte that the checksum covers in a payload of `len` bytes: a change
    /// of one of them makes the checksum stale.
    #[must_use]
    pub fn covered_bits(&self, len: usize, byte: usize) -> u8 {
        match self.protected_length(len) {
            Ok(protected) if byte < protected => !self.result_bits(len, byte),
            _ => 0,
        }
    }

    /// Returns the bits of this byte that are the checksum, in a payload of `len` bytes.
    #[must_use]
    pub fn result_bits(&self, len: usize, byte: usize) -> u8 {
        self.result_field(len).map_or(0, |field| field.mask(byte))
    }

    /// Returns the bits of this byte that [`Protection::protect`] writes into a payload of `len`
    /// bytes, with an own counter: checksum, counter, and the header's other fields.
    #[must_use]
    pub fn written_bits(&self, len: usize, byte: usize) -> u8 {
        let Ok(protected) = self.protected_length(len) else {
            return 0;
        };
        self.settings.with_scheme(|scheme| {
            let counter = scheme.counter().map(|counter| counter.field);
            let constants = scheme.constants(protected);
            let constants = constants.iter().flatten().map(|constant| constant.field);
            constants
                .chain(counter)
                .chain([scheme.result(protected)])
                .fold(0, |bits, field| bits | field.mask(byte))
        })
    }

    /// Returns whether the CAN ID takes part in the checksum: a frame whose ID a route changes
    /// needs another one.
    #[must_use]
    pub fn reads_id(&self) -> bool {
        self.settings.with_scheme(|scheme| scheme.reads_id())
    }

    /// Returns whether the length of the payload decides what is protected: a frame whose length a
    /// route changes needs another checksum. This is so unless the settings state the length.
    #[must_use]
    pub fn reads_length(&self) -> bool {
        self.settings
            .with_scheme(|scheme| scheme.length())
            .is_none()
    }

    /// Returns the greatest number of bytes for which the document of the profile specifies it, if
    /// it has such a limit. Longer payloads are protected in the same way, with less certainty
    /// against errors of several bits.
    #[must_use]
    pub fn length_limit(&self) -> Option<usize> {
        self.settings.with_scheme(|scheme| scheme.length_limit())
    }

    /// Returns the CRC that the checksum is, if it is one. Data ID and CAN ID enter before or
    /// behind the data; [`crate::LinearForm`] includes them.
    #[must_use]
    pub fn crc_parameters(&self) -> Option<CrcParameters> {
        self.settings.with_scheme(|scheme| scheme.crc())
    }

    /// Returns whether the checksum is a constant XOR one term for each byte.
    pub(crate) fn is_linear(&self) -> bool {
        self.settings.with_scheme(|scheme| scheme.is_linear())
    }
}

fn is_length(kind: ConstantKind) -> bool {
    kind == ConstantKind::Length
}

/// Returns the counter of the data.
fn read_counter(counter: &CounterField, data: &[u8]) -> Result<u32, ReceptionFault> {
    // A counter has 32 bits at most.
    let found = counter.field.read(data).unwrap_or_default() as u32;
    if u64::from(found) < counter.modulus {
        Ok(found)
    } else {
        Err(ReceptionFault::InvalidCounter { found })
    }
}
