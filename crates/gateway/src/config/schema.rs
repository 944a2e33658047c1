//! A JSON schema of `gateway.toml`, from the keys that its readers declare.

use super::{MOST_PORTS, databases, options};
use config::{KeySpec, ValueShape};
use port::PortKinds;
use serde_json::{Map, Value, json};

/// The dialect that editors for TOML support.
const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// Returns the keys of a gateway file with ports of these kinds.
#[must_use]
pub fn keys(kinds: &PortKinds) -> Vec<KeySpec> {
    let named = |shape| ValueShape::Named(Box::new(shape));
    let routes = ValueShape::List(Box::new(ValueShape::Table(route::config::keys())));
    let mut keys = vec![
        KeySpec::new(
            "gateway",
            ValueShape::Table(options::keys()),
            "The gateway as a whole.",
        ),
        KeySpec::new(
            "databases",
            named(ValueShape::Table(databases::keys())),
            "Databases of messages, each with a name, by which ports refer to it.",
        ),
        KeySpec::new(
            "ports",
            named(kinds.shape()),
            "The attachments to buses, each with a name.",
        )
        .needed(),
    ];
    if let Some(shape) = kinds.controller_shape() {
        let about = "Controllers that virtual machines share; each is a port, too.";
        keys.push(KeySpec::new("controllers", named(shape), about));
    }
    let shape = ValueShape::Table(route::config::protection_keys());
    let about =
        "End-to-end protections of messages, each with a name, by which routes refer to it.";
    keys.push(KeySpec::new("e2e", named(shape), about));
    let about = "Routes, in the order in which they are tried.";
    keys.push(KeySpec::new("routes", routes, about));
    keys
}

/// Returns the schema of a gateway file with ports of these kinds.
#[must_use]
pub fn schema(kinds: &PortKinds) -> Value {
    let about = format!(
        "`cangate check` finds what no schema can: at most {MOST_PORTS} ports, names that exist, values that fit \
         together."
    );
    let mut all = Map::new();
    all.insert("$schema".to_owned(), json!(DIALECT));
    all.insert("title".to_owned(), json!("gateway.toml of cangate"));
    all.insert("description".to_owned(), json!(about));
    if let Value::Object(table) = value(&ValueShape::Table(keys(kinds))) {
        all.extend(table);
    }
    Value::Object(all)
}

fn value(shape: &ValueShape) -> Value {
    match shape {
        ValueShape::Anything => json!({}),
        ValueShape::Text | ValueShape::Duration | ValueShape::Rate | ValueShape::Hex => {
            json!({ "type": "string" })
        }
        ValueShape::Flag => json!({ "type": "boolean" }),
        ValueShape::Integer(bounds) => json!({
            "type": "integer", "minimum": bounds.start(), "maximum": bounds.end(),
        }),
        ValueShape::Number(bounds) => json!({
            "type": "number", "minimum": bounds.start(), "maximum": bounds.end(),
        }),
        ValueShape::Bitrate | ValueShape::Size | ValueShape::Byte => {
            json!({ "type": ["integer", "string"] })
        }
        ValueShape::Words(words) => json!({ "enum": words }),
        ValueShape::Table(keys) => {
            let needed = keys.iter().filter(|key| key.is_needed);
            let needed: Vec<&str> = needed.map(|key| key.name).collect();
            let mut table = table(keys);
            if !needed.is_empty() {
                table.insert("required".to_owned(), json!(needed));
            }
            Value::Object(table)
        }
        ValueShape::OneKey(keys) => {
            let mut table = table(keys);
            table.insert("minProperties".to_owned(), json!(1));
            table.insert("maxProperties".to_owned(), json!(1));
            Value::Object(table)
        }
        ValueShape::Named(of) => json!({ "type": "object", "additionalProperties": value(of) }),
        ValueShape::List(of) => json!({ "type": "array", "items": value(of) }),
        ValueShape::OneOrList(of) => {
            let of = value(of);
            json!({ "anyOf": [of, { "type": "array", "items": of }] })
        }
        ValueShape::Any(all) => json!({ "anyOf": all.iter().map(value).collect::<Vec<_>>() }),
    }
}

fn table(keys: &[KeySpec]) -> Map<String, Value> {
    let property = |key: &KeySpec| {
        let mut of = value(&key.shape);
        if let Value::Object(of) = &mut of
            && !key.about.is_empty()
        {
            of.insert("description".to_owned(), json!(key.description()));
        }
        (key.name.to_owned(), of)
    };
    let properties: Map<String, Value> = keys.iter().map(property).collect();
    let mut table = Map::new();
    table.insert("type".to_owned(), json!("object"));
    table.insert("properties".to_owned(), Value::Object(properties));
    table.insert("additionalProperties".to_owned(), json!(false));
    table
}
