//! End-to-end protection in routes: checked at the beginning, written at the end.

use cangate_route as route;
use config::{Diagnostics, SourceText, TomlDocument};
use e2e::ReceptionKind;
use frame::{CanId, Frame};
use route::{
    DecisionSink, ForwardedCopy, FrameArrival, PortId, Route, RouteId, Routes, RoutingTable,
    StopReason, TableMemory,
};

fn read(text: &str) -> (Vec<Route>, Vec<String>) {
    let source = SourceText::new("test", text);
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(&source, &mut found);
    let mut root = document.root();
    let ports = ["a", "b"].map(str::to_owned);
    let parsed = route::config::parse(&mut root, &ports, &|_| Vec::new(), &|_| None, &mut found);
    root.finish(&mut found);
    let messages = found.into_sorted().into_iter();
    (parsed.routes, messages.map(|it| it.message).collect())
}

fn table(text: &str) -> RoutingTable {
    let (routes, messages) = read(text);
    assert_eq!(messages, [""; 0]);
    let routes = Routes {
        routes,
        ..Routes::default()
    };
    RoutingTable::compile(&routes, 2).unwrap()
}

#[derive(Default)]
struct Events {
    sent: Vec<Frame>,
    stopped: Vec<StopReason>,
    verified: Vec<ReceptionKind>,
}

impl DecisionSink for Events {
    fn taken(&mut self, _: RouteId) {}

    fn stopped(&mut self, _: RouteId, why: StopReason) {
        self.stopped.push(why);
    }

    fn verified(&mut self, _: RouteId, kind: ReceptionKind) {
        self.verified.push(kind);
    }

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        self.sent.push(Frame::from_view(copy.frame).unwrap());
    }
}

fn decide(table: &RoutingTable, memory: &mut TableMemory, frame: &Frame) -> Events {
    let mut events = Events::default();
    let arrival = FrameArrival {
        from: PortId(0),
        now: 0,
        hops: 0,
    };
    table.decide(memory, arrival, frame.view(), &mut events);
    events
}

fn classic(data: &[u8]) -> Frame {
    Frame::classic(CanId::sff(0x100).unwrap(), data).unwrap()
}

/// The vectors are those of PyPI's autosar-e2e for Data ID 123: counters 0 and 1.
const FIRST: [u8; 8] = [0xCC, 0x00, 0, 0, 0, 0, 0, 0];
const SECOND: [u8; 8] = [0x91, 0x01, 0, 0, 0, 0, 0, 0];

const VERIFY: &str = "
[e2e.Engine]
profile = 'P01'
data_id = '123'
on_wrong = 'drop'
[[routes]]
from = 'a'
to = 'b'
id = '100'
verify = 'Engine'
";

#[test]
fn frames_with_a_wrong_protection_are_dropped_or_sent() {
    let wrong = [0xCD, 0x02, 0, 0, 0, 0, 0, 0];
    let frames = [&FIRST[..], &SECOND, &SECOND, &wrong, &FIRST[..1]];
    use ReceptionKind::{Initial, Ok, Repeated, TooShort, WrongChecksum};
    let kinds = [Initial, Ok, Repeated, WrongChecksum, TooShort];
    for (text, sent) in [
        (VERIFY.to_owned(), [true, true, false, false, false]),
        (VERIFY.replace("'drop'", "'forward'"), [true; 5]),
    ] {
        let table = table(&text);
        let mut memory = table.memory();
        for ((data, kind), sent) in frames.iter().zip(kinds).zip(sent) {
            let events = decide(&table, &mut memory, &classic(data));
            assert_eq!(events.verified, [kind]);
            assert_eq!(events.sent.len(), usize::from(sent), "{kind}");
            let stopped = if sent {
                &[][..]
            } else {
                &[StopReason::E2eWrong]
            };
            assert_eq!(events.stopped, stopped);
        }
        // A remote frame has no protection.
        let remote = Frame::remote(CanId::sff(0x100).unwrap(), 8).unwrap();
        let events = decide(&table, &mut memory, &remote);
        assert_eq!((events.sent.len(), events.verified.len()), (1, 0));
    }
}

#[test]
fn a_changed_message_is_protected_again() {
    let text = "
[e2e.Engine]
profile = 'P01'
data_id = '123'
[[routes]]
from = 'a'
to = 'b'
verify = 'Engine'
protect = 'Engine'
do = [{ and = { data = 'FFFF000000000000' } }]
";
    let table = table(text);
    let mut memory = table.memory();
    // Protected with data that the route removes: the result is the vector of zeros.
    let settings = e2e::P01Settings::new(0x123, e2e::DataIdMode::Both, 0);
    let protection = e2e::Protection::new(e2e::ProtectionSettings::P01(settings)).unwrap();
    let mut data = [0, 1, 9, 8, 7, 6, 5, 4];
    let id = CanId::sff(0x100).unwrap();
    protection
        .protect(id, &mut data, e2e::CounterSource::Keep)
        .unwrap();
    let events = decide(&table, &mut memory, &classic(&data));
    assert_eq!(events.sent, [classic(&SECOND)]);
    let short = decide(&table, &mut memory, &classic(&data[..1]));
    assert_eq!(short.stopped, [StopReason::E2eWrong]);
}

