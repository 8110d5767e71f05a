//! Finds secrets identified by their parent key: `credentials:`, `[passwords]`, `"secrets": {`.

use std::ops::Range;

use super::judge::{DetectionMode, SecretKind, is_secret};

/// Words at the end of group names.
pub(super) const WORDS: &[&str] =
    &["credentials", "creds", "passwords", "secrets", "tokens", "api_keys", "apikeys", "api-keys"];

/// Names of passwords that are too short to count outside of a group.
const SHORT: &[&str] = &["key", "p", "pass", "password", "phrase", "pin", "pw", "pwd"];
/// Last words of names of values that accompany a secret.
const BESIDE: &[&str] = &[
    "id", "ref", "version", "digest", "sha", "sha256", "checksum", "path", "file", "url", "uri",
    "type", "name", "user", "username", "email", "host", "region", "uuid", "kind", "revision",
    "commit",
];
/// Name given to unnamed values of a list.
const LISTED: &str = "item";
/// Separators of the items of a list in brackets.
const ITEMS: &[char] = &['\n', ','];
/// Maximum bytes of a line that are read before a word.
const MAX_LINE: usize = 256;
/// Maximum bytes of a list.
const MAX_LIST: usize = 2048;
/// Maximum bytes and lines of a group.
const NEAR: (usize, usize) = (8 * 1024, 100);

/// Adds the secrets of the group whose name ends with `word`.
pub(super) fn find_group_secrets(text: &str, word: Range<usize>, into: &mut Vec<Range<usize>>) {
    let is_passwords =
        text.get(word.clone()).is_some_and(|word| word.eq_ignore_ascii_case("passwords"));
    let Some((mut start, body, parts)) = find_group_body(text, word) else { return };
    let is_list = parts == ITEMS;
    for piece in body.split_inclusive(parts) {
        let pair = piece.trim_end_matches(parts);
        let item = pair.trim_start().strip_prefix("- ").or(is_list.then_some(pair));
        let named = item.filter(|item| !item.contains(": ")).map(|value| (LISTED, value));
        if let Some((name, value)) = named.or_else(|| pair.split_once([':', '='])) {
            let started = value.trim_start_matches(is_around);
            let before_comment = started.split_once(" #").map_or(started, |(value, _)| value);
            let bare = before_comment.trim_end_matches(is_around);
            let family = guess_secret_kind(name, is_passwords);
            if family.is_some_and(|family| is_secret(bare, family, DetectionMode::Data)) {
                let from = start + pair.len() - started.len();
                into.push(from..from + bare.len());
            }
        }
        start += piece.len();
    }
}

fn is_around(c: char) -> bool {
    c.is_whitespace() || "\"'".contains(c)
}

/// Returns the kind of secret that a name may have as its value, if any.
fn guess_secret_kind(name: &str, is_passwords: bool) -> Option<SecretKind> {
    let lower = name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
    let last = lower.rsplit(['_', '-', '.']).next().unwrap_or_default();
    if lower.contains(char::is_whitespace) || BESIDE.contains(&last) || lower.ends_with("id") {
        return None;
    }
    let is_password = is_passwords || SHORT.contains(&last);
    Some(if is_password { SecretKind::Password } else { SecretKind::Token })
}

/// Returns the offset of the pairs of a group, their text and their separators.
fn find_group_body(text: &str, word: Range<usize>) -> Option<(usize, &str, &'static [char])> {
    let near = text.floor_char_boundary(word.end + NEAR.0);
    let rest = text.get(word.end..near)?;
    let from = text.ceil_char_boundary(word.start.saturating_sub(MAX_LINE));
    let (first_line, below) = rest.split_once('\n').unwrap_or((rest, ""));
    let head = first_line.trim_end();
    let line = text.get(from..word.start)?.rsplit('\n').next()?;
    if head == "]" && line.trim_start().starts_with('[') {
        let is_empty = below.starts_with('[');
        let pairs = below.split("\n[").next()?;
        return (!is_empty).then_some((near - below.len(), pairs, &['\n']));
    }
    let after_name = head.trim_start_matches(['"', '\'']).trim_start();
    let sign = after_name.strip_prefix([':', '='])?.trim();
    if sign.starts_with('[') {
        let (list, _) = rest.split_at(rest.floor_char_boundary(MAX_LIST));
        let end = word.end + list.len();
        let (_, inner) = list.split_once('[')?;
        return Some((end - inner.len(), inner.split(']').next()?, ITEMS));
    }
    if sign.starts_with('{') {
        let (_, inner) = rest.split_once('{')?;
        return Some((near - inner.len(), inner.split('}').next()?, &['\n', ',', '{']));
    }
    if !sign.is_empty() && !sign.starts_with('#') {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let own = indent(line);
    let near_lines = below.split_inclusive('\n').take(NEAR.1);
    let group_lines = near_lines.take_while(|line| line.trim().is_empty() || indent(line) > own);
    let (pairs, _) = below.split_at_checked(group_lines.map(str::len).sum())?;
    Some((near - below.len(), pairs, &['\n']))
}
