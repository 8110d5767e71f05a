//! Finds private keys, and recognises files that are secrets by their content.

use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use codeinfo_lang::{
    Language, LanguageKind,
    languages::{data::YAML, prose::TEXT},
};

use super::{manifest, shape, token::next_line};

const MIN_DRAWN: usize = 16;
const SENTENCE_WORDS: usize = 4;

/// Returns whether the text is data with a private key, or nothing but secrets, such as a service
/// account's key or a cluster's credentials. In code and prose, a key is replaced instead.
pub(super) fn holds_secret(language: Option<&Language>, text: &str) -> bool {
    let has = |part: &str| text.contains(part);
    let is_object = text.trim_start().starts_with('{');
    let may_be_yaml = language.is_none_or(|language| [&YAML, &TEXT].contains(&language));
    (is_object && has("\"service_account\"") && has("\"private_key\""))
        || (is_object && has("\"terraform_version\"") && has("\"lineage\"") && has("\"serial\""))
        || (is_object && has("\"auths\"") && has("\"auth\""))
        || (may_be_yaml && holds_cluster_key(text))
        || ["PuTTY-User-Key-File-", "Private-Lines:"].iter().all(|head| begins_line(text, head))
        || (may_be_yaml && has("kind: Secret") && manifest::is_nothing_else(text))
        || (may_be_key_file(language) && holds_key(text))
}

fn begins_line(text: &str, head: &str) -> bool {
    text.match_indices(head).any(|(at, _)| at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'))
}

fn may_be_key_file(language: Option<&Language>) -> bool {
    language.is_none_or(|language| {
        matches!(language.kind, LanguageKind::Data | LanguageKind::Settings) || *language == TEXT
    })
}

/// Returns whether the text is a certificate or a public key, which anybody may read.
pub(super) fn is_certificate(text: &str) -> bool {
    const PUBLIC: [&str; 2] = ["CERTIFICATE-----", "PUBLIC KEY-----"];
    let mut heads = text.split(KEY_BEGIN).skip(1).peekable();
    let is_public = |head: &str| PUBLIC.iter().any(|label| head.contains(label));
    text.trim_start().starts_with(KEY_BEGIN) && heads.peek().is_some() && heads.all(is_public)
}

/// Returns whether the text is prose or code. Lists of secrets have few sentences.
pub(super) fn is_written(language: Option<&Language>, text: &str) -> bool {
    let may_be_list = language.is_none_or(|language| *language == TEXT);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let is_sentence = |line: &&str| SENTENCE_WORDS <= line.split_whitespace().count();
    !may_be_list || lines().count() <= 2 * lines().filter(is_sentence).count()
}

/// Returns whether the text has a long random-looking word, as keys without a telling name are.
pub(super) fn has_drawn_word(text: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "\"'`,;:=()[]{}<>|".contains(c);
    text.split(is_end).any(|word| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        MIN_DRAWN <= word.len()
            && 2 <= digits
            && word.is_ascii()
            && shape::is_random(word.as_bytes())
            && !shape::is_placeholder(word)
    })
}

fn holds_cluster_key(text: &str) -> bool {
    const KEYS: [&str; 3] = ["client-key-data:", "token:", "password:"];
    text.lines().any(|line| line.trim_end() == "kind: Config")
        && text.contains("clusters:")
        && text.contains("\nusers:")
        && text.lines().any(|line| KEYS.iter().any(|key| line.trim_start().starts_with(key)))
}

/// Bytes after the first line of a key that are searched for its body.
const BODY_WINDOW: usize = 400;
/// Base64 characters that make a run the body of a key after a first line.
const MIN_BODY_RUN: usize = 20;
/// Base64 characters of mixed case and with digits that make a run the body of a key in any place.
const MIN_LONG_RUN: usize = 40;
/// Maximum bytes of a key. The longest keys in use have a fifth of it.
const MAX_KEY_BYTES: usize = 64 * 1024;
/// Minimum bytes of a run of base64, unless it ends with `=`; shorter ones are words around a key.
const MIN_RUN: usize = 12;

/// Starts of private keys in base64: the lengths of their DER, or the name of the OpenSSH format.
pub(super) const KEY_BODY_STARTS: &[&str] =
    &["MII", "MIG", "MHcCAQ", "MHQCAQ", "MC4CAQ", OPENSSH_BODY];
const OPENSSH_BODY: &str = "b3BlbnNzaC1rZXkt";
/// Minimum bytes of the first line of a body.
const MIN_FIRST_LINE: usize = 60;

pub(super) const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";

/// Returns whether the text contains a private key, not only the first line of one.
pub(super) fn holds_key(text: &str) -> bool {
    text.split(KEY_BEGIN).skip(1).any(|rest| strip_key_header(rest).is_some())
}

