//! Random tables and random frames through the data paths of a table: the gateway's engine on raw
//! sockets, the kernel's can-gw, BPF. All must give the same frames and the same counters as
//! `route::Table`.
//!
//! A table is not run in a data path that cannot express it: can-gw gets the tables that it can
//! express, BPF all but a few, user space all. The one difference of user space is described in
//! `case.rs`: it sends no error frames and no FD frames with RTR, which are not valid on a bus.
//!
//! Needs a kernel with AF_CAN, vxcan, can-gw and BPF, and the permission to use them; without them
//! the test prints why it is skipped. `CANGATE_PLACES_TABLES` and `CANGATE_PLACES_FRAMES` are the
//! numbers of tables and of frames for each; `CANGATE_PLACES_SEED` is the seed of the first table,
//! which is counted up from there. A failing case is reduced with `CANGATE_PLACES_TRIES` tries.
#![allow(clippy::unwrap_used)]

mod case;
mod draw;
mod paths;
mod signals;
mod smaller;
#[path = "../../../offload/tests/bpf_common/mod.rs"]
mod wire;

use case::{Case, Expected, PORTS};
use paths::{Bpf, CanGw, DataPath, Sockets, UserSpace};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use wire::{Pairs, number};

struct Bench {
    sockets: Sockets,
    user_space: UserSpace,
    can_gw: CanGw,
    bpf: Bpf,
    /// The number of tables that each path has run.
    ran: [u32; 3],
    // The last field: the interfaces must be dropped after their users.
    _pairs: Pairs,
}

impl Bench {
    /// Creates a bench, or returns what this machine lacks.
    fn new() -> Result<Self, String> {
        let pairs = Pairs::new(PORTS)?;
        let _ = wire::run("modprobe can-gw");
        CanGw::ready()?;
        offload::bpf::features().map_err(|why| why.to_string())?;
        Ok(Self {
            sockets: Sockets::open()?,
            user_space: UserSpace::default(),
            can_gw: CanGw::default(),
            bpf: Bpf::default(),
            ran: [0; 3],
            _pairs: pairs,
        })
    }

    /// Runs the case in all data paths that can: returns the number of a path whose result differs
    /// from the table's, and the difference.
    fn run(&mut self, case: &Case, in_kernel: &Case) -> Option<(usize, String)> {
        (0..3).find_map(|at| Some((at, self.run_at(at, case, in_kernel)?)))
    }

    /// Runs one path. `in_kernel` is the table for the kernel, which may be another one.
    fn run_at(&mut self, at: usize, case: &Case, in_kernel: &Case) -> Option<String> {
        let expected = Expected::new(case);
        let paths: [(&mut dyn DataPath, &Case); 3] = [
            (&mut self.user_space, case),
            (&mut self.can_gw, in_kernel),
            (&mut self.bpf, in_kernel),
        ];
        let (path, case) = paths.into_iter().nth(at)?;
        match paths::run(path, &self.sockets, case, &expected) {
            Ok(ran) => self.ran[at] += u32::from(ran),
            Err(why) => return Some(why),
        }
        None
    }

    /// Returns the smallest case that fails in this path.
    fn least(
        &mut self,
        at: usize,
        case: Case,
        why: String,
        in_kernel: impl Fn(&Case) -> Case,
    ) -> (Case, String) {
        let tries = number("CANGATE_PLACES_TRIES", 300);
        self.bpf.stays = true;
        let least = smaller::least(case, why, tries, |case| {
            self.run_at(at, case, &in_kernel(case))
        });
        self.bpf = Bpf::default();
        least
    }
}

/// Returns the case of a seed.
fn draw(seed: u32, frames: usize) -> Case {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    draw::case(frames).new_tree(&mut runner).unwrap().current()
}

macro_rules! bench {
    () => {
        match Bench::new() {
            Ok(bench) => bench,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return;
            }
        }
    };
}

#[test]
fn a_table_means_the_same_everywhere() {
    let mut bench = bench!();
    let tables = number("CANGATE_PLACES_TABLES", 8);
    let frames = number("CANGATE_PLACES_FRAMES", 40);
    let first = number("CANGATE_PLACES_SEED", 1);
    let before_5_11 = offload::cangw::CanGwKernel::open()
        .unwrap()
        .limits()
        .version
        < Some(offload::cangw::KernelVersion(5, 11, 0));
    let mut copies = 0;
    for seed in first..first + tables {
        let mut case = draw(seed, frames as usize);
        if before_5_11 {
            // No driver of these interfaces supports a raw DLC above 8.
            let has_dlc = |arrival: &case::Arrival| arrival.frame.view().header().len8_dlc() > 8;
            case.arrivals.retain(|arrival| !has_dlc(arrival));
        }
        copies += Expected::new(&case).copies.iter().flatten().count();
        let Some((at, why)) = bench.run(&case, &case) else {
            continue;
        };
        eprintln!("seed {seed}: {why}\nlooking for the least case…");
        let (least, why) = bench.least(at, case, why, Case::clone);
        panic!(
            "{why}\n{least:#?}\nrepeat it with CANGATE_PLACES_SEED={seed} \
             CANGATE_PLACES_TABLES=1 CANGATE_PLACES_FRAMES={frames}"
        );
    }
    let [user_space, can_gw, bpf] = bench.ran;
    println!(
        "{tables} tables, {} frames in, {copies} copies expected from each path; {user_space} \
         tables ran in user space, {can_gw} as rules of can-gw, {bpf} by BPF",
        tables * frames
    );
    assert_eq!(user_space, tables);
    assert!(bpf > tables / 2, "{bpf}");
    assert!(can_gw > tables / 8, "{can_gw}");
    assert!(copies > 0);
}

/// The kernel is given another table than the expected one: this must be detected, and the reduced
/// case must be one frame and the route that differs.
#[test]
fn a_difference_is_found_and_made_small() {
    let mut bench = bench!();
    let frames = 20;
    let other = |case: &Case| {
        let mut other = case.clone();
        for route in &mut other.routes.routes {
            route.actions.push(route::Action::Modify(route::Modify {
                op: route::ModifyOp::Xor,
                id: Some(route::IdOperand::Raw(1)),
                len: None,
                flags: None,
                data: None,
            }));
        }
        other
    };
    let (at, case, why) = (1_000..)
        .map(|seed| draw(seed, frames))
        .find_map(|case| {
            let (at, why) = bench.run(&case, &other(&case))?;
            Some((at, case, why))
        })
        .unwrap();
    let (least, why) = bench.least(at, case, why, other);
    println!("{why}\n{least:#?}");
    assert_eq!((least.arrivals.len(), least.routes.routes.len()), (1, 1));
    assert_eq!(least.routes.routes[0].actions, []);
}
