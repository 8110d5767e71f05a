//! Private keys in PEM blocks, wherever they stand: alone in a file, in a string of code, in an example.

use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};

use super::{shape, token::next_line};

/// How far after a key's first line its body is looked for, in bytes.
const BODY_WINDOW: usize = 400;
/// A run of this many base64 characters is the body of a key.
const BODY_RUN: usize = 20;
/// A run of this many, of mixed cases and with digits, is one whatever stands before it.
const LONG_RUN: usize = 40;
/// How far a key goes on at most, in bytes. The longest in use has a fifth.
const MAX_BLOCK: usize = 64 * 1024;
/// Shorter runs are words of the code around a key, unless they end as base64 does.
const MIN_RUN: usize = 12;

/// How the bodies of private keys start in base64: the lengths of their DER, or the name of OpenSSH's format.
pub(super) const BODIES: &[&str] = &["MII", "MIG", "MHcCAQ", "MHQCAQ", "MC4CAQ", OPENSSH];
const OPENSSH: &str = "b3BlbnNzaC1rZXkt";
/// The first line of a body is at least as long, in bytes.
const FIRST_LINE: usize = 60;

/// Starts the first line of a block.
pub(super) const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Whether the text holds a private key. Code that merely names the first line of a key, to look for it, holds none.
pub(super) fn holds_key(text: &str) -> bool {
    text.split(BEGIN).skip(1).any(|rest| strip_key_header(rest).is_some())
}

/// Adds where the parts of a private key stand whose [`BEGIN`] is at `at`, each within a line.
pub(super) fn find_key_parts(text: &str, at: usize, into: &mut Vec<Range<usize>>) {
    let Some(body) = text.get(at + BEGIN.len()..).and_then(strip_key_header) else { return };
    let start = text.len() - body.len();
    let block = body.split_at(body.floor_char_boundary(MAX_BLOCK)).0;
    let block = block.split_once(END).map_or(block, |(block, _)| block).as_bytes();
    let mut from = 0;
    while from < block.len() {
        let run = block.iter().skip(from).take_while(|byte| is_base64(**byte)).count();
        let ends_as_base64 = block.get(from..from + run).is_some_and(|run| run.ends_with(b"="));
        if MIN_RUN <= run || (1 < run && ends_as_base64) {
            into.push(start + from..start + from + run);
        }
        // The letter of an escape such as `\n` is no part of the next run.
        let is_escape = block.get(from + run) == Some(&b'\\');
        from += run + if is_escape { 2 } else { 1 };
    }
}

/// Adds where the lines of a private key stand whose body starts at `at` without a first line before it.
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

/// Returns the length of the base64 at `at`.
fn line_length(text: &[u8], at: usize) -> usize {
    text.get(at..).unwrap_or_default().iter().take_while(|byte| is_base64(**byte)).count()
}

/// Whether base64 starts as a private key does: a sequence whose first member is the version 0 or 1. Certificates
/// and public keys start with another sequence.
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

/// Returns what follows the first line of a private key, where its label is given and a key follows.
fn strip_key_header(rest: &str) -> Option<&str> {
    let (label, body) = rest.split_once("-----")?;
    let is_private = label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK");
    (is_private && starts_key_body(body)).then_some(body)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// A key continues on the next line (which may be written `\n`) with base64, or wherever a long run of
/// base64 follows, unless it stands for a key: cut short by dots, an example by its own words, one letter
/// over and over.
fn starts_key_body(body: &str) -> bool {
    let body = body.trim_start_matches([' ', '\t', '\r']);
    let lines = ["\n", "\\n", "\\r\\n", "\\\\n"];
    let next = lines.iter().find_map(|line| body.strip_prefix(line));
    let (body, wanted) = next.map_or((body, LONG_RUN), |body| (body, BODY_RUN));
    let (body, _) = body.split_at(body.floor_char_boundary(BODY_WINDOW));
    let body = body.split_once("-----END ").map_or(body, |(body, _)| body);
    if body.contains("...") || body.contains("EXAMPLE") {
        return false;
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let runs = body.split(|c: char| !is_base64(c)).filter(|run| run.len() >= wanted);
    let mut runs = runs.filter_map(|run| run.as_bytes().get(..wanted));
    runs.any(|run| {
        let has_digit = run.iter().any(u8::is_ascii_digit);
        shape::is_varied(run) && (wanted == BODY_RUN || (has_digit && shape::is_random(run)))
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
