//! Images without an operating system: cards by interrupt and by polling, faults on a bus, and the
//! output on the serial line.

use super::lab;
use baremetal::bench::{BenchStamp, BenchTask, DisturbedFrames, SendPattern, StampKind, TaskFrame};
use baremetal::{ControllerPlace, DriveMode, ImagePlan, PortPlan};
use engine::{CounterSnapshot, Fate};
use frame::{CanId, Frame};
use guest::{BareMachine, BareOutcome, BareProcessor, Lab, SilentProgress};
use image::ImageTarget;
use route::{PortId, Route, Routes};
use std::time::Duration;

/// Nanoseconds per millisecond.
const MS: u64 = 1_000_000;

/// The output of an image: its counters, and the stamps of its tester.
pub(super) struct Left {
    pub(super) counters: CounterSnapshot,
    pub(super) stamps: Vec<BenchStamp>,
}

impl Left {
    pub(super) fn of(output: &BareOutcome) -> Self {
        let lines = || output.text.lines();
        assert!(
            output.ended && output.text.contains("end of stamps, 0 lost"),
            "{}",
            output.text
        );
        let counters = lines()
            .rfind(|line| line.starts_with("{\"at_ns\""))
            .unwrap();
        let counters: CounterSnapshot = serde_json::from_str(counters).unwrap();
        assert_eq!(counters.check(), Ok(()));
        let stamps = lines().filter(|line| line.starts_with("{\"end\""));
        Self {
            counters,
            stamps: stamps.map(|s| serde_json::from_str(s).unwrap()).collect(),
        }
    }

    /// Returns the frames of the gateway on this bus, in order.
    pub(super) fn came(&self, bus: u8) -> Vec<Frame> {
        let of_gateway =
            |s: &&BenchStamp| s.bus == bus && s.node != 0 && s.kind == StampKind::Frame;
        let stamps = self.stamps.iter().filter(of_gateway);
        stamps.map(|stamp| stamp.frame.frame().unwrap()).collect()
    }

    fn count(&self, kind: StampKind) -> usize {
        self.stamps.iter().filter(|s| s.kind == kind).count()
    }
}

pub(super) fn port(name: &str, place: ControllerPlace, drive: DriveMode) -> PortPlan {
    PortPlan {
        drive,
        restart: Some(10 * MS),
        ..PortPlan::new(name, place, 500_000)
    }
}

fn on_bench(drive: DriveMode) -> ImagePlan {
    let one = |bus, name| port(name, ControllerPlace::Bench { bus }, drive);
    ImagePlan {
        ports: vec![one(0, "a"), one(1, "b")],
        routes: through(),
    }
}

fn through() -> Routes {
    Routes {
        routes: vec![Route::new("through", vec![PortId(0)], vec![PortId(1)])],
        ..Routes::default()
    }
}

pub(super) fn task(
    pattern: SendPattern,
    frames: impl IntoIterator<Item = (u64, Frame)>,
) -> BenchTask {
    BenchTask {
        ideal: false,
        pattern,
        timeout: 200 * MS,
        ticks: Some(1_000_000_000),
        on_cards: None,
        stamps: None,
        disturbed: None,
        frames: frames
            .into_iter()
            .map(|(at, frame)| TaskFrame::new(at, &frame))
            .collect(),
    }
}

/// Returns `count` frames that begin with their number, `apart` ns apart.
fn numbered(count: u16, apart: u64) -> impl Iterator<Item = (u64, Frame)> {
    (0..count).map(move |n| {
        let [high, low] = n.to_be_bytes();
        let data = [high, low, 3, 4];
        (
            u64::from(n) * apart,
            Frame::classic(CanId::from_raw(0x123), &data).unwrap(),
        )
    })
}

/// Runs the image of a plan.
pub(super) fn run(
    plan: Option<&ImagePlan>,
    task: Option<&BenchTask>,
    change: impl FnOnce(&mut BareMachine),
) -> BareOutcome {
    let lab = Lab::open(&guest::Locations::default()).unwrap();
    let template = image::template(ImageTarget::Pc, &lab.folder().join("image"), &|| ()).unwrap();
    let mut bare = BareMachine::new(2, Duration::from_secs(120));
    bare.image = std::fs::read(&template.path).unwrap();
    if let Some(plan) = plan {
        image::embed(&mut bare.image, plan).unwrap();
    }
    bare.module = task.map_or_else(Vec::new, |task| serde_json::to_vec(task).unwrap());
    change(&mut bare);
    lab.run_bare(&bare, &SilentProgress).unwrap()
}

