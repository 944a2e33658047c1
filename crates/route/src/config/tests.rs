//! Parsing of written routes, and every mistake by its message.

use super::*;
use crate::{
    Action, CopyBytes, Crc8, Crc8Profile, FrameMatch, IdFilter, IdOperand, IdSet, MapId, Modify,
    ModifyOp, OffsetId, PayloadPattern, RateLimit, RouteMode, Routes, TriState, XorSum,
};
use ::config::{SourceText, TomlDocument};
use alloc::{borrow::ToOwned, string::ToString, vec};
use frame::CanId;
use proptest::{collection, option, prelude::*};

pub(crate) const PORTS: [&str; 3] = ["can0", "can1", "body \"x\""];

pub(crate) fn ports() -> Vec<String> {
    PORTS.map(ToOwned::to_owned).to_vec()
}

fn read(text: &str) -> (Vec<Route>, Vec<Diagnostic>) {
    let source = SourceText::new("t", text);
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(&source, &mut found);
    let mut root = document.root();
    let parsed = parse(&mut root, &ports(), &|_| Vec::new(), &|_| None, &mut found);
    root.finish(&mut found);
    (parsed.routes, found.into_sorted())
}

pub(crate) fn good(text: &str) -> Vec<Route> {
    let (routes, found) = read(text);
    assert_eq!(found, [], "{text}");
    routes
}

/// A route with these further lines, and the resulting messages.
pub(crate) fn messages(lines: &str) -> Vec<String> {
    let text = format!("[[routes]]\nfrom = 'can0'\nto = 'can1'\n{lines}\n");
    let found = read(&text).1;
    for d in &found {
        assert!(
            d.span.end <= text.len() && d.span.start <= d.span.end,
            "{d:?}"
        );
    }
    found.into_iter().map(|d| d.message).collect()
}

pub(crate) fn one(lines: &str) -> Route {
    let text = format!("[[routes]]\nfrom = 'can0'\nto = 'can1'\n{lines}\n");
    good(&text).remove(0)
}

#[test]
fn defaults() {
    assert_eq!(
        one(""),
        Route {
            name: "route 1".into(),
            from: vec![PortId(0)],
            to: vec![PortId(1)],
            matching: FrameMatch::default(),
            actions: vec![],
            drop: false,
            limit: None,
            hop_limit: None,
            allow_same_port: false,
            echo: false,
            keep_stamp: false,
            verify: None,
            protect: None,
        }
    );
}

#[test]
fn operands_of_ids() {
    let modify = |text: &str| match one(&format!("do = [{{ {text} }}]")).actions.remove(0) {
        Action::Modify(m) => m.id.unwrap(),
        other => panic!("{other:?}"),
    };
    let sff = |number| IdOperand::Id(CanId::sff(number).unwrap());
    let eff = |number| IdOperand::Id(CanId::eff(number).unwrap());
    let raw = IdOperand::Raw;
    assert_eq!(modify("set = { id = '123' }"), sff(0x123));
    assert_eq!(modify("set = { id = '00000123' }"), eff(0x123));
    assert_eq!(modify("set = { raw_id = 'FFFFFFFF' }"), raw(0xFFFF_FFFF));
    assert_eq!(modify("and = { id = '700' }"), sff(0x700));
    assert_eq!(modify("and = { raw_id = '700' }"), raw(0x700));
    assert_eq!(modify("or = { id = '00000800' }"), eff(0x800));
}

#[test]
fn blocks_of_ids() {
    let map = |text: &str| {
        one(&format!("do = [{{ map_id = {{ {text} }} }}]"))
            .actions
            .remove(0)
    };
    let is = |from, to, count, eff| {
        Action::MapId(MapId {
            from,
            to,
            count,
            eff,
        })
    };
    assert_eq!(
        map("from = '100-1FF', to = '500'"),
        is(0x100, 0x500, 256, None)
    );
    assert_eq!(
        map("from = '100', to = '18FF0000'"),
        is(0x100, 0x18FF_0000, 1, Some(true))
    );
    assert_eq!(
        map("from = '100', to = '200', format = 'sff'"),
        is(0x100, 0x200, 1, Some(false))
    );
}

