//! Values that are secrets as what they stand under says so: `credentials:`, `[passwords]`, `"secrets": {`.

use std::ops::Range;

use super::judge::{Family, Reading, is_secret};

/// Words that names of such groups end with.
pub(super) const WORDS: &[&str] = &["credentials", "creds", "passwords", "secrets"];

/// Names of passwords that are too short to be one elsewhere.
const SHORT: &[&str] = &["key", "p", "pass", "password", "phrase", "pin", "pw", "pwd"];
/// Parts of names of what stands beside a secret.
const BESIDE: &[&str] = &[
    "id", "ref", "version", "digest", "sha", "sha256", "checksum", "path", "file", "url", "uri",
    "type", "name", "user", "username", "email", "host", "region", "uuid", "kind", "revision",
    "commit",
];
/// How much of a group is read, in bytes and lines.
const NEAR: (usize, usize) = (8 * 1024, 100);

/// Adds the secrets of the group whose name ends with `word`.
pub(super) fn find(text: &str, word: Range<usize>, into: &mut Vec<Range<usize>>) {
    let is_passwords =
        text.get(word.clone()).is_some_and(|word| word.eq_ignore_ascii_case("passwords"));
    let Some((body, parts)) = body(text, word) else { return };
    let inner = text.get(body.clone()).unwrap_or_default();
    let mut start = body.start;
    for piece in inner.split_inclusive(parts) {
        let pair = piece.trim_end_matches(parts);
        if let Some((name, value)) = pair.split_once([':', '=']) {
            let bare = value.trim_matches(|c: char| c.is_whitespace() || "\"'".contains(c));
            let bare =
                bare.split(" #").next().unwrap_or_default().trim_end_matches(['"', '\'', ' ']);
            let family = family(name, is_passwords);
            if family.is_some_and(|family| is_secret(bare, family, Reading::Data)) {
                let from = start + name.len() + 1 + value.find(bare).unwrap_or_default();
                into.push(from..from + bare.len());
            }
        }
        start += piece.len();
    }
}

/// Returns what the value of a name may be, if it may be a secret.
fn family(name: &str, is_passwords: bool) -> Option<Family> {
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
    let last = name.rsplit(['_', '-', '.']).next().unwrap_or_default();
    if name.contains(char::is_whitespace) || BESIDE.contains(&last) || name.ends_with("id") {
        return None;
    }
    let is_password = is_passwords || SHORT.contains(&last);
    Some(if is_password { Family::Password } else { Family::Token })
}

/// Returns where the pairs of a group stand, and what parts them.
fn body(text: &str, word: Range<usize>) -> Option<(Range<usize>, &'static [char])> {
    let near = text.floor_char_boundary(word.end + NEAR.0);
    let rest = text.get(word.end..near)?;
    let head = rest.lines().next()?.trim_end();
    let from = word.end + rest.find('\n').map_or(rest.len(), |end| end + 1);
    let rest_of_lines = text.get(from..near).unwrap_or_default();
    let line_start = text.get(..word.start)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(line_start..word.start)?;
    if head == "]" && line.trim_start().starts_with('[') {
        let length = rest_of_lines.find("\n[").unwrap_or(rest_of_lines.len());
        let is_empty = rest_of_lines.starts_with('[');
        return (!is_empty).then_some((from..from + length, &['\n']));
    }
    let after_name = head.trim_start_matches(['"', '\'']).trim_start();
    let sign = after_name.strip_prefix([':', '='])?.trim();
    if sign.starts_with('{') {
        let open = word.end + rest.find('{')? + 1;
        let length = text.get(open..near)?.find('}').unwrap_or(near.saturating_sub(open));
        return Some((open..open + length, &['\n', ',', '{']));
    }
    if !sign.is_empty() && !sign.starts_with('#') {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let own = indent(line);
    let lines = rest_of_lines.split_inclusive('\n').take(NEAR.1);
    let lines = lines.take_while(|line| line.trim().is_empty() || indent(line) > own);
    Some((from..from + lines.map(str::len).sum::<usize>(), &['\n']))
}
