//! Conversion of a port's interest to the kernel's filters.

use crate::{FrameInterest, InterestIds, RawFilter};
use frame::CanId;
use linux::can::MOST_FILTERS as MOST;
use std::collections::HashSet;

/// Maximum number of filters after widening. The kernel walks widened ones one by one for each
/// frame (some 14 ns each on the lab's virtual CPU); with more than these, letting everything
/// through and matching by the table is cheaper.
const MAX_WIDENED: usize = 64;

/// The filter that lets every frame through.
const EVERYTHING: RawFilter = RawFilter { id: 0, mask: 0 };

/// Returns the filters for a raw socket: no frame that is of use is left out, others may come
/// through.
pub(super) fn filters(interest: &FrameInterest) -> Vec<RawFilter> {
    match &interest.ids {
        InterestIds::Nothing => Vec::new(),
        InterestIds::Everything => vec![EVERYTHING],
        InterestIds::Filters(list) => {
            let exact = widened(list, 0);
            if exact.len() <= MOST {
                return exact;
            }
            (1..=CanId::EFF_MASK.count_ones())
                .map(|bits| widened(list, bits))
                .find(|list| list.len() <= MAX_WIDENED)
                .unwrap_or_else(|| vec![EVERYTHING])
        }
    }
}

/// Returns the filters without their lowest bits, each once.
fn widened(list: &[RawFilter], bits: u32) -> Vec<RawFilter> {
    let low = (1 << bits) - 1;
    let mut seen = HashSet::new();
    let widen = |filter: &RawFilter| {
        let inverted = filter.id & RawFilter::INVERTED;
        // The error flag in a mask would make it a filter for error frames (af_can.c,
        // can_rcv_list_find); those are requested separately.
        let mask = filter.mask & !CanId::ERR_FLAG;
        if inverted != 0 {
            // Fewer bits would let fewer frames through here.
            return if bits == 0 {
                RawFilter {
                    id: filter.id & mask | inverted,
                    mask,
                }
            } else {
                EVERYTHING
            };
        }
        let mask = mask & !low;
        RawFilter {
            id: filter.id & mask,
            mask,
        }
    };
    let list: Vec<_> = list.iter().map(widen).filter(|f| seen.insert(*f)).collect();
    if list.contains(&EVERYTHING) {
        return vec![EVERYTHING];
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the kernel matches (raw(7), af_can.c), for data and remote frames.
    fn passes(list: &[RawFilter], id: u32) -> bool {
        list.iter().any(|f| {
            let agrees = id & f.mask == f.id & !RawFilter::INVERTED & f.mask;
            agrees != (f.id & RawFilter::INVERTED != 0)
        })
    }

    fn interest(list: Vec<RawFilter>) -> FrameInterest {
        FrameInterest {
            ids: InterestIds::Filters(list),
            ..FrameInterest::default()
        }
    }

    fn exact(id: u32) -> RawFilter {
        RawFilter {
            id,
            mask: 0xC000_07FF,
        }
    }

    #[test]
    fn few_stay_as_they_are() {
        let list = vec![exact(1), exact(2), exact(1)];
        assert_eq!(filters(&interest(list)), [exact(1), exact(2)]);
        assert_eq!(filters(&FrameInterest::default()), [EVERYTHING]);
        let nothing = FrameInterest {
            ids: InterestIds::Nothing,
            ..FrameInterest::default()
        };
        assert_eq!(filters(&nothing), []);
    }

    #[test]
    fn many_become_wider_or_everything() {
        let close: Vec<_> = (0..600).map(exact).collect();
        let list = filters(&interest(close));
        assert!(
            list.len() <= MAX_WIDENED && list.len() > 1,
            "{}",
            list.len()
        );
        assert!(passes(&list, 599) && !passes(&list, 0x700));
        let masks = (0..600).map(|i| RawFilter {
            id: i << 16,
            mask: 0x8000_0000 | (i << 16),
        });
        assert!(filters(&interest(masks.collect())).len() <= MOST);
    }

    fn filter() -> impl Strategy<Value = RawFilter> {
        let mask = prop_oneof![
            Just(0xC000_07FF),
            Just(0xDFFF_FFFF),
            Just(0x7FF),
            any::<u32>()
        ];
        let id = prop_oneof![4 => any::<u32>().prop_map(|id| id & !RawFilter::INVERTED),
                             1 => any::<u32>()];
        (id, mask).prop_map(|(id, mask)| RawFilter { id, mask })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_frame_of_use_is_left_out(
            list in prop_oneof![
                prop::collection::vec(filter(), 0..20),
                prop::collection::vec(filter(), 513..700)],
            ids in prop::collection::vec(any::<u32>(), 20),
        ) {
            let kernel = filters(&interest(list.clone()));
            prop_assert!(kernel.len() <= MOST);
            prop_assert!(kernel.iter().all(|f| f.mask & CanId::ERR_FLAG == 0));
            let near = list.iter().map(|f| f.id);
            for id in ids.iter().copied().chain(near) {
                let id = id & !CanId::ERR_FLAG;
                if passes(&list, id) {
                    prop_assert!(passes(&kernel, id), "{id:08X}");
                }
                if list.len() <= MOST {
                    prop_assert_eq!(passes(&list, id), passes(&kernel, id));
                }
            }
        }
    }
}
