//! A plan file: machines that run in one virtual time, and the links between them, read with every
//! error reported at its place.
//!
//! The format is described in docs/lockstep.md.

mod links;
mod values;

pub(crate) use links::USUAL_ETHERNET;

use crate::choices::{Boot, Cpu};
use crate::spec::BITRATE;
use config::{Diagnostic, Diagnostics, SourceText, TomlDocument, TomlTable, TomlValue};
use guest::Kernel;
use guest::linked::ClockDrift;
use guest::lockstep::{LinkPlan, LockstepPlan, MachinePlan, PlanError};
use guest::machine::{BenchKind, GuestFile, GuestJob, GuestSpec, TimeMode};
use links::links;
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
use values::duration;

/// The virtual time in which all commands must end, unless the plan has another one.
const LIMIT: Duration = Duration::from_secs(60);
/// The memory of a machine, MiB.
const MEMORY: i64 = 512;
/// The longest name of a machine (RFC 1035).
const MACHINE_NAME: usize = 63;
/// The benches that a machine can have in addition to its links. The others need devices or memory
/// that were not tried in step.
const BENCHES: [(&str, BenchKind); 3] = [
    ("none", BenchKind::None),
    ("vcan", BenchKind::Vcan),
    ("timed", BenchKind::Timed),
];

/// Reads a plan file; `folder` is the folder of the file, to which its paths are relative.
///
/// # Errors
/// All errors in the file.
pub fn read(source: &SourceText, folder: &Path) -> Result<LockstepPlan, Vec<Diagnostic>> {
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(source, &mut found);
    let mut root = document.root();
    let common = MachineSettings::read(&mut root, &MachineSettings::default(), &mut found);
    let limit = duration(&mut root, "limit", &mut found).unwrap_or(LIMIT);
    let interval = duration(&mut root, "interval", &mut found);
    let skip_idle = root.flag("skip_idle", true, &mut found);
    let machines = match root.table("machines", "[machines]", &mut found) {
        Some(table) => machines(&table, &common, folder, &mut found),
        None => {
            root.missing(
                "machines",
                "add a table [machines.NAME] with a command",
                &mut found,
            );
            Vec::new()
        }
    };
    let names: Vec<&str> = machines.iter().map(|it| it.name.as_str()).collect();
    let links = match root.table("links", "[links]", &mut found) {
        Some(table) => links(&table, &names, &mut found),
        None => Vec::new(),
    };
    let (links, data_bitrates): (Vec<LinkPlan>, Vec<Range<usize>>) = links.into_iter().unzip();
    let span = root.span();
    let at_key = |root: &TomlTable<'_>, key: &str| root.key_span(key).unwrap_or(span.clone());
    let at_interval = at_key(&root, "interval");
    let at_links = at_key(&root, "links");
    let at_limit = at_key(&root, "limit");
    root.finish(&mut found);
    let plan = LockstepPlan {
        machines,
        links,
        interval,
        limit,
        skip_idle,
    };
    if !found.has_errors()
        && let Err(error) = plan.check()
    {
        let at_data_bitrate = |name: &str| {
            let link = plan.links.iter().position(|link| link.name == name);
            let place = link.and_then(|link| data_bitrates.get(link));
            place.map_or_else(|| at_links.clone(), Range::clone)
        };
        let place = match &error {
            PlanError::FdRate { link, .. } | PlanError::NoFdDriver { link, .. } => {
                at_data_bitrate(link)
            }
            PlanError::Interval { .. } | PlanError::NoInterval(_) if interval.is_some() => {
                at_interval
            }
            PlanError::Limit(_) => at_limit,
            PlanError::Machines(_) | PlanError::AllInBackground | PlanError::RealTime(_) => span,
            _ => at_links,
        };
        found.push(Diagnostic::error(place, error.to_string()));
    }
    if found.has_errors() {
        return Err(found.into_sorted());
    }
    Ok(plan)
}

/// The settings of a machine that can be those of all.
#[derive(Clone)]
struct MachineSettings {
    kernel: Kernel,
    cpu: Cpu,
    boot: Boot,
    bench: BenchKind,
    memory: i64,
}

impl Default for MachineSettings {
    fn default() -> Self {
        Self {
            kernel: Kernel::USUAL,
            cpu: Cpu::Pc,
            boot: Boot::default(),
            bench: BenchKind::None,
            memory: MEMORY,
        }
    }
}

