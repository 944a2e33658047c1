//! `[e2e.NAME]`: end-to-end protections, which routes name by `verify` and `protect`.

use super::keys::RouteKeys;
use crate::text::ids;
use crate::{ProtectionCounter, RouteProtection, RouteVerification, WrongFrames};
use ::config::read::{self, by};
use ::config::{
    Diagnostic, Diagnostics, KeySpec, SpannedValue, TomlTable, TomlValue, ValueShape, did_you_mean,
};
use ::e2e::{
    MakeName, MessageReceiver, PayloadField, ProfileName, Protection, ProtectionSettings,
    SettingsError, SumCommon, SumCounter,
};
use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};
use core::cell::Cell;
use core::ops::Range;
use frame::CanId;

/// The last byte of the longest payload.
const LAST: u16 = frame::dlc::XL_MAX as u16 - 1;

const ON_WRONG: [(&str, WrongFrames); 2] = [
    ("drop", WrongFrames::Drop),
    ("forward", WrongFrames::Forward),
];

const COUNTERS: [(&str, ProtectionCounter); 2] = [
    ("keep", ProtectionCounter::Keep),
    ("own", ProtectionCounter::Own),
];

::config::settings! {
    /// The keys of a protection.
    struct ProtectionKeys {
        /// A profile of AUTOSAR (`"P01"`, `"P01 nibble"`, `"P02"`, `"P04"` to `"P08"`, `"P11"`,
        /// `"P22"`), or the name of a make for its checksum (`"toyota"`; see
        /// [the list](e2e.md#checksums-of-makes)).
        profile: Option<SpannedValue<String>> = None => by(|| ValueShape::Text, spanned),
            value "name", default "required", needed "add `profile = \"P01\"`", not "type" "kind" "scheme";
        /// The Data ID. Not of profiles 02 and 22, and of makes.
        data_id: Option<u32> = None => number(i64::from(u32::MAX)), value "number, or hex in quotes",
            default "none", not "dataid" "id_data";
        /// The Data IDs of profiles 02 and 22 by the value of the counter: 16 bytes in hex, or one
        /// for all.
        data_ids: Option<Vec<u8>> = None => read::hex(), default "none",
            not "data_id_list" "ids" "dataids";
        /// The first byte of the header.
        offset: u16 = 0 => read::integer(0..=LAST), not "start" "header";
        /// The number of protected bytes.
        length: Option<u16> = None => read::integer(1..=LAST + 1), default "all", not "len" "size";
        /// The CAN ID, for makes whose checksum has constants by the message.
        id: Option<CanId> = None => by(|| ValueShape::Text, can_id), value "ID", default "none",
            not "can_id" "message";
        /// The byte of the checksum, for makes whose messages have it at different places.
        checksum: Option<u16> = None => read::integer(0..=LAST), default "none",
            not "crc" "result" "sum";
        /// The checksum is in the high half of its byte (PSA).
        high_half: bool = false => read::boolean(), not "high_nibble";
        /// The counter of a make's message, so that lost and repeated frames are noticed.
        make_counter: Option<SumCounter> = None => read::table(CounterKeys::key_specs, counter),
            value "table", default "none";
        /// The greatest distance of a frame's counter from that of the last frame
        /// (`MaxDeltaCounter`): with 1, no frame may be lost.
        max_delta: u32 = 1 => read::integer(1..=u32::MAX), not "max_delta_counter" "maxdelta";
        /// The treatment of frames that are wrong, repeated or out of sequence by `verify`: they
        /// are dropped, or counted and sent.
        on_wrong: WrongFrames = WrongFrames::Drop => read::words(&ON_WRONG),
            default "`\"drop\"`", not "on_error" "wrong";
        /// The counter that `protect` writes: that of the received frame, or one of the route,
        /// which has one step for each frame that it sends.
        counter: ProtectionCounter = ProtectionCounter::Keep => read::words(&COUNTERS),
            default "`\"keep\"`", not "counter_source";
    }
}

::config::settings! {
    /// The keys of `make_counter`.
    struct CounterKeys {
        /// Its least significant bit: eight times the byte's index, plus the number of the bit.
        bit: Option<u16> = None => read::integer(0..=LAST), default "required", needed "";
        /// The number of bits, within one byte.
        bits: u8 = 4 => read::integer(1..=8u8);
        /// The number of values: from 0 to one less.
        values: Option<u16> = None => read::integer(2..=256u16), default "all that the bits have";
    }
}

/// Returns the keys of a protection.
#[must_use]
pub fn keys() -> Vec<KeySpec> {
    ProtectionKeys::key_specs()
}

