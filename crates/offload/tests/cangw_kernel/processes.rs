//! Two processes, crashes, missing permission, a missing module.

use crate::common::{HELPER, ROLE, child, gateway, kill, output_of};
use crate::kernel::Kernel;
use crate::{alone, interfaces, listed, names, pass, route, routes, sh};
use cangate_offload::cangw::{CanGwKernel as CanGw, CanGwOffload, Error, GatewayInstance};
use route::KernelPort;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

const INSTANCE: &str = "processes";

/// Returns tables, each of which has different rules.
fn many(number: u32) -> route::Routes {
    let id = |i: u32| (i * 7 + number * 13) % 97;
    routes((0..40).map(|i| route(&format!("r{i}"), id(i))).collect())
}

/// Not a test: the actions of a child.
#[test]
fn the_part_of_the_child() {
    let instance = GatewayInstance::new(INSTANCE);
    let interfaces = ["cgt_gw0", "cgt_gw1", "cgt_gw2"].map(|name| Some(KernelPort::new(name)));
    let all = routes(vec![route("a", 0x10), route("b", 0x11), route("old", 0x12)]);
    match std::env::var(ROLE).as_deref() {
        Ok("gateway") => {
            let _offload = CanGwOffload::start(&instance, &all, &interfaces).unwrap();
            println!("\nit runs");
            // Until it is killed.
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
        Ok("restless") => {
            let (mut offload, _) = CanGwOffload::start(&instance, &all, &interfaces).unwrap();
            println!("\nit runs");
            for number in 0.. {
                offload.reload(&many(number), &interfaces).unwrap();
            }
        }
        Ok("refused") => refused_amid(&interfaces),
        Ok("nobody") => {
            let error = CanGwOffload::start(&instance, &all, &interfaces)
                .err()
                .unwrap();
            assert!(matches!(error, Error::NoPermission), "{error}");
            // Reading needs no permission.
            let list = CanGw::open().unwrap().list().unwrap();
            assert_eq!(list.len(), 1);
        }
        _ => {}
    }
}

#[test]
fn what_a_crash_leaves_is_taken_over() {
    let _alone = alone();
    let mut kernel = interfaces!();
    let names = names(&kernel);
    let crashed = gateway("gateway");
    assert_eq!(pass(&mut kernel, &[0x10, 0x12], 2), [0x10, 0x12]);
    kill(crashed);
    let before = listed();
    assert_eq!(before.len(), 3, "they stay behind");
    assert_eq!(pass(&mut kernel, &[0x10], 1), [0x10], "and forward");

    let now = routes(vec![route("a", 0x10), route("b", 0x11), route("new", 0x13)]);
    let (mut offload, outcome) =
        CanGwOffload::start(&GatewayInstance::new(INSTANCE), &now, &names).unwrap();
    assert_eq!(
        (
            outcome.adopted,
            outcome.unchanged,
            outcome.added,
            outcome.removed
        ),
        (2, 2, 1, 1)
    );
    assert_eq!(
        pass(&mut kernel, &[0x10, 0x11, 0x12, 0x13], 3),
        [0x10, 0x11, 0x13]
    );
    let sent: Vec<u64> = offload.counts().unwrap().iter().map(|c| c.sent).collect();
    assert_eq!(sent, [3, 1, 1], "a's counter goes on across the crash");
    offload.persist();
    assert_eq!(listed().len(), 3, "left in place");

    // Another instance does not touch them.
    let other = GatewayInstance::new("another");
    let (offload, outcome) = CanGwOffload::start(&other, &now, &names).unwrap();
    assert_eq!((outcome.added, outcome.adopted, listed().len()), (3, 0, 6));
    drop(offload);
    assert_eq!(listed().len(), 3);
    let mut cangw = CanGw::open().unwrap();
    assert_eq!(
        cangw.delete_ours(&GatewayInstance::new(INSTANCE)).unwrap(),
        3
    );
    assert_eq!(listed(), []);
}

/// Regardless of how many of its changes were done.
#[test]
fn a_crash_amid_changes_leaves_nothing_that_is_not_found() {
    let _alone = alone();
    let kernel = interfaces!();
    let names = names(&kernel);
    let instance = GatewayInstance::new(INSTANCE);
    let (mut adopted, mut removed) = (0, 0);
    for round in 0..8 {
        let running = gateway("restless");
        std::thread::sleep(std::time::Duration::from_millis(3 + 5 * round));
        kill(running);
        let left = listed();
        assert!(left.iter().all(|l| instance.owns(l.job.mark())));
        let (offload, outcome) = CanGwOffload::start(&instance, &many(0), &names).unwrap();
        assert_eq!(outcome.unchanged + outcome.added, 40);
        assert_eq!(outcome.unchanged + outcome.removed, left.len());
        adopted += outcome.adopted;
        removed += outcome.removed;
        let mut ids: Vec<_> = listed().iter().map(|l| l.job.filter.0).collect();
        ids.sort_unstable();
        let mut wanted: Vec<_> = (0..40).map(|i| i * 7 % 97).collect();
        wanted.sort_unstable();
        assert_eq!(ids, wanted);
        drop(offload);
        assert_eq!(listed(), []);
    }
    println!("{adopted} rules taken over, {removed} removed");
    assert!(removed > 0, "no crash left anything");
}

/// The reported parameter of the module is false here, so that the kernel refuses a rule that
/// passed all checks.
fn refused_amid(interfaces: &[Option<KernelPort>]) {
    let parameter = "/sys/module/can_gw/parameters/max_hops";
    let exe = std::env::current_exe().unwrap();
    let claim = exe.with_file_name("max_hops_of_a_test");
    std::fs::write(&claim, "6\n").unwrap();
    let bound = rustix::mount::mount_bind(&claim, parameter);
    std::fs::remove_file(&claim).unwrap();
    bound.unwrap();
    let with = |list: &[(&str, u32, u8)]| {
        let routed = list.iter().map(|(name, id, hops)| {
            let mut route = route(name, *id);
            route.hop_limit = Some(*hops);
            route
        });
        let mut all = routes(routed.collect());
        all.max_hops = 2;
        all
    };
    let good = with(&[("a", 0x10, 1), ("b", 0x11, 1), ("c", 0x12, 1)]);
    let bad = with(&[
        ("d", 0x13, 1),
        ("a", 0x10, 1),
        ("bad", 0x14, 2),
        ("e", 0x15, 1),
    ]);
    let instance = GatewayInstance::new(INSTANCE);
    let (mut offload, _) = CanGwOffload::start(&instance, &good, interfaces).unwrap();
    // No frame is affected by the order of these rules: each has an ID of its own.
    let filters = || -> BTreeSet<u32> { listed().iter().map(|l| l.job.filter.0).collect() };
    let (before, there) = (listed(), filters());
    let error = offload.reload(&bad, interfaces).unwrap_err();
    println!("{error}");
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("bad"), "{error}");
    assert_eq!(
        filters(),
        there,
        "what was there is there, and nothing else"
    );
    let a = before.iter().find(|l| l.job.filter.0 == 0x10).unwrap();
    assert!(listed().contains(a), "this one was never touched");
    assert_eq!(offload.reconcile().unwrap().unchanged, 3);
    drop(offload);
    // The same if nothing was there before.
    let error = CanGwOffload::start(&instance, &bad, interfaces)
        .err()
        .unwrap();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert_eq!(listed(), []);
}

