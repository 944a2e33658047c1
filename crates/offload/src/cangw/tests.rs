//! Messages there and back, and plans against a list that behaves as the kernel's.

use super::plan::{Change, plan};
use super::wire::{self, Counters, Crc8, FD, Job, Listed, Message, Modification, Xor};
use super::{Error, Limits, Version, survey};
use proptest::collection::vec;
use proptest::prelude::*;
use route::{Action, Crc8Profile, Modify, ModifyOp, PortId, Route, Routes};

fn modification(size: usize) -> impl Strategy<Value = Modification> {
    (
        0..16_u8,
        any::<u32>(),
        any::<u8>(),
        any::<u8>(),
        vec(any::<u8>(), size),
    )
        .prop_map(move |(kinds, id, len, flags, data)| Modification {
            kinds,
            id,
            len,
            flags: if size == 64 { flags } else { 0 },
            data,
        })
}

fn crc8() -> impl Strategy<Value = Crc8> {
    let table = vec(any::<u8>(), 256).prop_map(|t| <[u8; 256]>::try_from(t).unwrap());
    let rest = any::<([i8; 3], u8, u8, u8, [u8; 20])>();
    (table, rest).prop_map(
        |(table, (indices, init, final_xor, profile, profile_data))| Crc8 {
            indices,
            init,
            final_xor,
            table,
            profile,
            profile_data,
        },
    )
}

fn job() -> impl Strategy<Value = Job> {
    any::<bool>().prop_flat_map(|fd| {
        let size = if fd { 64 } else { 8 };
        let modify = [(); 4].map(|()| proptest::option::of(modification(size)));
        let sums = (
            proptest::option::of(crc8()),
            proptest::option::of(any::<([i8; 3], u8)>()),
        );
        (any::<(u32, u32, u16, u8, (u32, u32), u32)>(), modify, sums).prop_map(
            move |((source, destination, flags, hops, filter, uid), modify, (crc8, xor))| Job {
                source,
                destination,
                flags: if fd { flags | FD } else { flags & !FD },
                hops,
                filter,
                modify,
                crc8,
                xor: xor.map(|(indices, init)| Xor { indices, init }),
                uid,
            },
        )
    })
}

