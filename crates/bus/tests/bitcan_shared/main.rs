//! The controller of the kernel module (`kmod/bitcan/shared`, C) against this crate: for the same
//! random schedules, every event, time, confirmation, received frame and counter is the same. The C
//! program is also the virtual machines: it writes and reads message memories, and lets the device
//! read late what they have written. Compiles `kmod/bitcan/host/shared.c` with the system's C
//! compiler; without one, the test reports that and is skipped.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/host_program.rs"]
mod host_program;
mod model;
mod schedule;

use schedule::{Dice, Schedule};
use std::{fmt::Write as _, fs};

/// An access outside of an array terminates the program.
const SANITIZED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Runs the C program; `None` if it cannot be built.
fn play(name: &str, flags: &[&str], input: String) -> Option<String> {
    let built = host_program::compile("shared", &["core", "shared"], name, flags);
    let output = host_program::run(built.as_deref().map_err(String::as_str), input);
    if let Ok(program) = built {
        fs::remove_file(program).unwrap();
    }
    output
}

#[test]
fn random_schedules_do_the_same_in_the_kernel_module() {
    let schedules: Vec<Schedule> = (0..400).map(Schedule::random).collect();
    let input: String = schedules.iter().map(Schedule::text).collect();
    let Some(output) = play("shared-schedules", &[], input) else {
        return;
    };
    let mut answers = output.split("end\n");
    for (seed, schedule) in schedules.iter().enumerate() {
        let ours = schedule.play();
        let theirs = answers.next().unwrap();
        host_program::assert_same(&ours, theirs, seed as u64, &schedule.text());
    }
    // The comparison is meaningful only if these events occur.
    let count = |what: &str| output.lines().filter(|l| l.contains(what)).count();
    for what in [
        "Sent",
        "Aborted",
        "Dropped",
        "Taken",
        "Full",
        "Down",
        "NotPermitted",
        "Unsupported",
    ] {
        assert!(count(what) > 50, "{what}: {}", count(what));
    }
    for what in ["Passive", "BusOff", "Form", "Ack", "Bit"] {
        assert!(count(what) > 20, "{what}: {}", count(what));
    }
    let received = output
        .lines()
        .filter(|l| l.starts_with('R') && l.ends_with('.'));
    assert!(received.count() > 500);
    // Overruns, and frames discarded by a reset.
    for place in [14, 16] {
        let counters = output.lines().filter(|l| l.starts_with('N'));
        let total: u64 = counters
            .map(|l| l.split(' ').nth(place + 1).unwrap().parse::<u64>().unwrap())
            .sum();
        assert!(total > 50, "counter {place}: {total}");
    }
}

/// The words that a hostile function writes: meaningful words, requests, and anything else,
/// including words that the device has written.
fn hostile(out: &mut String, dice: &mut Dice, at: u64) {
    let tails = [0x80, 0x84, 0x88, 0x8c, 0x90];
    let offset = match dice.below(4) {
        0 => dice.pick(&tails),
        1 => 0x100 + 4 * dice.below(0x1800 / 4),
        2 => 4 * dice.below(0x40),
        _ => 4 * dice.below(0x3500 / 4),
    };
    let add = dice.one_in(2);
    let value = match dice.below(4) {
        0 => dice.below(4),
        1 => dice.below(0x1_0000_0000),
        2 => dice.pick(&[0x7FF, 0x123, 0x8000_0000, 0xFFFF_FFFF, 64, 65]),
        _ => 1,
    };
    writeln!(out, "poke 0 {at} {} {offset:x} {value:x}", u8::from(add)).unwrap();
    if dice.one_in(8) {
        // A complete request, so that it makes progress from time to time.
        let ticket = dice.below(4);
        writeln!(
            out,
            "request 0 {at} 0 {:x} 0 0 8 {} {ticket}",
            0x100 + dice.below(32),
            "ff".repeat(8)
        )
        .unwrap();
    }
    if dice.one_in(100) {
        writeln!(out, "reset 0 {at}\nstart 0 {at} 0").unwrap();
    }
}

#[test]
fn whatever_a_function_writes_into_its_memory_harms_only_itself() {
    const FRAMES: u64 = 40;
    const HONEST: &str = "050";
    let mut input = String::new();
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        input.push_str("bus 500000 0\nshared 2 4 4 0 -1\nnode 0\nhostile 0\n");
        // It may send 100 to 1FF, and receives nothing; the other function is unrestricted.
        input.push_str(
            "rights 0 1 1 1 1000000 2 0 1 100 c0000700\nrights 1 1 0 0 1 0 1 1 0 0 0 0\n",
        );
        input.push_str("start 0 1 0\nstart 1 1 0\n");
        let mut at = 1;
        for n in 0..FRAMES {
            for _ in 0..20 {
                at += 1 + dice.below(200_000);
                hostile(&mut input, &mut dice, at);
            }
            at += 2_000_000;
            writeln!(
                input,
                "completion 1 {at}\nrequest 1 {at} 0 {HONEST} 0 0 1 {n:02x} {n}"
            )
            .unwrap();
            writeln!(input, "receive 1 {at}").unwrap();
        }
        writeln!(
            input,
            "completion 1 {}\nrun {}",
            at + 2_000_000,
            at + 2_000_000
        )
        .unwrap();
    }
    let Some(output) = play("shared-hostile", SANITIZED, input) else {
        return;
    };
    let mut sent = 0;
    for (seed, run) in output
        .split("end\n")
        .filter(|run| !run.is_empty())
        .enumerate()
    {
        let honest = run
            .lines()
            .filter(|l| l.starts_with("C 1 ") && l.contains(" Sent "));
        assert_eq!(honest.count() as u64, FRAMES, "seed {seed}");
        for frame in run.lines().filter(|l| l.starts_with("F ")) {
            let id = frame.split(' ').nth(4).unwrap();
            let id = u32::from_str_radix(id, 16).unwrap();
            assert!(id == 0x050 || id & !0xFF == 0x100, "seed {seed}: {frame}");
            sent += u32::from(id != 0x050);
        }
        for line in run.lines().filter(|l| l.starts_with("N ")) {
            let c: Vec<u64> = line
                .split(' ')
                .skip(2)
                .map(|n| n.parse().unwrap())
                .collect();
            let [
                requested,
                accepted,
                full,
                not_permitted,
                unsupported,
                down,
                done @ ..,
                heard,
                received,
                overrun,
                read,
                discarded,
            ] = &c[..]
            else {
                panic!("{line}");
            };
            assert_eq!(
                *requested,
                accepted + full + not_permitted + unsupported + down,
                "{line}"
            );
            // Sent, aborted, dropped, reset; attempts do not count. At most the queue's frames are
            // still waiting.
            let fates: u64 = done[..4].iter().sum();
            assert!(fates <= *accepted && accepted - fates <= 4, "{line}");
            assert_eq!(*heard, received + overrun, "{line}");
            assert!(
                read + discarded <= *received && received - read - discarded <= 4,
                "{line}"
            );
        }
    }
    assert!(
        sent > 100,
        "the hostile function got {sent} frames on the bus"
    );
}