/// Adds the parts of the private key whose [`KEY_BEGIN`] is at `at`, each within a line.
pub(super) fn find_key_parts(text: &str, at: usize, into: &mut Vec<Range<usize>>) {
    let Some(body) = text.get(at + KEY_BEGIN.len()..).and_then(strip_key_header) else { return };
    let start = text.len() - body.len();
    let near = body.split_at(body.floor_char_boundary(MAX_KEY_BYTES)).0;
    let block = near.split_once(KEY_END).map_or(near, |(block, _)| block).as_bytes();
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
pub(super) fn find_key_body(text: &[u8], at: usize, into: &mut Vec<Range<usize>>) {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    let is_inside = before.is_some_and(|byte| is_base64(*byte) && *byte != b'=');
    let head = text.get(at..at + MIN_FIRST_LINE).unwrap_or_default();
    let is_key = starts_private_key(head) && head.iter().all(|byte| is_base64(*byte));
    if is_inside || !is_key || !shape::is_varied(head) {
        return;
    }
    let (mut start, mut length) = (at, line_length(text, at));
    let end = at + MAX_KEY_BYTES;
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

/// Returns whether base64 is a DER sequence of version 0 or 1, unlike public keys and certificates.
fn starts_private_key(body: &[u8]) -> bool {
    if body.starts_with(OPENSSH_BODY.as_bytes()) {
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
/// further on, but no placeholder: cut short by dots, marked as example, one letter repeated.
fn starts_key_body(body: &str) -> bool {
    let after_header = body.trim_start_matches([' ', '\t', '\r']);
    let line_ends = ["\n", "\\n", "\\r\\n", "\\\\n"];
    let next_line = line_ends.iter().find_map(|end| after_header.strip_prefix(end));
    let (text, min_run) =
        next_line.map_or((after_header, MIN_LONG_RUN), |line| (line, MIN_BODY_RUN));
    let (window, _) = text.split_at(text.floor_char_boundary(BODY_WINDOW));
    let block = window.split_once(KEY_END).map_or(window, |(block, _)| block);
    if block.contains("...") || block.contains("EXAMPLE") {
        return false;
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let runs = block.split(|c: char| !is_base64(c)).filter(|run| run.len() >= min_run);
    let mut starts = runs.filter_map(|run| run.as_bytes().get(..min_run));
    starts.any(|run| {
        let has_digit = run.iter().any(u8::is_ascii_digit);
        shape::is_varied(run) && (min_run == MIN_BODY_RUN || (has_digit && shape::is_random(run)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeinfo_lang::detect::detect_by_path;

    #[test]
    fn code_and_prose_with_a_key_are_not_secret_as_a_whole() {
        let text = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n";
        for (path, is_secret) in
            [("a.rs", false), ("a.md", false), ("a.txt", true), ("a.json", true)]
        {
            assert_eq!(holds_secret(detect_by_path(path), text), is_secret, "{path}");
        }
    }

    #[test]
    fn certificates_alone_are_public() {
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n";
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n";
        assert!(is_certificate(certificate));
        assert!(!is_certificate(&[certificate, key].concat()) && !is_certificate("a: 1\n"));
    }

    #[test]
    fn lists_of_secrets_are_no_prose() {
        for (text, is_prose) in [
            ("Rotate them each month.\n\nAsk the team that owns them.\n", true),
            ("db: hunter2\nmail: swordfish\n", false),
            ("tr0ub4dor&3\n", false),
        ] {
            assert_eq!(is_written(Some(&TEXT), text), is_prose, "{text}");
        }
        assert!(has_drawn_word("key x7Kq2Lm9Zr4tY8wB1nV5cX3dQ6hJ0sF2\n"));
        assert!(!has_drawn_word("SMTP_PORT=25\nLOG_LEVEL=info # a_long_setting_name_2\n"));
    }

    #[test]
    fn private_keys_are_known_by_their_content() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
            "x = '''\n-----BEGIN RSA PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIC29\n-----END RSA PRIVATE KEY-----'''",
            "-----BEGIN OPENSSH_BODY PRIVATE KEY-----\r\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\r\n",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF9zV1kBCADDgYxNlFvjZ\n",
            r#"{"key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ"}"#,
            r#"{"type": "service_account", "private_key": "x"}"#,
            "KEY = \"-----BEGIN RSA PRIVATE KEY-----\" +\n \"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCMIIEvQIBAD7x\"",
            "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 8\nAAAA\n",
            r#"{"version": 4, "terraform_version": "1.9", "serial": 1, "lineage": "x"}"#,
            r#"{"auths": {"ghcr.io": {"auth": "eDp5"}}}"#,
            "kind: Config\nclusters: []\nusers:\n- user:\n    token: abc\n",
            "apiVersion: v1\nkind: Secret\ndata:\n  a: aHVudGVyMg==\n",
        ] {
            assert!(holds_secret(None, text), "{text}");
        }
    }

    #[test]
    fn code_that_names_a_key_header_holds_no_key() {
        for text in [
            "if line == \"-----BEGIN PRIVATE KEY-----\" { parse() }",
            "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
            "format!(\"-----BEGIN PRIVATE KEY-----\\n{}\", body)",
            "-----BEGIN ",
            "has(\"PuTTY-User-Key-File-\") && has(\"Private-Lines:\")",
            "-----BEGIN PRIVATE KEY-----\nleft out for security reasons\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nMIIEowIABAKCAQEAqKpRgnn6yq26...fvY4+te\n-----END",
            "-----BEGIN PRIVATE KEY-----\nEXAMPLEBAAKCAQEA+AD3qeU2toBy5O5v7wnRL\n",
            "-----BEGIN PRIVATE KEY----- is followed by theBodyOfTheKeyInsteadOfAnotherHeaderLine",
            "kind: Config\nclusters: []\nusers: []\n",
            "apiVersion: v1\nkind: Secret\ndata:\n  a: {{ .Values.a }}\n",
            "apiVersion: v1\nkind: Secret\ndata:\n  a: aHVudGVyMg==\n---\nkind: Service\n",
        ] {
            assert!(!holds_secret(None, text), "{text}");
        }
    }

    #[test]
    fn private_keys_in_code_are_found_without_the_code_around_them() {
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
            find_key_parts(text, text.find(KEY_BEGIN).unwrap(), &mut found);
            let mut left = text.to_owned();
            for secret in found.into_iter().rev() {
                left.replace_range(secret, "@");
            }
            assert_eq!(left, if rest.is_empty() { text } else { rest });
            assert!(!holds_key(&left));
        }
    }
}
