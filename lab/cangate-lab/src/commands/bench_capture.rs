//! `cangate lab bench-capture`: the cost of recorders, for each frame.

use crate::cli::bench_capture::BenchCapture;
use console::Failure;
use console::table::{row, table};
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tester::recorders::{RecorderTrial, TrialCost, count, measure};

/// A recorder.
struct RecorderProgram {
    name: &'static str,
    /// The extension of its file's name.
    ending: &'static str,
    /// Program and arguments; `FILE` stands for the file, `ALL` for the interfaces.
    command: &'static [&'static str],
    /// The maximum number of interfaces of one process; several processes share more interfaces.
    most: usize,
}

const fn own(name: &'static str, ending: &'static str) -> RecorderProgram {
    RecorderProgram {
        name,
        ending,
        command: &["cangate", "capture", "any", "--json", "--out", "FILE"],
        most: usize::MAX,
    }
}

/// All recorders. candump of can-utils 2020.11 takes 16 interfaces (`MAXSOCK`), and `any` covers no
/// more than 30 (`MAXIFNAMES`); written by `-l` or through standard output, the text is the same.
const ALL: [RecorderProgram; 6] = [
    RecorderProgram {
        name: "none",
        ending: "",
        command: &[],
        most: usize::MAX,
    },
    own("cangate-log", ".log"),
    own("cangate-pcapng", ".pcapng"),
    own("cangate-parquet", ".parquet"),
    RecorderProgram {
        name: "candump",
        ending: "",
        command: &["candump", "-L", "ALL"],
        most: 16,
    },
    RecorderProgram {
        name: "tcpdump",
        ending: ".pcap",
        command: &["tcpdump", "-Z", "root", "-i", "any", "-n", "-w", "FILE"],
        most: usize::MAX,
    },
];

/// Measures each recorder at each rate.
pub(crate) fn run(args: &BenchCapture) -> Result<(), Failure> {
    for name in &args.recorder {
        if !ALL.iter().any(|known| known.name == name) {
            let known: Vec<_> = ALL.iter().map(|known| known.name).collect();
            return Err(Failure::Input(format!(
                "`{name}` is not a recorder: choose one of {}",
                known.join(", ")
            )));
        }
    }
    let interfaces: Vec<String> = (0..args.interfaces).map(|n| format!("rec{n}")).collect();
    let _made = MadeInterfaces::new(&interfaces)?;
    let mut rows = Vec::new();
    for rate in &args.rate {
        let wanted = |r: &&RecorderProgram| {
            args.recorder.is_empty() || args.recorder.iter().any(|n| n == r.name)
        };
        for recorder in ALL.iter().filter(wanted) {
            let (cost, recorded) = one(recorder, *rate, &interfaces, args)?;
            let lost = u64::from(cost.sent).saturating_sub(recorded.unwrap_or(0));
            if args.json {
                let mut line = json!(cost);
                line["recorded"] = json!(recorded);
                line["lost"] = json!(recorded.map(|_| lost));
                writeln!(std::io::stdout(), "{line}")?;
            }
            rows.push((cost, recorded.map(|_| lost)));
        }
    }
    if args.json {
        return Ok(());
    }
    let mut out = table(&[
        "recorder",
        "frames/s",
        "reached",
        "recorder ns/frame",
        "sender ns/frame",
        "lost",
    ]);
    for (cost, lost) in &rows {
        out.add_row(row([
            cost.recorder.clone(),
            cost.rate.to_string(),
            format!("{:.0}", cost.reached),
            format!("{:.0}", cost.recorder_ns),
            format!("{:.0}", cost.sender_ns),
            lost.map_or_else(String::new, |lost| lost.to_string()),
        ]));
    }
    writeln!(std::io::stdout(), "{out}")?;
    Ok(())
}

/// Runs one trial, and counts the frames in the recorder's file.
fn one(
    recorder: &RecorderProgram,
    rate: u32,
    interfaces: &[String],
    args: &BenchCapture,
) -> Result<(TrialCost, Option<u64>), Failure> {
    let mut commands = Vec::new();
    let mut files = Vec::new();
    for (number, part) in interfaces.chunks(recorder.most).enumerate() {
        if recorder.command.is_empty() {
            break;
        }
        let stem = format!("bench-capture-{}-{number}", recorder.name);
        let file = args.dir.join(format!("{stem}{}", recorder.ending));
        let output = args.dir.join(format!("{stem}.said"));
        let mut command = Vec::new();
        for word in recorder.command {
            match *word {
                "FILE" => command.push(file.display().to_string()),
                "ALL" => command.extend_from_slice(part),
                word => command.push(word.to_owned()),
            }
        }
        remove(&file);
        commands.push((command, output.clone()));
        files.push((file, output));
    }
    let cost = measure(&RecorderTrial {
        name: recorder.name,
        commands: &commands,
        interfaces,
        rate,
        frames: args.frames,
    })
    .map_err(Failure::run)?;
    let mut recorded = None;
    for (file, output) in &files {
        let frames = match recorder.name {
            // Its rows are not lines or blocks; it reports how many it wrote.
            "cangate-parquet" => written(output)?,
            "candump" => counted(output)?,
            _ => counted(file)?,
        };
        recorded = Some(recorded.unwrap_or(0) + frames);
        remove(file);
        remove(output);
    }
    Ok((cost, recorded))
}

fn counted(path: &Path) -> Result<u64, Failure> {
    count(path).map_err(|error| Failure::file("read", path, &error))
}

fn written(output: &Path) -> Result<u64, Failure> {
    let text = fs::read_to_string(output).map_err(|error| Failure::file("read", output, &error))?;
    let json: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Run(format!("the output of cangate: {error}")))?;
    let frames = json
        .pointer("/written/frames")
        .and_then(serde_json::Value::as_u64);
    frames.ok_or_else(|| {
        Failure::Run("cangate did not report the number of written frames".to_owned())
    })
}

/// Best effort: a file that does not exist need not be removed.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// The interfaces of the trials; they are removed at the end.
struct MadeInterfaces<'a>(&'a [String]);

impl<'a> MadeInterfaces<'a> {
    fn new(names: &'a [String]) -> Result<Self, Failure> {
        let made = Self(names);
        for name in names {
            ip(&["link", "add", "dev", name, "type", "vcan"])?;
            ip(&["link", "set", name, "up"])?;
        }
        Ok(made)
    }
}

impl Drop for MadeInterfaces<'_> {
    fn drop(&mut self) {
        for name in self.0 {
            let _ = ip(&["link", "del", "dev", name]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), Failure> {
    let status = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| Failure::Run(format!("ip: {error}; install iproute2")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Run(format!("`ip {}` failed", arguments.join(" "))))
}
