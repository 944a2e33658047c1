//! Acceptance filters let all requested frames pass, and no others where a controller can represent
//! the filters exactly.

use crate::model::ctucanfd::CtuCanFdChip;
use crate::model::sja1000::Sja1000Chip;
use crate::model::{Arrival, Chip, Shared};
use controller::ctucanfd::CtuCanFd;
use controller::sja1000::{ChipWiring, Sja1000};
use controller::{AcceptanceRule, BitTiming, Controller, StartMode};
use frame::{CanId, Frame};
use proptest::prelude::*;

fn start<C: Chip>(mut driver: impl Controller, filters: &[AcceptanceRule]) {
    let properties = driver.properties();
    let timing = BitTiming::compute(properties.clock, &properties.nominal, 500_000, 875).unwrap();
    let mode = StartMode {
        filters,
        ..StartMode::classic(timing)
    };
    driver.start(&mode).unwrap();
}

fn sja1000(filters: &[AcceptanceRule]) -> Shared<Sja1000Chip> {
    let chip = Shared::<Sja1000Chip>::new();
    let wiring = ChipWiring {
        clock: 8_000_000,
        output: 0,
        clock_divider: 0,
    };
    start::<Sja1000Chip>(Sja1000::new(chip.clone(), wiring), filters);
    chip
}

fn ctucanfd(filters: &[AcceptanceRule]) -> Shared<CtuCanFdChip> {
    let chip = Shared::<CtuCanFdChip>::new();
    start::<CtuCanFdChip>(CtuCanFd::new(chip.clone(), 100_000_000), filters);
    chip
}

fn passes(chip: &Shared<impl Chip>, frame: &Frame) -> bool {
    chip.chip().arrive(frame) != Arrival::Filtered
}

fn id() -> impl Strategy<Value = u32> {
    prop_oneof![
        0..=CanId::SFF_MASK,
        (0..=CanId::EFF_MASK).prop_map(|n| n | CanId::EFF_FLAG)
    ]
}

fn filter() -> impl Strategy<Value = AcceptanceRule> {
    let exact = id().prop_map(|id| AcceptanceRule {
        id,
        mask: CanId::EFF_FLAG | CanId::RTR_FLAG | CanId::EFF_MASK,
    });
    let any = (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(id, a, b)| AcceptanceRule {
        id: id & !CanId::ERR_FLAG,
        mask: a & b & !CanId::ERR_FLAG,
    });
    prop_oneof![exact, any]
}

proptest! {
    #[test]
    fn nothing_that_is_asked_for_is_left_out(
        filters in prop::collection::vec(filter(), 0..6), ids in prop::collection::vec(id(), 1..40),
        data in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let (sja1000, ctucanfd) = (sja1000(&filters), ctucanfd(&filters));
        // Random IDs, and those of the filters themselves, with and without RTR.
        let own = filters.iter().map(|filter| filter.id & !CanId::RTR_FLAG);
        let own = own.map(|id| if id & CanId::EFF_FLAG == 0 { id & CanId::SFF_MASK } else { id });
        for raw in own.chain(ids) {
            for frame in [
                Frame::classic(CanId::from_raw(raw), &data).unwrap(),
                Frame::remote(CanId::from_raw(raw), 0).unwrap(),
            ] {
                let asked = filters.iter().any(|filter| filter.matches(frame.id().raw()));
                if asked || filters.is_empty() {
                    prop_assert!(passes(&sja1000, &frame), "SJA1000: {frame:?}");
                    prop_assert!(passes(&ctucanfd, &frame), "CTU CAN FD: {frame:?}");
                }
            }
        }
    }
}

#[test]
fn one_id_is_one_id() {
    let exact = |raw: u32| AcceptanceRule {
        id: raw,
        mask: CanId::EFF_FLAG | CanId::RTR_FLAG | CanId::EFF_MASK,
    };
    for raw in [0x123, 0x1234_5678 | CanId::EFF_FLAG] {
        let other = raw ^ 1;
        let frame = |raw| Frame::classic(CanId::from_raw(raw), &[1, 2, 3]).unwrap();
        let sja1000 = sja1000(&[exact(raw)]);
        assert!(passes(&sja1000, &frame(raw)) && !passes(&sja1000, &frame(other)));
        let ctucanfd = ctucanfd(&[exact(raw)]);
        assert!(passes(&ctucanfd, &frame(raw)) && !passes(&ctucanfd, &frame(other)));
    }
    // Three slots: exactly three IDs.
    let three = ctucanfd(&[exact(1), exact(2), exact(3)]);
    let frame = |raw| Frame::classic(CanId::from_raw(raw), &[]).unwrap();
    let through: Vec<u32> = (0..8).filter(|raw| passes(&three, &frame(*raw))).collect();
    assert_eq!(through, [1, 2, 3]);
}
