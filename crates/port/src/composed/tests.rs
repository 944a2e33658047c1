use super::ComposedPorts;
use crate::{
    DatabasesByName, Halves, OutgoingFrame, PortKind, PortOpener, PortSettings, TransmitRefusal,
};
use config::{Diagnostics, SourceText, TomlDocument};
use frame::{Frame, Nanos};
use signals::MessageDatabase;
use std::sync::Arc;

const MS: Nanos = 1_000_000;

const BODY: &str = r#"
BO_ 256 Wheels: 8 Brake
 SG_ Speed : 0|16@1+ (0.01,0) [0|655.35] "km/h" Gateway
 SG_ Temperature : 16|8@1- (1,0) [-128|127] "C" Gateway
BO_ 512 Doors: 2 Body
 SG_ Switch M : 0|8@1+ (1,0) [0|255] "" Gateway
 SG_ Front m1 : 8|8@1+ (1,0) [0|255] "" Gateway
 SG_ Rear m2 : 8|8@1+ (1,0) [0|255] "" Gateway
BO_ 514 Pages: 3 Body
 SG_ Book M : 0|8@1+ (1,0) [0|255] "" Gateway
 SG_ Page m1M : 8|8@1+ (1,0) [0|255] "" Gateway
 SG_ Line m2 : 16|8@1+ (1,0) [0|255] "" Gateway

SG_MUL_VAL_ 514 Page Book 1-9, 2-3, 5-6;
SG_MUL_VAL_ 514 Line Page 2-2;
"#;

const DASH: &str = r#"
BO_ 768 Dash: 4 Gateway
 SG_ Shown : 7|8@0+ (1,0) [0|250] "km/h" Cluster
 SG_ ShownInvalid : 8|1@1+ (1,0) [0|1] "" Cluster
 SG_ Alive : 12|4@1+ (1,0) [0|14] "" Cluster
 SG_ Mode : 16|8@1+ (1,0) [0|3] "" Cluster
 SG_ Door : 24|8@1+ (1,0) [0|0] "" Cluster
BO_ 769 Paged: 2 Gateway
 SG_ Page M : 0|8@1+ (1,0) [0|3] "" Cluster
 SG_ Text m2 : 8|8@1+ (1,0) [0|255] "" Cluster
BO_ 770 Nested: 3 Gateway
 SG_ Book M : 0|8@1+ (1,0) [0|255] "" Cluster
 SG_ Page m1M : 8|8@1+ (1,0) [0|255] "" Cluster
 SG_ Line m2 : 16|8@1+ (1,0) [0|255] "" Cluster

SG_MUL_VAL_ 770 Page Book 1-1;
SG_MUL_VAL_ 770 Line Page 2-2;
VAL_ 768 Mode 0 "Off" 2 "Sport" ;
"#;

fn database(text: &str) -> MessageDatabase {
    signals::dbc::read(text.as_bytes()).unwrap()
}

/// Returns the settings of a port with these lines, and the messages about mistakes.
fn read(lines: &str) -> (Option<Arc<dyn PortSettings>>, Vec<String>) {
    let source = SourceText::new("test", lines);
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(&source, &mut found);
    let mut root = document.root();
    let unbound = ComposedPorts.parse("made", &mut root, &mut found);
    root.finish(&mut found);
    let (body, dash) = (database(BODY), database(DASH));
    let databases = DatabasesByName::new([("body", &body), ("dash", &dash)]);
    let bound = unbound.bind(&databases, &mut found);
    for diagnostic in found.list() {
        let span = &diagnostic.span;
        assert!(
            span.start <= span.end && span.end <= lines.len(),
            "{diagnostic:?}"
        );
    }
    let messages = found.into_sorted().into_iter();
    (
        bound,
        messages.map(|diagnostic| diagnostic.message).collect(),
    )
}

const LINES: &str = r#"
database = "dash"
[make.Dash]
every = "100ms"
on_change = true
min_distance = "10ms"
answer_remote = true
counter = "Alive"
signals.Shown = { from = "body.Wheels.Speed", overflow = "saturate", timeout = "250ms", silent = { substitute = 250 }, status = "ShownInvalid" }
signals.Mode = "Sport"
signals.Door = { from = "body.Doors.Front" }
"#;

