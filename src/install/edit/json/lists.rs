//! Adds and removes an element in a list of settings, such as `permissions.allow` of Claude Code.

use jsonc_parser::ast::{Array, Object, Value as Node};
use serde_json::{Value, json};

use super::{
    JsonContainer, JsonStyle, bytes_of, empty_object, expect_object, find_member, format_member,
    insert_member, parse_document, remove_member, splice::replace_range,
};
use crate::install::edit::EditRefusal;

/// Element of a list, which is a member of an object, which is a member of the whole.
#[derive(Debug)]
pub(in crate::install) struct ListElement {
    pub(in crate::install) path: [&'static str; 2],
    pub(in crate::install) value: Value,
    /// Returns whether an existing element is equivalent.
    pub(in crate::install) is_same: fn(&Value) -> bool,
}

impl ListElement {
    /// Returns `text` with the element at the end of its list. Updates only the command of an
    /// equivalent one.
    pub(in crate::install::edit) fn add_to(&self, text: &str) -> Result<String, EditRefusal> {
        let [outer, inner] = self.path;
        let Some(root) = parse_document(text)? else { return self.add_to(&empty_object(text)) };
        let top = expect_object(&root, "the whole")?;
        let top_style = JsonStyle::detect_style(text, &top.into());
        let Some(found) = find_member(top, outer)? else {
            let whole = json!({ inner: [self.value] });
            return Ok(add_member(text, top, &top_style, outer, &whole));
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
    pub(in crate::install::edit) fn remove_from(&self, text: &str) -> Result<String, EditRefusal> {
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
