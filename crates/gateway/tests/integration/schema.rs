//! The schema of gateway.toml and its reader agree.

use config::{KeySpec, Severity, SourceText, ValueShape};
use gateway::config::{keys, load, schema};
use port::PortKinds;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Keys that the reader of every kind checks, to report that the kind has none of them.
const QUEUEING: [&str; 3] = ["order", "max_age", "when_full"];

fn find<'k>(keys: &'k [KeySpec], name: &str) -> &'k KeySpec {
    let found = keys.iter().find(|key| key.name == name);
    found.unwrap_or_else(|| panic!("the schema has no `{name}`"))
}

/// The reader refuses a key that the schema does not have for a kind.
#[test]
fn keys_that_are_only_refused_are_refused() {
    let kinds = PortKinds::standard();
    for kind in kinds.iter().filter(|kind| kind.table() == "ports") {
        if kind.has_transmit_queue() {
            continue;
        }
        let own = kind.keys().unwrap();
        for key in QUEUEING {
            if own.iter().any(|known| known.name == key) {
                continue;
            }
            let kind = kind.keyword();
            let text = format!("[ports.{kind}]\nkind = '{kind}'\n{key} = 'fifo'\n");
            let found = load(&SourceText::new("x", text), &kinds).unwrap_err();
            let refused = found
                .iter()
                .any(|d| d.message.contains(&format!("have no `{key}`")));
            assert!(refused, "{kind} {key}: {found:?}");
        }
    }
}

/// Returns the keys that the reader of a table knows: it lists them for a key like no other.
fn known(text: &str) -> BTreeSet<String> {
    let found = load(&SourceText::new("x", text), &PortKinds::standard()).unwrap_err();
    let mut unknown = found
        .iter()
        .filter(|d| d.message.ends_with("has no key `0`"));
    let hint = &unknown
        .next()
        .unwrap_or_else(|| panic!("{text}: {found:?}"))
        .hint;
    let names = hint.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// Other keys are defined once. Operations have a list of keys next to their reader.
#[test]
fn the_reader_and_the_schema_have_the_same_keys_of_operations() {
    let all = keys(&PortKinds::standard());
    let ValueShape::List(routes) = &find(&all, "routes").shape else {
        panic!("routes are a list");
    };
    let ValueShape::Table(routes) = &**routes else {
        panic!("a route is a table");
    };
    let ValueShape::List(actions) = &find(routes, "do").shape else {
        panic!("actions are a list");
    };
    let check = |shape: &ValueShape, write: &dyn Fn(&str) -> String| {
        let (ValueShape::Table(keys) | ValueShape::OneKey(keys)) = shape else {
            return 0;
        };
        let in_schema: BTreeSet<String> = keys.iter().map(|key| key.name.to_owned()).collect();
        let text = format!("[[routes]]\ndo = [{}]\n", write("{ 0 = 1 }"));
        assert_eq!(known(&text), in_schema, "{text}");
        1
    };
    let mut tables = check(actions, &str::to_owned);
    let ValueShape::OneKey(actions) = &**actions else {
        panic!("an action has one key");
    };
    for action in actions {
        tables += check(&action.shape, &|table| {
            format!("{{ {} = {table} }}", action.name)
        });
        let ValueShape::Table(keys) = &action.shape else {
            continue;
        };
        for key in keys {
            // A profile is only read further if it names one of its keys.
            tables += check(&key.shape, &|_| {
                let table = "{ one_byte = 1, 0 = 1 }";
                format!("{{ {} = {{ {} = {table} }} }}", action.name, key.name)
            });
        }
    }
    assert_eq!(
        tables,
        1 + 9 + 1,
        "`do`, the tables of operations, and `profile`"
    );
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
            // Tables with names of the user's choice have no unknown keys.
            let is_named = |at: usize| {
                let before = table[..at].trim_end();
                ["signal =", "signals =", "make =", "map ="].iter().any(|key| before.ends_with(key))
            };
            let places: Vec<usize> = table.match_indices('{').map(|(at, _)| at).collect();
            let at = *places.iter().rfind(|at| !is_named(**at)).unwrap();
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
