//! An operation that only the list of this module contains has all functions of the others: a
//! folder and a line are enough.

// The list generates everything that the table and other crates need; only a part of it is called
// here.
#![allow(dead_code, unreachable_pub)]

use super::apply::ApplyOperation as _;
use super::bpf::BpfProgram;
use super::registry::operations;
use alloc::{string::String, vec::Vec};
use frame::{CanId, Frame, FrameBuf};

operations! {
    reverse_bytes::ReverseBytes,
}

const THREE: Action = Action::ReverseBytes(ReverseBytes { count: 3 });

#[test]
fn it_is_done_to_frames() {
    let compiled = [THREE.compile()];
    assert!(!compiled[0].is_header_only());
    let mut buf = FrameBuf::default();
    for (before, after) in [(&[1, 2, 3, 4][..], &[3, 2, 1, 4][..]), (&[1, 2], &[2, 1])] {
        let frame = Frame::classic(CanId::sff(0x123).unwrap(), before).unwrap();
        let changed = apply(&compiled, frame.view(), &mut buf).unwrap();
        assert_eq!((changed.id(), changed.data()), (frame.view().id(), after));
    }
}

#[test]
fn it_is_checked() {
    let mut said: Vec<String> = Vec::new();
    THREE.check(8, &mut |what| said.push(what));
    assert!(said.is_empty());
    THREE.check(2, &mut |what| said.push(what));
    assert_eq!(said, ["reverses 3 bytes of 2"]);
}

#[test]
fn bpf_refuses_it_by_its_name() {
    let mut program = BpfProgram::default();
    let why = THREE.to_bpf(&mut program).unwrap_err();
    assert!(why.contains("`reverse_bytes`"), "{why}");
    assert_eq!(program, BpfProgram::default());
}

#[cfg(feature = "config")]
mod text {
    use super::{Action, THREE};
    use crate::operations::cangw::OptionSource;
    use crate::text::limits::FrameLimits;
    use crate::{KindSet, Modify, ModifyOp};
    use ::config::{Diagnostics, SourceText, TomlDocument};
    use alloc::{format, string::String, vec::Vec};

    fn read(text: &str) -> (Vec<Option<Action>>, Vec<String>) {
        let source = SourceText::new("test", text);
        let mut found = Diagnostics::new();
        let limits = FrameLimits {
            message: crate::text::message::RouteMessage::Unnamed,
            kinds: KindSet::default(),
            payload: 8,
        };
        let mut read = Vec::new();
        {
            let document = TomlDocument::parse(&source, &mut found);
            let mut table = document.root();
            Action::each_key(|key, parse| {
                if let Some(value) = table.get(key) {
                    read.push(parse(key, &value, limits, &mut found));
                }
            });
            table.finish(&mut found);
        }
        let said = found.list().iter();
        let said = said.map(|d| format!("{}; {}", d.message, d.hint));
        (read, said.collect())
    }

    #[test]
    fn it_is_read_written_and_described() {
        let (key, value) = THREE.write();
        let (actions, said) = read(&format!("{key} = {value}"));
        assert_eq!((actions, said), (Vec::from([Some(THREE)]), Vec::new()));
        assert_eq!(THREE.describe(), "reverses the first 3 bytes");
        let (actions, said) = read("reverse = 9");
        assert_eq!((actions, said.len()), (Vec::from([None]), 1));
    }

    #[test]
    fn a_misspelt_key_is_compared_with_its_key() {
        let (_, said) = read("revers = 3");
        assert!(said[0].contains("`reverse`"), "{said:?}");
    }

    #[test]
    fn can_gw_refuses_it_by_its_name() {
        let why = THREE.rule_part().unwrap_err();
        assert!(why.contains("`reverse_bytes`"), "{why}");
        assert!(Action::attributes().next().is_none());
        let command = OptionSource {
            fd: false,
            has_rule: true,
        };
        let mut found = Diagnostics::new();
        assert!(Action::from_options(&[], command, &mut found).is_empty());
        assert_eq!(THREE.to_attribute(false), None);
        let set = crate::Action::Modify(Modify {
            op: ModifyOp::Set,
            id: Some(crate::IdOperand::Raw(1)),
            len: None,
            flags: None,
            data: None,
        });
        let attribute = set.to_attribute(false).unwrap();
        assert_eq!(Action::from_attribute(&attribute, false), None);
    }
}
