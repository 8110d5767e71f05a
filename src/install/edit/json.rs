//! Edits one server, or an element of a list, in JSON with comments and trailing commas. Inserts,
//! removes or replaces bytes at positions that the parser reports, and keeps all others.

mod splice;

use jsonc_parser::{
    ParseOptions,
    ast::{Array, Object, ObjectProp, Value as Node},
    parse_to_ast,
};
use serde_json::{Value, json};

use self::splice::{
    JsonContainer, JsonStyle, bytes_of, insert_member, remove_member, replace_range,
};
use super::{EditRefusal, EntryMembers, EntryValue, NAME, TRANSPORT};

/// Clients accept comments and trailing commas in JSON.
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

pub(super) fn add_server(
    text: &str,
    section: &str,
    entry: &EntryMembers,
) -> Result<String, EditRefusal> {
    let Some(root) = parse_document(text)? else {
        return add_server(&empty_object(text), section, entry);
    };
    let top = expect_object(&root, "the whole")?;
    let top_style = JsonStyle::detect_style(text, &top.into());
    let Some(servers) = find_member(top, section)? else {
        return Ok(insert_member(text, &top.into(), &top_style, &|indent| {
            let server =
                top_style.render_object(&top_style.indent_deeper(indent), &render_members(entry));
            format_member(section, &top_style.render_object(indent, &[(NAME, server)]))
        }));
    };
    let servers = expect_object(&servers.value, section)?;
    let style = top_style.for_container(text, &servers.into());
    let render_server = |indent: &str| style.render_object(indent, &render_members(entry));
    match find_member(servers, NAME)? {
        None => Ok(insert_member(text, &servers.into(), &style, &|indent| {
            format_member(NAME, &render_server(indent))
        })),
        Some(old) => match &old.value {
            Node::Object(_) => update_server(text, section, entry),
            other => {
                let indent = splice::indent_at(text, old.range.start);
                Ok(replace_range(text, bytes_of(other), &render_server(indent)))
            }
        },
    }
}

pub(super) fn remove_server(text: &str, section: &str) -> Result<String, EditRefusal> {
    let Some(root) = parse_document(text)? else { return Ok(text.to_owned()) };
    let Some((servers, server)) = find_server(&root, section)? else { return Ok(text.to_owned()) };
    Ok(remove_member(text, &servers.into(), bytes_of(server)))
}

pub(super) fn find_member_value(text: &str, section: &str, name: &str) -> Option<Value> {
    let root = parse_document(text).ok()??;
    let (_, server) = find_server(&root, section).ok()??;
    Value::from(server.value.clone()).get(name).cloned()
}

pub(super) fn without_member(text: &str, section: &str, name: &str) -> Result<String, EditRefusal> {
    edit_server(text, section, |members| {
        Ok(find_member(members, name)?
            .map(|found| remove_member(text, &members.into(), bytes_of(found))))
    })
}

