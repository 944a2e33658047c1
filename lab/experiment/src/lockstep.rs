//! A plan file: machines that run in one virtual time, and the links between them, read with every
//! error reported at its place.
//!
//! The format is described in docs/lockstep.md.

use crate::choices::{Boot, Cpu};
use crate::spec::BITRATE;
use config::{Diagnostic, Diagnostics, SourceText, TomlDocument, TomlTable, TomlValue};
use guest::Kernel;
use guest::linked::{ClockDrift, RESERVED};
use guest::lockstep::{
    CanLink, EthernetLink, LinkKind, LinkPlan, LockstepPlan, MachinePlan, PlanError,
};
use guest::machine::{BenchKind, GuestFile, GuestJob, GuestSpec, TimeMode};
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

/// The virtual time in which all commands must end, unless the plan has another one.
const LIMIT: Duration = Duration::from_secs(60);
/// The memory of a machine, MiB.
const MEMORY: i64 = 512;
/// The number of frames that may wait for a CAN bus: more than the queues of Linux's interfaces
/// hold, because QEMU's card takes each frame at once.
const CAN_QUEUE: i64 = 1000;
/// The usual Ethernet: 100 Mbit/s; store and forward with a little processing; the queue that small
/// switches have for a port.
pub(crate) const USUAL_ETHERNET: EthernetLink = EthernetLink {
    rate: 100_000_000,
    latency: Duration::from_micros(20),
    jitter: Duration::ZERO,
    loss: 0,
    seed: 1,
    queue: 512 << 10,
};
/// The longest names of a machine (RFC 1035) and of an interface (Linux's IFNAMSIZ).
const MACHINE_NAME: usize = 63;
const LINK_NAME: usize = 15;
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