const OWN: &str = "
[e2e.Out]
profile = 'P01'
data_id = '123'
counter = 'own'
[[routes]]
name = 'out'
from = 'a'
to = 'b'
protect = 'Out'
";

#[test]
fn a_counter_of_the_route_continues_in_the_next_table() {
    let first = table(OWN);
    let mut memory = first.memory();
    let zeros = classic(&[0; 8]);
    assert_eq!(decide(&first, &mut memory, &zeros).sent, [classic(&FIRST)]);
    let more = format!("[[routes]]\nfrom = 'b'\nto = 'a'\n{OWN}");
    let next = table(&more);
    let mut next_memory = next.memory();
    next.adopt(&mut next_memory, (&first, &memory), |route| Some(route + 1));
    assert_eq!(
        decide(&next, &mut next_memory, &zeros).sent,
        [classic(&SECOND)]
    );
    // With another protection, the counter begins anew.
    let other = table(&OWN.replace("'123'", "'124'"));
    let mut other_memory = other.memory();
    other.adopt(&mut other_memory, (&next, &next_memory), |route| {
        route.checked_sub(1)
    });
    let sent = decide(&other, &mut other_memory, &zeros).sent;
    assert_eq!(sent[0].data()[1] & 0xF, 0);
}

#[test]
fn a_remote_frame_and_a_short_one_get_no_protection() {
    let table = table(OWN);
    let mut memory = table.memory();
    let remote = Frame::remote(CanId::sff(0x100).unwrap(), 8).unwrap();
    assert_eq!(decide(&table, &mut memory, &remote).sent, [remote]);
    let short = decide(&table, &mut memory, &classic(&[0]));
    assert_eq!(short.stopped, [StopReason::Absent]);
    // Neither counted.
    assert_eq!(
        decide(&table, &mut memory, &classic(&[0; 8])).sent,
        [classic(&FIRST)]
    );
}

#[test]
fn makes_are_known_by_name() {
    let text = "
[e2e.Wheel]
profile = 'toyota'
[[routes]]
from = 'a'
to = 'b'
protect = 'Wheel'
";
    let table = table(text);
    let mut memory = table.memory();
    // From opendbc's function: message 2E4.
    let data = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x00];
    let frame = Frame::classic(CanId::sff(0x2E4).unwrap(), &data).unwrap();
    let sent = decide(&table, &mut memory, &frame).sent;
    assert_eq!(sent[0].data()[7], 0x53);
}

#[test]
fn mistakes_are_named() {
    let route = "[[routes]]\nfrom = 'a'\nto = 'b'\nverify = 'X'\n";
    for (table, message) in [
        ("", "there is no protection `X`"),
        (
            "[e2e.Y]\nprofile = 'P01'\ndata_id = 1\n",
            "there is no protection `X`",
        ),
        ("[e2e.X]\ndata_id = 1\n", "protection `X` needs `profile`"),
        (
            "[e2e.X]\nprofile = 'P03'\n",
            "`P03` is neither a profile nor a make",
        ),
        (
            "[e2e.X]\nprofile = 'P44'\n",
            "`P44`: profile P44 is not supported: no independent example of its bytes is known",
        ),
        (
            "[e2e.X]\nprofile = 'P01'\n",
            "protection `X` needs `data_id`",
        ),
        (
            "[e2e.X]\nprofile = 'P02'\ndata_id = 1\n",
            "P02 has `data_ids`, not `data_id`",
        ),
        ("[e2e.X]\nprofile = 'P02'\ndata_ids = '0102'\n", "P02: "),
        ("[e2e.X]\nprofile = 'P05'\ndata_id = 65536\n", "P05: "),
        (
            "[e2e.X]\nprofile = 'P01'\ndata_id = 1\nmax_delta = 15\n",
            "protection `X`: ",
        ),
        (
            "[e2e.X]\nprofile = 'P01'\ndata_id = 1\nid = '123'\n",
            "`id` is for makes, and P01 is a profile",
        ),
        ("[e2e.X]\nprofile = 'psa'\n", "protection `X` needs `id`"),
        ("[e2e.X]\nprofile = 'tesla'\n", "tesla: "),
        (
            "[e2e.X]\nprofile = 'toyota'\noffset = 1\n",
            "`offset` is for profiles, and toyota is a make",
        ),
        (
            "[e2e.X]\nprofile = 'toyota'\nchecksum = 7\n",
            "`checksum` has no effect on the checksum of toyota",
        ),
        (
            "[e2e.X]\nprofile = 'honda'\nid = '123'\n",
            "`id` has no effect on the checksum of honda",
        ),
        (
            "[e2e.X]\nprofile = 'tesla'\nchecksum = 7\nhigh_half = true\n",
            "`high_half` has no effect on the checksum of tesla",
        ),
    ] {
        let (_, messages) = read(&format!("{table}{route}"));
        assert!(
            messages.iter().any(|text| text.starts_with(message)),
            "{table}: {messages:?}"
        );
    }
    let unused = "[e2e.X]\nprofile = 'P01'\ndata_id = 1\n[[routes]]\nfrom = 'a'\nto = 'b'\n";
    assert_eq!(read(unused).1, ["no route uses the protection `X`"]);
}
