//! JSON schemas for both publication and validation, and bounds on the time of validation.
//!
//! A few lines that reference each other twice expand to millions, and a part that references
//! itself twice doubles the work with each level of a value. Therefore references are followed and
//! counted here, and a schema whose references cannot be followed is refused. Schemas come from
//! their authors, values from a model.

use std::collections::HashMap;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum faults reported for one value, and maximum characters of a name in them.
const MAX_FAULTS: usize = 20;
const MAX_NAME_CHARS: usize = 80;

/// Maximum bytes of a compiled pattern of a third-party schema.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// Maximum parts of a schema, counting each part once per reference.
const MAX_PARTS: u64 = 20_000;
/// Maximum paths through a recursive schema for one value.
const MAX_WAYS: u64 = 1_000_000;
/// Members that reference parts other than by their position.
const REFUSED: [&str; 5] =
    ["$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];

/// An invalid schema. In the program's own schemas it is a bug, found at startup.
#[derive(Debug, thiserror::Error)]
#[error("the schema is invalid: {0}")]
pub struct SchemaError(String);

/// A JSON schema with its validator, built once.
#[derive(Debug, Clone)]
pub struct Schema {
    value: Value,
    validator: Validator,
    recursion: SchemaRecursion,
}

impl Schema {
    pub fn new(value: Value) -> Result<Self, SchemaError> {
        let validator =
            jsonschema::validator_for(&value).map_err(|error| SchemaError(error.to_string()))?;
        Ok(Self { value, validator, recursion: SchemaRecursion::default() })
    }

    /// Creates a third-party schema; patterns match in linear time, and nothing is fetched.
    pub fn from_untrusted(value: Value) -> Result<Self, SchemaError> {
        let recursion = SchemaRecursion::measure_schema(&value).map_err(SchemaError)?;
        let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES);
        let options = jsonschema::options().with_pattern_options(patterns);
        let validator = options.build(&value).map_err(|error| SchemaError(error.to_string()))?;
        Ok(Self { value, validator, recursion })
    }

    /// Returns the schema as published.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Validates and deserialises `instance`. Each fault is a sentence that names the offending
    /// member, without its value, which may be long or private.
    pub fn validate_and_parse<T: DeserializeOwned>(
        &self,
        instance: Value,
    ) -> Result<T, Vec<String>> {
        if !self.recursion.allows_value(&instance) {
            return Err(vec!["the value is nested too deep for its schema".to_owned()]);
        }
        let errors = self.validator.iter_errors(&instance);
        let faults: Vec<String> =
            errors.flat_map(|error| describe_error(&error)).take(MAX_FAULTS).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        // A schema may accept numbers that a type rejects, such as `5.0` for `5`.
        serde_json::from_value(instance).map_err(|error| vec![error.to_string()])
    }
}

fn describe_error(error: &ValidationError<'_>) -> Vec<String> {
    let pointer = error.instance_path().to_string();
    let subject = match pointer.strip_prefix('/') {
        Some(name) => format!("`{}`", truncate_name(name)),
        None => "the value".to_owned(),
    };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .take(MAX_FAULTS)
            .map(|name| format!("`{}` is not known here", truncate_name(name)))
            .collect(),
        ValidationErrorKind::Required { property } => {
            vec![format!("`{}` is missing", property.as_str().unwrap_or_default())]
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => {
            let article = if kind.as_str().starts_with(['a', 'i', 'o']) { "an" } else { "a" };
            vec![format!("{subject} must be {article} {kind}")]
        }
        ValidationErrorKind::MinLength { limit: 1 } => vec![format!("{subject} is empty")],
        ValidationErrorKind::MaxLength { limit } => {
            vec![format!("{subject} has more than {limit} characters")]
        }
        ValidationErrorKind::Minimum { limit } => {
            vec![format!("{subject} must be at least {limit}")]
        }
        ValidationErrorKind::Maximum { limit } => {
            vec![format!("{subject} must be at most {limit}")]
        }
        ValidationErrorKind::Enum { options } => {
            vec![format!("{subject} must be one of {options}")]
        }
        _ => vec![format!("{subject}: {}", error.masked())],
    }
}

