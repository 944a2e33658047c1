//! The numbers of the samples of one stream: what was lost, doubled, overtaken.
//!
//! Zenoh keeps the order of a publisher's samples on a path, and drops some where a link is slow or
//! absent. So a gap is lost at once, without waiting; a sample that comes after all, by another
//! path, is recognised among the last 64.

/// Number of the newest samples among which an older one is recognised.
const WINDOW: u32 = 64;

/// The numbers that a sample has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SampleNumber {
    /// The sample's own, modulo 2³².
    pub sample: u32,
    /// The frames that its stream had in the samples before it.
    pub before: u64,
    /// The frames in it; 0: it is a statement, and `sample` is that of the next sample.
    pub frames: u64,
}

/// The result of a comparison of a sample's numbers with the expected ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SampleArrival {
    /// It is newer than all before; this number of frames before it are lost.
    Newer(u64),
    /// It is older than one that arrived before, and its frames had counted as lost: leave it out,
    /// or frames of the same identifier would change their order.
    Overtaken,
    /// It arrived before, or is too old to be recognised: leave it out.
    Duplicate,
    /// A statement that newer samples have made void.
    Stale,
    /// Its numbers contradict those before.
    Contradiction,
}

/// The account of one stream.
#[derive(Clone, Debug)]
pub struct StreamAccount {
    /// The number of the next sample.
    next: u32,
    /// The frames before it.
    frames: u64,
    /// Bit n: the sample n + 1 before the next one has arrived, or is from before the first one.
    seen: u64,
}

impl StreamAccount {
    /// Begins with the first sample that arrives. The frames before it are not known to be lost:
    /// [`SampleNumber::before`] is their number.
    #[must_use]
    pub const fn new(first: SampleNumber) -> Self {
        Self {
            next: first.sample.wrapping_add((first.frames > 0) as u32),
            frames: first.before.saturating_add(first.frames),
            seen: u64::MAX,
        }
    }

    /// Records a sample.
    pub fn arrive(&mut self, number: SampleNumber) -> SampleArrival {
        let ahead = number.sample.wrapping_sub(self.next) as i32;
        if ahead < 0 {
            return self.arrive_late(ahead.unsigned_abs(), number.frames == 0);
        }
        let ahead = ahead.unsigned_abs();
        let Some(lost) = number.before.checked_sub(self.frames) else {
            return SampleArrival::Contradiction;
        };
        // Each sample has at least one frame.
        if (ahead == 0) != (lost == 0) || lost < u64::from(ahead) {
            return SampleArrival::Contradiction;
        }
        let Some(frames) = number.before.checked_add(number.frames) else {
            return SampleArrival::Contradiction;
        };
        let own = u32::from(number.frames > 0);
        self.seen = self.seen.checked_shl(ahead + own).unwrap_or(0) | u64::from(own);
        self.next = number.sample.wrapping_add(own);
        self.frames = frames;
        SampleArrival::Newer(lost)
    }

    fn arrive_late(&mut self, back: u32, is_statement: bool) -> SampleArrival {
        if is_statement {
            return SampleArrival::Stale;
        }
        let bit = if back <= WINDOW { 1 << (back - 1) } else { 0 };
        if bit == 0 || self.seen & bit != 0 {
            return SampleArrival::Duplicate;
        }
        self.seen |= bit;
        SampleArrival::Overtaken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn number(sample: u32, before: u64, frames: u64) -> SampleNumber {
        SampleNumber {
            sample,
            before,
            frames,
        }
    }

    #[test]
    fn gaps_are_frames() {
        let mut account = StreamAccount::new(number(0, 0, 2));
        assert_eq!(account.arrive(number(1, 2, 1)), SampleArrival::Newer(0));
        assert_eq!(account.arrive(number(4, 9, 1)), SampleArrival::Newer(6));
        assert_eq!(account.arrive(number(3, 7, 2)), SampleArrival::Overtaken);
        assert_eq!(account.arrive(number(3, 7, 2)), SampleArrival::Duplicate);
        assert_eq!(account.arrive(number(5, 10, 0)), SampleArrival::Newer(0));
        assert_eq!(account.arrive(number(7, 13, 0)), SampleArrival::Newer(3));
        assert_eq!(account.arrive(number(6, 13, 0)), SampleArrival::Stale);
        assert_eq!(account.arrive(number(7, 13, 1)), SampleArrival::Newer(0));
    }

    #[test]
    fn numbers_that_contradict_change_nothing() {
        let mut account = StreamAccount::new(number(u32::MAX, 5, 1));
        for wrong in [
            number(0, 5, 1),
            number(0, 7, 1),
            number(3, 6, 1),
            number(3, 8, 1),
            number(1, u64::MAX, 1),
        ] {
            assert_eq!(
                account.arrive(wrong),
                SampleArrival::Contradiction,
                "{wrong:?}"
            );
        }
        assert_eq!(account.arrive(number(0, 6, 1)), SampleArrival::Newer(0));
    }

    proptest! {
        /// Whatever a network leaves out, doubles and moves back by less than the window: each
        /// frame that was sent has one fate.
        #[test]
        fn sums_agree(
            sizes in prop::collection::vec(1_u64..5, 1..300),
            fates in prop::collection::vec((0_u8..4, 0_usize..20), 300)
        ) {
            let mut before = 0;
            let mut sent = Vec::new();
            for (index, frames) in sizes.iter().enumerate() {
                sent.push(number(index as u32, before, *frames));
                before += frames;
            }
            // The place of arrival of each copy: a copy can be up to 20 places late.
            let mut copies = Vec::new();
            for (index, (one, (fate, late))) in sent.iter().zip(&fates).enumerate() {
                match fate {
                    0 => {}
                    1 => copies.extend([(index, *one), (index + late, *one)]),
                    2 => copies.push((index + late, *one)),
                    _ => copies.push((index, *one)),
                }
            }
            copies.sort_by_key(|(place, _)| *place);
            copies.push((usize::MAX, number(sizes.len() as u32, before, 0)));
            let mut account = None;
            let (mut unseen, mut lost, mut taken, mut overtaken) = (0, 0, 0, 0);
            for (_, one) in copies {
                let Some(account) = &mut account else {
                    account = Some(StreamAccount::new(one));
                    (unseen, taken) = (one.before, one.frames);
                    continue;
                };
                match account.arrive(one) {
                    SampleArrival::Newer(gap) => {
                        lost += gap;
                        taken += one.frames;
                    }
                    SampleArrival::Overtaken => overtaken += one.frames,
                    SampleArrival::Duplicate => {}
                    other => prop_assert!(false, "{other:?}"),
                }
            }
            prop_assert!(overtaken <= lost);
            prop_assert_eq!(unseen + lost + taken, before);
        }
    }
}
