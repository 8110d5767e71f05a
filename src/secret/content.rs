//! Files that are secrets by their content.

use codeinfo_lang::{
    Language,
    languages::{data::YAML, prose::TEXT},
};

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
pub(crate) fn holds_secret(language: Option<&Language>, text: &str) -> bool {
    let has = |part: &str| text.contains(part);
    let is_object = text.trim_start().starts_with('{');
    let may_be_yaml = language.is_none_or(|language| [&YAML, &TEXT].contains(&language));
    (is_object && has("\"service_account\"") && has("\"private_key\""))
        || (is_object && has("\"terraform_version\"") && has("\"lineage\"") && has("\"serial\""))
        || (is_object && has("\"auths\"") && has("\"auth\""))
        || (may_be_yaml && holds_cluster_key(text))
        || (has("PuTTY-User-Key-File-") && has("Private-Lines:"))
        || (may_be_yaml && has("kind: Secret") && manifest::is_nothing_else(text))
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
    fn private_keys_are_known_by_their_content() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
            "x = '''\n-----BEGIN RSA PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIC29\n-----END RSA PRIVATE KEY-----'''",
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
}
