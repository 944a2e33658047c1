//! Time: the processor's time stamp counter and the local APIC's timer, both calibrated against the
//! PC's timer chip at the start.

use super::interrupts::{MESSAGE, SPURIOUS, TIMER};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use frame::Nanos;
use x86_64::instructions::port::Port;
use x86_64::registers::model_specific::Msr;

/// The local APIC's registers (Intel SDM, volume 3, table 11-1).
const APIC: usize = 0xFEE0_0000;
const EOI: usize = 0xB0;
const SPURIOUS_VECTOR: usize = 0xF0;
const COMMAND: usize = 0x300;
const LVT_TIMER: usize = 0x320;
const INITIAL: usize = 0x380;
const CURRENT: usize = 0x390;
const DIVIDER: usize = 0x3E0;

/// The frequency of the timer chip (8254), Hz.
const CHIP: u64 = 1_193_182;
/// The duration of the calibration, in ticks of the chip: 10 ms.
const TICKS: u16 = 11_932;

/// Ticks per second of the counter and of the APIC's timer.
static COUNTER: AtomicU64 = AtomicU64::new(0);
static TIMER_RATE: AtomicU64 = AtomicU64::new(0);
/// The duration of a tick of the counter in ns, times 2^32; and the counter at the start.
static SCALE: AtomicU64 = AtomicU64::new(0);
static START: AtomicU64 = AtomicU64::new(0);

#[inline]
pub(super) fn counter() -> u64 {
    // SAFETY: reads a register; every 64-bit processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

fn write(register: usize, value: u32) {
    // SAFETY: a register of the local APIC, mapped at this address since reset; none of those
    // written here reaches memory.
    unsafe { core::ptr::write_volatile((APIC + register) as *mut u32, value) }
}

fn read(register: usize) -> u32 {
    // SAFETY: as above.
    unsafe { core::ptr::read_volatile((APIC + register) as *const u32) }
}

/// Determines the rates of both. `known`: ticks per second of both, if they are known exactly.
pub(super) fn begin(known: Option<u64>) {
    // SAFETY: IA32_APIC_BASE: enabled, at its address after reset.
    unsafe {
        let mut base = Msr::new(0x1B);
        let value = base.read();
        base.write(value | 1 << 11);
    }
    write(SPURIOUS_VECTOR, 0x100 | u32::from(SPURIOUS));
    // Divided by 1, one-shot, and masked so far.
    write(DIVIDER, 0b1011);
    write(LVT_TIMER, 1 << 16);
    let (counter_rate, timer_rate) = known.map_or_else(against_the_chip, |rate| (rate, rate));
    COUNTER.store(counter_rate, Relaxed);
    TIMER_RATE.store(timer_rate, Relaxed);
    let scale = (1_000_000_000u128 << 32) / u128::from(counter_rate.max(1));
    SCALE.store(scale as u64, Relaxed);
    START.store(counter(), Relaxed);
    write(LVT_TIMER, u32::from(TIMER));
}

fn against_the_chip() -> (u64, u64) {
    let mut gate = Port::<u8>::new(0x61);
    let mut mode = Port::<u8>::new(0x43);
    let mut channel = Port::<u8>::new(0x42);
    write(INITIAL, u32::MAX);
    // SAFETY: channel 2 of the timer chip, which drives the speaker and reaches no memory.
    unsafe {
        let others = gate.read() & !3;
        gate.write(others);
        // Channel 2, both bytes, counts down once.
        mode.write(0b1011_0000);
        channel.write(TICKS as u8);
        channel.write((TICKS >> 8) as u8);
        gate.write(others | 1);
    }
    let (first, first_timer) = (counter(), read(CURRENT));
    // SAFETY: as above; bit 5 is the channel's output, up at its end.
    while unsafe { gate.read() } & 0x20 == 0 {}
    let (ticks, timer) = (counter() - first, first_timer - read(CURRENT));
    write(INITIAL, 0);
    let rate = |ticks: u64| ticks * CHIP / u64::from(TICKS);
    (rate(ticks), rate(u64::from(timer)))
}

/// Returns the time since [`begin`], ns.
#[inline]
pub(super) fn now() -> Nanos {
    let ticks = counter().wrapping_sub(START.load(Relaxed));
    ((u128::from(ticks) * u128::from(SCALE.load(Relaxed))) >> 32) as Nanos
}

/// Sets an interrupt after this time, ns; it replaces one that was set before.
pub(super) fn wake_after(ns: Nanos) {
    let ticks = u128::from(ns) * u128::from(TIMER_RATE.load(Relaxed)) / 1_000_000_000;
    // 0 would stop it.
    write(INITIAL, ticks.clamp(1, u128::from(u32::MAX)) as u32);
}

/// Cancels the interrupt.
pub(super) fn wake_never() {
    write(INITIAL, 0);
}

/// Sends the processor an interrupt from itself, as a device would.
pub(super) fn message() {
    // To itself, fixed, edge.
    write(COMMAND, 0b01 << 18 | 1 << 14 | u32::from(MESSAGE));
}

/// Acknowledges an interrupt of the local APIC.
#[inline]
pub(super) fn end_of_interrupt() {
    write(EOI, 0);
}

/// Returns the ticks per second of the counter.
pub(super) fn rate() -> u64 {
    COUNTER.load(Relaxed)
}
