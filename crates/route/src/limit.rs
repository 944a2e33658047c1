//! Rate limits: token buckets as a virtual schedule (GCRA, ITU-T I.371), in integers.
//!
//! A bucket is one number, the time at which it will be full again. Times are counted in units of
//! 1/`frames` ns, so that the interval between frames, `per / frames`, is a whole number and no
//! drift accumulates, even over a long time.

use crate::RateLimit;
use alloc::vec::Vec;
use frame::{CanId, Nanos};

/// A compiled [`RateLimit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CompiledLimit {
    frames: u32,
    per: Nanos,
    burst: u32,
    /// Number of buckets for single IDs; 0 for one bucket for all IDs.
    pub(crate) per_id: u32,
}

impl CompiledLimit {
    pub(crate) const fn new(limit: &RateLimit) -> Self {
        Self {
            frames: limit.frames,
            per: limit.per,
            burst: limit.burst,
            per_id: match limit.per_id {
                Some(ids) => ids,
                None => 0,
            },
        }
    }
}

/// The time at which the bucket is full again, in units of 1/`frames` ns. Zero: full from the
/// start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct TokenBucket(u128);

impl TokenBucket {
    /// Takes a frame at `now` if the limit allows one, and returns whether it did.
    fn take(&mut self, limit: &CompiledLimit, now: Nanos) -> bool {
        // Below 2^96 each: u64 times u32.
        let now = u128::from(now) * u128::from(limit.frames);
        let per = u128::from(limit.per);
        let depth = per * u128::from(limit.burst);
        // A later time than that occurs only after the clock was set back: the bucket then counts
        // as empty, but not as more than empty.
        let full = self.0.min(now + depth).max(now);
        let after = full + per;
        let allowed = after <= now + depth;
        self.0 = if allowed { after } else { full };
        allowed
    }
}

/// The buckets of one route.
#[derive(Clone, Debug)]
pub(crate) struct RouteBuckets {
    /// The route's bucket, or the one that is shared by IDs without a bucket of their own.
    shared: TokenBucket,
    /// Hash table by ID with open addressing, at most half full; empty without `per_id`.
    slots: Vec<Option<(u32, TokenBucket)>>,
    free: u32,
}

impl RouteBuckets {
    pub(crate) fn new(limit: &CompiledLimit) -> Self {
        let slots = match limit.per_id {
            0 => 0,
            ids => (ids as usize * 2).next_power_of_two(),
        };
        Self {
            shared: TokenBucket::default(),
            slots: alloc::vec![None; slots],
            free: limit.per_id,
        }
    }

    /// Returns whether a frame with this ID may pass at `now`, and takes it from the bucket.
    pub(crate) fn take(&mut self, limit: &CompiledLimit, id: CanId, now: Nanos) -> bool {
        self.find_or_add(key(id)).take(limit, now)
    }

    fn find_or_add(&mut self, id: u32) -> &mut TokenBucket {
        if self.slots.is_empty() {
            return &mut self.shared;
        }
        let last = self.slots.len() - 1;
        let mut at = (id.wrapping_mul(0x9E37_79B1) >> 7) as usize & last;
        // Half of the slots stay empty, so this loop ends.
        while let Some(Some((of, _))) = self.slots.get(at) {
            if *of == id {
                break;
            }
            at = (at + 1) & last;
        }
        match self.slots.get_mut(at) {
            Some(Some((_, bucket))) => bucket,
            Some(empty) if self.free > 0 => {
                self.free -= 1;
                &mut empty.insert((id, TokenBucket::default())).1
            }
            _ => &mut self.shared,
        }
    }
}

/// Returns one key for each identifier: a remote frame shares its data frame's bucket.
fn key(id: CanId) -> u32 {
    (id.raw() & (CanId::EFF_FLAG | CanId::ERR_FLAG)) | id.number()
}
