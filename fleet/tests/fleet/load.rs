//! What a router costs: the figures of docs/fleet.md. Run with
//! `cargo test --release --test fleet load -- --ignored --nocapture --test-threads 1`.

use crate::relay::CutRelay;
use crate::router::free_address;
use cangate_fleet::class::FrameClass;
use cangate_fleet::key::{BusKey, BusSide};
use cangate_fleet::sample::{SampleCollector, SampleWriter, new_stream};
use cangate_fleet::unix_now;
use frame::{CanId, Frame};
use net::FrameTrail;
use net::ieee1722::MessageVersion;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait as _};

/// The variable that makes a router of [`router_process`]: its settings, as JSON5.
const SETTINGS: &str = "FLEET_LOAD_ROUTER";

/// The time for which each load is measured.
const MEASURED: Duration = Duration::from_secs(5);

/// A router as a process, on one processor.
struct RouterProcess {
    child: Child,
    address: SocketAddr,
    opened: Duration,
}

impl RouterProcess {
    fn start(more: &str) -> Self {
        let address = free_address();
        let settings = format!(
            "{{ mode: 'router', scouting: {{ multicast: {{ enabled: false }} }},\
             listen: {{ endpoints: ['tcp/{address}'] }}, {more} }}"
        );
        let file = std::env::temp_dir().join(format!("fleet-load-{}.json5", std::process::id()));
        fs::write(&file, settings).unwrap();
        let mut router = Command::new("taskset");
        router
            .args(["-c", "0"])
            .arg(std::env::current_exe().unwrap());
        router.args([
            "--ignored",
            "--exact",
            "--nocapture",
            "load::router_process",
        ]);
        router
            .env(SETTINGS, &file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let begun = Instant::now();
        let mut child = router.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("ready")));
        let opened = begun.elapsed();
        fs::remove_file(file).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            address,
            opened,
        }
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }

    /// Returns the processor time up to now: ticks of 10 ms.
    fn busy(&self) -> Duration {
        let stat = self.read("stat");
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
        Duration::from_millis(10 * (ticks(11) + ticks(12)))
    }

    /// Returns the resident memory, kB.
    fn memory(&self) -> u64 {
        let status = self.read("status");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for RouterProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is a router, if [`RouterProcess`] starts it.
#[test]
#[ignore = "it is the router of the other tests here"]
fn router_process() {
    let Some(file) = std::env::var_os(SETTINGS) else {
        return;
    };
    let session = zenoh::open(Config::from_file(file).unwrap())
        .wait()
        .unwrap();
    println!("\nready");
    let _ = std::io::stdin().read(&mut [0]);
    session.close().wait().unwrap();
}

fn client(address: SocketAddr) -> Session {
    let mut config = Config::default();
    for (key, value) in [
        ("mode", "'client'".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("connect/endpoints", format!("['tcp/{address}']")),
    ] {
        config.insert_json5(key, &value).unwrap();
    }
    zenoh::open(config).wait().unwrap()
}

/// A vehicle: publishers of all classes, and a subscriber.
struct LoadVehicle {
    /// It ends with its session.
    _session: Session,
    publishers: Vec<Publisher<'static>>,
    writer: SampleWriter,
}

impl LoadVehicle {
    fn new(address: SocketAddr, number: usize) -> Self {
        let session = client(address);
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
fn operator(address: SocketAddr) -> (Session, Arc<AtomicU64>) {
    let session = client(address);
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

/// Publishes so many samples a second by all vehicles in turn, and prints a row.
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

#[test]
#[ignore = "it measures, for minutes"]
fn samples() {
    let router = RouterProcess::start("");
    let (_operator, came) = operator(router.address);
    println!(
        "\n| vehicles | samples/s | frames each | lost | router's processor time a sample | of one processor |"
    );
    println!("|---|---|---|---|---|---|");
    let mut vehicles: Vec<_> = (0..10)
        .map(|n| LoadVehicle::new(router.address, n))
        .collect();
    for (rate, frames) in [
        (500, 1),
        (2_000, 1),
        (10_000, 1),
        (30_000, 1),
        (100_000, 1),
        (2_000, 10),
        (10_000, 10),
    ] {
        measure(&router, &mut vehicles, &came, rate, frames);
    }
    vehicles.extend((10..200).map(|n| LoadVehicle::new(router.address, n)));
    std::thread::sleep(Duration::from_secs(1));
    for (rate, frames) in [(2_000, 1), (10_000, 1), (100_000, 1)] {
        measure(&router, &mut vehicles, &came, rate, frames);
    }
}

#[test]
#[ignore = "it measures, for minutes"]
fn sessions() {
    let router = RouterProcess::start("");
    std::thread::sleep(Duration::from_secs(1));
    println!(
        "\n| sessions | router's memory | processor time to join | processor time a second, idle |"
    );
    println!("|---|---|---|---|");
    let mut vehicles = Vec::new();
    let mut busy = router.busy();
    for count in [0, 100, 300, 600] {
        while vehicles.len() < count {
            vehicles.push(LoadVehicle::new(router.address, vehicles.len()));
        }
        std::thread::sleep(Duration::from_secs(2));
        let joined = router.busy() - busy;
        let (idle, begun) = (router.busy(), Instant::now());
        std::thread::sleep(MEASURED);
        busy = router.busy();
        println!(
            "| {count} | {} kB | {joined:?} | {:.2} ms |",
            router.memory(),
            (busy - idle).as_secs_f64() * 1e3 / begun.elapsed().as_secs_f64()
        );
    }
}

#[test]
#[ignore = "it measures"]
fn bytes() {
    let router = RouterProcess::start("");
    let relay = CutRelay::start(router.address);
    let (_operator, came) = operator(router.address);
    let mut vehicle = LoadVehicle::new(relay.address, 0);
    std::thread::sleep(Duration::from_secs(1));
    println!("\n| frames | sample's payload and attachment | bytes of TCP |\n|---|---|---|");
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
    assert_eq!(came.load(Relaxed), 400);
}

/// Rights of many vehicles: one rule, subject and policy for each.
#[test]
#[ignore = "it measures, for minutes"]
fn rights() {
    println!("\n| vehicles with rights | start | router's memory |");
    println!("|---|---|---|");
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
            write!(subjects, "{{ id: {id}, usernames: [{id}] }},").unwrap();
            write!(policies, "{{ rules: [{id}], subjects: [{id}] }},").unwrap();
        }
        // Programs without a user may do everything, so that the same load can be measured.
        let router = RouterProcess::start(&format!(
            "access_control: {{ enabled: true, default_permission: 'allow',\
             rules: [{rules}], subjects: [{subjects}], policies: [{policies}] }}"
        ));
        println!(
            "| {count} | {:.1} s | {} kB |",
            router.opened.as_secs_f64(),
            router.memory()
        );
        let (_operator, came) = operator(router.address);
        let mut vehicles: Vec<_> = (0..10)
            .map(|n| LoadVehicle::new(router.address, n))
            .collect();
        measure(&router, &mut vehicles, &came, 10_000, 1);
    }
}
