//! Renders the definitions of a file or folder as text for models.

use std::fmt::Write;

use crate::{FolderMember, FolderOutline, Outline, OutlineEntry};
use codeinfo_core::{MAX_TOOL_TEXT_BYTES, count_things, plain_line, plain_name};

const MAX_NAME_CHARS: usize = 60;
const MAX_PATH_CHARS: usize = 500;
/// Maximum bytes of a line that describes a file.
const MAX_ABOUT_BYTES: usize = 160;
const RESERVE: usize = 2200;
/// Maximum bytes of a definition's head, and maximum names of a file ([`NAMES`]): the first that
/// make everything fit.
const HEAD_BYTES: [usize; 3] = [200, 100, SHORT_HEAD];
const SHORT_HEAD: usize = 60;
const NAMES: [usize; 4] = [12, 6, 3, 1];
/// Maximum folders named for files that are not shown; [`RESERVE`] has room for [`OTHERS_BYTES`].
const MAX_OTHERS: usize = 12;
const OTHERS_BYTES: usize = 400;
/// Maximum characters of the line that describes what the index leaves out.
const LEFT_OUT_CHARS: usize = 400;

/// Renders definitions of a file with their lines, or the files of a folder with what they define.
pub fn render_outline(outline: &Outline) -> String {
    match outline {
        Outline::File { file: named, language, lines, definitions } => {
            let path = plain_name(&named.path, MAX_PATH_CHARS);
            let language_name = language.as_deref().unwrap_or("plain text");
            let lines = count_things(u64::from(*lines), "line");
            let count = count_things(definitions.len() as u64, "definition");
            render_file(&format!("{path}: {language_name}, {lines}, {count}\n"), definitions)
        }
        Outline::Folder(found) => render_folder(found),
    }
}

/// Renders a line per definition: range and indented head. Drops inner ones first, then the last.
fn render_file(header: &str, all: &[OutlineEntry]) -> String {
    let max_bytes = MAX_TOOL_TEXT_BYTES.saturating_sub(header.len() + RESERVE);
    let deepest = all.iter().map(|entry| entry.depth).max().unwrap_or(0);
    if let Some(lines) =
        HEAD_BYTES.iter().find_map(|bytes| render_to_depth(all, deepest, *bytes, max_bytes))
    {
        return finish_listing(header, &lines, 0, None);
    }
    let narrow = |depth: usize| render_to_depth(all, depth, SHORT_HEAD, max_bytes);
    let depths: Vec<usize> = (0..deepest).collect();
    let fitting = depths.partition_point(|depth| narrow(*depth).is_some());
    if let Some(lines) = fitting.checked_sub(1).and_then(narrow) {
        return finish_listing(header, &lines, all.len() - lines.len(), None);
    }
    let mut left = max_bytes;
    let outer = all.iter().filter(|entry| entry.depth == 0);
    let lines = outer.map(|entry| (entry.last, render_entry(entry, SHORT_HEAD)));
    let fits = lines.take_while(|(_, line)| {
        let rest = left.checked_sub(line.len());
        left = rest.unwrap_or(0);
        rest.is_some()
    });
    let (lasts, lines): (Vec<u32>, Vec<String>) = fits.unzip();
    finish_listing(header, &lines, all.len() - lines.len(), lasts.last().copied())
}

/// Renders the definitions down to a depth; `None` if they have more than `max_bytes` bytes.
fn render_to_depth(
    all: &[OutlineEntry],
    depth: usize,
    head: usize,
    max_bytes: usize,
) -> Option<Vec<String>> {
    let mut left = max_bytes;
    let shown = all.iter().filter(|entry| entry.depth <= depth);
    let fits = shown.map(|entry| {
        let line = render_entry(entry, head);
        left = left.checked_sub(line.len())?;
        Some(line)
    });
    fits.collect()
}

fn render_entry(entry: &OutlineEntry, max_bytes: usize) -> String {
    let OutlineEntry { first, last, head, .. } = entry;
    let range = if first == last { first.to_string() } else { format!("{first}-{last}") };
    let (shown, cut) = head.split_at(head.floor_char_boundary(max_bytes));
    let more = if cut.is_empty() { "" } else { " ⋯" };
    format!("{range}|{}{more}\n", plain_line(shown))
}

fn finish_listing(header: &str, lines: &[String], left_out: usize, until: Option<u32>) -> String {
    let mut text = header.to_owned() + &lines.concat();
    match (left_out, until) {
        (0, _) => {}
        (count, None) => {
            let _ = write!(text, "({count} inner definitions left out)");
        }
        (count, Some(line)) => {
            let _ = write!(
                text,
                "({count} definitions left out, inner ones and those after line {line})"
            );
        }
    }
    text.trim_end().to_owned()
}