struct PortBench {
    halves: Halves,
    now: Nanos,
    made: Vec<(Nanos, String)>,
}

impl PortBench {
    fn new(lines: &str) -> Self {
        let (bound, messages) = read(lines);
        assert_eq!(messages, [""; 0]);
        let halves = bound
            .unwrap()
            .open("made", &mut PortOpener::new(0, 0))
            .unwrap();
        let mut bench = Self {
            halves,
            now: 0,
            made: Vec::new(),
        };
        bench.step(0);
        bench
    }

    fn step(&mut self, now: Nanos) {
        let made = &mut self.made;
        let report = self.halves.0.receive(now, 32, &mut |frame| {
            let frame = Frame::from_view(frame.frame).unwrap();
            made.push((now / MS, frame.to_string()));
        });
        assert!(!report.unwrap().more);
    }

    fn run_until(&mut self, end: Nanos) {
        while let Some(at) = self.halves.0.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.step(self.now);
        }
    }

    fn take(&mut self, now: Nanos, text: &str) -> Result<(), TransmitRefusal> {
        self.now = now;
        let frame: Frame = text.parse().unwrap();
        let outgoing = OutgoingFrame::new(frame.view(), 0);
        self.halves.1.transmit(now, outgoing).map(|_| ())
    }
}

/// 13.37 km/h become 13, 300.00 become the highest value that the database states.
#[test]
fn messages_are_made_from_the_signals_of_others() {
    let mut bench = PortBench::new(LINES);
    bench.run_until(120 * MS);
    assert_eq!(bench.take(125 * MS, "100#39050000"), Ok(()));
    bench.run_until(150 * MS);
    assert_eq!(bench.take(151 * MS, "100#30750000"), Ok(()));
    bench.run_until(151 * MS);
    // Not this page of the multiplexed message, and a message that is not needed.
    assert_eq!(bench.take(152 * MS, "200#0277"), Ok(()));
    assert_eq!(
        bench.take(152 * MS, "201#01"),
        Err(TransmitRefusal::Unsupported)
    );
    bench.run_until(152 * MS);
    assert_eq!(bench.take(170 * MS, "200#0155"), Ok(()));
    bench.run_until(190 * MS);
    assert_eq!(bench.take(195 * MS, "300#R4"), Ok(()));
    bench.run_until(450 * MS);
    let expected = [
        (100, "300#00000200"),
        (125, "300#0D100200"),
        (151, "300#FA200200"),
        (170, "300#FA300255"),
        (195, "300#FA400255"),
        (205, "300#FA500255"),
        (300, "300#FA600255"),
        (400, "300#FA700255"),
        (410, "300#FA810255"),
    ];
    let expected = expected.map(|(at, text)| (at, text.to_owned()));
    assert_eq!(bench.made, expected);
    let counters = bench.halves.1.counters();
    assert_eq!((counters.taken, counters.sent), (5, 5));
}

/// The value of the switch is in the first of several ranges, and between the others.
#[test]
fn a_source_can_have_nested_switches_with_several_ranges() {
    let mut bench = PortBench::new(
        "database = 'dash'\n[make.Dash]\nevery = '1s'\non_change = true\n\
         signals = { Shown = 0, ShownInvalid = 0, Alive = 0, Mode = 0, Door = { from = 'body.Pages.Line' } }\n",
    );
    for (at, frame) in [
        (10, "202#040207"),
        (20, "202#000208"),
        (30, "202#0A0209"),
        (40, "202#04030A"),
        (50, "202#09020B"),
    ] {
        assert_eq!(bench.take(at * MS, frame), Ok(()));
        bench.run_until(at * MS);
    }
    let expected = [(10, "300#00000007"), (50, "300#0000000B")];
    let expected = expected.map(|(at, text)| (at, text.to_owned()));
    assert_eq!(bench.made, expected);
}

