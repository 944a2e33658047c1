//! Conditions on signals and assignments to signals in an image, against exact numbers: with the
//! crates as an image has them, by the routes that are read back from its plan.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../crates/route/tests/exact/mod.rs"]
mod exact;

use baremetal::ImagePlan;
use exact::{decide, run};
use route::RoutingTable;

fn run_here(seed: u64, most: u64) {
    let tally = run(seed, most, |case| {
        let plan = ImagePlan {
            ports: Vec::new(),
            routes: case.routes.clone(),
        };
        let written = serde_json::to_vec(&plan).unwrap();
        let plan: ImagePlan = serde_json::from_slice(&written).unwrap();
        let table = RoutingTable::compile(&plan.routes, 2).unwrap();
        case.check(|frame| decide(&table, frame));
        true
    });
    tally.check();
    println!("{tally:?}");
}

#[test]
fn signals_in_an_image_equal_those_of_exact_numbers() {
    run_here(1, 50_000);
}

mod long {
    use super::*;

    #[test]
    #[ignore = "heavy"]
    fn millions_of_signals_in_an_image_equal_those_of_exact_numbers() {
        run_here(2, 10_000_000);
    }
}
