//! JSON schemas for both publication and validation.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::foreign::SchemaRecursion;

/// Maximum faults reported for one value, and maximum characters of a name in them.
const MAX_FAULTS: usize = 20;
const MAX_NAME_CHARS: usize = 80;

/// Maximum bytes of a compiled pattern of a third-party schema.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// An invalid schema. In the program's own schemas it is a bug, found at startup.
#[derive(Debug, thiserror::Error)]
#[error("the schema is invalid: {0}")]
pub struct SchemaError(String);

/// A JSON schema with its validator, built once.
#[derive(Debug, Clone)]
pub struct Schema {
    value: Value,
    validator: Validator,
    /// Recursion of a third-party schema.
    recursion: SchemaRecursion,
}

impl Schema {
    pub fn new(value: Value) -> Result<Self, SchemaError> {
        let validator =
            jsonschema::validator_for(&value).map_err(|error| SchemaError(error.to_string()))?;
        Ok(Self { value, validator, recursion: SchemaRecursion::default() })
    }

    /// Creates a third-party schema. Its patterns are matched in linear time, and external
    /// references are not fetched.
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

    /// Validates and deserialises `instance`.
    ///
    /// Each fault is a sentence that names the offending member, without its value, which may be
    /// long or private.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Schema;

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
}