#[test]
fn the_port_is_described() {
    let (bound, _) = read(LINES);
    assert_eq!(
        bound.unwrap().describe(),
        "messages of this gateway from body.Wheels, body.Doors\n  makes Dash (300) every 100 ms and on change \
         and on request"
    );
}

#[test]
fn mistakes_are_named() {
    let dash = |lines: &str| format!("database = 'dash'\n[make.Dash]\nevery = '10ms'\n{lines}\n");
    let unset = "signals of Dash that are not set are sent as raw 0: Shown, ShownInvalid, Alive, Mode, Door";
    for (lines, message) in [
        ("[make.Dash]\nevery = '1s'".to_owned(), "needs `database`"),
        ("database = 'dash'".to_owned(), "needs `make`"),
        (
            "database = 'dash'\n[make.Dsh]\nevery = '1s'".to_owned(),
            "database `dash` has no message `Dsh`",
        ),
        (
            dash("signals.Shwn = 1"),
            "message Dash has no signal `Shwn`",
        ),
        (
            dash("signals.Mode = 'Fast'"),
            "signal Mode has no value named `Fast`",
        ),
        (dash("signals.Mode = 0.5"), "signal Mode: "),
        (dash("signals.Mode = 256"), "signal Mode: "),
        (
            dash("signals.Shown = { from = 'Speed' }"),
            "`Speed` does not name a signal",
        ),
        (
            dash("signals.Shown = { from = 'bdy.Wheels.Speed' }"),
            "there is no database `bdy`",
        ),
        (
            dash("signals.Shown = { from = 'body.Wheels.Speed' }"),
            "Speed can have values that Shown cannot have",
        ),
        (
            dash("signals.Shown = { from = 'body.Wheels.Temperature', overflow = 'drop' }"),
            "Temperature has the unit \"C\", and Shown \"km/h\": the number is copied",
        ),
        (
            dash("signals.Door = { from = 'body.Doors.Rear', timeout = '1s' }"),
            "needs `silent`",
        ),
        (
            dash("signals.Door = { from = 'body.Doors.Rear', silent = 'hold' }"),
            "`silent` needs a `timeout`",
        ),
        (
            dash("signals.Door = { from = 'body.Doors.Rear', status = 'ShownInvalid' }"),
            "`status` needs a `timeout`",
        ),
        (
            dash("counter = 'Shown'\nsignals.Shown = 1"),
            "signal Shown is set twice",
        ),
        (
            "database = 'dash'\n[make.Paged]\nevery = '1s'\nsignals.Text = 1".to_owned(),
            "signal Text is in frames with certain values of Page only",
        ),
        (
            "database = 'dash'\n[make.Paged]\nevery = '1s'\nsignals = { Page = 1, Text = 1 }"
                .to_owned(),
            "signal Text is in frames with certain values of Page only",
        ),
        (
            "database = 'dash'\n[make.Nested]\nevery = '1s'\nsignals = { Page = 2, Line = 1 }"
                .to_owned(),
            "signal Page is in frames with certain values of Book only",
        ),
        (
            "database = 'dash'\n[make.Nested]\nevery = '1s'\nsignals = { Book = 1, Line = 1 }"
                .to_owned(),
            "signal Line is in frames with certain values of Page only",
        ),
        ("database = 'dash'\n[make.Dash]".to_owned(), "needs `every`"),
        (
            dash("min_distance = '20ms'"),
            "the least distance is longer than the cycle",
        ),
        (dash(""), unset),
    ] {
        let (_, messages) = read(&lines);
        assert!(
            messages.iter().any(|text| text.contains(message)),
            "{lines}: {messages:?}"
        );
    }
    for signals in [
        "Paged]\nsignals = { Page = 2, Text = 1 }",
        "Nested]\nsignals = { Book = 1, Page = 2, Line = 3 }",
    ] {
        let (bound, messages) = read(&format!("database = 'dash'\n[make.{signals}\nevery = '1s'"));
        assert!(bound.is_some() && messages.is_empty(), "{messages:?}");
    }
}
