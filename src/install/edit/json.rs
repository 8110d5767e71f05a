//! Changes one server in JSON with comments and trailing commas: bytes are put in, taken out or replaced where the
//! parser says that members are, and all others stay.

pub(super) mod lists;
mod splice;

use jsonc_parser::{
    ParseOptions,
    ast::{Object, ObjectProp, Value as Node},
    parse_to_ast,
};
use serde_json::json;

use self::splice::{JsonContainer, Style, added, bytes_of, removed};
use super::{NAME, Refusal};
use crate::install::entry::{Entry, TRANSPORT, Value};

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
    let Some(root) = parsed(text)? else { return with(&empty_object(text), section, entry) };
    let top = object(&root, "the whole")?;
    let top_style = Style::detect_style(text, &top.into());
    let Some(servers) = member(top, section)? else {
        return Ok(added(text, &top.into(), &top_style, &|indent| {
            let server = top_style.object(&top_style.deeper(indent), &members(entry));
            named(section, &top_style.object(indent, &[(NAME, server)]))
        }));
    };
    let servers = object(&servers.value, section)?;
    let style = top_style.within(text, &servers.into());
    let whole = |indent: &str| style.object(indent, &members(entry));
    match member(servers, NAME)? {
        None => Ok(added(text, &servers.into(), &style, &|indent| named(NAME, &whole(indent)))),
        Some(old) => match &old.value {
            Node::Object(_) => updated(text, section, entry),
            other => {
                let indent = splice::indent_at(text, old.range.start);
                Ok(splice::replaced(text, bytes_of(other), &whole(indent)))
            }
        },
    }
}

pub(super) fn without(text: &str, section: &str) -> Result<String, Refusal> {
    let Some(root) = parsed(text)? else { return Ok(text.to_owned()) };
    let Some((servers, server)) = server(&root, section)? else { return Ok(text.to_owned()) };
    Ok(removed(text, &servers.into(), bytes_of(server)))
}

/// Returns what the server has in member `name`.
pub(super) fn value(text: &str, section: &str, name: &str) -> Option<serde_json::Value> {
    let root = parsed(text).ok()??;
    let (_, server) = server(&root, section).ok()??;
    serde_json::Value::from(server.value.clone()).get(name).cloned()
}

/// Returns `text` with no member `name` of the server.
pub(super) fn without_member(text: &str, section: &str, name: &str) -> Result<String, Refusal> {
    within(text, section, |members| {
        Ok(member(members, name)?.map(|found| removed(text, &members.into(), bytes_of(found))))
    })
}

pub(super) fn is_emptied(text: &str, names: &[&str]) -> bool {
    fn is_empty(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::Object(members) => members.values().all(is_empty),
            serde_json::Value::Array(elements) => elements.is_empty(),
            _ => false,
        }
    }
    // What is left has no strings but its names, so that a slash begins a comment.
    let has_comment = text.contains('/');
    match parsed(text) {
        Ok(None) => !has_comment,
        Ok(Some(Node::Object(top))) => {
            let is_ours = |found: &ObjectProp<'_>| names.contains(&found.name.as_str());
            !has_comment
                && top.properties.iter().all(is_ours)
                && is_empty(&Node::Object(top).into())
        }
        _ => false,
    }
}

/// Brings the members of an entry up to date, one after the other, since each moves those after it.
fn updated(text: &str, section: &str, entry: &Entry) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    let outdated = TRANSPORT.iter().filter(|name| entry.iter().all(|(wanted, _)| wanted != *name));
    for name in outdated {
        text = without_member(&text, section, name)?;
    }
    for (name, value) in entry {
        let wanted = written(value);
        text = within(&text, section, |members| {
            let Some(old) = member(members, name)? else {
                let members = members.into();
                let style = Style::detect_style(&text, &members);
                return Ok(Some(added(&text, &members, &style, &|_| named(name, &wanted))));
            };
            let is_same = serde_json::Value::from(old.value.clone()) == plain(value);
            let new = || splice::replaced(&text, bytes_of(&old.value), &wanted);
            Ok((!is_same).then(new))
        })?;
    }
    Ok(text)
}

/// Returns an object for a text that has nothing, or comments alone.
fn empty_object(text: &str) -> String {
    let gap = if text.trim().is_empty() { "" } else { text };
    let end = if gap.is_empty() || gap.ends_with('\n') { "" } else { "\n" };
    format!("{gap}{end}{{}}\n")
}

fn named(name: &str, value: &str) -> String {
    format!("\"{name}\": {value}")
}

/// Returns what `change` makes of the text, given the members of the entry.
fn within(
    text: &str,
    section: &str,
    change: impl FnOnce(&Object<'_>) -> Result<Option<String>, Refusal>,
) -> Result<String, Refusal> {
    let root = parsed(text)?;
    let found = root.as_ref().map(|root| server(root, section)).transpose()?.flatten();
    let new = match found {
        Some((_, ObjectProp { value: Node::Object(members), .. })) => change(members)?,
        _ => None,
    };
    Ok(new.unwrap_or_else(|| text.to_owned()))
}

fn parsed(text: &str) -> Result<Option<Node<'_>>, Refusal> {
    parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &OPTIONS)
        .map(|parsed| parsed.value)
        .map_err(|error| Refusal::new(format!("is not JSON as clients read it: {error}")))
}

type Found<'a, 'b> = (&'b Object<'a>, &'b ObjectProp<'a>);

fn server<'a, 'b>(root: &'b Node<'a>, section: &str) -> Result<Option<Found<'a, 'b>>, Refusal> {
    let Node::Object(top) = root else { return Ok(None) };
    let Some(ObjectProp { value: Node::Object(servers), .. }) = member(top, section)? else {
        return Ok(None);
    };
    Ok(member(servers, NAME)?.map(|server| (servers, server)))
}

/// Returns a member by name. Of one that stands twice, clients read the last, and people see the first.
fn member<'a, 'b>(
    object: &'b Object<'a>,
    name: &str,
) -> Result<Option<&'b ObjectProp<'a>>, Refusal> {
    let mut found = object.properties.iter().filter(|found| found.name.as_str() == name);
    let first = found.next();
    if found.next().is_some() {
        return Err(Refusal::new(format!("has `{name}` twice")));
    }
    Ok(first)
}

fn object<'a, 'b>(node: &'b Node<'a>, what: &str) -> Result<&'b Object<'a>, Refusal> {
    match node {
        Node::Object(object) => Ok(object),
        _ => Err(Refusal::new(format!("is of another form than expected: {what} is no object"))),
    }
}

fn members(entry: &Entry) -> Vec<(&'static str, String)> {
    entry.iter().map(|(name, value)| (*name, written(value))).collect()
}

fn written(value: &Value) -> String {
    match value {
        Value::List(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| json!(text).to_string()).collect();
            format!("[{}]", texts.join(", "))
        }
        other => plain(other).to_string(),
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
