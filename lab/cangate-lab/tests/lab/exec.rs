//! Guests that run the given commands.

use super::{exec, lab};
use std::fs;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "boots a guest"]
fn output_and_status_are_those_of_the_command() {
    let Some(_lab) = lab() else { return };
    let output = exec(
        "--bench none",
        "echo to out; echo to err >&2; id -u; exit 7",
    )
    .output()
    .unwrap();
    assert_eq!(text(&output.stdout), "to out\n0\n");
    assert_eq!(text(&output.stderr).lines().last(), Some("to err"));
    assert_eq!(output.status.code(), Some(7));
    let output = exec("--bench none", "kill -9 $$").output().unwrap();
    assert_eq!(output.status.code(), Some(128 + 9));
}

#[test]
#[ignore = "boots a guest"]
fn a_command_that_is_not_there_is_reported() {
    let Some(_lab) = lab() else { return };
    let mut command = exec("--bench none", "");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let output = assert_cmd::Command::new(crate::program())
        .args(["lab", "exec", "--bench", "none", "--", "no-such-program"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("no-such-program"));
}

#[test]
#[ignore = "boots a guest"]
fn much_output_comes_whole_and_in_order() {
    let Some(_lab) = lab() else { return };
    let output = exec("--bench none", "seq 300000").output().unwrap();
    let expected: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    assert!(
        text(&output.stdout) == expected,
        "{} bytes",
        output.stdout.len()
    );
}

#[test]
#[ignore = "boots a guest"]
fn files_come_with_their_libraries_and_under_the_name_that_they_are_given() {
    let Some(_lab) = lab() else { return };
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fs::write(&data, "some words\n").unwrap();
    // This very program: linked dynamically, and big.
    let me = std::env::current_exe().unwrap();
    let arguments = format!(
        "--fast --cpus 2 --file {}=tests --file {}",
        me.display(),
        data.display()
    );
    let output = exec(
        &arguments,
        "tests --list | grep with_their_libraries; cat /lab/data; nproc",
    )
    .output()
    .unwrap();
    assert_eq!(
        text(&output.stdout),
        "exec::files_come_with_their_libraries_and_under_the_name_that_they_are_given: test\n\
         some words\n2\n",
        "{}",
        text(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
#[ignore = "boots a guest"]
fn the_cards_of_the_kvaser_bench_are_on_their_buses() {
    let Some(_lab) = lab() else { return };
    let output = exec(
        "--bench kvaser",
        "for i in can1 can2; do candump -L $i > /tmp/$i & done
         for i in gw0 gw1; do ip netns exec gw candump -L $i > /tmp/$i & done
         sleep 0.1
         cansend can0 111#; ip netns exec gw cansend gw1 222#
         sleep 0.1
         for i in can1 gw0 can2 gw1; do echo $i $(sed 's/.* //' /tmp/$i); done
         for way in 'read write' 'recvmmsg sendmmsg' 'ring ring'; do
             set -- $way
             cangate ping can0 can1 --masters 2 --count 50 --period 0 --receive $1 --transmit $2 | grep sent
         done",
    )
    .output()
    .unwrap();
    let ping = "can0 7E0 > 7E1: 50 sent, 50 answered, 0 not answered in time\n\
                can0 7E2 > 7E3: 50 sent, 50 answered, 0 not answered in time\n";
    assert_eq!(
        text(&output.stdout),
        format!(
            "can1 111#\ngw0 111#\ncan2 222#\ngw1 222#\n{}",
            ping.repeat(3)
        ),
        "{}",
        text(&output.stderr)
    );
}

#[test]
#[ignore = "boots a guest"]
fn the_vcan_bench_has_two_interfaces_and_can_gw() {
    let Some(_lab) = lab() else { return };
    let output = exec(
        "--bench vcan",
        "cangw -A -X -s vcan0 -d vcan1 -e && timeout 5 candump -L vcan1 -n 1 & sleep 0.1
         cansend vcan0 123##1AA; wait",
    )
    .output()
    .unwrap();
    let text = text(&output.stdout);
    // Newer kernels indicate in the flags that it is an FD frame.
    assert!(
        text.contains("vcan1 123##") && text.trim().ends_with("AA"),
        "{text}"
    );
}

#[test]
#[ignore = "boots a guest"]
fn virtual_time_gives_the_same_bytes_whatever_else_the_host_does() {
    let Some(_lab) = lab() else { return };
    // Stamps of frames, the clock to the nanosecond, and what depends on both: random numbers.
    let command = "candump -t a -L can1 > /tmp/d & sleep 0.1
                   cangen can0 -n 200 -g 1; sleep 0.1; cat /tmp/d
                   grep now /proc/timer_list; cat /proc/sys/kernel/random/uuid
                   ping -c 20 -i 0.01 -s 9000 -q 192.0.2.2; cat /proc/interrupts";
    let run = || {
        let output = exec("--bench kvaser --ethernet", command).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let quiet = run();
    assert!(quiet.lines().count() > 200, "{quiet}");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let text = std::panic::catch_unwind(run);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        text
    });
    assert_eq!(busy.unwrap(), quiet);
}

#[test]
#[ignore = "boots a guest"]
fn memory_that_is_too_little_for_the_image_is_refused() {
    let Some(_lab) = lab() else { return };
    let output = exec("--bench none --memory 64", "true").output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("too little"), "{message}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_booted() {
    for (arguments, words) in [
        ("--kernel 6.13", "6.12-rt"),
        ("--bench lin", "kvaser"),
        ("--cpu shift:11", "from 0 to 10"),
        ("--memory 5", "64"),
        ("--file /not/there", "/not/there"),
        ("--file /etc/hostname=a/b", "without a folder"),
        ("--cpus 2", "--fast"),
    ] {
        let output = exec(arguments, "true").output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(message.contains(words), "{arguments}: {message}");
    }
}
