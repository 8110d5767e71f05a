//! How long checks against a schema of somebody else may take, before there is one.
//!
//! A few lines that refer to each other twice stand for millions, and a part that refers to itself twice doubles
//! the work with each level of a value. So references are followed and counted here; what cannot be followed is
//! refused. A schema is of its author, values are of a model.

use std::collections::HashMap;

use serde_json::Value;

/// Most parts of a schema, each counted as often as it is referred to.
const MAX_PARTS: u64 = 20_000;
/// Most ways through a schema that refers to itself, for one value.
const MAX_WAYS: u64 = 1_000_000;
/// Members by which parts are referred to otherwise than by where they stand.
const REFUSED: [&str; 5] =
    ["$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];

/// How a schema refers to itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SchemaRecursion {
    /// How often the whole leads into a part that contains itself.
    starts: u64,
    /// The most ways by which such a part leads back into itself, or into another.
    ways: u64,
}

/// What one part stands for.
#[derive(Debug, Clone, Copy, Default)]
struct SchemaSize {
    parts: u64,
    /// References to parts around it.
    back: u64,
}

impl SchemaSize {
    fn add(self, other: Self) -> Self {
        Self {
            parts: self.parts.saturating_add(other.parts),
            back: self.back.saturating_add(other.back),
        }
    }
}

impl SchemaRecursion {
    /// Measures a schema, or says why it is refused.
    pub(super) fn measure_schema(schema: &Value) -> Result<Self, String> {
        let mut known = HashMap::new();
        let whole = measure_part(schema, (schema, 0), &mut known)?;
        if whole.parts > MAX_PARTS {
            return Err(format!("with its references it has more than {MAX_PARTS} parts"));
        }
        let ways = known.values().map(|size| size.back).max().unwrap_or_default();
        Ok(Self { starts: whole.back, ways })
    }

    /// Whether a check of `value` ends soon.
    pub(super) fn allows_value(self, value: &Value) -> bool {
        if self.ways < 2 {
            return true;
        }
        let depth = u32::try_from(nesting_depth(value)).unwrap_or(u32::MAX);
        let ways = self.ways.checked_pow(depth).and_then(|ways| ways.checked_mul(self.starts));
        ways.is_some_and(|ways| ways <= MAX_WAYS)
    }
}

fn measure_part<'a>(
    part: &'a Value,
    (whole, level): (&'a Value, usize),
    known: &mut HashMap<&'a str, SchemaSize>,
) -> Result<SchemaSize, String> {
    let mut size_of = SchemaSize { parts: 1, back: 0 };
    match part {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(address) if name == "$ref" => {
                        size_of = size_of.add(measure_reference(address, whole, known)?);
                    }
                    Some(_) if REFUSED.contains(&name.as_str()) || name == "$id" && level > 0 => {
                        return Err(format!("`{name}` is not supported"));
                    }
                    Some(_) | None => {
                        size_of = size_of.add(measure_part(value, (whole, level + 1), known)?);
                    }
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                size_of = size_of.add(measure_part(value, (whole, level + 1), known)?);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(size_of)
}

fn measure_reference<'a>(
    address: &'a str,
    whole: &'a Value,
    known: &mut HashMap<&'a str, SchemaSize>,
) -> Result<SchemaSize, String> {
    if let Some(size) = known.get(address) {
        return Ok(*size);
    }
    let pointer = address.strip_prefix('#').filter(|pointer| !pointer.contains('%'));
    let part = pointer.and_then(|pointer| Some((whole.pointer(pointer)?, pointer)));
    let (part, pointer) = part.ok_or("a `$ref` leads out of it")?;
    // While it is being measured, a reference to it leads back.
    known.insert(address, SchemaSize { parts: 1, back: 1 });
    let found = measure_part(part, (whole, usize::from(!pointer.is_empty())), known)?;
    known.insert(address, found);
    Ok(found)
}

