//! Redacts secrets in messages of Codex and of the model service.

use anstream::adapter::strip_str;

const MAX_CHARS: usize = 300;
const MAX_BYTES: usize = 16 * 1024;
/// Minimum characters of a part of a word, with letters and digits mixed, that make it a key.
const KEY_CHARS: usize = 16;
const KEY_STARTS: [&str; 18] = [
    "sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox",
    "AKIA", "ASIA", "AIza", "eyJ", "hf_", "npm_", "pypi-",
];
const SECRET_NAMES: [&str; 8] =
    ["key", "token", "secret", "password", "passwd", "pwd", "credential", "authorization"];
/// Characters around words, in prose and in JSON.
const DELIMITERS: &[char] =
    &['"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '=', ' '];

/// Returns `message` on one line, without escape sequences, addresses, paths and likely keys.
pub fn redact_message(message: &str) -> String {
    let (examined, _) = message.split_at(message.floor_char_boundary(MAX_BYTES));
    // JSON within JSON escapes its quotes and line ends.
    let unescaped = strip_str(examined)
        .to_string()
        .replace("\\n", " ")
        .replace("\\\"", "\"")
        .replace(char::is_control, " ");
    let line = unescaped.split_whitespace().collect::<Vec<&str>>().join(" ");
    let mut text = String::new();
    let mut context = RedactionContext::Nothing;
    for piece in line.split_inclusive(DELIMITERS) {
        let (word, after) = piece.split_at(piece.trim_end_matches(DELIMITERS).len());
        let bare = word.trim_end_matches(['.', ':', '!', '?']);
        let (bare, punctuation) = word.split_at(bare.len());
        let replacement = if bare.is_empty() { None } else { context.replacement_for(bare) };
        text.push_str(replacement.unwrap_or(bare));
        text.push_str(punctuation);
        text.push_str(after);
        context = context.after_word(bare, punctuation.contains(':') || after == "=");
    }
    match text.char_indices().nth(MAX_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", text.split_at(end).0),
    }
}

/// Secrecy that the preceding words give to a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RedactionContext {
    Nothing,
    /// A name of a secret precedes, whose value may follow.
    SecretName,
    Secret,
}

impl RedactionContext {
    fn replacement_for(self, word: &str) -> Option<&'static str> {
        if is_scheme(word) {
            None
        } else if self == Self::Secret || is_key(word) {
            Some("[key]")
        } else if word.contains("://") {
            Some("[address]")
        } else if is_path(word) {
            Some("[path]")
        } else {
            None
        }
    }

    /// Returns the context after `word`; `is_assigned` tells that a value follows.
    fn after_word(self, word: &str, is_assigned: bool) -> Self {
        let name = word.to_ascii_lowercase();
        let names = SECRET_NAMES.iter().any(|end| name.ends_with(end)) && !is_path(word);
        match (self, word.is_empty()) {
            _ if is_scheme(word) => Self::Secret,
            (Self::Secret, _) if name == "basic" => Self::Secret,
            // A name and its value are separated by quotes and a colon or equals sign.
            (Self::SecretName, true) if is_assigned => Self::Secret,
            (context, true) => context,
            (_, false) if names && is_assigned => Self::Secret,
            (_, false) if names => Self::SecretName,
            (_, false) => Self::Nothing,
        }
    }
}

/// Returns whether a key follows, as in `Authorization: Bearer KEY`.
fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer")
}

fn is_key(word: &str) -> bool {
    let begins = |at: usize| {
        let (before, rest) = word.split_at(at);
        !before.ends_with(char::is_alphanumeric)
            && KEY_STARTS.iter().any(|start| rest.starts_with(start) && rest.len() > start.len())
    };
    if word.char_indices().any(|(at, _)| begins(at)) {
        return true;
    }
    // Names and versions consist of words or numbers; a key does not.
    let pieces = word.split(|c: char| !c.is_ascii_alphanumeric());
    let mixed = pieces.filter(|piece| {
        piece.contains(|c: char| c.is_ascii_digit()) && piece.contains(|c: char| c.is_alphabetic())
    });
    mixed.map(str::len).sum::<usize>() >= KEY_CHARS
}

fn is_path(word: &str) -> bool {
    let drive = word.get(1..).is_some_and(|rest| rest.starts_with(":\\"));
    word.starts_with(['/', '~']) && word.len() > 1
        || drive
        || word.starts_with("\\\\")
        || word.contains(":/")
        || word.matches('/').count() > 1
}

#[cfg(test)]
mod tests {
    use super::redact_message;

    #[test]
    fn keys_paths_and_addresses_are_redacted() {
        assert_eq!(
            redact_message(
                "unexpected status 401: bad key `sk-abc` for Bearer xyz,\nurl: https://u:p@h/v1 \
                 in /home/me/.codex/config.toml:3 (token 0123456789abcdef0123x) and/or `model`"
            ),
            "unexpected status 401: bad key `[key]` for Bearer [key], url: [address] in [path] \
             (token [key]) and/or `model`"
        );
        for secret in [
            "ghp_abcdefghijklmnopqrst",
            "AKIAIOSFODNN7EXAMPLE",
            "sk-proj-abc_def-ghi",
            "key=sk-abc",
            "0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
            "password=hunter2",
            "api_key: hunter2",
            r#"{"api_key":"hunter2"}"#,
            r#"{\"access_token\": \"hunter2\"}"#,
            "'client_secret' = 'hunter2'",
            "Authorization: Bearer hunter2",
        ] {
            let redacted = redact_message(&format!("no, {secret} is wrong"));
            let leaks = redacted.contains("hunter2") || redacted.contains(secret);
            assert!(redacted.contains("[key]") && !leaks, "{secret} is shown as {redacted}");
        }
        for hidden in [
            "/root/.codex/auth.json", "~/x", r"C:\Users\me", r"\\host\share", "file:/etc/passwd",
            "postgres://u:p@h/db", "home/me/x/y",
        ] {
            let redacted = redact_message(&format!("no, {hidden}: is wrong"));
            assert!(
                matches!(&*redacted, "no, [path]: is wrong" | "no, [address]: is wrong"),
                "{redacted}"
            );
        }
    }

    #[test]
    fn ordinary_words_versions_and_names_stay() {
        for harmless in [
            "model-name-5.1-max is not offered; gpt-5.1-codex-max-2026-11-20 is",
            "cannot read config.toml: invalid key `model_reasoning_effort` at line 3",
            "a risk-averse task-force asks for the disk-usage",
            "codex_app_server::transport::v2 at 2026-11-22T15:33:20.123456Z",
            "x86_64-unknown-linux-musl, codex-cli 0.169.0, rustc 1.95.0 (59807616e 2026-04-14)",
            "the token expired; the password is wrong; a secret ingredient, and/or a key",
            r#"{"error":{"message":"bad request","code":"context_length_exceeded"}}"#,
            "exceeded retry limit, last status: 429 Too Many Requests (retry after 20s)",
            "ResponseStreamDisconnectedError in application/json; see auth.json!",
        ] {
            assert_eq!(redact_message(harmless), harmless);
        }
    }

    #[test]
    fn escape_sequences_go() {
        assert_eq!(
            redact_message("\u{1b}[31mError:\u{1b}[0m\tno\u{7} \u{1b}]0;title\u{7}config"),
            "Error: no config"
        );
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(redact_message(&"é".repeat(400)).chars().count(), 301);
    }
}