#[test]
fn what_the_kernel_refuses_amid_changes_is_undone() {
    let _alone = alone();
    let kernel = interfaces!();
    if kernel.max_hops > 1 {
        eprintln!(
            "SKIPPED because can-gw allows {} hops here",
            kernel.max_hops
        );
        return;
    }
    let part = child("refused");
    // With mounts of its own.
    let mut private = Command::new("unshare");
    private.args(["--mount", "--propagation", "private"]);
    private.arg(part.get_program()).args(part.get_args());
    for (name, value) in part.get_envs() {
        private.env(name, value.unwrap_or_default());
    }
    println!("{}", output_of(&mut private));
    assert_eq!(listed(), []);
}

#[test]
fn one_instance_is_one_process() {
    let _alone = alone();
    let kernel = interfaces!();
    let names = names(&kernel);
    let running = gateway("gateway");
    let before = listed();
    let instance = GatewayInstance::new(INSTANCE);
    let wanted = routes(vec![route("mine", 0x50)]);
    let error = CanGwOffload::start(&instance, &wanted, &names)
        .err()
        .unwrap();
    let expected = format!(
        "process {} holds the can-gw rules of `{INSTANCE}` in this network namespace",
        running.id()
    );
    assert!(error.to_string().starts_with(&expected), "{error}");
    let error = CanGw::open().unwrap().delete_ours(&instance).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    assert_eq!(listed(), before);
    kill(running);
    let (offload, outcome) = CanGwOffload::start(&instance, &wanted, &names).unwrap();
    assert_eq!((outcome.removed, outcome.added), (3, 1));
    drop(offload);
}