impl MachineSettings {
    fn read(table: &mut TomlTable<'_>, other: &Self, found: &mut Diagnostics) -> Self {
        let memory = table.integer("memory", 64..=i64::from(u32::MAX), found);
        let bench = table.one_of("bench", &BENCHES, found);
        Self {
            kernel: word(table, "kernel", found).unwrap_or(other.kernel),
            cpu: word(table, "cpu", found).unwrap_or(other.cpu),
            boot: word(table, "boot", found).unwrap_or_else(|| other.boot.clone()),
            bench: bench.map_or(other.bench, |bench| bench.value),
            memory: memory.map_or(other.memory, |memory| memory.value),
        }
    }
}

/// Returns the value that a word means.
fn word<T>(table: &mut TomlTable<'_>, key: &'static str, found: &mut Diagnostics) -> Option<T>
where
    T: FromStr<Err: Display>,
{
    let value = table.get(key)?;
    let text = value.string(found)?;
    match text.value.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            value.wrong(error.to_string(), "see `cangate lab exec --help`", found);
            None
        }
    }
}

fn machines(
    table: &TomlTable<'_>,
    common: &MachineSettings,
    folder: &Path,
    found: &mut Diagnostics,
) -> Vec<MachinePlan> {
    let mut all = Vec::new();
    for (name, value) in table.all() {
        let is_name = name
            .value
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !is_name || name.value.is_empty() || name.value.len() > MACHINE_NAME {
            let text = format!("`{}` cannot be the name of a machine", name.value);
            let hint = "use lower-case letters, digits and hyphens: it is the host name";
            found.push(Diagnostic::error(name.span.clone(), text).hint(hint));
        }
        let place = format!("machine `{}`", name.value);
        if let Some(mut table) = value.table(place, found) {
            all.push(machine(name.value, &mut table, common, folder, found));
            table.finish(found);
        }
    }
    all
}

fn machine(
    name: &str,
    table: &mut TomlTable<'_>,
    common: &MachineSettings,
    folder: &Path,
    found: &mut Diagnostics,
) -> MachinePlan {
    let own = MachineSettings::read(table, common, found);
    let background = table.flag("background", false, found);
    let drift = table.get("drift").and_then(|value| drift(&value, found));
    let drift = drift.unwrap_or_default();
    let command = match table.need("command", found) {
        Some(value) => command(&value, found),
        None => Vec::new(),
    };
    let files = match table.table("files", format!("files of machine `{name}`"), found) {
        Some(table) => files(&table, folder, found),
        None => Vec::new(),
    };
    let guest = GuestSpec {
        kernel: own.kernel,
        bench: own.bench,
        controller: own.cpu.controller(),
        bitrate: BITRATE,
        data_bitrate: None,
        ethernet: false,
        time: TimeMode::Virtual {
            shift: own.cpu.shift(),
        },
        boot: own.boot.0,
        memory: u32::try_from(own.memory).unwrap_or(u32::MAX),
        virtio: Vec::new(),
        shm: Vec::new(),
        files,
        job: GuestJob::Exec { command },
        prepare: None,
        timeout: Duration::MAX,
        trace_registers: false,
        linked: None,
    };
    MachinePlan {
        name: name.to_owned(),
        guest,
        drift,
        background,
    }
}

/// Returns the deviation of a machine's clocks.
fn drift(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<ClockDrift> {
    let ppm = value.number(found)?.value;
    let drift = ClockDrift::from_ppm(ppm);
    if drift.is_none() {
        let text = format!("clocks cannot deviate by {ppm} ppm");
        let most = ClockDrift::MOST;
        value.wrong(text, format!("give -{most} to {most}"), found);
    }
    drift
}

/// Returns a command: words, or a text for the shell.
fn command(value: &TomlValue<'_>, found: &mut Diagnostics) -> Vec<String> {
    if let Some(text) = value.as_str() {
        return vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()];
    }
    let Some(words) = value.as_list() else {
        value.expected("a text for the shell, or a list of words", found);
        return Vec::new();
    };
    if words.is_empty() {
        value.wrong(
            "an empty list is not a command",
            "give the program first",
            found,
        );
    }
    let words = words.iter().filter_map(|word| word.string(found));
    words.map(|word| word.value.to_owned()).collect()
}

/// Returns the files of a table of names and paths.
fn files(table: &TomlTable<'_>, folder: &Path, found: &mut Diagnostics) -> Vec<GuestFile> {
    let mut all = Vec::new();
    for (name, value) in table.all() {
        if name.value.is_empty() || name.value.contains('/') || [".", ".."].contains(&name.value) {
            let text = format!(
                "`{}` cannot be the name of a file in the machine",
                name.value
            );
            let hint = "give a name without a folder: the file will be in /lab";
            found.push(Diagnostic::error(name.span.clone(), text).hint(hint));
        }
        if let Some(path) = value.string(found) {
            all.push(GuestFile {
                path: folder.join(path.value),
                name: name.value.to_owned(),
            });
        }
    }
    all
}

#[cfg(test)]
mod tests;
