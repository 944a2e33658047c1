//! Output of can-utils is read: `log2long` writes the format of `candump -t a`, `log2asc` ASC.
use logs::{FileFormat, LogReader};
use std::io::Write as _;
use std::process::{Command, Stdio};

const LOG: &str = "(1436509052.249713) can0 123#1122\n\
    (1436509052.249800) can1 00000123#\n\
    (1436509052.300001) can0 7FF#R\n\
    (1436509053.000002) can0 321##1112233\n\
    (1436509053.000003) can1 12345678##30011223344556677889900AA\n\
    (1436509054.999999) can0 20000004#0004000000000000\n";

/// Runs a program on the log; `None` where this machine does not have it.
fn output(program: &str, args: &[&str], input: Option<&str>) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("SKIPPED because there is no {program} (can-utils) on the path");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(input.unwrap_or_default().as_bytes())
        .unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}");
    Some(output.stdout)
}

/// Stamp, interface and frame, without direction.
fn frames(bytes: &[u8]) -> (FileFormat, Vec<String>) {
    let mut reader = LogReader::new(bytes, "log");
    let format = reader.recognise().unwrap();
    let frames = reader.map(|entry| {
        let entry = entry.unwrap();
        let logged = entry.logged;
        format!("{} {} {}", logged.ns, logged.interface, entry.frame.view())
    });
    (format, frames.collect())
}

#[test]
fn log2long_reads_the_same() {
    let Some(long) = output("log2long", &[], Some(LOG)) else {
        return;
    };
    // It has no field for BRS and ESI; candump -x has.
    let plain = LOG.replace("##1", "##0").replace("##3", "##0");
    let (format, found) = frames(&long);
    assert_eq!(format, FileFormat::Candump);
    assert_eq!(found, frames(plain.as_bytes()).1);
}

#[test]
fn log2asc_reads_the_same() {
    let Some(asc) = output("log2asc", &["can0", "can1"], Some(LOG)) else {
        return;
    };
    let (format, found) = frames(&asc);
    assert_eq!(format, FileFormat::Asc);
    // Its times count from the first frame; for an error frame it records only that there was one.
    let first = 1_436_509_052_249_713_000_u64;
    let relative = |line: &String| {
        let (stamp, rest) = line.split_once(' ').unwrap();
        format!("{} {rest}", stamp.parse::<u64>().unwrap() % first)
    };
    let expected = frames(LOG.as_bytes()).1;
    let expected: Vec<String> = expected
        .iter()
        .map(|line| line.replace("20000004#0004000000000000", "20000080#0000000000000000"))
        .map(|line| relative(&line))
        .collect();
    let start: u64 = found[0].split(' ').next().unwrap().parse().unwrap();
    let found: Vec<String> = found
        .iter()
        .map(|line| {
            let (stamp, rest) = line.split_once(' ').unwrap();
            format!("{} {rest}", stamp.parse::<u64>().unwrap() - start)
        })
        .collect();
    assert_eq!(found, expected);
}