proptest! {
    /// What is asked for is read back as it was: a request has the form of a listed job.
    #[test]
    fn jobs_survive_the_way_there_and_back(jobs in vec((job(), any::<u32>()), 0..4)) {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for (job, sequence) in jobs {
            bytes.extend(wire::add_request(&job, sequence));
            let listed = Listed { job, counters: Counters::default() };
            expected.push((sequence, Message::Listed(Box::new(listed))));
        }
        prop_assert_eq!(wire::decode(&bytes), Ok(expected));
    }

    #[test]
    fn any_bytes_are_read_without_panic(
        bytes in vec(any::<u8>(), 0..400),
        kind in prop::sample::select(vec![0_u16, 2, 3, 24, 25]),
        attribute in 0_u16..24,
    ) {
        let _ = wire::decode(&bytes);
        let mut body = vec![29, 1, 0, 0];
        body.extend((bytes.len() as u16 + 4).to_ne_bytes());
        body.extend(attribute.to_ne_bytes());
        body.extend(&bytes);
        let _ = wire::decode(&wire::message(kind, 0, 1, &bytes));
        let _ = wire::decode(&wire::message(kind, 0, 1, &body));
    }

    /// Each byte of a good message changed.
    #[test]
    fn spoiled_jobs_are_read_without_panic(job in job(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = wire::add_request(&job, 7);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = wire::decode(&bytes);
        bytes.truncate(at);
        let _ = wire::decode(&bytes);
    }
}

#[test]
fn answers_are_read() {
    let answer = |code: i32| wire::message(2, 0, 5, &[code.to_ne_bytes(), [0; 4]].concat());
    let read = |code| wire::decode(&answer(code)).unwrap();
    assert_eq!(read(0), [(5, Message::Answer(None))]);
    let nodev = rustix::io::Errno::NODEV;
    assert_eq!(read(-19), [(5, Message::Answer(Some(nodev)))]);
    for odd in [19, i32::MIN, -4096] {
        assert_eq!(
            read(odd),
            [(5, Message::Answer(Some(rustix::io::Errno::IO)))]
        );
    }
    assert_eq!(
        wire::decode(&wire::message(3, 0, 5, &[])),
        Ok(vec![(5, Message::Done(None))])
    );
    // Routes of IPv4 come where can-gw is missing.
    assert_eq!(
        wire::decode(&wire::message(24, 0, 5, &[2; 12])),
        Ok(vec![(5, Message::Other)])
    );
}

/// `cangw -A -s (1) -d (2) -e -u 5 -f 123:7FF -m SET:I:333.0.0000000000000000`
#[test]
fn a_request_is_laid_out_as_the_header_file_says() {
    let set = Modification {
        kinds: 1,
        id: 0x333,
        data: vec![0; 8],
        ..Modification::default()
    };
    let job = Job {
        source: 1,
        destination: 2,
        flags: 1,
        filter: (0x123, 0x7FF),
        modify: [None, None, None, Some(set)],
        uid: 5,
        ..Job::default()
    };
    let u16s = |n: [u16; 2]| n.map(u16::to_ne_bytes).concat();
    let u32s = |n: &[u32]| n.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
    let mut expected = vec![29, 1];
    expected.extend(1_u16.to_ne_bytes());
    expected.extend(u16s([4 + 17, 4]));
    expected.extend(0x333_u32.to_ne_bytes());
    expected.extend([0; 12]);
    expected.extend([1, 0, 0, 0]);
    for (kind, value) in [(14, &[5][..]), (11, &[0x123, 0x7FF]), (9, &[1]), (10, &[2])] {
        expected.extend(u16s([4 + 4 * value.len() as u16, kind]));
        expected.extend(u32s(value));
    }
    let request = wire::add_request(&job, 9);
    assert_eq!(request[16..], expected);
    assert_eq!(request[..4], (request.len() as u32).to_ne_bytes());
    assert_eq!(request[4..8], u16s([24, 5]));
}

/// IDs that frames have here; few, so that filters meet often.
fn frames() -> impl Iterator<Item = u32> {
    (0..8).chain((0..8).map(|id| id | 0x8000_0000))
}

/// `can_rcv_filter` for frames without error flag, in the words of the man page.
fn takes(job: &Job, frame: u32) -> bool {
    let (id, mask) = job.filter;
    let number = if mask & 0x8000_0000 != 0 && id & 0x8000_0000 == 0 {
        0x7FF
    } else {
        u32::MAX
    };
    let mask = mask & (number | 0xC000_0000);
    let same = frame & mask == id & mask;
    same != (id & 0x2000_0000 != 0)
}

/// What can be seen of a job but its modifications.
fn face(job: &Job) -> (u32, u32, u16, u8, (u32, u32)) {
    (job.source, job.destination, job.flags, job.hops, job.filter)
}

fn small_job() -> impl Strategy<Value = Job> {
    let filters = vec![
        (0, 0),
        (1, 0xC000_07FF),
        (2, 0xC000_07FF),
        (0x8000_0001, 0xDFFF_FFFF),
        (0, 1),
        (1, 1),
        (2, 6),
        (4, 0x8000_0004),
        (0x2000_0001, 3),
    ];
    (1..3_u32, 3..5_u32, prop::sample::select(filters), 0..3_u32).prop_map(
        |(source, destination, filter, id)| {
            let job = Job {
                source,
                destination,
                filter,
                ..Job::default()
            }
            .marked(1);
            let or = Modification {
                kinds: 1,
                id,
                data: vec![0; 8],
                ..Modification::default()
            };
            Job {
                modify: [None, Some(or), None, None],
                ..job
            }
        },
    )
}

/// The jobs of a list that take a frame of a source, as they are tried.
fn takers(list: &[Job], source: u32, frame: u32) -> Vec<Job> {
    let takes = |job: &&Job| job.source == source && takes(job, frame);
    list.iter().filter(takes).cloned().collect()
}

fn subset(part: &[Job], whole: &[Job]) -> bool {
    let mut rest: Vec<_> = whole.iter().map(face).collect();
    part.iter().all(|job| {
        let place = rest.iter().position(|other| *other == face(job));
        place.map(|place| rest.remove(place)).is_some()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The list ends up as it was wanted, as far as a frame can tell; what stays is not touched;
    /// at no moment does a frame meet old rules and new ones.
    #[test]
    fn plans_lead_to_what_is_wanted(
        old in vec(small_job(), 0..7),
        extra in vec(small_job(), 0..5),
        picks in vec(any::<prop::sample::Index>(), 0..5),
        update in any::<bool>(),
    ) {
        // Much of the old is wanted still, in another order.
        let mut wanted = extra;
        for pick in picks {
            if !old.is_empty() {
                let at = pick.index(wanted.len() + 1);
                wanted.insert(at, old[pick.index(old.len())].clone());
            }
        }
        let plan = plan(&wanted, &old, update);
        let mut list: Vec<(Option<usize>, Job)> =
            old.iter().cloned().enumerate().map(|(i, job)| (Some(i), job)).collect();
        for change in &plan.changes {
            match *change {
                Change::Delete { there } => {
                    let before = list.len();
                    list.retain(|(i, _)| *i != Some(there));
                    prop_assert_eq!(list.len(), before - 1);
                }
                Change::Update { wanted: i, there } => {
                    prop_assert!(update);
                    let place = list.iter().position(|(i, _)| *i == Some(there)).unwrap();
                    prop_assert_eq!(face(&list[place].1), face(&wanted[i]));
                    list[place].1 = wanted[i].clone();
                }
                Change::Add { wanted: i } => list.insert(0, (None, wanted[i].clone())),
            }
            let jobs: Vec<Job> = list.iter().map(|(_, job)| job.clone()).collect();
            for (source, frame) in [1, 2].into_iter().flat_map(|s| frames().map(move |f| (s, f))) {
                let now = takers(&jobs, source, frame);
                prop_assert!(
                    subset(&now, &takers(&old, source, frame))
                        || subset(&now, &takers(&wanted, source, frame)),
                    "{:08X} meets {:?} amid {:?}", frame, now, plan
                );
            }
        }
        for (i, stays) in plan.stays.iter().enumerate() {
            if let Some(there) = stays {
                let place = list.iter().position(|(i, _)| *i == Some(*there)).unwrap();
                prop_assert_eq!(&list[place].1, &wanted[i]);
            }
        }
        let jobs: Vec<Job> = list.into_iter().map(|(_, job)| job).collect();
        prop_assert_eq!(jobs.len(), wanted.len());
        for (source, frame) in [1, 2].into_iter().flat_map(|s| frames().map(move |f| (s, f))) {
            for (destination, class) in [3, 4].into_iter().flat_map(|d| (0..4).map(move |c| (d, c))) {
                let seen = |list: &[Job]| -> Vec<Job> {
                    let takers = takers(list, source, frame).into_iter();
                    takers.filter(|j| j.destination == destination && list_class(j) == class).collect()
                };
                prop_assert_eq!(seen(&jobs), seen(&wanted), "{:08X}", frame);
            }
        }
    }

    /// What is there already is left alone, and what is new at the end costs nothing else unless
    /// frames could tell the order.
    #[test]
    fn nothing_new_changes_nothing(jobs in vec(small_job(), 0..8), update in any::<bool>()) {
        prop_assert_eq!(plan(&jobs, &jobs, update).changes, []);
    }
}

/// The kernel's lists, within which order is kept: all, masks, inverted, one ID.
fn list_class(job: &Job) -> u8 {
    match job.filter {
        (id, _) if id & 0x2000_0000 != 0 => 2,
        (0, 0) => 0,
        (_, 0xC000_07FF | 0xDFFF_FFFF) => 3,
        _ => 1,
    }
}

fn of(filter: (u32, u32)) -> Job {
    Job {
        source: 1,
        destination: 2,
        filter,
        ..Job::default()
    }
    .marked(1)
}

#[test]
fn a_new_rule_moves_only_those_that_a_frame_could_tell_apart() {
    let (low, high, all) = (of((0, 4)), of((4, 4)), of((0, 0)));
    let there = [low.clone(), high.clone(), all.clone()];
    let new = of((1, 5));
    // It is tried after the others; only `low` takes frames that it takes, in the same list.
    let wanted = [low, high, all, new];
    let plan = plan(&wanted, &there, true);
    assert_eq!(plan.stays, [None, Some(1), Some(2), None]);
    assert_eq!(
        plan.changes,
        [
            Change::Delete { there: 0 },
            Change::Add { wanted: 3 },
            Change::Add { wanted: 0 }
        ]
    );
}

#[test]
fn modifications_are_updated_where_the_kernel_can() {
    let there = [of((1, 0x7FF)), of((2, 0x7FF))];
    let mut wanted = there.clone();
    wanted[1].modify[1].as_mut().unwrap().id = 0x100;
    let with = plan(&wanted, &there, true).changes;
    assert_eq!(
        with,
        [Change::Update {
            wanted: 1,
            there: 1
        }]
    );
    let without = plan(&wanted, &there, false).changes;
    assert_eq!(
        without,
        [Change::Delete { there: 1 }, Change::Add { wanted: 1 }]
    );
}

fn interfaces() -> Vec<Option<String>> {
    ["can0", "can1"].map(|name| Some(name.to_owned())).to_vec()
}

fn classic(name: &str) -> Route {
    let mut route = Route::new(name, vec![PortId(0)], vec![PortId(1)]);
    route.matching.kinds.fd = false;
    route.matching.kinds.xl = false;
    route
}

#[test]
fn each_route_is_answered_for() {
    let mut drops = classic("drops");
    drops.drop = true;
    let mut sums = classic("sums");
    let or = Modify {
        op: ModifyOp::Or,
        id: None,
        len: Some(0),
        flags: None,
        data: None,
    };
    sums.actions = vec![
        Action::Modify(or),
        Action::Crc8(route::Crc8 {
            from: 0,
            to: -2,
            result: -1,
            init: 0,
            final_xor: 0,
            table: [0; 256],
            profile: Crc8Profile::None,
        }),
    ];
    let routes = Routes {
        routes: vec![classic("plain"), drops, sums],
        ..Routes::default()
    };
    let of = |version, max_hops| {
        let limits = Limits {
            version: Some(version),
            max_hops,
        };
        survey(&routes, &interfaces(), &limits)
            .into_iter()
            .map(|why| why.map(|why| why.why))
            .collect::<Vec<_>>()
    };
    let new = of(Version(7, 3, 0), Some(1));
    assert_eq!(new[0], None);
    assert_eq!(
        new[1].as_deref(),
        Some("it drops frames, and a rule only forwards")
    );
    assert_eq!(new[2], None);
    assert!(
        of(Version(6, 1, 20), Some(1))[2]
            .as_ref()
            .unwrap()
            .contains("CVE-2026-31570")
    );
    let more = Routes {
        max_hops: 3,
        ..routes.clone()
    };
    let limits = Limits {
        version: Some(Version(7, 3, 0)),
        max_hops: Some(2),
    };
    let why = survey(&more, &interfaces(), &limits)[0]
        .clone()
        .unwrap()
        .to_string();
    assert!(
        why.starts_with("route `plain`: the gateway allows 3 hops"),
        "{why}"
    );
}

#[test]
fn an_echo_that_other_rules_would_take_is_refused() {
    let mut there = classic("there");
    there.echo = true;
    let mut back = classic("back");
    std::mem::swap(&mut back.from, &mut back.to);
    let limits = Limits {
        version: Some(Version(7, 3, 0)),
        max_hops: Some(2),
    };
    let mut routes = Routes {
        max_hops: 2,
        routes: vec![there, back],
        ..Routes::default()
    };
    let why = survey(&routes, &interfaces(), &limits);
    assert!(
        why[0].as_ref().unwrap().why.contains("for can1 would take"),
        "{why:?}"
    );
    assert_eq!(why[1], None);
    routes.routes[0].hop_limit = Some(1);
    assert_eq!(survey(&routes, &interfaces(), &limits), [None, None]);
    routes.routes[0].hop_limit = None;
    routes.max_hops = 1;
    assert_eq!(survey(&routes, &interfaces(), &limits), [None, None]);
}

#[test]
fn errors_say_what_to_do() {
    let errno = rustix::io::Errno::NODEV;
    let refused = Error::Refused {
        route: "speed".into(),
        rule: "-s can0 -d can7".into(),
        why: super::Why::Interface,
        source: errno,
    };
    assert_eq!(
        refused.to_string(),
        "route `speed`: can-gw refuses the rule `-s can0 -d can7`: an interface of it is not \
         there, or is no CAN interface (`ip -br link` shows them)"
    );
    for (error, word) in [
        (Error::NoModule, "modprobe can-gw"),
        (Error::NoPermission, "CAP_NET_ADMIN"),
        (
            Error::Busy {
                instance: "g".into(),
                pid: Some(7),
            },
            "process 7 holds",
        ),
        (
            Error::MaxHops {
                wanted: 3,
                module: 1,
            },
            "modprobe can-gw max_hops=3",
        ),
        (Error::TooMany(70_000), "70000 rules are too many"),
    ] {
        assert!(error.to_string().contains(word), "{error}");
    }
}
