//! Files that are secrets by their content.

use super::{manifest, shape};

/// How far after a key's first line its body is looked for, in bytes.
const BODY_WINDOW: usize = 400;
/// A run of this many base64 characters is the body of a key.
const BODY_RUN: usize = 20;
/// A run of this many, of mixed cases and with digits, is one whatever stands before it.
const LONG_RUN: usize = 40;

/// Whether the text holds a private key, or is nothing but secrets: the key file of a service account,
/// a manifest of secrets, what a cluster, a registry or Terraform keeps. Code that merely names the
/// first line of a key, to look for it, holds none; nor does code or prose with one of the others in it.
pub(in crate::ingest) fn holds_secret(language: Option<&str>, text: &str) -> bool {
    let has = |part: &str| text.contains(part);
    let is_object = text.trim_start().starts_with('{');
    let may_be_yaml = matches!(language, None | Some("yaml" | "text"));
    (is_object && has("\"service_account\"") && has("\"private_key\""))
        || (is_object && has("\"terraform_version\"") && has("\"lineage\"") && has("\"serial\""))
        || (is_object && has("\"auths\"") && has("\"auth\""))
        || (may_be_yaml && holds_cluster_key(text))
        || (has("PuTTY-User-Key-File-") && has("Private-Lines:"))
        || (has("kind: Secret") && manifest::is_nothing_else(text))
        || text.split("-----BEGIN ").skip(1).any(|rest| {
            let Some((label, body)) = rest.split_once("-----") else {
                return false;
            };
            let is_private = label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK");
            is_private && starts_key_body(body)
        })
}

/// Whether a configuration of Kubernetes has the key or the token of a user.
fn holds_cluster_key(text: &str) -> bool {
    const KEYS: [&str; 3] = ["client-key-data:", "token:", "password:"];
    text.lines().any(|line| line.trim_end() == "kind: Config")
        && text.contains("clusters:")
        && text.contains("\nusers:")
        && text.lines().any(|line| KEYS.iter().any(|key| line.trim_start().starts_with(key)))
}

/// A key continues on the next line (which may be written `\n`) with base64 or with its end, or
/// wherever a long run of base64 follows.
fn starts_key_body(body: &str) -> bool {
    let body = body.trim_start_matches([' ', '\t', '\r']);
    let lines = ["\n", "\\n", "\\r\\n", "\\\\n"];
    let next = lines.iter().find_map(|line| body.strip_prefix(line));
    let (body, wanted) = next.map_or((body, LONG_RUN), |body| (body, BODY_RUN));
    let mut run = 0;
    for (at, character) in body.char_indices().take_while(|(at, _)| *at < BODY_WINDOW) {
        run = match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' | '=' => run + 1,
            '-' if next.is_some()
                && body.get(at..).is_some_and(|rest| rest.starts_with("-----END ")) =>
            {
                return true;
            }
            _ => 0,
        };
        if run == wanted {
            let start = at + 1 - run;
            let run = body.get(start..=at).unwrap_or_default().as_bytes();
            let has_digit = run.iter().any(u8::is_ascii_digit);
            return wanted == BODY_RUN || (has_digit && shape::is_random(run));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_keys_are_known_by_their_content() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
            "x = '''\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----'''",
            "-----BEGIN OPENSSH PRIVATE KEY-----\r\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\r\n",
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
            "-----BEGIN PRIVATE KEY----- is followed by theBodyOfTheKeyInsteadOfAnotherHeaderLine",
            "kind: Config\nclusters: []\nusers: []\n",
            "apiVersion: v1\nkind: Secret\ndata:\n  a: {{ .Values.a }}\n",
            "apiVersion: v1\nkind: Secret\ndata:\n  a: aHVudGVyMg==\n---\nkind: Service\n",
        ] {
            assert!(!holds_secret(None, text), "{text}");
        }
    }
}
