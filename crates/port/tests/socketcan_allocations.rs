//! In the steady state a frame's way from one Linux interface to another allocates nothing, by every way to
//! receive and every way to transmit.
//!
//! Alone in its file, because the count is of the whole process. Needs what `socketcan_ways.rs` needs.
#![allow(clippy::unwrap_used, unsafe_code)]

use frame::{CanId, Frame, flags};
use port::socketcan::{ReceiveBy, SocketCanConfig, TransmitBy, open};
use port::{Halves, Outgoing};
use std::alloc::{GlobalAlloc, Layout, System};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counting touches nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract; `alloc` above got it from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as for `dealloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Two wires: what is sent on `cgza1` comes in on `cgza0`, and what is sent on `cgzb0` on `cgzb1`.
struct Wires;

impl Wires {
    fn new() -> Result<Self, String> {
        let error = open("probe", &SocketCanConfig::new("lo")).err();
        if error.is_some_and(|error| error.to_string().contains("modprobe can")) {
            return Err("this kernel has no AF_CAN (EAFNOSUPPORT)".to_owned());
        }
        let wires = Self;
        for wire in ["cgza", "cgzb"] {
            let _ = ip(&format!("link del {wire}0"));
            ip(&format!("link add {wire}0 type vxcan peer name {wire}1"))?;
            for end in [0, 1] {
                ip(&format!("link set {wire}{end} mtu 72 up"))?;
            }
        }
        Ok(wires)
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        for wire in ["cgza0", "cgzb0"] {
            let _ = ip(&format!("link del {wire}"));
        }
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .map_err(|e| format!("`ip` cannot be run ({e})"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`ip {arguments}` failed ({})", said.trim()))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_nanos() as u64
}

/// Sends the frames in and forwards them, until all are at the end; how many got there.
fn pass(
    sender: &mut Halves,
    (near, far): (&mut Halves, &mut Halves),
    end: &mut Halves,
    frames: &[Frame],
) -> usize {
    for frame in frames {
        let offer = Outgoing::new(frame.view(), 0);
        sender.1.transmit(now(), offer).unwrap();
    }
    let (mut arrived, start) = (0, Instant::now());
    while arrived < frames.len() && start.elapsed() < Duration::from_secs(5) {
        sender.1.flush(now()).unwrap();
        let t = now();
        near.0
            .receive(t, 64, &mut |r| {
                let offer = Outgoing::new(r.frame, r.token);
                far.1.transmit(t, offer).unwrap();
            })
            .unwrap();
        far.1.flush(t).unwrap();
        // Both halves, as a worker has them: nothing comes here, and that costs nothing either.
        let nothing = far.0.receive(t, 64, &mut |_| {});
        nothing.unwrap();
        let count = &mut |_: port::Received<'_>| arrived += 1;
        end.0.receive(now(), 64, count).unwrap();
    }
    arrived
}

#[test]
fn none_for_a_frame_by_any_way() {
    let wires = Wires::new();
    let _wires = match wires {
        Ok(wires) => wires,
        Err(why) => {
            eprintln!("SKIPPED because {why}");
            return;
        }
    };
    let before = ALLOCATIONS.load(Relaxed);
    drop(std::hint::black_box(Box::new(1)));
    assert!(ALLOCATIONS.load(Relaxed) > before, "the count counts");
    let frames = [
        Frame::classic(CanId::from_raw(0x123), &[1; 8]).unwrap(),
        Frame::fd(CanId::from_raw(0x7FF), flags::BRS, &[9; 64]).unwrap(),
        Frame::remote(CanId::sff(5).unwrap(), 3).unwrap(),
        Frame::classic(CanId::from_raw(0x9ABC_DEF0), &[7; 3]).unwrap(),
    ];
    let (mut tried, mut refused) = (0, Vec::new());
    for (name, receive) in ReceiveBy::ALL {
        for (way, transmit) in TransmitBy::ALL {
            let port = |interface| {
                let config = SocketCanConfig {
                    receive,
                    transmit,
                    ..SocketCanConfig::new(interface)
                };
                open(interface, &config)
            };
            let (Ok(mut near), Ok(mut far)) = (port("cgza0"), port("cgzb0")) else {
                refused.push(format!("{name}-{way}"));
                continue;
            };
            let mut sender = open("sender", &SocketCanConfig::new("cgza1")).unwrap();
            let mut end = open("end", &SocketCanConfig::new("cgzb1")).unwrap();
            let mut round = || {
                let pair = (&mut near, &mut far);
                assert_eq!(
                    pass(&mut sender, pair, &mut end, &frames),
                    4,
                    "{name}-{way}"
                );
            };
            // What is allocated once.
            for _ in 0..3 {
                round();
            }
            let before = ALLOCATIONS.load(Relaxed);
            for _ in 0..40 {
                round();
            }
            let count = ALLOCATIONS.load(Relaxed) - before;
            assert_eq!(count, 0, "{name}-{way}: for 160 frames");
            tried += 1;
        }
    }
    // A kernel before 6.0 has no io_uring of this kind; everything else is everywhere.
    let old = refused.iter().all(|pair| pair.contains("io_uring"));
    assert!(old, "cannot be opened: {refused:?}");
    assert_eq!(tried + refused.len(), 28);
}
