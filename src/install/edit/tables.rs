//! Changes one server in TOML. The editor at work prints a document again, with other ends of lines and an
//! order of its own at times: only the lines that it changed are taken from it.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::{NAME, Refusal};
use crate::install::entry::{Entry, TRANSPORT, Value};

pub(super) fn with(text: &str, section: &str, entry: &Entry) -> Result<String, Refusal> {
    let mut document = parsed(text)?;
    let is_inline = match document.get(section) {
        None => return appended(text, section, entry),
        Some(Item::Table(servers)) if !servers.contains_key(NAME) => {
            return appended(text, section, entry);
        }
        Some(servers) => servers.as_value().is_some(),
    };
    let refused =
        || Refusal::new(format!("is of another form than expected: `{section}` is no table"));
    let servers =
        document.get_mut(section).and_then(Item::as_table_like_mut).ok_or_else(refused)?;
    match servers.get_mut(NAME).map(Item::as_table_like_mut) {
        Some(Some(server)) => update(server, entry),
        Some(None) => return Err(Refusal::new(format!("has `{NAME}`, which is no table"))),
        None if is_inline => {
            let mut server = InlineTable::new();
            update(&mut server, entry);
            servers.insert(NAME, value(server));
        }
        None => return Err(refused()),
    }
    merged(text, &document.to_string())
}

pub(super) fn without(text: &str, section: &str) -> Result<String, Refusal> {
    let mut document = parsed(text)?;
    let servers = document.get_mut(section).and_then(Item::as_table_like_mut);
    let is_ours = |servers: &&mut dyn TableLike| servers.get(NAME).is_some_and(Item::is_table_like);
    let Some(removed) = servers.filter(is_ours).and_then(|servers| servers.remove(NAME)) else {
        return Ok(text.to_owned());
    };
    if let Item::Table(removed) = &removed {
        keep_comments(&mut document, removed);
    }
    merged(text, &document.to_string())
}

fn parsed(text: &str) -> Result<DocumentMut, Refusal> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        Refusal::new(format!("is not TOML: {}", error.to_string().trim_end()))
    })
}

/// Returns `text` with a table of its own at the end, where it can be in every document.
fn appended(text: &str, section: &str, entry: &Entry) -> Result<String, Refusal> {
    let mut server = Table::new();
    update(&mut server, entry);
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut whole = text.to_owned();
    if !text.is_empty() {
        whole += if text.ends_with('\n') { "" } else { end };
        whole += end;
    }
    let block = format!("[{section}.{NAME}]\n{server}");
    whole += &block.replace('\n', end);
    parsed(&whole)?;
    Ok(whole)
}

fn update(server: &mut dyn TableLike, entry: &Entry) {
    for name in TRANSPORT {
        if !entry.iter().any(|(wanted, _)| *wanted == name) {
            server.remove(name);
        }
    }
    for (name, wanted) in entry {
        let mut wanted = item(wanted);
        match server.get_mut(name) {
            None => drop(server.insert(name, Item::Value(wanted))),
            Some(Item::Value(old)) if is_same(old, &wanted) => {}
            Some(Item::Value(old)) => {
                *wanted.decor_mut() = old.decor().clone();
                *old = wanted;
            }
            Some(old) => *old = Item::Value(wanted),
        }
    }
}

fn item(wanted: &Value) -> toml_edit::Value {
    match wanted {
        Value::Text(text) => text.as_str().into(),
        Value::Number(number) => i64::from(*number).into(),
        Value::Yes => true.into(),
        Value::List(texts) => texts.iter().map(String::as_str).collect::<Array>().into(),
    }
}

fn is_same(one: &toml_edit::Value, other: &toml_edit::Value) -> bool {
    use toml_edit::Value::{Array, Boolean, Integer, String};
    match (one, other) {
        (String(one), String(other)) => one.value() == other.value(),
        (Integer(one), Integer(other)) => one.value() == other.value(),
        (Boolean(one), Boolean(other)) => one.value() == other.value(),
        (Array(one), Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        _ => false,
    }
}

/// Moves the comments above a table that was removed to the table that follows, or to the end: they may be
/// about what stands before them.
fn keep_comments(document: &mut DocumentMut, removed: &Table) {
    let above = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    if above.trim().is_empty() {
        return;
    }
    let after = removed.position();
    let mut next = None;
    following(document.as_table(), after, &mut next);
    if let Some(position) = next
        && let Some(table) = at(document.as_table_mut(), position)
    {
        let own = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let both = format!("{above}{own}");
        table.decor_mut().set_prefix(both);
    } else {
        let both = format!("{above}{}", document.trailing().as_str().unwrap_or_default());
        document.set_trailing(both);
    }
}

/// Finds the first position after one.
fn following(table: &Table, after: Option<isize>, next: &mut Option<isize>) {
    for (_, item) in table {
        let inner: Vec<&Table> = match item {
            Item::Table(inner) => vec![inner],
            Item::ArrayOfTables(inner) => inner.iter().collect(),
            Item::None | Item::Value(_) => Vec::new(),
        };
        for inner in inner {
            let position = inner.position().filter(|_| !inner.is_implicit() && !inner.is_dotted());
            if position > after && (next.is_none() || position < *next) {
                *next = position;
            }
            following(inner, after, next);
        }
    }
}

fn at(table: &mut Table, position: isize) -> Option<&mut Table> {
    for (_, item) in table.iter_mut() {
        let inner: Vec<&mut Table> = match item {
            Item::Table(inner) => vec![inner],
            Item::ArrayOfTables(inner) => inner.iter_mut().collect(),
            Item::None | Item::Value(_) => Vec::new(),
        };
        for inner in inner {
            if inner.position() == Some(position) && !inner.is_implicit() {
                return Some(inner);
            }
            if let Some(found) = at(inner, position) {
                return Some(found);
            }
        }
    }
    None
}

/// Returns `text` with the lines that `edited` has otherwise. Fails where printing alone changes lines.
fn merged(text: &str, edited: &str) -> Result<String, Refusal> {
    let old: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = old.iter().map(|line| line.trim_end_matches(['\r', '\n'])).collect();
    let printed = parsed(text)?.to_string();
    if printed == edited {
        return Ok(text.to_owned());
    }
    if printed.lines().ne(bare.iter().copied()) {
        let reason = "has keys of one table in several places, which cannot be edited safely";
        return Err(Refusal::new(reason));
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let new: Vec<&str> = edited.lines().collect();
    let mut whole = String::new();
    for change in capture_diff_slices(Algorithm::Myers, &bare, &new) {
        if let DiffOp::Equal { old_index, len, .. } = change {
            whole.extend(old.iter().skip(old_index).take(len).copied());
            continue;
        }
        for line in new.get(change.new_range()).unwrap_or_default() {
            if !whole.is_empty() && !whole.ends_with('\n') {
                whole += end;
            }
            whole += line;
            whole += end;
        }
    }
    parsed(&whole)?;
    Ok(whole)
}
