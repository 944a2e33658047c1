//! The schema of gateway.toml and its reader agree: each has exactly the keys that the other one
//! has.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use config::{KeySpec, Severity, SourceText, ValueShape};
use gateway::config::{keys, keys_asked_for, load, schema};
use port::PortKinds;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A file with each kind of table. Ports have their kind's name.
const ALL: &str = r#"
[gateway]
[ports.socketcan]
kind = "socketcan"
faults = { receive = { drop = 0.1 }, transmit = { refuse = 0.1 } }
[ports.bus]
kind = "bus"
[ports.log]
kind = "log"
write = "x.log"
rotate = { size = "1M" }
[ports.direct]
kind = "direct"
[ports.chardev]
kind = "chardev"
[ports.virtio]
kind = "virtio"
socket = "x"
[ports.shm]
kind = "shm"
socket = "x"
[controllers.one]
[controllers.two]
interface = "can0"
[[routes]]
from = "bus"
to = "log"
limit = { rate = "1/s" }
payload = { value = "00" }
do = [
  { and = { len = 1 } },
  { or = { len = 1 } },
  { xor = { len = 1 } },
  { set = { len = 1 } },
  { id_offset = 1 },
  { map_id = { from = "1", to = "2" } },
  { copy = { from = 0, to = 1 } },
  { move = { from = 0, to = 1 } },
  { crc8 = { from = 0, to = 1, result = 2, polynomial = "1D", profile = { one_byte = 1 } } },
  { xor_sum = { from = 0, to = 1, result = 2 } },
]
"#;

/// Keys that the reader of every kind checks, to report that the kind has none of them.
const QUEUEING: [&str; 3] = ["order", "max_age", "when_full"];

fn find<'k>(keys: &'k [KeySpec], name: &str) -> &'k KeySpec {
    let found = keys.iter().find(|key| key.name == name);
    found.unwrap_or_else(|| panic!("the schema has no `{name}`"))
}

/// Returns the keys of the table that a shape is or can be; of several tables, the one that fits.
fn table<'k>(shape: &'k ValueShape, fits: &dyn Fn(&[KeySpec]) -> bool) -> &'k [KeySpec] {
    match shape {
        ValueShape::Table(keys) | ValueShape::OneKey(keys) if fits(keys) => keys,
        ValueShape::Named(of) | ValueShape::List(of) | ValueShape::OneOrList(of) => table(of, fits),
        ValueShape::Any(all) => {
            let mut all = all.iter().map(|shape| table(shape, fits));
            all.find(|keys| !keys.is_empty()).unwrap_or_default()
        }
        _ => &[],
    }
}

/// Returns the keys that the schema has for a table, by its name in messages.
fn in_schema<'k>(keys: &'k [KeySpec], place: &str) -> &'k [KeySpec] {
    let any = |_: &[KeySpec]| true;
    let inner = |key: &'k KeySpec| table(&key.shape, &any);
    let name = place.split('`').nth(1).unwrap_or_default();
    let of_kind = |kind: &str| {
        let kind = ValueShape::Words(vec![Box::leak(kind.to_owned().into_boxed_str())]);
        table(&find(keys, "ports").shape, &|keys| {
            keys.iter()
                .any(|key| key.name == "kind" && key.shape == kind)
        })
    };
    let routes = || inner(find(keys, "routes"));
    let actions = || inner(find(routes(), "do"));
    match place {
        "the file" => keys,
        "[gateway]" => inner(find(keys, "gateway")),
        "[ports]" | "[controllers]" => &[],
        _ if place.starts_with("port `") => of_kind(name),
        _ if place.starts_with("controller `") => inner(find(keys, "controllers")),
        _ if place.starts_with("[ports.") => inner(find(of_kind("bus"), "faults")),
        _ if place.contains("of [ports.") => {
            inner(find(inner(find(of_kind("bus"), "faults")), name))
        }
        _ if place.starts_with("`rotate`") => inner(find(of_kind("log"), "rotate")),
        _ if place.starts_with("route ") => routes(),
        "`limit`" | "`payload`" => inner(find(routes(), name)),
        "`do`" => actions(),
        "`profile`" => inner(find(inner(find(actions(), "crc8")), name)),
        _ => inner(find(actions(), name)),
    }
}

