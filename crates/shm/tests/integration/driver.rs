//! The driver's side (`kmod/shmcan/ring.c`) and this crate's: the same steps in two memories give
//! the same answers, and the same words in both. Compiles `kmod/shmcan/host/side.c` with the
//! system's C compiler; without one, it reports that.

use frame::{CanId, Frame, dlc};
use linux::shared::SharedMapping;
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use shm::layout::{LEAST, at};
use shm::{NotSent, PeerLink, ShmRings, ShmSide};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// Returns the compiled program, or the reason why there is none.
fn program() -> Result<&'static Path, &'static str> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod/shmcan");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("shmcan-side-{}", std::process::id()));
        let compiler = Command::new("cc")
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-o"])
            .arg(&out)
            .args(["host/side.c", "ring.c"].map(|name| module.join(name)))
            .output();
        let done = match compiler {
            Ok(done) => done,
            Err(why) => return Err(format!("there is no C compiler `cc`: {why}")),
        };
        let message = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "cc: {message}");
        Ok(out)
    });
    built.as_deref().map_err(String::as_str)
}

/// Creates memory that a child process inherits.
fn memory() -> (OwnedFd, SharedMapping) {
    let file = memfd_create("driver", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, LEAST as u64).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    let shared = SharedMapping::map(&file).unwrap();
    (file, shared)
}