/// Renders a line for each file and for what describes it, then the folders with more files.
fn render_folder(found: &FolderOutline) -> String {
    let path = plain_name(&found.path, MAX_PATH_CHARS);
    let header = |shown: usize| {
        let all = if shown == found.files { "all".to_owned() } else { shown.to_string() };
        format!(
            "{path}: {}, {all} shown with what they define\n",
            count_things(found.files as u64, "file")
        )
    };
    let max_bytes = MAX_TOOL_TEXT_BYTES.saturating_sub(header(usize::MAX).len() + RESERVE);
    for names in NAMES {
        let lines: Vec<String> =
            found.members.iter().map(|one| render_member(one, names)).collect();
        if lines.iter().map(String::len).sum::<usize>() <= max_bytes {
            return append_left_out(
                found,
                header(lines.len()) + &lines.concat() + &describe_hidden_files(found, &[]),
            );
        }
    }
    // The files with the best rank, ordered by path.
    let mut by_rank: Vec<&FolderMember> = found.members.iter().collect();
    by_rank.sort_by_key(|member| member.rank);
    let mut left = max_bytes;
    let fits = by_rank.iter().take_while(|one| {
        let rest = left.checked_sub(render_member(one, 1).len());
        left = rest.unwrap_or(0);
        rest.is_some()
    });
    let fitting = fits.count();
    let (shown, dropped): (Vec<&FolderMember>, Vec<&FolderMember>) =
        found.members.iter().partition(|member| member.rank < fitting);
    let lines: String = shown.iter().map(|one| render_member(one, 1)).collect();
    append_left_out(found, header(shown.len()) + &lines + &describe_hidden_files(found, &dropped))
}

fn append_left_out(found: &FolderOutline, text: String) -> String {
    if found.left_out.is_empty() {
        return text;
    }
    let left_out = plain_name(&found.left_out, LEFT_OUT_CHARS);
    format!("{}\n(left out of the index: {left_out})", text.trim_end())
}

fn render_member(member: &FolderMember, max_names: usize) -> String {
    let path = plain_name(&member.path, MAX_PATH_CHARS);
    let plain_names =
        member.names.iter().take(max_names).map(|name| plain_name(name, MAX_NAME_CHARS));
    let names: Vec<String> = plain_names.collect();
    let more = match member.names.len().saturating_sub(max_names) {
        0 => String::new(),
        more => format!(", {more} more"),
    };
    let sign = if names.is_empty() { "" } else { ": " };
    let about = member.about.as_ref().map(|(line, text)| {
        let text = plain_line(text.trim());
        format!(
            "{line}|{}\n",
            text.get(..text.floor_char_boundary(MAX_ABOUT_BYTES)).unwrap_or_default()
        )
    });
    format!(
        "{path} ({}){sign}{}{more}\n{}",
        member.lines,
        names.join(", "),
        about.unwrap_or_default()
    )
}

/// Returns one line with the folders of files that are not shown.
fn describe_hidden_files(found: &FolderOutline, dropped: &[&FolderMember]) -> String {
    let mut others = found.others.clone();
    for member in dropped {
        let part = member.path.split_inclusive('/').next().unwrap_or_default();
        match others.iter_mut().find(|(name, _)| name == part) {
            Some((_, count)) => *count += 1,
            None => others.push((part.to_owned(), 1)),
        }
    }
    if others.is_empty() {
        return String::new();
    }
    others.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut left = OTHERS_BYTES;
    let named = others.iter().take(MAX_OTHERS).map(|(name, count)| match count {
        1 => plain_name(name, MAX_NAME_CHARS),
        count => format!("{} {count}", plain_name(name, MAX_NAME_CHARS)),
    });
    let fits = named.take_while(|name| {
        let rest = left.checked_sub(name.len() + 2);
        left = rest.unwrap_or(0);
        rest.is_some()
    });
    let named: Vec<String> = fits.collect();
    let more = if others.len() > named.len() { ", …" } else { "" };
    format!("(not shown: {}{more}; call Outline for a folder)", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(depth: usize, head: &str) -> OutlineEntry {
        let first = u32::try_from(depth).unwrap() + 1;
        OutlineEntry { first, last: first + 1, depth, head: head.to_owned() }
    }

    #[test]
    fn deep_definitions_are_reduced_to_outer_ones() {
        let deep: Vec<OutlineEntry> =
            (0..200_000).map(|depth| entry(depth, "function a(){")).collect();
        let text = render_file("deep.js\n", &deep);
        let shown = text.lines().count() - 2;
        assert!(text.len() < MAX_TOOL_TEXT_BYTES && shown > 400, "{} bytes, {shown}", text.len());
        assert!(text.ends_with(&format!("({} inner definitions left out)", 200_000 - shown)));
        let wide: Vec<OutlineEntry> = (0..1000).map(|at| entry(at % 2, &"a".repeat(50))).collect();
        assert!(
            render_file("wide.js\n", &wide).contains(" definitions left out, inner ones and those")
        );
    }

    #[test]
    fn long_names_fit_a_reply() {
        let name = |at: usize| format!("{at}{}", "🦓".repeat(70));
        let others: Vec<(String, usize)> = (10..30).map(|at| (name(at) + "/", at)).collect();
        let one = |rank: usize| FolderMember {
            path: name(rank),
            lines: 1,
            names: vec![name(1)],
            rank,
            landmark: None,
            about: None,
        };
        let members = (0..150).map(one).collect();
        let left_out = "🦓".repeat(1000);
        let found = FolderOutline { path: name(0), files: 1000, members, others, left_out };
        let text = render_folder(&found);
        assert!(text.len() <= MAX_TOOL_TEXT_BYTES, "{} bytes", text.len());
        assert!(text.contains("(not shown: 29🦓"), "{text}");
        assert!(text.contains(", …; call Outline for a folder)\n(left out"), "{text}");
    }
}