#[test]
fn mistakes_are_named() {
    let cases = [
        (
            "id = '800'",
            "`800` is not a valid SFF ID: 7FF is the highest",
        ),
        ("id = '2FF-200'", "the range `2FF-200` is reversed"),
        ("id = '100:F00'", "the mask `F00` is wider than an SFF ID"),
        ("id = '12'", "an ID has three or eight digits, `12` has 2"),
        ("id = 123", "`id` must be a string of hex digits"),
        ("id = []", "`id` is an empty list"),
        (
            "id = '123-00000200'",
            "the ends of `123-00000200` have different frame formats",
        ),
        (
            "id = '123:700'",
            "`123:700`: the mask leaves out bits that the ID has set",
        ),
        (
            "id = '123~7FF'",
            "`123~7FF` is can-gw's way to write a filter",
        ),
        ("filter = '123'", "`123` is not a valid raw filter"),
        ("kind = 'clasic'", "`kind` cannot be `clasic`"),
        ("kind = []", "`kind` names no kind of frame"),
        (
            "rtr = 1",
            "`rtr` must be true (only those), false (none of those) or \"either\"",
        ),
        ("length = '8-2'", "the range `8-2` is reversed"),
        ("length = 65", "frames of this route carry at most 64 bytes"),
        (
            "length = 2049\nkind = 'xl'",
            "`length` must be from 0 to 2048",
        ),
        // A consequence of a mistake in `kind` is not reported as a mistake of its own.
        ("length = '65-100'\nkind = 'xll'", "`kind` cannot be `xll`"),
        (
            "length = '2-2049'\nkind = 'xl'",
            "frames of this route carry at most 2048 bytes",
        ),
        (
            "payload = { at = 63, value = '1122' }",
            "byte 64 is beyond the 64 bytes that frames of \
          this route can carry",
        ),
        (
            "payload = { at = 8, value = '11' }\nkind = 'classic'",
            "frames of this route carry at most 8 bytes",
        ),
        (
            "payload = { value = '1122', mask = 'FF' }",
            "`mask` has 1 bytes and `value` has 2",
        ),
        (
            "payload = { value = '1' }",
            "`value`: a byte has two hex digits, the last has one",
        ),
        ("do = []", "`do` is an empty list"),
        ("do = [{}]", "this action is empty"),
        ("do = [{ set = {} }]", "`set` changes nothing"),
        ("do = [{ sett = { id = '123' } }]", "`do` has no key `sett`"),
        (
            "do = [{ set = { id = '123' }, xor = { len = 1 } }]",
            "an action has one key",
        ),
        (
            "do = [{ set = { flags = ['brs'] } }]\nkind = 'classic'",
            "classic frames have no flags that could be changed",
        ),
        (
            "do = [{ set = { data = '112233445566778899' } }]\nkind = 'classic'",
            "`data` has 9 bytes, 8 is the most here",
        ),
        (
            "do = [{ set = { id = '123', raw_id = '1' } }]",
            "`id` and `raw_id` specify the same thing",
        ),
        (
            "do = [{ copy = { from = 0, to = 60, count = 5 } }]",
            "byte 64 is beyond the 64 bytes that frames of this route can carry",
        ),
        (
            "do = [{ map_id = { from = '100-1FF', to = '701' } }]",
            "the block would end at 800, above the highest ID 7FF",
        ),
        (
            "do = [{ crc8 = { from = 0, to = 6, result = 7 } }]",
            "`crc8` needs `polynomial`",
        ),
        (
            "do = [{ crc8 = { from = 0, to = 6, result = 7, table = '00' } }]",
            "256 bytes are needed here, this has 1",
        ),
        (
            "do = [{ xor_sum = { from = 0, to = 7, result = 7 } }]",
            "the checksum's own byte is part of the sum",
        ),
        (
            "do = [{ xor_sum = { from = -65, to = 6, result = 7 } }]",
            "`from` must be from -64 to 63",
        ),
        ("limit = '0/s'", "`limit`: a rate of 0 passes no frames"),
        ("limit = { burst = 1 }", "`limit` needs `rate`"),
        (
            "limit = { rate = '1/s', burst = 0 }",
            "`burst` must be from 1 to 1000000",
        ),
        ("hop_limit = 0", "`hop_limit` must be from 1 to 6"),
        (
            "drop = true",
            "a route that drops frames has no destination",
        ),
        ("name = ''", "a route's name cannot be empty"),
        (
            "name = 'a23456789b123456789c123456789d123456789e123456789f123456789g12345'",
            "a route's name has at most 64 bytes",
        ),
        ("nmae = 'x'", "route 1 has no key `nmae`"),
        ("echo = 'yes'", "`echo` must be true or false"),
        ("[[routes]]\nto = 'can1'", "route 2 needs `from`"),
        ("[[routes]]\nfrom = 'can0'", "route 2 needs `to`"),
        (
            "[[routes]]\nfrom = 'can0'\nto = 'can0'",
            "no frame takes this route: it leads back to the port that its frames come from",
        ),
        (
            "[[routes]]\nfrom = 'can9'\nto = 'can1'",
            "there is no port `can9`",
        ),
        ("[[routes]]\nfrom = []\nto = 'can1'", "`from` names no port"),
        (
            "[[routes]]\nfrom = ['can0', 'can0']\nto = 'can1'",
            "port `can0` is named twice",
        ),
        (
            "[[routes]]\nname = 'route 1'\nfrom = 'can0'\nto = 'can1'",
            "two routes have the name `route 1`",
        ),
        (
            "[[routes]]\nfrom = 'can0'\ndrop = true\ndo = [{ set = { len = 1 } }]",
            "`do` does nothing in a route that drops",
        ),
    ];
    for (lines, message) in cases {
        assert_eq!(messages(lines), [message.to_string()], "{lines}");
    }
}