/// The C side.
struct Driver {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Driver {
    fn new(program: &Path, memory: &OwnedFd, side: ShmSide) -> Self {
        let mut child = Command::new(program)
            .arg(memory.as_raw_fd().to_string())
            .arg(LEAST.to_string())
            .arg(side.number().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn ask(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Clone, Debug)]
enum Step {
    Begin(u32),
    Look,
    Send(Frame),
    Publish,
    Receive(u8),
    Release,
    Arm(bool),
    Leave,
    /// Writes this word into the memory, as the other side.
    Write(usize, u64),
}

/// Returns, from this crate, the text that the driver prints.
fn tell(word: &str, answer: i64, rings: &ShmRings<SharedMapping>) -> String {
    let link = match rings.link() {
        PeerLink::Absent => 0,
        PeerLink::Silent => 1,
        PeerLink::Foreign => 2,
        PeerLink::Up => 3,
    };
    let c = rings.counters();
    format!(
        "{word} {answer} {link} {} {} {} {} {} {} {} {}",
        rings.held(),
        c.taken,
        c.sent,
        c.lost,
        c.received,
        c.malformed,
        c.broken,
        c.sessions
    )
}

fn words(frame: &Frame) -> String {
    let header = frame.header();
    let fd = u8::from(frame.kind() == frame::Kind::Fd);
    let flags = if fd == 1 { header.flags() } else { 0 };
    let mut text = format!(
        "{} {} {flags} {} {fd}",
        frame.id().raw(),
        frame.len(),
        header.len8_dlc()
    );
    for byte in frame.data() {
        write!(text, " {byte}").unwrap();
    }
    text
}

/// Returns a received frame in the format that the driver prints.
fn printed(frame: &Frame) -> String {
    let header = frame.header();
    let fd = u8::from(frame.kind() == frame::Kind::Fd);
    let flags = if fd == 1 { header.flags() } else { 0 };
    let mut text = format!(
        "{:08x}:{}:{flags}:{}:{fd}:",
        frame.id().raw(),
        frame.len(),
        header.len8_dlc()
    );
    for byte in frame.data() {
        write!(text, "{byte:02x}").unwrap();
    }
    text.push(' ');
    text
}

/// One step of this crate's side, and the driver's command for it.
fn step(rings: &mut ShmRings<SharedMapping>, step: &Step, now: u64) -> (String, String) {
    match step {
        Step::Look => {
            let news = rings.watch_peer(now);
            (format!("look {now}"), tell("look", news.into(), rings))
        }
        Step::Send(frame) => {
            let sent = match rings.send(&frame.view()) {
                Ok(()) => 0,
                Err(NotSent::Down) => 1,
                Err(NotSent::Full) => 2,
                Err(NotSent::Unsupported) => 3,
            };
            (format!("send {}", words(frame)), tell("send", sent, rings))
        }
        Step::Publish => {
            let (_, ring) = rings.publish();
            ("publish".to_owned(), tell("publish", ring.into(), rings))
        }
        Step::Receive(budget) => {
            let mut text = String::new();
            rings.receive((*budget).into(), &mut |frame| text += &printed(&frame));
            (
                format!("receive {budget}"),
                text + &tell("receive", 0, rings),
            )
        }
        Step::Release => {
            let ring = rings.release();
            ("release".to_owned(), tell("release", ring.into(), rings))
        }
        Step::Arm(room) => {
            let there = rings.arm(*room);
            let some = there.frames || there.room;
            (
                format!("arm {}", u8::from(*room)),
                tell("arm", some.into(), rings),
            )
        }
        Step::Leave => {
            let there = rings.leave();
            ("leave".to_owned(), tell("leave", there.into(), rings))
        }
        Step::Begin(_) | Step::Write(..) => (String::new(), String::new()),
    }
}

fn frames() -> impl Strategy<Value = Frame> {
    let id = prop_oneof![
        (0..=CanId::SFF_MASK).prop_map(|n| CanId::sff(n).unwrap()),
        (0..=CanId::EFF_MASK).prop_map(|n| CanId::eff(n).unwrap()),
    ];
    let data = proptest::collection::vec(any::<u8>(), 0..=64);
    (id, data, 0..3u8, 0..4u8).prop_map(|(id, mut data, what, set)| match what {
        0 => {
            data.resize(dlc::fd_padded(data.len()), 0);
            Frame::fd(id, set, &data).unwrap()
        }
        1 => Frame::remote(id, data.len() % 9).unwrap(),
        _ => {
            data.truncate(8);
            let frame = Frame::classic(id, &data).unwrap();
            if data.len() == 8 && set == 3 {
                frame.with_len8_dlc(12)
            } else {
                frame
            }
        }
    })
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step, u64)>> {
    let step = prop_oneof![
        1 => (1..u32::MAX).prop_map(Step::Begin),
        8 => Just(Step::Look),
        12 => frames().prop_map(Step::Send),
        6 => Just(Step::Publish),
        6 => (1..20_u8).prop_map(Step::Receive),
        6 => Just(Step::Release),
        4 => any::<bool>().prop_map(Step::Arm),
        1 => Just(Step::Leave),
        2 => (0..LEAST / 8, any::<u64>()).prop_map(|(at, word)| Step::Write(at * 8, word)),
        1 => (0..8_usize, any::<u64>()).prop_map(|(at, word)| Step::Write(at * 64, word)),
        1 => any::<u32>().prop_map(|count| Step::Write(ShmSide::Second.block() + at::HEAD, count.into())),
    ];
    let pause = prop_oneof![6 => 0..1_000_u64, 1 => 0..3_000_000_000_u64];
    proptest::collection::vec((any::<bool>(), step, pause), 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn the_driver_does_the_same(first in any::<bool>(), steps in steps()) {
        let program = match program() {
            Ok(program) => program,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return Ok(());
            }
        };
        let side = if first { ShmSide::First } else { ShmSide::Second };
        let (file_a, ours) = memory();
        let (file, theirs) = memory();
        let mut driver = Driver::new(program, &file, side);
        // In one memory, this crate's side and the other side; in the second memory, the driver and
        // the other side.
        let map = |of: &OwnedFd| SharedMapping::map(of).unwrap();
        let mut one = ShmRings::new(map(&file_a), side, 1, 0).unwrap();
        prop_assert_eq!(driver.ask("begin 1 0"), tell("begin", 1, &one));
        let mut two = [&file_a, &file].map(|of| ShmRings::new(map(of), side.other(), 2, 0).unwrap());
        let mut now = 0;
        for (ours_does, what, pause) in steps {
            now += pause;
            match (&what, ours_does) {
                (Step::Write(at, word), _) => {
                    // The current session with another count: nearly correct.
                    let word = if *at == ShmSide::Second.block() + at::HEAD {
                        ours.get(ShmSide::First.block() + at::HEAD) >> 32 << 32 | word & 0x3FF
                    } else {
                        *word
                    };
                    shm::SharedWords::set(&ours, *at, word);
                    shm::SharedWords::set(&theirs, *at, word);
                }
                (Step::Begin(life), true) => {
                    one = ShmRings::new(map(&file_a), side, *life, now).unwrap();
                    prop_assert_eq!(driver.ask(&format!("begin {life} {now}")), tell("begin", 1, &one));
                }
                (Step::Begin(life), false) => {
                    two = [&file_a, &file].map(|of| ShmRings::new(map(of), side.other(), *life, now).unwrap());
                }
                (what, true) => {
                    let (command, expected) = step(&mut one, what, now);
                    prop_assert_eq!(driver.ask(&command), expected, "{}", command);
                }
                (what, false) => {
                    let [a, b] = &mut two;
                    prop_assert_eq!(step(a, what, now), step(b, what, now));
                }
            }
            for at in (0..LEAST).step_by(8) {
                prop_assert_eq!(ours.get(at), theirs.get(at), "byte {}", at);
            }
        }
    }
}
