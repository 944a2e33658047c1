//! A microcontroller (Cortex-M4): the same gateway with 64 routes, on internal buses, in 512 KiB of
//! flash and 256 KiB of RAM. It prints the memory that it used by semihosting, and ends.
//!
//! It is not a port to a board: that would add the registers of the board's own CAN controllers
//! behind [`baremetal::Machine`]. It shows that the core fits, and that it works on a 32-bit
//! processor without MMU, with only the crate's own allocator.
#![allow(
    unsafe_code,
    reason = "an image has no operating system below it: entry and memory are here"
)]

use alloc::format;
use alloc::vec::Vec;
use baremetal::bench::{BenchTask, SendPattern, SimulatedBench, TaskFrame};
use baremetal::{ControllerPlace, DriveMode, ImagePlan, PortPlan};
use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr::NonNull;
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::hprintln;
use frame::{CanId, Frame};
use linked_list_allocator::Heap;
use route::{IdFilter, IdSet, PortId, RateLimit, Route, Routes};
use spin::Mutex;

/// Size of the heap in bytes; the rest of the RAM is for the stack.
const HEAP: usize = 208 << 10;
/// Number of routes.
const ROUTES: u16 = 64;
/// Number of frames that are sent.
const FRAMES: u16 = 64;

/// The heap, and the most bytes of it that were in use.
struct Measured(Mutex<(Heap, usize)>);

#[global_allocator]
static ALLOCATOR: Measured = Measured(Mutex::new((Heap::empty(), 0)));

// SAFETY: the heap's own functions keep the contract; no interrupt occurs here.
unsafe impl GlobalAlloc for Measured {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mut inner = self.0.lock();
        let block = inner.0.allocate_first_fit(layout);
        inner.1 = inner.1.max(inner.0.used());
        block.map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = NonNull::new(block) {
            // SAFETY: by the caller's contract, the block came from `alloc` with this layout.
            unsafe { self.0.lock().0.deallocate(block, layout) };
        }
    }
}

#[repr(C, align(8))]
struct Memory([u8; HEAP]);
static mut MEMORY: Memory = Memory([0; HEAP]);

#[cortex_m_rt::entry]
fn main() -> ! {
    // SAFETY: the only use of this memory, before anything allocates.
    unsafe { ALLOCATOR.0.lock().0.init((&raw mut MEMORY).cast(), HEAP) };
    let passed = run();
    exit(if passed { EXIT_SUCCESS } else { EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}

fn run() -> bool {
    let used = || ALLOCATOR.0.lock().0.used();
    let before = used();
    let plan = plan();
    let planned = used() - before;
    let task = BenchTask {
        ideal: false,
        pattern: SendPattern::OneAtATime,
        timeout: 100_000_000,
        ticks: None,
        on_cards: None,
        stamps: Some(4 * u32::from(FRAMES)),
        disturbed: None,
        frames: (0..FRAMES).filter_map(frame).collect(),
    };
    let Some(mut bench) = SimulatedBench::new(&task) else {
        return false;
    };
    let bench_and_task = used() - before - planned;
    let gateway = match bench.run(&plan, 10_000_000_000) {
        Ok(gateway) => gateway,
        Err(error) => {
            hprintln!("{}", error);
            return false;
        }
    };
    let all = used() - before;
    let came = bench.inspect(|world| {
        world
            .stamps()
            .0
            .filter(|s| s.bus == 1 && s.node != 0)
            .count()
    });
    let most = ALLOCATOR.0.lock().1;
    let text = format!(
        "{ROUTES} routes, {FRAMES} frames, {came} came out; heap: plan {planned}, gateway {}, most {most} of {HEAP} \
         bytes (bench and tester: {bench_and_task})",
        all.saturating_sub(planned + bench_and_task),
    );
    hprintln!("{}", text);
    hprintln!("{}", gateway.stats());
    came == usize::from(FRAMES)
}

fn id(n: u16) -> u32 {
    0x100 + 8 * u32::from(n % ROUTES)
}

fn frame(n: u16) -> Option<TaskFrame> {
    let [high, low] = n.to_be_bytes();
    let frame = Frame::classic(CanId::from_raw(id(n)), &[high, low, 0, 0, 0, 0, 0, 0]).ok()?;
    Some(TaskFrame::new(0, &frame))
}

fn plan() -> ImagePlan {
    let port = |name: &str, bus| PortPlan {
        drive: DriveMode::Interrupt,
        queue: 16,
        ..PortPlan::new(name, ControllerPlace::Bench { bus }, 500_000)
    };
    let route = |n: u16| {
        let mut route = Route::new(format!("r{n}"), [PortId(0)].into(), [PortId(1)].into());
        let (first, last) = (id(n), id(n) + 7);
        route.matching.ids.push(IdFilter {
            set: IdSet::Range {
                eff: false,
                first,
                last,
            },
            inverted: false,
        });
        // Some routes have more work and state.
        route.limit = n.is_multiple_of(8).then_some(RateLimit {
            frames: 10_000,
            per: 1_000_000_000,
            burst: 100,
            per_id: None,
        });
        route
    };
    ImagePlan {
        ports: Vec::from([port("a", 0), port("b", 1)]),
        routes: Routes {
            routes: (0..ROUTES).map(route).collect(),
            ..Routes::default()
        },
    }
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    hprintln!("{}", info);
    exit(EXIT_FAILURE);
    loop {
        cortex_m::asm::wfi();
    }
}
