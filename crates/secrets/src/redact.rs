//! Replaces the secrets in a text by a mark, in one pass.
//!
//! Each literal is followed for a bounded number of bytes, so that the time is linear for any text.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};
use codeinfo_lang::Language;

use super::{
    MARK,
    assigned::{self, SECRET_WORDS},
    command, content, group,
    judge::{DetectionMode, SecretKind},
    manifest, request,
    token::{self, INFIXES, InfixPattern, PrefixPattern, TOKENS},
};

/// A text without its secrets, and the number of secrets it had.
#[derive(Debug, PartialEq, Eq)]
pub struct RedactedText<'a> {
    pub text: Cow<'a, str>,
    pub count: u64,
}

/// Maximum passes; a mark changes the context of other values, which may reveal another secret.
const MAX_PASSES: usize = 8;

/// Kind of secret that a literal may indicate.
#[derive(Clone, Copy)]
enum SecretClue {
    Token(PrefixPattern),
    Joint(InfixPattern),
    Word(SecretKind),
    Signed,
    Address,
    Login,
    Bot,
    Bearer,
    Authorization,
    Signature,
    Twilio,
    Option,
    Group,
    Key,
    /// The start of a PEM body without its first line.
    KeyBody,
    Cookie,
    Insert,
}

/// All clues, in the order of the literals of the finder.
static CLUES: LazyLock<Vec<(&'static str, SecretClue)>> = LazyLock::new(|| {
    let others = [
        ("eyJ", SecretClue::Signed),
        ("://", SecretClue::Address),
        ("-u", SecretClue::Login),
        ("--user ", SecretClue::Login),
        ("--user=", SecretClue::Login),
        (".login(", SecretClue::Bot),
        (".run(", SecretClue::Bot),
        ("bot ", SecretClue::Bot),
        ("bearer ", SecretClue::Bearer),
        ("authorization", SecretClue::Authorization),
        ("sig=", SecretClue::Signature),
        ("twilio", SecretClue::Twilio),
        (" -p", SecretClue::Option),
        (" -w", SecretClue::Option),
        (" -a", SecretClue::Option),
        (content::KEY_BEGIN, SecretClue::Key),
        ("cookie", SecretClue::Cookie),
        ("curl -b", SecretClue::Cookie),
        ("insert into ", SecretClue::Insert),
    ];
    let tokens = TOKENS.iter().map(|token| (token.0, SecretClue::Token(*token)));
    let joints = INFIXES.iter().map(|joint| (joint.0, SecretClue::Joint(*joint)));
    let words = SECRET_WORDS.iter().map(|(word, kind)| (*word, SecretClue::Word(*kind)));
    let groups = group::GROUP_WORDS.iter().map(|word| (*word, SecretClue::Group));
    let bodies = content::KEY_BODY_STARTS.iter().map(|start| (*start, SecretClue::KeyBody));
    tokens.chain(joints).chain(words).chain(groups).chain(bodies).chain(others).collect()
});

static FINDER: LazyLock<Result<AhoCorasick, BuildError>> = LazyLock::new(|| {
    let literals = CLUES.iter().map(|(literal, _)| literal);
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals)
});

/// Returns `text`, the content of the file at `path`, with `[secret]` in place of each secret.
/// Keeps the lines. Redacting the result again changes nothing.
pub fn redact_secrets<'a>(
    path: &str,
    language: Option<&Language>,
    text: &'a str,
) -> RedactedText<'a> {
    let mode = DetectionMode::for_file(path, language);
    let mut redacted = RedactedText { text: Cow::Borrowed(text), count: 0 };
    for _ in 0..MAX_PASSES {
        let found = find_secrets(path, &redacted.text, mode);
        if found.is_empty() {
            break;
        }
        redacted.count += found.len() as u64;
        redacted.text = Cow::Owned(replace_with_marks(&redacted.text, &found));
    }
    redacted
}

