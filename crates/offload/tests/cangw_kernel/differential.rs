//! Random rules, random frames: the kernel is compared with the table.

use crate::compare;
use crate::frames::{self, Owned};
use crate::kernel::Kernel;
use crate::model::{Counters, Model};
use crate::rng::Rng;
use crate::rules::{self, Drawn, Shape};
use crate::{alone, from_env, interfaces};
use cangate_offload::cangw::{
    CanGwKernel as CanGw, CanGwOffload, CanGwRule, GatewayInstance, KernelLimits, KernelVersion,
    survey,
};
use config::SourceText;
use route::cangw::{ImportedRules, import};
use route::{KernelPort, Routes, RoutingTable, StopReason};

#[derive(Default)]
struct Done {
    sets: usize,
    rules: usize,
    refused: usize,
    frames: usize,
    copies: usize,
    unchanged: usize,
    updated: usize,
}

/// Routes as a user would write them, without those that this kernel cannot have.
fn wanted(
    drawn: &[Drawn],
    kernel: &Kernel,
    limits: &KernelLimits,
    done: &mut Done,
) -> ImportedRules {
    let mut text = format!("modprobe can-gw max_hops={}\n", kernel.max_hops);
    // A rule without mistakes, so that there is at least one; it is tried last.
    let [a, b, _] = &kernel.interfaces;
    text.push_str(&format!("cangw -A -s {a} -d {b} -e -f 7A5:C00007FF\n"));
    for rule in drawn {
        let one = format!("{text}cangw -A {}\n", rule.text);
        if import(&SourceText::new("rules.sh", one.clone())).is_ok() {
            text = one;
        }
    }
    let mut imported = import(&SourceText::new("rules.sh", text)).unwrap();
    let names: Vec<_> = imported
        .interfaces
        .iter()
        .map(KernelPort::new)
        .map(Some)
        .collect();
    let there: Vec<_> = CanGw::open()
        .unwrap()
        .links()
        .unwrap()
        .into_iter()
        .collect();
    let refusals = survey(&imported.routes, &names, &there, limits);
    done.refused += refusals.iter().flatten().count();
    let mut refusals = refusals.into_iter();
    let keeps = |_: &route::Route| refusals.next().is_some_and(|why| why.is_none());
    imported.routes.routes.retain(keeps);
    // These interfaces are vcans, into which a rule echoes regardless of the route's setting.
    for route in &mut imported.routes.routes {
        route.echo = true;
    }
    imported
}

/// Returns a rule that makes the changes of another one.
fn with_changes_of(rule: &str, other: &str) -> String {
    let split = |text: &str| -> (Vec<String>, Vec<String>) {
        let words: Vec<&str> = text.split(' ').collect();
        let mut parts = (Vec::new(), Vec::new());
        let mut i = 0;
        while let Some(word) = words.get(i) {
            let changes = ["-m", "-M", "-x", "-c", "-p"].contains(word);
            let part = if changes { &mut parts.1 } else { &mut parts.0 };
            part.push((*word).to_owned());
            if changes {
                part.extend(words.get(i + 1).map(|word| (*word).to_owned()));
                i += 1;
            }
            i += 1;
        }
        parts
    };
    [split(rule).0, split(other).1].concat().join(" ")
}

/// Returns can-gw's list, in its own order, without marks: as parsed from netlink by this crate.
fn read_by_netlink() -> Vec<(String, Counters)> {
    let mut cangw = CanGw::open().unwrap();
    let links = cangw.links().unwrap();
    let list = cangw.list().unwrap().into_iter();
    list.map(|listed| {
        let job = &listed.job;
        let rule = job.rule(links.name(job.source), links.name(job.destination));
        let counters = listed.counters;
        let counters = [counters.handled, counters.dropped, counters.deleted];
        (rule.to_string(), counters.map(u64::from))
    })
    .collect()
}

