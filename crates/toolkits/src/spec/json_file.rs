//! Parses JSON files strictly, and expands `${NAME}` and `${NAME:-default}` from the environment of this process.

use std::fmt;

use codeinfo_codex::OtherVariables;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::schema::MAX_VALUE_CHARS;

/// Parses a JSON text. The error has the position and never a value.
pub(super) fn parse_strict_json(text: &[u8]) -> Result<Value, String> {
    // Some editors write a byte order mark first.
    let json = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value =
        StrictJsonSeed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| format!("it is not valid JSON: {error}"))
}

struct StrictJsonSeed;

impl<'de> DeserializeSeed<'de> for StrictJsonSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictJsonSeed {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                let name: String = key.chars().take(80).collect();
                return Err(de::Error::custom(format!("duplicate key `{name}`")));
            }
            object.insert(key, members.next_value_seed(Self)?);
        }
        Ok(Value::Object(object))
    }
}

/// Members of a toolkit whose texts are expanded; member names never are.
const MEMBERS: [&str; 6] = ["command", "args", "env", "workingDir", "url", "headers"];
const MAX_NAME_CHARS: usize = 80;

/// Replaces variables by their values. Returns the faults, which contain no values.
pub(super) fn expand_variables(toolkit: &mut Value, environment: &OtherVariables) -> Vec<String> {
    let mut faults = Vec::new();
    for member in MEMBERS {
        let Some(value) = toolkit.get_mut(member) else { continue };
        visit_texts(value, &mut |text| match expand_text(text, environment) {
            Ok(whole) => *text = whole,
            Err(fault) => faults.push(format!("`{member}`: {fault}")),
        });
    }
    faults
}

fn visit_texts(value: &mut Value, visit: &mut impl FnMut(&mut String)) {
    let mut visit_one = |value: &mut Value| {
        if let Value::String(text) = value {
            visit(text);
        }
    };
    match value {
        Value::Array(items) => {
            for item in items {
                visit_one(item);
            }
        }
        Value::Object(members) => {
            for item in members.values_mut() {
                visit_one(item);
            }
        }
        other => visit_one(other),
    }
}

fn expand_text(text: &str, environment: &OtherVariables) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, after)) = after.split_once('}') else {
            return Err("a `${` without `}`".to_owned());
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let shown: String = name.chars().take(MAX_NAME_CHARS).collect();
        if !is_name(name) {
            return Err(format!("`{shown}` is no name of a variable"));
        }
        let Some(value) = environment.get(name).or(default) else {
            return Err(format!("the variable `{shown}` is not set"));
        };
        whole.push_str(before);
        whole.push_str(value);
        // Stops before variables of a short text produce a huge one; the schema has the exact bound.
        if whole.len() > 4 * MAX_VALUE_CHARS {
            return Err(format!(
                "with its variables it has more than {MAX_VALUE_CHARS} characters"
            ));
        }
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(is_part) && text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}