fn truncate_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Recursion of a third-party schema, which bounds the values that may be validated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SchemaRecursion {
    /// Number of references from the whole schema into parts that contain themselves.
    starts: u64,
    /// Maximum references of such a part back into itself or another one.
    ways: u64,
}

/// Size of a part with its references expanded.
#[derive(Debug, Clone, Copy, Default)]
struct SchemaSize {
    parts: u64,
    /// References to enclosing parts.
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
    pub(super) fn measure_schema(schema: &Value) -> Result<Self, String> {
        let mut known = HashMap::new();
        let whole = measure_part(schema, schema, 0, &mut known)?;
        if whole.parts > MAX_PARTS {
            return Err(format!("with its references it has more than {MAX_PARTS} parts"));
        }
        let ways = known.values().map(|size| size.back).max().unwrap_or_default();
        Ok(Self { starts: whole.back, ways })
    }

    /// Returns whether validation of `value` stays within [`MAX_WAYS`].
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
    whole: &'a Value,
    level: usize,
    known: &mut HashMap<&'a str, SchemaSize>,
) -> Result<SchemaSize, String> {
    let mut size = SchemaSize { parts: 1, back: 0 };
    match part {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(address) if name == "$ref" => {
                        size = size.add(measure_reference(address, whole, known)?);
                    }
                    Some(_) if REFUSED.contains(&name.as_str()) || name == "$id" && level > 0 => {
                        return Err(format!("`{name}` is not supported"));
                    }
                    Some(_) | None => {
                        size = size.add(measure_part(value, whole, level + 1, known)?);
                    }
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                size = size.add(measure_part(value, whole, level + 1, known)?);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(size)
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
    // References to the part inside of itself are recursive.
    known.insert(address, SchemaSize { parts: 1, back: 1 });
    let found = measure_part(part, whole, usize::from(!pointer.is_empty()), known)?;
    known.insert(address, found);
    Ok(found)
}

fn nesting_depth(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(nesting_depth).max().unwrap_or_default(),
        Value::Array(values) => 1 + values.iter().map(nesting_depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn a_schema_of_somebody_else_fetches_nothing_and_backtracks_nowhere() {
        let fetched = json!({ "$ref": "http://127.0.0.1:9/schema.json" });
        assert!(Schema::from_untrusted(fetched).is_err());
        let slow = json!({ "type": "string", "pattern": "^(a+)+$" });
        let slow = Schema::from_untrusted(slow).unwrap();
        let text = format!("{}b", "a".repeat(100_000));
        assert!(slow.validate_and_parse::<Value>(json!(text)).is_err());
        assert!(Schema::from_untrusted(json!({ "pattern": "(a{900}){900}" })).is_err());
        // References that recurse without descending into a value terminate.
        for endless in [
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "$defs": { "a": { "not": { "$ref": "#/$defs/a" } } }, "$ref": "#/$defs/a" }),
        ] {
            if let Ok(endless) = Schema::from_untrusted(endless) {
                drop(endless.validate_and_parse::<Value>(json!({ "a": 1 })));
            }
        }
    }

    #[test]
    fn every_fault_is_named_without_its_value() {
        let schema = Schema::new(json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["query"],
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 3},
                "limit": {"type": "integer", "minimum": 1, "maximum": 20},
            },
        }))
        .unwrap();
        let faults = |instance: Value| schema.validate_and_parse::<Value>(instance).unwrap_err();
        assert_eq!(faults(json!(null)), ["the value must be an object"]);
        assert_eq!(faults(json!([])), ["the value must be an object"]);
        assert_eq!(faults(json!({})), ["`query` is missing"]);
        assert_eq!(faults(json!({"query": ""})), ["`query` is empty"]);
        assert_eq!(faults(json!({"query": "long"})), ["`query` has more than 3 characters"]);
        assert_eq!(
            faults(json!({"query": 1, "limit": 21, "repo": 1, "x": 2})),
            [
                "`query` must be a string",
                "`limit` must be at most 20",
                "`repo` is not known here",
                "`x` is not known here",
            ]
        );
        assert_eq!(faults(json!({"query": "a", "limit": "5"})), ["`limit` must be an integer"]);
        assert_eq!(
            schema.validate_and_parse::<Value>(json!({"query": "a"})),
            Ok(json!({"query": "a"}))
        );
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