#[test]
#[ignore = "runs an image in QEMU"]
fn cards_are_driven_by_interrupt_and_by_polling() {
    let Some(_lab) = lab() else { return };
    for (model, drive) in [
        ("kvaser", DriveMode::Poll),
        ("kvaser", DriveMode::Interrupt),
        ("ctucan", DriveMode::Poll),
        ("ctucan", DriveMode::Interrupt),
    ] {
        let fd = model == "ctucan";
        let one = |name: &str, slot: u8, drive| {
            let mut port = port(
                name,
                ControllerPlace::Card {
                    address: format!("0000:00:{slot:02x}.0"),
                    channel: 0,
                },
                drive,
            );
            port.data_bitrate = fd.then_some(2_000_000);
            port
        };
        let plan = ImagePlan {
            ports: vec![one("a", 4, drive), one("b", 5, drive)],
            routes: through(),
        };
        let mut frames: Vec<_> = numbered(50, 0).collect();
        let id = CanId::from_raw;
        frames.push((0, Frame::classic(id(0x9ABC_DEF0), &[0; 8]).unwrap()));
        // QEMU's SJA1000 keeps data bytes of remote frames in its FIFO, which no driver expects.
        let len = if fd { 4 } else { 0 };
        frames.push((0, Frame::remote(id(0x4000_0321), len).unwrap()));
        frames.push((0, Frame::classic(id(0x7FF), &[]).unwrap()));
        if fd {
            frames.push((0, Frame::fd(id(0x111), 1, &[0xA5; 64]).unwrap()));
        }
        let expected: Vec<Frame> = frames.iter().map(|(_, frame)| *frame).collect();
        for pattern in [SendPattern::OneAtATime, SendPattern::Schedule] {
            let mut task = task(pattern, frames.clone());
            task.on_cards = Some([one("s", 6, DriveMode::Poll), one("r", 7, DriveMode::Poll)]);
            let output = run(Some(&plan), Some(&task), |bare| {
                bare.objects = ["b0", "b1", "b2"]
                    .map(|bus| format!("can-bus,id={bus}"))
                    .to_vec();
                bare.devices = [(4, "b0"), (5, "b1"), (6, "b0"), (7, "b1")]
                    .map(|(slot, bus)| match model {
                        "kvaser" => format!("kvaser_pci,canbus={bus},addr={slot}"),
                        // The second core has no other node on its bus.
                        _ => format!("ctucan_pci,canbus0={bus},canbus1=b2,addr={slot}"),
                    })
                    .to_vec();
            });
            let left = Left::of(&output);
            assert_eq!(left.came(1), expected, "{model} {drive:?} {pattern:?}");
            assert_eq!(left.counters.frames(Fate::Routed), expected.len() as u128);
            assert_eq!(
                left.counters.port("b").unwrap().tx.sent,
                expected.len() as u64
            );
        }
    }
}

#[test]
#[ignore = "runs an image in QEMU"]
fn bus_off_is_survived_and_every_frame_has_a_fate() {
    let Some(_lab) = lab() else { return };
    for drive in [DriveMode::Poll, DriveMode::Interrupt] {
        let mut task = task(SendPattern::Schedule, numbered(60, MS));
        // In the middle of the eleventh frame, until its controller is bus-off.
        task.disturbed = Some(DisturbedFrames {
            first: 11,
            count: 40,
        });
        let left = Left::of(&run(Some(&on_bench(drive)), Some(&task), |_| ()));
        assert_eq!(left.count(StampKind::BusOff), 1);
        assert!(left.count(StampKind::Error) >= 32);
        let (incoming, outgoing) = (
            left.counters.port("a").unwrap(),
            left.counters.port("b").unwrap(),
        );
        assert_eq!(incoming.received, 60);
        assert_eq!(outgoing.rx.reopened, 1, "one restart");
        let tx = &outgoing.tx;
        assert_eq!(tx.taken, tx.sent + tx.lost + tx.held, "{tx:?}");
        assert!(tx.lost >= 1 && tx.held == 0, "{tx:?}");
        let came = left.came(1);
        assert_eq!(came.len() as u64, tx.sent);
        let refused = left.counters.frames(Fate::Undeliverable) as u64;
        assert_eq!(tx.taken + refused, 60);
        // The bus is back before the end.
        assert_eq!(came.last().unwrap().data()[1], 59);
    }
}