#[test]
fn what_to_write_in_place_of_a_number_and_of_a_length() {
    let hints = |lines: &str| {
        let text = format!("[[routes]]\nfrom = 'can0'\nto = 'can1'\n{lines}\n");
        let hints: Vec<String> = read(&text).1.into_iter().map(|d| d.hint).collect();
        hints
    };
    let quotes = |id: &str| format!("IDs are in quotes, without 0x: \"{id}\"");
    let decimal = |number: &str, id: &str| {
        format!(
            "IDs are hexadecimal, in quotes, as candump prints them: \"{id}\" if {number} is a decimal number"
        )
    };
    let xl = "only XL frames are longer: add `kind = \"xl\"`";
    for (lines, hint) in [
        ("id = 0x123", quotes("123")),
        ("id = 0x18FF0010", quotes("18FF0010")),
        ("id = [0x7]", quotes("007")),
        ("id = 291", decimal("291", "123")),
        ("do = [{ set = { id = 0x123 } }]", quotes("123")),
        (
            "do = [{ map_id = { from = 0x100, to = '200' } }]",
            quotes("100"),
        ),
        (
            "filter = 0x123",
            "write ID:MASK in quotes, without 0x; for this ID alone \"123:C00007FF\"".into(),
        ),
        ("length = '65-100'", xl.into()),
        ("length = 100", xl.into()),
        ("payload = { at = 64, value = '11' }", xl.into()),
        (
            "length = 9\nkind = 'classic'",
            "`kind = \"fd\"` takes frames of up to 64 bytes".into(),
        ),
    ] {
        assert_eq!(hints(lines), [hint], "{lines}");
    }
    // The forms that the hints suggest are correct, so that no second error follows.
    for right in [
        "id = '123'",
        "id = '18FF0010'",
        "id = '007'",
        "filter = '123:C00007FF'",
        "kind = 'xl'\nlength = '65-100'",
    ] {
        assert_eq!(hints(right), [""; 0], "{right}");
    }
}

