//! The set of kinds of port is open: a kind that is defined here runs like those of `port`.

use config::{Diagnostic, Diagnostics, SourceText, TomlTable};
use frame::{CanId, Frame, Nanos};
use gateway::config::load;
use gateway::run::{EndReason, RunError, RunOptions, run};
use port::{
    Accepted, FlushReport, Halves, OutgoingFrame, PlacedPort, PollReceive, PollTransmit, PortError,
    PortKind, PortKinds, PortOpener, PortSettings, PortWait, Receive, ReceiveStamp, ReceivedFrame,
    RxCounters, RxReport, Transmit, TransmitRefusal, TxCounters,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A kind of port that sends a given number of frames and discards the frames that are sent to it.
struct CounterKind;

#[derive(PartialEq, Debug)]
struct CounterSettings {
    frames: u32,
    /// Whether the port must be polled, because it cannot be waited for.
    busy: bool,
}

/// Numbers that all ports of this kind share in a run.
#[derive(Clone, Default)]
struct NextNumber(Arc<AtomicU32>);

impl PortKind for CounterKind {
    fn keyword(&self) -> &'static str {
        "counter"
    }

    fn parse(
        &self,
        _: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        let frames = table.integer("frames", 0..=1000, found);
        Arc::new(CounterSettings {
            frames: frames.map_or(0, |n| n.value as u32),
            busy: table.flag("busy", false, found),
        })
    }

    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let frames = |port: &PlacedPort<'_>| {
            let settings = port.settings.downcast_ref::<CounterSettings>().unwrap();
            settings.frames
        };
        if ports.iter().map(frames).sum::<u32>() > 1000 {
            let message = "all counters together send at most 1000 frames";
            found.push(Diagnostic::error(ports[0].span.clone(), message));
        }
    }
}

impl PortSettings for CounterSettings {
    fn kind(&self) -> &'static str {
        "counter"
    }

    fn describe(&self) -> String {
        format!("counter of {} frames", self.frames)
    }

    fn open(&self, _: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let next = opener.shared(NextNumber::default).clone();
        let rx = Counting {
            left: self.frames,
            busy: self.busy,
            next,
        };
        Ok((Box::new(rx), Box::new(Swallowing { frames: 0 })))
    }

    fn input_ends(&self) -> bool {
        self.frames > 0
    }
}

struct Counting {
    left: u32,
    busy: bool,
    next: NextNumber,
}

