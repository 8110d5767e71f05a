//! Finds private keys in PEM blocks, in files of their own, in string literals and in examples.

use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};

use super::{shape, token::next_line};

/// Bytes after the first line of a key that are searched for its body.
const BODY_WINDOW: usize = 400;
/// Base64 characters that make a run the body of a key after a first line.
const BODY_RUN: usize = 20;
/// Base64 characters of mixed case and with digits that make a run the body of a key in any place.
const LONG_RUN: usize = 40;
/// Maximum bytes of a key. The longest keys in use have a fifth of it.
const MAX_BLOCK: usize = 64 * 1024;
/// Minimum bytes of a run of base64, unless it ends with `=`. Shorter runs are words of the code
/// around a key.
const MIN_RUN: usize = 12;

/// Starts of the bodies of private keys in base64: the lengths of their DER, or the name of the
/// OpenSSH format.
pub(super) const BODIES: &[&str] = &["MII", "MIG", "MHcCAQ", "MHQCAQ", "MC4CAQ", OPENSSH];
const OPENSSH: &str = "b3BlbnNzaC1rZXkt";
/// Minimum bytes of the first line of a body.
const FIRST_LINE: usize = 60;

/// Start of the first line of a block.
pub(super) const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Returns whether the text contains a private key. Code that only names the first line of a key
/// does not.
pub(super) fn holds_key(text: &str) -> bool {
    text.split(BEGIN).skip(1).any(|rest| strip_key_header(rest).is_some())
}

/// Adds the parts of the private key whose [`BEGIN`] is at `at`, each within a line.
pub(super) fn find_key_parts(text: &str, at: usize, into: &mut Vec<Range<usize>>) {
    let Some(body) = text.get(at + BEGIN.len()..).and_then(strip_key_header) else { return };
    let start = text.len() - body.len();
    let near = body.split_at(body.floor_char_boundary(MAX_BLOCK)).0;
    let block = near.split_once(END).map_or(near, |(block, _)| block).as_bytes();
    let mut from = 0;
    while from < block.len() {
        let run = block.iter().skip(from).take_while(|byte| is_base64(**byte)).count();
        let ends_as_base64 = block.get(from..from + run).is_some_and(|run| run.ends_with(b"="));
        if MIN_RUN <= run || (1 < run && ends_as_base64) {
            into.push(start + from..start + from + run);
        }
        // The letter of an escape such as `\n` is not part of the next run.
        let is_escape = block.get(from + run) == Some(&b'\\');
        from += run + if is_escape { 2 } else { 1 };
    }
}

/// Adds the lines of the private key whose body starts at `at`, without a first line before it.
pub(super) fn find_body(text: &[u8], at: usize, into: &mut Vec<Range<usize>>) {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    let is_inside = before.is_some_and(|byte| is_base64(*byte) && *byte != b'=');
    let head = text.get(at..at + FIRST_LINE).unwrap_or_default();
    let is_key = starts_private_key(head) && head.iter().all(|byte| is_base64(*byte));
    if is_inside || !is_key || !shape::is_varied(head) {
        return;
    }
    let (mut start, mut length) = (at, line_length(text, at));
    let end = at + MAX_BLOCK;
    while MIN_RUN <= length
        || text.get(start..start + length).is_some_and(|run| run.ends_with(b"="))
    {
        into.push(start..start + length);
        let Some(next) = next_line(text, start + length).filter(|next| *next < end) else { return };
        (start, length) = (next, line_length(text, next));
    }
}

fn line_length(text: &[u8], at: usize) -> usize {
    text.get(at..).unwrap_or_default().iter().take_while(|byte| is_base64(**byte)).count()
}

/// Returns whether base64 starts like a private key: a sequence whose first member is the version 0
/// or 1.
///
/// Certificates and public keys start with another sequence.
fn starts_private_key(body: &[u8]) -> bool {
    if body.starts_with(OPENSSH.as_bytes()) {
        return true;
    }
    let decoded = body.get(..16).and_then(|start| STANDARD_NO_PAD.decode(start).ok());
    let Some(
        [0x30, 0x82, _, _, version @ ..] | [0x30, 0x81, _, version @ ..] | [0x30, _, version @ ..],
    ) = decoded.as_deref()
    else {
        return false;
    };
    matches!(version, [2, 1, 0 | 1, ..])
}

/// Returns the text after the first line of a private key, if its label and its body match.
fn strip_key_header(rest: &str) -> Option<&str> {
    let (label, body) = rest.split_once("-----")?;
    let is_private = label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK");
    (is_private && starts_key_body(body)).then_some(body)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Returns whether a key follows: base64 on the next line (possibly written as `\n`), or a long run
/// of base64 further on.
///
/// Placeholders do not count: keys cut short by dots, examples marked as such, one letter repeated.
fn starts_key_body(body: &str) -> bool {
    let after_header = body.trim_start_matches([' ', '\t', '\r']);
    let line_ends = ["\n", "\\n", "\\r\\n", "\\\\n"];
    let next_line = line_ends.iter().find_map(|end| after_header.strip_prefix(end));
    let (text, min_run) = next_line.map_or((after_header, LONG_RUN), |line| (line, BODY_RUN));
    let (window, _) = text.split_at(text.floor_char_boundary(BODY_WINDOW));
    let block = window.split_once(END).map_or(window, |(block, _)| block);
    if block.contains("...") || block.contains("EXAMPLE") {
        return false;
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let runs = block.split(|c: char| !is_base64(c)).filter(|run| run.len() >= min_run);
    let mut starts = runs.filter_map(|run| run.as_bytes().get(..min_run));
    starts.any(|run| {
        let has_digit = run.iter().any(u8::is_ascii_digit);
        shape::is_varied(run) && (min_run == BODY_RUN || (has_digit && shape::is_random(run)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_code_is_found_without_the_code_around_it() {
        for (text, rest) in [
            (
                "let key = \"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nab3d==\n-----END PRIVATE KEY-----\";\nnext();\n",
                "let key = \"-----BEGIN PRIVATE KEY-----\n@\n@\n-----END PRIVATE KEY-----\";\nnext();\n",
            ),
            (
                r#"k = "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nQEFAASCMIIEvQIBAD7x\n-----END RSA PRIVATE KEY-----";"#,
                r#"k = "-----BEGIN RSA PRIVATE KEY-----\n@\n@\n-----END RSA PRIVATE KEY-----";"#,
            ),
            (
                "K = \"-----BEGIN EC PRIVATE KEY-----\" +\n  \"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCMIIEvQIBAD7x\" + EOL +\n",
                "K = \"-----BEGIN EC PRIVATE KEY-----\" +\n  \"@\" + EOL +\n",
            ),
            ("if line == \"-----BEGIN PRIVATE KEY-----\" { parse_the_key_body() }", ""),
        ] {
            let mut found = Vec::new();
            find_key_parts(text, text.find(BEGIN).unwrap(), &mut found);
            let mut left = text.to_owned();
            for secret in found.into_iter().rev() {
                left.replace_range(secret, "@");
            }
            assert_eq!(left, if rest.is_empty() { text } else { rest });
            assert!(!holds_key(&left));
        }
    }
}
