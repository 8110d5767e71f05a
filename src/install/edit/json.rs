//! Changes one server in JSON with comments and trailing commas.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode},
};
use serde_json::json;

use super::{NAME, Refusal, Value};
use crate::install::clients::{Entry, TRANSPORT};

/// Comments and trailing commas are what clients read beside JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn with(text: &str, section: &str, entry: &Entry) -> Result<String, Refusal> {
    // A file that holds nothing yet reads like others then.
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = parsed(text)?;
    let top = match root.value() {
        None => root.object_value_or_set(),
        Some(_) => root.object_value().ok_or_else(|| no_object("the whole"))?,
    };
    let Some(servers) = member(&top, section)? else {
        top.append(section, CstInputValue::Object(vec![(NAME.to_owned(), object(entry))]));
        return Ok(root.to_string());
    };
    let servers = servers.object_value().ok_or_else(|| no_object(section))?;
    match member(&servers, NAME)? {
        None => drop(servers.append(NAME, object(entry))),
        Some(old) => match old.object_value() {
            None => old.set_value(object(entry)),
            Some(members) => update(&members, entry)?,
        },
    }
    Ok(root.to_string())
}

pub(super) fn without(text: &str, section: &str) -> Result<String, Refusal> {
    let root = parsed(text)?;
    if let Some(server) = server(&root, section)? {
        server.remove();
    }
    Ok(root.to_string())
}

pub(super) fn args(text: &str, section: &str) -> Vec<String> {
    let server = parsed(text).ok().and_then(|root| server(&root, section).ok().flatten());
    let server = server.and_then(|server| server.object_value());
    // OpenCode has the arguments in `command`.
    ["args", "command"]
        .into_iter()
        .filter_map(|name| server.as_ref()?.array_value(name)?.to_serde_value())
        .filter_map(|list| serde_json::from_value::<Vec<String>>(list).ok())
        .flatten()
        .collect()
}

fn update(members: &CstObject, entry: &Entry) -> Result<(), Refusal> {
    for name in TRANSPORT {
        if !entry.iter().any(|(wanted, _)| *wanted == name)
            && let Some(stale) = member(members, name)?
        {
            stale.remove();
        }
    }
    for (name, value) in entry {
        match member(members, name)? {
            None => drop(members.append(name, input(value))),
            Some(old) => {
                if old.to_serde_value().as_ref() != Some(&plain(value)) {
                    old.set_value(input(value));
                }
            }
        }
    }
    Ok(())
}

fn parsed(text: &str) -> Result<CstRootNode, Refusal> {
    CstRootNode::parse(text, &OPTIONS)
        .map_err(|error| Refusal::new(format!("is not JSON as clients read it: {error}")))
}

fn server(root: &CstRootNode, section: &str) -> Result<Option<CstObjectProp>, Refusal> {
    let Some(top) = root.object_value() else { return Ok(None) };
    let Some(servers) = member(&top, section)?.and_then(|servers| servers.object_value()) else {
        return Ok(None);
    };
    member(&servers, NAME)
}

/// Returns a member by name. Of one that stands twice, clients read the last, and people see the first.
fn member(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, Refusal> {
    let is_wanted = |found: &CstObjectProp| found.decoded_name().is_some_and(|found| found == name);
    let mut found = object.properties().into_iter().filter(is_wanted);
    let first = found.next();
    if found.next().is_some() {
        return Err(Refusal::new(format!("has `{name}` twice")));
    }
    Ok(first)
}

fn no_object(what: &str) -> Refusal {
    Refusal::new(format!("is of another form than expected: {what} is no object"))
}

fn object(entry: &Entry) -> CstInputValue {
    let members = entry.iter().map(|(name, value)| ((*name).to_owned(), input(value)));
    CstInputValue::Object(members.collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Text(text) => CstInputValue::String(text.clone()),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::Yes => CstInputValue::Bool(true),
        Value::List(texts) => {
            CstInputValue::Array(texts.iter().cloned().map(CstInputValue::String).collect())
        }
    }
}

fn plain(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => json!(text),
        Value::Number(number) => json!(number),
        Value::Yes => json!(true),
        Value::List(texts) => json!(texts),
    }
}