fn spanned(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<SpannedValue<String>> {
    Some(value.string(found)?.map(ToOwned::to_owned))
}

fn can_id(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<CanId> {
    Some(CanId::from_raw(ids::read(value, ids::id, found)?.raw()))
}

/// A number, or hex digits in quotes.
fn number<'t>(most: i64) -> impl read::ReadKey<'t, Value = u32> {
    by(
        move || ValueShape::Any(vec![ValueShape::Integer(0..=most), ValueShape::Text]),
        move |value: &TomlValue<'_>, found: &mut Diagnostics| {
            let Some(text) = value.as_str() else {
                return u32::try_from(value.integer(0..=most, found)?.value).ok();
            };
            let number = u32::from_str_radix(text, 16);
            if number.is_err() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                let message = format!("`{}`: `{text}` is not a number in hex", value.name());
                value.wrong(message, "write hex digits, such as \"0A0B\"", found);
                return None;
            }
            number.ok()
        },
    )
}

fn counter(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> SumCounter {
    let keys = CounterKeys::read(table, found);
    SumCounter {
        bit: keys.bit.unwrap_or(0),
        bits: keys.bits,
        modulus: keys.values.unwrap_or(1 << keys.bits),
    }
}

/// A protection of the file.
struct NamedProtection {
    name: String,
    span: Range<usize>,
    /// `None` if it has mistakes.
    protection: Option<CheckedProtection>,
    /// Whether a route names it.
    is_used: Cell<bool>,
}

/// A protection without mistakes.
#[derive(Clone, Copy)]
struct CheckedProtection {
    settings: ProtectionSettings,
    max_delta: u32,
    on_wrong: WrongFrames,
    counter: ProtectionCounter,
}

/// The protections of a file.
pub(super) struct ProtectionTables {
    all: Vec<NamedProtection>,
}

impl ProtectionTables {
    /// Reads all `[e2e.NAME]` of the top table.
    pub(super) fn parse(root: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let tables = root.get("e2e");
        let tables = tables.and_then(|value| value.table("[e2e]", found));
        let tables = tables.map(|table| table.all()).unwrap_or_default();
        let all = tables.into_iter().map(|(name, value)| NamedProtection {
            name: name.value.to_owned(),
            span: name.span.clone(),
            protection: protection(&name, &value, found),
            is_used: Cell::new(false),
        });
        Self { all: all.collect() }
    }

    /// Finds the protection of this name; reports an unknown one.
    fn find(
        &self,
        name: &SpannedValue<String>,
        found: &mut Diagnostics,
    ) -> Option<&NamedProtection> {
        let named = self.all.iter().find(|one| one.name == name.value);
        match named {
            Some(named) => named.is_used.set(true),
            None => {
                let message = format!("there is no protection `{}`", name.value);
                let hint = if self.all.is_empty() {
                    format!("describe it in a table [e2e.{}]", name.value)
                } else {
                    did_you_mean(&name.value, self.all.iter().map(|one| one.name.as_str()))
                };
                found.push(Diagnostic::error(name.span.clone(), message).hint(hint));
            }
        }
        named
    }

    /// Warns of protections that no route names.
    pub(super) fn warn_of_unused(&self, found: &mut Diagnostics) {
        for one in self.all.iter().filter(|one| !one.is_used.get()) {
            let message = format!("no route uses the protection `{}`", one.name);
            let hint = format!(
                "add `verify = \"{0}\"` or `protect = \"{0}\"` to a route",
                one.name
            );
            found.push(Diagnostic::warning(one.span.clone(), message).hint(hint));
        }
    }
}

/// Returns the protections that a route names.
pub(super) fn of_route(
    keys: &RouteKeys<'_>,
    protections: &ProtectionTables,
    found: &mut Diagnostics,
) -> (Option<RouteVerification>, Option<RouteProtection>) {
    let mut named = |name: &Option<SpannedValue<String>>| {
        let one = protections.find(name.as_ref()?, found)?;
        Some((one.name.clone(), one.protection?))
    };
    let verify = named(&keys.verify);
    let protect = named(&keys.protect);
    let verify = verify.map(|(name, checked)| RouteVerification {
        name,
        settings: checked.settings,
        max_delta: checked.max_delta,
        on_wrong: checked.on_wrong,
    });
    let protect = protect.map(|(name, checked)| RouteProtection {
        name,
        settings: checked.settings,
        counter: checked.counter,
    });
    (verify, protect)
}

fn protection(
    name: &SpannedValue<&str>,
    value: &TomlValue<'_>,
    found: &mut Diagnostics,
) -> Option<CheckedProtection> {
    let mut table = value.table(format!("protection `{}`", name.value), found)?;
    let keys = ProtectionKeys::read(&mut table, found);
    let settings = settings(&keys, &table, found);
    let settings = settings.and_then(|settings| {
        let checked = Protection::new(settings);
        let checked =
            checked.and_then(|one| MessageReceiver::new(&one, keys.max_delta).map(|_| ()));
        match checked {
            Ok(()) => Some(settings),
            Err(error) => {
                let message = format!("protection `{}`: {error}", name.value);
                found.push(Diagnostic::error(name.span.clone(), message));
                None
            }
        }
    });
    table.finish(found);
    Some(CheckedProtection {
        settings: settings?,
        max_delta: keys.max_delta,
        on_wrong: keys.on_wrong,
        counter: keys.counter,
    })
}

/// Returns the settings of the profile or the make.
fn settings(
    keys: &ProtectionKeys,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) -> Option<ProtectionSettings> {
    let profile = keys.profile.as_ref()?;
    match profile.value.parse::<MakeName>() {
        Ok(make) => of_make(make, keys, table, found),
        Err(_) => {
            for key in ["id", "checksum", "high_half", "make_counter"] {
                if table.has(key) {
                    let message =
                        format!("`{key}` is for makes, and {} is a profile", profile.value);
                    table.wrong(key, message, "leave it out", found);
                }
            }
            of_profile(profile, keys, table, found)
        }
    }
}

fn of_profile(
    profile: &SpannedValue<String>,
    keys: &ProtectionKeys,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) -> Option<ProtectionSettings> {
    let known = match ProfileName::parse(&profile.value) {
        Ok(known) => known,
        Err(error) => {
            if error != SettingsError::ProfileName {
                let message = format!("`{}`: {error}", profile.value);
                let diagnostic = Diagnostic::error(profile.span.clone(), message);
                let hint = "leave `verify` and `protect` out: the frames then pass as they are";
                found.push(match error {
                    SettingsError::NoExample { .. } => diagnostic.hint(hint),
                    _ => diagnostic,
                });
                return None;
            }
            let message = format!("`{}` is neither a profile nor a make", profile.value);
            let names: Vec<String> = ProfileName::ALL
                .iter()
                .map(|name| format!("{name}"))
                .collect();
            let makes = MakeName::ALL.iter().map(|make| make.name());
            let all = names.iter().map(String::as_str).chain(makes);
            let hint = did_you_mean(&profile.value, all.collect::<Vec<_>>());
            found.push(Diagnostic::error(profile.span.clone(), message).hint(hint));
            return None;
        }
    };
    let has_list = matches!(known, ProfileName::P02 | ProfileName::P22);
    let (needed, other, example) = if has_list {
        (
            "data_ids",
            "data_id",
            "`data_ids = \"000102030405060708090A0B0C0D0E0F\"`",
        )
    } else {
        ("data_id", "data_ids", "`data_id = \"0123\"`")
    };
    if table.has(other) {
        let message = format!("{known} has `{needed}`, not `{other}`");
        table.wrong(other, message, format!("write {example}"), found);
        return None;
    }
    let ids: Vec<u32> = match (&keys.data_id, &keys.data_ids) {
        (Some(id), None) => vec![*id],
        (None, Some(ids)) => ids.iter().map(|id| u32::from(*id)).collect(),
        _ => {
            if !table.has(needed) {
                table.missing(needed, &format!("add {example}"), found);
            }
            return None;
        }
    };
    match known.to_settings(&ids, keys.offset, keys.length) {
        Ok(settings) => Some(settings),
        Err(error) => {
            let message = format!("{known}: {error}");
            found.push(Diagnostic::error(profile.span.clone(), message));
            None
        }
    }
}

fn of_make(
    make: MakeName,
    keys: &ProtectionKeys,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) -> Option<ProtectionSettings> {
    for key in ["data_id", "data_ids", "offset"] {
        if table.has(key) {
            let message = format!("`{key}` is for profiles, and {make} is a make");
            table.wrong(key, message, "leave it out", found);
        }
    }
    let bits = make.checksum_bits();
    let is_of_half = bits.is_some_and(|bits| bits < 8);
    for (key, is_used) in [
        ("checksum", bits.is_some()),
        ("high_half", is_of_half),
        ("id", make.has_id()),
    ] {
        if table.has(key) && !is_used {
            let message = format!("`{key}` has no effect on the checksum of {make}");
            table.wrong(key, message, "leave it out", found);
        }
    }
    let half = if is_of_half && keys.high_half { 4 } else { 0 };
    let result = keys.checksum.zip(bits);
    let result = result
        .and_then(|(byte, bits)| PayloadField::within_byte(usize::from(byte) * 8 + half, bits));
    if make.has_id() && keys.id.is_none() {
        let hint = "add `id = \"123\"`: the checksum has a constant by the message";
        table.missing("id", hint, found);
        return None;
    }
    let common = SumCommon {
        length: keys.length,
        counter: keys.make_counter,
    };
    match make.to_settings(keys.id.unwrap_or_default(), result, common) {
        Ok(settings) => Some(settings),
        Err(error) => {
            let span = table.value_span("profile");
            let message = format!("{make}: {error}");
            let hint = "add `checksum = BYTE`, the byte of the checksum";
            found.push(Diagnostic::error(span, message).hint(hint));
            None
        }
    }
}
