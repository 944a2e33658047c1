//! Conditions and assignments in this process, against exact numbers.

use crate::exact_reference::{decide, run};
use cangate_route::RoutingTable;

fn run_here(seed: u64, most: u64) {
    let tally = run(seed, most, |case| {
        let table = RoutingTable::compile(&case.routes, 2).unwrap();
        case.check(|frame| decide(&table, frame));
        true
    });
    tally.check();
    println!("{tally:?}");
}

#[test]
fn signals_in_the_process_equal_those_of_exact_numbers() {
    run_here(1, 50_000);
}

/// Frames in such numbers that they need an optimized build.
mod long {
    use super::*;

    #[test]
    #[ignore = "heavy"]
    fn millions_of_signals_in_the_process_equal_those_of_exact_numbers() {
        run_here(2, 10_000_000);
    }
}
