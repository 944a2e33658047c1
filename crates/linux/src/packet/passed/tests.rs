use super::super::CaptureRule;
use super::super::program::tests::filter;
use super::*;
use crate::can::CanFilter;
use crate::classic_bpf;
use proptest::prelude::*;
use std::os::unix::net::UnixDatagram;

/// Returns whether programs can be loaded here; if not, prints the reason.
fn can_load() -> bool {
    match PassedCounts::new() {
        Ok(_) => true,
        Err(why) => {
            eprintln!("SKIPPED because the kernel takes no BPF programs from this process: {why}");
            false
        }
    }
}

/// Returns the IDs, of these, whose frames pass the filter.
fn through(socket: &(UnixDatagram, UnixDatagram), ids: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    for id in ids {
        let frame = [id.to_ne_bytes(), [0; 4], [0; 4], [0; 4]].concat();
        let _ = socket.0.send(&frame);
        let mut bytes = [0; 16];
        if socket.1.recv(&mut bytes).is_ok_and(|n| n == 16) {
            found.push(u32::from_ne_bytes(*bytes.first_chunk().unwrap()));
        }
    }
    found
}

fn pair() -> (UnixDatagram, UnixDatagram) {
    let pair = UnixDatagram::pair().unwrap();
    pair.1.set_nonblocking(true).unwrap();
    pair
}

/// A rule for a datagram socket, whose datagrams are of interface 0.
fn rule() -> impl Strategy<Value = CaptureRule> {
    let interfaces = prop::option::weighted(0.8, prop::collection::vec(0_u32..3, 0..3));
    let filters = prop::collection::vec(filter(), 0..100);
    (interfaces, filters).prop_map(|(interfaces, filters)| CaptureRule {
        interfaces,
        filters,
    })
}

/// Removes the test of the device's type, which no datagram socket has.
fn on_any_device(program: &FilterProgram) -> FilterProgram {
    let begin = program
        .0
        .iter()
        .position(|i| *i == ClassicInstruction::keep(0));
    FilterProgram(program.0[begin.unwrap() + 1..].to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The kernel runs both; the interface is the one of a datagram, which has none: 0.
    #[test]
    fn the_translation_does_what_the_classic_program_does(
        rules in prop::collection::vec(rule(), 1..4), errors in any::<bool>(),
        ids in prop::collection::vec(any::<u32>(), 12),
    ) {
        if !can_load() {
            return Ok(());
        }
        let program = FilterProgram::new(&rules, errors).unwrap();
        let near = rules.iter().flat_map(|r| &r.filters).map(|f| f.id);
        let ids: Vec<u32> = ids.iter().copied().chain(near.take(12)).collect();
        let (classic, present) = (pair(), pair());
        // A datagram has no device: the classic program would end there.
        let bare = on_any_device(&program);
        // A classic program cannot load the interface where there is none (`SKF_AD_IFINDEX` drops
        // the datagram then), so the constant 0 replaces it.
        let zero: Vec<ClassicInstruction> = bare.0.iter().map(|i| match *i {
            load if load == ClassicInstruction::load(INTERFACE) => ClassicInstruction { code: 0, k: 0, ..load },
            other => other,
        }).collect();
        classic_bpf::attach(&classic.1, &zero).unwrap();
        let passed = PassedCounts::new().unwrap();
        // Datagrams of unix sockets have protocol 0.
        let all = translate(&program, &[9, 0], &count(passed.0.number().unwrap())).unwrap();
        kernel::attach(&present.1, &all).unwrap();
        let found = through(&present, &ids);
        prop_assert_eq!(&found, &through(&classic, &ids));
        prop_assert_eq!(passed.0.get(0).unwrap(), found.len() as u64);
        // They have a socket: the sender's.
        kernel::attach(&present.1, &translate(&program, &[0], &sent(16)).unwrap()).unwrap();
        prop_assert_eq!(through(&present, &ids), found);
        // A datagram of another protocol is not a CAN frame.
        kernel::attach(&present.1, &translate(&program, &PROTOCOLS, &sent(16)).unwrap()).unwrap();
        prop_assert!(through(&present, &ids).is_empty());
    }
}

#[test]
fn a_long_program_is_taken() {
    if !can_load() {
        return;
    }
    let filters = vec![CanFilter { id: 1, mask: 1 }; 300];
    let rule = CaptureRule {
        interfaces: None,
        filters,
    };
    let program = FilterProgram::new(&[rule], true).unwrap();
    let socket = pair();
    PassedCounts::new()
        .unwrap()
        .attach(&socket.1, &program)
        .unwrap();
    attach_sent(&socket.1, &program, 48).unwrap();
    assert_eq!(PassedCounts::new().unwrap().read(COUNTERS), Ok(None));
    assert_eq!(PassedCounts::new().unwrap().read(1), Ok(Some(0)));
}
