//! The examples of README.md and docs/*.md: the commands of their code blocks, and the way in which
//! each is tested.

#![allow(
    dead_code,
    reason = "two test programs have this module, and each uses a part of it"
)]

use std::path::{Path, PathBuf};

/// One command as written in a document.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    /// The document's name without its folder, and the line.
    pub(crate) place: (String, usize),
    /// The number of its block in the document.
    pub(crate) block: usize,
    /// The command as written, without the prompt and without the remark after it.
    pub(crate) command: String,
    /// The output that the document shows; empty if it shows none.
    pub(crate) output: String,
}

/// The way in which an example is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trial {
    /// On this machine, in a folder with the files that the documents name.
    Here,
    /// The same, while `cangate run gateway.toml` runs there.
    WithGateway,
    /// It boots a guest itself, and ends within this many seconds.
    Lab(u64),
    /// In a guest with this bench, together with the commands after it in its block.
    InGuest(&'static str, u64),
    /// Not at all, for this reason.
    Not(&'static str),
}

use Trial::{Here, InGuest, Lab, Not, WithGateway};

const PLACEHOLDER: &str = "it names something that the reader chooses";
const LONG: &str = "it takes too long for a test; the step `reproduce` of `cargo xtask test --all` runs such experiments";
const TYPED: &str = "tests/lab/service.rs and tests/lab/container.rs type the whole page";
const ON_CAN: &str = "it needs CAN interfaces, or a gateway that runs; tests/lab/tools.rs types such commands in a guest";
const FLEET: &str = "it needs cangate-fleet, which no other step builds; fleet/tests/fleet/gateways.rs joins such gateways";
const SECURE: &str = "it needs cangate-secure, which no other step builds; secure/tests/secure/gateways.rs joins such gateways";
const RELEASE: &str = "it builds for release, which other steps of `cargo xtask test` do";

/// The way in which each example is tested, by the beginning of its command. The longest matching
/// beginning is used.
pub(crate) const TRIALS: &[(&str, Trial)] = &[
    // README.md and docs/guide.md. `cargo run --release --` is the program that is under test.
    ("cargo run --release -- demo", Here),
    ("cargo xtask test", Not("it is what runs this test")),
    ("cargo build --release", Not(RELEASE)),
    (
        "cargo rustc --profile dist",
        Not("`cargo xtask size` builds it, which takes minutes"),
    ),
    ("export PATH=", Not(RELEASE)),
    (
        "cargo install",
        Not("it installs for the user; the step `setup` installs cargo-deb"),
    ),
    (
        "cargo xtask package",
        Not("the step `package` of `cargo xtask test --all` makes them from the profile `release`"),
    ),
    // docs/first-ten-minutes.md and docs/containers.md are typed as a whole.
    ("cangate check /etc/cangate/body.toml", Not(TYPED)),
    ("cangate stats /etc/cangate/body.toml", Not(TYPED)),
    ("candump -n 1", Not(TYPED)),
    (
        "candump -l can0",
        Not("it records from a vehicle until it is stopped"),
    ),
    ("cangate demo", Here),
    ("cangate report", Here),
    ("cangate run --until-end", Here),
    ("cangate run examples/ci/gateway.toml --simulate", Here),
    ("grep T$ ci/buses/can0.log", Here),
    ("cangate run gateway.toml", WithGateway),
    ("cangate run far.toml", Not(FLEET)),
    ("cangate run near.toml", Not(FLEET)),
    ("cangate run here.toml", Not(SECURE)),
    ("cangate run there.toml", Not(SECURE)),
    ("cangate check", Here),
    (
        "cangate stats | routes | reload",
        Not("it is three commands in one line; docs/guide.md has each"),
    ),
    ("cangate stats gateway.toml", WithGateway),
    (
        "cangate stats --watch",
        Not("it prints until the gateway ends; tests/cli/top.rs watches it"),
    ),
    (
        "cangate top",
        Not("it needs a terminal; tests/cli/top.rs gives it one"),
    ),
    ("cangate list", Not(ON_CAN)),
    ("cangate watch", Not(ON_CAN)),
    ("cangate send", Not(ON_CAN)),
    ("candump -L can1 | cangate send", Not(ON_CAN)),
    ("cangate routes gateway.toml", WithGateway),
    ("cangate reload gateway.toml", WithGateway),
    ("cangate timing", Here),
    ("cangate bound", Here),
    ("grep -v offset examples/bound/offsets.toml", Here),
    (
        "cangate bound examples/bound/lab.toml --gateway examples/bound/lab-gateway.toml --gateway-delay-from",
        Not("it needs what was measured in guests; tests/lab/worst_case.rs does it all"),
    ),
    (
        "cangate bound --from-log drive.log --gateway",
        Not("it needs a gateway file for that log; tests/cli/bound_gateway.rs does it"),
    ),
    ("cangw -L", Here),
    ("cangate convert", Here),
    ("cangate decode", Here),
    ("printf", Here),
    ("cangate schema", Here),
    ("cangate import", Here),
    ("cangate export", Here),
    (
        "cangate image",
        Not("it builds for x86_64-unknown-none; tests/lab/bare.rs runs images"),
    ),
    (
        "cangate keep-card",
        Not("it needs a card that nobody drives; tests/lab/direct.rs does it by a gateway"),
    ),
    // Recordings are tested by tests/lab/capture.rs.
    (
        "cangate capture",
        Not("it records until it is stopped; tests/lab/capture.rs records"),
    ),
    (
        "cangate lab exec --bench vcan",
        Not("it takes minutes; the bound of recording runs it in `lab reproduce`"),
    ),
    // Benches. The kvaser bench has the interfaces that the documents name.
    ("cangate bench", InGuest("kvaser", 600)),
    ("cangate bench syscalls", InGuest("vcan", 300)),
    ("cangate ping", InGuest("kvaser", 300)),
    ("cangw -A -e -s vcan0 -d vcan1", InGuest("vcan", 300)),
    (
        "cangate bench --send vcan0 --receive vcan1",
        InGuest("vcan", 300),
    ),
    ("cangate report .", InGuest("kvaser", 600)),
    // The lab.
    ("cangate lab setup", Lab(300)),
    (
        "cangate lab setup --kernels 6.1,6.12-rt",
        Not("it fetches a kernel that no test needs"),
    ),
    ("cangate lab exec -- COMMAND", Not(PLACEHOLDER)),
    ("cangate lab exec -- sh", Lab(300)),
    (
        "cangate lab exec --bench kvaser --kernel 6.12-rt",
        Not("it fetches a kernel that no test needs"),
    ),
    ("cangate lab exec --bench vm", Lab(600)),
    ("cangate lab exec --fast --file", Not(PLACEHOLDER)),
    (
        "cargo test -p cangate-offload",
        Not("it builds other tests, which it names by HASH"),
    ),
    (
        "cangate lab shell",
        Not("it waits for somebody who types; tests/lab/shell.rs does"),
    ),
    ("echo", Lab(300)),
    ("cangate lab measure", Lab(600)),
    (
        "cangate lab measure --apart",
        Not("it boots several machines; tests/lab/apart.rs makes such experiments"),
    ),
    (
        "cangate lab measure --gateway user:read-write --cangate",
        Not(PLACEHOLDER),
    ),
    (
        "cangate lab measure --gateway bpf --filters eff:100000",
        Not("a guest takes minutes to read 100000 routes; claim O5 measures the same"),
    ),
    (
        "cangate lab measure --bench timed --cpu board --traffic flood",
        Not(LONG),
    ),
    (
        "cangate lab measure --bench timed --cpu board --log",
        Not("it plays a log that another command wrote; tests/lab/worst_case.rs does it all"),
    ),
    (
        "cangate lab measure --bench vm",
        Not("claims V1 to V6 make such experiments"),
    ),
    ("cangate lab rate", Not(LONG)),
    ("cangate lab run", Not(LONG)),
    ("cangate lab machines", Lab(600)),
    ("cangate lab list", Here),
    ("cangate lab reproduce", Not(LONG)),
    ("cangate lab reproduce --claims list", Here),
];

/// Returns the way in which an example is tested; `None` if none is defined.
pub(crate) fn trial(example: &Example) -> Option<Trial> {
    let rows = TRIALS.iter();
    let fitting = rows.filter(|(start, _)| example.command.starts_with(start));
    fitting
        .max_by_key(|(start, _)| start.len())
        .map(|(_, trial)| *trial)
}

/// Returns the folder of the checkout.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns all examples of all documents, in their order.
pub(crate) fn examples() -> Vec<Example> {
    let mut files = vec![root().join("README.md")];
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    files.extend(docs.map(|entry| entry.unwrap().path()));
    files.retain(|path| path.extension().is_some_and(|end| end == "md"));
    files.sort();
    files.iter().flat_map(|file| of_document(file)).collect()
}

fn of_document(file: &Path) -> Vec<Example> {
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let text = std::fs::read_to_string(file).unwrap();
    let blocks = blocks(&text);
    let of_block = |(block, (line, text)): (usize, &(usize, String))| {
        commands(text)
            .into_iter()
            .map({
                let name = name.clone();
                move |(below, command, output)| Example {
                    place: (name.clone(), line + below),
                    block,
                    command,
                    output,
                }
            })
            .collect::<Vec<_>>()
    };
    blocks.iter().enumerate().flat_map(of_block).collect()
}

/// Returns code blocks that may contain commands, with the line of their first line.
pub(crate) fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut inside: Option<(bool, usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut inside, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                let shell = ["", "sh", "console"].contains(&language.trim());
                inside = Some((shell, number + 2, String::new()));
            }
            (Some(_), Some(_)) => {
                if let Some((true, line, text)) = inside.take() {
                    blocks.push((line, text));
                }
                inside = None;
            }
            (Some((_, _, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Returns the commands of a block: line, command, output. If any line has the prompt `$ `, lines
/// without it are output; otherwise, lines that begin with the name of a program are commands.
fn commands(block: &str) -> Vec<(usize, String, String)> {
    const PROGRAMS: [&str; 6] = [
        "cangate ", "cargo ", "cangw ", "candump ", "export ", "echo ",
    ];
    let prompts = block.lines().any(|line| line.starts_with("$ "));
    let mut all: Vec<(usize, String, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in block.lines().enumerate() {
        let command = match line.strip_prefix("$ ") {
            Some(command) => Some(command),
            None if !prompts && PROGRAMS.iter().any(|name| line.starts_with(name)) => Some(line),
            None => None,
        };
        if let (true, Some((_, last, _))) = (goes_on, all.last_mut()) {
            last.push(' ');
            last.push_str(without_remark(line.trim_start()));
        } else if let Some(command) = command {
            all.push((number, without_remark(command).to_owned(), String::new()));
        } else if let (true, Some((_, _, output))) = (prompts, all.last_mut()) {
            output.push_str(line);
            output.push('\n');
        }
        goes_on = false;
        if let Some((_, last, _)) = all.last_mut()
            && let Some(before) = last.strip_suffix('\\')
        {
            *last = before.trim_end().to_owned();
            goes_on = true;
        }
    }
    all
}

/// Returns the text before ` # …`.
fn without_remark(line: &str) -> &str {
    let remark = line.find(" # ");
    line.get(..remark.unwrap_or(line.len()))
        .unwrap_or(line)
        .trim_end()
}

/// Returns the text that a page asks a reader to type: its blocks that are marked `sh` and nothing
/// else, in their order.
pub(crate) fn typed(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs").join(page)).unwrap();
    let mut blocks = Vec::new();
    let mut inside = None;
    for line in text.lines() {
        match (&mut inside, line.strip_prefix("```")) {
            (None, Some(language)) => inside = Some((language == "sh", String::new())),
            (Some(_), Some(_)) => {
                if let Some((true, block)) = inside.take() {
                    blocks.push(block);
                }
                inside = None;
            }
            (Some((_, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}
