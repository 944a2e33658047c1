//! Random rules on the way to a script and back.

use super::*;
use crate::config::tests::{crcs, modifies, sums};
use ::config::TomlDocument;
use proptest::{collection, option, prelude::*};

const INTERFACES: [&str; 3] = ["can0", "can1", "vcan0"];

/// Rules in the form in which can-gw keeps them.
fn rules() -> impl Strategy<Value = CanGwRule> {
    any::<bool>().prop_flat_map(|fd| {
        let size = if fd { 64_u8 } else { 8 };
        let filter = (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(id, mask, inv)| {
            let set = crate::IdSet::Masked {
                id: id & !0x2000_0000,
                mask,
            };
            IdFilter {
                set,
                inverted: inv && mask & 0x2000_0000 == 0,
            }
        });
        let modify = modifies(usize::from(size)).prop_map(move |mut modify| {
            if !fd {
                modify.flags = None;
            }
            if let Some(data) = &mut modify.data {
                data.resize(usize::from(size), 0x5A);
            }
            let raw = match modify.id {
                Some(IdOperand::Raw(raw)) => Some(raw),
                Some(IdOperand::Id(id)) => Some(id.raw()),
                None => None,
            };
            // A rule that makes FD frames remote is imported, but not exported.
            let remote = fd && modify.op != ModifyOp::And;
            let kept = if remote { !0x4000_0000 } else { !0 };
            modify.id = raw.map(|raw| IdOperand::Raw(raw & kept));
            if modify.id.is_none() && modify.flags.is_none() && modify.data.is_none() {
                modify.len.get_or_insert(3);
            }
            modify
        });
        (
            0_usize..3,
            0_usize..3,
            any::<[bool; 3]>(),
            option::of(1_u8..=6),
            option::of(filter),
            collection::vec(modify, 0..4),
            option::of(crcs(i16::from(size))),
            option::of(sums(i16::from(size))),
        )
            .prop_map(
                move |(from, to, [echo, stamp, same], hops, filter, mods, crc8, xor)| {
                    let mut rule = CanGwRule {
                        source: INTERFACES[from].to_owned(),
                        destination: INTERFACES[to].to_owned(),
                        fd,
                        echo,
                        stamp,
                        same_port: same || from == to,
                        hops,
                        filter,
                        ..CanGwRule::default()
                    };
                    for op in [ModifyOp::And, ModifyOp::Or, ModifyOp::Xor, ModifyOp::Set] {
                        let last = mods.iter().rev().find(|modify| modify.op == op);
                        rule.changes.extend(last.cloned().map(Action::Modify));
                    }
                    if rule.modifies() {
                        rule.changes.extend(crc8.map(Action::Crc8));
                        rule.changes.extend(xor.map(Action::XorSum));
                    }
                    rule
                },
            )
    })
}

/// The rules as `cangw -L` prints them.
fn listing(rules: &[CanGwRule]) -> String {
    let mut text = String::new();
    for (i, rule) in rules.iter().enumerate() {
        text.push_str(&bare(rule));
        text.push_str(&format!(" # {i} handled 0 dropped 0 deleted\n"));
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A listing is imported, exported as a script, and imported again: the result is the same
    /// routes. The script contains the same rules as the listing.
    #[test]
    fn rules_survive_the_way_there_and_back(rules in collection::vec(rules(), 1..5)) {
        let first = read(&listing(&rules));
        let interfaces: Vec<_> = first.interfaces.iter().map(KernelPort::new).map(Some).collect();
        let script = export(&first.routes, &interfaces).unwrap();
        let second = read(&script);
        prop_assert_eq!(&second.routes.routes.len(), &rules.len());
        prop_assert_eq!(&second.routes, &first.routes, "{}", script);
        prop_assert_eq!(&second.interfaces, &first.interfaces);

        let mut lines: Vec<_> = script
            .lines()
            .filter(|line| line.starts_with("cangw"))
            .map(|line| line.split(" # ").next().unwrap_or_default().to_string())
            .collect();
        lines.reverse();
        let printed: Vec<_> = rules.iter().map(bare).collect();
        prop_assert_eq!(lines, printed, "{}\n{}", listing(&rules), script);
    }

    /// The `gateway.toml` that an import returns is parsed as the same routes.
    #[test]
    fn the_toml_states_the_same(rules in collection::vec(rules(), 1..4)) {
        let imported = read(&listing(&rules));
        let source = SourceText::new("gateway.toml", imported.toml.clone());
        let mut found = ::config::Diagnostics::new();
        let document = TomlDocument::parse(&source, &mut found);
        let mut root = document.root();
        let parsed = crate::config::parse(&mut root, &imported.ports, &|_| Vec::new(), &|_| None, &mut found);
        prop_assert!(!found.has_errors(), "{}", render(&source, found.list(), false));
        prop_assert_eq!(parsed.routes, imported.routes.routes, "{}", imported.toml);
    }

    #[test]
    fn any_text_is_read_without_panic(text in ".{0,200}") {
        let _ = import(&SourceText::new("t", text));
    }

    #[test]
    fn any_line_is_read_without_panic(
        words in collection::vec(
            "(-[ADFLXteiuslfcpxmM?zäö]{1,3}|can[01]|[0-9A-Fa-f~:.]{1,12}|SET:[ILDF]{1,3}:|['\"$#\\\\;>]|1:)",
            0..12,
        ),
    ) {
        let text = format!("cangw {}", words.join(" "));
        let _ = import(&SourceText::new("t", text));
    }
}