/// The same, as printed by cangw.
fn read_by_cangw(kernel: &Kernel) -> Vec<(String, Counters)> {
    let listing = kernel.list();
    let hops = format!("modprobe can-gw max_hops={}\n", kernel.max_hops);
    let imported = import(&SourceText::new("listing", format!("{hops}{listing}"))).unwrap();
    let names: Vec<_> = imported
        .interfaces
        .iter()
        .map(KernelPort::new)
        .map(Some)
        .collect();
    let rules = route::cangw::rules(&imported.routes, &names).unwrap();
    assert_eq!(rules.len(), listing.lines().count(), "{listing}");
    let rules = rules.iter().map(|(_, rule)| rule.to_string());
    rules.zip(compare::listed_counters(&listing)).collect()
}

/// Sends frames and compares.
#[expect(clippy::too_many_arguments, reason = "a test's parts are many")]
fn compare(
    kernel: &mut Kernel,
    offload: &mut CanGwOffload,
    rng: &mut Rng,
    shape: Shape,
    imported: &ImportedRules,
    drawn: &[Drawn],
    frames: u64,
    done: &mut Done,
) -> Result<(), String> {
    let table = RoutingTable::compile(&imported.routes, imported.ports.len());
    let table = table.map_err(|e| format!("{e:?}"))?;
    let interfaces = kernel.interfaces.clone();
    let mut model = Model::new(&table, imported, &interfaces);
    let ids: Vec<u32> = drawn.iter().flat_map(|rule| rule.ids.clone()).collect();
    let mut sent: Vec<Owned> = (0..frames)
        .map(|_| frames::frame(rng, shape, &ids))
        .collect();
    let version = CanGw::open().unwrap().limits().version;
    if version < Some(KernelVersion(5, 11, 0)) {
        // Their drivers do not support a raw DLC above 8.
        sent.retain(|frame| frame.view().header().len8_dlc() == 0);
    }
    let before = offload.counts().map_err(|e| e.to_string())?;
    // Between the kernel's lists of filters, and between destinations, the kernel has its own
    // order.
    let ordered = !shape.chain && !drawn.iter().any(|rule| rule.filtered);
    let copies = compare::pass(kernel, &mut model, &sent, ordered)?;
    let after = offload.counts().map_err(|e| e.to_string())?;
    let deleted = |c: &cangate_offload::RouteCounts| {
        let of = |stop| {
            StopReason::ALL
                .iter()
                .zip(c.stopped)
                .find(|(s, _)| **s == stop)
        };
        of(StopReason::HopLimit).unwrap().1 + of(StopReason::TooLong).unwrap().1
    };
    let counted = before.iter().zip(&after).map(|(b, a)| {
        [
            a.sent - b.sent,
            a.failed - b.failed,
            deleted(a) - deleted(b),
        ]
    });
    let counted: Vec<Counters> = counted.collect();
    if counted != model.counters {
        return Err(format!(
            "counters: {:?}, counted {counted:?}",
            model.counters
        ));
    }
    let (ours, cangws) = (read_by_netlink(), read_by_cangw(kernel));
    if ours != cangws {
        return Err(format!("we read {ours:#?}\ncangw prints {cangws:#?}"));
    }
    done.frames += sent.len();
    done.copies += copies;
    Ok(())
}

/// Checks that every wanted rule is listed, and no other.
fn complete(routes: &Routes, imported: &ImportedRules) -> Result<(), String> {
    let names: Vec<_> = imported
        .interfaces
        .iter()
        .map(KernelPort::new)
        .map(Some)
        .collect();
    let rules = route::cangw::rules(routes, &names).map_err(|e| format!("{e:?}"))?;
    let open = |rule: &mut CanGwRule| {
        // can-gw drops a filter that lets everything through.
        let all = route::IdSet::Masked { id: 0, mask: 0 };
        rule.filter = rule.filter.filter(|f| f.set != all || f.inverted);
    };
    let mut expected: Vec<_> = rules
        .into_iter()
        .map(|(_, mut rule)| {
            open(&mut rule);
            // See `cangw::desired`: the flag is set regardless of the index of the frame's first
            // interface.
            rule.same_port |= rule.source != rule.destination;
            rule.to_string()
        })
        .collect();
    let mut there: Vec<_> = read_by_netlink()
        .into_iter()
        .map(|(rule, _)| rule)
        .collect();
    expected.sort();
    there.sort();
    if expected == there {
        Ok(())
    } else {
        Err(format!("wanted {expected:#?}\nthere {there:#?}"))
    }
}

