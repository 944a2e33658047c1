//! The same semantics in one more place: random can-gw rules on the bench of an image, compared
//! with the routing table on this host, which is compared with the kernel's can-gw and with BPF
//! elsewhere (`crates/offload/tests`), with the same rules and frames.

use super::bare::{Left, port, run, task};
use super::rng::Rng;
use super::rules::Shape;
use super::{frames, lab, rules};
use baremetal::bench::SendPattern;
use baremetal::{ControllerPlace, DriveMode, ImagePlan};
use config::SourceText;
use frame::{CanId, Frame, FrameRef, Kind};
use route::cangw::import;
use route::{DecisionSink, ForwardedCopy, FrameArrival, PortId, RouteId, RoutingTable, StopReason};

const SETS: u64 = 12;
const FRAMES: usize = 120;

/// The content of a frame on the wire: fields that a controller cannot send are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OnWire {
    fd: bool,
    eff: bool,
    rtr: bool,
    number: u32,
    flags: u8,
    len: usize,
    data: Vec<u8>,
}

fn on_wire(frame: FrameRef<'_>) -> Option<OnWire> {
    let frame = Frame::from_view(frame)?.padded();
    let header = frame.header();
    let (id, fd) = (header.id(), header.kind() == Kind::Fd);
    if id.is_err() || (fd && id.is_rtr()) || header.kind() == Kind::Xl {
        return None;
    }
    Some(OnWire {
        fd,
        eff: id.is_eff(),
        rtr: id.is_rtr(),
        number: id.number(),
        // BRS; ESI is the sender's own.
        flags: if fd { header.flags() & 1 } else { 0 },
        len: header.len(),
        data: frame.data().to_vec(),
    })
}

/// Frames by the port that they leave from.
struct Leaves(Vec<Vec<OnWire>>);

impl DecisionSink for Leaves {
    fn taken(&mut self, _: RouteId) {}
    fn stopped(&mut self, _: RouteId, _: StopReason) {}
    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        self.0[usize::from(copy.to.0)].extend(on_wire(copy.frame));
    }
}

#[test]
#[ignore = "runs images in QEMU"]
fn routes_mean_the_same_without_an_operating_system() {
    let Some(_lab) = lab() else { return };
    let names = ["a", "b", "c"].map(str::to_owned);
    let (mut sent, mut came) = (0, 0);
    for set in 0..SETS {
        let rng = &mut Rng(0xBA2E_0000 + set);
        let shape = Shape {
            fd: set % 2 == 0,
            chain: false,
            negative_crc8: true,
            max_hops: 1,
        };
        let drawn: Vec<_> = (0..9).map(|_| rules::rule(rng, shape, &names)).collect();
        // A rule that takes frames that no other rule takes, so that each set has one from the
        // first port.
        let mut text = "modprobe can-gw max_hops=1\ncangw -A -s a -d b -e\n".to_owned();
        for rule in &drawn {
            let one = format!("{text}cangw -A {}\n", rule.text);
            if import(&SourceText::new("rules.sh", one.clone())).is_ok() {
                text = one;
            }
        }
        let imported = import(&SourceText::new("rules.sh", text)).unwrap();
        // By bus: frames come in at the first one only.
        let buses: Vec<_> = imported
            .ports
            .iter()
            .map(|port| {
                let bus = names.iter().position(|name| name == port).unwrap();
                u8::try_from(bus).unwrap()
            })
            .collect();
        let incoming = buses.iter().position(|&bus| bus == 0).unwrap();
        let ids: Vec<u32> = drawn.iter().flat_map(|rule| rule.ids.clone()).collect();
        let all: Vec<Frame> = (0..FRAMES)
            .map(|_| frames::frame(rng, shape, &ids))
            .filter(|frame| on_wire(frame.view()).is_some())
            // A controller knows no raw DLC above 8, and 11 bits of an SFF number.
            .filter_map(|frame| {
                let view = frame.view();
                let id = view.id();
                let raw = if id.is_eff() {
                    id.raw()
                } else {
                    id.raw() & (CanId::RTR_FLAG | CanId::SFF_MASK)
                };
                let (id, len) = (CanId::from_raw(raw), view.header().len());
                match view.kind() {
                    Kind::Fd => Frame::fd(id, view.header().flags() & 1, view.data()).ok(),
                    _ if id.is_rtr() => Frame::remote(id, len).ok(),
                    _ => Frame::classic(id, view.data()).ok(),
                }
            })
            .map(Frame::padded)
            .collect();
        let table = RoutingTable::compile(&imported.routes, imported.ports.len()).unwrap();
        let mut memory = table.memory();
        let mut expected = Leaves(vec![Vec::new(); buses.len()]);
        for frame in &all {
            let arrival = FrameArrival {
                from: PortId(incoming as u16),
                now: 0,
                hops: 0,
            };
            table.decide(&mut memory, arrival, frame.view(), &mut expected);
        }
        let ports = imported.ports.iter().zip(&buses).map(|(name, &bus)| {
            let mut port = port(name, ControllerPlace::Bench { bus }, DriveMode::Poll);
            port.data_bitrate = Some(2_000_000);
            port
        });
        let plan = ImagePlan {
            ports: ports.collect(),
            routes: imported.routes.clone(),
        };
        // Far enough apart that each frame and its copies are through before the next one comes.
        let apart = all
            .iter()
            .zip(0..)
            .map(|(frame, n)| (n * 20_000_000, *frame));
        let mut todo = task(SendPattern::Schedule, apart);
        // Up to nine rules take a frame.
        todo.stamps = Some(12 * FRAMES as u32);
        let left = Left::of(&run(Some(&plan), Some(&todo), |_| ()));
        for (bus, expected) in buses.iter().zip(&expected.0) {
            let got: Vec<_> = left
                .came(*bus)
                .iter()
                .filter_map(|f| on_wire(f.view()))
                .collect();
            assert_eq!(&got, expected, "set {set}, bus {bus}:\n{}", imported.toml);
            came += got.len();
        }
        sent += all.len();
    }
    assert!(sent > 500 && came > 500, "{sent} sent, {came} came");
    println!("{sent} frames, {came} copies in {SETS} sets of rules: the same");
}
