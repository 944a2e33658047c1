//! One number for each entry of a fixed list.

use core::fmt;
use core::marker::PhantomData;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A fixed list of reasons.
pub trait FateReason: Copy + 'static {
    /// All reasons, each at its own [`FateReason::index`].
    const ALL: &'static [Self];

    /// Returns its index in the list.
    fn index(self) -> usize;

    /// Returns its key in JSON.
    fn key(self) -> &'static str;
}

/// Number of frames for each of `N` reasons `K`. In JSON, it is an object with the reasons' keys,
/// in the order of the list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FateTally<K, const N: usize> {
    numbers: [u64; N],
    reasons: PhantomData<K>,
}

impl<K: FateReason, const N: usize> FateTally<K, N> {
    /// Counts one frame.
    #[inline]
    pub(crate) fn count(&mut self, why: K) {
        self.count_at(why.index());
    }

    /// Counts one frame to the reason with this [`FateReason::index`].
    #[inline]
    pub(crate) fn count_at(&mut self, index: usize) {
        if let Some(number) = self.numbers.get_mut(index) {
            *number += 1;
        }
    }

    /// Returns the number of frames of one reason.
    #[must_use]
    pub fn get(&self, why: K) -> u64 {
        self.numbers.get(why.index()).copied().unwrap_or(0)
    }

    /// Returns the number of all frames. 128 bits, because the numbers may come from untrusted
    /// JSON.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.numbers.iter().map(|&n| u128::from(n)).sum()
    }

    /// Returns each reason with its number, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        K::ALL.iter().copied().zip(self.numbers)
    }

    /// Returns whether no frame was counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.numbers.iter().all(|number| *number == 0)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (number, more) in self.numbers.iter_mut().zip(other.numbers) {
            *number += more;
        }
    }
}

/// Converts numbers in the order of the list.
impl<K, const N: usize> From<[u64; N]> for FateTally<K, N> {
    fn from(numbers: [u64; N]) -> Self {
        Self {
            numbers,
            reasons: PhantomData,
        }
    }
}

impl<K, const N: usize> Default for FateTally<K, N> {
    fn default() -> Self {
        Self::from([0; N])
    }
}

impl<K: FateReason, const N: usize> fmt::Debug for FateTally<K, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.iter().map(|(why, number)| (why.key(), number));
        f.debug_map().entries(entries).finish()
    }
}

impl<K: FateReason, const N: usize> Serialize for FateTally<K, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Tally", N)?;
        for (why, number) in self.iter() {
            fields.serialize_field(why.key(), &number)?;
        }
        fields.end()
    }
}

impl<'de, K: FateReason, const N: usize> Deserialize<'de> for FateTally<K, N> {
    /// Requires every reason exactly once; unknown keys are ignored.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TallyVisitor(PhantomData))
    }
}

struct TallyVisitor<K, const N: usize>(PhantomData<K>);

impl<'de, K: FateReason, const N: usize> Visitor<'de> for TallyVisitor<K, N> {
    type Value = FateTally<K, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number for each reason")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found: [Option<u64>; N] = [None; N];
        while let Some(ReasonKey(why)) = map.next_key::<ReasonKey<K>>()? {
            let Some(why) = why else {
                map.next_value::<serde::de::IgnoredAny>()?;
                continue;
            };
            let number = map.next_value()?;
            if let Some(slot) = found.get_mut(why.index())
                && slot.replace(number).is_some()
            {
                return Err(A::Error::duplicate_field(why.key()));
            }
        }
        let mut numbers = [0; N];
        for ((number, found), why) in numbers.iter_mut().zip(found).zip(K::ALL) {
            *number = found.ok_or_else(|| A::Error::missing_field(why.key()))?;
        }
        Ok(FateTally::from(numbers))
    }
}

/// The reason of a key; `None` for an unknown key.
struct ReasonKey<K>(Option<K>);

impl<'de, K: FateReason> Deserialize<'de> for ReasonKey<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReasonText<K>(PhantomData<K>);

        impl<K: FateReason> Visitor<'_> for ReasonText<K> {
            type Value = ReasonKey<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ReasonKey(
                    K::ALL.iter().find(|why| why.key() == text).copied(),
                ))
            }
        }

        deserializer.deserialize_identifier(ReasonText(PhantomData))
    }
}