#[test]
fn without_permission_it_gives_the_reason() {
    let _alone = alone();
    let kernel = interfaces!();
    let [a, b, _] = &kernel.interfaces;
    kernel.add(&format!("-s {a} -d {b}")).unwrap();
    output_of(child("nobody").uid(65534).gid(65534));
    kernel.flush();
}

/// Restores can-gw and the kernel's helper.
struct Module(u8, String);

impl Drop for Module {
    fn drop(&mut self) {
        let _ = std::fs::write(HELPER, &self.1);
        let _ = Command::new("modprobe").args(["-r", "can-gw"]).status();
        let hops = format!("max_hops={}", self.0);
        let _ = Command::new("modprobe").args(["can-gw", &hops]).status();
    }
}

#[test]
fn a_missing_module_is_loaded_or_named() {
    let _alone = alone();
    let kernel: Kernel = interfaces!();
    let names = names(&kernel);
    let helper = std::fs::read_to_string(HELPER).unwrap_or_default();
    let _module = Module(kernel.max_hops, helper);
    let wanted = routes(vec![route("r", 0x60)]);
    let instance = GatewayInstance::new("module");
    let mut unload = Command::new("modprobe");
    let unloaded = unload.args(["-r", "can-gw"]).status().unwrap();
    if !unloaded.success() || std::fs::write(HELPER, "/bin/false").is_err() {
        eprintln!("SKIPPED because can-gw cannot be taken out of this kernel");
        return;
    }
    let mut cangw = CanGw::open().unwrap();
    assert_eq!(
        cangw.list().unwrap(),
        [],
        "routes of other families are none of CAN"
    );
    let error = CanGwOffload::start(&instance, &wanted, &names)
        .err()
        .unwrap();
    assert!(matches!(error, Error::NoModule), "{error}");

    // Guests do not have it where the kernel searches for it.
    let path = std::env::var("PATH").unwrap();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("modprobe"));
    let modprobe = programs.find(|program| program.exists()).unwrap();
    std::fs::write(HELPER, modprobe.to_str().unwrap()).unwrap();
    let (offload, outcome) = CanGwOffload::start(&instance, &wanted, &names).unwrap();
    assert_eq!(outcome.added, 1, "the kernel loads it");
    drop(offload);

    // If the module allows more hops, the rules specify the number of hops.
    sh("modprobe", "-r can-gw");
    sh("modprobe", "can-gw max_hops=3");
    cangw.ready().unwrap();
    let (mut offload, _) = CanGwOffload::start(&instance, &wanted, &names).unwrap();
    assert_eq!(listed()[0].job.hops, 1);
    let mut two = wanted.clone();
    two.max_hops = 2;
    two.routes[0].hop_limit = Some(3);
    two.routes[0].echo = false;
    offload.reload(&two, &names).unwrap();
    assert_eq!(listed()[0].job.hops, 2);
    two.max_hops = 3;
    offload.reload(&two, &names).unwrap();
    assert_eq!(listed()[0].job.hops, 3);
    two.max_hops = 4;
    assert!(matches!(
        offload.reload(&two, &names),
        Err(Error::MaxHops {
            wanted: 4,
            module: 3
        })
    ));
}
