//! Edits one server in TOML. The `toml_edit` library prints a whole document, at times with other
//! line ends and another order, so only the lines that it changed are used.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::{EditRefusal, EntryMembers, EntryValue, NAME, TRANSPORT};

pub(super) fn add_server(
    text: &str,
    section: &str,
    entry: &EntryMembers,
) -> Result<String, EditRefusal> {
    let mut document = parse_document(text)?;
    let is_inline = match document.get(section) {
        None => return append_table(text, section, entry),
        Some(Item::Table(servers)) if !servers.contains_key(NAME) => {
            return append_table(text, section, entry);
        }
        Some(servers) => servers.as_value().is_some(),
    };
    let refused =
        || EditRefusal::new(format!("is of another form than expected: `{section}` is no table"));
    let servers =
        document.get_mut(section).and_then(Item::as_table_like_mut).ok_or_else(refused)?;
    match servers.get_mut(NAME).map(Item::as_table_like_mut) {
        Some(Some(server)) => update_table(server, entry),
        Some(None) => return Err(EditRefusal::new(format!("has `{NAME}`, which is no table"))),
        None if is_inline => {
            let mut server = InlineTable::new();
            update_table(&mut server, entry);
            servers.insert(NAME, value(server));
        }
        None => return Err(refused()),
    }
    merge_lines(text, &document.to_string())
}

pub(super) fn remove_server(text: &str, section: &str) -> Result<String, EditRefusal> {
    let mut document = parse_document(text)?;
    let servers = document.get_mut(section).and_then(Item::as_table_like_mut);
    let is_ours = |servers: &&mut dyn TableLike| servers.get(NAME).is_some_and(Item::is_table_like);
    let Some(removed) = servers.filter(is_ours).and_then(|servers| servers.remove(NAME)) else {
        return Ok(text.to_owned());
    };
    if let Item::Table(removed) = &removed {
        keep_comments(&mut document, removed);
    }
    merge_lines(text, &document.to_string())
}

fn parse_document(text: &str) -> Result<DocumentMut, EditRefusal> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        EditRefusal::new(format!("is not TOML: {}", error.to_string().trim_end()))
    })
}

/// Returns `text` with a table at its end, where every document allows one.
fn append_table(text: &str, section: &str, entry: &EntryMembers) -> Result<String, EditRefusal> {
    let mut server = Table::new();
    update_table(&mut server, entry);
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut result = text.to_owned();
    if !text.is_empty() {
        result += if text.ends_with('\n') { "" } else { end };
        result += end;
    }
    let block = format!("[{section}.{NAME}]\n{server}");
    result += &block.replace('\n', end);
    parse_document(&result)?;
    Ok(result)
}

fn update_table(server: &mut dyn TableLike, entry: &EntryMembers) {
    for name in TRANSPORT {
        if !entry.iter().any(|(wanted, _)| *wanted == name) {
            server.remove(name);
        }
    }
    for (name, wanted) in entry {
        let mut wanted = to_toml_value(wanted);
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

fn to_toml_value(wanted: &EntryValue) -> toml_edit::Value {
    match wanted {
        EntryValue::Text(text) => text.as_str().into(),
        EntryValue::Number(number) => i64::from(*number).into(),
        EntryValue::Yes => true.into(),
        EntryValue::List(texts) => texts.iter().map(String::as_str).collect::<Array>().into(),
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

/// Moves comments above a removed table to the next table or the end; they may describe other text.
fn keep_comments(document: &mut DocumentMut, removed: &Table) {
    let above = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    if above.trim().is_empty() {
        return;
    }
    let after = removed.position();
    let mut next = None;
    find_next_position(document.as_table(), after, &mut next);
    if let Some(position) = next
        && let Some(table) = find_table_at(document.as_table_mut(), position)
    {
        let own = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let both = format!("{above}{own}");
        table.decor_mut().set_prefix(both);
    } else {
        let both = format!("{above}{}", document.trailing().as_str().unwrap_or_default());
        document.set_trailing(both);
    }
}

fn find_next_position(table: &Table, after: Option<isize>, next: &mut Option<isize>) {
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
            find_next_position(inner, after, next);
        }
    }
}

fn find_table_at(table: &mut Table, position: isize) -> Option<&mut Table> {
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
            if let Some(found) = find_table_at(inner, position) {
                return Some(found);
            }
        }
    }
    None
}

/// Returns `text` with the lines that `edited` changed. Fails if printing alone changes lines.
fn merge_lines(text: &str, edited: &str) -> Result<String, EditRefusal> {
    let old: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = old.iter().map(|line| line.trim_end_matches(['\r', '\n'])).collect();
    let printed = parse_document(text)?.to_string();
    if printed == edited {
        return Ok(text.to_owned());
    }
    if printed.lines().ne(bare.iter().copied()) {
        let reason = "has keys of one table in several places, which cannot be edited safely";
        return Err(EditRefusal::new(reason));
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let new: Vec<&str> = edited.lines().collect();
    let mut result = String::new();
    for change in capture_diff_slices(Algorithm::Myers, &bare, &new) {
        if let DiffOp::Equal { old_index, len, .. } = change {
            result.extend(old.iter().skip(old_index).take(len).copied());
            continue;
        }
        for line in new.get(change.new_range()).unwrap_or_default() {
            if !result.is_empty() && !result.ends_with('\n') {
                result += end;
            }
            result += line;
            result += end;
        }
    }
    parse_document(&result)?;
    Ok(result)
}