#[test]
#[ignore = "runs an image in QEMU"]
fn overruns_are_counted_by_image_and_tester_alike() {
    let Some(_lab) = lab() else { return };
    let task = task(SendPattern::Schedule, numbered(200, 0));
    // An instruction takes 1 µs: the gateway needs more time for a frame than the bus.
    let slow = |bare: &mut BareMachine| bare.shift = 10;
    let left = Left::of(&run(Some(&on_bench(DriveMode::Poll)), Some(&task), slow));
    let port = left.counters.port("a").unwrap();
    assert!(port.rx.overrun > 0, "{port:?}");
    assert_eq!(port.rx.overrun, left.count(StampKind::Overrun) as u64);
    assert_eq!(port.received + port.rx.overrun, 200);
    assert_eq!(
        left.came(1).len() as u64,
        left.counters.port("b").unwrap().tx.sent
    );
}

/// A frame every hundred seconds. One that did not sleep would take hours here.
#[test]
#[ignore = "runs an image in QEMU"]
fn an_idle_image_sleeps() {
    let Some(_lab) = lab() else { return };
    let task = task(SendPattern::Schedule, numbered(20, 100_000 * MS));
    let left = Left::of(&run(
        Some(&on_bench(DriveMode::Interrupt)),
        Some(&task),
        |_| (),
    ));
    assert_eq!(left.came(1).len(), 20);
    assert!(
        left.counters.at_ns > 1_900_000 * MS,
        "{}",
        left.counters.at_ns
    );
}

#[test]
#[ignore = "runs an image in QEMU"]
fn the_serial_line_answers_and_reports_errors() {
    let Some(_lab) = lab() else { return };
    let says = |plan: Option<&ImagePlan>, letters: &[u8]| {
        let output = run(plan, None, |bare| {
            bare.letters = letters.to_vec();
            bare.objects = vec!["can-bus,id=b0".into()];
            bare.devices = vec!["kvaser_pci,canbus=b0,addr=4".into()];
        });
        assert!(output.ended, "{}", output.text);
        output.text
    };
    let card = |slot: u8| {
        let address = format!("0000:00:{slot:02x}.0");
        let place = ControllerPlace::Card {
            address,
            channel: 0,
        };
        ImagePlan {
            ports: vec![port("a", place, DriveMode::Interrupt)],
            ..ImagePlan::default()
        }
    };
    assert!(
        says(None, &[]).contains("this image contains no gateway: add one with `cangate image`")
    );
    let missing = says(Some(&card(9)), &[]);
    assert!(
        missing.contains("port a: there is no PCI card 0000:00:09.0: cards that cangate can drive are at 0000:00:04.0"),
        "{missing}"
    );
    // The counters are requested, and once more at the end.
    let answers = says(Some(&card(4)), b"sq");
    let counters: Vec<CounterSnapshot> = answers
        .lines()
        .filter(|line| line.starts_with("{\"at_ns\""))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(counters.len(), 2, "{answers}");
    assert!(
        counters
            .iter()
            .all(|c| c.check().is_ok() && c.port("a").is_some())
    );
}

/// A middling Cortex-M4: 512 KiB of flash and 256 KiB of RAM, or the image would not link.
#[test]
#[ignore = "runs an image in QEMU"]
fn sixty_four_routes_fit_a_microcontroller() {
    let Some(_right) = lab() else { return };
    let lab = Lab::open(&guest::Locations::default()).unwrap();
    let folder = lab.folder().join("image");
    let template = image::template(ImageTarget::CortexM4, &folder, &|| ()).unwrap();
    let mut bare = BareMachine::new(2, Duration::from_secs(120));
    bare.processor = BareProcessor::CortexM4;
    bare.image = std::fs::read(&template.path).unwrap();
    let output = lab.run_bare(&bare, &SilentProgress).unwrap();
    println!("{}", output.text);
    assert!(
        output.ended && output.text.contains("64 routes, 64 frames, 64 came out"),
        "{}",
        output.text
    );
    let counters = output
        .text
        .lines()
        .find(|line| line.starts_with("{\"at_ns\""))
        .unwrap();
    let counters: CounterSnapshot = serde_json::from_str(counters).unwrap();
    assert_eq!(counters.check(), Ok(()));
    assert_eq!(counters.frames(Fate::Routed), 64);
    assert!(counters.routes.iter().all(|route| route.count.taken == 1));
}
