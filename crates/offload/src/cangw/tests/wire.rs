//! Encoding and decoding of messages.

use crate::cangw::wire::{self, FD, GatewayJob, JobCounters, ListedJob};
use config::SourceText;
use linux::netlink::{MalformedMessage, NetlinkRequest, attributes, messages};
use proptest::collection::vec;
use proptest::prelude::*;
use route::cangw::{CanGwRule, RuleAttribute, import};
use route::{Action, KernelPort, Modification, Modify, ModifyOp};

/// Returns the jobs in the kernel's messages, each with the number of the request that it answers.
fn decode(bytes: &[u8]) -> Result<Vec<(u32, Option<ListedJob>)>, MalformedMessage> {
    let read = |message: linux::netlink::NetlinkMessage<'_>| {
        Ok((message.sequence, wire::listed(&message)?))
    };
    messages(bytes).map(|message| read(message?)).collect()
}

/// Returns a message of this type.
fn kernel_message(kind: u16, body: &[u8]) -> Vec<u8> {
    NetlinkRequest::one(kind, body.to_vec()).bytes(5)
}

fn modification(op: ModifyOp, fd: bool) -> impl Strategy<Value = RuleAttribute> {
    (
        0..16_u8,
        any::<u32>(),
        any::<u8>(),
        any::<u8>(),
        vec(any::<u8>(), if fd { 64 } else { 8 }),
    )
        .prop_map(move |(parts, id, len, flags, data)| {
            let modification = Modification {
                op,
                fd,
                parts,
                id,
                len,
                flags: if fd { flags } else { 0 },
                data,
            };
            modification.to_attribute()
        })
}

/// The bytes of `struct cgw_csum_crc8` and of `struct cgw_csum_xor`, with arbitrary content.
fn sum(kind: u16, size: usize) -> impl Strategy<Value = RuleAttribute> {
    vec(any::<u8>(), size).prop_map(move |value| RuleAttribute { kind, value })
}

fn job() -> impl Strategy<Value = GatewayJob> {
    any::<bool>().prop_flat_map(|fd| {
        let ops = [ModifyOp::And, ModifyOp::Or, ModifyOp::Xor, ModifyOp::Set];
        let modify = ops.map(|op| proptest::option::of(modification(op, fd)));
        let sums = (
            proptest::option::of(sum(6, 282)),
            proptest::option::of(sum(5, 4)),
        );
        (any::<(u32, u32, u16, u8, (u32, u32), u32)>(), modify, sums).prop_map(
            move |((source, destination, flags, hops, filter, uid), modify, (crc8, xor))| {
                GatewayJob {
                    source,
                    destination,
                    flags: if fd { flags | FD } else { flags & !FD },
                    hops,
                    filter,
                    changes: modify.into_iter().chain([crc8, xor]).flatten().collect(),
                    uid,
                }
            },
        )
    })
}

/// Removes checksums from a rule that modifies nothing.
fn without_idle_sums(rule: &mut CanGwRule) {
    if !rule.modifies() {
        rule.changes.clear();
    }
}