#[test]
fn the_kernel_does_what_the_table_states() {
    let _alone = alone();
    let mut kernel = interfaces!();
    let seed = from_env("CANGATE_CANGW_SEED", 1);
    let frames = from_env("CANGATE_CANGW_FRAMES", 20);
    let mut cangw = CanGw::open().unwrap();
    cangw.ready().unwrap();
    let limits = cangw.limits();
    let instance = GatewayInstance::new("differential");
    let mut offload: Option<CanGwOffload> = None;
    let mut done = Done::default();
    let mut differences = Vec::new();
    for set in 0..from_env("CANGATE_CANGW_SETS", 40) {
        let rng = &mut Rng(seed.wrapping_mul(1_000_003).wrapping_add(set));
        let shape = Shape {
            fd: rng.one_in(3),
            chain: rng.one_in(4),
            negative_crc8: true,
            max_hops: kernel.max_hops,
        };
        let count = rng.pick(&[1, 1, 2, 3, 5, 9]);
        let mut drawn: Vec<Drawn> = Vec::new();
        for _ in 0..count {
            drawn.push(rules::rule(rng, shape, &kernel.interfaces));
        }
        // Some sets are changed twice, so that rules stay, move and get other modifications.
        for step in 0..rng.pick(&[1, 1, 3]) {
            if step > 0 {
                let at = rng.below(drawn.len());
                let mut rule = drawn.swap_remove(at);
                let new = rules::rule(rng, shape, &kernel.interfaces);
                match rng.below(3) {
                    0 => drawn.push(new),
                    1 => {
                        rule.text = with_changes_of(&rule.text, &new.text);
                        drawn.insert(rng.below(drawn.len() + 1), rule);
                    }
                    _ => {
                        drawn.insert(rng.below(drawn.len() + 1), rule);
                        drawn.push(new);
                    }
                }
            }
            let imported = wanted(&drawn, &kernel, &limits, &mut done);
            let names: Vec<_> = imported
                .interfaces
                .iter()
                .map(KernelPort::new)
                .map(Some)
                .collect();
            let outcome = match &mut offload {
                // From time to time the gateway ends and starts again.
                Some(running) if step > 0 || !rng.one_in(4) => {
                    running.reload(&imported.routes, &names)
                }
                _ => {
                    drop(offload.take());
                    CanGwOffload::start(&instance, &imported.routes, &names).map(
                        |(new, outcome)| {
                            offload = Some(new);
                            outcome
                        },
                    )
                }
            };
            let outcome = outcome.unwrap();
            done.sets += 1;
            done.rules += imported.routes.routes.len();
            done.unchanged += outcome.unchanged;
            done.updated += outcome.updated;
            let running = offload.as_mut().unwrap();
            let result = complete(&imported.routes, &imported).and_then(|()| {
                compare(
                    &mut kernel,
                    running,
                    rng,
                    shape,
                    &imported,
                    &drawn,
                    frames,
                    &mut done,
                )
            });
            if let Err(what) = result {
                let rules: Vec<_> = drawn.iter().map(|rule| rule.text.as_str()).collect();
                eprintln!("set {set}.{step}: {what}\n{}\n", rules.join("\n"));
                differences.push(set);
                break;
            }
        }
    }
    drop(offload);
    println!(
        "{limits:?}: {} sets of {} rules in all ({} that this kernel must not have), {} unchanged \
         and {} updated from one to the next, {} frames in, {} frames seen on the interfaces, {} \
         sets differ",
        done.sets,
        done.rules,
        done.refused,
        done.unchanged,
        done.updated,
        done.frames,
        done.copies,
        differences.len()
    );
    assert_eq!(kernel.list().trim(), "", "nothing is left behind");
    assert_eq!(differences, [0_u64; 0], "sets that differ");
    assert!(done.copies > done.frames, "no rule forwarded anything");
    assert!(done.unchanged > 0, "every rule was new each time");
    assert!(done.updated > 0 || !limits.updates_in_place());
}