/// How deep a value is nested. The parser bounds it.
fn nesting_depth(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(nesting_depth).max().unwrap_or_default(),
        Value::Array(values) => 1 + values.iter().map(nesting_depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::SchemaRecursion;

    fn doubled(levels: usize, address: impl Fn(usize) -> String) -> Value {
        let level = |n: usize| {
            let next = json!({ "$ref": address(n + 1) });
            (format!("a{n}"), json!({ "allOf": [next, next] }))
        };
        let mut defs: serde_json::Map<String, Value> = (0..levels).map(level).collect();
        defs.insert(format!("a{levels}"), json!({ "type": "string" }));
        let properties = json!({ "x": { "$ref": address(0) } });
        json!({ "type": "object", "$defs": defs, "properties": properties })
    }

    #[test]
    fn a_small_schema_that_would_take_for_ever_is_refused() {
        let plain = |n| format!("#/$defs/a{n}");
        assert!(SchemaRecursion::measure_schema(&doubled(5, plain)).is_ok());
        assert!(
            SchemaRecursion::measure_schema(&doubled(40, plain)).unwrap_err().contains("more than")
        );
        assert!(
            SchemaRecursion::measure_schema(&doubled(5, |n| format!("#/%24defs/a{n}"))).is_err()
        );
        assert!(SchemaRecursion::measure_schema(&doubled(5, |n| format!("#a{n}"))).is_err());
        assert!(SchemaRecursion::measure_schema(&doubled(5, |n| format!("urn:x:a{n}"))).is_err());
        for odd in [
            json!({ "properties": { "x": { "$anchor": "a" } } }),
            json!({ "properties": { "x": { "$id": "urn:x" } } }),
            json!({ "items": { "$dynamicRef": "#a" } }),
            json!({ "$ref": "#/nowhere" }),
        ] {
            assert!(SchemaRecursion::measure_schema(&odd).is_err(), "{odd}");
        }
        // These are names of parameters.
        let named = json!({ "$id": "urn:x", "properties": { "$id": { "type": "string" } } });
        assert!(SchemaRecursion::measure_schema(&named).is_ok());
    }

    #[test]
    fn a_schema_that_contains_itself_once_takes_any_value_and_twice_only_flat_ones() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |value, _| json!({ "c": value }));
        let tree = json!({ "properties": { "c": { "$ref": "#" } } });
        assert!(SchemaRecursion::measure_schema(&tree).unwrap().allows_value(&nested(100)));
        let twice = json!({
            "$defs": { "t": { "properties": { "c": { "allOf": [
                { "$ref": "#/$defs/t" }, { "$ref": "#/$defs/t" },
            ] } } } },
            "properties": { "t": { "$ref": "#/$defs/t" } },
        });
        let twice = SchemaRecursion::measure_schema(&twice).unwrap();
        assert!(twice.allows_value(&nested(10)));
        assert!(!twice.allows_value(&nested(30)));
        let starts = vec![json!({ "$ref": "#/$defs/t" }); 100];
        let many = json!({ "$defs": { "t": { "items": [{ "$ref": "#/$defs/t" }, { "$ref": "#/$defs/t" }] } },
            "allOf": starts });
        assert!(SchemaRecursion::measure_schema(&many).unwrap().allows_value(&nested(10)));
        assert!(!SchemaRecursion::measure_schema(&many).unwrap().allows_value(&nested(15)));
    }

    #[test]
    fn the_whole_may_have_an_id_and_refer_to_itself() {
        let schema = json!({ "$id": "urn:x", "items": [{ "$ref": "#" }, { "$ref": "#" }] });
        let recursion = SchemaRecursion::measure_schema(&schema).unwrap();
        assert!(recursion.allows_value(&json!([[[[]]]])));
        let deep = (0..30).fold(json!(1), |value, _| json!([value]));
        assert!(!recursion.allows_value(&deep));
    }
}