proptest! {
    /// A request is decoded as the same job: it has the form of a listed job.
    #[test]
    fn jobs_survive_the_way_there_and_back(jobs in vec((job(), any::<u32>()), 0..4)) {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for (job, sequence) in jobs {
            bytes.extend(wire::add_request(&job).bytes(sequence));
            let listed = ListedJob { job, counters: JobCounters::default() };
            expected.push((sequence, Some(listed)));
        }
        prop_assert_eq!(decode(&bytes), Ok(expected));
    }

    #[test]
    fn any_bytes_are_read_without_panic(
        bytes in vec(any::<u8>(), 0..400),
        kind in prop::sample::select(vec![0_u16, 2, 3, 24, 25]),
        attribute in 0_u16..24,
    ) {
        let _ = decode(&bytes);
        let mut body = vec![29, 1, 0, 0];
        body.extend((bytes.len() as u16 + 4).to_ne_bytes());
        body.extend(attribute.to_ne_bytes());
        body.extend(&bytes);
        let _ = decode(&kernel_message(kind, &bytes));
        let _ = decode(&kernel_message(kind, &body));
    }

    /// Rules and jobs are equivalent: a job is converted to a rule in cangw's syntax, and the
    /// importer reads it as a rule with the same job.
    #[test]
    fn a_job_is_the_rule_that_it_is_shown_as(job in job()) {
        let mut rule = job.rule("can0".into(), "can1".into());
        // Values that the kernel would not have in its list.
        rule.hops = rule.hops.map(|hops| hops % 6 + 1);
        let most = rule.size() as i16;
        for change in &mut rule.changes {
            let indices = match change {
                Action::Crc8(sum) => [&mut sum.from, &mut sum.to, &mut sum.result],
                Action::XorSum(sum) => [&mut sum.from, &mut sum.to, &mut sum.result],
                _ => continue,
            };
            indices.into_iter().for_each(|index| *index %= most);
        }
        // No bus has remote FD frames, and a rule that makes them is not exported.
        for change in &mut rule.changes {
            if let Action::Modify(modify) = change
                && rule.fd
                && modify.op != ModifyOp::And
                && let Some(route::IdOperand::Raw(raw)) = &mut modify.id
            {
                *raw &= !0x4000_0000;
            }
        }
        without_idle_sums(&mut rule);
        let job = GatewayJob::new(&rule, 1, 2);
        let text = format!("cangw -A {rule}\n");
        let imported = import(&SourceText::new("rule", text.clone()));
        let imported = imported.map_err(|e| TestCaseError::fail(format!("{text}: {e:?}")))?;
        let names: Vec<_> = imported.interfaces.into_iter().map(KernelPort::new).map(Some).collect();
        let rules = route::cangw::rules(&imported.routes, &names);
        let again: Vec<_> = rules.unwrap().iter().map(|(_, rule)| GatewayJob::new(rule, 1, 2)).collect();
        prop_assert_eq!(again, std::slice::from_ref(&job), "{}", text);
        prop_assert_eq!(GatewayJob::new(&job.rule("can0".into(), "can1".into()), 1, 2), job);
    }

    /// A mark is recognized, and changes nothing else of the job's effect.
    #[test]
    fn marks_are_found_again(job in job(), mark in 1_u32.., hidden in any::<bool>()) {
        // As in rules: without parts that do nothing, and without checksums that are not computed.
        let mut rule = job.rule("a".into(), "b".into());
        without_idle_sums(&mut rule);
        let job = GatewayJob::new(&rule, 1, 2);
        let marked = job.clone().marked(mark, hidden);
        prop_assert_eq!(marked.mark(), mark);
        prop_assert_eq!(job.mark(), 0);
        prop_assert_eq!(marked.modifies(), !hidden || job.modifies());
        prop_assert_eq!(marked.rule("a".into(), "b".into()), rule);
        prop_assert_eq!(marked.unmarked(), job);
    }

    /// A modification that a user wants and that changes nothing is not a mark.
    #[test]
    fn a_change_of_nothing_is_no_mark(fd in any::<bool>(), mark in 1_u32.., hidden in any::<bool>()) {
        let or = Modify { op: ModifyOp::Or, id: Some(route::IdOperand::Raw(0)), len: None, flags: None, data: None };
        let rule = CanGwRule { fd, changes: vec![Action::Modify(or)], ..CanGwRule::default() };
        let job = GatewayJob::new(&rule, 1, 2);
        prop_assert_eq!(job.clone().marked(mark, hidden).unmarked(), job);
    }

    /// Changes each byte of a valid message.
    #[test]
    fn spoiled_jobs_are_read_without_panic(job in job(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = wire::add_request(&job).bytes(7);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = decode(&bytes);
        bytes.truncate(at);
        let _ = decode(&bytes);
    }
}

/// Two zeros instead of interfaces are can-gw's request to remove every job.
#[test]
fn nothing_asks_for_the_removal_of_all_jobs() {
    let job = GatewayJob::default().marked(7, true);
    for request in [
        wire::delete_request(&job),
        wire::probe_request(&GatewayJob {
            source: 1,
            ..job.clone()
        }),
    ] {
        // No attribute is of type 9 or 10, `CGW_SRC_IF` and `CGW_DST_IF`.
        let kinds: Vec<u16> = attributes(&request.body[4..])
            .map(|attribute| attribute.unwrap().0)
            .collect();
        assert_eq!(kinds, [2]);
    }
}

#[test]
fn answers_are_read() {
    let answer = |code: i32| kernel_message(2, &[code.to_ne_bytes(), [0; 4]].concat());
    for code in [0, -19, 19] {
        assert_eq!(decode(&answer(code)), Ok(vec![(5, None)]), "no job");
    }
    assert_eq!(decode(&kernel_message(3, &[])), Ok(vec![(5, None)]));
    // Routes of IPv4 are listed where can-gw is missing.
    assert_eq!(decode(&kernel_message(24, &[2; 12])), Ok(vec![(5, None)]));
    assert_eq!(
        decode(&kernel_message(24, &[29, 1, 0])),
        Err(MalformedMessage::Message)
    );
    assert_eq!(
        decode(&kernel_message(24, &[29, 1, 0, 0, 9])),
        Err(MalformedMessage::Attribute)
    );
}

/// `cangw -A -s (1) -d (2) -e -u 5 -f 123:7FF -m SET:I:333.0.0000000000000000`
#[test]
fn a_request_is_laid_out_as_the_header_file_states() {
    let set = Modification {
        parts: Modification::ID,
        id: 0x333,
        ..Modification::new(ModifyOp::Set, false)
    };
    let job = GatewayJob {
        source: 1,
        destination: 2,
        flags: 1,
        filter: (0x123, 0x7FF),
        changes: vec![set.to_attribute()],
        uid: 5,
        ..GatewayJob::default()
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
    let request = wire::add_request(&job).bytes(9);
    assert_eq!(request[16..], expected);
    assert_eq!(request[..4], (request.len() as u32).to_ne_bytes());
    assert_eq!(request[4..8], u16s([24, 5]));
}