#[test]
fn routes_that_no_frame_reaches() {
    let text = "[[routes]]\nfrom = 'can0'\nto = 'can1'\n\
                [[routes]]\nfrom = 'can0'\nto = 'can1'\nid = '123'\n\
                [[routes]]\nfrom = ['can0', 'can1']\nto = 'can1'\n\
                [[routes]]\nfrom = 'can0'\nto = 'can1'\nerror = true\n";
    let routes = good(text);
    let warned = |mode: RouteMode, routes: Vec<Route>| {
        let mut found = Diagnostics::new();
        let routes = Routes {
            mode,
            routes,
            ..Routes::default()
        };
        lint(&routes, &[], &ports(), &|port| port, &mut found);
        let messages: Vec<_> = found.list().iter().map(|d| d.message.clone()).collect();
        messages
    };
    assert_eq!(
        warned(RouteMode::First, routes.clone()),
        ["no frame reaches route `route 2`"]
    );
    let twice = |frame: &str, route: &str| {
        format!(
            "frame {frame} from port `can0` is sent twice to port `can1`: by route `route 1` and by route \
             `{route}`"
        )
    };
    assert_eq!(
        warned(RouteMode::All, routes.clone()),
        [twice("123", "route 2"), twice("000", "route 3")]
    );
    let mut dropping = routes;
    dropping[0].drop = true;
    dropping[0].to.clear();
    assert_eq!(
        warned(RouteMode::All, dropping),
        ["no frame reaches route `route 2`"]
    );
}

