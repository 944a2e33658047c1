//! Machines in step on CAN FD links: the bus that they compute is the one that a slow and obvious
//! model computes, and all repeats to the byte.

use crate::bus_model::{BusModel, table};
use crate::lockstep::{Hogs, Run, assert_same_bus, make_nice, run};
use crate::{plans, waiting_lab};
use bus::{Bus, BusConfig, NodeConfig, NodeEvent};
use frame::{Frame, flags};
use std::path::{Path, PathBuf};

/// Frames of each program of a machine.
const FRAMES: usize = 40;
/// Programs of a machine that send.
const PROGRAMS: usize = 4;

/// Three machines that all send as long as they receive: classic frames of both formats, FD frames,
/// and FD frames with BRS, of all lengths. Another bus has no FD.
fn bus() -> String {
    let mut text = String::new();
    for (machine, id, gap) in [
        ("low", "0f", 0.3),
        ("middle", "10", 0.4),
        ("high", "11", 0.25),
    ] {
        let sent = "-L i -D i";
        // The extended identifiers begin as the first standard ones do.
        let extended = u32::from_str_radix(id, 16).unwrap() << 22;
        text.push_str(&format!(
            "[machines.{machine}]\ncommand = \"\"\"\n\
             candump -L -n {} body > /tmp/seen &\n\
             sleep 0.1\n\
             cangen body -f -b -g {gap} -I {id}0 {sent} -n {FRAMES} &\n\
             cangen body -f -g 0.7 -I {id}1 {sent} -n {FRAMES} &\n\
             cangen body -g {gap} -I {id}2 {sent} -n {FRAMES} &\n\
             cangen body -e -g 0.5 -I {extended:08x} {sent} -n {FRAMES} &\n\
             wait\n\
             cut -d ' ' -f 3 /tmp/seen\n\
             cansend plain 123##1aabb > /dev/null || echo refused\n\
             \"\"\"\n",
            3 * PROGRAMS * FRAMES
        ));
    }
    text.push_str("[links.body]\nkind = \"can\"\nbitrate = \"500k\"\ndata_bitrate = \"2M\"\n");
    text.push_str("[links.plain]\nkind = \"can\"\nbitrate = \"500k\"\n");
    text
}

/// Returns a frame as it is written with the flag of all FD frames (`CANFD_FDF`): not each kernel
/// and program sets it.
fn with_fdf(frame: &str) -> String {
    let Some((id, rest)) = frame.split_once("##") else {
        return frame.to_owned();
    };
    let flags = u32::from_str_radix(&rest[..1], 16).unwrap();
    format!("{id}##{:X}{}", flags | u32::from(flags::FDF), &rest[1..])
}

fn assert_bus_is_the_models(alone: &Run) {
    let both = format!("{}{}", alone.out(), alone.err());
    assert!(alone.output.status.success(), "{both}");
    let log = table(&alone.log("body.csv"));
    assert_eq!(log.len(), 3 * PROGRAMS * FRAMES, "{both}");
    let model = BusModel {
        bit: 2000,
        data_bit: Some(500),
    };
    let (expected, contended) = model.run(&log);
    assert_eq!(log, expected);
    assert!(
        contended > log.len() / 2,
        "{contended} starts were contended"
    );
    for (kind, part) in [("FD with BRS", "##5"), ("FD", "##4")] {
        let count = log.iter().filter(|it| it.frame.contains(part)).count();
        assert_eq!(count, 3 * FRAMES, "{kind}");
    }
    // 64 bytes, in FD only.
    assert!(log.iter().any(|it| it.frame.len() == "0F0##5".len() + 128));
    // The log has the same frames, with the times of their ends.
    let lines = log.iter().map(|it| {
        let (second, ns) = (it.at / 1_000_000_000, it.at % 1_000_000_000);
        format!("({second:010}.{ns:09}) body {}\n", it.frame)
    });
    assert_eq!(alone.log("body.log"), lines.collect::<String>());
    for name in ["low", "middle", "high"] {
        let seen = alone.log(&format!("{name}.out"));
        let mut seen: Vec<String> = seen.lines().map(with_fdf).collect();
        // The kernel has no FD frames for a link without a data bit rate.
        assert_eq!(seen.pop().as_deref(), Some("refused"), "{name}");
        assert_eq!(seen.len(), log.len());
        let is_own = |frame: &String| {
            log.iter()
                .any(|it| it.machine == name && it.frame == *frame)
        };
        seen.retain(|frame| !is_own(frame));
        let others = log.iter().filter(|it| it.machine != name);
        let others: Vec<&String> = others.map(|it| &it.frame).collect();
        assert_eq!(seen.iter().collect::<Vec<_>>(), others, "{name}");
    }
    assert_eq!(alone.log("plain.csv").lines().count(), 1);
}

