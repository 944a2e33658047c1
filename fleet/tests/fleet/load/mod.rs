//! The cost of a router: the figures of docs/fleet.md. Run with
//! `cargo test --release --test fleet load -- --ignored --nocapture --test-threads 1`.

mod router;

use crate::program::{ProgramProcess, bus, file, tcp};
use crate::relay::CutRelay;
use cangate_fleet::class::FrameClass;
use cangate_fleet::key::{BusKey, BusSide};
use cangate_fleet::sample::{SampleCollector, SampleWriter, new_stream};
use cangate_fleet::unix_now;
use frame::{CanId, Frame};
use net::FrameTrail;
use net::ieee1722::MessageVersion;
use router::{RouterProcess, SMALL, busy, memory};
use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait as _};

/// The time for which each load is measured.
const MEASURED: Duration = Duration::from_secs(5);

/// A vehicle: publishers of all classes, and a subscriber.
struct LoadVehicle {
    /// It ends with its session.
    _session: Session,
    publishers: Vec<Publisher<'static>>,
    writer: SampleWriter,
}

impl LoadVehicle {
    fn new(router: &RouterProcess, number: usize) -> Self {
        Self::by(router, router.address.port(), number)
    }

    fn by(router: &RouterProcess, port: u16, number: usize) -> Self {
        let session = router.client(port);
        let key = BusKey::new(&format!("v{number}"), "can0").unwrap();
        let publishers = FrameClass::ALL.map(|class| {
            let publisher = session.declare_publisher(key.to_publish(BusSide::Vehicle, class));
            let publisher = publisher.congestion_control(CongestionControl::Drop);
            publisher
                .priority(class.priority())
                .express(true)
                .wait()
                .unwrap()
        });
        let subscriber = session.declare_subscriber(key.to_receive(BusSide::Vehicle));
        subscriber.callback(drop).background().wait().unwrap();
        Self {
            _session: session,
            publishers: publishers.into(),
            writer: SampleWriter::new(new_stream(), MessageVersion::V1),
        }
    }

    fn put(&mut self, frames: usize) -> usize {
        let mut collector = SampleCollector::new(MessageVersion::V1, 0);
        let frame = Frame::classic(CanId::sff(0x123).unwrap(), &[7; 8]).unwrap();
        for _ in 0..frames {
            collector
                .push(&frame.view(), unix_now(), FrameTrail::default())
                .unwrap();
        }
        let (payload, before) = self.writer.finish(collector.finish().unwrap());
        let len = payload.len();
        let put = self.publishers[FrameClass::Normal.index()].put(payload);
        put.attachment(ZBytes::from(&before[..])).wait().unwrap();
        len
    }
}

/// Counts the samples of all vehicles.
fn operator(router: &RouterProcess) -> (Session, Arc<AtomicU64>) {
    let session = router.client(router.address.port());
    let came = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&came);
    let subscriber = session
        .declare_subscriber("cangate/*/*/out/*")
        .callback(move |_| {
            counter.fetch_add(1, Relaxed);
        });
    subscriber.background().wait().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    (session, came)
}