/// Replaces secrets by the mark; their ranges are in order, apart and on character boundaries.
fn replace_with_marks(text: &str, secrets: &[Range<usize>]) -> String {
    let mut marked = String::with_capacity(text.len());
    let (mut rest, mut at) = (text, 0);
    for secret in secrets {
        let (before, after) = rest.split_at(secret.start - at);
        marked.push_str(before);
        marked.push_str(MARK);
        rest = after.split_at(secret.len()).1;
        at = secret.end;
    }
    marked.push_str(rest);
    marked
}

/// Returns the ranges of secrets on character boundaries, in order and without overlap.
fn find_secrets(path: &str, text: &str, mode: DetectionMode) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    token::find_discord_tokens(text, &mut found);
    if mode != DetectionMode::Code {
        manifest::find_manifest_secrets(text, &mut found);
        let is_values = |(_, extension): (&str, &str)| {
            ["csv", "tsv"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        };
        if path.rsplit_once('.').is_some_and(is_values) {
            group::find_csv_secrets(text, &mut found);
        } else if mode == DetectionMode::Loose {
            group::find_table_secrets(text, &mut found);
        }
    }
    // End of the secrets found; literals inside are skipped, so that no byte is read twice.
    let mut reached = 0;
    let mut inserted = 0;
    // Building a finder of short literals cannot fail.
    let hits = FINDER.iter().flat_map(|finder| finder.find_overlapping_iter(text));
    for hit in hits {
        let clue = CLUES.get(hit.pattern().as_usize()).map(|(_, clue)| *clue);
        if hit.start() >= reached
            && let Some(clue) = clue
        {
            if matches!(clue, SecretClue::Insert) && inserted <= hit.start() {
                inserted = group::find_insert_secrets(text, hit.end(), mode, &mut found);
            }
            follow_clue(clue, text, hit.range(), mode, &mut found);
            reached = found.last().map_or(reached, |last| reached.max(last.end));
        }
    }
    merge_ranges(text, found)
}

fn follow_clue(
    clue: SecretClue,
    text: &str,
    hit: Range<usize>,
    mode: DetectionMode,
    into: &mut Vec<Range<usize>>,
) {
    let bytes = text.as_bytes();
    let after_quotes = || {
        let next = bytes.iter().skip(hit.end).take(2);
        hit.end + next.take_while(|byte| b"\\\"'`".contains(byte)).count()
    };
    match clue {
        SecretClue::Word(kind) => {
            assigned::find_assigned_secrets(text, hit, kind, mode, into);
        }
        SecretClue::Token(token) => {
            into.extend(token::find_prefixed_token(bytes, hit.start, token));
        }
        SecretClue::Joint(joint) => into.extend(token::find_infix_token(bytes, hit.start, joint)),
        SecretClue::Signed => token::find_jwt_lines(bytes, hit.start, into),
        SecretClue::Address => {
            into.extend(request::find_address_password(text, hit.start, mode));
        }
        SecretClue::Login => into.extend(command::find_login_password(text, hit, mode)),
        SecretClue::Bot => into.extend(token::find_discord_token(bytes, after_quotes())),
        SecretClue::Bearer => into.extend(request::find_bearer_token(bytes, after_quotes())),
        SecretClue::Authorization => {
            into.extend(request::find_authorization_secret(text, hit.end, mode));
        }
        SecretClue::Signature => into.extend(request::find_signature(bytes, hit)),
        SecretClue::Twilio => token::find_twilio_tokens(bytes, hit.end, into),
        SecretClue::Option => into.extend(command::find_option_password(text, hit, mode)),
        SecretClue::Group if mode == DetectionMode::Data => {
            group::find_group_secrets(text, hit, into);
        }
        // The rows of a statement are read at once.
        SecretClue::Group | SecretClue::Insert => {}
        SecretClue::Key => content::find_key_parts(text, hit.start, into),
        SecretClue::KeyBody => content::find_key_body(bytes, hit.start, into),
        SecretClue::Cookie => request::find_cookie_values(bytes, hit, into),
    }
}