#[test]
#[ignore = "boots guests"]
fn machines_on_a_fd_bus_repeat_and_their_bus_is_the_models() {
    let Some(_lab) = waiting_lab() else { return };
    let alone = run(&bus(), |_, _| {});
    assert_bus_is_the_models(&alone);
    let other = run(&format!("interval = \"30us\"\n{}", bus()), make_nice);
    assert_same_bus(&alone, &other);
}

/// Machines that send FD frames of one ID with different data, so that attempts fail until a node
/// is error-passive, whose frames have ESI.
const COLLIDING: [&str; 3] = ["ones", "twos", "other"];

fn colliding() -> String {
    let [ones, twos, other] = COLLIDING;
    let mut text = String::new();
    for (machine, id, data, gap) in [
        (ones, "123", "11", 1.1),
        (twos, "123", "22", 1.3),
        (other, "101", "33", 0.7),
    ] {
        let data = data.repeat(16);
        text.push_str(&format!(
            "[machines.{machine}]\n\
             command = \"sleep 0.1; cangen body -f -b -g {gap} -I {id} -L 16 -D {data} -n 100; sleep 0.2\"\n"
        ));
    }
    text + "[links.body]\nkind = \"can\"\nbitrate = \"500k\"\ndata_bitrate = \"2M\"\n"
}

/// A row of a bus's table without its frame: machine, when its card had the frame, time, fate.
type Row = (String, u64, u64, String);

/// Returns the rows, and the frames that were sent.
fn rows(text: &str) -> (Vec<Row>, Vec<String>) {
    let (mut rows, mut sent) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [machine, asked, at, fate, frame] = fields.as_slice() else {
            panic!("{line}");
        };
        let times = [asked, at].map(|it| it.parse().unwrap());
        rows.push((
            (*machine).to_owned(),
            times[0],
            times[1],
            (*fate).to_owned(),
        ));
        if *fate == "sent" {
            sent.push((*frame).to_owned());
        }
    }
    (rows, sent)
}

/// Computes the bus by another implementation of its rules (crate `bus`), from the frames that were
/// sent and when the cards had them.
fn by_the_other_model(log: &[Row], frames: &[String]) -> (Vec<Row>, Vec<String>) {
    let mut bus = Bus::new(BusConfig::fd(500_000, 2_000_000)).unwrap();
    let nodes = COLLIDING.map(|name| {
        let node = NodeConfig {
            mailboxes: 1,
            queue: 1000,
            restart: Some(0),
            ..NodeConfig::new(name)
        };
        bus.attach(node).unwrap()
    });
    let name = |node| COLLIDING[nodes.iter().position(|it| *it == node).unwrap()].to_owned();
    let sent = log.iter().filter(|(.., fate)| fate == "sent");
    for ((machine, asked, ..), text) in sent.zip(frames) {
        let place = COLLIDING.iter().position(|it| it == machine).unwrap();
        // ESI is the bus's.
        let frame: Frame = text.replace("##7", "##5").parse().unwrap();
        bus.send(nodes[place], *asked, &frame, *asked).unwrap();
    }
    let (mut rows, mut sent) = (Vec::new(), Vec::new());
    bus.run_until(10_000_000_000, |event| match event {
        NodeEvent::Frame {
            node,
            tag,
            end,
            frame,
            ..
        } => {
            rows.push((name(*node), *tag, *end, "sent".to_owned()));
            sent.push(with_fdf(&frame.to_string()));
        }
        NodeEvent::Error { node, tag, at, .. } => {
            rows.push((name(*node), *tag, *at, "error".to_owned()));
        }
        _ => {}
    });
    (rows, sent)
}

