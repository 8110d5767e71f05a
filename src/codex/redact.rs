//! Takes what may be secret out of a message of Codex or of the model service.

/// The most characters of a foreign message that are shown.
const MAX_CHARS: usize = 300;
/// A word this long that mixes letters and digits is taken for a key.
const KEY_CHARS: usize = 20;

/// Returns `message` on one line, without addresses, paths and anything that looks like a key.
pub(super) fn redact(message: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut after_bearer = false;
    for word in message.split_whitespace() {
        words.push(if after_bearer { "[key]" } else { shown(word) });
        after_bearer = word.eq_ignore_ascii_case("bearer");
    }
    let text = words.join(" ");
    match text.char_indices().nth(MAX_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

fn shown(word: &str) -> &str {
    let bare =
        word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '\\' && c != '~');
    let letters = bare.chars().any(char::is_alphabetic);
    let digits = bare.chars().any(|c| c.is_ascii_digit());
    if word.contains("://") {
        "[address]"
    } else if bare.starts_with(['/', '~']) || bare.contains('\\') || bare.matches('/').count() > 1 {
        "[path]"
    } else if word.contains("sk-") || (letters && digits && bare.chars().count() >= KEY_CHARS) {
        "[key]"
    } else {
        word
    }
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn keys_paths_and_addresses_go_and_words_stay() {
        assert_eq!(
            redact(
                "unexpected status 401: bad key `sk-abc` for Bearer xyz,\nurl: https://u:p@h/v1 \
                 in /home/me/.codex/config.toml:3 (token 0123456789abcdef0123x) and/or `model`"
            ),
            "unexpected status 401: bad key [key] for Bearer [key] url: [address] in [path] \
             (token [key] and/or `model`"
        );
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(redact(&"é".repeat(400)).chars().count(), 301);
    }
}
