//! The routing table against the kernel's own can-gw: random rules are installed by `cangw`, random
//! frames are sent, and the output is compared with the result of the importer and the table, byte
//! for byte; so are the rules' counters and the output of `cangw -L`.
//!
//! Needs a kernel with AF_CAN, vcan and can-gw, the programs `cangw`, `cansend` and `ip`, and the
//! permission to use them. Without them each test prints why it is skipped. The tests remove rules
//! and so refuse to run if there are any.
//!
//! `CANGATE_CANGW_SEED`, `CANGATE_CANGW_SETS` and `CANGATE_CANGW_FRAMES` change the seed, the
//! number of rule sets and the frames for each.
#![allow(clippy::unwrap_used)]

mod compare;
mod frames;
mod kernel;
mod model;
mod rng;
mod rules;

use compare::listed_counters;
use config::{Severity, SourceText};
use frames::Owned;
use kernel::{Kernel, alone, from_env};
use model::Model;
use rng::Rng;
use route::cangw::{ImportedRules, export, import};
use route::{IdFilter, IdSet, KernelPort, PortId, RoutingTable};
use rules::{Drawn, Shape};

macro_rules! kernel {
    () => {
        match Kernel::new() {
            Ok(kernel) => kernel,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return;
            }
        }
    };
}

/// Returns a script as a user would write it.
fn script(lines: &[&str], max_hops: u8) -> SourceText {
    let mut text = format!("modprobe can-gw max_hops={max_hops}\n");
    for line in lines {
        text.push_str(&format!("cangw -A {line}\n"));
    }
    SourceText::new("rules.sh", text)
}

/// Returns the routes without their names, which a listing does not have.
fn nameless(imported: &ImportedRules) -> Vec<String> {
    let routes = imported.routes.routes.iter().cloned();
    routes
        .map(|mut route| {
            route.name.clear();
            // can-gw discards a filter that lets everything through.
            let open = |f: &IdFilter| f.set == (IdSet::Masked { id: 0, mask: 0 }) && !f.inverted;
            route.matching.ids.retain(|filter| !open(filter));
            let port = |id: &PortId| imported.interfaces[usize::from(id.0)].clone();
            let ports = format!(
                "{:?} -> {:?}",
                route.from.iter().map(port).collect::<Vec<_>>(),
                route.to.iter().map(port).collect::<Vec<_>>()
            );
            route.from.clear();
            route.to.clear();
            format!("{ports} {route:?}")
        })
        .collect()
}