#[test]
fn the_reader_and_the_schema_know_the_same_keys() {
    let kinds = PortKinds::standard();
    let all = keys(&kinds);
    let source = SourceText::new("all.toml", ALL);
    let mut heard: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for table in keys_asked_for(&source, &kinds) {
        // The schema has one table for both controllers.
        let place = match table.place {
            place if place.starts_with("controller `") => "controller `any`".to_owned(),
            place => place,
        };
        heard.entry(place).or_default().extend(table.keys);
    }
    for (place, heard) in &mut heard {
        let known: BTreeSet<&str> = in_schema(&all, place).iter().map(|key| key.name).collect();
        if place.starts_with("port `") || place.starts_with("controller `") {
            heard.retain(|key| known.contains(key) || !QUEUEING.contains(key));
        }
        assert_eq!(*heard, known, "{place}");
    }
    // The root, [gateway], seven ports, controllers, faults and their sides, rotate, a route with
    // limit, payload, actions and the tables in them.
    assert_eq!(
        heard.len(),
        2 + 7 + 1 + 3 + 1 + 1 + 2 + 1 + 9 + 1,
        "{:#?}",
        heard.keys()
    );
    let said: Vec<_> = kinds
        .keywords()
        .filter(|kind| *kind != "controller")
        .collect();
    assert_eq!(said.len(), 7, "a new kind needs a port above: {said:?}");
}

/// The reader refuses a key that the schema does not have for a kind.
#[test]
fn keys_that_are_only_refused_are_refused() {
    let kinds = PortKinds::standard();
    let all = keys(&kinds);
    for kind in kinds.keywords().filter(|kind| *kind != "controller") {
        for key in QUEUEING {
            let place = format!("port `{kind}`");
            if in_schema(&all, &place)
                .iter()
                .any(|known| known.name == key)
            {
                continue;
            }
            let text = format!("[ports.{kind}]\nkind = '{kind}'\n{key} = 'fifo'\n");
            let found = load(&SourceText::new("x", text), &kinds).unwrap_err();
            let refused = found
                .iter()
                .any(|d| d.message.contains(&format!("have no `{key}`")));
            assert!(refused, "{kind} {key}: {found:?}");
        }
    }
}

/// Checks a value against a schema of draft 7, as far as our schema uses it.
fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let Value::Object(rules) = schema else {
        return Err("no schema".to_owned());
    };
    for (rule, says) in rules {
        let good = match rule.as_str() {
            "$schema" | "title" | "description" => true,
            "type" => {
                let types = says.as_array().cloned().unwrap_or(vec![says.clone()]);
                types.iter().any(|one| match one.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    other => panic!("type {other}"),
                })
            }
            "enum" => says.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|n| n >= says.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= says.as_f64().unwrap()),
            "minProperties" | "maxProperties" => value.as_object().is_none_or(|table| {
                let (len, says) = (table.len() as u64, says.as_u64().unwrap());
                if rule == "minProperties" {
                    len >= says
                } else {
                    len <= says
                }
            }),
            "required" => value.as_object().is_none_or(|table| {
                let mut all = says.as_array().unwrap().iter();
                all.all(|key| table.contains_key(key.as_str().unwrap()))
            }),
            "anyOf" => says
                .as_array()
                .unwrap()
                .iter()
                .any(|one| fits(one, value).is_ok()),
            "items" => {
                for one in value.as_array().into_iter().flatten() {
                    fits(says, one)?;
                }
                true
            }
            "properties" => {
                for (key, of) in says.as_object().unwrap() {
                    if let Some(inner) = value.get(key) {
                        fits(of, inner).map_err(|why| format!("{key}: {why}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = rules.get("properties").and_then(Value::as_object);
                let others = value.as_object().into_iter().flatten();
                let others = others.filter(|(key, _)| known.is_none_or(|k| !k.contains_key(*key)));
                for (key, other) in others {
                    if *says == json!(false) {
                        return Err(format!("no key {key}"));
                    }
                    fits(says, other).map_err(|why| format!("{key}: {why}"))?;
                }
                true
            }
            other => panic!("the rule {other} is not checked here"),
        };
        if !good {
            return Err(format!("{rule}: {says} {value}"));
        }
    }
    Ok(())
}

/// Returns whether the schema accepts a file. TOML's values are JSON's, as far as a gateway file
/// has them.
fn takes(text: &str) -> Result<(), String> {
    let value: Value = toml::from_str(text).map_err(|error| error.to_string())?;
    fits(&schema(&PortKinds::standard()), &value)
}

fn reader_takes(text: &str) -> bool {
    load(&SourceText::new("x.toml", text), &PortKinds::standard()).is_ok()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns each gateway file of the repository: examples/, and the blocks of docs/gateway-toml.md
/// and the guide.
fn files() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(repository().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            all.push((path.display().to_string(), text));
        }
    }
    for entry in std::fs::read_dir(repository().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let blocks = text.split("```toml\n").skip(1);
        for (n, block) in blocks.enumerate() {
            let block = block.split("```").next().unwrap();
            let name = format!("{}, block {}", path.display(), n + 1);
            all.push((name, block.to_owned()));
        }
    }
    all
}