#[test]
fn in_words() {
    let route = one(
        "name = 'n'\nid = ['123', '!200-2FF']\nfilter = '1:7'\nkind = ['classic', 'fd']\n\
         length = '2-8'\npayload = { at = 1, value = '10', mask = 'F0' }\nlimit = '20/100ms'\n\
         do = [{ set = { id = '456', len = 3 } }, \
         { crc8 = { from = 0, to = -2, result = -1, polynomial = '1D' } }]",
    );
    insta::assert_snapshot!(describe(&route, &ports()), @r"
    n: from can0, to can1
      takes classic and FD frames, SFF 123, SFF but 200-2FF or raw ID & 00000007 is 00000001, 2 to 8 bytes long, byte 1 & F0 is 10
      then sets the ID to SFF 456 and the length to 3
      and writes a CRC8 of byte 0 to the last byte but one (polynomial 1D, from 00, XOR 00) into the last byte
      at most 20 in 100ms, 1 at once
    ");
}

fn id_filters() -> impl Strategy<Value = IdFilter> {
    let range = (any::<bool>(), any::<u32>(), any::<u32>()).prop_map(|(eff, a, b)| {
        let max = if eff { 0x1FFF_FFFF } else { 0x7FF };
        let (a, b) = (a & max, b & max);
        IdSet::Range {
            eff,
            first: a.min(b),
            last: a.max(b),
        }
    });
    let bits = prop_oneof![any::<u32>(), Just(0x7FF), Just(0xC000_07FF), 0_u32..0x800];
    let masked = (any::<u32>(), bits).prop_map(|(id, mask)| IdSet::Masked { id, mask });
    let plain = (any::<bool>(), any::<u32>(), any::<u32>()).prop_map(|(eff, id, mask)| {
        let max = if eff { 0x1FFF_FFFF } else { 0x7FF };
        let flag = if eff { 0x8000_0000 } else { 0 };
        IdSet::Masked {
            id: id & mask & max | flag,
            mask: mask & max | 0x8000_0000,
        }
    });
    (prop_oneof![range, masked, plain], any::<bool>()).prop_map(|(set, inverted)| IdFilter {
        set,
        inverted: inverted && !matches!(set, IdSet::Masked { mask, .. } if mask & 0x2000_0000 != 0),
    })
}

fn tris() -> impl Strategy<Value = TriState> {
    prop_oneof![
        Just(TriState::Either),
        Just(TriState::Yes),
        Just(TriState::No)
    ]
}

fn kind_sets() -> impl Strategy<Value = KindSet> {
    (1_u8..8).prop_map(|bits| KindSet {
        classic: bits & 1 != 0,
        fd: bits & 2 != 0,
        xl: bits & 4 != 0,
    })
}

/// The longest payload in the form that `to_toml` can write: XL is named if it is needed.
fn longest(kinds: KindSet) -> u16 {
    match (kinds.classic, kinds.fd, kinds.xl) {
        (_, _, true) => 2048,
        (_, true, _) => 64,
        _ => 8,
    }
}

pub(crate) fn modifies(most: usize) -> impl Strategy<Value = Modify> {
    let op = prop_oneof![
        Just(ModifyOp::And),
        Just(ModifyOp::Or),
        Just(ModifyOp::Xor),
        Just(ModifyOp::Set)
    ];
    let id = prop_oneof![
        any::<u32>(),
        0_u32..0x800,
        (0_u32..0x800).prop_map(|n| n | 0xE000_0000)
    ]
    .prop_map(IdOperand::Raw);
    let plain = prop_oneof![
        (0_u32..0x800).prop_map(|n| IdOperand::Id(CanId::sff(n).unwrap())),
        (0_u32..0x2000_0000).prop_map(|n| IdOperand::Id(CanId::eff(n).unwrap())),
    ];
    let id = prop_oneof![id, plain];
    let data = collection::vec(any::<u8>(), 1..=most);
    (
        op,
        option::of(id),
        any::<u8>(),
        option::of(any::<u8>()),
        option::of(data),
        any::<bool>(),
    )
        .prop_map(|(op, id, len, flags, data, has_len)| Modify {
            op,
            id,
            len: (has_len || (id.is_none() && flags.is_none() && data.is_none())).then_some(len),
            flags,
            data,
        })
}

pub(crate) fn crcs(most: i16) -> impl Strategy<Value = Crc8> {
    let table = prop_oneof![
        any::<u8>().prop_map(Crc8::table_of),
        collection::vec(any::<u8>(), 256).prop_map(|v| v.try_into().unwrap()),
    ];
    let profile = prop_oneof![
        Just(Crc8Profile::None),
        any::<u8>().prop_map(Crc8Profile::OneByte),
        any::<[u8; 16]>().prop_map(Crc8Profile::Sixteen),
        Just(Crc8Profile::SffIdXor),
    ];
    let index = -most..most;
    (
        [index.clone(), index.clone(), index],
        any::<u8>(),
        any::<u8>(),
        table,
        profile,
    )
        .prop_map(
            |([from, to, result], init, final_xor, table, profile)| Crc8 {
                from,
                to,
                result,
                init,
                final_xor,
                table,
                profile,
            },
        )
}

pub(crate) fn sums(most: i16) -> impl Strategy<Value = XorSum> {
    let index = -most..most;
    ([index.clone(), index.clone(), index], any::<u8>()).prop_map(|([from, to, result], init)| {
        XorSum {
            from,
            to,
            result,
            init,
        }
    })
}

fn actions(kinds: KindSet) -> impl Strategy<Value = Action> {
    let most = longest(kinds);
    let map = (
        0_u32..0x2000,
        0_u32..0x2000,
        1_u32..0x400,
        option::of(any::<bool>()),
    )
        .prop_map(|(from, to, count, eff)| {
            let sff = eff == Some(false);
            Action::MapId(MapId {
                from,
                to: if sff { to % 0x400 } else { to },
                count,
                eff,
            })
        });
    let copy = (0..most, 0..most, any::<u16>(), any::<bool>()).prop_map(
        move |(from, to, count, clear)| {
            Action::CopyBytes(CopyBytes {
                from,
                to,
                count: count % (most - from.max(to)) + 1,
                clear,
            })
        },
    );
    prop_oneof![
        modifies(usize::from(most.min(64))).prop_map(Action::Modify),
        (-0x1FFF_FFFF_i64..=0x1FFF_FFFF).prop_map(|by| Action::OffsetId(OffsetId { by })),
        map,
        copy,
        crcs(most as i16).prop_map(Action::Crc8),
        sums(most as i16).prop_map(Action::XorSum),
    ]
}

fn matches(kinds: KindSet) -> impl Strategy<Value = FrameMatch> {
    let most = longest(kinds);
    let payload =
        (0..most, collection::vec(any::<(u8, u8)>(), 1..9)).prop_map(move |(at, mut bytes)| {
            bytes.truncate(usize::from(most - at));
            PayloadPattern {
                at,
                value: bytes.iter().map(|b| b.0).collect(),
                mask: bytes.iter().map(|b| b.1).collect(),
            }
        });
    (
        collection::vec(id_filters(), 0..5),
        tris(),
        tris(),
        collection::vec(payload, 0..3),
        option::of((0..=most, 0..=most)),
    )
        .prop_map(move |(mut ids, rtr, err, payload, len)| {
            // `to_toml` writes the filters first that `id` can express; the order has no meaning.
            ids.sort_by_key(|filter| write::id_text(filter).is_none());
            FrameMatch {
                ids,
                kinds,
                rtr,
                err,
                payload,
                len: len.map(|(a, b)| (a.min(b), a.max(b))),
                message: None,
                when: None,
            }
        })
}

fn routes() -> impl Strategy<Value = Route> {
    let parts =
        kind_sets().prop_flat_map(|kinds| (matches(kinds), collection::vec(actions(kinds), 0..4)));
    let limit = (
        1..=u32::MAX,
        1_u64..=u64::MAX,
        1_u32..=1_000_000,
        option::of(1_u32..=65_536),
    )
        .prop_map(|(frames, per, burst, per_id)| RateLimit {
            frames,
            per,
            burst,
            per_id,
        });
    let names = "[ -~äß\"\\\\]{0,20}[a-z]";
    (
        parts,
        names,
        option::of(limit),
        option::of(1_u8..=6),
        any::<[bool; 5]>(),
    )
        .prop_map(
            |((matching, actions), name, limit, hop_limit, [drop, echo, stamp, same, both])| {
                let drop = drop && limit.is_none() && actions.is_empty();
                Route {
                    name,
                    from: if both {
                        vec![PortId(0), PortId(2)]
                    } else {
                        vec![PortId(0)]
                    },
                    to: if drop {
                        vec![]
                    } else {
                        vec![PortId(1), PortId(2)]
                    },
                    matching,
                    actions,
                    drop,
                    limit,
                    hop_limit,
                    allow_same_port: same,
                    echo,
                    keep_stamp: stamp,
                    verify: None,
                    protect: None,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn written_routes_are_read_back(mut all in collection::vec(routes(), 1..4)) {
        for (i, route) in all.iter_mut().enumerate() {
            route.name.push_str(&i.to_string());
        }
        let text = to_toml(&all, &ports());
        let (read, found) = read(&text);
        let errors: Vec<_> = found
            .iter()
            .filter(|d| d.severity == ::config::Severity::Error)
            .collect();
        prop_assert!(errors.is_empty(), "{errors:?}\n{text}");
        prop_assert_eq!(read, all, "{}", text);
    }

    #[test]
    fn any_text_is_read_without_panic(text in ".{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn any_value_is_read_without_panic(
        key in "(message|when|id|filter|kind|length|payload|do|limit|name|from|to|hop_limit)",
        value in "[-0-9a-fA-F:~!{}\\[\\]=,\"' ésetorand.]{0,40}",
    ) {
        let text = format!("[[routes]]\nfrom = 'can0'\nto = 'can1'\n{key} = '{value}'\n");
        let _ = read(&text);
        let text = format!("[[routes]]\nfrom = 'can0'\nto = 'can1'\n{key} = {value}\n");
        let _ = read(&text);
    }
}
