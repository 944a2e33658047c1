//! Crashes, and a missing module.

use crate::bpf_common::{Raw, frame, run};
use crate::common::{HELPER, ROLE, gateway, kill, names, route, routes};
use crate::world::{World, entrance, programs, world};
use cangate_offload::bpf::{
    BpfOffload, BpfOptions, Error, GatewayInstance, MissingFeature, TestOptions,
};
use frame::Kind;

pub(crate) const INSTANCE: &str = "processes";

/// The options of a role such as `gateway clsact any`.
pub(crate) fn options(role: &str) -> BpfOptions {
    BpfOptions {
        test: TestOptions {
            clsact: role.contains("clsact"),
            any_interface: role.contains("any"),
            ..TestOptions::default()
        },
        ..BpfOptions::default()
    }
}

pub(crate) fn table(number: u32) -> route::Routes {
    routes(vec![
        route("a", 0x10, 0, 1),
        route("b", 0x11 + number % 7, 1, 0),
    ])
}

/// Not a test: the actions of a child.
#[test]
fn the_part_of_the_child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    if !role.starts_with("gateway") && !role.starts_with("restless") {
        return crate::permission::play(&role);
    }
    let (instance, ports) = (GatewayInstance::new(INSTANCE), names(&["p0", "p1"]));
    let start = BpfOffload::start(&instance, &table(0), &ports, options(&role));
    let (mut offload, _) = start.unwrap();
    println!("\nit runs");
    for number in 0.. {
        if role.starts_with("restless") {
            offload.reload(&table(number), &ports).unwrap();
        } else {
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
    }
}

pub(crate) fn roles(world: &World, role: &str) -> Vec<String> {
    let any = if world.can { "" } else { " any" };
    let ways = world.ways().into_iter();
    ways.map(|options| {
        let way = if options.test.clsact { " clsact" } else { "" };
        format!("{role}{way}{any}")
    })
    .collect()
}

#[test]
fn what_a_crash_leaves_is_found() {
    let world = world!(World::new(2));
    let instance = GatewayInstance::new(INSTANCE);
    for role in roles(&world, "gateway") {
        let running = gateway(&role);
        assert!(!entrance("p0").is_empty());
        let error = BpfOffload::start(&instance, &table(0), &world.ports(), options(&role));
        let error = error.err().unwrap().to_string();
        let expected = format!("process {} runs the gateway `{INSTANCE}`", running.id());
        assert!(error.starts_with(&expected), "{error}");
        let pass = |count: u64| {
            if world.can {
                let sender = Raw::open("q0", false).unwrap();
                let receiver = Raw::open("q1", false).unwrap();
                for _ in 0..3 {
                    let sent = frame(Kind::Classic, 0x10, 0, 0, 0, &[]);
                    sender.send(sent.view()).unwrap();
                }
                for _ in 0..count {
                    receiver.receive(true).unwrap();
                }
                assert_eq!(receiver.receive(false), None);
            }
        };
        pass(3);
        kill(running);
        // A tcx link is removed with its process, a filter stays and continues to route.
        let filter = entrance("p0").iter().any(|what| what.starts_with("filter"));
        let tcx = entrance("p0").iter().any(|what| what.starts_with("tcx"));
        println!("{role}: after the crash {:?}", entrance("p0"));
        assert!(!tcx);
        if role.contains("clsact") {
            assert!(filter);
        }
        if filter {
            pass(3);
        }
        // The same instance continues, with fewer routes.
        let one = routes(vec![route("a", 0x10, 0, 1)]);
        let (mut offload, outcome) =
            BpfOffload::start(&instance, &one, &world.ports(), options(&role)).unwrap();
        assert_eq!(outcome.adopted, filter);
        assert_eq!(programs("p1"), [""; 0], "what is not needed is cleaned");
        pass(3);
        if world.can {
            let sent = offload.counts().unwrap().routes[0].sent;
            assert_eq!(sent, if filter { 9 } else { 3 });
        }
        drop(offload);
        assert_eq!([entrance("p0"), entrance("p1")], [[""; 0]; 2]);

        // Another instance removes it.
        kill(gateway(&role));
        let another = GatewayInstance::new("another");
        let (mut offload, outcome) =
            BpfOffload::start(&another, &table(0), &world.ports(), options(&role)).unwrap();
        assert!(!outcome.adopted);
        assert_eq!(offload.counts().unwrap().routes[0].sent, 0);
        pass(3);
        drop(offload);
        for interface in ["p0", "p1"] {
            let clsact = entrance(interface);
            assert!(clsact.is_empty(), "{clsact:?}");
        }
    }
}

/// Regardless of how many of its changes were done.
#[test]
fn a_crash_amid_a_reload_leaves_nothing_that_is_not_found() {
    let world = world!(World::new(2));
    let instance = GatewayInstance::new(INSTANCE);
    for role in roles(&world, "restless") {
        for round in 0..4 {
            let running = gateway(&role);
            std::thread::sleep(std::time::Duration::from_millis(10 + 37 * round));
            kill(running);
            let start = BpfOffload::start(&instance, &table(0), &world.ports(), options(&role));
            let (offload, outcome) = start.unwrap();
            assert_eq!(outcome.entrances, 2);
            drop(offload);
            assert_eq!([entrance("p0"), entrance("p1")], [[""; 0]; 2]);
        }
    }
}

/// Restores the kernel's helper.
struct Helper(String);

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = std::fs::write(HELPER, &self.0);
        for module in ["sch_ingress", "cls_bpf"] {
            let _ = run(&format!("modprobe {module}"));
        }
    }
}

#[test]
fn a_kernel_without_clsact_or_its_filter_is_reported() {
    let world = world!(World::new(2));
    let _helper = Helper(std::fs::read_to_string(HELPER).unwrap_or_default());
    let options = world.clsact();
    for module in ["cls_bpf", "sch_ingress"] {
        if run(&format!("modprobe -r {module}")).is_err()
            || std::fs::write(HELPER, "/bin/false").is_err()
        {
            eprintln!("SKIPPED because {module} cannot be taken out of this kernel");
            return;
        }
        let instance = GatewayInstance::new("no module");
        let start = BpfOffload::start(&instance, &table(0), &world.ports(), options.clone());
        let error = start.err().unwrap();
        assert!(
            matches!(error, Error::Kernel(MissingFeature::Entrance(_))),
            "{module}: {error:?}"
        );
        println!("{error}");
        assert!(
            error
                .to_string()
                .contains("load the modules sch_ingress and cls_bpf")
        );
        assert_eq!(entrance("p0"), [""; 0]);
    }
}