impl Receive for Counting {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let frames = budget.min(self.left as usize);
        for _ in 0..frames {
            self.left -= 1;
            let number = self.next.0.fetch_add(1, Ordering::Relaxed);
            let frame = Frame::classic(CanId::sff(number).unwrap(), &[]).unwrap();
            take(ReceivedFrame {
                frame: frame.view(),
                stamp: ReceiveStamp {
                    ns: now,
                    ..ReceiveStamp::default()
                },
                hops: 0,
                token: 0,
            });
        }
        Ok(RxReport {
            frames,
            more: self.left > 0,
            finished: self.left == 0 && !self.busy,
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        (self.left > 0).then_some(0)
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

impl PollReceive for Counting {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }

    fn is_busy(&self) -> bool {
        self.busy
    }
}

struct Swallowing {
    frames: u64,
}

impl Transmit for Swallowing {
    fn transmit(&mut self, _: Nanos, _: OutgoingFrame<'_>) -> Result<Accepted, TransmitRefusal> {
        self.frames += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, _: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            taken: self.frames,
            sent: self.frames,
            ..TxCounters::default()
        }
    }
}

impl PollTransmit for Swallowing {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

fn kinds() -> PortKinds {
    PortKinds::standard().with(CounterKind)
}

const START: &str = "[gateway]\nrealtime = false\nlock_memory = false\ncontrol = 'kinds.sock'\n";

fn options(folder: &std::path::Path) -> RunOptions {
    RunOptions {
        file: Some(folder.join("kinds.toml")),
        until_end: true,
        ..RunOptions::default()
    }
}

fn with_socket(text: &str, folder: &std::path::Path) -> SourceText {
    let socket = folder.join("kinds.sock").display().to_string();
    SourceText::new("t", text.replace("kinds.sock", &socket))
}

#[test]
fn a_kind_from_above_runs_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("out.log");
    let text = format!(
        "{START}[ports.a]\nkind = 'counter'\nframes = 100\n\
         [ports.b]\nkind = 'counter'\nframes = 20\nfaults = {{ transmit = {{ drop = 1 }} }}\n\
         [ports.out]\nkind = 'log'\nwrite = '{}'\n\
         [[routes]]\nfrom = ['a', 'b']\nto = ['a', 'b', 'out']\n",
        log.display()
    );
    let (config, _) = load(&with_socket(&text, folder.path()), &kinds()).unwrap();
    let words = config.describe();
    assert!(words.contains("port a: counter of 100 frames"), "{words}");
    let summary = run(config, &kinds(), &options(folder.path()), &|_| ()).unwrap();
    assert_eq!(summary.reason, EndReason::Finished);
    let process = summary.stats.process;
    process.check().unwrap();
    let sent = |name| process.port(name).unwrap().tx.sent;
    // A port does not get back the frames that it sent, and b drops everything.
    assert_eq!((sent("a"), sent("b"), sent("out")), (20, 0, 120));
    assert_eq!(process.port("b").unwrap().tx.faults.dropped, 100);
    // The ports of the kind share a counter: no number comes twice.
    let mut lines: Vec<String> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .filter_map(|line| Some(line.rsplit_once(' ')?.1.to_owned()))
        .collect();
    lines.sort();
    let expected: Vec<String> = (0..120).map(|n| format!("{n:03X}#")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn its_mistakes_and_its_keyword_are_named_as_those_of_others() {
    let messages = |text: &str, kinds: &PortKinds| -> Vec<String> {
        let found = load(&SourceText::new("t", text), kinds).unwrap_err();
        found.iter().map(|d| d.message.clone()).collect()
    };
    let both = |a: u32, b: u32| {
        format!(
            "[ports.a]\nkind = 'counter'\nframes = {a}\n[ports.b]\nkind = 'counter'\n\
             frames = {b}\n[[routes]]\nfrom = 'a'\nto = 'b'\n"
        )
    };
    assert!(load(&SourceText::new("t", both(500, 500)), &kinds()).is_ok());
    let all = messages(&both(500, 501), &kinds());
    assert_eq!(all, ["all counters together send at most 1000 frames"]);
    let all = messages(&both(1, 1001), &kinds());
    assert_eq!(all, ["`frames` must be from 0 to 1000"]);
    let all = messages(&both(1, 1), &PortKinds::standard());
    assert_eq!(
        all,
        ["`kind` cannot be `counter`", "`kind` cannot be `counter`"]
    );
    let found = load(
        &SourceText::new("t", both(1, 1).replace("counter'", "conter'")),
        &kinds(),
    );
    let hint = found.unwrap_err()[0].hint.clone();
    assert!(hint.contains("counter"), "{hint}");
}

#[test]
fn a_run_that_waits_for_an_end_asks_every_kind_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{START}[ports.a]\nkind = 'counter'\n[[routes]]\nfrom = 'a'\ndrop = true\n");
    let (config, _) = load(&with_socket(&text, folder.path()), &kinds()).unwrap();
    match run(config, &kinds(), &options(folder.path()), &|_| ()) {
        Err(RunError::NoEnd) => {}
        other => panic!("{other:?}"),
    }
}

/// A half that cannot report that nothing has happened is polled repeatedly; time goes on
/// meanwhile, and with it the deadlines of other ports.
#[test]
fn beside_a_port_that_is_never_waited_for_time_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (read, write) = (folder.path().join("in.log"), folder.path().join("out.log"));
    std::fs::write(&read, "(1.000000) can0 123#01\n(1.020000) can0 123#02\n").unwrap();
    let text = format!(
        "{START}[ports.busy]\nkind = 'counter'\nbusy = true\n\
         [ports.log]\nkind = 'log'\nread = '{}'\nwrite = '{}'\npace = 'original'\n\
         [[routes]]\nfrom = 'log'\nto = 'busy'\n[[routes]]\nfrom = 'busy'\nto = 'log'\n",
        read.display(),
        write.display()
    );
    let source = with_socket(&text, folder.path());
    let (reported, ended) = std::sync::mpsc::channel();
    let options = options(folder.path());
    std::thread::spawn(move || {
        let (config, _) = load(&source, &kinds()).unwrap();
        let summary = run(config, &kinds(), &options, &|_| ()).unwrap();
        reported.send(summary.stats.process).unwrap();
    });
    // Only a run that hangs takes this long.
    let process = ended
        .recv_timeout(std::time::Duration::from_secs(60))
        .unwrap();
    process.check().unwrap();
    assert_eq!(process.port("busy").unwrap().tx.sent, 2);
}