fn duration(
    table: &mut TomlTable<'_>,
    key: &'static str,
    found: &mut Diagnostics,
) -> Option<Duration> {
    let time = table.get(key)?.duration(found)?;
    Some(Duration::from_nanos(time.value))
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

/// Returns the links, each with the place of its data bit rate.
fn links(
    table: &TomlTable<'_>,
    machines: &[&str],
    found: &mut Diagnostics,
) -> Vec<(LinkPlan, Range<usize>)> {
    let mut all = Vec::new();
    for (name, value) in table.all() {
        let is_name = name
            .value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        let mut reserved = RESERVED.iter();
        let is_reserved = ["lo", ".", ".."].contains(&name.value)
            || reserved.any(|prefix| name.value.starts_with(prefix));
        if !is_name || is_reserved || name.value.is_empty() || name.value.len() > LINK_NAME {
            let text = format!("`{}` cannot be the name of a link", name.value);
            let hint = format!(
                "use up to {LINK_NAME} letters, digits and `-_.`: the interfaces have this name"
            );
            found.push(Diagnostic::error(name.span.clone(), text).hint(hint));
        }
        let place = format!("link `{}`", name.value);
        if let Some(mut table) = value.table(place, found) {
            let link = link(name.value, &mut table, machines, found);
            all.extend(link.map(|link| (link, table.value_span("data_bitrate"))));
            table.finish(found);
        }
    }
    all
}

/// The kinds of links.
#[derive(Clone, Copy)]
enum KindWord {
    Can,
    Ethernet,
}

fn link(
    name: &str,
    table: &mut TomlTable<'_>,
    machines: &[&str],
    found: &mut Diagnostics,
) -> Option<LinkPlan> {
    let words = [("can", KindWord::Can), ("ethernet", KindWord::Ethernet)];
    let kind = match table.need("kind", found) {
        Some(value) => value.one_of(&words, found),
        None => None,
    };
    let members = members(table, machines, found);
    let kind = match kind?.value {
        KindWord::Can => LinkKind::Can(can(table, found)),
        KindWord::Ethernet => LinkKind::Ethernet(ethernet(table, found)),
    };
    Some(LinkPlan {
        name: name.to_owned(),
        kind,
        members,
    })
}

/// Returns the numbers of a link's machines; by default all are on it.
fn members(table: &mut TomlTable<'_>, machines: &[&str], found: &mut Diagnostics) -> Vec<usize> {
    let Some(value) = table.get("machines") else {
        return (0..machines.len()).collect();
    };
    let mut all = Vec::new();
    for value in value.one_or_list() {
        let Some(name) = value.string(found) else {
            continue;
        };
        match machines.iter().position(|machine| *machine == name.value) {
            Some(number) if all.contains(&number) => {
                value.wrong(
                    format!("`{}` is there twice", name.value),
                    "leave it out",
                    found,
                );
            }
            Some(number) => all.push(number),
            None => {
                let text = format!("there is no machine `{}`", name.value);
                let hint = config::did_you_mean(name.value, machines.iter().copied());
                value.wrong(text, hint, found);
            }
        }
    }
    all.sort_unstable();
    all
}

fn can(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> CanLink {
    let bitrate = table.bitrate("bitrate", found);
    let data_bitrate = table.bitrate("data_bitrate", found);
    let queue = table.integer("queue", 1..=1_000_000, found);
    CanLink {
        bitrate: bitrate.map_or(BITRATE, |rate| rate.value),
        data_bitrate: data_bitrate.map(|rate| rate.value),
        queue: u32::try_from(queue.map_or(CAN_QUEUE, |queue| queue.value)).unwrap_or(u32::MAX),
    }
}

fn ethernet(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> EthernetLink {
    let rate = table.get("rate").and_then(|value| value.line_rate(found));
    let latency = duration(table, "latency", found).unwrap_or(USUAL_ETHERNET.latency);
    let jitter = duration(table, "jitter", found).unwrap_or(USUAL_ETHERNET.jitter);
    let loss = table.get("loss").and_then(|value| part(&value, found));
    let seed = table.integer("seed", 0..=i64::MAX, found);
    let queue = table.get("queue").and_then(|value| {
        let size = value.size(found)?.value;
        let queue = u32::try_from(size).ok();
        if queue.is_none() {
            value.wrong("a queue of 4 GiB or more", "give fewer bytes", found);
        }
        queue
    });
    EthernetLink {
        rate: rate.map_or(USUAL_ETHERNET.rate, |rate| rate.value),
        latency,
        jitter,
        loss: loss.unwrap_or(USUAL_ETHERNET.loss),
        seed: seed.map_or(USUAL_ETHERNET.seed, |seed| seed.value.unsigned_abs()),
        queue: queue.unwrap_or(USUAL_ETHERNET.queue),
    }
}

/// Returns a part of everything, 0 to 1, in millionths.
fn part(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<u32> {
    let number = value.number(found)?.value;
    if !(0.0..=1.0).contains(&number) {
        let text = format!("`{}` is a part of all packets", value.name());
        value.wrong(text, "give a number from 0 to 1, such as 0.01", found);
        return None;
    }
    Some((number * 1e6).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::wire::{self, BitRate};
    use frame::{CanId, Frame};
    use proptest::prelude::*;

    fn plan(text: &str) -> LockstepPlan {
        read(&SourceText::new("p.toml", text), Path::new("/f")).unwrap()
    }

    fn errors(text: &str) -> String {
        let source = SourceText::new("p.toml", text);
        config::render(&source, &read(&source, Path::new("")).unwrap_err(), false)
    }

    const TWO: &str = "[machines.a]\ncommand = \"x\"\n[machines.b]\ncommand = [\"y\"]\n";

    #[test]
    fn machines_keep_the_order_of_the_text_and_have_common_settings() {
        let all = plan(
            r#"
            cpu = "board"
            memory = 300
            interval = "10us"
            limit = "5s"
            [machines.z]
            command = "candump body"
            background = true
            files = { tool = "bin/t" }
            [machines.a]
            command = ["cangen", "body"]
            cpu = "pc"
            drift = -20.5
            bench = "timed"
            [links.body]
            kind = "can"
            bitrate = "500k"
            [links.office]
            kind = "ethernet"
            machines = ["a", "z"]
            latency = "50us"
            rate = "10G"
            loss = 0.25
            "#,
        );
        let drift = |ppm| ClockDrift::from_ppm(ppm).unwrap();
        assert_eq!(all.machines[1].drift, drift(-20.5));
        assert_eq!(all.machines[0].drift, drift(0.0));
        let names: Vec<_> = all.machines.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
        let [z, a] = all.machines.as_slice() else {
            panic!("two machines");
        };
        assert!(z.background && !a.background);
        assert_eq!(z.guest.time, TimeMode::Virtual { shift: 2 });
        assert_eq!(a.guest.time, TimeMode::Virtual { shift: 1 });
        assert_eq!((z.guest.memory, a.guest.bench), (300, BenchKind::Timed));
        assert_eq!(z.guest.files[0].path, Path::new("/f/bin/t"));
        assert_eq!(all.interval(), Duration::from_micros(10));
        assert_eq!(all.links[1].members, [0, 1]);
        let LinkKind::Ethernet(office) = &all.links[1].kind else {
            panic!("not Ethernet");
        };
        assert_eq!((office.loss, office.rate), (250_000, 10_000_000_000));
    }

    #[test]
    fn a_bus_with_a_data_bitrate_has_the_lookahead_of_its_shortest_frame() {
        let bus = |keys: &str| plan(&format!("{TWO}[links.b]\nkind = \"can\"\n{keys}\n"));
        let fast = bus("bitrate = \"500k\"\ndata_bitrate = \"2M\"");
        let LinkKind::Can(can) = &fast.links[0].kind else {
            panic!("not CAN");
        };
        assert_eq!(can.data_bitrate, Some(2_000_000));
        // 27 bits of 2 µs and 32 of 0.5 µs.
        assert_eq!(fast.interval(), Duration::from_nanos(69_999));
        // A classic frame is shorter than an FD one: 44 bits of 2 µs.
        let slow = bus("bitrate = \"500k\"\ndata_bitrate = \"500k\"");
        assert_eq!(slow.interval(), Duration::from_nanos(87_999));
        let text = format!(
            "interval = \"70us\"\n{TWO}[links.b]\nkind = \"can\"\nbitrate = \"500k\"\ndata_bitrate = \"2M\"\n"
        );
        assert!(errors(&text).contains("only 69999 ns"), "{}", errors(&text));
    }

    proptest! {
        /// Each frame ends later than a whole lookahead after its start of frame. This is what the
        /// links rest on; the next test shows that no longer lookahead would do.
        #[test]
        fn no_frame_is_shorter_than_the_lookahead(
            (frame, bitrate, data_bitrate) in (any_frame(), 50_000..=1_000_000_u32, 1..=20_u32)
        ) {
            let data_bitrate = bitrate.saturating_mul(data_bitrate).clamp(400_000, 8_000_000);
            prop_assert!(over(&frame, bitrate, data_bitrate) >= 1, "{frame}");
        }
    }

    /// Returns by how much a frame, from start of frame to end of frame, is longer than the
    /// lookahead of its bus, ns.
    fn over(frame: &Frame, bitrate: u32, data_bitrate: u32) -> i128 {
        let link = LinkPlan {
            name: String::new(),
            kind: LinkKind::Can(CanLink {
                bitrate,
                data_bitrate: Some(data_bitrate),
                queue: 1,
            }),
            members: Vec::new(),
        };
        let rate = BitRate::new(bitrate, Some(data_bitrate)).unwrap();
        let length = wire::length(frame.view()).unwrap();
        let duration = i128::from(length.duration(rate, false));
        duration - link.lookahead().as_nanos().cast_signed()
    }

    fn any_frame() -> impl Strategy<Value = Frame> {
        let data = prop::collection::vec(any::<u8>(), 0..=64);
        let id = any::<u32>().prop_map(|id| match id >> 31 {
            0 => id & CanId::SFF_MASK,
            _ => id & CanId::EFF_MASK | CanId::EFF_FLAG,
        });
        // Half of all frames have no data: those are the short ones.
        (id, any::<[bool; 2]>(), 0..4_u8, data).prop_map(
            |(id, [is_fd, is_empty], flags, mut data)| {
                let id = CanId::from_raw(id);
                data.truncate(if is_empty { 0 } else { 64 });
                match is_fd {
                    true => Frame::fd(id, flags, &data).unwrap(),
                    false if flags & 1 == 0 => Frame::remote(id, data.len().min(8)).unwrap(),
                    false => Frame::classic(id, &data[..data.len().min(8)]).unwrap(),
                }
            },
        )
    }

    #[test]
    fn the_shortest_frames_are_a_nanosecond_longer_than_the_lookahead() {
        let shortest = |text: &str| text.parse::<Frame>().unwrap();
        assert_eq!(over(&shortest("555##1"), 500_000, 2_000_000), 1);
        assert_eq!(over(&shortest("555##1"), 1_000_000, 8_000_000), 1);
        // At 940 kbit/s of data and less, a classic frame is shorter. Its CRC has no stuff bits.
        // With a slow data phase, a classic frame is shorter: without data, but with a length.
        assert_eq!(over(&shortest("084#R8"), 500_000, 500_000), 1);
    }

    #[test]
    fn a_data_bitrate_that_no_machine_can_have_is_named_at_its_place() {
        let bus = |keys: &str| format!("{TWO}[links.b]\nkind = \"can\"\n{keys}\n");
        for (keys, place) in [
            ("bitrate = \"500k\"\ndata_bitrate = \"400k\"", "p.toml:8:16"),
            ("data_bitrate = \"10M\"", "p.toml:7:16"),
            ("data_bitrate = \"2M\"\nbitrate = \"40k\"", "p.toml:7:16"),
        ] {
            let text = errors(&bus(keys));
            assert!(text.contains(place), "{text}");
            assert!(text.contains("not lower than `bitrate`"), "{text}");
        }
        let old = format!("kernel = \"5.10\"\n{}", bus("data_bitrate = \"2M\""));
        let text = errors(&old);
        assert!(text.contains("p.toml:8:16"), "{text}");
        assert!(
            text.contains("kernel 5.10 of machine a has no driver for CAN FD cards"),
            "{text}"
        );
        // A machine that is not on the bus can have an old kernel.
        let beside = "[machines.c]\ncommand = \"x\"\nkernel = \"5.10\"\n";
        let others = "data_bitrate = \"2M\"\nmachines = [\"a\", \"b\"]";
        plan(&format!("{beside}{}", bus(others)));
    }

    #[test]
    fn the_interval_is_by_default_the_longest_that_the_links_allow() {
        let can = format!("{TWO}[links.b]\nkind = \"can\"\nbitrate = 500000\n");
        assert_eq!(plan(&can).interval(), Duration::from_nanos(87_999));
        let both = format!("{can}[links.e]\nkind = \"ethernet\"\n");
        // 20 µs, and twice the time of 72 bytes at 100 Mbit/s.
        assert_eq!(plan(&both).interval(), Duration::from_nanos(31_520));
        let text = errors(&format!("interval = \"88us\"\n{can}"));
        assert!(text.contains("p.toml:1:1"), "{text}");
        assert!(
            text.contains("an interval of 88000 ns is too long: on link b"),
            "{text}"
        );
        assert!(text.contains("only 87999 ns"), "{text}");
    }

    #[test]
    fn mistakes_have_places() {
        for (text, part) in [
            ("", "[machines.NAME]"),
            ("[machines.a]\n", "`command`"),
            ("[machines.A]\ncommand = \"x\"\n", "the name of a machine"),
            ("[machines.a]\ncommand = []\n", "empty list"),
            ("[machines.a]\ncommand = 3\n", "a text for the shell"),
            (
                "[machines.a]\ncommand = \"x\"\nbench = \"kvaser\"\n",
                "cannot be `kvaser`",
            ),
            (
                "[machines.a]\ncommand = \"x\"\nkernl = \"6.1\"\n",
                "did you mean `kernel`?",
            ),
            ("[machines.a]\ncommand = \"x\"\nkernel = \"1\"\n", "1"),
            (
                "[machines.a]\ncommand = \"x\"\ndrift = 501\n",
                "give -500 to 500",
            ),
            (
                "[machines.a]\ncommand = \"x\"\nbackground = true\n",
                "in the background",
            ),
            (
                "limit = \"2s\"\n[machines.a]\ncommand = \"x\"\n",
                "commands start after 2 s",
            ),
            (
                "[machines.a]\ncommand = \"x\"\n[links.l]\nkind = \"can\"\n",
                "at least two machines",
            ),
        ] {
            assert!(errors(text).contains(part), "{}", errors(text));
        }
        for (text, part) in [
            ("[links.l]\n", "`kind`"),
            ("[links.l]\nkind = \"cna\"\n", "did you mean `can`?"),
            (
                "[links.a-name-that-is-long]\nkind = \"can\"\n",
                "the name of a link",
            ),
            ("[links.lo]\nkind = \"can\"\n", "the name of a link"),
            ("[links.spare-1]\nkind = \"can\"\n", "the name of a link"),
            (
                "[links.l]\nkind = \"can\"\nmachines = [\"a\", \"c\"]\n",
                "no machine `c`",
            ),
            (
                "[links.l]\nkind = \"can\"\nmachines = [\"a\", \"a\"]\n",
                "twice",
            ),
            (
                "[links.l]\nkind = \"can\"\nbitrate = \"2M\"\n",
                "2000000 bit/s is not",
            ),
            (
                "[links.l]\nkind = \"can\"\nbitrate = \"4k\"\n",
                "a CAN bus has 5000 to 1000000",
            ),
            ("[links.l]\nkind = \"can\"\nloss = 0.1\n", "loss"),
            (
                "[links.l]\nkind = \"ethernet\"\nrate = \"200G\"\n",
                "200000000000 bit/s is not",
            ),
            (
                "[links.l]\nkind = \"ethernet\"\nloss = 2\n",
                "a number from 0 to 1",
            ),
            (
                "[links.l]\nkind = \"ethernet\"\njitter = \"1h\"\n",
                "up to 10 s",
            ),
            (
                "[links.l]\nkind = \"ethernet\"\nqueue = 100\n",
                "1538 bytes",
            ),
        ] {
            let text = format!("{TWO}{text}");
            assert!(errors(&text).contains(part), "{}", errors(&text));
        }
    }
}
