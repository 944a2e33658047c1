//! A PC: all parts of it that the gateway needs, and the only module with unsafe code.
#![allow(
    unsafe_code,
    reason = "an image has no operating system below it: entry, registers, interrupts and memory are here"
)]

mod bench;
mod boot;
mod cards;
mod clock;
mod faults;
mod interrupts;
mod memory;
mod pci;
mod serial;

use alloc::string::{String, ToString};
use baremetal::bench::{BenchTask, OnCards};
use baremetal::{Gateway, PlanSlot};
use core::panic::PanicInfo;
use serial::say;
use x86_64::instructions::port::Port;

/// The slot that `cangate image` writes into.
#[unsafe(link_section = ".gateway")]
#[used]
static SLOT: PlanSlot = PlanSlot::empty();

/// Commands on the serial line, one letter each: all counters; the end.
const STATS: u8 = b's';
const QUIT: u8 = b'q';

/// Interval at which a tester on cards checks them, while the gateway sleeps, ns.
const CHECK_INTERVAL: u64 = 50_000;

/// Called by the entry, with the loader's information.
extern "C" fn main(info: *const memory::StartInfo) -> ! {
    serial::begin();
    // SAFETY: the entry's own argument, and the first code that runs.
    match unsafe { memory::take(info) } {
        Err(why) => say!("cangate: {why}"),
        Ok(loaded) => {
            if let Err(why) = run(&loaded) {
                say!("cangate: {why}");
            }
        }
    }
    end()
}

fn run(loaded: &memory::Loaded) -> Result<(), String> {
    // `cangate image` may have written the slot after the compilation.
    let slot = core::hint::black_box(&SLOT);
    let plan = slot.plan().map_err(|error| error.to_string())?;
    let task = loaded.module.map(task).transpose()?;
    clock::begin(task.as_ref().and_then(|task| task.ticks));
    interrupts::begin();
    let on_cards = task.as_ref().and_then(|task| task.on_cards.as_ref());
    if let Some(task) = task.as_ref().filter(|task| task.on_cards.is_none()) {
        bench::begin(task)?;
    }
    let mut pc = cards::Pc::default();
    let mut gateway = Gateway::open(&plan, &mut pc).map_err(|error| error.to_string())?;
    let mut tester = None;
    if let (Some(ports), Some(task)) = (on_cards, &task) {
        // Their numbers are above those of the gateway's ports; they are polled.
        let mut port = |number, port| baremetal::open(number, port, &mut pc);
        let [incoming, outgoing] = ports;
        let ports = [port(30, incoming)?, port(31, outgoing)?];
        let made = OnCards::new(task, ports, clock::now());
        tester = Some(made.ok_or("the task contains an invalid frame")?);
    }
    say!(
        "cangate: ready: ports: {}, routes: {}; {} of {} KiB of memory in use",
        plan.ports.len(),
        plan.routes.routes.len(),
        memory::used() >> 10,
        loaded.heap >> 10
    );
    bench::start();
    work(&mut gateway, &mut tester)?;
    say!("{}", gateway.stats());
    if let Some(tester) = tester {
        for stamp in tester.stamps() {
            say!("{}", serde_json::to_string(stamp).unwrap_or_default());
        }
        say!("cangate: end of stamps, 0 lost");
    }
    if let Some(world) = bench::end() {
        let (stamps, lost) = world.stamps();
        for stamp in stamps {
            say!("{}", serde_json::to_string(&stamp).unwrap_or_default());
        }
        say!("cangate: end of stamps, {lost} lost");
    }
    Ok(())
}

fn task(module: &[u8]) -> Result<BenchTask, String> {
    serde_json::from_slice(module).map_err(|error| {
        alloc::format!("the file beside the image is not a task for its bench: {error}")
    })
}

/// Moves frames until the end.
fn work(gateway: &mut Gateway, tester: &mut Option<OnCards>) -> Result<(), String> {
    let sleeps = gateway.sleeps();
    loop {
        let step = gateway.step(clock::now());
        if step.events {
            for event in gateway.events() {
                say!("cangate: {event}");
            }
        }
        match serial::letter() {
            Some(STATS) => say!("{}", gateway.stats()),
            Some(QUIT) => return Ok(()),
            _ => {}
        }
        if bench::is_done() {
            return Ok(());
        }
        let mut deadline = step.deadline;
        if let Some(tester) = tester {
            if !tester
                .step(clock::now())
                .map_err(|error| error.to_string())?
            {
                return Ok(());
            }
            let soon = clock::now() + CHECK_INTERVAL;
            deadline = Some(deadline.map_or(soon, |at| at.min(soon)));
        }
        if step.more {
            continue;
        }
        if sleeps {
            sleep(gateway, deadline);
        } else {
            spin(gateway, deadline);
        }
    }
}

/// Polls until there is something to do.
#[inline]
fn spin(gateway: &Gateway, deadline: Option<u64>) {
    while gateway.is_quiet() && !serial::has_letter() && !bench::is_done() {
        if deadline.is_some_and(|at| at <= clock::now()) {
            return;
        }
    }
}

/// Sleeps until there is something to do.
fn sleep(gateway: &Gateway, deadline: Option<u64>) {
    x86_64::instructions::interrupts::disable();
    let wait = deadline.map(|at| at.saturating_sub(clock::now()));
    let awake = interrupts::any()
        || gateway.has_news()
        || serial::has_letter()
        || bench::is_done()
        || wait == Some(0);
    if awake {
        x86_64::instructions::interrupts::enable();
        return;
    }
    if let Some(wait) = wait {
        bench::wake_after(wait);
    }
    // An interrupt cannot come between the two instructions.
    x86_64::instructions::interrupts::enable_and_hlt();
}

/// Ends the machine: QEMU with `-no-reboot` exits, a PC restarts.
fn end() -> ! {
    // SAFETY: the keyboard controller's reset line.
    unsafe { Port::new(0x64).write(0xFE_u8) };
    loop {
        x86_64::instructions::interrupts::disable();
        x86_64::instructions::hlt();
    }
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    say!("cangate: {info}");
    end()
}
