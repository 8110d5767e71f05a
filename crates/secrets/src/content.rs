//! Recognises files that are secrets by their content.

use codeinfo_lang::{
    Language, LanguageKind,
    languages::{data::YAML, prose::TEXT},
};

use super::{key, manifest, shape};

/// Minimum bytes of a random-looking word that is a key.
const MIN_DRAWN: usize = 16;
/// Minimum words of a line that is a sentence.
const SENTENCE_WORDS: usize = 4;

/// Returns whether the text is data with a private key, or nothing but secrets.
///
/// Such files are the key of a service account, a manifest of secrets, and the credentials that a
/// cluster, a registry or Terraform stores. In code and prose, a key is replaced like other values
/// instead.
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
        || (may_be_key_file(language) && key::holds_key(text))
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
    let mut heads = text.split(key::BEGIN).skip(1).peekable();
    let is_public = |head: &str| PUBLIC.iter().any(|label| head.contains(label));
    text.trim_start().starts_with(key::BEGIN) && heads.peek().is_some() && heads.all(is_public)
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

/// Returns whether a Kubernetes configuration has the key or the token of a user.
fn holds_cluster_key(text: &str) -> bool {
    const KEYS: [&str; 3] = ["client-key-data:", "token:", "password:"];
    text.lines().any(|line| line.trim_end() == "kind: Config")
        && text.contains("clusters:")
        && text.contains("\nusers:")
        && text.lines().any(|line| KEYS.iter().any(|key| line.trim_start().starts_with(key)))
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::detect::by_path;

    use super::*;

    #[test]
    fn code_and_prose_lose_a_key_and_are_no_secret_as_a_whole() {
        let text = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n";
        for (path, is_secret) in
            [("a.rs", false), ("a.md", false), ("a.txt", true), ("a.json", true)]
        {
            assert_eq!(holds_secret(by_path(path), text), is_secret, "{path}");
        }
    }

    #[test]
    fn a_certificate_alone_is_for_everybody() {
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
}
