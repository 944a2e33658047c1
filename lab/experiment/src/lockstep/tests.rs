use super::*;
use frame::wire::{self, BitRate};
use frame::{CanId, Frame};
use guest::lockstep::{CanLink, LinkKind};
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
    (id, any::<[bool; 2]>(), 0..4_u8, data).prop_map(|(id, [is_fd, is_empty], flags, mut data)| {
        let id = CanId::from_raw(id);
        data.truncate(if is_empty { 0 } else { 64 });
        match is_fd {
            true => Frame::fd(id, flags, &data).unwrap(),
            false if flags & 1 == 0 => Frame::remote(id, data.len().min(8)).unwrap(),
            false => Frame::classic(id, &data[..data.len().min(8)]).unwrap(),
        }
    })
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