/// The shortest frames there are end a nanosecond after the next meeting at the earliest, also for
/// a machine that has no time without meetings.
#[test]
#[ignore = "boots guests"]
fn the_shortest_fd_frames_are_foreseen_by_a_busy_machine() {
    let Some(_lab) = waiting_lab() else { return };
    let plan = "[machines.sender]\n\
                command = \"for i in $(seq 200); do cansend body 555##1; done; sleep 0.1\"\n\
                [machines.busy]\n\
                command = \"timeout 0.5 sh -c 'while :; do :; done'; true\"\n\
                [links.body]\nkind = \"can\"\nbitrate = \"500k\"\ndata_bitrate = \"2M\"\n";
    let run = run(plan, |_, _| {});
    let both = format!("{}{}", run.out(), run.err());
    assert!(run.output.status.success(), "{both}");
    assert!(both.contains("the interval is 69999 ns"), "{both}");
    let log = table(&run.log("body.csv"));
    assert_eq!(log.len(), 200, "{both}");
    assert!(log.iter().all(|it| it.at - it.asked == 70_000), "{both}");
}

fn example() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/machines");
    folder.join("fd.toml").canonicalize().unwrap()
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots guests"]
    fn machines_on_a_fd_bus_repeat_on_a_busy_host_and_without_skipping() {
        let Some(_lab) = waiting_lab() else { return };
        let alone = run(&bus(), |_, _| {});
        let _hogs = Hogs::start();
        let unskipped = format!("skip_idle = false\n{}", bus());
        assert_same_bus(&alone, &run(&unskipped, make_nice));
    }

    #[test]
    #[ignore = "boots guests"]
    fn fd_frames_that_collide_fail_and_end_as_in_the_other_model() {
        let Some(_lab) = waiting_lab() else { return };
        let run = run(&colliding(), |_, _| {});
        assert!(run.output.status.success(), "{}{}", run.out(), run.err());
        let (log, frames) = rows(&run.log("body.csv"));
        let (expected, on_wire) = by_the_other_model(&log, &frames);
        assert_eq!(log, expected);
        assert_eq!(frames, on_wire);
        assert_eq!(frames.len(), 300);
        // Attempts fail, and error-passive nodes send ESI.
        assert!(
            log.iter().any(|(.., fate)| fate == "error"),
            "{}",
            run.out()
        );
        assert!(frames.iter().any(|frame| frame.contains("##7")));
        assert!(frames.iter().any(|frame| frame.contains("##5")));
    }

    /// FD frames go from one bus with FD to another one, and classic frames also to one without.
    #[test]
    #[ignore = "boots guests"]
    fn a_gateway_between_buses_with_and_without_fd_repeats_on_a_busy_host() {
        let Some(_lab) = waiting_lab() else { return };
        let run = || plans::run_file(&example(), &["fast:faster", "fast:slow"]);
        let alone = run();
        let sent = alone.log("fast.csv").lines().count() - 1;
        let classic = alone.log("slow.csv");
        let classic: Vec<&str> = classic.lines().skip(1).collect();
        let on_faster = alone.log("faster.csv");
        assert_eq!(on_faster.lines().count() - 1, sent);
        assert!(on_faster.contains("##5") && on_faster.contains("##4"));
        assert!(!classic.is_empty() && classic.iter().all(|row| !row.contains("##")));
        assert_eq!(alone.matched("delivered,"), sent as u64, "{}", alone.out());
        let _hogs = Hogs::start();
        let busy = run();
        assert_eq!(
            alone.digest(),
            busy.digest(),
            "{}{}",
            alone.out(),
            busy.out()
        );
        assert_eq!(on_faster, busy.log("faster.csv"));
    }
}