fn merge_ranges(text: &str, mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.retain(|secret| !secret.is_empty());
    for secret in &mut found {
        *secret = text.floor_char_boundary(secret.start)..text.ceil_char_boundary(secret.end);
    }
    found.sort_by_key(|secret| secret.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.start <= last.end => last.end = last.end.max(secret.end),
            _ => merged.push(secret),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::detect::detect_by_path;
    use proptest::{prelude::*, sample::select};

    use super::{merge_ranges, redact_secrets, replace_with_marks};

    const PIECES: [&str; 40] = [
        "\n",
        " ",
        "password",
        "token: ",
        "secret=",
        "API_KEY",
        "://u:",
        "@h",
        "-u a:",
        "Bearer ",
        "x7Kq2Lm9",
        "Zr4tY8wB1nV5cX3d",
        "hunter22!",
        "\"",
        "'",
        "=",
        ":",
        ",",
        ";",
        "&",
        "\\",
        "[",
        "]",
        "(",
        "|\n  ",
        "kind: Secret\napiVersion: v1\ndata:\n",
        "{\"kind\": \"Secret\", \"data\": {\"a\": \"",
        "\"}}",
        "Authorization",
        "Basic ",
        "mysql -p",
        "--password ",
        "twilio(",
        "IDENTIFIED BY '",
        "credentials:\n  ",
        "| a | password |\n|---|---|\n| b | ",
        "\n---\n",
        "é",
        concat!("gh", "p_"),
        concat!("ey", "J"),
    ];

    #[test]
    fn redaction_replaces_whole_characters() {
        let text = "a é ü z";
        for (found, redacted) in [
            (vec![2..3, 6..6], "a [secret] ü z"),
            (vec![6..7, 3..4], "a [secret] [secret] z"),
            (vec![0..3, 2..5], "[secret]ü z"),
            (vec![8..99, 99..100], "a é ü [secret]"),
        ] {
            assert_eq!(replace_with_marks(text, &merge_ranges(text, found)), redacted);
        }
    }

    #[test]
    fn a_mark_reveals_the_secret_beside_it() {
        let text = "-u a:x7Kq2Lm9 \"Zr4tY8wB1nV5cX3d";
        let once = redact_secrets("a.rs", detect_by_path("a.rs"), text);
        assert!(0 < once.count && once.text.contains("-u a:[secret]"), "{once:?}");
        assert_eq!(redact_secrets("a.rs", detect_by_path("a.rs"), &once.text).count, 0, "{once:?}");
    }

    #[test]
    fn tokens_start_after_escapes_but_not_inside_words() {
        let key = concat!("AK", "IA", "Q7RZ2MX4LD9TB6WK");
        let signed =
            concat!("ey", "JhbGciOiJIUzI1NiJ9", ".eyJ", "zdWIiOiJhbGljZSJ9", ".c2lnbmF0dXJl");
        for (token, before, count) in [
            (key, "", 1),
            (key, "-", 1),
            (key, "\\n", 1),
            (key, "%3D", 1),
            (key, "%zD", 0),
            (key, "_", 0),
            (key, "x", 0),
            (key, "9", 0),
            (signed, " ", 1),
            (signed, "\\t", 1),
            (signed, "-", 0),
            (signed, "_", 0),
        ] {
            let text = format!("({before}{token})");
            assert_eq!(
                redact_secrets("a.md", detect_by_path("a.md"), &text).count,
                count,
                "{text}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 4_096,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_redacted_has_no_more_secrets_and_as_many_lines(
            pieces in prop::collection::vec(select(&PIECES[..]), 0..40),
            path in select(&["a.yaml", "a.md", "a.rs"][..]),
        ) {
            let text = pieces.concat();
            let once = redact_secrets(path, detect_by_path(path), &text);
            prop_assert_eq!(once.text.lines().count(), text.lines().count());
            let again = redact_secrets(path, detect_by_path(path), &once.text);
            prop_assert_eq!(again.count, 0, "{:?} became {:?}", &once.text, &again.text);
        }
    }
}
