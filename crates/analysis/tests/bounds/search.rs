//! Searches for the worst case.

use crate::common;

use analysis::{
    FrameRelease, LengthSearch, MessagePlace, Network, SearchError, WorstFound, replay, search,
};
use common::{Kind, set};

/// A set of 20 to 30 messages on one bus.
fn alone(seed: u64, mailboxes: Option<u8>) -> Network {
    let kind = Kind {
        messages: (20, 30),
        load: (40, 70),
        mailboxes,
        ..Kind::PRIORITY
    };
    Network {
        buses: vec![set(seed, kind)],
        hops: Vec::new(),
        tunnels: Vec::new(),
    }
}

fn searched(network: &Network, message: usize, plays: u32, seed: u64) -> WorstFound {
    let mut lengths = LengthSearch::new();
    let found = network.assess(&mut lengths).unwrap();
    let place = MessagePlace { bus: 0, message };
    let searched = search(network, &found, &mut lengths, place, plays, seed).unwrap();
    assert!(searched.response <= found.response(place).unwrap());
    searched
}

/// In order of priority, the alignment alone is the critical instant. Where messages of a node come
/// again within their busy period, the event of a later frame can decide; moves find it or come
/// near.
#[test]
fn in_order_of_priority_a_search_reaches_the_bound() {
    let (mut reached, mut all) = (0, 0);
    for seed in 8500..8505 {
        let network = alone(seed, None);
        let found = network.assess(&mut LengthSearch::new()).unwrap();
        for message in 0..network.buses[0].messages.len() {
            let place = MessagePlace { bus: 0, message };
            let bound = found.response(place).unwrap();
            reached += u32::from(searched(&network, message, 30, 1).response + 1 >= bound);
            all += 1;
        }
    }
    assert!(reached * 100 >= all * 95, "{reached} of {all}");
}

/// The result of a search is the same as when its releases are replayed.
#[test]
fn what_is_found_can_be_replayed() {
    for (seed, mailboxes) in [(8510, Some(1)), (8511, Some(3)), (8512, None)] {
        let network = alone(seed, mailboxes);
        for message in [0, 7, 15] {
            let found = searched(&network, message, 100, seed);
            assert_eq!(found.releases[0].at, 0);
            let releases: Vec<FrameRelease> = found
                .releases
                .iter()
                .map(|r| FrameRelease {
                    at: r.at,
                    message: r.place.message,
                    frame: r.frame,
                })
                .collect();
            let outcomes = replay(&network.buses[0], &releases).unwrap();
            let own = outcomes.iter().filter(|o| o.message == message);
            assert!(
                own.map(analysis::ReleaseOutcome::latency)
                    .any(|seen| seen == found.latency)
            );
        }
    }
}

#[test]
fn more_plays_find_no_less_and_a_seed_the_same() {
    let network = alone(8520, Some(2));
    let mut before = 0;
    for plays in [1, 50, 400] {
        let found = searched(&network, 9, plays, 3);
        assert_eq!(found, searched(&network, 9, plays, 3));
        assert!(found.response >= before);
        before = found.response;
    }
}

#[test]
fn a_message_that_is_not_there_is_an_error() {
    let network = alone(8530, None);
    let mut lengths = LengthSearch::new();
    let found = network.assess(&mut lengths).unwrap();
    for (bus, message) in [(0, 1_000), (5, 0)] {
        let place = MessagePlace { bus, message };
        let error = search(&network, &found, &mut lengths, place, 10, 1);
        assert!(matches!(error, Err(SearchError::Replay(_))), "{error:?}");
    }
}