pub(super) fn is_emptied(text: &str, names: &[&str]) -> bool {
    fn is_empty(value: &Value) -> bool {
        match value {
            Value::Object(members) => members.values().all(is_empty),
            Value::Array(elements) => elements.is_empty(),
            _ => false,
        }
    }
    // The only strings are known names, so a slash begins a comment.
    let has_comment = text.contains('/');
    match parse_document(text) {
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

/// Updates the members of an entry one after the other, because each change moves those after it.
fn update_server(old: &str, section: &str, entry: &EntryMembers) -> Result<String, EditRefusal> {
    let mut text = old.to_owned();
    let outdated = TRANSPORT.iter().filter(|name| entry.iter().all(|(wanted, _)| wanted != *name));
    for name in outdated {
        text = without_member(&text, section, name)?;
    }
    for (name, value) in entry {
        let wanted = render_value(value);
        text = edit_server(&text, section, |members| {
            let Some(old) = find_member(members, name)? else {
                let container = members.into();
                let style = JsonStyle::detect_style(&text, &container);
                return Ok(Some(insert_member(&text, &container, &style, &|_| {
                    format_member(name, &wanted)
                })));
            };
            let is_same = Value::from(old.value.clone()) == to_json(value);
            let new = || replace_range(&text, bytes_of(&old.value), &wanted);
            Ok((!is_same).then(new))
        })?;
    }
    Ok(text)
}

/// Returns an object for a text that is empty or has only comments.
fn empty_object(text: &str) -> String {
    let gap = if text.trim().is_empty() { "" } else { text };
    let end = if gap.is_empty() || gap.ends_with('\n') { "" } else { "\n" };
    format!("{gap}{end}{{}}\n")
}

fn format_member(name: &str, value: &str) -> String {
    format!("\"{name}\": {value}")
}

/// Returns the text that `change` makes from the members of the entry.
fn edit_server(
    text: &str,
    section: &str,
    change: impl FnOnce(&Object<'_>) -> Result<Option<String>, EditRefusal>,
) -> Result<String, EditRefusal> {
    let root = parse_document(text)?;
    let found = root.as_ref().map(|root| find_server(root, section)).transpose()?.flatten();
    let new = match found {
        Some((_, ObjectProp { value: Node::Object(members), .. })) => change(members)?,
        _ => None,
    };
    Ok(new.unwrap_or_else(|| text.to_owned()))
}

fn parse_document(text: &str) -> Result<Option<Node<'_>>, EditRefusal> {
    parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &OPTIONS)
        .map(|parsed| parsed.value)
        .map_err(|error| EditRefusal::new(format!("is not JSON as clients read it: {error}")))
}

type ServerNode<'a, 'b> = (&'b Object<'a>, &'b ObjectProp<'a>);

fn find_server<'a, 'b>(
    root: &'b Node<'a>,
    section: &str,
) -> Result<Option<ServerNode<'a, 'b>>, EditRefusal> {
    let Node::Object(top) = root else { return Ok(None) };
    let Some(ObjectProp { value: Node::Object(servers), .. }) = find_member(top, section)? else {
        return Ok(None);
    };
    Ok(find_member(servers, NAME)?.map(|server| (servers, server)))
}

/// Finds a member by name. Refuses a duplicate: clients read the last one, people see the first.
fn find_member<'a, 'b>(
    object: &'b Object<'a>,
    name: &str,
) -> Result<Option<&'b ObjectProp<'a>>, EditRefusal> {
    let mut found = object.properties.iter().filter(|found| found.name.as_str() == name);
    let first = found.next();
    if found.next().is_some() {
        return Err(EditRefusal::new(format!("has `{name}` twice")));
    }
    Ok(first)
}

fn expect_object<'a, 'b>(node: &'b Node<'a>, what: &str) -> Result<&'b Object<'a>, EditRefusal> {
    match node {
        Node::Object(object) => Ok(object),
        _ => {
            Err(EditRefusal::new(format!("is of another form than expected: {what} is no object")))
        }
    }
}

fn render_members(entry: &EntryMembers) -> Vec<(&'static str, String)> {
    entry.iter().map(|(name, value)| (*name, render_value(value))).collect()
}

fn render_value(value: &EntryValue) -> String {
    match value {
        EntryValue::List(texts) => {
            let elements: Vec<String> = texts.iter().map(|text| json!(text).to_string()).collect();
            format!("[{}]", elements.join(", "))
        }
        other => to_json(other).to_string(),
    }
}

fn to_json(value: &EntryValue) -> Value {
    match value {
        EntryValue::Text(text) => json!(text),
        EntryValue::Number(number) => json!(number),
        EntryValue::Yes => json!(true),
        EntryValue::List(texts) => json!(texts),
    }
}

/// Element of a list, which is a member of an object, which is a member of the whole.
#[derive(Debug)]
pub(in crate::install) struct ListElement {
    pub(in crate::install) path: [&'static str; 2],
    pub(in crate::install) value: Value,
    /// Returns whether an existing element is equivalent.
    pub(in crate::install) is_same: fn(&Value) -> bool,
}

impl ListElement {
    /// Returns `text` with the element at its list's end, or an equivalent one's command updated.
    pub(super) fn add_to(&self, text: &str) -> Result<String, EditRefusal> {
        let [outer, inner] = self.path;
        let Some(root) = parse_document(text)? else { return self.add_to(&empty_object(text)) };
        let top = expect_object(&root, "the whole")?;
        let top_style = JsonStyle::detect_style(text, &top.into());
        let Some(found) = find_member(top, outer)? else {
            let object = json!({ inner: [self.value] });
            return Ok(add_member(text, top, &top_style, outer, &object));
        };
        let settings = expect_object(&found.value, outer)?;
        let settings_style = top_style.for_container(text, &settings.into());
        let Some(list) = find_list(settings, inner)? else {
            return Ok(add_member(text, settings, &settings_style, inner, &json!([self.value])));
        };
        if let Some(element) = self.find_element(list) {
            let old = command_of(element).map(|old| (old, Value::from(old.clone())));
            let new = self.value.pointer("/hooks/0/command");
            return Ok(match (old, new) {
                (Some((node, old)), Some(new)) if old != *new => {
                    replace_range(text, bytes_of(node), &new.to_string())
                }
                _ => text.to_owned(),
            });
        }
        let container = JsonContainer::from(list);
        let style = settings_style.for_container(text, &container);
        let element = |indent: &str| style.render_value(indent, &self.value);
        Ok(insert_member(text, &container, &style, &element))
    }

    /// Returns `text` without equivalent elements.
    pub(super) fn remove_from(&self, text: &str) -> Result<String, EditRefusal> {
        let [outer, inner] = self.path;
        let root = parse_document(text)?;
        let top = root.as_ref().and_then(Node::as_object);
        let member = top.map(|top| find_member(top, outer)).transpose()?.flatten();
        let settings = member.and_then(|found| found.value.as_object());
        let list = settings.map(|settings| find_list(settings, inner)).transpose()?.flatten();
        let Some(list) = list else { return Ok(text.to_owned()) };
        let container = JsonContainer::from(list);
        let mut shorter = text.to_owned();
        // Last first, because each removal moves what follows it.
        for element in list.elements.iter().rev().filter(|element| self.matches(element)) {
            shorter = remove_member(&shorter, &container, bytes_of(element));
        }
        Ok(shorter)
    }

    fn matches(&self, element: &Node<'_>) -> bool {
        (self.is_same)(&Value::from(element.clone()))
    }

    fn find_element<'a, 'b>(&self, list: &'b Array<'a>) -> Option<&'b Node<'a>> {
        list.elements.iter().find(|element| self.matches(element))
    }
}

fn command_of<'a, 'b>(element: &'b Node<'a>) -> Option<&'b Node<'a>> {
    let hooks = expect_object(element, "a hook")
        .ok()
        .and_then(|element| find_list(element, "hooks").ok()?);
    let hook = expect_object(hooks?.elements.first()?, "a hook").ok()?;
    Some(&find_member(hook, "command").ok()??.value)
}

fn add_member(
    text: &str,
    object: &Object<'_>,
    style: &JsonStyle,
    name: &str,
    value: &Value,
) -> String {
    let container = JsonContainer::from(object);
    insert_member(text, &container, style, &|indent| {
        format_member(name, &style.render_value(indent, value))
    })
}

fn find_list<'a, 'b>(
    object: &'b Object<'a>,
    name: &str,
) -> Result<Option<&'b Array<'a>>, EditRefusal> {
    match find_member(object, name)?.map(|found| &found.value) {
        None => Ok(None),
        Some(Node::Array(list)) => Ok(Some(list)),
        Some(_) => {
            Err(EditRefusal::new(format!("is of another form than expected: {name} is no list")))
        }
    }
}
