//! A port may leave out frames that are not in the table's interest: never a frame that a route
//! takes.

use crate::common;

use cangate_route::*;
use common::{Event, Owned, Rng, decide, masked, plain, random_frame, random_routes, range};
use frame::{CanId, Kind};

/// Returns whether the kernel would deliver this frame, by the rules of `net/can/raw.c` and
/// `af_can.c`: an XL frame's priority field also holds the number of its virtual network (bits 16
/// to 23).
fn passes(interest: &FrameInterest, frame: &Owned) -> bool {
    let id = frame.header.id();
    let (kind_wanted, raw) = match frame.header.kind() {
        Kind::Classic => (true, id.raw()),
        Kind::Fd => (interest.fd, id.raw()),
        Kind::Xl => {
            let vcid = u32::from(frame.header.xl().vcid) << 16;
            (interest.xl, id.raw() & CanId::SFF_MASK | vcid)
        }
    };
    if !kind_wanted {
        return false;
    }
    if frame.header.kind() != Kind::Xl && id.is_err() {
        return interest.error_frames;
    }
    match &interest.ids {
        InterestIds::Nothing => false,
        InterestIds::Everything => true,
        InterestIds::Filters(filters) => filters.iter().any(|filter| filter.passes(raw)),
    }
}

#[test]
fn no_frame_is_left_out_that_a_route_takes() {
    let mut rng = Rng(4);
    let (mut taken, mut left_out) = (0, 0);
    for _ in 0..1500 {
        let routes = random_routes(&mut rng);
        let table = RoutingTable::compile(&routes, 3).unwrap();
        let mut memory = table.memory();
        for _ in 0..30 {
            let mut frame = random_frame(&mut rng);
            if frame.header.kind() == Kind::Xl {
                frame.header = frame.header.with_xl(frame::XlFields {
                    vcid: rng.below(3) as u8,
                    ..Default::default()
                });
            }
            let from = rng.below(3) as u16;
            let got = decide(&table, &mut memory, common::arrival(from), &frame);
            let interest = table.interest(PortId(from));
            if got.iter().any(|event| matches!(event, Event::Taken(_))) {
                assert!(
                    passes(&interest, &frame),
                    "{frame:?} {interest:?} {routes:?}"
                );
                taken += 1;
            } else {
                left_out += u32::from(!passes(&interest, &frame));
            }
        }
    }
    assert!(taken > 4000 && left_out > 4000, "{taken} {left_out}");
}

fn interest(routes: Vec<Route>) -> FrameInterest {
    common::table(routes).interest(PortId(0))
}

fn route(ids: Vec<IdFilter>) -> Route {
    let mut route = plain("route");
    route.matching.ids = ids;
    route.matching.kinds.xl = false;
    route
}

#[test]
fn filters_are_exact_where_the_ids_are() {
    let got = interest(vec![
        route(vec![range(false, 0x123, 0x123), range(true, 0x100, 0x1FF)]),
        route(vec![masked(0x700, 0xC000_0700), range(false, 0x123, 0x123)]),
    ]);
    let filter = |id, mask| RawFilter { id, mask };
    assert_eq!(
        got.ids,
        InterestIds::Filters(vec![
            filter(0x123, 0x8000_07FF),
            filter(0x700, 0xC000_0700),
            filter(0x8000_0100, 0x9FFF_FF00),
        ])
    );
    assert!(got.fd && !got.xl && !got.error_frames);
}

#[test]
fn classic_routes_that_want_no_remote_frames_get_the_kernels_fast_list() {
    let mut only = route(vec![range(false, 0x123, 0x123)]);
    only.matching.kinds.fd = false;
    only.matching.rtr = TriState::No;
    // `can_rcv_list_find` has a table for SFF filters with exactly this mask.
    let InterestIds::Filters(filters) = interest(vec![only]).ids else {
        panic!("filters expected");
    };
    assert_eq!(
        filters,
        [RawFilter {
            id: 0x123,
            mask: 0xC000_07FF
        }]
    );
}

#[test]
fn without_routes_there_is_no_interest_and_without_ids_every_one() {
    let table = common::table(vec![route(Vec::new())]);
    assert_eq!(table.interest(PortId(0)).ids, InterestIds::Everything);
    assert_eq!(table.interest(PortId(1)).ids, InterestIds::Nothing);
    assert_eq!(table.interest(PortId(999)).ids, InterestIds::Nothing);
    let mut errors = route(vec![masked(0, 0x2000_0004)]);
    errors.matching.err = TriState::Yes;
    let got = interest(vec![errors]);
    assert!(got.error_frames && got.ids == InterestIds::Nothing);
}

#[test]
fn an_inverted_filter_stays_one_filter() {
    let mut filter = masked(0x123, 0xC000_07FF);
    filter.inverted = true;
    let InterestIds::Filters(filters) = interest(vec![route(vec![filter])]).ids else {
        panic!("filters expected");
    };
    assert_eq!(
        filters,
        [RawFilter {
            id: 0x2000_0123,
            mask: 0xC000_07FF
        }]
    );
    assert!(!filters[0].passes(0x123) && filters[0].passes(0x124));
}

#[test]
fn the_virtual_network_of_an_xl_frame_hides_it_from_no_filter() {
    // The kernel also compares the network's number, cangate only the priority.
    let frame = |vcid| {
        let mut frame = Owned::new(Kind::Xl, 0x123, &[1]);
        frame.header = frame.header.with_xl(frame::XlFields {
            vcid,
            ..Default::default()
        });
        frame
    };
    let plain_filter = masked(0x123, 0x1FFF_FFFF);
    let mut all_but_another = masked(0x0005_0123, 0x1FFF_FFFF);
    all_but_another.inverted = true;
    for filter in [plain_filter, all_but_another] {
        let mut route = route(vec![filter]);
        route.matching.kinds = KindSet::default();
        let table = common::table(vec![route]);
        for vcid in [0, 5] {
            let frame = frame(vcid);
            let got = decide(&table, &mut table.memory(), common::arrival(0), &frame);
            assert_eq!(got.len(), 2, "{filter:?} {vcid}");
            assert!(
                passes(&table.interest(PortId(0)), &frame),
                "{filter:?} {vcid}"
            );
        }
    }
}