/// Publishes at this rate, samples a second, by all vehicles in turn, and prints a row.
fn measure(
    router: &RouterProcess,
    vehicles: &mut [LoadVehicle],
    came: &AtomicU64,
    rate: u64,
    frames: usize,
) {
    let (busy, before, begun) = (router.busy(), came.load(Relaxed), Instant::now());
    let mut sent = 0;
    while begun.elapsed() < MEASURED {
        let due = (begun.elapsed().as_secs_f64() * rate as f64) as u64;
        while sent < due {
            let at = sent as usize % vehicles.len();
            vehicles[at].put(frames);
            sent += 1;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    let took = begun.elapsed();
    std::thread::sleep(Duration::from_millis(500));
    let busy = router.busy() - busy;
    let arrived = came.load(Relaxed) - before;
    println!(
        "| {} | {} | {frames} | {:.2} % | {:.1} us | {:.0} % |",
        vehicles.len(),
        (sent as f64 / took.as_secs_f64()).round(),
        (sent - arrived) as f64 * 100.0 / sent as f64,
        busy.as_secs_f64() * 1e6 / arrived.max(1) as f64,
        busy.as_secs_f64() * 100.0 / took.as_secs_f64(),
    );
}

const HEAD: &str = "| vehicles | samples/s | frames each | lost | router's processor time a sample | of one processor |\n\
                    |---|---|---|---|---|---|";

#[test]
#[ignore = "it measures, for minutes"]
fn samples() {
    for is_tls in [false, true] {
        let router = RouterProcess::start(is_tls, SMALL, "");
        let (_operator, came) = operator(&router);
        println!("\nTLS: {is_tls}\n{HEAD}");
        let mut vehicles: Vec<_> = (0..10).map(|n| LoadVehicle::new(&router, n)).collect();
        std::thread::sleep(Duration::from_secs(1));
        for (rate, frames) in [(500, 1), (2_000, 1), (10_000, 1), (50_000, 1), (2_000, 10)] {
            measure(&router, &mut vehicles, &came, rate, frames);
        }
        vehicles.extend((10..200).map(|n| LoadVehicle::new(&router, n)));
        std::thread::sleep(Duration::from_secs(1));
        for (rate, frames) in [(2_000, 1), (10_000, 1)] {
            measure(&router, &mut vehicles, &came, rate, frames);
        }
    }
}

#[test]
#[ignore = "it measures, for minutes"]
fn sessions() {
    for (is_tls, link) in [(false, ""), (false, SMALL), (true, SMALL)] {
        let router = RouterProcess::start(is_tls, link, "");
        let (_operator, _) = operator(&router);
        let words = if link.is_empty() {
            "Zenoh's batches"
        } else {
            "small batches"
        };
        println!(
            "\nTLS: {is_tls}, {words}\n| sessions | router's memory | processor time to join | idle, a second |"
        );
        println!("|---|---|---|---|");
        let mut vehicles = Vec::new();
        for count in [0, 100, 300] {
            let before = router.busy();
            while vehicles.len() < count {
                let mut vehicle = LoadVehicle::new(&router, vehicles.len());
                for _ in 0..3 {
                    vehicle.put(1);
                }
                vehicles.push(vehicle);
            }
            std::thread::sleep(Duration::from_secs(2));
            let joined = router.busy() - before;
            let (idle, begun) = (router.busy(), Instant::now());
            std::thread::sleep(MEASURED);
            println!(
                "| {count} | {} kB | {joined:?} | {:.2} ms |",
                router.memory(),
                (router.busy() - idle).as_secs_f64() * 1e3 / begun.elapsed().as_secs_f64()
            );
        }
    }
}

#[test]
#[ignore = "it measures"]
fn bytes() {
    for is_tls in [false, true] {
        let router = RouterProcess::start(is_tls, SMALL, "");
        let relay = CutRelay::start(router.address);
        let (_operator, came) = operator(&router);
        let mut vehicle = LoadVehicle::by(&router, relay.address.port(), 0);
        std::thread::sleep(Duration::from_secs(1));
        println!(
            "\nTLS: {is_tls}\n| frames | sample's payload and attachment | bytes of TCP |\n|---|---|---|"
        );
        for frames in [1, 2, 5, 10] {
            let (before, _) = relay.bytes();
            let mut len = 0;
            for _ in 0..100 {
                len = vehicle.put(frames);
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(200));
            let (after, _) = relay.bytes();
            println!(
                "| {frames} | {} | {:.1} |",
                len + 8,
                (after - before) as f64 / 100.0
            );
        }
        assert!(came.load(Relaxed) > 0);
    }
}

/// Rights of many vehicles: one rule, subject and policy for each.
#[test]
#[ignore = "it measures, for minutes"]
fn rights() {
    println!("\n| vehicles with rights | start | router's memory |\n|---|---|---|");
    for count in [10, 1_000, 10_000] {
        let (mut rules, mut subjects, mut policies) = (String::new(), String::new(), String::new());
        for n in 0..count {
            let id = format!("'v{n}'");
            write!(
                rules,
                "{{ id: {id}, messages: ['put', 'declare_subscriber'], flows: ['ingress', 'egress'],\
                 permission: 'allow', key_exprs: ['cangate/v{n}/**'] }},"
            )
            .unwrap();
            write!(subjects, "{{ id: {id}, cert_common_names: [{id}] }},").unwrap();
            write!(policies, "{{ rules: [{id}], subjects: [{id}] }},").unwrap();
        }
        // Clients without a rule may do everything, so that the same load can be measured.
        let rights = format!(
            "access_control: {{ enabled: true, default_permission: 'allow',\
             rules: [{rules}], subjects: [{subjects}], policies: [{policies}] }}"
        );
        let router = RouterProcess::start(false, SMALL, &rights);
        println!(
            "| {count} | {:.1} s | {} kB |",
            router.opened.as_secs_f64(),
            router.memory()
        );
        let (_operator, came) = operator(&router);
        let before = router.busy();
        let mut vehicles: Vec<_> = (0..10).map(|n| LoadVehicle::new(&router, n)).collect();
        println!("{:?} to join ten vehicles\n{HEAD}", router.busy() - before);
        measure(&router, &mut vehicles, &came, 2_000, 1);
    }
}

/// The program in a vehicle.
#[test]
#[ignore = "it measures"]
fn vehicle() {
    let router = RouterProcess::start(false, SMALL, "");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vehicle.toml");
    let (table, mut peer) = bus("can0", "vehicle = \"v1\"");
    fs::write(&path, file(&tcp(router.address), "", &[&table])).unwrap();
    let (_operator, came) = operator(&router);
    let program = ProgramProcess::start(&path);
    let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", program.id())).unwrap();
    println!(
        "\n| frames/s | frames in a datagram | processor time a frame | memory |\n|---|---|---|---|"
    );
    for frames in [1, 5] {
        let (before, begun) = (busy(&read("stat")), Instant::now());
        let sent = peer.sent;
        while begun.elapsed() < MEASURED {
            let due = (begun.elapsed().as_secs_f64() * 2000.0) as u64;
            while peer.sent - sent < due {
                peer.send(&[0x123, 0x124, 0x125, 0x126, 0x127][..frames]);
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        let sent = peer.sent - sent;
        let took = (busy(&read("stat")) - before).as_secs_f64();
        println!(
            "| {:.0} | {frames} | {:.1} us | {} kB |",
            sent as f64 / begun.elapsed().as_secs_f64(),
            took * 1e6 / sent as f64,
            memory(&read("status"))
        );
    }
    println!("{} samples came; {:?}", came.load(Relaxed), program.end());
}

/// The subscriptions of many vehicles, which each router of a net knows: with and without a
/// wildcard in them.
#[test]
#[ignore = "it measures, for minutes"]
fn keys() {
    for is_wild in [false, true] {
        let router = RouterProcess::start(false, SMALL, "");
        let session = router.client(router.address.port());
        std::thread::sleep(Duration::from_secs(1));
        println!("\nwildcard: {is_wild}\n| subscriptions | router's memory | processor time |");
        println!("|---|---|---|");
        let (mut count, mut before) = (0, router.busy());
        for goal in [0, 2_500, 5_000, 10_000] {
            while count < goal {
                let key = BusKey::new(&format!("v{count}"), "can0").unwrap();
                let key = if is_wild {
                    format!(
                        "{}/*",
                        key.to_publish(BusSide::Operator, FrameClass::Normal)
                    )
                } else {
                    key.to_publish(BusSide::Operator, FrameClass::Normal)
                };
                let subscriber = session.declare_subscriber(key).callback(drop);
                subscriber.background().wait().unwrap();
                count += 1;
            }
            std::thread::sleep(Duration::from_secs(2));
            let memory = router.memory();
            println!("| {count} | {memory} kB | {:?} |", router.busy() - before);
            before = router.busy();
        }
        session.close().wait().unwrap();
    }
}