#[test]
fn what_the_reader_takes_the_schema_takes() {
    let mut taken = 0;
    for (name, text) in files() {
        if reader_takes(&text) {
            taken += 1;
            takes(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
            let wrong = format!("{text}\n[gatewey]\n");
            assert!(takes(&wrong).is_err(), "{name}");
        }
    }
    assert!(taken >= 20, "{taken} files");
    let everything = repository().join("examples/everything.toml");
    takes(&std::fs::read_to_string(everything).unwrap()).unwrap();
}

/// Returns a valid value of a shape.
fn valid(shape: &ValueShape, pick: usize) -> String {
    match shape {
        ValueShape::Anything | ValueShape::Text => "\"x\"".to_owned(),
        ValueShape::Flag => ["true", "false"][pick % 2].to_owned(),
        ValueShape::Integer(bounds) => [bounds.start(), bounds.end()][pick % 2].to_string(),
        ValueShape::Number(bounds) => {
            let value = if pick.is_multiple_of(2) {
                bounds.start()
            } else {
                bounds.end()
            };
            format!("{value:?}")
        }
        ValueShape::Bitrate => ["500000", "\"500k\""][pick % 2].to_owned(),
        ValueShape::Size => ["65536", "\"100M\""][pick % 2].to_owned(),
        ValueShape::Duration => ["\"50ms\"", "\"2s\""][pick % 2].to_owned(),
        ValueShape::Rate => "\"100/s\"".to_owned(),
        ValueShape::Byte => ["7", "\"0F\""][pick % 2].to_owned(),
        ValueShape::Hex => "\"00FF\"".to_owned(),
        ValueShape::Words(words) => format!("{:?}", words[pick % words.len()]),
        ValueShape::Table(keys) => {
            let some = keys.iter().enumerate();
            let some = some.filter(|(n, key)| key.is_needed || (pick >> n) & 1 == 1);
            let some =
                some.map(|(n, key)| format!("{} = {}", key.name, valid(&key.shape, pick + n)));
            format!("{{ {} }}", some.collect::<Vec<_>>().join(", "))
        }
        ValueShape::OneKey(keys) => {
            let key = &keys[pick % keys.len()];
            format!("{{ {} = {} }}", key.name, valid(&key.shape, pick / 2))
        }
        ValueShape::Named(of) => format!("{{ a = {} }}", valid(of, pick)),
        ValueShape::List(of) => format!("[{}]", valid(of, pick)),
        ValueShape::OneOrList(of) if pick.is_multiple_of(2) => valid(of, pick / 2),
        ValueShape::OneOrList(of) => format!("[{}]", valid(of, pick / 2)),
        ValueShape::Any(all) => valid(&all[pick % all.len()], pick / all.len()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The schema accepts every file of its shape, and the reader finds no unknown key in it; with
    /// an additional key anywhere, both report it.
    #[test]
    fn random_files(picks in prop::collection::vec(any::<u32>(), 4), garbage in 0_usize..4) {
        let kinds = PortKinds::standard();
        let all = keys(&kinds);
        let value = |name: &str, n: usize| valid(&find(&all, name).shape, picks[n] as usize);
        let (ports, routes) = (value("ports", 1), value("routes", 3));
        let file = |gateway: &str, ports: &str, controllers: &str, routes: &str| format!(
            "gateway = {gateway}\nports = {ports}\ncontrollers = {controllers}\nroutes = {routes}\n"
        );
        let (gateway, controllers) = (value("gateway", 0), value("controllers", 2));
        let good = file(&gateway, &ports, &controllers, &routes);
        prop_assert_eq!(takes(&good), Ok(()), "{}", good);
        // The reader may report that values do not fit together, but no unknown key.
        let found = match load(&SourceText::new("x", good.clone()), &kinds) {
            Ok(_) => Vec::new(),
            Err(found) => found,
        };
        for mistake in found.iter().filter(|mistake| mistake.severity == Severity::Error) {
            prop_assert!(!mistake.message.contains("has no key"), "{}\n{}", mistake.message, good);
        }
        // An additional key, in one of the tables.
        let spoil = |table: &str| {
            let at = table.rfind('{').unwrap();
            let comma = if table[at + 1..].trim_start().starts_with('}') { "" } else { "," };
            format!("{} zzz = 1{comma}{}", &table[..=at], &table[at + 1..])
        };
        let bad = match garbage {
            0 => file(&spoil(&gateway), &ports, &controllers, &routes),
            1 => file(&gateway, &spoil(&ports), &controllers, &routes),
            2 => file(&gateway, &ports, &spoil(&controllers), &routes),
            _ => file(&gateway, &ports, &controllers, &spoil(&routes)),
        };
        prop_assert!(takes(&bad).is_err(), "{}", bad);
        prop_assert!(!reader_takes(&bad), "{}", bad);
    }
}