fn same(a: &ImportedRules, b: &ImportedRules) -> Result<(), String> {
    let (a, b) = (nameless(a), nameless(b));
    if a.len() != b.len() {
        return Err(format!("{} and {} routes", a.len(), b.len()));
    }
    match a.iter().zip(&b).find(|(a, b)| a != b) {
        Some((a, b)) => Err(format!("\n{a}\n{b}")),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Done {
    sets: usize,
    rules: usize,
    refused: usize,
    frames: usize,
    copies: usize,
}

/// Installs rules and sends frames; returns the differences from the model, in words.
fn compare(
    kernel: &mut Kernel,
    rng: &mut Rng,
    shape: Shape,
    drawn: &[Drawn],
    frames: u64,
    done: &mut Done,
) -> Result<(), String> {
    kernel.flush();
    let mut lines: Vec<&str> = Vec::new();
    for rule in drawn {
        let ours = import(&script(&[&rule.text], kernel.max_hops));
        match (kernel.add(&rule.text), ours) {
            (Ok(()), Ok(_)) => lines.push(&rule.text),
            (Err(_), Err(_)) => done.refused += 1,
            (Ok(()), Err(why)) => return Err(format!("only we refuse {}: {why:?}", rule.text)),
            (Err(why), Ok(_)) => return Err(format!("only cangw refuses {}: {why}", rule.text)),
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let imported = import(&script(&lines, kernel.max_hops)).map_err(|e| format!("{e:?}"))?;
    let table = RoutingTable::compile(&imported.routes, imported.ports.len());
    let table = table.map_err(|e| format!("{e:?}"))?;
    let interfaces = kernel.interfaces.clone();
    let mut model = Model::new(&table, &imported, &interfaces);
    let ids: Vec<u32> = drawn.iter().flat_map(|rule| rule.ids.clone()).collect();
    let sent: Vec<Owned> = (0..frames)
        .map(|_| frames::frame(rng, shape, &ids))
        .collect();
    // Filters determine the list in which the kernel keeps a rule; only within one list rules are
    // tried in the order of their age.
    let ordered = !drawn.iter().any(|rule| rule.filtered);
    let copies = compare::pass(kernel, &mut model, &sent, ordered)?;
    let listing = kernel.list();
    if listed_counters(&listing) != model.counters {
        return Err(format!("counters: {:?}, listed\n{listing}", model.counters));
    }
    let hops = format!("modprobe can-gw max_hops={}\n", kernel.max_hops);
    let again = import(&SourceText::new("listing", format!("{hops}{listing}")));
    let again = again.map_err(|e| format!("the listing: {e:?}\n{listing}"))?;
    same(&again, &imported).map_err(|e| format!("the listing is read differently: {e}"))?;
    // Export the rules again.
    kernel.flush();
    let names: Vec<_> = imported
        .interfaces
        .iter()
        .map(KernelPort::new)
        .map(Some)
        .collect();
    let exported = export(&imported.routes, &names).map_err(|e| format!("{e:?}"))?;
    for line in exported.lines() {
        if let Some((_, text)) = line.split_once("cangw -A ") {
            let text = text.split_once('#').map_or(text, |(text, _)| text);
            kernel.add(text).map_err(|e| format!("exported: {e}"))?;
        }
    }
    let listing = kernel.list();
    let again = import(&SourceText::new("listing", format!("{hops}{listing}")));
    let again = again.map_err(|e| format!("what was exported: {e:?}\n{listing}"))?;
    same(&again, &imported).map_err(|e| format!("what was exported is another thing: {e}"))?;
    done.sets += 1;
    done.rules += lines.len();
    done.frames += sent.len();
    done.copies += copies;
    Ok(())
}

/// Returns a message without most of a long table.
fn brief(text: &str) -> &str {
    text.get(..100).unwrap_or(text)
}

/// Returns whether the kernel resolves negative indices of CRC8 rules (CVE-2026-31570).
fn resolves_crc8(kernel: &mut Kernel, shape: Shape) -> bool {
    let table: String = (0..=255u8).map(|b| format!("{b:02X}")).collect();
    let [a, b, _] = &kernel.interfaces;
    let drawn = Drawn {
        text: format!("-s {a} -d {b} -e -m OR:D:0.0.0102030405060708 -c 0:-2:-1:0:0:{table}"),
        ids: Vec::new(),
        filtered: false,
    };
    let (rng, done) = (&mut Rng(1), &mut Done::default());
    compare(kernel, rng, shape, &[drawn], 8, done).is_ok()
}

#[test]
fn the_kernel_does_what_the_table_states() {
    let _alone = alone();
    let mut kernel = kernel!();
    let seed = from_env("CANGATE_CANGW_SEED", 1);
    let frames = from_env("CANGATE_CANGW_FRAMES", 40);
    let base = Shape {
        fd: false,
        chain: false,
        negative_crc8: true,
        max_hops: kernel.max_hops,
    };
    let negative_crc8 = resolves_crc8(&mut kernel, base);
    if !negative_crc8 {
        eprintln!("this kernel has CVE-2026-31570: no negative indices in CRC8 rules");
    }
    let mut done = Done::default();
    let mut differences = Vec::new();
    for set in 0..from_env("CANGATE_CANGW_SETS", 60) {
        let rng = &mut Rng(seed.wrapping_mul(1_000_003).wrapping_add(set));
        let shape = Shape {
            fd: rng.one_in(3),
            chain: rng.one_in(4),
            negative_crc8,
            ..base
        };
        let count = rng.pick(&[1, 1, 2, 3, 5]);
        let mut drawn: Vec<Drawn> = Vec::new();
        for _ in 0..count {
            drawn.push(rules::rule(rng, shape, &kernel.interfaces));
        }
        let result = compare(&mut kernel, rng, shape, &drawn, frames, &mut done);
        if let Err(what) = result {
            let rules: Vec<_> = drawn.iter().map(|rule| rule.text.as_str()).collect();
            eprintln!("set {set}: {what}\n{}\n", rules.join("\n"));
            differences.push(set);
        }
    }
    println!(
        "{} sets of {} rules ({} refused by both), {} frames in, {} frames seen on the \
         interfaces, max_hops {}, {} sets differ",
        done.sets,
        done.rules,
        done.refused,
        done.frames,
        done.copies,
        kernel.max_hops,
        differences.len()
    );
    kernel.flush();
    assert_eq!(differences, [0u64; 0], "sets that differ");
    assert!(done.copies > done.frames, "no rule forwarded anything");
}

/// cangw's scanf accepts many texts that we refuse, and uses a part of them. But a rule that it or
/// the kernel refuses must not become a route without a remark.
#[test]
fn what_cangw_refuses_is_refused_or_noted() {
    let _alone = alone();
    let kernel = kernel!();
    let seed = from_env("CANGATE_CANGW_SEED", 1);
    let mut wrong = Vec::new();
    let (mut refused, mut taken, mut stricter, mut noted) = (0, 0, 0, 0);
    for n in 0..4 * from_env("CANGATE_CANGW_SETS", 60) {
        let rng = &mut Rng(seed.wrapping_mul(7_000_003).wrapping_add(n));
        let shape = Shape {
            fd: rng.one_in(3),
            chain: rng.one_in(3),
            negative_crc8: true,
            max_hops: kernel.max_hops,
        };
        let text = rules::rule(rng, shape, &kernel.interfaces).text;
        let text = rules::spoiled(rng, &text);
        let ours = import(&script(&[&text], kernel.max_hops));
        match (kernel.add(&text), ours) {
            (Ok(()), Ok(_)) => taken += 1,
            (Ok(()), Err(why)) => {
                let why = why.into_iter().find(|d| d.severity == Severity::Error);
                let why = why.map(|d| d.message).unwrap_or_default();
                eprintln!("cangw takes, we refuse: {}", brief(&why));
                stricter += 1;
            }
            (Err(_), Err(_)) => refused += 1,
            (Err(_), Ok(imported))
                if imported.routes.routes.is_empty() || !imported.notes.is_empty() =>
            {
                noted += 1;
            }
            (Err(why), Ok(_)) => {
                eprintln!("{text}: {why}");
                wrong.push(n);
            }
        }
        if n % 20 == 19 {
            kernel.flush();
        }
    }
    println!(
        "spoiled rules: {refused} refused by both, {taken} taken by both, {noted} noted, \
         {stricter} refused by us only, {} by cangw only",
        wrong.len()
    );
    kernel.flush();
    assert_eq!(wrong, [0u64; 0], "taken by us only");
}
